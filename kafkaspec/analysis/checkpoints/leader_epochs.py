"""Check ``leader-epoch-checkpoint`` by itself and against the batches of its log.

These unusual cases are legal: A leader lists an epoch that has no batch yet, at the end of its log.
Batches of magic 0 and 1 have no epoch. The first entry begins at the log start offset, which can be
inside the first segment, and even inside a batch. Brokers before 0.11 and topics of magic 0 and 1
have a file without entries, or none.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kafkaspec.analysis.checkpoints.log_state import EpochRun, LogState
from kafkaspec.analysis.consequences import BAD_FILE
from kafkaspec.analysis.findings import Finding, Place
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.broker.text_files import FileFault, first_negative
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry


def check_leader_epochs(
    entries: Sequence[EpochEntry],
    log: LogState,
    log_start_offset: int,
    place: Place,
) -> Iterator[Finding]:
    """Check a leader epoch checkpoint.

    Args:
        log_start_offset: first offset that a broker would deliver; lower offsets have no epoch.
    """
    wrong = first_negative(entries)
    if wrong is not None:
        text = f"epoch {wrong.epoch} from offset {wrong.start_offset}: neither may be negative"
        found = place.error(R.INVALID_VALUE, text, wrong.position)
        yield replace(found, predicted=BAD_FILE[FileFault.ENDS])
        return
    for before, entry in itertools.pairwise(entries):
        if entry.epoch <= before.epoch or entry.start_offset <= before.start_offset:
            yield place.warning(
                R.LEADER_EPOCH_ORDER,
                f"epoch {before.epoch} from offset {before.start_offset} is followed by epoch "
                f"{entry.epoch} from offset {entry.start_offset}",
                entry.position,
                entry.start_offset,
            )
            return
    for entry in entries:
        if log.end_offset is not None and entry.start_offset > log.end_offset:
            yield place.warning(
                R.CHECKPOINT_BEYOND_LOG,
                f"epoch {entry.epoch} begins at offset {entry.start_offset}, "
                f"but the log ends at {log.end_offset}",
                entry.position,
                entry.start_offset,
            )
    epochs = [entry.epoch for entry in entries]
    reported: set[int] = set()
    for run in log.runs:
        if run.last_offset < log_start_offset or run.epoch in reported:
            continue
        number = bisect_right(epochs, run.epoch)
        own = entries[number - 1] if number and epochs[number - 1] == run.epoch else None
        after = entries[number] if number < len(entries) else None
        if own is None:
            reported.add(run.epoch)
            yield place.warning(
                R.LEADER_EPOCH_MISSING,
                f"the log has epoch {run.epoch} from offset {run.base_offset}, which is not listed",
                None if after is None else after.position,
                run.base_offset,
            )
            continue
        wrong = _wrong_entry(run, own, after, log_start_offset)
        if wrong is not None:
            reported.add(run.epoch)
            yield place.warning(
                R.LEADER_EPOCH_START,
                f"epoch {wrong.epoch} is listed from offset {wrong.start_offset}, but the log "
                f"has epoch {run.epoch} from {run.base_offset} to {run.last_offset}",
                wrong.position,
                run.base_offset,
            )


def _wrong_entry(
    run: EpochRun, own: EpochEntry, after: EpochEntry | None, log_start_offset: int
) -> EpochEntry | None:
    """Return the entry that the batches contradict: that of their epoch, or the next one."""
    if max(run.base_offset, log_start_offset) < own.start_offset:
        return own
    if after is not None and run.last_offset >= after.start_offset:
        return after
    return None
