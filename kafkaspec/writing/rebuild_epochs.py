"""Rebuild the ``leader-epoch-checkpoint`` of a partition as a broker does if there is none.

Kafka: ``LogSegment.recover``, which lists the epochs of batches, and ``LogLoader.load``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from kafkaspec.broker.leader_epochs import LeaderEpochs, begun_at
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.checkpoints import leader_epoch_checkpoint
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.files.checkpoints.text import Text
from kafkaspec.writing.comparison import Comparison
from kafkaspec.writing.rebuilt import RebuiltFile

_FORMAT = "a broker removes it when it loads a log whose message format is below magic 2"
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
    comparison, why = _compare(directory / names.LEADER_EPOCHS, made, epochs, log_start)
    if made is None and comparison is Comparison.MISSING:
        return None
    if made is not None:
        put(name, made)
    return RebuiltFile(name, len(made or b""), len(epochs.entries), comparison, why)


def _compare(
    beside: Path, made: bytes | None, epochs: LeaderEpochs, log_start: int
) -> tuple[Comparison, str]:
    if not beside.exists():
        return Comparison.MISSING, _FORMAT if epochs.has_messages else ""
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
    reasons = _reasons(listed, epochs, log_start)
    return Comparison.DIFFERENT, "; ".join(reasons) or _SPELLED


def _reasons(theirs: tuple[EpochEntry, ...], epochs: LeaderEpochs, log_start: int) -> Iterator[str]:
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
