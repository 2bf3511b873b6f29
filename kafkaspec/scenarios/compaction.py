"""``compaction``: a log after two passes of the cleaner, with a dirty range for a third one.

Kafka: ``Cleaner.shouldRetainRecord``, ``MemoryRecords.filterTo``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafkaspec.model import Record
from kafkaspec.scenarios.partition import MadePartition
from kafkaspec.scenarios.scenario_plan import DAY_MS, ScenarioPlan

_GROUP = 2
"""Segments that the cleaner joins."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch of the log, before and after passes.

    Attributes:
        options: what its header has besides offsets.
        horizon: when its tombstones may go, ms; None before a pass has seen them.
    """

    first: int
    last: int
    records: tuple[Record, ...]
    max_timestamp: int
    options: dict[str, Any]
    horizon: int | None = None


_Log = dict[int, list[_Batch]]
"""Batches by base offset of their segment."""


def _batches(log: _Log) -> list[_Batch]:
    return [batch for batches in log.values() for batch in batches]


def _pass(log: _Log, clean: int, end: int, now: int) -> tuple[_Log, dict[int, str]]:
    """Return the log after a pass, and why each record went.

    Args:
        clean: first dirty offset.
        end: base offset of the first segment that is left alone.
    """
    latest: dict[bytes | None, int] = {}
    for batch in _batches(log):
        for record in batch.records:
            if clean <= record.offset < end:
                latest[record.key] = record.offset
    last = {batch.options["producer_id"]: batch for batch in _batches(log)
            if "producer_id" in batch.options}  # fmt: skip
    removed: dict[int, str] = {}
    left: _Log = {}
    bases = [base for base in log if base < end]
    for at in range(0, len(bases), _GROUP):
        left[bases[at]] = []
        for base in bases[at : at + _GROUP]:
            for batch in log[base]:
                kept = _kept(batch, latest, now, removed)
                is_last = last.get(batch.options.get("producer_id")) is batch
                if kept is not None and (kept.records or is_last):
                    left[bases[at]].append(kept)
    left |= {base: batches for base, batches in log.items() if base >= end}
    return left, removed


def _kept(
    batch: _Batch, latest: dict[bytes | None, int], now: int, removed: dict[int, str]
) -> _Batch | None:
    kept, horizon = [], batch.horizon
    for record in batch.records:
        if record.offset < latest.get(record.key, -1):
            removed[record.offset] = "superseded"
        elif record.value is None and horizon is not None and now >= horizon:
            removed[record.offset] = "tombstone"
        else:
            kept.append(record)
    if horizon is None and any(record.value is None for record in kept):
        horizon = now + DAY_MS
    times = [record.timestamp for record in kept]
    most = max(times, default=batch.max_timestamp)
    return replace(batch, records=tuple(kept), horizon=horizon, max_timestamp=most)


def compaction(plan: ScenarioPlan) -> None:
    """Plan the scenario."""
    made = plan.partition("settings")
    log: _Log = {}
    removed: dict[int, str] = {}
    rest = plan.most
    _write(plan, log, rest // 3, first=True)
    clean, end = 0, max(log)
    log, gone = _pass(log, clean, end, plan.tick())
    removed |= gone
    clean = end
    plan.advance(DAY_MS)
    _write(plan, log, rest // 3)
    end = max(log)
    log, gone = _pass(log, clean, end, plan.tick())
    removed |= gone
    clean = end
    plan.advance(DAY_MS)
    _write(plan, log, rest - 2 * (rest // 3))
    _, coming = _pass(log, clean, max(log), plan.now)
    _fill(made, log)
    made.clean = clean
    made.facts |= {
        "first_dirty_offset": clean,
        "compacted": [{"offset": offset, "why": why} for offset, why in sorted(removed.items())],
        "empty_batches": [batch.first for batch in _batches(log) if not batch.records],
        "tombstones": [r.offset for b in _batches(log) for r in b.records if r.value is None],
        "next_pass": {
            "end_offset": max(log),
            "removed": dict(sorted(Counter(coming.values()).items())),
        },
    }


def _write(plan: ScenarioPlan, log: _Log, count: int, *, first: bool = False) -> None:
    """Append batches to some segments; the last of them stays active."""
    chance, keys = plan.chance, max(4, plan.most // 6)
    end = max((batch.last for batch in _batches(log)), default=-1) + 1
    for number, size in enumerate(_parts(count, 4)):
        log[end] = []
        for batch in plan.sizes(size, 5):
            records = [
                record._replace(
                    value=None if not chance.randrange(5) else record.value or b"value",
                )
                for record in plan.records(end, batch, keys=keys)
            ]
            options: dict[str, Any] = {"compression": plan.compression()}
            log[max(log)].append(_batch(records, options))
            end += batch
        if first and number < 2:
            # The only batch of its producer: its records are superseded, its sequence is kept.
            record = Record(end, plan.tick(), b"key 0", b"once")
            sequence = {"producer_id": 500 + number, "producer_epoch": 0, "base_sequence": 0}
            log[max(log)].append(_batch([record], sequence))
            end += 1
            log[max(log)].append(_batch([record._replace(offset=end, value=b"again")], {}))
            end += 1


def _parts(count: int, parts: int) -> Iterable[int]:
    yield from (count // parts,) * (parts - 1)
    yield count - count // parts * (parts - 1)


def _batch(records: Sequence[Record], options: dict[str, Any]) -> _Batch:
    most = max(record.timestamp for record in records)
    return _Batch(records[0].offset, records[-1].offset, tuple(records), most, options)


def _fill(made: MadePartition, log: _Log) -> None:
    """Write the batches that are left into the partition."""
    for base, batches in log.items():
        made.roll(base)
        for batch in batches:
            options = dict(batch.options)
            if not batch.records:
                options["compression"] = "none"
            if batch.horizon is not None:
                options["delete_horizon"] = batch.horizon
            made.add(
                batch.records, base_offset=batch.first, last_offset=batch.last,
                max_timestamp=batch.max_timestamp, **options,
            )  # fmt: skip
    made.epoch_starts = {0: 0}
