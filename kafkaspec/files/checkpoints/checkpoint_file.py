"""The common format of all checkpoints: a version, a count, and a line for each entry.

Kafka: ``CheckpointFile`` and its ``CheckpointReadBuffer``. A file of zero bytes, or of one line,
has no entries; Kafka creates such a file when it starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files.checkpoints.text import INT_BITS, Piece, Text, fields, shown

VERSION = 0
"""The only version."""

T = TypeVar("T")
ParseEntry = Callable[[Text, Sequence[Piece], str], T]
"""Makes an entry of the text, the fields of a line, and the path of the entry for errors."""


def parse(text: Text, width: int, entry: ParseEntry[T]) -> tuple[T, ...]:
    """Parse the entries of a checkpoint, in the order of the file.

    Args:
        text: text of the file.
        width: number of fields of a line.
        entry: makes an entry of these fields.

    Raises:
        CorruptError: a line is malformed, or their number differs from line 2.
        UnsupportedError: another version than 0.
    """
    entries: list[T] = []
    for item in scan(text, width, entry):
        if isinstance(item, KafkaSpecError):
            raise item
        entries.append(item)
    return tuple(entries)


def scan(text: Text, width: int, entry: ParseEntry[T]) -> Iterator[T | KafkaSpecError]:
    """Return the entries of a checkpoint in order, with the error of each malformed line.

    Nothing is allocated for the count. Kafka allocates memory for it, and a broker runs out of
    memory if it is wrong and large.

    For arguments see ``parse``.

    Raises:
        CorruptError: the version or the count is malformed.
        UnsupportedError: another version than 0.
    """
    lines = text.lines()
    first = next(lines, None)
    if first is None:
        return
    version = text.number(first, INT_BITS, "/version")
    if version != VERSION:
        raise text.error(
            Reason.UNSUPPORTED_VERSION, f"version {version} is not {VERSION}", first, "/version"
        )
    second = next(lines, None)
    if second is None:
        return
    announced = text.number(second, INT_BITS, "/count")
    number = 0
    for number, line in enumerate(lines, 1):
        path = f"/entries/{number - 1}"
        found = fields(line)
        try:
            if len(found) != width:
                raise text.error(
                    Reason.INVALID_VALUE,
                    f"{shown(line.text)} has {len(found)} fields, not {width}",
                    line,
                    path,
                )
            yield entry(text, found, path)
        except KafkaSpecError as error:
            yield error
    if number != announced:
        yield text.error(
            Reason.TRUNCATED if number < announced else Reason.INVALID_VALUE,
            f"line 2 announces {announced} entries, but {number} follow",
            second,
            "/count",
        )


def serialize(lines: Sequence[str]) -> bytes:
    """Serialize a checkpoint as Kafka does, with the line ends of all platforms except Windows.

    Args:
        lines: lines without their ends, one for each entry.
    """
    return "".join(f"{line}\n" for line in (str(VERSION), str(len(lines)), *lines)).encode()
