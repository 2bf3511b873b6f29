"""Segments made of batches in WAL objects, with the offsets that a list of coordinates gives them.

The bytes are those that inkless gives to consumers (``FetchCompleter.createMemoryRecords``): the
base offset of each batch is set, and for LogAppendTime its timestamp type and largest timestamp,
with a new checksum. A batch whose checksum is wrong gets an offset and keeps the rest, so that
whoever reads it finds that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple

from kafkaspec._generated.python.model.recordbatch import TimestampType
from kafkaspec.checksum import CHECKSUMS
from kafkaspec.codecs import Origin, get_codec
from kafkaspec.codecs.edited import put_offset, written
from kafkaspec.errors import Reason, TruncatedError, make_error
from kafkaspec.files.checkpoints import partition_metadata
from kafkaspec.files.names import LOG, PARTITION_METADATA, SegmentName
from kafkaspec.io.remote import Opened, RemotePath, Status
from kafkaspec.io.window import Reading
from kafkaspec.layout import names
from kafkaspec.layout.framing import ENTRY, FRAMING, HEADER_UP_TO_MAGIC, checksum_of
from kafkaspec.layout.kinds import kind_of
from kafkaspec.tiered.coordinates import Coordinate, CoordinateList, outside, segments_of
from kafkaspec.tiered.objects import reading_of

_KEPT: Final = 4
"""Coordinates whose bytes a segment keeps."""


class AssignedRanges:
    """Ranges of a segment; a function as ``kafkaspec.io.remote.Ranges``, for several threads."""

    def __init__(self, known: CoordinateList, items: Sequence[Coordinate]) -> None:
        """Open the objects.

        Raises:
            KafkaSpecError: one cannot be opened, or is too short for a coordinate.
        """
        self._items = items
        self._starts = list(accumulate((item.byte_size for item in items), initial=0))
        self._objects: dict[str, tuple[Path, Reading]] = {}
        self._made: OrderedDict[int, bytes] = OrderedDict()
        self._lock = Lock()
        for item in items:
            if item.object_key not in self._objects:
                path = known.object(item.object_key)
                self._objects[item.object_key] = path, reading_of(path)
            path, reading = self._objects[item.object_key]
            if item.byte_end > reading.size:
                detail = f"it ends at byte {item.byte_end}, the object has {reading.size} bytes"
                raise outside(path, item, detail, reading.size)

    def __call__(self, start: int, end: int) -> bytes:
        found = bytearray()
        number = bisect_right(self._starts, start) - 1
        while start < end and number < len(self._items):
            first = self._starts[number]
            part = self._bytes(number)[start - first : end - first]
            found += part
            start += len(part)
            number += 1
        return bytes(found)

    def _bytes(self, number: int) -> bytes:
        with self._lock:
            known = self._made.get(number)
            if known is not None:
                self._made.move_to_end(number)
                return known
            item = self._items[number]
            path, reading = self._objects[item.object_key]
            data = memoryview(bytes(reading.read(item.byte_offset, item.byte_size)))
            made = self._made[number] = b"".join(_batches(path, item, data))
            if len(self._made) > _KEPT:
                self._made.popitem(last=False)
            return made


def _batches(path: Path, item: Coordinate, data: memoryview) -> Iterator[bytes]:
    """Yield the batches of a coordinate with their offsets.

    Raises:
        KafkaSpecError: it does not begin and end where batches do, or its offsets are not theirs.
    """
    position, offset = 0, item.base_offset
    origin = Origin(str(path), item.byte_offset)
    while position < len(data):
        at = item.byte_offset + position
        if len(data) - position < HEADER_UP_TO_MAGIC:
            raise outside(path, item, "it ends inside a batch", at)
        try:
            entry, stop = get_codec("python").parse(ENTRY, data, position, origin=origin)
        except TruncatedError:
            raise outside(path, item, "it ends inside a batch", at) from None
        if not kind_of(entry.message).has_record_sets:
            text = "a message of an old format cannot be in it: its wrapper has offsets too"
            raise make_error(Reason.INVALID_VALUE, text, file=str(path), offset=at)
        end = offset + entry.message.last_offset - entry.base_offset
        if end > item.last_offset:
            detail = f"its last offset is {item.last_offset}, but a batch ends at {end}"
            raise outside(path, item, detail, at)
        yield _assigned(entry, data[position:stop], offset, item.append_time)
        offset, position = end + 1, stop
    if offset - 1 != item.last_offset:
        detail = f"its last offset is {item.last_offset}, but its batches end at {offset - 1}"
        raise outside(path, item, detail, item.byte_offset)


def _assigned(entry: Any, data: memoryview, offset: int, append_time: int | None) -> bytes:
    """Return a batch with its offset, and with a time of the append if it has one."""
    checksum = checksum_of(kind_of(entry.message).key)
    stored = getattr(entry.message, checksum.field)
    sound = CHECKSUMS[checksum.algorithm](data[FRAMING + checksum.start :]) == stored
    if append_time is None or not sound:
        made = bytearray(data)
        put_offset(made, 0, offset)
        return bytes(made)
    values = {
        names.BASE_OFFSET: offset,
        names.TIMESTAMP_TYPE: TimestampType.LOG_APPEND_TIME,
        names.MAX_TIMESTAMP: append_time,
    }
    return written(get_codec("python"), data, values)


class AssignedFile(NamedTuple):
    """A segment of a partition in a list."""

    items: Sequence[Coordinate]

    @property
    def name(self) -> str:
        """Name of its file."""
        return SegmentName(self.items[0].base_offset, LOG).sibling(LOG)

    @property
    def size(self) -> int:
        """Number of bytes."""
        return sum(item.byte_size for item in self.items)


class AssignedFiles:
    """A file system with the partitions of a list; see ``kafkaspec.io.remote._Files``."""

    def __init__(self, path: Path, base: str, root: str) -> None:
        """Read a list.

        Args:
            path: the list.
            base: path of the root in the file system.
            root: what stands before it in URLs.

        Raises:
            KafkaSpecError: ``unreadable``: it is not a list.
        """
        self.list = CoordinateList(path)
        self._base, self._root = base, root
        self._segments = {
            folder: {made.name: made for made in map(AssignedFile, segments_of(items))}
            for folder, items in self.list.partitions.items()
        }

    def __reduce__(self) -> tuple[object, ...]:
        return AssignedFiles, (self.list.path, self._base, self._root)

    @property
    def root(self) -> RemotePath:
        return RemotePath(self, self._root, self._base, Status(self._base, True, None, None))

    def status(self, path: str, *, fresh: bool = False) -> Status | None:
        folder, name = self._split(path)
        if not folder or (not name and folder in self._segments):
            return Status(path, True, None, None)
        if name == PARTITION_METADATA and self._metadata(folder):
            return Status(path, False, len(self._metadata(folder)), None)
        found = self._segments.get(folder, {}).get(name)
        return None if found is None else Status(path, False, found.size, None)

    def entries(self, path: str) -> list[Status]:
        folder, _ = self._split(path)
        if not folder:
            return [Status(f"{self._base}/{each}", True, None, None) for each in self._segments]
        if folder not in self._segments:
            raise FileNotFoundError(path)
        listed = list(self._segments[folder])
        if self._metadata(folder):
            listed.append(PARTITION_METADATA)
        return [Status(f"{path}/{each}", False, None, None) for each in listed]

    def open(self, path: str) -> Opened:
        folder, name = self._split(path)
        if name == PARTITION_METADATA:
            data = self._metadata(folder)
            return Opened(lambda start, end: data[start:end], None, True)
        found = self._segments.get(folder, {}).get(name)
        if found is None:
            raise FileNotFoundError(path)
        return Opened(AssignedRanges(self.list, found.items), None, True)

    def _metadata(self, folder: str) -> bytes:
        """Return the file with the id of the topic, empty where the list does not have it."""
        items = self.list.partitions.get(folder)
        known = items[0].topic_id if items else None
        return b"" if known is None else partition_metadata.serialize(known)

    def _split(self, path: str) -> tuple[str, str]:
        folder, _, name = path.removeprefix(self._base).strip("/").partition("/")
        return folder, name
