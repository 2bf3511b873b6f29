"""Measure segments and the histories of logs, many at the same time."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkaspec.arrow.headers import readable_headers
from kafkaspec.arrow.record_batches import record_batches
from kafkaspec.arrow.schema import Request
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.forensics.gaps.reading import read_gaps
from kafkaspec.forensics.timeline.reading import read_timeline
from kafkaspec.io.local import unmapped
from kafkaspec.io.remote import as_path
from kafkaspec.jobs import in_processes
from kafkaspec.layout.framing import LARGEST_OFFSET
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
from kafkaspec.stats.tables import WIDTHS, StatsTables, gathered, merged, summed
from kafkaspec.stats.units import StatsUnit


def measure_history(unit: StatsUnit) -> StatsTables:
    """Return what the headers of all segments of a log say. What cannot be read is left out.

    The segments themselves report it.
    """
    known: dict[str, Any] = {}
    found: StatsTables = {}
    try:
        with _opened(unit) as log:
            timeline = read_timeline(log)
            gaps = read_gaps(log, checksums=unit.records)
    except KafkaSpecError as error:
        if not unit.paths:
            found["errors"] = error_rows(unit, unit.directory, [error])
            known["errors"] = [1]
    else:
        rows = timeline.transactions
        found["transactions"] = summed(
            "transactions",
            unit.place,
            {
                "outcome": rows["outcome"],
                "transactions": [1] * len(rows),
                "batches": rows["batches"],
                "records": rows["records"],
                "longest_ms": rows["duration_ms"],
                "first_offset": rows["first_offset"],
            },
            len(rows),
        )
        ranges = gaps.ranges
        missing = ranges["missing"]
        columns = {"kind": ranges["kind"], "why": ranges["why"], "ranges": [1] * len(ranges)}
        columns |= {"missing": missing, "largest": missing}
        found["gaps"] = summed("gaps", unit.place, columns, len(ranges))
        known["start_offset"] = [timeline.log_start_offset]
        known["end_offset"] = [_existing(timeline.log_end_offset)]
        known["stable_offset"] = [_existing(timeline.last_stable_offset)]
    found["logs"] = summed("logs", unit.place, known, 1)
    return found


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


def error_rows(unit: StatsUnit, file: str, errors: list[KafkaSpecError]) -> pa.Table:
    """Return errors as rows."""
    columns = {
        "file": [file] * len(errors),
        "position": [error.position for error in errors],
        "reason": [str(error.reason) for error in errors],
        "message": [error.detail for error in errors],
        "count": [1] * len(errors),
    }
    return summed("errors", unit.place, columns, len(errors))


MOST_ERRORS: Final = 100
"""Errors of a segment that are kept; the others are counted."""
_COLUMNS: Final = ("timestamp", "key", "value", "headers")
_POSITION: Final = "batch_position"
_CHUNK: Final = 2 << 20
"""Bytes of records that are measured at a time, while they are in the cache."""
_ROWS_AT_ONCE: Final = 1 << 14
_TABLES_AT_ONCE: Final = 256
_PARTS_AT_ONCE: Final = 16
_COUNTED: Final = 1 << 16
"""Sizes below this are counted one by one before their classes are found."""


def measured(unit: StatsUnit) -> StatsTables:
    """Return what a unit of the work holds."""
    with nullcontext() if unit.mapped else unmapped():
        return measure_history(unit) if unit.is_history else measure_segment(unit)


def measure_segment(unit: StatsUnit) -> StatsTables:
    """Return what a segment holds. What cannot be read is counted."""
    (path,) = unit.paths
    file = without_credentials(path)
    records = _Records()
    parts: list[StatsTables] = []
    size = 0
    try:
        opened = open_log(as_path(path))
        assert isinstance(opened, Segment)
        with opened as segment:
            size = segment.size
            if unit.records:
                records.read(segment)
            for headers in _gathered(segment, records):
                parts.append(_headers(unit, file, headers, records))
                if len(parts) > _PARTS_AT_ONCE:
                    parts = [gathered(parts)]
    except KafkaSpecError as error:
        records.refuse(error)
    parts += records.parts(unit, file)
    name = names.parse_segment(as_path(path).name)
    known = {
        "base_offset": [None if name is None else name.base_offset],
        "file_bytes": [size],
        "index_bytes": [_beside(path)],
        "errors": [len(records.errors)],
    }
    parts.append({"segments": summed("segments", unit.place, {"file": [file], **known}, 1)})
    if records.errors:
        kept = sorted(records.errors.values(), key=lambda error: error.position or 0)[:MOST_ERRORS]
        parts.append({"errors": error_rows(unit, file, kept)})
    return gathered(parts)


def _gathered(segment: Segment, records: _Records) -> Iterator[pa.RecordBatch]:
    """Yield the headers of a segment, those of many small tables together, and note errors."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for item in readable_headers(segment):
        if isinstance(item, KafkaSpecError):
            records.refuse(item)
            continue
        if item.num_rows:
            waiting.append(item)
            rows += item.num_rows
        if rows >= _ROWS_AT_ONCE or len(waiting) >= _TABLES_AT_ONCE:
            yield pa.Table.from_batches(waiting).combine_chunks().to_batches()[0]
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting).combine_chunks().to_batches()[0]


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

    def part(self, unit: StatsUnit, what: str) -> StatsTables:
        if not self._least:
            return {}
        used = np.flatnonzero(self._counts)
        total = self._bytes.astype(np.int64)
        rows = {
            "what": [what] * len(used),
            "size_from": [0 if n == 0 else 1 << (n - 1) for n in used.tolist()],
            "count": self._counts[used],
            "bytes": total[used],
        }
        extent = {
            "what": [what],
            "count": [self._counts.sum()],
            "bytes": [total.sum()],
            "smallest": self._least,
            "largest": self._most,
        }
        return {
            "sizes": summed("sizes", unit.place, rows, len(used)),
            "extents": summed("extents", unit.place, extent, 1),
        }


