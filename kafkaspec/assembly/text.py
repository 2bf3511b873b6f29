"""A file to the text of assembly, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.assembly.bytes import TEXT, Assembler, Recomputed
from kafkaspec.assembly.grammar import Node, read, write
from kafkaspec.assembly.listing import Lister
from kafkaspec.assembly.values import as_text
from kafkaspec.codecs import get_codec
from kafkaspec.errors import Reason, make_error
from kafkaspec.files import names
from kafkaspec.io.local import FileReading
from kafkaspec.log.opening import open_log
from kafkaspec.log.segment import Segment

MOST: Final = 16 << 20
"""Maximum number of bytes to list: every field is an object."""


def listing(path: str | PathLike[str], position: int | None = None) -> Iterator[str]:
    """Yield the lines that say each byte of one of Kafka's files.

    Args:
        path: a segment, snapshot, index or text file.
        position: byte offset of an entry of a segment, to list it alone; None for the whole file.

    Raises:
        KafkaSpecError: the file cannot be read, has more than ``MOST`` bytes, is none of Kafka's
            (``unsupported_version``), or no entry begins at ``position``.
    """
    path = Path(path)
    data = _data(path)
    lister = Lister()
    name = names.parse_segment(path.name)
    if names.is_text(path.name):
        return _finished([Node(TEXT, parts=[Node("", line) for line in _lines(data)])])
    if name is None or name.kind in names.SEGMENTS:
        open_log(path, codec="kaitai").close()  # says why it is none of Kafka's
        with Segment(path, codec="kaitai") as segment:
            return _finished(list(lister.segment(segment, data, position)))
    key, size = name.layout.entry, 0
    if key:
        size = LAYOUTS[key].fixed_size or 0
    if not size:
        key, size = name.layout.type, max(len(data), 1)
    nodes: list[Node] = []
    for start in range(0, len(data), size):
        nodes += lister.value(key, data, start, min(start + size, len(data)), name.parameters)
    return _finished(nodes)


def listing_as(
    path: str | PathLike[str],
    type_key: str,
    parameters: Sequence[int] = (),
    position: int = 0,
    size: int | None = None,
) -> Iterator[str]:
    """Yield the lines that say each byte of a file, or of a part of one, read as a type.

    Args:
        path: any file.
        type_key: key of the type: ``index.time_index``.
        parameters: arguments of the type.
        position: byte offset of the first byte.
        size: number of bytes, None for all that are left.

    Raises:
        KafkaSpecError: the file cannot be read, or there are more than ``MOST`` bytes.
    """
    data = _data(Path(path), position, size)
    return _finished(Lister().value(type_key, data, parameters=parameters))


def assemble(text: str, file: str = "") -> tuple[bytes, list[Recomputed]]:
    """Return the bytes that a text says.

    Args:
        text: lines as ``listing`` yields them, edited or written by hand.
        file: name of the text, for errors.

    Returns:
        The bytes, and the values of the text that others took the place of, since they follow from
        what was edited: lengths, counts, checksums, relative offsets, compressed payloads.

    Raises:
        KafkaSpecError: ``unencodable``: with line, column, and what the field takes.
    """
    assembler = Assembler(get_codec("python"), file)
    data = assembler.write(read(text, file))
    return data, assembler.follows


def _data(path: Path, position: int = 0, size: int | None = None) -> bytes:
    """Return the bytes of a file, or of a part of one."""
    with closing(FileReading(path)) as file:
        left = file.size - position
        if left < 0:
            detail = f"byte {position} is not in the file, which has {file.size}"
            raise make_error(Reason.INVALID_VALUE, detail, file=str(path))
        wanted = left if size is None else min(size, left)
        if wanted > MOST:
            detail = f"{wanted} bytes are too many to list, {MOST} are the most"
            raise make_error(Reason.TOO_LARGE, detail, file=str(path))
        return bytes(file.read(position, wanted))


def _lines(data: bytes) -> list[str | bytes]:
    """Return the lines of a text file with what ends them; as bytes where they are not text."""
    lines: list[str | bytes] = []
    for line in data.splitlines(keepends=True):
        text = as_text(line.rstrip(b"\r\n"))
        lines.append(line if isinstance(text, bytes) else line.decode())
    return lines


def _finished(nodes: list[Node]) -> Iterator[str]:
    """Yield the lines of nodes; derived values that do not follow are marked as forced."""
    Assembler(get_codec("python"), force=True).write(nodes)
    return write(nodes)
