"""Input and output of a conversion in columns, for the comparison."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby, islice, repeat
from typing import Any, Final

from kafkaspec._generated.python.model.recordbatch import TimestampType
from kafkaspec.codecs import Codec
from kafkaspec.codecs.edited import changed
from kafkaspec.codecs.native.core import Core
from kafkaspec.columns.memory import Columns, Layout
from kafkaspec.columns.reader import Reader
from kafkaspec.columns.wanted import BATCH_MAGIC, BATCH_POSITION, IS_CONTROL, OF_BATCH, Wanted
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.fields import (
    RecordValues,
    carried,
    carried_record,
    default_columns,
    entry_names,
    header_values,
    holds_only,
    own_fields,
    record_values,
    values_of_messages,
)
from kafkaspec.conversion.losses import Loss
from kafkaspec.conversion.message_columns import are_plain, count_plain
from kafkaspec.conversion.partition import FileProgress, PartitionConversion
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import LOG_APPEND_TIME, NO_TIMESTAMP, Batch, held_payload
from kafkaspec.log.legacy import LegacyBatch
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.log.selection import is_timely

_SOURCES: Final = {
    "timestamp_type": (OF_BATCH + names.TIMESTAMP_TYPE, BATCH_MAGIC),
    "transactional": (OF_BATCH + names.IS_TRANSACTIONAL,),
    "control_type": (IS_CONTROL,),  # the rest of it is in the key
    "producer_id": (OF_BATCH + names.PRODUCER_ID,),
    "producer_epoch": (OF_BATCH + names.PRODUCER_EPOCH,),
    "leader_epoch": (OF_BATCH + names.LEADER_EPOCH,),
}
"""Columns of the specification that others are made of."""
_CHUNK_BYTES: Final = 2 << 20
"""Bytes of each side that are compared at once: few enough that both stay in the cache."""
_COMPRESSION: Final = OF_BATCH + names.COMPRESSION
_OF_TRANSACTIONS: Final = {OF_BATCH + names.IS_TRANSACTIONAL, IS_CONTROL}
_FLAGS: Final = tuple(OF_BATCH + name for name in (names.TIMESTAMP_TYPE, names.HAS_DELETE_HORIZON))

HIDDEN: Final = "timestamp under the append time"
"""Records in a batch with an append time still have their own timestamps. Messages do not."""
OwnValues = dict[str, Any]
"""What a record has beside the columns that are compared, and is not the default, by name."""


class Sides:
    """Both sides of a conversion, and the change of offsets.

    Attributes:
        low: smallest offset to compare, None for any.
        shift: number that was added to each offset.
        first: first new offset, if offsets were renumbered.
        kind: format of all entries of the output, None if each entry kept its own.
        control: whether both sides have control records.
        columns: the columns that must be equal, each with those of the specification.
    """

    def __init__(
        self,
        conversion: PartitionConversion,
        choices: Choices,
        codec: Codec,
        low: int | None,
        progress: FileProgress | None,
    ) -> None:
        """Prepare to read both sides; see ``compare``."""
        self.choices = choices
        self.low = low
        self.shift = conversion.converter.offsets.shift
        self.first = choices.base_offset if choices.offsets == "renumber" else None
        self.kind = choices.kind
        self.codec = codec
        self.control = self.kind is None or self.kind.has_transactions
        self._losses = conversion.result.losses
        self.columns = {name: _SOURCES.get(name, (name,)) for name in self._columns()}
        self._told = 0
        self._conversion = conversion
        self._progress = progress

    def _columns(self) -> Iterator[str]:
        kind = self.kind
        yield from ("offset", "timestamp", "key", "value")
        if kind is None and not self._losses[Loss.TIMESTAMP_TYPES].batches:
            # A batch has a timestamp type, but messages of magic 0 have none.
            yield "timestamp_type"
        if kind is None or kind.has_headers:
            yield "headers"
        if kind is None or kind.has_producers:
            yield from ("producer_id", "producer_epoch")
            if not self._losses[Loss.SEQUENCES].batches:
                yield "sequence"
        if self.control:
            yield from ("transactional", "control_type")
        if (kind is None or kind.has_leader_epochs) and self.choices.leader_epoch is None:
            yield "leader_epoch"

    def source(self) -> Iterator[Segment]:
        """Yield the converted parts of the input, in whole batches; report progress only once."""
        done = 0
        for path, spans in self._conversion.spans:
            with self._conversion.open(path) as segment:
                for start, stop in spans:
                    yield segment.part(start, stop)
                    done += stop - start
                    if self._progress is not None and done > self._told:
                        self._progress(segment.name or "", done - self._told)
                        self._told = done

    def target(self) -> Iterator[Segment]:
        """Yield the segments of the output."""
        target = self._conversion.result.target
        return Partition(target, codec=self.codec, **self.bound).segments_from(None)

    @property
    def bound(self) -> dict[str, Any]:
        """The option that limits the size of a decompressed batch."""
        most = self.choices.max_output
        return {} if most is None else {"max_output": most}

    def expected(self) -> SideRows:
        """Return the converted records of the input as the output must have them."""
        return SideRows(self, self.source(), self.low, self.choices.end_offset, is_source=True)

    def made(self) -> SideRows:
        """Return the records of the output."""
        return SideRows(self, self.target(), None, None, is_source=False)


class SideRows:
    """The records of one side in columns, a chunk at a time.

    Attributes:
        chunk: the columns.
        first: the first row that is still to be compared.
    """

    chunk: Columns

    def __init__(
        self,
        sides: Sides,
        segments: Iterable[Segment],
        low: int | None,
        high: int | None,
        *,
        is_source: bool,
    ) -> None:
        """Prepare to read the records from offset ``low`` up to ``high``."""
        self._sides, self._core, self._is_source = sides, sides.codec.core, is_source
        self._low, self._high = low, high
        self._ranges = self._read(segments)
        self._next = sides.first
        self._own: list[OwnValues] | None = None
        self.first = self._end = 0

    def left(self) -> int:
        """Return how many rows can be compared now; 0 at the end."""
        if self.first == self._end:
            found = next(self._ranges, range(0))
            self.first, self._end = found.start, found.stop
            if self._is_source and self._next is not None and found:
                new = range(self._next, self._next + len(found))
                self._next = new.stop
                self.integers(names.OFFSET)[found.start : found.stop] = array("q", new)
        return self._end - self.first

    def integers(self, name: str) -> memoryview:
        """Return a column of integers of the chunk."""
        return self.chunk.integer_column(name).integers[: self.chunk.rows]

    def own_of(self, rows: range) -> list[OwnValues]:
        """Return what some records have beside the columns; nothing if there is nothing at all."""
        return [] if self._own is None else self._own[rows.start : rows.stop]

    def _read(self, segments: Iterable[Segment]) -> Iterator[range]:
        """Take chunk after chunk, and yield the rows of each that are to be compared."""
        sides, core = self._sides, self._core
        compared = (name for found in sides.columns.values() for name in found)
        own = () if core is None else _own_names(core)
        needed = tuple(dict.fromkeys((*compared, IS_CONTROL, BATCH_POSITION, *own)))
        wanted = Wanted(
            start_offset=self._low,
            end_offset=self._high,
            include_control=sides.control or not self._is_source,
            max_bytes=_CHUNK_BYTES,
        )
        allocate = bytearray if core is None else core.module.memory
        for segment in segments:
            self._entry = -1
            for chunk in Reader(segment, needed, wanted, allocate=allocate):
                self.chunk = chunk
                self._own = self._beside(segment)
                taken = self._taken()
                if self._is_source:
                    self._expect()
                yield from taken
                del chunk, self.chunk  # before others take their memory

    def _taken(self) -> list[range]:
        """Return the rows of the chunk that are in the ranges of offsets and timestamps."""
        low, high, choices = self._low, self._high, self._sides.choices
        by_time = self._is_source and choices.by_time
        bounded = self.chunk.cut and not (low is None and high is None)
        if not (by_time or bounded):
            return [range(self.chunk.rows)]
        columns = map(self.integers, (names.OFFSET, names.TIMESTAMP, IS_CONTROL))
        found: list[range] = []
        row = 0
        for taken, some in groupby(
            (low is None or offset >= low)
            and (high is None or offset < high)
            and (
                not by_time
                or control > 0
                or is_timely(timestamp, choices.start_timestamp, choices.end_timestamp)
            )
            for offset, timestamp, control in zip(*columns, strict=True)
        ):
            start, row = row, row + sum(1 for _ in some)
            if taken:
                found.append(range(start, row))
        return found

    def _expect(self) -> None:
        """Change the columns of the input to what the output must have."""
        kind, shift = self._sides.kind, self._sides.shift
        if shift:
            offsets = self.integers(names.OFFSET)
            offsets[:] = array("q", [offset + shift for offset in offsets])
        if kind is None:
            return
        if not kind.has_timestamps:
            self.integers(names.TIMESTAMP)[:] = array("q", [NO_TIMESTAMP]) * self.chunk.rows
        for name in _OF_TRANSACTIONS & self.chunk.columns.keys():
            flags = self.integers(name)
            if min(flags, default=0) < 0:  # messages do not have it
                flags[:] = array("q", [max(flag, 0) for flag in flags])

    # -- what no column has -------------------------------------------------------------------

    def _beside(self, segment: Segment) -> list[OwnValues] | None:
        chunk, core = self.chunk, self._core
        if core is not None and chunk.layout is Layout.VIEW and _is_plain(core, chunk):
            return None
        found: list[OwnValues] = []
        for place, some in groupby(self.integers(BATCH_POSITION)):
            if self._entry != chunk.start + place:  # no other part of the same entry
                self._entry = chunk.start + place
                batch = segment.batch_at(self._entry)
                target = self._sides.kind if self._is_source else None
                self._values = _own_values(batch, target or batch.kind, segment.codec)
            found += islice(self._values, sum(1 for _ in some))
        return found


@cache
def _own_names(core: Core) -> tuple[str, ...]:
    """Return the columns that ``_is_plain`` needs."""
    own = (name for kind in KINDS.values() for name in default_columns(core, kind) or ())
    return tuple(dict.fromkeys((BATCH_MAGIC, _COMPRESSION, *_FLAGS, *own)))


def _is_plain(core: Core, found: Columns) -> bool:
    """Return whether no record of a chunk has anything that its columns do not show.

    All are of one kind, with the default in each field that no conversion knows; none is in a
    batch with an append time or a delete horizon. Messages are all in wrappers, or none is.
    """
    kind = KINDS[found.integer_column(BATCH_MAGIC).integers[0]]
    expected = default_columns(core, kind)
    if expected is None:
        return False
    flags = _FLAGS if kind.has_record_sets else (_COMPRESSION,)
    in_wrappers = not kind.has_record_sets and all(
        found.integer_column(_COMPRESSION).integers[: found.rows]
    )
    wanted = {BATCH_MAGIC: kind.magic, **dict.fromkeys(() if in_wrappers else flags, 0), **expected}
    if not holds_only(core, found.columns, found.rows, wanted):
        return False
    # The messages of these wrappers, and no others, are in what was decompressed.
    return not in_wrappers or found.rows == count_plain(core, memoryview(found.sources[-1]), kind)


def _own_values(batch: Batch, target: EntryKind, codec: Codec) -> Iterator[OwnValues]:
    """Yield what each record of an entry has beside the columns, as far as a format keeps it."""
    kind = batch.kind
    shared = _named("header", carried(header_values(kind, batch.message), kind, target))
    times: Iterable[int | None] = repeat(None)
    if kind.has_record_sets:
        if target.has_delete_horizons and batch.delete_horizon is not None:
            shared[f"header.{names.DELETE_HORIZON}"] = batch.delete_horizon
        count, message = batch.num_records or 0, batch.message
        appended = batch.timestamp_type == LOG_APPEND_TIME
        if not appended and not own_fields(kind).record:
            yield from repeat(shared, count)
            return
        if appended:
            message = changed(message, {names.TIMESTAMP_TYPE: TimestampType.CREATE_TIME})
        payload = batch.decompressed()
        own: Iterable[RecordValues] = record_values(batch, message, payload, codec) or [{}] * count
        if appended and target.has_record_sets:
            times = [record.timestamp for record in codec.decode_records(message, payload)]
    else:
        if not (batch.is_wrapper and target.has_record_sets):
            shared = {}  # each message has its own entry
        if codec.core is not None and isinstance(batch, LegacyBatch) and batch.is_wrapper:
            regular = batch.regular(held_payload(batch))
            if regular is not None and are_plain(codec.core, regular[0], kind):
                yield from repeat(shared, regular[1].count)
                return
        own = values_of_messages(batch)
    for some, time in zip(own, times, strict=False):
        kept = carried_record(some, kind, target)
        found = shared | _named("record", ((n, kept[n]) for n in kept.keys() - entry_names()))
        if not shared:
            found |= _named("header", ((n, some[n]) for n in some.keys() & entry_names()))
        if time is not None:
            found[HIDDEN] = time
        yield found or shared


def _named(prefix: str, values: Iterable[tuple[str, Any]]) -> OwnValues:
    return {f"{prefix}.{name}": value for name, value in values}
