"""Decide what a broker does at its start about the text files of its log directories.

Where Kafka's reader throws an ``IOException``, the broker gives the log directory up. Any other
exception ends the start; only a checkpoint of offsets then counts as an empty one. Malformed
numbers in entries, and malformed ids and missing lines in ``partition.metadata``, throw those.

Kafka: ``CheckpointFile``, ``CheckpointFileWithFailureHandler``, ``PartitionMetadataReadBuffer``,
``LeaderEpochFileCache.assign``, ``LogManager.loadLogs``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from kafkaspec.broker.actions import BrokerAction
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files import names
from kafkaspec.files.checkpoints import kafka_uuid, partition_metadata
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.files.checkpoints.text import Text

_NUMBER: Final = 3
"""Parts of the path of a number in an entry, ``/entries/0/offset``."""


def fault_of(path: Path, error: KafkaSpecError) -> BrokerAction:
    """Return what a broker does about a file of offsets, leader epochs or ``partition.metadata``.

    It gives the log directory up (``REFUSES_LOG``), does not start, or goes on as if the file were
    empty (``RESETS_OFFSET``).

    Args:
        error: the first error in it: Kafka reads line by line, and ends there.
    """
    is_metadata = path.name == names.PARTITION_METADATA
    if not (_is_unexpected(path, error) if is_metadata else error.path.count("/") == _NUMBER):
        return BrokerAction.REFUSES_LOG
    counts_as_empty = path.name in names.OFFSET_CHECKPOINTS
    return BrokerAction.RESETS_OFFSET if counts_as_empty else BrokerAction.REFUSES_START


def _is_unexpected(path: Path, error: KafkaSpecError) -> bool:
    """Return whether the reader of ``partition.metadata`` throws no ``IOException``."""
    if error.reason is Reason.TRUNCATED:
        return True  # NullPointerException
    try:
        text = partition_metadata.topic_id_text(Text.load(path))
    except KafkaSpecError:
        return False
    return kafka_uuid.from_text(text.text) is None  # IllegalArgumentException


def first_negative(entries: Sequence[EpochEntry]) -> EpochEntry | None:
    """Return the first leader epoch that a broker refuses, which ends its start."""
    return next((entry for entry in entries if entry.epoch < 0 or entry.start_offset < 0), None)


def stopped_cleanly(has: Callable[[str], bool]) -> bool | None:
    """Return whether a broker was stopped cleanly; None if its log directory does not show it.

    Args:
        has: whether the log directory has a file of a name.
    """
    if has(names.CLEAN_SHUTDOWN):
        return True
    return False if has(names.RECOVERY_POINTS) else None