class _Records:
    """The figures of the records of a segment.

    Attributes:
        unpacked: positions of compressed entries, and bytes before and after, one after the other.
    """

    def __init__(self) -> None:
        self.errors: dict[tuple[int | None, str], KafkaSpecError] = {}
        self.unpacked = array("q")
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
        self._is_read = False

    def refuse(self, error: KafkaSpecError) -> None:
        """Note an error, once."""
        self.errors.setdefault((error.position, str(error.reason)), error)

    @property
    def places(self) -> NDArray[np.int64]:
        """The positions of errors, in order."""
        known = (error.position for error in self.errors.values() if error.position is not None)
        return np.sort(np.fromiter(known, np.int64))

    def read(self, segment: Segment) -> None:
        """Read all records."""
        self._core = segment.codec.core
        self._is_read = True
        request = Request(
            (*_COLUMNS, _POSITION),
            header_keys="binary",
            max_bytes=_CHUNK,
            on_error=self.refuse,
            unpacked=lambda *told: self.unpacked.extend(told),
        )
        for batch in record_batches(segment, request):
            self._take(batch)

    def _take(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
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

    def parts(self, unit: StatsUnit, file: str) -> list[StatsTables]:
        """Return what was found."""
        if not self._is_read:
            return []
        kept = self._heaviest.kept
        columns: dict[str, Any] = {name: [value] for name, value in self._counts.items()}
        columns |= {"begins": [self._begins], "ends": [self._ends], "slack": [kept.slack]}
        rows = {
            "digest": kept.digests,
            "count": kept.counts,
            "credit": [kept.credit] * len(kept.keys),
            "key": kept.keys,
            "size": kept.sizes,
        }
        found: list[StatsTables] = [sizes.part(unit, what) for what, sizes in self._sizes.items()]
        found.append({
            "segments": summed("segments", unit.place, {"file": [file], **columns}, 1),
            "heaviest": summed("heaviest", unit.place, rows, len(kept.keys)),
            "distinct": summed(
                "distinct", unit.place, {"hashes": [self._distinct.hashes.tobytes()]}, 1
            ),
        })  # fmt: skip
        return found


def _headers(unit: StatsUnit, file: str, batch: pa.RecordBatch, records: _Records) -> StatsTables:
    """Return what some headers say, of batches whose records can be read."""
    position = batch["position"].to_numpy()
    size = batch["size"].to_numpy()
    places = records.places
    broken = np.searchsorted(places, position) < np.searchsorted(places, position + size)
    if broken.any():
        batch = batch.filter(pa.array(~broken))
        position, size = position[~broken], size[~broken]
    rows = len(position)
    if not rows:
        return {}
    control = np.asarray(batch["control"])
    count = batch["num_records"].cast(pa.int64())
    if count.null_count and unit.records:
        count = pc.fill_null(count, pa.array(records.counts_at(position)))
    count = pc.if_else(pa.array(control), 0, count)
    first = pc.fill_null(batch["base_offset"], batch["last_offset"])
    begins = batch["base_timestamp"].cast(pa.int64())
    times = {
        # The cleaner writes its delete horizon in that place.
        "first_timestamp": pc.if_else(batch["delete_horizon"].is_valid(), None, begins),
        "last_timestamp": batch["max_timestamp"].cast(pa.int64()),
    }
    counted = {"batches": np.ones(rows, np.int64), "records": count, "bytes": size}
    offsets = {"first_offset": first, "last_offset": batch["last_offset"]}
    marks = control.astype(np.int64)
    part: StatsTables = {
        "segments": summed(
            "segments",
            unit.place,
            {
                "file": pa.repeat(file, rows),
                **counted,
                **offsets,
                **times,
                "control_batches": marks,
                "transactional_batches": np.asarray(batch["transactional"]).astype(np.int64),
            },
            rows,
        )
    }
    before, after = _compressed(records.unpacked, position)
    part["codecs"] = summed(
        "codecs",
        unit.place,
        {
            **{name: batch[name] for name in ("magic", "compression", "timestamp_type")},
            **counted,
            "payload": before,
            "uncompressed": after,
        },
        rows,
    )
    producers = {
        "producer_id": batch["producer_id"],
        "producer_epoch": batch["producer_epoch"],
        **counted,
        "batches": 1 - marks,
        "markers": marks,
        **offsets,
        "last_sequence": batch["last_sequence"],
        **times,
    }
    part["producers"] = _chosen("producers", unit, producers, batch["producer_id"].to_numpy() >= 0)
    time = times["last_timestamp"]
    known = np.asarray(time.is_valid())
    stamp = np.asarray(time.fill_null(0))
    buckets = {"time": stamp - stamp % WIDTHS[0], "width": np.full(rows, WIDTHS[0]), **counted}
    part["times"] = _chosen("times", unit, buckets, known)
    sizes = _Sizes()
    sizes.add(size)
    return part | sizes.part(unit, "batch")


def _chosen(
    name: str, unit: StatsUnit, columns: dict[str, Any], rows: NDArray[np.bool_]
) -> pa.Table:
    """Return a table of some rows."""
    number = int(rows.sum())
    if number == len(rows):
        return summed(name, unit.place, columns, number)
    mask = pa.array(rows)
    chosen = {
        key: values.filter(mask) if isinstance(values, pa.Array) else values[rows]
        for key, values in columns.items()
    }
    return summed(name, unit.place, chosen, number)


def _compressed(unpacked: array[int], position: NDArray[np.int64]) -> tuple[pa.Array, pa.Array]:
    """Return the bytes before and after decompression of entries, null for the others."""
    told = np.frombuffer(unpacked, np.int64).reshape(-1, 3)
    if not len(told):
        none = pa.nulls(len(position), pa.int64())
        return none, none
    at = np.minimum(np.searchsorted(told[:, 0], position), len(told) - 1)
    missing = told[at, 0] != position
    return pa.array(told[at, 1], mask=missing), pa.array(told[at, 2], mask=missing)


def measure(
    units: Sequence[StatsUnit], *, jobs: int = 1, done: Callable[[StatsUnit], None] | None = None
) -> Figures:
    """Return the figures of all units, measured by some processes at the same time."""

    def parts() -> Iterator[StatsTables]:
        work = in_processes(measured, units, min(jobs, len(units)))
        for unit, part in zip(units, work, strict=True):
            yield part
            if done is not None:
                done(unit)

    return Figures(merged(parts()))
