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
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from kafkaspec._generated.python.model.producer_snapshot import ProducerEntry
from kafkaspec.analysis.broker_start import BrokerStart
from kafkaspec.analysis.consequences import USES_OTHER_STATE, forgets_producers, reads_log
from kafkaspec.analysis.findings import Area, Finding, Place, Severity
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout.sequences import is_later
from kafkaspec.log.batch import NONE, Batch
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.writing import recovery
from kafkaspec.writing.loading import (
    PRODUCER_EXPIRATION_MS,
    Load,
    read_snapshot,
    replay,
)
from kafkaspec.writing.producer_state import ProducerState
from kafkaspec.writing.profiles import DEFAULT_PROFILE, get_profile

_NS_PER_MS: Final = 1_000_000

_Producers = Mapping[int, ProducerEntry]
"""The state of producers by id."""


def check_producers(start: BrokerStart, *, has_producers: bool) -> Iterator[Finding]:
    """Compare the producer snapshots of a partition with its log, and report missing ones.

    Args:
        start: start of a broker on the partition.
        has_producers: whether a batch of the log has a producer.
    """
    log = start.log
    if log is None or not (has_producers or any(map(read_snapshot, start.snapshots.values()))):
        return
    state = ProducerState(get_profile(DEFAULT_PROFILE))
    found: list[tuple[Finding, int]] = []
    reached: list[int] = []
    for offset in _offsets(log, state):
        if offset in start.snapshots and offset not in reached[-1:]:
            found += contradictions(log, offset, start.snapshots[offset], _by_id(state))
        reached.append(offset)
    known = _by_id(state)
    for finding, producer_id in found:
        entry = known.get(producer_id)
        if entry is not None:
            clean = _forgets(start.after_clean_stop, entry)
            unclean = _forgets(start.after_crash, entry)
            lost = forgets_producers(clean=clean, unclean=unclean)
            finding = replace(finding, predicted=lost if clean or unclean else USES_OTHER_STATE)
        yield finding
    if len(reached) > len(log.base_offsets):
        yield from _missing(start, log, reached[-1], known)


def _offsets(log: Partition, state: ProducerState) -> Iterator[int]:
    """Bring the state of producers to the base of each segment, and to the end; yield the offset.

    Ends early at damage.
    """
    try:
        for end, path in zip(log.base_offsets, log.segment_paths, strict=True):
            yield end
            with Segment(path) as segment:
                for headers, first, last in recovery.entries(segment, 0, segment.size):
                    if headers.wrong_checksum() is not None:
                        return
                    replay(state, headers, first, last)
                    end = headers.last_offset[last - 1] + 1
        yield end
    except (KafkaSpecError, OSError):
        return


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
            if began is None or not began.num_records or _began_before(mine, log.base_offsets[0]):
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


def _began_before(known: ProducerEntry | None, log_start: int) -> bool:
    """Return whether the transaction of a producer began in a part of the log that is gone."""
    return known is not None and NONE < known.current_txn_first_offset < log_start


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
    yield replace(place.found(severity, R.MISSING_SNAPSHOT, text), predicted=predicted)
