"""The records of another copy of a partition at missing offsets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.gaps.explained import Explained
from kafkaspec.forensics.gaps.ranges import KIND_NUMBERS, GapKind, Why
from kafkaspec.forensics.headers import Column
from kafkaspec.forensics.keys import aborted_of, is_aborted, newest_offsets
from kafkaspec.log.batch import NONE
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.results import Assumption, Strength

_MOST_KEYS: Final = 1 << 20
"""Records of another copy whose keys are looked for; the ranges of more stay as they are."""


def ask_other(
    log: Partition | Segment,
    other: Partition | Segment,
    found: Explained,
    compacted: int,
    assumptions: list[Assumption],
) -> None:
    """Say of gaps between batches what another copy has in their place."""
    assumptions.append(
        Assumption("other copy", os.fspath(Path(str(other.path))), "of the same partition")
    )
    gaps = np.flatnonzero(found.rows["kind"] == KIND_NUMBERS[GapKind.BETWEEN])
    if not len(gaps):
        return
    first, last = (found.rows[name][gaps] for name in ("first_offset", "last_offset"))
    held = _held(other, first, last)
    newest = newest_offsets((other, log), held["key"], int(first.min()), max(compacted, 0))
    later = dict(zip(newest["key"].to_pylist(), newest["offset"].to_pylist(), strict=True))
    numbers, offsets = held["gap"].to_pylist(), held["offset"].to_pylist()
    columns = (numbers, offsets, held["key"].to_pylist(), held["legal"].to_pylist())
    by_gap: dict[int, list[tuple[int, int | None, bool]]] = {}
    for number, offset, key, legal in zip(*columns, strict=True):
        by_gap.setdefault(number, []).append((offset, later.get(key), legal))
    begin, end = _extent(other)
    for number, row in enumerate(gaps.tolist()):
        records = by_gap.get(number)
        if records is None:
            if begin <= first[number] and last[number] < end:
                found.details[row] = "missing in the other copy as well"
            continue
        # Records that the cleaner has not reached supersede nothing.
        lost = [
            offset
            for offset, latest, legal in records
            if not legal and not (latest is not None and offset < latest)
        ]
        if last[number] < compacted and not lost:
            keyed = not any(legal for _, _, legal in records)
            found.set(row, Why.SUPERSEDED, Strength.PROOF if keyed else Strength.STRONG)
            known = [latest for _, latest, _ in records if latest is not None]
            text = f"the other copy has {len(records)} records"
            if known:
                text += f", with newer ones of the same keys up to offset {max(known)}"
            found.details[row] = text
        else:
            found.set(row, Why.LOST, Strength.PROOF)
            wrong = lost or [offset for offset, _, _ in records]
            found.details[row] = (
                f"the other copy has {len(wrong)} records, from offset {wrong[0]} on, that "
                "compaction does not explain"
            )


_HELD: Final = pa.schema([
    ("gap", pa.int64()), ("offset", pa.int64()), ("key", pa.binary()), ("legal", pa.bool_()),
])  # fmt: skip


def _held(other: Partition | Segment, first: Column, last: Column) -> pa.Table:
    """Return the records of a copy in some ranges; ``legal`` are those that no key keeps.

    Control records, aborted ones, those without a key, and tombstones go by themselves.
    """
    aborted = aborted_of(other)
    parts = []
    count = 0
    reader = other.to_batches(
        ["offset", "key", "value", "control_type", "producer_id"],
        start_offset=int(first[0]), end_offset=int(last.max()) + 1, include_control=True,
        on_error=lambda _: None, layout="binary",
    )  # fmt: skip
    for batch in reader:
        offsets = batch["offset"].to_numpy()
        place = np.searchsorted(first, offsets, side="right") - 1
        inside = (place >= 0) & (offsets <= last[place])
        if not inside.any():
            continue
        kept = batch.filter(pa.array(inside))
        legal = pc.or_(
            pc.or_(pc.is_null(kept["key"]), pc.is_null(kept["value"])),
            pc.is_valid(kept["control_type"]),
        )
        if aborted:
            legal = pc.or_(legal, pa.array(is_aborted(kept, aborted)))
        columns = [pa.array(place[inside]), kept["offset"], kept["key"].cast(pa.binary()), legal]
        parts.append(pa.Table.from_arrays(columns, schema=_HELD))
        count += len(kept)
        if count > _MOST_KEYS:
            break
    return pa.concat_tables([_HELD.empty_table(), *parts])


def _extent(log: Partition | Segment) -> tuple[int, int]:
    """Return the first offset of a copy, and the one after its last."""
    try:
        if isinstance(log, Partition):
            return log.first_base_offset or 0, log.log_end_offset
        batches = [batch.last_offset for batch in log.batches()]
        return log.base_offset or 0, max(batches, default=NONE) + 1
    except KafkaSpecError:
        return 0, 0
