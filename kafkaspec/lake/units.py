"""Write what one task of an increment writes: the rows of segments, as Parquet files.

A segment is read once, in bounded memory. What cannot be read becomes rows of ``dead``, as readers
leave it out: a batch with a sound size alone, everything from one without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kafkaspec.analysis.reasons import TAIL_REASONS
from kafkaspec.arrow.arrays import choose
from kafkaspec.arrow.record_batches import record_batches
from kafkaspec.arrow.schema import Request
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.indexes import LARGEST_RELATIVE_OFFSET
from kafkaspec.io.remote import as_path
from kafkaspec.io.window import HeldReading
from kafkaspec.lake.manifest import LakeFile, Mark
from kafkaspec.lake.parquet import LakeWriter
from kafkaspec.lake.rows import (
    COLUMNS,
    CONTROL,
    PLACE,
    BatchRows,
    Constants,
    HeldRows,
    dead_rows,
    payloads,
    raw_rows,
)
from kafkaspec.lake.schema import BATCHES, DEAD, FOLDERS, RAW, TYPED_FOLDERS
from kafkaspec.log.cuts import Cut, cuts_by_headers, cuts_by_index, holds, open_between
from kafkaspec.log.damage import broken_entry
from kafkaspec.log.entries import entry_end
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import divided, readable_entries
from kafkaspec.log.segment import Segment
from kafkaspec.options import checked
from kafkaspec.policy import RaiseOrSkip
from kafkaspec.shown import without_credentials

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkaspec.lake.typed_rows import Plans, TypedRows

RANGE_BYTES: Final = 8 << 20
"""Bytes of a segment whose entries are looked at together, unless one has more: as many as a window
has, since each range costs about as much as 10,000 rows."""
KAFKA_BYTES: Final = 8 << 20
"""Bytes of these whose rows are made at a time, decompressed."""
DEAD_BYTES: Final = 16 << 20
"""Most bytes of a row of ``dead``: a larger range has several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeUnit:
    """A segment, or a range of its bytes, that a task reads.

    Attributes:
        path: path or URL of the segment.
        topic: name of the topic.
        topic_id: its id; None before Kafka 2.8.
        partition: number of the partition.
        generation: see ``kafkaspec.lake.schema``.
        start: position of the first entry.
        end: position after the last byte; None for the end of the file.
        start_offset: entries that end below it are left out.
    """

    path: str
    topic: str
    partition: int
    topic_id: str | None = None
    generation: int = 0
    start: int = 0
    end: int | None = None
    start_offset: int | None = None


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class LakeSettings:
    """Settings that all tasks of an increment have in common.

    Attributes:
        place: directory or URL of the lake.
        exact: whether ``batches`` keeps the bytes of entries that rows do not give again.
        file_size: bytes after which a file ends.
        typed: how keys and values are read, by topic: see ``kafkaspec.lake.typed_rows.plans_of``.
        taken: the types that the typed table of a topic takes, where there is one already.
        on_error: ``skip``: what cannot be read becomes rows of ``dead``. ``raise``: it is an error.
    """

    place: str
    exact: bool = False
    file_size: int = 512 << 20
    typed: Mapping[str, Plans] = field(default_factory=dict)
    taken: Mapping[str, pa.Schema] = field(default_factory=dict)
    on_error: RaiseOrSkip = "skip"


@dataclass(frozen=True, slots=True)
class UnitResult:
    """The result of a unit.

    Attributes:
        files: the files that were complete with it; the last unit of a task has most of them.
        progress: its row of ``progress``, without the epoch.
    """

    files: tuple[LakeFile, ...]
    progress: Mapping[str, Any]


def write_units(units: Sequence[LakeUnit], settings: LakeSettings, mark: Mark) -> list[UnitResult]:
    """Write the rows of units: what one attempt of a task does.

    Args:
        units: the segments or ranges, those of a partition in the order of their offsets.
        settings: those of the increment.
        mark: the increment and the run.

    Raises:
        KafkaSpecError: a file cannot be read or written, or is damaged and ``raise``; no file of
            this attempt is complete then that a result names.
    """
    writer = LakeWriter(settings.place, mark, settings.file_size)
    typed = _typed(settings)
    found: list[Mapping[str, Any]] = []
    try:
        for unit in units:
            made = _Unit(unit, settings, mark, writer, typed.get(unit.topic))
            found.append(made.write())
        files = writer.finish()
    except BaseException:
        writer.abort()
        raise
    return [
        UnitResult(files if number == len(found) else (), progress)
        for number, progress in enumerate(found, 1)
    ]


