"""The table of what Kafka does with broken data.

The sources are ``FileLogInputStream``, ``DefaultRecordBatch``, ``CompletedFetch`` (readers) and
``LogLoader``, ``LogSegment.recover``, ``ProducerStateManager``, ``TransactionIndex`` (loading) of
Kafka 4.3, and runs of its loader on such files.

A broker that was stopped cleanly does not check the log when it starts, only the transaction
indexes and producer snapshots. It recovers segments after an unclean stop, and those without an
offset index.

The sources for text files are ``LogManager.loadLogs``, ``LogLoader``,
``CheckpointFileWithFailureHandler``, ``LeaderEpochFileCache``, ``UnifiedLog``,
``LogCleanerManager``, ``MetaPropertiesEnsemble`` and ``QuorumState`` of Kafka 4.0.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.analysis.reasons import Area, Consequence
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.broker.actions import BrokerAction as A

STUCK = "A consumer fails at this batch and does not get past it by itself."
_FINE = "Reads on and does not notice."
_NO_READER = "Does not read this file."
_CLEAN = "A clean start"
_CUT = (
    "Recovery truncates the log here: every intact batch after it, and every later segment, is "
    "lost. "
    f"{_CLEAN} does not look."
)
_BYTES = "Gets the bytes as they are; followers copy them."
_UNSEEN = "Nothing: recovery does not compare it."
_CUT_ALONE = (
    "The start truncates the segment here, after a clean stop too, since its offset index is "
    "missing: every intact batch after it in this segment is lost. Later segments stay."
)
_REFUSED = "Does not start, with none of its logs, when it recovers this segment."
_MISSING_AT_END = "Does not get the records that are missing at the end."

NOT_LOADED = "Does not load this file: the offsets of its batches are elsewhere."
IN_DAMAGE = Consequence(
    "Does not get the records that are missing; what it does there, the finding about these bytes "
    "says.",
    "Does what the finding about these bytes says.",
)
"""Of offsets that are missing because bytes of the segment are damaged."""

PREDICTED: dict[A, str] = {
    A.NOTHING: "Nothing: recovery keeps it.",
    A.KEEPS_UNREADABLE: (
        "Recovery checks checksum and offsets only: the batch stays in the log, unreadable."
    ),
    A.CUTS_LOG: _CUT,
    A.REFUSES_LOG: _REFUSED,
    A.EMPTIES_SEGMENT: "Recovery empties the whole segment, and deletes later ones.",
    A.SPLITS_SEGMENT: (
        "Recovery splits the segment, since its offsets do not fit into one, and goes on."
    ),
    A.REBUILDS_INDEX: ("Recovers the segment, after a clean stop too, which rebuilds its indexes."),
    A.DELETES_FILE: (
        "Deletes the snapshot, and takes the state of producers from an older one and the log."
    ),
    A.DELETES_LOG: (
        "A clean start finds that the log ends before its start, and deletes all segments."
    ),
}
"""Texts for actions that the prediction gives, and not the table."""

_ACCEPTED = Consequence(_FINE, _UNSEEN)
_WRONG_OFFSETS = Consequence(
    "Takes the offsets as they stand; a consumer can be sent records that it has had.",
    "Recovery empties the whole segment if an index entry is due here, otherwise it keeps it.",
    A.EMPTIES_SEGMENT,
)
_HIDDEN = "Skips the batch without an error: records in it are hidden."
_WRAPPER = Consequence(STUCK, _REFUSED, A.REFUSES_LOG)
_INDEX_HARMLESS = Consequence(
    "Lookups find the same records.",
    "Brokers up to 2.2 may recover the segment; later ones do not look.",
)
BAD_FILE: dict[A, Consequence] = {
    action: Consequence(_NO_READER, text, action)
    for action, text in (
        (A.REFUSES_LOG, "Takes the whole log directory offline, with all partitions in it."),
        (A.REFUSES_START, "Does not start, with none of its log directories."),
        (A.RESETS_OFFSET, "Goes on as if the file were empty."),
    )
}
"""For a text file with an error, by what a broker does about it."""
DECIDED = (
    Area.LEADER_EPOCH_CHECKPOINT, Area.PARTITION_METADATA, Area.HIGH_WATERMARKS,
    Area.RECOVERY_POINTS, Area.LOG_START_OFFSETS, Area.CLEANER_OFFSETS,
)  # fmt: skip
"""Text files for which the error decides what a broker does."""
_OFFLINE = BAD_FILE[A.REFUSES_LOG]

# Kafka 0.7: ``ByteBufferMessageSet``, ``FileMessageSet.recover``, ``Log.validateSegments``.
_STUCK_0_7 = "A consumer fails at this message and does not get past it by itself."
_CUT_0_7 = "Recovery cuts these bytes off. Without it, new messages are appended after them."

_Rows = dict[tuple[R, ...], Consequence]
"""By reasons; () stands for all others."""

_OFFSET_CHECKPOINT: _Rows = {
    (): _OFFLINE,
    (R.CHECKPOINT_PARTITION,): Consequence(
        "Does not find the partition here.",
        "Ignores the entry, and omits it when it writes the file again.",
    ),
    (R.CHECKPOINT_DUPLICATE,): Consequence(_NO_READER, "Takes the last entry."),
}
"""For all of them."""

_EVERYWHERE: _Rows = {
    (R.CODECS_DISAGREE, R.INDEX_UNCHECKED): Consequence("Not known.", "Not known."),
    (R.MORE,): Consequence("As above.", "As above."),
    (R.UNREADABLE,): Consequence(
        "Cannot be said.", "Fails as well, if it runs with the same rights.", A.REFUSES_LOG
    ),
}
"""For every area."""

_TABLE: dict[Area, _Rows] = {
    Area.BATCH: {
        (): Consequence(STUCK, _CUT, A.CUTS_LOG),
        (R.TORN_TAIL, R.SHORT_TAIL, R.TRUNCATED): Consequence(
            "Takes it for the end of the log, without an error.",
            "Recovery cuts these bytes off, as after every unclean stop; if later segments exist, "
            "they are deleted with them.",
            A.CUTS_LOG,
        ),
        (R.ZERO_TAIL,): Consequence(
            "Fails there with a corrupt record, unless the broker knows where the log ends.",
            f"Recovery cuts the zeros off. {_CLEAN} keeps them, as of a preallocated file.",
            A.CUTS_LOG,
        ),
        (R.OFFSET_BELOW_BASE, R.OFFSET_ABOVE_RANGE): Consequence(
            "Takes the offsets as they stand.", _REFUSED, A.REFUSES_LOG
        ),
        (R.OFFSET_ORDER, R.LAST_OFFSET): _WRONG_OFFSETS,
        (
            R.PRODUCER_FIELDS,
            R.SEQUENCE_ORDER,
            R.SEQUENCE_GAP,
            R.PRODUCER_EPOCH_ORDER,
            R.LEADER_EPOCH_ORDER,
        ): Consequence(
            _FINE,
            "Nothing: sequences and epochs are checked when a producer sends, not on loading.",
        ),
        (R.TRANSACTION_STATE,): Consequence(_FINE, _REFUSED, A.REFUSES_LOG),
        (R.TRAILING_BYTES, R.MAX_TIMESTAMP): _ACCEPTED,
    },
    Area.RECORDS: {
        (): Consequence(
            STUCK,
            "Recovery checks checksum and offsets only: the batch stays in the log, unreadable.",
            A.KEEPS_UNREADABLE,
        ),
        (R.RECORD_OFFSET_ORDER, R.RECORD_OFFSET_RANGE, R.MAX_TIMESTAMP): _ACCEPTED,
        (R.BASE_TIMESTAMP, R.HEADER_KEY_ENCODING, R.UNKNOWN_CONTROL_TYPE): _ACCEPTED,
        (R.IGNORED_PAYLOAD,): Consequence(
            "Takes the batch for empty and never looks at these bytes.", _UNSEEN
        ),
        (R.HIDDEN_RECORDS,): Consequence(_HIDDEN, "Nothing: it keeps the batch.", A.HIDES_RECORDS),
        (R.CONTROL_RECORD,): Consequence(
            f"{_HIDDEN} With read_committed, it parses the first key, and fails if that is "
            "missing, shorter than 4 bytes or of a negative version.",
            _REFUSED,
            A.REFUSES_LOG,
        ),
    },
    Area.WRAPPER: {
        (): _WRAPPER,
        (R.RECORD_OFFSET_ORDER, R.RECORD_OFFSET_RANGE, R.MAX_TIMESTAMP): _ACCEPTED,
        (R.TRAILING_BYTES, R.INNER_MAGIC): _ACCEPTED,
        (R.CHECKSUM_MISMATCH,): Consequence(
            "Consumers check the inner messages only; a follower refuses the batch.",
            _CUT,
            A.CUTS_LOG,
        ),
    },
    Area.INTERNAL_RECORD: {
        (): Consequence(_BYTES, "Fails where it reads the record.", A.FAILS_TO_LOAD)
    },
    Area.MESSAGE: {
        (): Consequence(
            _STUCK_0_7,
            "Recovery cuts the last segment here: every intact message after it is lost. A clean "
            "start does not look, and no start looks at earlier segments.",
            A.CUTS_LOG,
        ),
        (R.TORN_TAIL, R.SHORT_TAIL, R.TRUNCATED): Consequence(
            "Takes it for the end of the log.", _CUT_0_7, A.CUTS_LOG
        ),
        (R.ZERO_TAIL,): Consequence("Fails there with an exception.", _CUT_0_7, A.CUTS_LOG),
        (R.INVALID_VALUE, R.OVERRUN): Consequence(
            _STUCK_0_7,
            "Recovery of the last segment fails with an exception, and the broker does not start. "
            "A clean start does not look. Only where the size is below 5, recovery truncates "
            "the log here.",
            A.REFUSES_START,
        ),
        (R.SEGMENT_POSITION,): Consequence(
            "Offsets of messages are not those that they were written with.",
            "Does not start: the segments do not validate.",
            A.REFUSES_START,
        ),
    },
    Area.MESSAGE_SET: {
        (): Consequence(
            _STUCK_0_7,
            "Recovery checks the checksum of the set only: it stays in the log, unreadable.",
            A.KEEPS_UNREADABLE,
        ),
        (R.TRAILING_BYTES,): Consequence("Drops it in silence.", "Nothing: it does not look."),
    },
    Area.OFFSET_INDEX: {
        (): Consequence(
            "Lookups through the index miss records that are in the log.",
            "A clean start trusts the index as it is: records after it are not found, or are "
            "overwritten. Recovery rebuilds it.",
            A.HIDES_RECORDS,
        ),
        (R.INDEX_KEY, R.INDEX_SIZE, R.INDEX_SANITY): _INDEX_HARMLESS,
        (R.MISSING_INDEX,): Consequence(
            "Not affected.", "Recovers the segment, which rebuilds the index.", A.REBUILDS_INDEX
        ),
    },
    Area.TIME_INDEX: {
        (): Consequence(
            "Lookups by timestamp give a wrong offset; reading by offset is not affected.",
            "Does not check the time index. Recovery rebuilds it.",
            A.HIDES_RECORDS,
        ),
        (R.INDEX_SIZE, R.INDEX_SANITY): _INDEX_HARMLESS,
        (R.MISSING_INDEX,): Consequence(
            "Lookups by timestamp use the modification time of the segment.",
            "Creates an empty one.",
        ),
    },
    Area.TRANSACTION_INDEX: {
        (): Consequence(
            "With read_committed, records of aborted transactions may be delivered, or committed "
            "ones withheld.",
            "Trusts the index unless an entry lies below the segment, then recovers the segment.",
            A.HIDES_RECORDS,
        ),
        (R.INVALID_VALUE, R.UNSUPPORTED_VERSION): Consequence(
            "Fetches with read_committed fail.",
            "Does not start, with none of its logs.",
            A.REFUSES_LOG,
        ),
        (R.TRANSACTION_VERSION,): Consequence(_FINE, "Does not notice."),
        (R.INDEX_SIZE,): Consequence("Ignores the part of an entry.", "Ignores it."),
    },
    Area.PRODUCER_SNAPSHOT: {
        (): Consequence(
            _NO_READER,
            "Deletes the snapshot and reads the log: producers whose batches are gone are "
            "forgotten, and a transaction begun in an earlier segment may be missing from a "
            "rebuilt transaction index.",
            A.FORGETS_PRODUCERS,
        ),
        (R.SNAPSHOT_CONTENT, R.TRAILING_BYTES): Consequence(_NO_READER, "Takes it as it is."),
    },
    Area.INDEX: {
        (): Consequence(
            "Lookups through the index miss records that are in the log.",
            "No release writes such a file; by the rule of the time index, recovery rebuilds it.",
            A.HIDES_RECORDS,
        ),
        (R.INDEX_SIZE, R.INDEX_SANITY): _INDEX_HARMLESS,
    },
    Area.OTHER: {(): Consequence(_NO_READER, "No release writes such a file.")},
    Area.KRAFT_SNAPSHOT: {
        (): Consequence(
            "A controller or broker that loads the snapshot fails.",
            "Does not look at it when the log is opened.",
        )
    },
    Area.LEADER_EPOCH_CHECKPOINT: {
        (): _OFFLINE,
        (R.LEADER_EPOCH_ORDER,): Consequence(
            "A consumer or follower that requests the end of an epoch can get a wrong answer.",
            "Drops the entries that contradict a later one.",
            A.RESETS_OFFSET,
        ),
        (R.LEADER_EPOCH_MISSING, R.LEADER_EPOCH_START): Consequence(
            "A follower that requests the end of an epoch gets a wrong answer, and can cut its "
            "log too early or too late.",
            "A clean start trusts the checkpoint. Recovery adds epochs, and corrects none.",
        ),
        (R.CHECKPOINT_BEYOND_LOG,): Consequence(_NO_READER, "Drops the entry.", A.RESETS_OFFSET),
    },
    Area.PARTITION_METADATA: {
        (): _OFFLINE,
        (R.TOPIC_ID,): Consequence(
            "The partition has no leader here, or a topic that was deleted seems to be back.",
            "With KRaft, treats the directory as stray and deletes it later; with "
            "ZooKeeper, refuses to become leader or follower.",
            A.DELETES_LOG,
        ),
    },
    Area.QUORUM_STATE: {
        (): Consequence(_NO_READER, "The node does not start.", A.REFUSES_START),
        (R.QUORUM_EPOCH,): Consequence(
            _NO_READER, "Takes the epoch of the log, and forgets its vote.", A.RESETS_OFFSET
        ),
    },
    Area.HIGH_WATERMARKS: {
        **_OFFSET_CHECKPOINT,
        (R.CHECKPOINT_BEYOND_LOG,): Consequence(
            _MISSING_AT_END,
            "Uses the end of the log instead: records that were committed are missing in "
            "this replica.",
            A.RESETS_OFFSET,
        ),
    },
    Area.RECOVERY_POINTS: {
        **_OFFSET_CHECKPOINT,
        (R.CHECKPOINT_BEYOND_LOG,): Consequence(
            _MISSING_AT_END,
            "After an unclean stop it checks no segment before this offset, and so none at "
            "all; then it uses the end of the log instead.",
            A.RESETS_OFFSET,
        ),
    },
    Area.LOG_START_OFFSETS: {
        **_OFFSET_CHECKPOINT,
        (R.CHECKPOINT_BEYOND_LOG,): Consequence(
            "Gets none of the records that are there.",
            "Deletes all segments of the partition, and starts an empty one at this offset.",
            A.DELETES_LOG,
        ),
        (R.CHECKPOINT_BELOW_LOG,): Consequence(
            "Reads from the first segment on, or from remote storage where that is used.",
            "Uses the first segment instead, unless remote storage is used.",
            A.RESETS_OFFSET,
        ),
    },
    Area.CLEANER_OFFSETS: {
        **_OFFSET_CHECKPOINT,
        (R.CHECKPOINT_BEYOND_LOG,): Consequence(
            "Not affected.", "Compaction begins at the start of the log again.", A.RESETS_OFFSET
        ),
    },
    Area.META_PROPERTIES: {
        (): Consequence(
            _NO_READER, "Does not start, or not with this log directory.", A.REFUSES_START
        ),
        (R.OTHER_CLUSTER, R.OTHER_NODE, R.DIRECTORY_ID): Consequence(
            _NO_READER, "Does not start.", A.REFUSES_START
        ),
    },
    Area.CLEAN_SHUTDOWN: {
        (): Consequence(
            _NO_READER, "Treats the stop as clean, and registers without the epoch it had before."
        ),
        (R.UNCLEAN_STOP,): Consequence(
            "Not affected.",
            "Recovers the segments from the recovery point on: it truncates the log at the first "
            "batch that is damaged, and rebuilds their indexes.",
            A.RECOVERS_LOG,
        ),
    },
    Area.FILES: {
        (): Consequence(_NO_READER, "Nothing."),
        (R.LEFTOVER, R.ORPHAN_FILE): Consequence(
            _NO_READER, "Deletes it, or puts it in place, at the next start.", A.DELETES_FILE
        ),
        (R.DIRECTORY_NAME,): Consequence(
            _NO_READER,
            "Does not start: the name is not in the form of topic-partition.",
            A.REFUSES_START,
        ),
        (R.FILE_NUMBER,): Consequence(
            "Does not find the records in it.",
            "Does not start: the number is too large for an offset.",
            A.REFUSES_START,
        ),
        (R.MOVED_PARTITION,): Consequence(
            _NO_READER,
            "Deletes it, if it is being deleted or a stray one; goes on copying, if it is future.",
            A.DELETES_FILE,
        ),
        (R.MISSING_OFFSETS,): Consequence(
            "Does not get the records that are missing, and reads on without an error.",
            "Serves what is there, and does not notice; what is missing at the end is written "
            "again with other records.",
        ),
        (R.SEGMENT_OVERLAP,): _WRONG_OFFSETS,
        (R.DAMAGE_AT_REST,): Consequence(
            "Gets other bytes than before, or fails where the findings about them say so.",
            "Does not notice: the disk, or something before it, has changed what was written.",
        ),
        (R.FILE_NAME,): Consequence(_FINE, "Nothing."),
    },
}

CONSEQUENCES: dict[tuple[Area, R], Consequence] = {
    (area, reason): consequence
    for area, rows in _TABLE.items()
    for reasons, consequence in (*rows.items(), *_EVERYWHERE.items())
    for reason in reasons
}
"""By area and reason; ``consequence_of`` has the defaults for the rest."""


def consequence_of(area: Area, reason: R) -> Consequence:
    """Return what Kafka does with broken data of an area for a reason."""
    return CONSEQUENCES.get((area, reason)) or _TABLE[area][()]


_IGNORED_TYPE = "Ignores the record, and says so in its log: it may be of a later release."
_READER_NOT_KNOWN = "It is not known what reads the topic, and what that does."
_COORDINATORS: dict[str, str] = {
    Topic.CONSUMER_OFFSETS: (
        "The coordinator does not load the partition. From 4.0 on, no group in it has a "
        "coordinator; up to 3.9, all of them begin without members and offsets."
    ),
    Topic.TRANSACTION_STATE: (
        "The coordinator loads the partition up to here, and does not know what follows."
    ),
    Topic.SHARE_GROUP_STATE: "The coordinator does not load the partition.",
}
"""What the readers of topics do with keys and values that they cannot read, and that they ignore
records of types that they do not know. Kafka: ``CoordinatorLoaderImpl``, ``GroupMetadataManager``,
``TransactionStateManager.loadTransactionMetadata``."""
_FOLLOWERS: dict[str, str] = {
    Topic.CLUSTER_METADATA: (
        "A controller stops with a fatal fault. A broker too if it is starting; a running one does "
        "not apply the batch."
    ),
    Topic.REMOTE_LOG_METADATA: (
        "The task that follows the topic ends: the broker learns of no later remote segment."
    ),
}
"""The same for those that fail at unknown types too. Kafka: ``MetadataLoader``,
``QuorumController``, ``RecordsIterator``, ``ConsumerTask.ingestRecords``."""


def of_message(topic: str, *, known: bool) -> Consequence:
    """Return what the reader of an internal topic does with a record that does not decode.

    Args:
        known: whether the type of the record is.
    """
    if topic in _COORDINATORS and not known:
        return Consequence(_BYTES, _IGNORED_TYPE)
    text = _COORDINATORS.get(topic) or _FOLLOWERS.get(topic)
    if text is None:  # a topic that the specification has, and no release
        return Consequence(_BYTES, _READER_NOT_KNOWN)
    return Consequence(_BYTES, text, A.FAILS_TO_LOAD)


USES_OTHER_STATE = Consequence(_NO_READER, "Does not take the state of this producer from it.")
"""For a snapshot that contradicts the log, and is not the one that a broker reads."""


def forgets_producers(*, clean: bool, unclean: bool) -> Consequence:
    """Return the consequence of a state of producers that is lost after a kind of stop."""
    text = f"After {_stop(clean=clean, unclean=unclean)}, does not know what producers have "
    text += "written: a batch that one of them sends again is stored twice, and an open "
    text += "transaction counts as ended."
    return Consequence(_NO_READER, text, A.FORGETS_PRODUCERS)


def mistakes_producers(effects: Sequence[str], *, clean: bool, unclean: bool) -> Consequence:
    """Return the consequence of a wrong state of a producer that a broker takes over.

    Args:
        effects: what the broker does with it.
        clean: whether it takes it over after a clean stop.
        unclean: whether it does after an unclean stop.
    """
    return Consequence(
        _NO_READER,
        f"After {_stop(clean=clean, unclean=unclean)}, {'; '.join(effects)}.",
        A.MISTAKES_PRODUCERS,
    )


def _stop(*, clean: bool, unclean: bool) -> str:
    return "any stop" if clean and unclean else "a clean stop" if clean else "an unclean stop"


def reads_log(offset: int) -> Consequence:
    """Return the consequence of a snapshot that is missing, but that the log replaces."""
    return Consequence(_NO_READER, f"Reads the log from offset {offset} on instead.")


FINDS_END = Consequence(
    "Lookups through the index miss records that are in the log.",
    f"{_CLEAN} trusts the index as it is: it finds the end of the log, but lookups miss records. "
    "Recovery rebuilds it.",
    A.HIDES_RECORDS,
)
"""For an offset index with wrong entries, if the last one leads to the end of the log."""


def hides_end(found: int, end: int) -> Consequence:
    """Return the consequence of an offset index from which a broker takes a wrong log end.

    3.9.2 and 4.3.1 did this. A lookup of such an offset finds the batch that was there before.
    """
    reader = (
        f"After a clean start, does not get offsets {found} to {end - 1}. After the next append "
    )
    reader += "it gets them again, and not what was appended."
    broker = f"{_CLEAN} takes the log end from the last entry, and finds {found}, not {end}: it "
    broker += f"hides offsets {found} to {end - 1}, and gives them out again to what is appended. "
    broker += "Recovery rebuilds the index."
    return Consequence(reader, broker, A.HIDES_RECORDS)


def cut_alone(reader: str) -> Consequence:
    """Return the consequence of damage in a segment without its offset index."""
    return Consequence(reader, _CUT_ALONE, A.CUTS_LOG)


def refused_when_clean(consequence: Consequence) -> Consequence:
    """Return a consequence of a log that a broker refuses after a clean stop."""
    recovery = consequence.broker.partition(_CLEAN)[0].rstrip()
    text = f"{recovery} {_CLEAN} fails in this segment too: the broker does not start."
    return consequence._replace(broker=text)
