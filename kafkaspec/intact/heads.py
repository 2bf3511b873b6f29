"""Headers wherever they may be: of broken entries, and of entries to resume at."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.headers import KINDS as HEADERS
from kafkaspec.checksum import CHECKSUMS
from kafkaspec.codecs import get_codec
from kafkaspec.codecs.headers import HeaderScan
from kafkaspec.codecs.native.core import Core
from kafkaspec.errors import KafkaSpecError
from kafkaspec.intact.crc import Sums
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.framing import (
    ENTRY,
    FRAMING,
    HEADER_UP_TO_MAGIC,
    LARGEST_OFFSET,
    MINIMUM_MESSAGE,
    checksum_of,
    field_of,
    field_position,
    fixed_size,
    message_size,
)
from kafkaspec.layout.kinds import KINDS, MAGICS
from kafkaspec.log.batch import NONE

_COLUMNS: Final = {columns.key: columns for columns in HEADERS}
_MAGIC: Final = HEADER_UP_TO_MAGIC - 1
_OFFSET: Final = field_of(ENTRY, names.BASE_OFFSET)
LENGTH_BYTES: Final = LAYOUTS["recordbatch.nullable_bytes_s4"].minimum_size
"""Bytes of the length of a key or value of a message."""
_ODD_BYTES: Final = 1 << 20
"""Size of an entry that is looked for although its offsets are not those of the segment."""
_FIRST_WINDOW: Final = 1 << 12
_LARGEST_WINDOW: Final = 1 << 20
_MOST_PLACES: Final = 1 << 12
_DATA: Final = re.compile(rb"[^\0]")

_MINIMUM: Final = {
    magic: LAYOUTS[kind.key].minimum_size
    + (
        field_of(kind.key, names.TIMESTAMP).size
        if kind.has_timestamps and not kind.has_record_sets
        else 0
    )
    for magic, kind in KINDS.items()
}
"""Fewest bytes of a message, by magic."""
_RULES: Final = {magic: checksum_of(kind.key) for magic, kind in KINDS.items()}
_CRC_BYTES: Final = {
    magic: field_of(kind.key, _RULES[magic].field).size for magic, kind in KINDS.items()
}
_LEAST: Final = {names.LAST_OFFSET_DELTA: 0, names.NUM_RECORDS: 0, names.PRODUCER_ID: NONE}
"""The least numbers in the header of a batch."""
_NUMBERS: Final = (
    names.LAST_OFFSET_DELTA, names.NUM_RECORDS, names.LEADER_EPOCH, names.PRODUCER_ID,
)  # fmt: skip
_PLACES: Final = {
    key: [columns.integers[name] for name in _NUMBERS]
    for key, columns in _COLUMNS.items()
    if columns.integers.keys() >= set(_NUMBERS)
}
"""Where these are, of batches that have each of them at a fixed place."""
SMALLEST: Final = {magic: FRAMING + size for magic, size in _MINIMUM.items()}
"""Fewest bytes of an entry, by magic."""


class _Attributes(NamedTuple):
    """The attributes of entries of a magic.

    Attributes:
        position: bytes before them in an entry.
        size: their bytes.
        used: mask of the bits that have a meaning.
        shift: bits below those of the compression.
        mask: mask of these, shifted.
    """

    position: int
    size: int
    used: int
    shift: int
    mask: int

    @classmethod
    def of(cls, key: str) -> _Attributes:
        """Return those of a type of message. Its bits are listed from the highest to the lowest."""
        attributes, _, compression = names.COMPRESSION.partition(".")
        _, _, reserved = names.RESERVED.partition(".")
        type_key = field_of(key, attributes).type
        bits, shift = {}, 0
        for field in reversed(LAYOUTS[type_key].fields):
            bits[field.id] = shift, (1 << field.width) - 1
            shift += field.width
        return cls(
            FRAMING + field_position(LAYOUTS[key], attributes),
            fixed_size(type_key),
            sum(mask << shift for name, (shift, mask) in bits.items() if name != reserved),
            *bits[compression],
        )

    def in_entry(self, buffer: memoryview, position: int) -> int:
        """Return those of the entry at a place."""
        start = position + self.position
        return int.from_bytes(buffer[start : start + self.size], "big")

    def have_sense(self, found: int) -> bool:
        """Return whether only bits that have a meaning are set."""
        return not found & ~self.used

    def compression(self, found: int) -> int:
        """Return the id of the codec."""
        return found >> self.shift & self.mask


_ATTRIBUTES: Final = {magic: _Attributes.of(kind.key) for magic, kind in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Head:
    """The header of an entry as it is stored; it may be wrong.

    Attributes:
        position: byte offset of the entry.
        size: bytes of the entry.
        magic: its magic.
        crc: the stored checksum.
        compression: id of the codec.
        first: its first offset; of a compressed message only the last one is known.
        last: its last offset.
        count: its records, None for a compressed message.
        leader_epoch: leader epoch, -1 for none.
        producer_id: id of the producer, -1 for none.
        has_sense: whether the numbers fit each other, but for the size.
        fits: whether the size is that of an entry; of a message also of its key and value.
    """

    position: int
    size: int
    magic: int
    crc: int
    compression: int
    first: int
    last: int
    count: int | None
    leader_epoch: int
    producer_id: int
    has_sense: bool
    fits: bool

    @property
    def is_plausible(self) -> bool:
        """Whether the numbers fit each other; the size may reach beyond the end."""
        return self.has_sense and self.fits

    @property
    def end(self) -> int:
        """Byte offset after the entry, as its size has it."""
        return self.position + self.size

    @property
    def algorithm(self) -> str:
        """Name of the checksum."""
        return _RULES[self.magic].algorithm

    @property
    def covered(self) -> int:
        """Byte offset of the first byte that the checksum covers."""
        return self.position + FRAMING + _RULES[self.magic].start

    @property
    def crc_bytes(self) -> int:
        """Number of bytes of the stored checksum."""
        return _CRC_BYTES[self.magic]

    @property
    def crc_position(self) -> int:
        """Byte offset of the stored checksum."""
        return self.position + FRAMING + _RULES[self.magic].position


def head_at(buffer: memoryview, position: int, magic: int | None = None) -> Head | None:
    """Return what is at a place, read as a header.

    Args:
        magic: the magic to assume; by default the one that is there.

    Returns:
        The header, None if there are too few bytes, or no such magic.
    """
    left = len(buffer) - position
    if left < HEADER_UP_TO_MAGIC:
        return None
    if magic is None:
        magic = buffer[position + _MAGIC]
    kind = KINDS.get(magic)
    if kind is None or left < SMALLEST[magic]:
        return None
    size = FRAMING + message_size(buffer, position)
    offset = int.from_bytes(buffer[position : position + _OFFSET.size], "big", signed=True)
    rule = _RULES[magic]
    at = position + FRAMING + rule.position
    crc = int.from_bytes(buffer[at : at + _CRC_BYTES[magic]], "big")
    attributes = _ATTRIBUTES[magic]
    stored = attributes.in_entry(buffer, position)
    codec = attributes.compression(stored)
    if kind.has_record_sets:
        numbers = _numbers(kind, buffer, position, size)
        if numbers is None:
            return None
        delta, count, epoch, producer = numbers
        return Head(
            position, size, magic, crc, codec, offset, offset + delta, count, epoch, producer,
            0 <= offset <= LARGEST_OFFSET and delta >= 0
            and 0 <= count <= delta + 1 and producer >= NONE
            and attributes.have_sense(stored),
            size >= SMALLEST[magic],
        )  # fmt: skip
    return Head(
        position, size, magic, crc, codec, offset, offset, None if codec else 1, NONE, NONE,
        0 <= offset <= LARGEST_OFFSET and attributes.have_sense(stored),
        size == _size_by_strings(buffer, position, magic),
    )  # fmt: skip


def _numbers(kind: EntryKind, buffer: memoryview, position: int, size: int) -> list[int] | None:
    """Return the numbers in the header of a batch: ``_NUMBERS``; None if it cannot be read."""
    layout = _COLUMNS.get(kind.key)
    places = _PLACES.get(kind.key)
    if places is not None:
        starts = [position + place.position for place in places]
        return [
            int.from_bytes(buffer[at : at + place.size], "big", signed=place.signed)
            for at, place in zip(starts, places, strict=True)
        ]
    if layout is not None:
        header = bytes(buffer[position : position + layout.size])
        columns = HeaderScan(layout, [0, layout.size], header)
        return [columns.column(name)[0] if name in columns.names else NONE for name in _NUMBERS]
    try:  # its fields are not at fixed places
        entry, _ = get_codec("python").parse(ENTRY, buffer[position : position + max(size, 0)])
    except KafkaSpecError:
        return None
    return [getattr(entry.message, name, NONE) for name in _NUMBERS]


def _size_by_strings(buffer: memoryview, position: int, magic: int) -> int | None:
    """Return the size of a message by those of its key and value, None if it cannot have them."""
    size = SMALLEST[magic]
    at = position + size - 2 * LENGTH_BYTES
    for _ in range(2):
        length = int.from_bytes(buffer[at : at + LENGTH_BYTES], "big", signed=True)
        if length < -1 or len(buffer) - at < LENGTH_BYTES:
            return None
        size += max(length, 0)
        at += LENGTH_BYTES + max(length, 0)
    return size


def declared_end(buffer: memoryview, position: int) -> int | None:
    """Return where the entry at a place ends by its size field alone, None if it cannot be."""
    if len(buffer) - position < HEADER_UP_TO_MAGIC:
        return None
    size = message_size(buffer, position)
    end = position + FRAMING + size
    return end if size >= MINIMUM_MESSAGE and end <= len(buffer) else None


class Seeker:
    """Looks for sound entries in bytes that need not begin with one.

    However the sizes were crafted, each byte goes into a bounded number of checksums: when single
    ones have cost more than a few times the size of the segment, all of it is summed up once, and
    the rest are calculated from these sums.

    Args:
        core: the extension; without it, Python looks.
        offsets: those that entries are expected to have, others are looked for up to 1 MiB.
    """

    def __init__(
        self, buffer: memoryview, core: Core | None, offsets: range = range(LARGEST_OFFSET)
    ) -> None:
        self._buffer = buffer
        self._offsets = offsets
        self._core = core
        self._places = array("q", bytes(8 * _MOST_PLACES))
        self._budget = 4 * len(buffer) + (1 << 22)
        self._sums: dict[str, Sums] = {}

    def is_sound(self, head: Head | None) -> bool:
        """Return whether an entry is whole, has plausible numbers and the right checksum."""
        if head is None or not head.is_plausible or head.end > len(self._buffer):
            return False
        return self.crc(head.algorithm, head.covered, head.end) == head.crc

    def crc(self, algorithm: str, first: int, stop: int) -> int:
        """Return the checksum of some bytes."""
        if stop - first > _FIRST_WINDOW:
            self._budget -= stop - first
            if self._budget < 0:
                sums = self._sums.get(algorithm)
                if sums is None:
                    sums = self._sums[algorithm] = Sums(algorithm, self._buffer, 0)
                return sums.of(first, stop)
        return CHECKSUMS[algorithm](self._buffer[first:stop])

    def first(self, start: int, stop: int | None = None) -> Head | None:
        """Return the first sound entry that begins at or after a place, None if there is none.

        Args:
            stop: the place before which it has to begin, None for the end.
        """
        stop, window = len(self._buffer) if stop is None else stop, _FIRST_WINDOW
        while start < stop:
            end = min(start + window, stop)
            for position in self._candidates(start, end):
                head = head_at(self._buffer, position)
                if head is None or not head.is_plausible:
                    continue
                if head.first not in self._offsets and head.size > _ODD_BYTES:
                    continue
                if self.is_sound(head):
                    return head
            start, window = end, min(2 * window, _LARGEST_WINDOW)
        return None

    def _candidates(self, start: int, stop: int) -> list[int]:
        """Return places at which the numbers of a header fit each other, in order."""
        found: list[int] = []
        for magic in MAGICS:
            found += self._of(magic, start, stop)
        found.sort()
        return found

    def _of(self, magic: int, start: int, stop: int) -> Iterator[int]:
        if self._core is None:
            yield from self._in_python(magic, start, stop)
            return
        while start < stop:
            count, start = self._core.module.seek(
                self._buffer, start, stop, _MAGIC, magic, _BOUNDS[magic], 0, FRAMING, self._places
            )
            yield from self._places[:count]

    def _in_python(self, magic: int, start: int, stop: int) -> Iterator[int]:
        buffer, wanted = self._buffer, re.compile(re.escape(bytes([magic])))
        bounds = _BOUNDS[magic]
        tests = [tuple(bounds[k : k + 4]) for k in range(0, len(bounds), 4)]
        reach = max(at + width for at, width, _, _ in tests)
        last = min(stop, len(buffer) - reach + 1)
        while start < last:
            found = wanted.search(buffer, start + _MAGIC, last + _MAGIC)
            if found is None:
                return
            start = found.start() - _MAGIC
            size = message_size(buffer, start)
            if not size and not magic:  # zeros have the magic of no entry
                data = _DATA.search(buffer, start + _OFFSET.size)
                start = len(buffer) if data is None else max(start + 1, data.start() - FRAMING + 1)
                continue
            if size <= len(buffer) - start - FRAMING and all(
                least
                <= int.from_bytes(buffer[start + at : start + at + width], "big", signed=True)
                <= most
                for at, width, least, most in tests
            ):
                yield start
            start += 1


def _bounds(magic: int) -> array[int]:
    """Return the bounds of the numbers in a header: distance, width, least and most of each."""
    kind = KINDS[magic]
    size = field_of(ENTRY, "len_message")
    found = array("q", [_OFFSET.size, size.size, _MINIMUM[magic], size.largest])
    found.extend((0, _OFFSET.size, 0, LARGEST_OFFSET))
    attributes = _ATTRIBUTES[magic]
    found.extend((attributes.position, attributes.size, 0, attributes.used))
    if kind.has_record_sets:
        columns = _COLUMNS.get(kind.key)
        fields = {} if columns is None else columns.integers
        for name, least in _LEAST.items():
            if name not in fields:
                continue
            most = field_of(kind.key, name).largest
            found.extend((fields[name].position, fields[name].size, least, most))
    return found


_BOUNDS: Final = {magic: _bounds(magic) for magic in MAGICS}
