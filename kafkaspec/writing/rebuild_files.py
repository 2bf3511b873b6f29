"""Make the files beside a segment from a pass over it, and compare them with existing ones.

So too the ``leader-epoch-checkpoint`` of a partition, as a broker does if there is none. Kafka:
``LogSegment.recover``, which lists the epochs of batches, and ``LogLoader.load``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kafkaspec._generated.python.model.transaction_index import AbortedTransaction
from kafkaspec.broker import recovery
from kafkaspec.broker.actions import Recovery
from kafkaspec.broker.index_rules import IndexBuilder
from kafkaspec.broker.leader_epochs import LeaderEpochs, begun_at
from kafkaspec.broker.producer_state import ProducerState, transaction_index
from kafkaspec.broker.profiles import TimeEntry
from kafkaspec.broker.segment_run import SegmentRun
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.checkpoints import leader_epoch_checkpoint
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.files.checkpoints.text import Text
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.layout.stand_ins import UNKNOWN
from kafkaspec.writing.comparison import (
    BY_BATCH,
    RESTARTED,
    Comparison,
    compare,
    entries_of,
    is_cleaned,
)
from kafkaspec.writing.rebuilt import RebuiltFile, RebuiltSegment

_SAME: Final = (Comparison.EQUAL, Comparison.PREALLOCATED)

_AFTER_END: Final = "the log ends before its offset: a broker removes it when it starts"
_BELOW_START: Final = (
    "it is not above the log start offset {}: a broker removes it when it loads the log"
)
_INSIDE: Final = "its offset lies inside a batch"
_SNAPSHOT_LOST: Final = (
    "there is no producer snapshot at the first offset: transactions that began before it are not"
    " known"
)
_NOTES: Final = {
    Recovery.CUTS: "recovery truncates the log at byte {}",
    Recovery.EMPTIES: (
        "recovery empties the segment; if one of its indexes is missing, the broker does not load"
        " the log"
    ),
    Recovery.SPLITS: (
        "from byte {} on, offsets do not fit into the segment: recovery of Kafka 2.0 and later"
        " splits it and continues with the parts"
    ),
    Recovery.REFUSES: "a broker fails here and does not load the log",
}


@dataclass(frozen=True, slots=True)
class _Made:
    """A file, whose name has an offset and a kind; why it cannot be made, "" if it can."""

    offset: int
    kind: str
    data: bytes | None = None
    entries: int = 0
    why: str = ""


class RebuiltFiles:
    """The files beside a segment.

    Args:
        run: the pass over the segment.
        end: offset of the producer snapshot after the segment, None to make no snapshots.
        log_start: log start offset: a broker removes snapshots at or below it when it loads the
            log.
    """

    def __init__(self, run: SegmentRun, end: int | None, log_start: int) -> None:
        self._run = run
        self._end = end
        self._log_start = log_start
        self._profile = run.settings.profile
        self._computed: list[tuple[str, dict[str, bytes]]] | None = None

    def result(self, prefix: str, put: Callable[[str, bytes], None]) -> RebuiltSegment:
        """Write and compare the files; ``put`` is called with name and content of each."""
        run = self._run
        log = run.segment.path
        assert isinstance(log, Path)
        files = []
        for made in self._made():
            name = names.SegmentName(made.offset, "").sibling(made.kind)
            comparison, why = self._compared(made, log.with_name(name))
            if made.data is not None:
                put(prefix + name, made.data)
            elif comparison is Comparison.MISSING:
                continue
            size = len(made.data or b"")
            files.append(RebuiltFile(prefix + name, size, made.entries, comparison, why))
        outcome = (run.ended or Recovery.KEEPS) if run.recovers else None
        return RebuiltSegment(
            path=str(log),
            size=run.segment.size,
            valid_bytes=run.valid,
            error=run.error,
            note="; ".join(self._notes(outcome)),
            files=tuple(files),
            refused=tuple(run.refused),
            recovery=outcome,
        )

    def _compared(self, made: _Made, beside: Path) -> tuple[Comparison, str]:
        """Compare a file with the one beside the log; see ``compare``."""
        if made.why:
            return Comparison.NOT_MADE, made.why
        comparison, why = compare(beside, made.kind, made.data, self._run)
        if comparison is Comparison.DIFFERENT and made.kind in names.INDEXES:
            for reason, files in self._alternatives():
                if compare(beside, made.kind, files.get(made.kind), self._run)[0] in _SAME:
                    return comparison, reason
        return comparison, why

    def _notes(self, kind: Recovery | None) -> Iterator[str]:
        """Yield notes on what happened."""
        refused = self._run.refused
        if refused:
            yield (
                f"recovery keeps what kafkaspec refuses ({len(refused)} entries, the first"
                f" at byte {refused[0].position}): it only checks size, checksum and offsets"
            )
        if kind is None:
            if self._run.valid < self._run.segment.size:
                yield f"the indexes end at byte {self._run.valid}"
        elif kind in _NOTES:
            yield _NOTES[kind].format(self._run.valid)
        if self._run.has_producers and not self._run.known:
            yield _SNAPSHOT_LOST

    def _made(self) -> Iterator[_Made]:
        """Yield the files."""
        base, end = self._run.indexes.base_offset, self._end
        for kind, data in self._run.indexes.files().items():
            yield _Made(base, kind, data, entries_of(kind, data))
        if not self._profile.producer_state:
            return
        aborted = self._listed()
        listed = transaction_index(aborted) if aborted else None
        yield _Made(base, names.TRANSACTION_INDEX, listed, len(aborted))
        if end is None or not self._run.goes_on:
            return
        yield from self._earlier_snapshots(end)
        if base < end <= LARGEST_OFFSET:  # no offset follows the largest
            yield self._snapshot(end, self._run.state)

    def _snapshot(self, offset: int, state: ProducerState) -> _Made:
        if offset <= self._log_start:
            why = _BELOW_START.format(self._log_start)
            return _Made(offset, names.PRODUCER_SNAPSHOT, why=why)
        data = state.snapshot(self._run.segment.codec)
        return _Made(offset, names.PRODUCER_SNAPSHOT, data, len(state))

    def _listed(self) -> list[AbortedTransaction]:
        """Return the entries of the transaction index.

        The cleaner drops those of transactions whose data it has removed, although it keeps their
        markers for some time; recovery lists them again.
        """
        with_data = [item for item in self._run.aborted if item.first_offset < item.last_offset]
        if (
            self._run.recovers
            or len(with_data) == len(self._run.aborted)
            or not is_cleaned(self._run)
        ):
            return self._run.aborted
        return with_data

    def _earlier_snapshots(self, end: int) -> Iterator[_Made]:
        """Yield the producer snapshots of earlier stops of the broker."""
        left = deque(offset for offset in self._run.stops if offset < end)
        state = ProducerState(self._profile, self._run.producers)
        for headers, first, stop in self._run.entries_again() if left else ():
            if self._run.recovers:
                recovery.unreadable_marker(headers, stop)  # keeps markers that only it can read
            while left and first < stop and left[0] <= headers.last_offset[stop - 1]:
                offset = left.popleft()
                number = bisect_left(headers.last_offset, offset, first, stop)
                state.append(headers, first, number)
                first = number
                if UNKNOWN < headers.first_offset[number] < offset:
                    yield _Made(offset, names.PRODUCER_SNAPSHOT, why=_INSIDE)
                else:
                    yield self._snapshot(offset, state)
            state.append(headers, first, stop)
        for offset in left:
            yield self._snapshot(offset, state)
        for offset in self._run.stops:
            if offset > end:
                yield _Made(offset, names.PRODUCER_SNAPSHOT, why=_AFTER_END)

    def _alternatives(self) -> list[tuple[str, dict[str, bytes]]]:
        """Return the indexes that other circumstances give, each after these in words.

        Snapshots show where a broker was restarted, and changes of the leader epoch may.
        """
        if self._computed is None:
            base, end = self._run.indexes.base_offset, self._run.next_offset
            begun = [entry.start_offset for entry in self._run.epochs.entries]
            changed = {offset for offset in begun if base < offset < end}
            shown = [offset for offset in self._run.stops if offset < end]
            cases = []
            if self._run.recovers and shown:
                cases.append((RESTARTED, self._run.new_indexes(shown)))
            if not changed.issubset(shown):
                stops = sorted(changed.union(shown))
                cases.append((RESTARTED, self._run.new_indexes(stops)))
            if not self._run.recovers and self._profile.time_entry is TimeEntry.RECORD:
                by_batch = replace(self._profile, time_entry=TimeEntry.BATCH)
                cases.append((BY_BATCH, self._run.new_indexes(shown, by_batch)))
            self._computed = [(why, self._files_of(indexes)) for why, indexes in cases]
        return self._computed

    def _files_of(self, indexes: IndexBuilder) -> dict[str, bytes]:
        """Return the indexes of the accepted entries."""
        for headers, first, stop in self._run.entries_again():
            indexes.append_each(headers, first, stop)
            indexes.settle()
        indexes.finish()
        return indexes.files()


# -- leader epochs -------------------------------------------------------------------------------

_NO_EPOCHS = "a broker removes it when it loads a log whose message format is below magic 2"
_SPELLED = "the same epochs, not written as a broker writes them"


def rebuilt_checkpoint(
    directory: Path,
    epochs: LeaderEpochs,
    log_start: int,
    prefix: str,
    put: Callable[[str, bytes], None],
) -> RebuiltFile | None:
    """Write and compare the checkpoint; return None if there is none and none is made.

    Epochs that ended before the log start offset are removed. ``put`` is called with name and
    content of a file.
    """
    epochs.truncate_from_start(log_start)
    made = epochs.checkpoint()
    name = prefix + names.LEADER_EPOCHS
    comparison, why = _compare_epochs(directory / names.LEADER_EPOCHS, made, epochs, log_start)
    if made is None and comparison is Comparison.MISSING:
        return None
    if made is not None:
        put(name, made)
    return RebuiltFile(name, len(made or b""), len(epochs.entries), comparison, why)


def _compare_epochs(
    beside: Path, made: bytes | None, epochs: LeaderEpochs, log_start: int
) -> tuple[Comparison, str]:
    if not beside.exists():
        return Comparison.MISSING, _NO_EPOCHS if epochs.has_messages else ""
    try:
        theirs = Text.load(beside).data
    except KafkaSpecError as error:
        return Comparison.DIFFERENT, f"it cannot be read: {error.detail}"
    if made is None:
        return Comparison.NOT_MADE, "no batch has a leader epoch: its leaders wrote nothing"
    if theirs == made:
        return Comparison.EQUAL, ""
    try:
        listed = leader_epoch_checkpoint.parse(theirs) if theirs else ()
    except KafkaSpecError as error:
        return Comparison.DIFFERENT, f"it cannot be read: {error.detail}"
    reasons = _why_epochs(listed, epochs, log_start)
    return Comparison.DIFFERENT, "; ".join(reasons) or _SPELLED


def _why_epochs(
    theirs: tuple[EpochEntry, ...], epochs: LeaderEpochs, log_start: int
) -> Iterator[str]:
    """Yield the reasons why entries differ."""
    ours = epochs.entries
    cut = begun_at(theirs, log_start)
    if cut != theirs:
        yield (
            f"it has epochs below the log start offset {log_start}: a broker removes them when it"
            " loads the log"
        )
    elif theirs and (begun := begun_at(ours, theirs[0].start_offset)) != ours:
        yield (
            f"it begins at offset {theirs[0].start_offset}, above the first batches: a broker cut"
            f" it at the log start offset, and no {names.LOG_START_OFFSETS} says so here"
        )
        ours = begun
    starts = {entry.epoch: entry.start_offset for entry in cut}
    found = {entry.epoch: entry.start_offset for entry in ours}
    if starts.keys() - found.keys():
        yield "it has more epochs, of leaders whose batches are not in the log"
    if found.keys() - starts.keys():
        yield "it lacks epochs that batches of the log have"
    both = [(starts[epoch], start) for epoch, start in found.items() if epoch in starts]
    if any(their < our for their, our in both):
        gone = "their first batches are gone"
        if epochs.has_messages:
            gone = "messages of magic 0 and 1 have none"
        yield f"epochs begin earlier in it: {gone}"
    if any(their > our for their, our in both):
        yield "epochs begin later in it than their first batches"