def _typed(settings: LakeSettings) -> dict[str, TypedRows]:
    plans, taken = settings.typed, settings.taken
    if not any(plans.values()):
        return {}  # without the libraries of values
    from kafkaspec.lake.typed_rows import TypedRows

    return {
        topic: TypedRows(topic, each, taken.get(topic)) for topic, each in plans.items() if each
    }


def parts_of(unit: LakeUnit, size: int, target: int) -> list[tuple[LakeUnit, int]]:
    """Cut a unit of so many bytes at batches into parts of about ``target``, each with its bytes.

    Its offset index says where, as far as it is right, or the headers of all batches. What cannot
    be read is not cut.
    """
    stop = unit.start + size
    try:
        with Segment(as_path(unit.path), mapped=False) as segment:
            try:
                index = segment.offset_index
                cuts = None if index is None else cuts_by_index(index, stop, target)
            except KafkaSpecError:
                cuts = None  # of a file that says nothing about records
            if not cuts or not all(holds(segment, cut) for cut in cuts):
                cuts = cuts_by_headers(segment, stop, target)
    except KafkaSpecError:
        return [(unit, size)]
    places = [unit.start, *(cut.position for cut in cuts[:-1] if cut.position > unit.start), stop]
    parts = [(replace(unit, start=start, end=end), end - start) for start, end in pairwise(places)]
    last, left = parts[-1]
    return [*parts[:-1], (replace(last, end=unit.end), left)]


