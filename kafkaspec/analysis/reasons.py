"""Closed lists: structures and reasons of findings."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from kafkaspec.broker.actions import BrokerAction
from kafkaspec.errors import Reason


class FindingReason(StrEnum):
    """Why something is reported. The first group is ``kafkaspec.errors.Reason``."""

    TRUNCATED = Reason.TRUNCATED
    OVERRUN = Reason.OVERRUN
    TRAILING_BYTES = Reason.TRAILING_BYTES
    INVALID_VALUE = Reason.INVALID_VALUE
    VARINT_TOO_LONG = Reason.VARINT_TOO_LONG
    CHECKSUM_MISMATCH = Reason.CHECKSUM_MISMATCH
    DECOMPRESSION_FAILED = Reason.DECOMPRESSION_FAILED
    DECOMPRESSED_TOO_LARGE = Reason.DECOMPRESSED_TOO_LARGE
    TOO_LARGE = Reason.TOO_LARGE
    UNSUPPORTED_COMPRESSION = Reason.UNSUPPORTED_COMPRESSION
    UNSUPPORTED_VERSION = Reason.UNSUPPORTED_VERSION
    NULL_WRAPPER_VALUE = Reason.NULL_WRAPPER_VALUE
    EMPTY_WRAPPER = Reason.EMPTY_WRAPPER
    NESTED_COMPRESSION = Reason.NESTED_COMPRESSION
    WRAPPER_OFFSET = Reason.WRAPPER_OFFSET
    UNREADABLE = Reason.UNREADABLE
    CHANGED = Reason.CHANGED
    UNENCODABLE = Reason.UNENCODABLE

    TORN_TAIL = "torn_tail"
    """The log ends inside an entry."""
    ZERO_TAIL = "zero_tail"
    """The log ends in zeros, as a preallocated file does that was not closed."""
    SHORT_TAIL = "short_tail"
    """The log ends in bytes that are too few for an entry."""
    SEGMENT_POSITION = "segment_position"
    """A segment of Kafka 0.7 does not begin where the one before it ends."""
    OFFSET_BELOW_BASE = "offset_below_base"
    """An offset lies below the one in the file name."""
    OFFSET_ABOVE_RANGE = "offset_above_range"
    """An offset lies more than 2**31 - 1 above the one in the file name."""
    OFFSET_ORDER = "offset_order"
    """A batch repeats, overlaps or precedes the one before it."""
    RECORD_OFFSET_ORDER = "record_offset_order"
    """Offsets inside a batch repeat or descend."""
    RECORD_OFFSET_RANGE = "record_offset_range"
    """An offset is outside the range in the header of the batch."""
    LAST_OFFSET = "last_offset"
    """The last offset of a batch lies below its first."""
    MAX_TIMESTAMP = "max_timestamp"
    """The header has another largest timestamp than the records."""
    BASE_TIMESTAMP = "base_timestamp"
    """The header has another first timestamp than the records."""
    HEADER_KEY_ENCODING = "header_key_encoding"
    """The key of a header is not UTF-8."""
    INNER_MAGIC = "inner_magic"
    """A message in a wrapper has a magic that does not exist; readers take it for 1."""
    IGNORED_PAYLOAD = "ignored_payload"
    """A batch without records has bytes after its header."""
    CONTROL_RECORD = "control_record"
    """A control record of a producer that is not a valid transaction marker."""
    HIDDEN_RECORDS = "hidden_records"
    """Records of a batch with the control bit that are not control records; no reader fails."""
    UNKNOWN_CONTROL_TYPE = "unknown_control_type"
    """A control record of a type that is not described here."""
    UNDECODED_MESSAGE = "undecoded_message"
    """A key or value in one of Kafka's own topics that is not what its type says."""
    UNKNOWN_RECORD_TYPE = "unknown_record_type"
    """A record in one of Kafka's own topics of a type that is not described here."""
    PRODUCER_FIELDS = "producer_fields"
    """Producer id, epoch, sequence and flags that do not go together."""
    SEQUENCE_ORDER = "sequence_order"
    """Sequence numbers of a producer repeat or descend."""
    SEQUENCE_GAP = "sequence_gap"
    """Sequence numbers of a producer are left out."""
    PRODUCER_EPOCH_ORDER = "producer_epoch_order"
    """The epoch of a producer descends."""
    LEADER_EPOCH_ORDER = "leader_epoch_order"
    """The epoch of the partition's leader descends."""
    TRANSACTION_STATE = "transaction_state"
    """Data outside a transaction while the same producer has one open."""

    INDEX_SIZE = "index_size"
    """An index whose size is not a multiple of its entries."""
    INDEX_SANITY = "index_sanity"
    """An index that fails the check that brokers up to 2.2 ran at every load."""
    INDEX_ORDER = "index_order"
    """Entries that do not ascend."""
    INDEX_POSITION = "index_position"
    """An entry that does not point at the start of a batch."""
    INDEX_BEYOND_LOG = "index_beyond_log"
    """An entry that points after the end of the log."""
    INDEX_UNCHECKED = "index_unchecked"
    """Entries for a part of the log that cannot be read, because a damaged batch hides it."""
    INDEX_OFFSET = "index_offset"
    """An entry with an offset that can make a lookup miss records."""
    INDEX_KEY = "index_key"
    """An entry with an offset that no release would write, though lookups work."""
    TIME_INDEX_MEANING = "time_index_meaning"
    """A later timestamp at or before the offset of an entry: lookups can miss records."""
    TIME_INDEX_TIMESTAMP = "time_index_timestamp"
    """An entry with a timestamp that the log does not reach."""
    MISSING_INDEX = "missing_index"
    """A segment without its index."""
    ORPHAN_FILE = "orphan_file"
    """An index without its segment."""

    TRANSACTION_ORDER = "transaction_order"
    """Entries of a transaction index that do not ascend, or are outside their segment."""
    TRANSACTION_RANGE = "transaction_range"
    """An aborted transaction that begins after its own end."""
    TRANSACTION_VERSION = "transaction_version"
    """A version that Kafka never writes, but reads as its only one."""
    TRANSACTION_MARKER = "transaction_marker"
    """A transaction index with a marker that is not in the log."""
    TRANSACTION_MISSING = "transaction_missing"
    """An aborted transaction that is not in the transaction index."""
    SNAPSHOT_CONTENT = "snapshot_content"
    """A producer snapshot that contradicts itself, its name or the log."""
    MISSING_SNAPSHOT = "missing_snapshot"
    """A log without the producer snapshot that a clean stop leaves."""
    SNAPSHOT_INCOMPLETE = "snapshot_incomplete"
    """A KRaft snapshot without the record that ends it."""

    LEADER_EPOCH_MISSING = "leader_epoch_missing"
    """A leader epoch of the log that its checkpoint does not list."""
    LEADER_EPOCH_START = "leader_epoch_start"
    """A leader epoch with batches outside its range in the checkpoint."""
    CHECKPOINT_BEYOND_LOG = "checkpoint_beyond_log"
    """A checkpoint with an offset after the end of the log."""
    CHECKPOINT_BELOW_LOG = "checkpoint_below_log"
    """A checkpoint with an offset before the first segment."""
    CHECKPOINT_PARTITION = "checkpoint_partition"
    """A checkpoint that lists a partition which has no directory."""
    CHECKPOINT_DUPLICATE = "checkpoint_duplicate"
    """A checkpoint that lists a partition twice."""
    TOPIC_ID = "topic_id"
    """Partitions of one topic with different topic ids."""
    QUORUM_EPOCH = "quorum_epoch"
    """A quorum state with an epoch below that of the metadata log."""
    DIRECTORY_ID = "directory_id"
    """A log directory with an id that Kafka reserves, or that another one has."""
    OTHER_CLUSTER = "other_cluster"
    """Log directories of one broker that belong to different clusters."""
    OTHER_NODE = "other_node"
    """Log directories of one broker that belong to different nodes."""
    UNCLEAN_STOP = "unclean_stop"
    """The broker is running, or was not stopped cleanly."""

    FILE_NAME = "file_name"
    """A file name that contradicts the content."""
    FILE_NUMBER = "file_number"
    """A segment, index or snapshot with a number in its name that is not an offset."""
    MISSING_OFFSETS = "missing_offsets"
    """Offsets between segments, before the first or after the last one, whose batches are gone."""
    SEGMENT_OVERLAP = "segment_overlap"
    """A segment that reaches into the next one."""
    DIRECTORY_NAME = "directory_name"
    """A directory in a log directory with a name that no partition has."""
    MOVED_PARTITION = "moved_partition"
    """A partition that is being deleted or moved, or that the cluster does not know."""
    NO_COORDINATES = "no_coordinates"
    """Bytes of a WAL object that are in no coordinates: batches that were refused or left out."""
    LEFTOVER = "leftover"
    """A file that a broker was about to delete or to put in place."""
    UNKNOWN_FILE = "unknown_file"
    """A file that is not Kafka's; it was not read."""
    DAMAGE_AT_REST = "damage_at_rest"
    """Other bytes than an earlier run read, in a file that nothing has written to since."""
    CHANGED_SINCE = "changed_since"
    """A segment that is another than an earlier run read, and not only longer."""
    CODECS_DISAGREE = "codecs_disagree"
    """Two codecs read the same bytes differently: a defect of this program."""
    MORE = "more"
    """Further findings of the same reason, only counted."""


TAIL_REASONS: Final = {
    "torn": FindingReason.TORN_TAIL,
    "zeros": FindingReason.ZERO_TAIL,
    "short": FindingReason.SHORT_TAIL,
}
"""The reasons for what ends a log, by the words of ``kafkaspec.log.entries.Tail``."""


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
    INDEX = "index"
    """An index that only the specification knows, as one of a draft."""
    OTHER = "other"
    """Another file beside a segment that only the specification knows."""
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


class Consequence(NamedTuple):
    """The effect of a finding on its data."""

    reader: str
    broker: str
    action: BrokerAction = BrokerAction.NOTHING
