"""The common format of all checkpoints: a version, a count, and a line for each entry.

Kafka: ``CheckpointFile`` and its ``CheckpointReadBuffer``. A file of zero bytes, or of one line,
has no entries; Kafka creates such a file when it starts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kafkaspec.errors import Reason
from kafkaspec.files.checkpoints.text import INT_BITS, Piece, Text, fields, shown

VERSION = 0
"""The only version."""

T = TypeVar("T")
ParseEntry = Callable[[Text, Sequence[Piece], str], T]
"""Makes an entry of the text, the fields of a line, and the path of the entry for errors."""


def parse(text: Text, width: int, entry: ParseEntry[T]) -> tuple[T, ...]:
    """Parse the entries of a checkpoint, in the order of the file.

    Nothing is allocated for the count. Kafka allocates memory for it, and a broker runs out of
    memory if it is wrong and large.

    Args:
        text: text of the file.
        width: number of fields of a line.
        entry: makes an entry of these fields.

    Raises:
        CorruptError: a line is malformed, or their number differs from line 2.
        UnsupportedError: another version than 0.
    """
    lines = text.lines()
    first = next(lines, None)
    if first is None:
        return ()
    version = text.number(first, INT_BITS, "/version")
    if version != VERSION:
        raise text.error(
            Reason.UNSUPPORTED_VERSION, f"version {version} is not {VERSION}", first, "/version"
        )
    second = next(lines, None)
    if second is None:
        return ()
    count = text.number(second, INT_BITS, "/count")
    entries: list[T] = []
    for line in lines:
        path = f"/entries/{len(entries)}"
        found = fields(line)
        if len(found) != width:
            raise text.error(
                Reason.INVALID_VALUE,
                f"{shown(line.text)} has {len(found)} fields, not {width}",
                line,
                path,
            )
        entries.append(entry(text, found, path))
    if len(entries) != count:
        raise text.error(
            Reason.TRUNCATED if len(entries) < count else Reason.INVALID_VALUE,
            f"line 2 announces {count} entries, but {len(entries)} follow",
            second,
            "/count",
        )
    return tuple(entries)


def serialize(lines: Sequence[str]) -> bytes:
    """Serialize a checkpoint as Kafka does, with the line ends of all platforms except Windows.

    Args:
        lines: lines without their ends, one for each entry.
    """
    return "".join(f"{line}\n" for line in (str(VERSION), str(len(lines)), *lines)).encode()
