"""``explain --as``: read bytes of a file as one type of the specification."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import click

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.cli.commands.explain_section import Section
from kafkaspec.codecs import Origin, get_codec
from kafkaspec.codecs.references.kaitai import KaitaiCodec
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names
from kafkaspec.io.local import FileReading
from kafkaspec.options import did_you_mean

MOST: Final = 16 << 20
"""Maximum number of bytes to explain at once: every field is an object."""

_INDEXES: Final = (names.OFFSET_INDEX, names.TIME_INDEX)


def type_named(text: str) -> str:
    """Return the key of the type that ``text`` names: ``index.time_index``, or ``time_index``.

    Raises:
        UsageError: there is none, or several; the message lists them.
    """
    found = [key for key in LAYOUTS if text in (key, key.partition(".")[2])]
    root = f"{text}.{text}"
    if root in LAYOUTS:
        return root
    if len(found) == 1:
        return found[0]
    if found:
        raise click.UsageError(f"there are several types {text}: {', '.join(found)}")
    short = [key.partition(".")[2] for key in LAYOUTS]
    hint = did_you_mean(text, [*LAYOUTS, *short]) or "."
    files = groupby(LAYOUTS, lambda key: key.partition(".")[0])
    listed = "\n".join(f"  {', '.join(keys)}" for _, keys in files)
    raise click.UsageError(f"there is no type {text}{hint} The specification has\n{listed}")


def explain_type(
    path: Path,
    type_key: str,
    given: Sequence[int],
    position: int,
    size: int | None,
    codecs: Sequence[str],
) -> tuple[list[Section], list[str]]:
    """Read the bytes of a file as a type.

    Args:
        path: path of the file.
        type_key: key of the type.
        given: its parameters.
        position: byte offset of its first byte.
        size: number of bytes that it may take, None for all up to the end of the file.
        codecs: codecs that also read the bytes and must agree.

    Returns:
        The section to show, and one line for each codec that disagrees.

    Raises:
        UsageError: the parameters are not those of the type, or there are too many bytes.
        KafkaSpecError: the file cannot be read, or has no such byte.
    """
    parameters = _parameters(path, type_key, given)
    with closing(FileReading(path)) as file:
        left = file.size - position
        if left < 0:
            detail = f"byte {position} is not in the file, which has {file.size}"
            raise make_error(Reason.INVALID_VALUE, detail, file=str(path))
        wanted = left if size is None else min(size, left)
        if wanted > MOST:
            raise click.UsageError(
                f"{wanted} bytes are too many; choose some with --position and --size"
            )
        data = bytes(file.read(position, wanted))
    kaitai = KaitaiCodec()
    origin = Origin(str(path), position)
    fields = kaitai.positions(type_key, data, parameters=parameters, origin=origin)
    end = max((field.end for field in fields), default=position)
    more = position + len(data) - end
    broken = any(field.error for field in fields)
    note = f"{more} more bytes follow" if more and not broken else ""
    title = f"{type_key} at byte {position}, {end - position} bytes"
    sections = [Section(title, data, position, fields, note)]
    expected = _outcome(kaitai, type_key, data, parameters)
    disagree = []
    for name in codecs:
        found = _outcome(get_codec(name), type_key, data, parameters)
        same = found == expected
        sections.append(Section("", b"", 0, [], f"{name} {'agrees' if same else 'DISAGREES'}"))
        if not same:
            disagree.append(f"{name} reads something else: {found[1]}")
    return sections, disagree


def _outcome(
    codec: Any, type_key: str, data: bytes, parameters: tuple[int, ...]
) -> tuple[Any, Any]:
    """Return the value that a codec reads and its end, or the reason of the refusal."""
    try:
        value, end = codec.parse(type_key, data, parameters=parameters)
    except KafkaSpecError as error:
        return None, (error.reason, error.path, error.position, error.spec)
    return value, end


def _parameters(path: Path, type_key: str, given: Sequence[int]) -> tuple[int, ...]:
    """Return the parameters of a type, taken from the name of the file if possible."""
    wanted = LAYOUTS[type_key].parameters
    structure = next((kind for _, kind in wanted if kind), None)
    if structure is not None:
        raise click.UsageError(
            f"{type_key} needs a {structure}, which cannot be given here; explain what holds both"
        )
    ids = [name for name, _ in wanted]
    if not given and ids == ["base_offset"]:
        name = names.parse_segment(path.name)
        if name is not None and name.kind in _INDEXES:
            return (name.base_offset,)
    if len(given) != len(ids):
        needs = f"the parameters {', '.join(ids)}" if ids else "no parameters"
        raise click.UsageError(f"{type_key} has {needs}: give --parameter N for each, in order")
    return tuple(given)
