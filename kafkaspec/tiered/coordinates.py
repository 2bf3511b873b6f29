"""Lists of the coordinates of batches in WAL objects, whose offsets are not in the objects.

A list is a file of JSON lines whose name ends in ``.coordinates.jsonl``; objects have their keys as
paths beside it. Members have the names of the columns in which aiven/inkless keeps them, so that a
query of its ``batches``, ``files`` and ``logs`` writes one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

from kafkaspec._generated.python.model.recordbatch import TimestampType
from kafkaspec.errors import KafkaSpecError, Reason, make_error, unreadable
from kafkaspec.files.indexes import LARGEST_RELATIVE_OFFSET
from kafkaspec.files.names import is_topic
from kafkaspec.layout.framing import HEADER_UP_TO_MAGIC, LARGEST_OFFSET
from kafkaspec.layout.stand_ins import NONE
from kafkaspec.tiered.objects import reading_of

SUFFIX: Final = ".coordinates.jsonl"
"""End of the name of a list."""

_TIMESTAMP_TYPES: Final = (NONE, *map(int, TimestampType))
_NUMBERS: Final = {
    "partition": (0, (1 << 31) - 1),
    "byte_offset": (0, LARGEST_OFFSET),
    "byte_size": (HEADER_UP_TO_MAGIC, 1 << 30),
    "base_offset": (0, LARGEST_OFFSET),
    "last_offset": (0, LARGEST_OFFSET),
}
"""Numbers that each line has, with the smallest and the largest of each."""
_TEXTS: Final = ("object_key", "topic_name")
_OPTIONAL: Final = ("topic_id", "timestamp_type", "log_append_timestamp")
_IGNORED: Final = (
    "batch_id", "file_id", "format", "magic", "batch_max_timestamp", "high_watermark",
    "log_start_offset",
)  # fmt: skip
"""Other columns of the same tables, which say nothing more about a batch."""
_MEMBERS: Final = (*_TEXTS, *_NUMBERS, *_OPTIONAL, *_IGNORED)
_SEGMENT_BYTES: Final = 1 << 30
"""Bytes of a segment: Kafka's default."""
_MOST_BYTES: Final = 1 << 30
"""Size of a list, which is in memory at once."""


class Coordinate(NamedTuple):
    """The place of batches that follow one another in an object, and their offsets.

    Attributes:
        line: number of the line in the list.
        object_key: path of the object, as seen from the list.
        folder: name of the partition's directory.
        byte_offset: position of the first batch in the object.
        byte_size: bytes of the batches.
        base_offset: offset of the first record.
        last_offset: offset of the last one.
        append_time: time for all records, None where they keep their own.
        topic_id: id of the topic, None if the list does not have it.
    """

    line: int
    object_key: str
    folder: str
    byte_offset: int
    byte_size: int
    base_offset: int
    last_offset: int
    append_time: int | None
    topic_id: UUID | None

    @property
    def byte_end(self) -> int:
        """Position after the last batch."""
        return self.byte_offset + self.byte_size


class UncoveredBytes(NamedTuple):
    """Bytes of an object that no line is about."""

    object: Path
    start: int
    end: int


def is_list(path: Path) -> bool:
    """Return whether a path is a list, by its name."""
    return path.name.endswith(SUFFIX)


class CoordinateList:
    """A list, read and checked; objects are not looked at.

    Attributes:
        path: the file.
        partitions: coordinates by the name of the partition's directory, in the order of offsets.
    """

    def __init__(self, path: Path) -> None:
        """Read a list.

        Raises:
            KafkaSpecError: ``unreadable``: a line is not one of a list, or two of them have the
                same bytes or the same offsets. The text names the lines.
        """
        self.path = path
        self.partitions: dict[str, list[Coordinate]] = {}
        self._objects: dict[str, list[Coordinate]] = {}
        for item in _lines(path):
            self.partitions.setdefault(item.folder, []).append(item)
            self._objects.setdefault(item.object_key, []).append(item)
        if not self.partitions:
            raise unreadable(path, "the list is empty")
        for key, items in self._objects.items():
            items.sort(key=lambda item: item.byte_offset)
            for one, two in pairwise(items):
                if two.byte_offset < one.byte_end:
                    last = min(one.byte_end, two.byte_end)
                    text = f"bytes {two.byte_offset} to {last - 1} of {key}"
                    raise self._twice(one, two, text)
        for folder, items in self.partitions.items():
            items.sort(key=lambda item: item.base_offset)
            for one, two in pairwise(items):
                if two.base_offset <= one.last_offset:
                    last = min(one.last_offset, two.last_offset)
                    raise self._twice(one, two, f"offsets {two.base_offset} to {last} of {folder}")
            if len({item.topic_id for item in items}) > 1:
                raise unreadable(path, f"its lines disagree about the topic id of {folder}")

    def object(self, key: str) -> Path:
        """Return the path of an object."""
        found = self.path.parent
        for part in key.split("/"):
            found = found / part
        return found

    def uncovered(self) -> Iterator[UncoveredBytes]:
        """Yield the bytes of objects that no line is about, without a header before the batches.

        Objects that cannot be read are left out: whoever reads their batches reports them.
        """
        for key, items in self._objects.items():
            path = self.object(key)
            try:
                reading = reading_of(path)
            except KafkaSpecError:
                continue
            size = reading.size
            reading.close()
            ends = [0, *(item.byte_end for item in items)]
            starts = [*(item.byte_offset for item in items), size]
            for start, end in zip(ends, starts, strict=True):
                if end > start and (start > 0 or end >= HEADER_UP_TO_MAGIC):
                    yield UncoveredBytes(path, start, end)

    def _twice(self, one: Coordinate, two: Coordinate, what: str) -> KafkaSpecError:
        lines = sorted((one.line, two.line))
        return unreadable(self.path, f"lines {lines[0]} and {lines[1]} both have {what}")


