"""Compare a rebuilt file with the one beside the log, and explain differences."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

from kafkaspec._generated.layout.files import FILES
from kafkaspec.broker.index_rules import Rule
from kafkaspec.broker.profiles import IndexUnit
from kafkaspec.broker.segment_run import SegmentRun
from kafkaspec.codecs import get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names, snapshots
from kafkaspec.files.indexes import is_zero
from kafkaspec.files.snapshots import ProducerSnapshot
from kafkaspec.io.local import Source
from kafkaspec.layout.framing import fixed_size
from kafkaspec.layout.stand_ins import UNKNOWN


class Comparison(StrEnum):
    """Result of comparing a rebuilt file with the existing one."""

    EQUAL = "equal"
    """Equal byte for byte."""
    PREALLOCATED = "preallocated"
    """Equal byte for byte, followed by zeros: the broker was not stopped cleanly."""
    REORDERED = "reordered"
    """The same entries: a broker writes those of a producer snapshot in the order of a hash map."""
    DIFFERENT = "different"
    MISSING = "missing"
    """There is no such file beside the log."""
    NOT_MADE = "not_made"
    """There is a file beside the log, but it cannot be made from the log, or need not be."""


_EMPTIED = "it has no entries: a broker empties the file, and does not remove it"
_CUT = "the log is not sound up to its end"
RESTARTED: Final = (
    "equal byte for byte to the file of a broker that was restarted with the segment open, where"
    " snapshots or changes of the leader epoch show it"
)
BY_BATCH: Final = (
    "equal byte for byte to the file of a follower, of the cleaner or of Raft, whose time entries"
    " have the last offsets of batches"
)
_HIDDEN_RESTART = "the broker was restarted with the segment open, and no snapshot shows where"
_INTERVAL = f"perhaps it was written with another index.interval.bytes, or {_HIDDEN_RESTART}"


def entries_of(kind: str, data: bytes) -> int:
    """Return the number of entries in an index of a kind, such as ``.index``."""
    return len(data) // fixed_size(FILES[kind].entry)


def compare(beside: Path, kind: str, data: bytes | None, run: SegmentRun) -> tuple[Comparison, str]:
    """Compare a rebuilt file with the one at ``beside``, if there is one.

    ``data`` is None if no file was made. The explanation of the result is "" if there is none.
    """
    if not beside.exists():
        missing = data is not None
        return Comparison.MISSING, _why_missing(kind, run) if missing else ""
    try:
        found = Source.of(beside)
    except KafkaSpecError as error:
        return Comparison.DIFFERENT, f"it cannot be read: {error.detail}"
    with found as source:
        theirs = source.buffer
        if data is None:
            if not theirs:
                return Comparison.NOT_MADE, _EMPTIED
            return Comparison.NOT_MADE, _why_not_made(run)
        if theirs[: len(data)] == data:
            if len(theirs) == len(data):
                return Comparison.EQUAL, ""
            if kind in names.INDEXES and is_zero(theirs[len(data) :]):
                return Comparison.PREALLOCATED, "the broker was not stopped cleanly"
        if kind == names.PRODUCER_SNAPSHOT:
            return _compare_snapshots(beside, data, run)
        reasons = list(_why_different(kind, bytes(theirs), data, run))
        return Comparison.DIFFERENT, "; ".join(reasons)


def _compare_snapshots(beside: Path, data: bytes, run: SegmentRun) -> tuple[Comparison, str]:
    theirs = ProducerSnapshot(beside)
    try:
        if not theirs.crc_valid:
            return Comparison.DIFFERENT, "its checksum is wrong"
        entries = theirs.entries
    except KafkaSpecError as error:
        return Comparison.DIFFERENT, f"it cannot be read: {error.detail}"
    ours = get_codec().parse(snapshots.SNAPSHOT, data, complete=True)[0].entries
    if sorted(map(repr, entries)) == sorted(map(repr, ours)):
        return Comparison.REORDERED, "its entries are in the order of a hash map"
    if run.valid < run.segment.size:
        return Comparison.DIFFERENT, _CUT
    ids = {entry.producer_id for entry in entries}
    gone = len({entry.producer_id for entry in ours} - ids)
    more = len(ids - {entry.producer_id for entry in ours})
    reasons = []
    if gone:
        reasons.append(f"it lacks {gone} producers: a broker forgets idle ones")
    if more:
        reasons.append(f"it has {more} more producers: their batches are no longer in the log")
    if not reasons:
        reasons.append(
            "batches or markers that it reflects are no longer in the log, or its values are wrong:"
            " `kafkaspec verify` names those"
        )
    return Comparison.DIFFERENT, "; ".join(reasons)


def _why_missing(kind: str, run: SegmentRun) -> str:
    if kind == names.PRODUCER_SNAPSHOT and not run.settings.profile.snapshot_per_segment:
        return "brokers before 2.8 keep those of the last two segments"
    if kind == names.TRANSACTION_INDEX and is_cleaned(run):
        return (
            "the cleaner drops entries of transactions whose batches it has removed; recovery lists"
            " those whose markers are left"
        )
    return ""


def _why_not_made(run: SegmentRun) -> str:
    if not run.known:
        return "transactions that began before the segment are not known"
    if is_cleaned(run):
        return "the cleaner keeps entries of transactions whose batches it removes"
    return "the log does not show these transactions"


def _why_different(kind: str, theirs: bytes, ours: bytes, run: SegmentRun) -> Iterator[str]:
    if run.valid < run.segment.size:
        yield _CUT
        return
    if kind == names.TRANSACTION_INDEX:
        yield _why_not_made(run)
        return
    profile, rule = run.settings.profile, run.settings.rule
    by_append = profile.index_unit is IndexUnit.APPEND
    if by_append and rule is Rule.RECOVERY:
        yield "leaders of that version do not make entries by the rule of recovery"
    if by_append and rule is Rule.APPEND:
        if run.has_messages:
            yield (
                "an entry stands for a whole request, and messages of magic 0 and 1 do not show"
                " where one begins"
            )
        else:
            yield (
                "an entry stands for everything that was appended at once: for a follower and for"
                " the cleaner a chunk of batches, and nothing shows where one begins; or"
                f" {_HIDDEN_RESTART}"
            )
    if FILES[kind].largest and not by_append and _slots(ours, kind) < _slots(theirs, kind):
        yield (
            "it has more entries: a broker that stops adds one to the active segment, and later"
            " continues with this segment"
        )
        return
    if not by_append:
        yield _INTERVAL


def is_cleaned(run: SegmentRun) -> bool:
    """Return whether offsets are missing, as in a segment that the cleaner has compacted."""
    expected = run.indexes.base_offset
    for headers, first, stop in run.entries_again():
        for number in range(first, stop):
            if headers.first_offset[number] not in (UNKNOWN, expected):
                return True
            expected = headers.last_offset[number] + 1
    return False


def _slots(data: bytes, kind: str) -> set[bytes]:
    size = fixed_size(FILES[kind].entry)
    return {data[start : start + size] for start in range(0, len(data) - size + 1, size)}
