"""Measure segments and the histories of logs, many at the same time."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkaspec.arrow.arrays import codes, timestamp_types
from kafkaspec.arrow.record_batches import record_batches, together
from kafkaspec.arrow.schema import COMPRESSIONS, Request
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.forensics.gaps.reading import read_gaps
from kafkaspec.forensics.headers import Unread
from kafkaspec.forensics.timeline.reading import last_stable_offset
from kafkaspec.forensics.timeline.walk import OUTCOMES, TimelineRows
from kafkaspec.io.local import unmapped
from kafkaspec.io.remote import as_path
from kafkaspec.jobs import in_processes
from kafkaspec.layout import names as layout
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.layout.stand_ins import UNKNOWN
from kafkaspec.log.batch import NO_TIMESTAMP, NONE
from kafkaspec.log.cuts import Cut, open_between
from kafkaspec.log.header_table import POSITION, SIZE, HeaderTable
from kafkaspec.log.headers import readable_headers
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.shown import without_credentials
from kafkaspec.stats.byte_columns import (
    CLASSES,
    StatsNumbers,
    classes,
    hashes,
    header_lengths,
    lengths,
    valid,
)
from kafkaspec.stats.distinct import Distinct
from kafkaspec.stats.figures import Figures
from kafkaspec.stats.heaviest import Heaviest
from kafkaspec.stats.tables import WIDTHS, StatsRows, StatsTables, gathered, merged, summed
from kafkaspec.stats.units import StatsUnit


def _add_history(unit: StatsUnit, rows: StatsRows) -> None:
    """Add what the headers of all segments of a log say. What cannot be read is left out.

    The segments themselves report it.
    """
    known: dict[str, Any] = {}
    try:
        with _opened(unit) as log:
            timeline = TimelineRows(log, Unread())
            gaps = read_gaps(log, checksums=unit.records, each=timeline.take)
            found = timeline.transactions
            known["stable_offset"] = [_existing(last_stable_offset(log, timeline.end, found))]
    except KafkaSpecError as error:
        if not unit.paths:
            rows.add("errors", 1, error_columns(unit.directory, [error]))
            known["errors"] = [1]
    else:
        begun, ended = found["first_timestamp"], found["marker_timestamp"]
        first = found["first_offset"]
        rows.add(
            "transactions",
            len(first),
            {
                "outcome": [OUTCOMES[number] for number in found["outcome"].tolist()],
                "transactions": [1] * len(first),
                "batches": found["batches"],
                "records": found["records"],
                "longest_ms": _known((begun >= 0) & (ended >= 0), ended - begun),
                "first_offset": _known(first >= 0, first),
            },
        )
        ranges = gaps.ranges
        if len(ranges):
            missing = ranges["missing"].to_pylist()
            columns = {name: ranges[name].to_pylist() for name in ("kind", "why")}
            columns |= {"missing": missing, "largest": missing}
            rows.add(
                "gaps",
                len(ranges),
                {
                    "ranges": [1] * len(ranges),
                    **columns,
                },
            )
        known["start_offset"] = [timeline.first]
        known["end_offset"] = [_existing(timeline.end)]
    rows.add("logs", 1, known)


def _known(known: NDArray[np.bool_], numbers: NDArray[np.int64]) -> list[int | None]:
    pairs = zip(known.tolist(), numbers.tolist(), strict=True)
    return [number if is_known else None for is_known, number in pairs]


def _existing(offset: int) -> int | None:
    """Return an offset; None for the one after the largest, which does not exist."""
    return offset if offset <= LARGEST_OFFSET else None


@contextmanager
def _opened(unit: StatsUnit) -> Iterator[Partition | Segment]:
    directory = as_path(unit.directory)
    log: Partition | Segment = (partition := Partition(directory))
    wanted = {as_path(path).name for path in unit.paths}
    others = {path for path in partition.segment_paths if path.name not in wanted}
    if len(wanted) == 1 and (others or not partition.segment_paths):
        opened = open_log(as_path(unit.paths[0]))
        assert isinstance(opened, Segment)
        log = opened
    elif others:
        log = Partition(directory)
        log.files = [path for path in log.files if path not in others]
    with log:
        yield log


@contextmanager
def _opened_segment(unit: StatsUnit) -> Iterator[Segment]:
    """Open a segment, or the part of one up to where it ends."""
    (path,) = unit.paths
    if unit.start or unit.end is not None:
        stop = None if unit.end is None else Cut(unit.end)
        file, _ = open_between(path, Cut(unit.start), stop, unit.end)
        with closing(file):
            yield Segment(file)
        return
    opened = open_log(as_path(path))
    assert isinstance(opened, Segment)
    with opened:
        yield opened


def error_columns(file: str, errors: list[KafkaSpecError]) -> dict[str, list[Any]]:
    """Return errors as columns."""
    return {
        "file": [file] * len(errors),
        "position": [error.position for error in errors],
        "reason": [str(error.reason) for error in errors],
        "message": [error.detail for error in errors],
        "count": [1] * len(errors),
    }


MOST_ERRORS: Final = 100
"""Errors of a segment that are kept; the others are counted."""
_COLUMNS: Final = ("timestamp", "key", "value", "headers")
_POSITION: Final = "batch_position"
_CHUNK: Final = 2 << 20
"""Bytes of records that are measured at a time, while they are in the cache."""
_ROWS_AT_ONCE: Final = 1 << 14
_TABLES_AT_ONCE: Final = 256
_UNITS_AT_ONCE: Final = 256
_PARTS_AT_ONCE: Final = 16
_COUNTED: Final = 1 << 16
"""Sizes below this are counted one by one before their classes are found."""


def measured(units: Sequence[StatsUnit]) -> StatsTables:
    """Return what some units of the work hold."""
    measurement = _Measurement()
    for unit in units:
        with nullcontext() if unit.mapped else unmapped():
            measurement.add(unit)
    return measurement.tables()


class _Measurement:
    """Measures units, in few tables however many units there are."""

    def __init__(self) -> None:
        self._rows = StatsRows()
        self._files: list[tuple[str, int]] = []
        self._waiting: list[tuple[int, _Records, _Headers]] = []
        self._number = 0
        self._parts: list[StatsTables] = []

    def add(self, unit: StatsUnit) -> None:
        """Take a unit."""
        number = self._rows.begin(unit.place)
        file = "" if unit.is_history else without_credentials(unit.paths[0])
        self._files.append((file, unit.start))
        if unit.is_history:
            _add_history(unit, self._rows)
        else:
            self._add_segment(number, unit)

    def tables(self) -> StatsTables:
        """Return all that was measured."""
        self._flush()
        return gathered([*self._parts, self._rows.tables()])

    def _add_segment(self, number: int, unit: StatsUnit) -> None:
        """Take a segment. What cannot be read is counted."""
        (path,) = unit.paths
        file, start = self._files[number]
        records = _Records()
        size = 0
        try:
            with _opened_segment(unit) as segment:
                size = segment.size - start
                if unit.records:
                    records.read(segment, start)
                for item in readable_headers(segment, start):
                    if isinstance(item, KafkaSpecError):
                        records.refuse(item)
                    else:
                        self._wait(number, records, item)
        except KafkaSpecError as error:
            records.refuse(error)
        name = names.parse_segment(as_path(path).name)
        errors = sorted(records.errors.values(), key=lambda error: error.position or 0)
        rows = self._rows
        rows.add(
            "segments",
            1,
            {
                "file": [file],
                "start": [start],
                "base_offset": [None if name is None else name.base_offset],
                "file_bytes": [size],
                "index_bytes": [0 if start else _beside(path)],
                "errors": [len(errors)],
            },
        )
        kept = errors[:MOST_ERRORS]
        rows.add("errors", len(kept), error_columns(file, kept))
        records.add_to(rows, file, start)

    def _wait(self, number: int, records: _Records, table: HeaderTable) -> None:
        """Take headers, to be looked at with others."""
        self._waiting.append((number, records, _columns_of(table)))
        self._number += len(table)
        if self._number >= _ROWS_AT_ONCE or len(self._waiting) >= _TABLES_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        """Look at the headers that wait."""
        if not self._waiting:
            return
        pieces, numbers = [], []
        for number, some in groupby(self._waiting, key=itemgetter(0)):
            listed = [(records, columns) for _, records, columns in some]
            columns = _joined([columns for _, columns in listed])
            pieces.append(_sound(columns, listed[0][0]))
            numbers.append(np.full(len(pieces[-1][POSITION]), number))
        self._waiting, self._number = [], 0
        number = np.concatenate(numbers)
        if len(number):
            self._parts.append(_headers(self._rows.places, self._files, number, _joined(pieces)))
        if len(self._parts) > _PARTS_AT_ONCE:
            self._parts = [gathered(self._parts)]


_WANTED: Final = (
    POSITION, SIZE, layout.BASE_OFFSET, layout.LAST_OFFSET, layout.NUM_RECORDS, layout.MAGIC,
    layout.COMPRESSION, layout.TIMESTAMP_TYPE, layout.BASE_TIMESTAMP, layout.MAX_TIMESTAMP,
    layout.DELETE_HORIZON, layout.PRODUCER_ID, layout.PRODUCER_EPOCH, layout.LAST_SEQUENCE,
    layout.IS_TRANSACTIONAL, layout.IS_CONTROL,
)  # fmt: skip
_PACKED: Final = "packed"
"""Whether the first offset and the number of records of an entry are not in its header."""

_Headers = dict[str, NDArray[np.int64]]
"""Headers in columns."""


def _columns_of(table: HeaderTable) -> _Headers:
    found = {name: table.numpy(name) for name in _WANTED}
    nothing = np.zeros(len(table), np.int64)
    found[_PACKED] = (
        (found[layout.NUM_RECORDS] == UNKNOWN).astype(np.int64) if table.has_wrappers else nothing
    )
    return found


def _joined(several: Sequence[_Headers]) -> _Headers:
    if len(several) == 1:
        return several[0]
    return {name: np.concatenate([each[name] for each in several]) for name in several[0]}


def _sound(columns: _Headers, records: _Records) -> _Headers:
    """Return the headers of batches whose records can be read, with what their records say."""
    if len(records.errors):
        position, places = columns[POSITION], records.places
        broken = np.searchsorted(places, position) < np.searchsorted(
            places, position + columns[SIZE]
        )
        columns = {name: column[~broken] for name, column in columns.items()}
    position, packed = columns[POSITION], columns[_PACKED]
    if packed.any() and records.is_read:
        columns[layout.NUM_RECORDS] = np.where(
            packed, records.counts_at(position), columns[layout.NUM_RECORDS]
        )
    return columns | records.unpacked_at(position)


def _beside(path: str) -> int:
    """Return the bytes of the indexes of a segment."""
    log = as_path(path)
    name = names.parse_segment(log.name)
    total = 0
    if name is not None:
        for kind in names.SIDECARS:
            with suppress(OSError, KafkaSpecError):
                total += log.with_name(name.sibling(kind)).stat().st_size
    return total


class _Sizes:
    """Counts sizes of one kind by their classes."""

    def __init__(self) -> None:
        self._counts = np.zeros(CLASSES, np.int64)
        self._bytes = np.zeros(CLASSES, np.float64)
        self._least: list[int] = []
        self._most: list[int] = []

    def add(self, sizes: StatsNumbers) -> None:
        if not len(sizes):
            return
        values, numbers = sizes, np.ones(1, np.int64)
        most = int(sizes.max())
        if most < _COUNTED:  # sizes that are equal together
            numbers = np.bincount(sizes)
            values = np.flatnonzero(numbers)
            numbers = numbers[values]
        found = classes(values)
        numbers = np.broadcast_to(numbers, values.shape)
        self._counts += np.bincount(found, numbers, CLASSES).astype(np.int64)
        self._bytes += np.bincount(found, values * numbers, CLASSES)
        self._least = [min([*self._least, int(values.min())])]
        self._most = [max([*self._most, most])]

    def add_to(self, rows: StatsRows, what: str) -> None:
        if not self._least:
            return
        used = np.flatnonzero(self._counts)
        total = self._bytes.astype(np.int64)
        rows.add(
            "sizes",
            len(used),
            {
                "what": [what] * len(used),
                "size_from": _FROM[used],
                "count": self._counts[used],
                "bytes": total[used],
            },
        )
        rows.add(
            "extents",
            1,
            {
                "what": [what],
                "count": [int(self._counts.sum())],
                "bytes": [int(total.sum())],
                "smallest": self._least,
                "largest": self._most,
            },
        )


class _Records:
    """The figures of the records of a segment; ``is_read`` says whether they were read."""

    def __init__(self) -> None:
        self.errors: dict[tuple[int | None, str], KafkaSpecError] = {}
        # Positions of compressed entries, and bytes before and after, one after the other.
        self._unpacked = array("q")
        self._core: Any = None
        self._sizes = {what: _Sizes() for what in ("key", "value", "record")}
        self._distinct = Distinct()
        self._heaviest = Heaviest()
        self._begins: int | None = None
        self._ends: int | None = None
        self._counts = dict.fromkeys(
            ("steps", "step_back", "null_keys", "tombstones", "null_values", "keys"), 0
        )
        self._inside: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self.is_read = False

    def refuse(self, error: KafkaSpecError) -> None:
        """Note an error, once."""
        self.errors.setdefault((error.position, str(error.reason)), error)

    @property
    def places(self) -> NDArray[np.int64]:
        """The positions of errors, in order."""
        known = (error.position for error in self.errors.values() if error.position is not None)
        return np.sort(np.fromiter(known, np.int64))

    def read(self, segment: Segment, start: int) -> None:
        """Read all records from a byte offset on."""
        self._core = segment.codec.core
        self.is_read = True
        request = Request(
            (*_COLUMNS, _POSITION),
            header_keys="binary",
            start_position=start,
            max_bytes=_CHUNK,
            on_error=self.refuse,
            unpacked=lambda *told: self._unpacked.extend(told),
        )
        for batch in together(record_batches(segment, request), _bytes_of):
            self._take(batch)

    def _take(self, batch: pa.RecordBatch) -> None:
        keys, values = batch["key"], batch["value"]
        key_sizes, value_sizes = lengths(keys), lengths(values)
        whole = key_sizes + value_sizes
        more = header_lengths(batch["headers"])
        has_key, has_value = valid(keys), valid(values)
        self._sizes["record"].add(whole if more is None else whole + more)
        self._sizes["key"].add(key_sizes if has_key is None else key_sizes[has_key])
        self._sizes["value"].add(value_sizes if has_value is None else value_sizes[has_value])
        self._counts["keys"] += len(keys) - keys.null_count
        self._counts["null_keys"] += keys.null_count
        self._counts["null_values"] += values.null_count
        if has_value is not None:
            dead = ~has_value if has_key is None else ~has_value & has_key
            self._counts["tombstones"] += int(dead.sum())
        if keys.null_count < len(keys):
            found = hashes(keys, self._core)
            rows = None if has_key is None else np.flatnonzero(has_key)
            found = found if rows is None else found[rows]
            self._distinct.add(found)
            self._heaviest.add(found, keys, rows)
        self._times(batch["timestamp"])
        positions = batch[_POSITION].to_numpy()
        first = np.flatnonzero(np.append(True, positions[1:] != positions[:-1]))
        self._inside.append((positions[first], np.diff(np.append(first, len(positions)))))

    def _times(self, stamps: pa.Array) -> None:
        if stamps.null_count:
            stamps = stamps.drop_null()
        if not len(stamps):
            return
        times = stamps.view(pa.int64()).to_numpy()
        if self._begins is None:
            self._begins = int(times[0])
        elif self._ends is not None and times[0] < self._ends:
            self._step([self._ends - int(times[0])])
        back = times[:-1] > times[1:]
        if back.any():
            self._step((times[:-1][back].astype(object) - times[1:][back]).tolist())
        self._ends = int(times[-1])

    def _step(self, steps: Sequence[int]) -> None:
        self._counts["steps"] += len(steps)
        largest = min(max(steps), (1 << 63) - 1)
        self._counts["step_back"] = max(self._counts["step_back"], largest)

    def counts_at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many records were read of the batches at some positions."""
        if not self._inside:
            return np.zeros(len(positions), np.int64)
        if len(self._inside) > 1:
            self._inside = [
                (np.concatenate([item[0] for item in self._inside]),
                 np.concatenate([item[1] for item in self._inside]))
            ]  # fmt: skip
        known, counts = self._inside[0]
        first = np.searchsorted(known, positions, "left")
        last = np.searchsorted(known, positions, "right")
        ends = np.append(0, np.cumsum(counts))
        return np.asarray(ends[last] - ends[first], np.int64)

    def unpacked_at(self, position: NDArray[np.int64]) -> _Headers:
        """Return the bytes before and after decompression of entries, -1 for the others."""
        none = np.full(len(position), NONE, np.int64)
        told = np.frombuffer(self._unpacked, np.int64).reshape(-1, 3)
        if not len(told) or not len(position):
            return {_BEFORE: none, _AFTER: none}
        at = np.minimum(np.searchsorted(told[:, 0], position), len(told) - 1)
        known = told[at, 0] == position
        return {
            _BEFORE: np.where(known, told[at, 1], none),
            _AFTER: np.where(known, told[at, 2], none),
        }

    def add_to(self, rows: StatsRows, file: str, start: int) -> None:
        """Add what was found."""
        if not self.is_read:
            return
        kept = self._heaviest.kept
        columns: dict[str, Any] = {name: [value] for name, value in self._counts.items()}
        columns |= {"begins": [self._begins], "ends": [self._ends], "slack": [kept.slack]}
        for what, sizes in self._sizes.items():
            sizes.add_to(rows, what)
        rows.add(
            "segments",
            1,
            {
                "file": [file],
                "start": [start],
                **columns,
            },
        )
        rows.add(
            "heaviest",
            len(kept.keys),
            {
                "digest": kept.digests,
                "count": kept.counts,
                "credit": [kept.credit] * len(kept.keys),
                "key": kept.keys,
                "size": kept.sizes,
            },
        )
        rows.add(
            "distinct",
            1,
            {
                "hashes": [self._distinct.hashes.tobytes()],
            },
        )


