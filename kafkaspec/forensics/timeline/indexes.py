"""Do the transaction indexes of a log agree with its markers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names as files
from kafkaspec.files.snapshots import TransactionIndex
from kafkaspec.forensics.headers import PerBatch, Unread, segment_paths, tables
from kafkaspec.forensics.timeline.walk import ABORTED, TransactionRows
from kafkaspec.layout import names
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.results import Finding, Strength


class IndexReason(StrEnum):
    """How a transaction index and its log contradict; a closed list."""

    NO_MARKER = "no_marker"
    """The log has no ABORT marker for an entry."""
    NO_ENTRY = "no_entry"
    """The index has no entry for an ABORT marker."""
    DIFFERENT = "different"
    """An entry says something else than the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFinding(Finding):
    """A contradiction between a transaction index and the log.

    ``file`` is the index, or the segment that has none.

    Attributes:
        entry: number of the entry; None for one that is missing.
        offset: of the marker.
    """

    reason: IndexReason
    entry: int | None
    offset: int


def stable_offsets(first: PerBatch, marker: PerBatch, ends: PerBatch) -> PerBatch:
    """Return the last stable offset after each of some markers.

    Args:
        marker: offsets of their markers; the largest number for open ones.
        ends: offsets of markers.
    The earliest transaction that is still open is the first one whose marker is later; the largest
    marker of all transactions up to one rises, so that a binary search finds it.
    """
    reached = np.maximum.accumulate(marker) if len(marker) else marker
    place = np.searchsorted(reached, ends, side="right")
    still = np.append(first, np.iinfo(np.int64).max)[place]
    stable: PerBatch = np.minimum(still, ends + 1)
    return stable


def check_index(
    log: Partition | Segment, rows: TransactionRows, end: int, unread: Unread
) -> tuple[list[IndexFinding], int]:
    """Compare the transaction indexes with the ABORT markers."""
    found: list[IndexFinding] = []
    compared = 0
    paths_of_indexes = list(index_paths(log))
    if all(path is None for _, path in paths_of_indexes):
        return found, compared
    data = rows["first_offset"] >= 0
    first = rows["first_offset"][data]
    marker = np.where(rows["marker"] < 0, np.iinfo(np.int64).max, rows["marker"])[data]
    aborts = np.flatnonzero(data & (rows["outcome"] == ABORTED))
    stable = stable_offsets(first, marker, rows["marker"][aborts])
    by_marker = np.argsort(rows["marker"][aborts], kind="stable")
    aborts, stable = aborts[by_marker], stable[by_marker]
    markers = rows["marker"][aborts]
    bare = rows["marker"][~data & (rows["outcome"] == ABORTED)]
    listed: list[PerBatch] = []
    without: set[int] = set()
    left: list[tuple[str, int, int, int]] = []
    for number, path in paths_of_indexes:
        if path is None:
            without.add(number)
            continue
        try:
            listed_in = TransactionIndex(path).columns()
            columns = {name: np.array(values, np.int64) for name, values in listed_in.items()}
        except KafkaSpecError as error:
            unread.errors.append(error)
            without.add(number)
            continue
        last = columns["last_offset"]
        compared += len(last)
        listed.append(last)
        at = np.searchsorted(markers, last)
        known = at < len(markers)
        known[known] = markers[at[known]] == last[known]
        found += _of_known(path, columns, rows, aborts, stable, at, known)
        for place in np.flatnonzero(~known & ~np.isin(last, bare)).tolist():
            offset = int(last[place])
            if offset >= end:
                text = f"its marker at {offset} is after the end of the log, {end}"
                found.append(_without_marker(str(path), place, offset, text))
            else:
                left.append((str(path), place, offset, int(columns["producer_id"][place])))
    held = _held(log, np.array(sorted({item[2] for item in left}), np.int64))
    for file, place, offset, producer in left:
        if offset in held:
            text = f"there is no ABORT marker of producer {producer} at {offset}"
            found.append(_without_marker(file, place, offset, text))
    paths = segment_paths(log)
    missing = ~np.isin(markers, np.concatenate(listed)) if listed else np.ones(len(markers), bool)
    missing &= ~np.isin(rows["marker_file"][aborts], sorted(without))
    for row in aborts[missing].tolist():
        offset, producer, begin, number = (
            int(rows[name][row])
            for name in ("marker", "producer_id", "first_offset", "marker_file")
        )
        text = f"no entry for the transaction of producer {producer} from {begin}"
        text += f", aborted at {offset}"
        found.append(IndexFinding(reason=IndexReason.NO_ENTRY, message=text, file=paths[number],
                                  entry=None, offset=offset))  # fmt: skip
    return found, compared


def _without_marker(file: str, entry: int, offset: int, text: str) -> IndexFinding:
    return IndexFinding(
        reason=IndexReason.NO_MARKER, message=text, file=file, entry=entry, offset=offset
    )


def _of_known(
    path: Path,
    columns: dict[str, PerBatch],
    rows: TransactionRows,
    aborts: PerBatch,
    stable: PerBatch,
    at: PerBatch,
    known: Any,
) -> Iterator[IndexFinding]:
    """Yield what the entries for markers with data say otherwise than the log."""
    places = np.flatnonzero(known)
    mine = at[places]
    producer, begin = (rows[name][aborts[mine]] for name in ("producer_id", "first_offset"))
    after, first = stable[mine], columns["first_offset"][places]
    other = columns["producer_id"][places] != producer
    later = first > begin
    # Compaction may have removed what was open then, or the beginning.
    stays = columns["last_stable_offset"][places] != after
    stays &= ~other & (first == begin)
    for number in np.flatnonzero(other | later | stays).tolist():
        place = int(places[number])
        entry = {name: int(column[place]) for name, column in columns.items()}
        problems = []
        strength = Strength.PROOF
        if other[number]:
            problems.append(f"producer {entry['producer_id']}, in the log {producer[number]}")
        if later[number]:
            problems.append(f"first offset {entry['first_offset']}, in the log {begin[number]}")
        if stays[number]:
            strength = Strength.LIKELY
            text = f"last stable offset {entry['last_stable_offset']}, by the log {after[number]}"
            problems.append(text)
        yield IndexFinding(
            reason=IndexReason.DIFFERENT,
            message="; ".join(problems),
            file=str(path),
            entry=place,
            offset=entry["last_offset"],
            strength=strength,
        )


def index_paths(log: Partition | Segment) -> Iterator[tuple[int, Path | None]]:
    """Yield the transaction index of each segment; None for one that was copied without files."""
    paths = log.segment_paths if isinstance(log, Partition) else [log.path]
    for number, path in enumerate(paths):
        parsed = None if path is None else files.parse_segment(path.name)
        if path is None or parsed is None:
            continue
        index = path.with_name(parsed.sibling(files.TRANSACTION_INDEX))
        if index.exists():
            yield number, index
        elif not path.with_name(parsed.sibling(files.OFFSET_INDEX)).exists():
            yield number, None


def _held(log: Partition | Segment, offsets: PerBatch) -> set[int]:
    """Return those of some offsets at which the log has a batch that is not emptied."""
    found: set[int] = set()
    for table in tables(log, Unread()) if len(offsets) else ():
        first, last = table.numpy(names.BASE_OFFSET), table.numpy(names.LAST_OFFSET)
        row = np.searchsorted(first, offsets, side="right") - 1
        inside = (row >= 0) & (last[row] >= offsets) & (first[row] <= offsets)
        inside &= table.numpy(names.NUM_RECORDS)[row] > 0
        found.update(offsets[inside].tolist())
    return found