def _lines(path: Path) -> Iterator[Coordinate]:
    reading = reading_of(path)
    try:
        if reading.size > _MOST_BYTES:
            raise unreadable(path, f"the list has {reading.size} bytes, more than {_MOST_BYTES}")
        data = bytes(reading.read(0, reading.size))
    finally:
        reading.close()
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                yield _coordinate(number, line)
            except ValueError as error:
                raise unreadable(path, f"line {number}: {error}") from None


def _coordinate(number: int, line: bytes) -> Coordinate:
    """Return the coordinate in a line.

    Raises:
        ValueError: the line is not one of a list; the text says why.
    """
    try:
        given: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(given, dict):
        raise ValueError("it is not a JSON object")
    unknown = sorted(given.keys() - set(_MEMBERS))
    if unknown:
        raise ValueError(f"unknown member {unknown[0][:80]!r}; known: {', '.join(_MEMBERS)}")
    for name, (low, high) in _NUMBERS.items():
        value = given.get(name)
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"{name} is a number from {low} to {high}, not {value!r:.80}")
    key, topic = (given.get(name) for name in _TEXTS)
    if not isinstance(key, str) or not _is_below(key):
        raise ValueError(f"object_key is a path below the list, not {key!r:.80}")
    if not isinstance(topic, str) or not is_topic(topic):
        raise ValueError(f"topic_name is the name of a topic, not {topic!r:.80}")
    base, last = given["base_offset"], given["last_offset"]
    if last < base:
        raise ValueError(f"last_offset {last} is below base_offset {base}")
    kind = given.get("timestamp_type", int(TimestampType.CREATE_TIME))
    if type(kind) is not int or kind not in _TIMESTAMP_TYPES:
        raise ValueError(f"timestamp_type is one of {_TIMESTAMP_TYPES}, not {kind!r:.80}")
    time = given.get("log_append_timestamp")
    if kind == TimestampType.LOG_APPEND_TIME and (
        type(time) is not int or not 0 <= time <= LARGEST_OFFSET
    ):
        raise ValueError(f"log_append_timestamp is a time in milliseconds, not {time!r:.80}")
    return Coordinate(
        line=number,
        object_key=key,
        folder=f"{topic}-{given['partition']}",
        byte_offset=given["byte_offset"],
        byte_size=given["byte_size"],
        base_offset=base,
        last_offset=last,
        append_time=time if kind == TimestampType.LOG_APPEND_TIME else None,
        topic_id=_id(given.get("topic_id")),
    )


def _is_below(key: str) -> bool:
    parts = key.split("/")
    return not {"", ".", ".."}.intersection(parts) and not {"\\", "\0"}.intersection(key)


def _id(text: object) -> UUID | None:
    if text is None:
        return None
    try:
        return UUID(text) if isinstance(text, str) else UUID("")
    except ValueError:
        raise ValueError(f"topic_id is a UUID, not {text!r:.80}") from None


def segments_of(items: Iterable[Coordinate]) -> Iterator[list[Coordinate]]:
    """Divide the coordinates of a partition into segments, as brokers do by size and offsets."""
    found: list[Coordinate] = []
    size = 0
    for item in items:
        far = found and item.last_offset - found[0].base_offset > LARGEST_RELATIVE_OFFSET
        if found and (far or size + item.byte_size > _SEGMENT_BYTES):
            yield found
            found, size = [], 0
        found.append(item)
        size += item.byte_size
    if found:
        yield found


def outside(path: Path, item: Coordinate, detail: str, position: int) -> KafkaSpecError:
    """Return the error of a coordinate that does not fit its object."""
    text = f"line {item.line} of the coordinates does not fit: {detail}"
    return make_error(Reason.INVALID_VALUE, text, file=str(path), offset=position)