_BEFORE, _AFTER = "payload", "uncompressed"


def _headers(
    places: Sequence[Sequence[Any]],
    files: Sequence[tuple[str, int]],
    number: NDArray[np.int64],
    columns: _Headers,
) -> StatsTables:
    """Return what headers say.

    Args:
        places: logs.
        files: the segment of each, and the byte at which it begins.
        number: which of them a batch is in.
        columns: of batches whose records can be read.
    """
    rows = len(number)
    packed = columns[_PACKED] != 0
    control = columns[layout.IS_CONTROL]
    count = columns[layout.NUM_RECORDS]
    unknown = packed & (count == UNKNOWN) & (control == 0)
    ends, begins = columns[layout.MAX_TIMESTAMP], columns[layout.BASE_TIMESTAMP]
    # The cleaner writes its delete horizon in the place of the first timestamp.
    untimed = (columns[layout.DELETE_HORIZON] != NO_TIMESTAMP) | (begins == NO_TIMESTAMP)
    times = {
        "first_timestamp": pa.array(begins, mask=untimed),
        "last_timestamp": pa.array(ends, mask=ends == NO_TIMESTAMP),
    }
    last, size = columns[layout.LAST_OFFSET], columns[SIZE]
    counted = {
        "batches": pa.array(np.ones(rows, np.int64)),
        "records": pa.array(np.where(control != 0, 0, count), mask=unknown),
        "bytes": pa.array(size),
    }
    offsets = {
        "first_offset": pa.array(np.where(packed, last, columns[layout.BASE_OFFSET])),
        "last_offset": pa.array(last),
    }
    part: StatsTables = {}

    def add(name: str, own: dict[str, Any], wanted: NDArray[np.bool_] | None = None) -> None:
        at = number
        if wanted is not None and not wanted.all():
            mask, at = pa.array(wanted), number[wanted]
            own = {
                key: values.filter(mask) if isinstance(values, pa.Array) else values[wanted]
                for key, values in own.items()
            }
        if len(at):
            part[name] = summed(name, places, at, own)

    kinds_of = {"file": pa.string(), "start": pa.int64()}
    part_of = {
        name: pa.array(values, kind).take(pa.array(number))
        for (name, kind), values in zip(kinds_of.items(), zip(*files, strict=True), strict=True)
    }
    marks = {
        "control_batches": control,
        "transactional_batches": columns[layout.IS_TRANSACTIONAL],
    }
    add("segments", {**part_of, **counted, **offsets, **times, **marks})
    kinds = {
        "compression": codes(pa.array(columns[layout.COMPRESSION]), COMPRESSIONS),
        "timestamp_type": timestamp_types(pa.array(columns[layout.TIMESTAMP_TYPE])),
    }
    unpacked = {
        name: pa.array(columns[name], mask=columns[name] == NONE) for name in (_BEFORE, _AFTER)
    }
    add("codecs", {"magic": columns[layout.MAGIC], **kinds, **counted, **unpacked})
    producers = {
        "producer_id": columns[layout.PRODUCER_ID],
        "producer_epoch": columns[layout.PRODUCER_EPOCH],
        **counted,
        "batches": 1 - control,
        "markers": control,
        **offsets,
        "last_sequence": columns[layout.LAST_SEQUENCE],
        **times,
    }
    add("producers", producers, columns[layout.PRODUCER_ID] >= 0)
    time = ends - ends % WIDTHS[0]
    add("times", {"time": time, "width": np.full(rows, WIDTHS[0]), **counted}, ends != NO_TIMESTAMP)
    return part | _batch_sizes(places, number, size)


