"""Indexes of a segment: entries without the zero padding, lookups.

The specification lists them, and says what their entries are made of. An index of positions is
looked up by offset, one of the largest numbers so far by that number. All are preallocated while a
segment is active, and then end in zeros. By the rule of Kafka's
dump tool the entries end before the first one, other than the very first, with relative offset 0.
A file that starts with two zero slots has no entry at all: nothing was appended to it yet. A file
of one zero slot has one entry.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from os import PathLike
from typing import Any, ClassVar, Final, Generic, TypeVar

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.layout.files import FILES
from kafkaspec._generated.python.model.index import OffsetIndexEntry, TimeIndexEntry
from kafkaspec.codecs import Codec, get_codec
from kafkaspec.errors import KafkaSpecError, Reason, make_error, unreadable
from kafkaspec.files import names
from kafkaspec.files.arrays import entry_at, entry_struct, integer_column, wide_column
from kafkaspec.io.local import Source
from kafkaspec.io.remote import as_path
from kafkaspec.layout import Kind
from kafkaspec.layout.framing import field_of, fixed_size
from kafkaspec.layout.names import OFFSET, RELATIVE_OFFSET

Entry = TypeVar("Entry")

_ZEROS_AT_ONCE: Final = 1 << 16
_SLOTS_AT_ONCE: Final = 1 << 12
_MOST_BYTES: Final = (1 << 31) - 1
"""``segment.index.bytes`` is an int."""


class Index(Generic[Entry]):
    """An index, of the kind that its class says.

    Attributes:
        path: path of the file.
        base_offset: base offset of the segment; offsets of entries are relative to it.
        size: bytes of the file.
        entry_size: bytes of an entry.
        slots: number of whole slots in the file, including padding; a broker that opens the file
            takes all of them for entries.
        trailing_bytes: bytes after the last whole slot; Kafka refuses the file if there are any.
    """

    kind: ClassVar[str]
    """How the name of the file ends: ``.index``."""
    type_key: ClassVar[str]
    """Key of the type of an entry."""
    other: ClassVar[str]
    """Id of the field that an entry has for its offset."""
    key: ClassVar[str]
    """Id of the field by which entries are looked up: the largest number so far, or the offset."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Take what the specification says of files of the kind.

        Raises:
            TypeError: entries do not all have the same size.
        """
        super().__init_subclass__(**options)
        layout = FILES[cls.kind]
        cls.type_key, largest = layout.entry, layout.largest
        cls.key = OFFSET if largest is None else largest.field
        cls.other = layout.sources[0].field if largest is None else largest.field
        entry_struct(cls.type_key)

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        base_offset: int | None = None,
        codec: Codec | str | None = None,
    ) -> None:
        """Map an index.

        Args:
            base_offset: base offset of the segment; from the file name by default.
            codec: codec that reads the entries.

        Raises:
            KafkaSpecError: ``unreadable``; also without a base offset.
        """
        self.path = as_path(path)
        if base_offset is None:
            name = names.parse_segment(self.path.name)
            if name is None:
                raise unreadable(str(path), "its name has no base offset; give one")
            base_offset = name.base_offset
        self.base_offset = base_offset
        self._codec = codec if isinstance(codec, Codec) else get_codec(codec)
        self._source = Source.of(self.path, _MOST_BYTES)
        self.size = self._source.size
        self.entry_size = fixed_size(self.type_key)
        self.slots, self.trailing_bytes = divmod(self.size, self.entry_size)
        self._count: int | None = None

    def __len__(self) -> int:
        """Return the number of entries before the padding."""
        if self._count is None:
            self._source.check()
            self._count = _count(self.type_key, self._slots())
        return self._count

    @property
    def padding(self) -> int:
        """Bytes after the last entry that belong to whole slots."""
        return (self.slots - len(self)) * self.entry_size

    @property
    def padding_is_zero(self) -> bool:
        """Whether the padding is all zeros."""
        self._source.check()
        start = len(self) * self.entry_size
        return is_zero(self._source.buffer[start : self.slots * self.entry_size])

    def entry(self, index: int) -> Entry:
        """Return the entry with that index, as an object of the typed model.

        Raises:
            IndexError: there is none.
        """
        if not 0 <= index < len(self):
            raise IndexError(index)
        entry: Entry = entry_at(self._codec, self.type_key, self._source, index, self.base_offset)
        return entry

    @property
    def entries(self) -> list[Entry]:
        """Return all entries before the padding."""
        return [self.entry(index) for index in range(len(self))]

    def sanity_check(self) -> list[KafkaSpecError]:
        """Return all errors that Kafka's own ``sanityCheck`` would report; [] for a sound file.

        Since 2.3 brokers no longer run it when they load a log (KAFKA-7283).
        """
        problems = []
        if len(self) and self.key != OFFSET and self._key(len(self) - 1) < self._key(0):
            first, last = self._key(0), self._key(len(self) - 1)
            detail = f"the last {self.key} {last} is below the first, {first}"
            problems.append(self._problem(len(self) - 1, self.key, detail))
        if len(self) and self._offset(len(self) - 1) < self.base_offset:
            last = self._offset(len(self) - 1)
            detail = f"the last offset {last} is below the base offset {self.base_offset}"
            problems.append(self._problem(len(self) - 1, RELATIVE_OFFSET, detail))
        if self.trailing_bytes:
            detail = f"the size {self.size} is not a multiple of {self.entry_size}"
            place, spec = self.slots * self.entry_size, LAYOUTS[self.type_key].location
            problems.append(
                make_error(
                    Reason.TRAILING_BYTES, detail, file=self._source.name, offset=place, spec=spec
                )
            )
        return problems

    def entry_columns(self) -> dict[str, array[int]] | None:
        """Return the offsets and all other numbers of the entries before the padding, by columns.

        Returns:
            Columns by id; None if the codec has no core, or an offset is larger than any that
            Kafka can have.
        """
        core = self._codec.core
        if core is None:
            return None
        self._source.check()
        data, base = self._source.buffer[: len(self) * self.entry_size], self.base_offset
        fields = [item.id for item in LAYOUTS[self.type_key].fields if item.kind is Kind.INTEGER]
        try:
            return {
                OFFSET if name == RELATIVE_OFFSET else name: wide_column(
                    core, self.type_key, name, data, base if name == RELATIVE_OFFSET else 0
                )
                for name in fields
            }
        except OverflowError:
            return None

    def slot_columns(self) -> tuple[list[int], list[int]]:
        """Return offsets, and the other field, of all slots: a broker takes padding for entries."""
        columns = self.all_slots()
        return columns[OFFSET], columns[self.other]

    def all_slots(self) -> dict[str, list[int]]:
        """Return the offsets and all fields of all slots, in the order of the specification."""
        self._source.check()
        names = [item.id for item in LAYOUTS[self.type_key].fields]
        slots = list(entry_struct(self.type_key).iter_unpack(self._slots()))
        found = {name: [slot[place] for slot in slots] for place, name in enumerate(names)}
        relative = found.pop(RELATIVE_OFFSET)
        return {OFFSET: [self.base_offset + offset for offset in relative], **found}

    def close(self) -> None:
        """Release the mapping."""
        self._source.close()

    def _slots(self) -> memoryview:
        return self._source.buffer[: self.slots * self.entry_size]

    def lookup(self, value: int, /) -> Entry | None:
        """Return the largest entry at or below a value of its key; None for the segment's start.

        By bisection, as in Kafka. The key of an offset index is the offset.
        """
        count = bisect_right(range(len(self)), value, key=self._key)
        return self.entry(count - 1) if count else None

    def _key(self, index: int) -> Any:
        return getattr(self.entry(index), self.key)

    def _offset(self, index: int) -> int:
        found: int = getattr(self.entry(index), OFFSET)
        return found

    def _problem(self, index: int, field: str, detail: str) -> KafkaSpecError:
        return make_error(
            Reason.INVALID_VALUE,
            detail,
            file=self._source.name,
            offset=index * self.entry_size,
            path=f"/{field}",
            spec=field_of(self.type_key, field).location,
        )


class OffsetIndex(Index[OffsetIndexEntry]):
    """An ``.index`` file: offsets to byte positions. Kafka: ``OffsetIndex``."""

    kind = names.OFFSET_INDEX

    def lookup(self, offset: int) -> OffsetIndexEntry | None:
        """Return the largest entry at or below ``offset``; None means the start of the segment."""
        return super().lookup(offset)


class TimeIndex(Index[TimeIndexEntry]):
    """A ``.timeindex`` file: timestamps to offsets. Kafka: ``TimeIndex``."""

    kind = names.TIME_INDEX

    def lookup(self, timestamp: int) -> TimeIndexEntry | None:
        """Return the largest entry at or below ``timestamp`` in ms, None for the segment's start.

        Every record with a later timestamp than the entry has a larger offset than the entry.
        """
        return super().lookup(timestamp)

    @property
    def last_timestamp(self) -> int | None:
        """Timestamp of the last entry in ms: the largest of a closed segment. None for no entry."""
        return self.entry(len(self) - 1).timestamp if len(self) else None


INDEXES: Final[dict[str, type[Index[Any]]]] = {
    names.OFFSET_INDEX: OffsetIndex,
    names.TIME_INDEX: TimeIndex,
    **{kind: type("Index", (Index,), {"kind": kind}) for kind in names.NEW_INDEXES},
}
"""The class of each kind of index."""


INDEXED: Final = tuple(
    source.name for kind in INDEXES if (source := FILES[kind].largest) is not None
)
"""Numbers of headers of which an index has the largest so far."""


def is_zero(data: memoryview) -> bool:
    """Return whether ``data`` is all zeros, reading it in pieces."""
    zeros = bytes(_ZEROS_AT_ONCE)
    for start in range(0, len(data), _ZEROS_AT_ONCE):
        piece = bytes(data[start : start + _ZEROS_AT_ONCE])
        if piece != zeros[: len(piece)]:
            return False
    return True


def _count(type_key: str, slots: memoryview) -> int:
    """Return the number of entries before the padding."""
    size = entry_struct(type_key).size
    count = len(slots) // size
    for first in range(0, count, _SLOTS_AT_ONCE):
        piece = slots[first * size : min(first + _SLOTS_AT_ONCE, count) * size]
        relative = integer_column(type_key, RELATIVE_OFFSET, piece)
        try:
            number = first + relative.index(0, 0 if first else 1)
        except ValueError:
            continue
        return 0 if number == 1 and is_zero(slots[:size]) else number
    return count


LARGEST_RELATIVE_OFFSET: Final = min(
    field_of(index.type_key, RELATIVE_OFFSET).largest for index in INDEXES.values()
)
"""Largest distance of an offset from the base offset of the segment that an entry can express."""
