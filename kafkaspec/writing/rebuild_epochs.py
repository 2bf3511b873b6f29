"""Rebuild the ``leader-epoch-checkpoint`` of a partition as a broker does if there is none.

Kafka: ``LogSegment.recover``, which lists the epochs of batches, and ``LogLoader.load``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.checkpoints import leader_epoch_checkpoint
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.files.checkpoints.text import Text
from kafkaspec.writing.comparison import Comparison
from kafkaspec.writing.leader_epochs import LeaderEpochs
from kafkaspec.writing.rebuilt import RebuiltFile

_FORMAT = "a broker removes it when it loads a log whose message format is below magic 2"


def rebuilt_checkpoint(
    directory: Path, epochs: LeaderEpochs, prefix: str, put: Callable[[str, bytes], None]
) -> RebuiltFile | None:
    """Write and compare the checkpoint; return None if there is none and none is made.

    Args:
        directory: directory of the partition.
        epochs: leader epochs of the batches that a broker keeps.
        prefix: prefix of file names.
        put: called with name and content of a file.

    Raises:
        KafkaSpecError: ``unreadable``.
    """
    made = epochs.checkpoint()
    name = prefix + names.LEADER_EPOCHS
    comparison, why = _compare(directory / names.LEADER_EPOCHS, made, epochs)
    if made is None and comparison is Comparison.MISSING:
        return None
    if made is not None:
        put(name, made)
    return RebuiltFile(name, len(made or b""), len(epochs.entries), comparison, why)


def _compare(beside: Path, made: bytes | None, epochs: LeaderEpochs) -> tuple[Comparison, str]:
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
    return Comparison.DIFFERENT, "; ".join(_reasons(listed, epochs))


def _reasons(theirs: tuple[EpochEntry, ...], epochs: LeaderEpochs) -> list[str]:
    """Return the reasons why entries differ."""
    starts = {entry.epoch: entry.start_offset for entry in theirs}
    found = {entry.epoch: entry.start_offset for entry in epochs.entries}
    reasons = []
    if starts.keys() - found.keys():
        reasons.append("it has more epochs, of leaders whose batches are not in the log")
    if any(starts[epoch] < start for epoch, start in found.items() if epoch in starts):
        gone = "their first batches are gone"
        if epochs.has_messages:
            gone = "messages of magic 0 and 1 have none"
        reasons.append(f"epochs begin earlier in it: {gone}")
    return reasons