def _bytes_of(batch: pa.RecordBatch) -> int:
    return int(lengths(batch["key"]).sum() + lengths(batch["value"]).sum())


_FROM: Final = np.append(0, 1 << np.arange(CLASSES - 1, dtype=np.int64))
"""The smallest size of each class."""


def _batch_sizes(
    places: Sequence[Sequence[Any]], number: NDArray[np.int64], sizes: NDArray[np.int64]
) -> StatsTables:
    """Return the sizes of batches by class, and their extents; those of a segment are together."""
    found = number * CLASSES + classes(sizes)
    least = int(number[0]) * CLASSES
    count = np.bincount(found - least)
    total = np.bincount(found - least, sizes).astype(np.int64)
    used = np.flatnonzero(count)
    first = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
    batch = pa.scalar("batch", pa.string())
    rows = {
        "what": pa.repeat(batch, len(used)),
        "size_from": _FROM[(used + least) % CLASSES],
        "count": count[used],
        "bytes": total[used],
    }
    extents = {
        "what": pa.repeat(batch, len(first)),
        "count": np.diff(np.append(first, len(number))),
        "bytes": np.add.reduceat(sizes, first),
        "smallest": np.minimum.reduceat(sizes, first),
        "largest": np.maximum.reduceat(sizes, first),
    }
    return {
        "sizes": summed("sizes", places, (used + least) // CLASSES, rows),
        "extents": summed("extents", places, number[first], extents),
    }


def measure(
    units: Sequence[StatsUnit], *, jobs: int = 1, done: Callable[[StatsUnit], None] | None = None
) -> Figures:
    """Return the figures of all units, measured by some processes at the same time."""

    # Many small units together: as many parts as keep all processes at work to the end.
    size = min(_UNITS_AT_ONCE, max(1, len(units) // (_PARTS_AT_ONCE * jobs)))
    work = [units[at : at + size] for at in range(0, len(units), size)]

    def parts() -> Iterator[StatsTables]:
        for some, part in zip(
            work, in_processes(measured, work, min(jobs, len(work))), strict=True
        ):
            yield part
            if done is not None:
                for unit in some:
                    done(unit)

    return Figures(merged(parts()))
