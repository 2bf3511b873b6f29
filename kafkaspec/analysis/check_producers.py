"""Check producer snapshots against the log, and whether those are there that a broker needs.

After a clean stop, a broker takes the state of producers from the newest snapshot that it can read,
and from the log after it (Kafka: ``UnifiedLog.rebuildProducerState``). It deletes snapshots at or
before the log start and after the log end (``ProducerStateManager.truncateAndReload``), and those
that are corrupt (``loadFromSnapshot``); if none is left, it reads the whole log. But a log without
any counts as one of an old release: the broker does not read it, and knows no producers. After an
unclean stop it reads the log in this case too.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice, product
from pathlib import Path
from typing import ClassVar, Final

from kafkaspec._generated.python.model.producer_snapshot import ProducerEntry
from kafkaspec.analysis.broker_start import BrokerStart
from kafkaspec.analysis.consequences import (
    USES_OTHER_STATE,
    forgets_producers,
    mistakes_producers,
    reads_log,
)
from kafkaspec.analysis.findings import Area, Finding, Place, Severity
from kafkaspec.analysis.reasons import Consequence
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.broker import recovery
from kafkaspec.broker.loading import Load, replay
from kafkaspec.broker.producer_state import ProducerState
from kafkaspec.broker.profiles import (
    DEFAULT_PROFILE,
    PRODUCER_EXPIRATION_MS,
    MarkerTrace,
    get_profile,
)
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.snapshots import Snapshots, read_snapshot
from kafkaspec.layout.sequences import is_later
from kafkaspec.log.batch import NONE, Batch
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment

_NS_PER_MS: Final = 1_000_000

_Producers = Mapping[int, ProducerEntry]
"""The state of producers by id."""


@dataclass(slots=True)
class ProducerWalk:
    """The state of producers at the end of a log, to go on from there when the log has grown.

    Attributes:
        segment: name of the last segment.
        position: byte offset in it, after the last batch.
        end: offset after the last batch.
        whole: whether the log had every batch from offset 0 on.
        entries: the values of each producer, as a snapshot has them.
    """

    NAMES: ClassVar = tuple(item.name for item in fields(ProducerEntry))
    """The values of a producer."""

    segment: str
    position: int
    end: int
    whole: bool
    entries: list[list[int]]


def check_producers(
    start: BrokerStart,
    *,
    has_producers: bool,
    earlier: ProducerWalk | None = None,
    ended: Callable[[ProducerWalk], None] | None = None,
) -> Iterator[Finding]:
    """Compare the producer snapshots of a partition with its log, and report missing ones.

    Args:
        has_producers: whether a batch of the log has a producer.
        earlier: the end of an earlier walk without findings. The log and the snapshots before it
            are the same as then.
        ended: takes the end of this walk, if it gets there.
    """
    log = start.log
    if log is None or not (has_producers or any(map(read_snapshot, start.snapshots.values()))):
        return
    rows = [] if earlier is None else earlier.entries
    known_before = (
        ProducerEntry(**dict(zip(ProducerWalk.NAMES, row, strict=True))) for row in rows
    )
    state = ProducerState(get_profile(DEFAULT_PROFILE), known_before)
    walk = _Walk(log, start.snapshots, earlier)
    found: list[tuple[Finding, int]] = []
    other: dict[int, _Differences] = {}
    end = log.base_offsets[0]
    for end in walk.offsets(state):
        path = start.snapshots.get(end)
        if path is None:
            continue
        found += contradictions(log, end, path, _by_id(state))
        if walk.is_whole(end):
            other[end] = differences(read_snapshot(path) or (), _by_id(state))
    known = _by_id(state)
    if any(other.values()):
        _without_legal(log, start.snapshots, other)
    for offset, differing in other.items():
        place = Place(os.fspath(start.snapshots[offset]), Area.PRODUCER_SNAPSHOT)
        found = [item for item in found if item[0].file != place.file or item[1] not in differing]
        for producer_id, values in differing.items():
            text = _told(producer_id, values)
            found.append((place.warning(R.SNAPSHOT_CONTENT, text), producer_id))
    for finding, producer_id in found:
        predicted = _predicted(start, producer_id, known.get(producer_id))
        yield finding if predicted is None else replace(finding, predicted=predicted)
    if walk.ended:
        if ended is not None:
            ended(walk.at_end(state))
        yield from _missing(start, log, end, known)


def _predicted(
    start: BrokerStart, producer_id: int, entry: ProducerEntry | None
) -> Consequence | None:
    """Return the consequence of a wrong state of a producer; None for that of the table."""
    stops = (start.after_clean_stop, start.after_crash)
    if entry is not None:
        clean, unclean = (
            _forgets(load, entry) and not _is_of_old_epoch(load, entry) for load in stops
        )
        if clean or unclean:
            return forgets_producers(clean=clean, unclean=unclean)
    loaded = [load.producers.get(producer_id) for load in stops if load.end_offset is not None]
    wrong = [mine for mine in loaded if mine is not None and mine != entry]
    if wrong:
        clean, unclean = (load.producers.get(producer_id) == wrong[0] for load in stops)
        effects = _effects(wrong[0], entry)
        return mistakes_producers(effects, clean=clean, unclean=unclean) if effects else None
    return None if entry is None else USES_OTHER_STATE


def _is_of_old_epoch(load: Load, entry: ProducerEntry) -> bool:
    """Return whether a broker that loads the log knows an older epoch of a producer."""
    loaded = load.producers.get(entry.producer_id)
    return loaded is not None and loaded.producer_epoch < entry.producer_epoch


def _effects(loaded: ProducerEntry, entry: ProducerEntry | None) -> list[str]:
    """Return what a broker does with a wrong state of a producer."""
    effects = []
    first = loaded.current_txn_first_offset
    if first != (NONE if entry is None else entry.current_txn_first_offset):
        text = f"takes a transaction from offset {first} for an open one: read_committed gets "
        effects.append(f"{text}nothing from there on")
    if entry is None:
        return effects
    if first not in (NONE, entry.current_txn_first_offset):
        effects.append("refuses what the producer sends outside a transaction")
    if loaded.producer_epoch > entry.producer_epoch:
        effects.append("refuses what the producer sends as of an old epoch")
    elif loaded.producer_epoch < entry.producer_epoch:
        effects.append("refuses the next batch of the producer: an epoch begins with sequence 0")
    elif loaded.last_sequence != entry.last_sequence:
        text = "refuses the next batch of the producer as out of order, or takes it for one that "
        effects.append(f"{text}is sent again: acknowledges it, and does not store it")
    elif loaded.offset_delta != entry.offset_delta:
        effects.append("refuses the last batch of the producer if it is sent again")
    elif loaded.last_offset != entry.last_offset:
        effects.append("gives a wrong offset if the producer sends its last batch again")
    if loaded.coordinator_epoch > entry.coordinator_epoch:
        effects.append("refuses the ends of its transactions as of an old coordinator")
    elif loaded.coordinator_epoch < entry.coordinator_epoch:
        effects.append("takes ends of transactions from an old coordinator")
    if loaded.timestamp != entry.timestamp:
        effects.append("forgets the producer earlier or later")
    return effects


class _Walk:
    """Brings the state of producers through a log, until it has ``ended`` or damage stops it."""

    def __init__(
        self, log: Partition, snapshots: Snapshots, earlier: ProducerWalk | None = None
    ) -> None:
        self._log, self._snapshots = log, sorted(snapshots)
        self.ended = False
        self._whole = log.base_offsets[0] == 0 and not log.log_start_offset
        self._end = 0
        self._path, self._position = log.segment_paths[0], 0
        self._reached = log.base_offsets[0]
        if earlier is not None:
            self._whole &= earlier.whole
            self._end = self._reached = earlier.end
            self._path, self._position = self._path.with_name(earlier.segment), earlier.position
            self._snapshots = [offset for offset in self._snapshots if offset >= earlier.end]

    def at_end(self, state: ProducerState) -> ProducerWalk:
        """Return where it ended."""
        entries = [[getattr(each, name) for name in ProducerWalk.NAMES] for each in state.entries]
        return ProducerWalk(self._path.name, self._position, self._reached, self._whole, entries)

    def is_whole(self, offset: int) -> bool:
        """Return whether the log has every batch from offset 0 up to this offset."""
        return self._whole and self._end == offset

    def offsets(self, state: ProducerState) -> Iterator[int]:
        """Bring the state to each producer snapshot, and to the end; yield the offset.

        Ends early at damage.
        """
        left = deque(self._snapshots)
        end, begin = self._reached, self._log.segment_paths.index(self._path)
        segments = zip(self._log.base_offsets, self._log.segment_paths, strict=True)
        try:
            for base, path in islice(segments, begin, None):
                while left and left[0] <= base:
                    if left.popleft() == base:
                        yield base
                if path != self._path:
                    self._path, self._position = path, 0
                with Segment(path) as segment:
                    for headers, first, last in recovery.entries(
                        segment, self._position, segment.size
                    ):
                        if headers.wrong_checksum() is not None:
                            return
                        ends = headers.last_offset
                        while left and left[0] <= ends[last - 1]:
                            stop = bisect_left(ends, left[0], first, last)
                            self._replay(state, headers, first, stop)
                            first = stop
                            offset = left.popleft()
                            if offset == (ends[stop - 1] + 1 if stop else end):
                                yield offset
                        self._replay(state, headers, first, last)
                        end = self._reached = ends[last - 1] + 1
                        self._position = headers.position[last - 1] + headers.size[last - 1]
            if left and left[0] < end:
                return  # offsets are out of order
            self.ended = True
            yield end
        except (KafkaSpecError, OSError):
            return

    def _replay(self, state: ProducerState, headers: HeaderTable, first: int, last: int) -> None:
        if first >= last:
            return
        replay(state, headers, first, last)
        if self._whole:
            following = (offset + 1 for offset in headers.last_offset[first : last - 1])
            expected = [self._end, *following]
            emptied = None in headers.known.values()  # compaction removed the marker
            self._whole = list(headers.first_offset[first:last]) == expected and not emptied
            self._end = headers.last_offset[last - 1] + 1


_Differences = dict[int, dict[str, tuple[int, int | None]]]
"""What a snapshot has otherwise than a log, by producer and field: its value, and that of the log;
None if the log does not have the producer."""


def differences(entries: Sequence[ProducerEntry], known: _Producers) -> _Differences:
    """Return what a snapshot has otherwise than a log that is whole.

    A producer that is not in the snapshot may be expired.
    """
    found = {
        entry.producer_id: _differing(entry, known.get(entry.producer_id)) for entry in entries
    }
    return {producer_id: values for producer_id, values in found.items() if values}


def _differing(
    entry: ProducerEntry, own: ProducerEntry | None
) -> dict[str, tuple[int, int | None]]:
    """Return the values of a producer that are not those of the log."""
    # A producer that was expired, and came again, has no coordinator.
    if own is not None and entry.coordinator_epoch == NONE:
        own = replace(own, coordinator_epoch=NONE)
    values = {}
    for item in fields(ProducerEntry):
        mine: int = getattr(entry, item.name)
        theirs: int | None = None if own is None else getattr(own, item.name)
        if mine != theirs:
            values[item.name] = (mine, theirs)
    return values


def _without_legal(log: Partition, snapshots: Snapshots, found: dict[int, _Differences]) -> None:
    """Leave out what another release takes from the same log, such as the time of a marker."""
    # What is left of a producer is compared with the rules that it is closest to.
    profile = get_profile(DEFAULT_PROFILE)
    for trace, of_sequence in product(MarkerTrace, (True, False)):
        state = ProducerState(replace(profile, marker_trace=trace, delta_of_sequence=of_sequence))
        for offset in _Walk(log, snapshots).offsets(state):
            differing = found.get(offset)
            if not differing:
                continue
            known = _by_id(state)
            for entry in read_snapshot(snapshots[offset]) or ():
                producer_id = entry.producer_id
                own = known.get(producer_id)
                if own is None or producer_id not in differing:
                    continue
                values = _differing(entry, own)
                if replace(entry, timestamp=own.timestamp) == own and _is_cleaned(log, own):
                    values = {}
                if not values:
                    del differing[producer_id]
                elif len(values) < len(differing[producer_id]):
                    differing[producer_id] = values


def _is_cleaned(log: Partition, entry: ProducerEntry) -> bool:
    """Return whether the cleaner has removed records of a last batch, and so perhaps its time."""
    batch = batch_at(log, entry.last_offset)
    return batch is not None and batch.num_records != batch.next_offset - batch.base_offset


def _told(producer_id: int, values: Mapping[str, tuple[int, int | None]]) -> str:
    """Return the differences of a producer in words."""
    producer = f"producer {producer_id}"
    if any(theirs is None for _, theirs in values.values()):
        return f"{producer} has no batch in the log, which is whole"
    parts = [
        f"{name.replace('_', ' ')} {mine}, in the log {theirs}"
        for name, (mine, theirs) in values.items()
    ]
    return f"{producer} has {'; '.join(parts)}"


def _by_id(state: ProducerState) -> _Producers:
    return {entry.producer_id: entry for entry in state.entries}


def contradictions(
    log: Partition, offset: int, path: Path, known: _Producers
) -> Iterator[tuple[Finding, int]]:
    """Yield what a snapshot has otherwise than the log up to its offset, and the producer's id.

    Kafka leaves out producers that are expired, and compaction removes batches: neither is wrong.
    """
    entries = read_snapshot(path)
    if entries is None:
        return  # ``verify_snapshot`` says why
    listed = {entry.producer_id: entry for entry in entries}
    place = Place(os.fspath(path), Area.PRODUCER_SNAPSHOT)
    taken = path.stat().st_mtime_ns // _NS_PER_MS
    for producer_id, entry in known.items():
        mine = listed.get(producer_id)
        lost = _lost(mine, entry)
        first = entry.current_txn_first_offset
        if not lost:
            continue
        if first != NONE:
            began = batch_at(log, first)
            if began is None or not began.num_records:
                continue
            # The transaction began in a part of the log that is gone.
            if mine and NONE < mine.current_txn_first_offset < log.base_offsets[0]:
                continue
        elif mine is None and not 0 <= taken - entry.timestamp < PRODUCER_EXPIRATION_MS:
            continue
        yield place.warning(R.SNAPSHOT_CONTENT, lost), producer_id
    for producer_id, entry in listed.items():
        if producer_id in known:
            continue
        for at in sorted({entry.last_offset, entry.current_txn_first_offset}):
            batch = batch_at(log, at) if log.base_offsets[0] <= at < offset else None
            if batch is not None and batch.producer_id != producer_id:
                text = f"producer {producer_id} did not write the batch with offset {at}"
                yield place.warning(R.SNAPSHOT_CONTENT, text), producer_id


def _lost(known: ProducerEntry | None, entry: ProducerEntry) -> str:
    """Return what a state of a producer lacks of that in the log, "" for nothing."""
    producer = f"producer {entry.producer_id}"
    if known is None:
        return f"{producer}, which has batches in the log, is not listed"
    if entry.producer_epoch > known.producer_epoch:
        return f"{producer} has epoch {known.producer_epoch}, in the log {entry.producer_epoch}"
    later = entry.last_sequence != NONE and is_later(entry.last_sequence, known.last_sequence)
    if later and entry.producer_epoch == known.producer_epoch:
        return f"{producer} has sequence {known.last_sequence}, in the log {entry.last_sequence}"
    first = entry.current_txn_first_offset
    if first not in (NONE, known.current_txn_first_offset):
        return f"{producer} has no open transaction from offset {first}, in the log it has"
    return ""


def _forgets(load: Load, entry: ProducerEntry) -> bool:
    """Return whether a broker that loads the log lacks something of a producer."""
    loads = load.end_offset is not None
    return loads and bool(_lost(load.producers.get(entry.producer_id), entry))


def batch_at(log: Partition, offset: int) -> Batch | None:
    """Return the batch that has an offset; None if there is none, or it cannot be found."""
    try:
        batch = log.find(offset=offset).batch
    except KafkaSpecError:
        return None
    return batch if batch is not None and batch.base_offset <= offset else None


def _missing(start: BrokerStart, log: Partition, end: int, known: _Producers) -> Iterator[Finding]:
    """Report that a broker has no snapshot to begin with, or not the one of its clean stop."""
    clean = start.stopped_cleanly
    if clean is False or not known or end in start.snapshots:
        return
    lost = [entry for entry in known.values() if _forgets(start.after_clean_stop, entry)]
    begin = log.base_offsets[0]
    usable = [taken for taken in start.snapshots if begin < taken < end]
    # A broker that runs has one at the base of the last segment, unless that is the only one.
    if clean is None and (start.snapshots or len(log.segment_paths) == 1):
        return
    if not start.snapshots and not lost:
        return
    forgets = bool(lost) or (begin > 0 and not usable)
    severity = Severity.WARNING if forgets and clean else Severity.INFO
    place = Place(os.fspath(log.segment_paths[-1]), Area.PRODUCER_SNAPSHOT, offset=end)
    text = "there is no producer snapshot at the end of the log"
    predicted = reads_log(max(usable, default=begin))
    if forgets:
        text += ": after a clean stop, a broker forgets producers"
        predicted = forgets_producers(clean=True, unclean=False)
    yield place.found(severity, R.MISSING_SNAPSHOT, text, predicted=predicted)
