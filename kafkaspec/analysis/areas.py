"""What a finding can be about, and what a broker can do with it: two closed lists."""

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
    """A compressed message of magic 0 or 1 and what is in it."""
    MESSAGE = "message"
    """Framing, header or checksum of a message of Kafka 0.7."""
    MESSAGE_SET = "message_set"
    """What is in a compressed set of messages of Kafka 0.7."""
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
    """Names of files, and files against each other."""


class BrokerAction(StrEnum):
    """What a broker's loader does, in a word."""

    NOTHING = "nothing"
    """It does not notice, or does not mind."""
    CUTS_LOG = "cuts_log"
    """Recovery truncates the log here; all behind it is lost."""
    REFUSES_LOG = "refuses_log"
    """The log directory fails: the partition is not opened."""
    EMPTIES_SEGMENT = "empties_segment"
    """Recovery throws the whole segment away."""
    HIDES_RECORDS = "hides_records"
    """The log opens, and records that are there are not found."""
    KEEPS_UNREADABLE = "keeps_unreadable"
    """The batch stays although nobody can read it."""
    REBUILDS_INDEX = "rebuilds_index"
    """The segment is recovered, which writes its indexes anew."""
    FORGETS_PRODUCERS = "forgets_producers"
    """The snapshot is dropped, and with it what was known of producers."""
    DELETES_FILE = "deletes_file"
    """The file is removed at the next start."""
    DELETES_LOG = "deletes_log"
    """All segments of the partition are deleted."""
    RECOVERS_LOG = "recovers_log"
    """The segments that may not be flushed are read and checked, and their indexes rebuilt."""
    RESETS_OFFSET = "resets_offset"
    """What the checkpoint says is replaced by what the log says."""
    REFUSES_START = "refuses_start"
    """The broker does not start, or not with this log directory."""


class Consequence(NamedTuple):
    """What happens with the data that a finding is about."""

    reader: str
    broker: str
    action: BrokerAction
