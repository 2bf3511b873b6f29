"""A file to the text of assembly, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.assembly.bytes import TEXT, Assembler, Recomputed
from kafkaspec.assembly.grammar import Node, read, write
from kafkaspec.assembly.listing import Lister
from kafkaspec.assembly.values import as_text
from kafkaspec.codecs import get_codec
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names
from kafkaspec.io.local import read_part
from kafkaspec.io.remote import as_path
from kafkaspec.log.opening import open_log
from kafkaspec.log.segment import Segment

MOST: Final = 16 << 20
"""Maximum number of bytes to list: every field is an object."""


class ListedBytes:
    """The text that says each byte of a file; iterating over it yields the lines.

    Attributes:
        cuts: places where bytes have no field, or fields no bytes.
        unread: bytes that no field has.
        wrong: lengths, counts and checksums that do not follow from the rest; ``!`` forces them.
        errors: why payloads stay bytes, which do not decompress, and keys and values, which are
            not messages.
    """

    def __init__(self, nodes: Sequence[Node], errors: Sequence[KafkaSpecError] = ()) -> None:
        assembler = Assembler(get_codec("python"), force=True)
        assembler.write(nodes)  # marks what is forced
        self._nodes = nodes
        self.errors = errors
        self.cuts = assembler.cuts
        self.unread = assembler.unread
        self.wrong = assembler.wrong

    def __iter__(self) -> Iterator[str]:
        return write(self._nodes)


def listing(
    path: str | PathLike[str], position: int | None = None, *, decode: bool = True
) -> ListedBytes:
    """List each byte of one of Kafka's files.

    Args:
        path: a segment, snapshot, index or text file, local or remote.
        position: byte offset of the only entry to list; None for the whole file.
        decode: list the messages in control records and in those of Kafka's own topics, not their
            bytes.

    Raises:
        KafkaSpecError: the file cannot be read, has more than ``MOST`` bytes, is not one of
            Kafka's, or has no such byte or no entries.
    """
    path = as_path(path)
    name = names.parse_segment(path.name)
    if names.is_text(path.name):
        if position is not None:
            raise make_error(Reason.INVALID_VALUE, "a text file has no entries", file=str(path))
        lines = _lines(read_part(path, most=MOST))
        return ListedBytes([Node(TEXT, parts=[Node("", line) for line in lines])])
    lister = Lister()
    if name is None or name.kind in names.SEGMENTS:
        if position is None:
            open_log(path, codec="kaitai").close()  # says why it is none of Kafka's
        data = read_part(path, most=MOST)
        _require(position, len(data), path)
        with Segment(path, codec="kaitai") as segment:
            return ListedBytes(
                list(lister.segment(segment, data, position, decode=decode)), lister.errors
            )
    data = read_part(path, most=MOST)
    _require(position, len(data), path)
    key = name.layout.entry
    size = LAYOUTS[key].fixed_size if key else None
    if size is None:
        key, size = name.layout.type, max(len(data), 1)
    start, end = 0, len(data)
    if position is not None:
        start = position - position % size
        end = min(start + size, end)
    nodes: list[Node] = []
    for at in range(start, end, size):
        nodes += lister.value(key, data, at, min(at + size, end), name.parameters)
    return ListedBytes(nodes)


def listing_as(
    path: str | PathLike[str],
    type_key: str,
    parameters: Sequence[int] = (),
    position: int = 0,
    size: int | None = None,
) -> ListedBytes:
    """List each byte of a file, or of a part of one, read as a type.

    Args:
        path: any file, local or remote.
        type_key: key of the type: ``index.time_index``.
        parameters: arguments of the type.
        position: byte offset of the first byte.
        size: number of bytes, None for all that are left.

    Raises:
        KafkaSpecError: the file cannot be read, has no such byte, or there are more than ``MOST``.
    """
    data = read_part(as_path(path), position, size, most=MOST)
    return ListedBytes(Lister().value(type_key, data, parameters=parameters))


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


def _require(position: int | None, size: int, path: Path) -> None:
    if position is not None and not 0 <= position < size:
        detail = f"byte {position} is not in the file, which has {size}"
        raise make_error(Reason.INVALID_VALUE, detail, file=str(path))


def _lines(data: bytes) -> list[str | bytes]:
    """Return the lines of a text file with what ends them; as bytes where they are not text."""
    lines: list[str | bytes] = []
    for line in data.splitlines(keepends=True):
        text = as_text(line.rstrip(b"\r\n"))
        lines.append(line if isinstance(text, bytes) else line.decode())
    return lines
