"""Files other than logs in ``dump``, a line for each entry."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields as fields_of
from dataclasses import is_dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

import click

from kafkaspec.cli.console import iso
from kafkaspec.cli.inputs import Inputs
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names
from kafkaspec.files.arrays import read_whole
from kafkaspec.files.checkpoints import (
    clean_shutdown,
    kafka_uuid,
    leader_epoch_checkpoint,
    meta_properties,
    offset_checkpoint,
    partition_metadata,
    quorum_state,
)
from kafkaspec.files.checkpoints.text import Text
from kafkaspec.files.indexes import INDEXES, Index
from kafkaspec.files.snapshots import ProducerSnapshot, TransactionIndex
from kafkaspec.shown import printable

PARSERS: dict[str, Callable[..., Any]] = {
    names.LEADER_EPOCHS: leader_epoch_checkpoint.parse,
    **dict.fromkeys(names.OFFSET_CHECKPOINTS, offset_checkpoint.parse),
    names.PARTITION_METADATA: partition_metadata.parse,
    names.META_PROPERTIES: meta_properties.parse,
    names.QUORUM_STATE: quorum_state.parse,
    names.CLEAN_SHUTDOWN: clean_shutdown.parse,
}

_Entry = dict[str, Any]
_Found = Callable[[KafkaSpecError], None]
_NOT_SHOWN = ("positions", "comments", "others")


def is_other(path: Path) -> bool:
    """Return whether a file of this name is text, or one beside a segment."""
    name = names.parse_segment(path.name)
    return names.is_text(path.name) or (name is not None and name.kind in names.SIDECARS)


def dump_lines(
    paths: Iterable[Path], output_format: str, codec: str, inputs: Inputs
) -> Iterator[str]:
    """Yield a line for each entry of some files, as text after a line with the path of the file.

    Args:
        paths: paths for which ``is_other`` is true; text files come first.
        output_format: ``json`` or ``text``.
        codec: reads the files.
        inputs: counts and reports what cannot be read.
    """
    for path in sorted(paths, key=lambda path: not names.is_text(path.name)):
        is_text = names.is_text(path.name)
        try:
            entries = _texts(path) if is_text else _entries(path, codec, inputs.cannot_decode)
        except KafkaSpecError as error:
            if is_text and error.reason is not Reason.UNREADABLE:
                inputs.cannot_decode(error)
                continue
            inputs.failed += error.reason is Reason.UNREADABLE
            inputs.cannot_read(error)
            continue
        if output_format == "text":
            yield f"{printable(str(path))}\n"
        for number, entry in enumerate(entries):
            if output_format == "json":
                head = {"file": str(path)} if is_text else {"file": str(path), "entry": number}
                yield json.dumps(head | entry) + "\n"
                continue
            if is_text:
                entry.pop("position", None)
            words = (f"  {name} {_word(name, item)}" for name, item in entry.items())
            yield "".join(words) + "\n"


def _texts(path: Path) -> Iterator[_Entry]:
    """Return the entries of a checkpoint, or the content of another text file.

    Raises:
        KafkaSpecError: the file cannot be read.
    """
    text = Text.load(path)
    content = PARSERS[path.name](text.data, file=text.file)
    entries = content if isinstance(content, tuple) else (content,)
    return ({
        name: kafka_uuid.to_text(item) if isinstance(item, UUID) else item
        for name, item in (_plain(entry) | getattr(entry, "others", {})).items()
        if name not in _NOT_SHOWN
    } for entry in entries)  # fmt: skip


def _word(name: str, value: Any) -> str:
    if name == "timestamp":
        return iso(value)
    if isinstance(value, str):
        return value if value.isprintable() and value else ascii(value)
    return json.dumps(value)


def _entries(path: Path, codec: str, found: _Found) -> Iterable[_Entry]:
    """Return the entries of a file; report what is wrong with it.

    Raises:
        KafkaSpecError: the file cannot be read.
    """
    name = names.parse_segment(path.name)
    assert name is not None
    if name.kind in INDEXES:
        return _index(INDEXES[name.kind](path, codec=codec), found)
    if name.kind == names.TRANSACTION_INDEX:
        index = TransactionIndex(path, codec=codec)
        if index.trailing_bytes:
            found(_trailing(path, len(index) * index.entry_size, index.trailing_bytes))
        return [_plain(entry) for entry in index.entries]
    if name.kind != names.PRODUCER_SNAPSHOT:
        return _whole(read_whole(path, codec))
    snapshot = ProducerSnapshot(path, codec=codec)
    entries = [_plain(entry) for entry in snapshot.entries]
    if not snapshot.crc_valid:
        found(snapshot.crc_error())
    return entries


def _index(index: Index[Any], found: _Found) -> Iterator[_Entry]:
    for problem in index.sanity_check():
        found(problem)
    if not index.padding_is_zero:
        detail = "an entry with relative offset 0 ends the index, and others follow"
        at = len(index) * index.entry_size
        found(make_error(Reason.TRAILING_BYTES, detail, file=str(index.path), offset=at))
    columns = index.all_slots()
    rows = zip(*columns.values(), strict=True)
    return (dict(zip(columns, row, strict=True)) for row in islice(rows, len(index)))


def _whole(content: Any) -> list[_Entry]:
    """Return the entries of a file that only the specification knows, or all of it as one."""
    fields = {name: value for name, value in _plain(content).items() if name != "base_offset"}
    only = next(iter(fields.values())) if len(fields) == 1 else None
    entries = only if isinstance(only, list) else [content]
    return [{name: _said(value) for name, value in _plain(entry).items()} for entry in entries]


def _said(value: Any) -> Any:
    """Return a value of a field as values of JSON."""
    if isinstance(value, list | tuple):
        return [_said(item) for item in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return {"hex": bytes(value).hex()}
    if is_dataclass(value):
        return {name: _said(item) for name, item in _plain(value).items()}
    return value


def _plain(entry: Any) -> _Entry:
    return {field.name: getattr(entry, field.name) for field in fields_of(entry) if field.init}


def _trailing(path: Path, at: int, size: int) -> KafkaSpecError:
    detail = f"the last {size} bytes are not a whole entry"
    return make_error(Reason.TRAILING_BYTES, detail, file=str(path), offset=at)


def refuse_options(**given: object) -> None:
    """Refuse options for logs with a text file.

    Raises:
        click.UsageError: one was given.
    """
    for name, value in given.items():
        if value:
            raise click.UsageError(f"--{name.replace('_', '-')} is for logs, not for other files")
