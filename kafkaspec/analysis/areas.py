"""Two closed lists: structures that findings are about, and actions of brokers on them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Area(StrEnum):
    """The kind of structure that a finding is about."""

    BATCH = "batch"
    """Framing, header or checksum of a log entry."""
    RECORDS = "records"
    """Records of a batch of magic 2."""
    WRAPPER = "wrapper"
    """A compressed message of magic 0 or 1 and its content."""
    MESSAGE = "message"
    """Framing, header or checksum of a message of Kafka 0.7."""
    MESSAGE_SET = "message_set"
    """The content of a compressed message set of Kafka 0.7."""
    INTERNAL_RECORD = "internal_record"
    """Key or value of a record of one of Kafka's own topics, or of a KRaft snapshot."""
    OFFSET_INDEX = "offset_index"
    TIME_INDEX = "time_index"
    TRANSACTION_INDEX = "transaction_index"
    PRODUCER_SNAPSHOT = "producer_snapshot"
    KRAFT_SNAPSHOT = "kraft_snapshot"
    LEADER_EPOCH_CHECKPOINT = "leader_epoch_checkpoint"
    PARTITION_METADATA = "partition_metadata"
    QUORUM_STATE = "quorum_state"
    HIGH_WATERMARKS = "replication_offset_checkpoint"
    RECOVERY_POINTS = "recovery_point_offset_checkpoint"
    LOG_START_OFFSETS = "log_start_offset_checkpoint"
    CLEANER_OFFSETS = "cleaner_offset_checkpoint"
    META_PROPERTIES = "meta_properties"
    CLEAN_SHUTDOWN = "clean_shutdown"
    FILES = "files"
    """Names of files, and files compared with each other."""


class BrokerAction(StrEnum):
    """The action of a broker's loader."""

    NOTHING = "nothing"
    """The broker does not notice or ignores it."""
    CUTS_LOG = "cuts_log"
    """Recovery truncates the log here; everything after it is lost. Only the rest of the segment
    if its offset index is missing."""
    REFUSES_LOG = "refuses_log"
    """The log cannot be loaded: the broker does not start, or goes on without the whole log
    directory where only its files cannot be read."""
    EMPTIES_SEGMENT = "empties_segment"
    """Recovery discards the whole segment."""
    SPLITS_SEGMENT = "splits_segment"
    """Recovery keeps all of the segment, in several segments."""
    HIDES_RECORDS = "hides_records"
    """The log opens, but records that exist are not delivered."""
    KEEPS_UNREADABLE = "keeps_unreadable"
    """The batch stays in the log although nobody can read it."""
    FAILS_TO_LOAD = "fails_to_load"
    """The log opens, but the coordinator or controller that reads it fails there."""
    REBUILDS_INDEX = "rebuilds_index"
    """The segment is recovered, which rebuilds its indexes."""
    FORGETS_PRODUCERS = "forgets_producers"
    """The broker does not know what producers have written."""
    MISTAKES_PRODUCERS = "mistakes_producers"
    """The broker takes a wrong state of a producer: it refuses what that sends, or holds back
    records that are committed."""
    DELETES_FILE = "deletes_file"
    """The file is removed at the next start."""
    DELETES_LOG = "deletes_log"
    """All segments of the partition are deleted."""
    RECOVERS_LOG = "recovers_log"
    """The segments that may not be flushed are read and checked, and their indexes rebuilt."""
    RESETS_OFFSET = "resets_offset"
    """The value of the checkpoint is replaced by that of the log."""
    REFUSES_START = "refuses_start"
    """The broker does not start, or not with this log directory."""


class Consequence(NamedTuple):
    """The effect of a finding on its data."""

    reader: str
    broker: str
    action: BrokerAction = BrokerAction.NOTHING