class _Unit:
    """The rows of one unit, on their way to the files."""

    def __init__(
        self,
        unit: LakeUnit,
        settings: LakeSettings,
        mark: Mark,
        writer: LakeWriter,
        typed: TypedRows | None,
    ) -> None:
        self._unit = unit
        self._typed = typed
        self._settings = settings
        self._writer = writer
        self._file = PurePath(without_credentials(unit.path)).name
        place = {
            "topic": unit.topic,
            "topic_id": unit.topic_id,
            "partition": unit.partition,
            "generation": unit.generation,
        }
        self._progress: dict[str, Any] = {
            **place,
            "next_offset": unit.start_offset,
            "leader_epoch": -1,
            "file": self._file,
            "size": unit.start,
            "batches": 0,
            "rows": 0,
            "dead": 0,
            "lost": 0,
        }
        self._constants = Constants({**place, "epoch": mark.epoch, "file": self._file})
        self._errors: list[KafkaSpecError] = []
        self._request = Request(
            COLUMNS,
            layout="binary",
            include_control=True,
            max_bytes=KAFKA_BYTES,
            on_error="raise" if settings.on_error == "raise" else self._errors.append,
        )

    def write(self) -> Mapping[str, Any]:
        """Write all rows, and return the row of progress."""
        unit = self._unit
        stop = None if unit.end is None else Cut(unit.end)
        file, start = open_between(unit.path, Cut(unit.start), stop, unit.end)
        with closing(file):
            segment = Segment(file)
            position = max(start, segment.first)
            for item in readable_entries(segment, position):
                if isinstance(item, KafkaSpecError):
                    if self._settings.on_error == "raise":
                        raise item
                    end = entry_end(segment, position)
                    end = segment.size if end is None else min(end, segment.size)
                    self._damaged(segment, position, end, item.reason, item.detail)
                    position = end
                else:
                    self._table(segment, item)
                    position = item.end
            self._tail(segment, position)
        return self._progress

    def _tail(self, segment: Segment, position: int) -> None:
        tail = segment.tail
        if tail is not None and position < segment.size:
            reason = TAIL_REASONS.get(tail.reason, tail.reason)
            self._damaged(segment, position, segment.size, reason, str(tail))
            position = segment.size
        self._progress["size"] = position

    def _table(self, segment: Segment, table: HeaderTable) -> None:
        """Write the rows of entries."""
        headers = BatchRows(table)
        low = self._unit.start_offset
        held = HeldReading(segment.name, table.buffer, table.start)
        window = Segment(held, codec=segment.codec, base_offset=segment.base_offset)
        wanted = np.full(len(table), True) if low is None else headers.last_offsets >= low
        for start, end in divided(table, RANGE_BYTES):
            first, last = np.searchsorted(headers.positions, (start, end)).tolist()
            # Offsets of a damaged entry may be any, so that what is left out may be in several.
            edges = np.flatnonzero(np.diff(wanted[first:last], prepend=False, append=False)) + first
            for begin, stop in edges.reshape(-1, 2).tolist():
                self._range(window, table, headers, begin, stop)

    def _range(
        self, window: Segment, table: HeaderTable, headers: BatchRows, first: int, last: int
    ) -> None:
        count = last - first
        positions = headers.positions[first:last]
        records = np.zeros(count, np.int64)
        firsts = np.array(headers.last_offsets[first:last])
        controls: dict[int, str] = {}
        held = HeldRows(compressed=self._settings.exact)
        holds = self._settings.exact or not headers.packed[first:last].all()
        end = int(positions[-1] + headers.sizes[last - 1])
        request = replace(self._request, start_position=int(positions[0]), end_position=end)
        for batch in record_batches(window, request):
            places = np.asarray(batch.column(PLACE))
            numbers = np.searchsorted(positions, places)
            records += np.bincount(numbers, minlength=count)
            np.minimum.at(firsts, numbers, np.asarray(batch.column("batch_base_offset")))
            marked = batch.column(CONTROL)
            if marked.null_count < len(marked):
                for row in np.flatnonzero(np.asarray(marked.is_valid())).tolist():
                    controls.setdefault(int(numbers[row]), marked[row].as_py())
                batch = choose(batch, marked.is_null())
            raw = self._records(batch)
            if holds:
                held.add(raw)
        broken = self._broken(window, int(positions[0]))
        for place, error in broken.items():
            number = int(np.searchsorted(positions, place))
            stop = place + int(headers.sizes[first + number])
            self._damaged(window, place, stop, error.reason, error.detail, int(firsts[number]))
        chosen = np.flatnonzero(~np.isin(positions, list(broken)))
        self._reached(window, headers, chosen + first)
        kinds: list[str | None] = [controls.get(number) for number in range(count)]
        others = {
            "base_offset": pa.array(headers.base_offsets(first, last, firsts)[chosen]),
            "records": pa.array(records[chosen]),
            "control_type": pa.array(kinds, pa.string()).take(pa.array(chosen)),
        }
        rows = headers.rows(chosen + first, others, self._constants)
        exact = held.exact(rows, table) if holds else np.zeros(len(chosen), np.bool_)
        wanted = (headers.control[first:last] | (records == 0))[chosen]
        if self._settings.exact:
            wanted |= ~exact
        places = chosen[wanted]
        kept = np.zeros(count, np.bool_)
        kept[places] = True
        data = payloads(table, first, last, kept).take(pa.array(chosen))
        rows = rows.set_column(rows.schema.names.index("exact"), "exact", pa.array(exact))
        rows = rows.set_column(rows.schema.names.index("payload"), "payload", data)
        self._written(BATCHES, FOLDERS[BATCHES], rows)
        self._progress["batches"] += len(chosen)

    def _reached(self, window: Segment, headers: BatchRows, sound: NDArray[np.int64]) -> None:
        """Note up to where sound entries go; no offset of a segment is farther than its names."""
        ends = headers.last_offsets[sound] + 1
        near = ends <= (window.base_offset or 0) + LARGEST_RELATIVE_OFFSET + 1
        if near.any():
            progress = self._progress
            progress["next_offset"] = max(progress["next_offset"] or 0, int(ends[near].max()))
            progress["leader_epoch"] = int(headers.leader_epochs[sound[near][-1]])

    def _written(self, table: str, folders: Sequence[str], rows: pa.RecordBatch) -> None:
        self._writer.write(table, folders, rows, self._constants.values)

    def _records(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Write records, and return their rows of ``raw``."""
        raw = raw_rows(batch, self._constants)
        self._written(RAW, FOLDERS[RAW], raw)
        self._progress["rows"] += raw.num_rows
        if self._typed is None:
            return raw
        typed, kept, dead = self._typed.divided(raw)
        typed |= {name: kept.column(name) for name in ("offset", "timestamp", "day")}
        rows = self._constants.completed(typed, self._typed.schema, kept.num_rows)
        self._written(self._typed.table, TYPED_FOLDERS, rows)
        self._dead(dead)
        return raw

    def _dead(self, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            self._written(DEAD, FOLDERS[DEAD], dead_rows(rows, self._constants))
            self._progress["dead"] += len(rows)

    def _broken(self, window: Segment, position: int) -> dict[int, KafkaSpecError]:
        """Return the errors of the entries that were read last, by their positions."""
        found: dict[int, KafkaSpecError] = {}
        for error in self._errors:
            place, _, after = broken_entry(window, position, error)
            assert place is not None
            found[place] = error
            position = place if after is None else after
        self._errors.clear()
        return found

    def _damaged(
        self,
        segment: Segment,
        start: int,
        end: int,
        reason: str,
        detail: str,
        offset: int | None = None,
    ) -> None:
        """Write the bytes of a damaged range."""
        cursor = segment.cursor(most=DEAD_BYTES)
        for position in range(start, end, DEAD_BYTES):
            size = min(DEAD_BYTES, end - position)
            buffer, base = cursor.at(position, size)
            data = bytes(buffer[position - base :][:size])
            row = {
                "offset": offset,
                "position": position,
                "reason": str(reason),
                "detail": detail,
                "payload": data,
            }
            self._dead([row])
