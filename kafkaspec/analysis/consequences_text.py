"""What Kafka does with text files that are broken or contradict the log, as a table.

Read in ``LogManager.loadLogs``, ``LogLoader``, ``CheckpointFileWithFailureHandler``,
``LeaderEpochFileCache``, ``UnifiedLog``, ``LogCleanerManager``, ``MetaPropertiesEnsemble`` and
``QuorumState`` of Kafka 4.0.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkaspec.analysis.areas import Area, BrokerAction, Consequence
from kafkaspec.analysis.reasons import FindingReason as R

_NO_READER = "Does not read this file."

_OFFLINE = (
    "Takes the whole log directory offline, with all partitions in it; where a number is "
    "malformed, the broker stops."
)
_OFFSETS_OFFLINE = (
    "Takes the whole log directory offline; where only a number is malformed, it goes on as if "
    "the file were empty."
)

TEXT_AREAS: dict[Area, Consequence] = {
    Area.LEADER_EPOCH_CHECKPOINT: Consequence(_NO_READER, _OFFLINE, BrokerAction.REFUSES_LOG),
    Area.PARTITION_METADATA: Consequence(_NO_READER, _OFFLINE, BrokerAction.REFUSES_LOG),
    Area.QUORUM_STATE: Consequence(
        _NO_READER, "The node does not start.", BrokerAction.REFUSES_START
    ),
    Area.HIGH_WATERMARKS: Consequence(_NO_READER, _OFFSETS_OFFLINE, BrokerAction.REFUSES_LOG),
    Area.RECOVERY_POINTS: Consequence(_NO_READER, _OFFSETS_OFFLINE, BrokerAction.REFUSES_LOG),
    Area.LOG_START_OFFSETS: Consequence(_NO_READER, _OFFSETS_OFFLINE, BrokerAction.REFUSES_LOG),
    Area.CLEANER_OFFSETS: Consequence(_NO_READER, _OFFSETS_OFFLINE, BrokerAction.REFUSES_LOG),
    Area.META_PROPERTIES: Consequence(
        _NO_READER,
        "Does not start, or not with this log directory.",
        BrokerAction.REFUSES_START,
    ),
    Area.CLEAN_SHUTDOWN: Consequence(
        _NO_READER,
        "Takes the stop for a clean one, and registers without the epoch it had before.",
        BrokerAction.NOTHING,
    ),
}
"""What holds for a file that cannot be parsed, and where the table below says nothing else."""

_OFFSET_AREAS = (
    Area.HIGH_WATERMARKS,
    Area.RECOVERY_POINTS,
    Area.LOG_START_OFFSETS,
    Area.CLEANER_OFFSETS,
)

_ROWS: Iterable[tuple[Area, R, Consequence]] = (
    (
        Area.LEADER_EPOCH_CHECKPOINT,
        R.LEADER_EPOCH_ORDER,
        Consequence(
            "A consumer or follower that asks where an epoch ends can get a wrong answer.",
            "Drops the entries that contradict a later one.",
            BrokerAction.RESETS_OFFSET,
        ),
    ),
    *(
        (
            Area.LEADER_EPOCH_CHECKPOINT,
            reason,
            Consequence(
                "A follower that asks where an epoch ends gets a wrong answer, and can cut its "
                "log too early or too late.",
                "A clean start trusts the checkpoint. Recovery adds epochs, and corrects none.",
                BrokerAction.NOTHING,
            ),
        )
        for reason in (R.LEADER_EPOCH_MISSING, R.LEADER_EPOCH_START)
    ),
    (
        Area.LEADER_EPOCH_CHECKPOINT,
        R.CHECKPOINT_BEYOND_LOG,
        Consequence(_NO_READER, "Drops the entry.", BrokerAction.RESETS_OFFSET),
    ),
    (
        Area.PARTITION_METADATA,
        R.TOPIC_ID,
        Consequence(
            "The partition has no leader here, or a topic that was deleted seems to be back.",
            "With KRaft, takes the directory for a stray one and deletes it later; with "
            "ZooKeeper, refuses to become leader or follower.",
            BrokerAction.DELETES_LOG,
        ),
    ),
    (
        Area.QUORUM_STATE,
        R.QUORUM_EPOCH,
        Consequence(
            _NO_READER,
            "Takes the epoch of the log, and forgets its vote.",
            BrokerAction.RESETS_OFFSET,
        ),
    ),
    (
        Area.HIGH_WATERMARKS,
        R.CHECKPOINT_BEYOND_LOG,
        Consequence(
            "Does not get the records that are missing at the end.",
            "Takes the end of the log in its place: records that were committed are missing in "
            "this replica.",
            BrokerAction.RESETS_OFFSET,
        ),
    ),
    (
        Area.RECOVERY_POINTS,
        R.CHECKPOINT_BEYOND_LOG,
        Consequence(
            "Does not get the records that are missing at the end.",
            "After an unclean stop it checks no segment in front of this offset, and so none at "
            "all; then it takes the end of the log in its place.",
            BrokerAction.RESETS_OFFSET,
        ),
    ),
    (
        Area.LOG_START_OFFSETS,
        R.CHECKPOINT_BEYOND_LOG,
        Consequence(
            "Gets none of the records that are there.",
            "Deletes all segments of the partition, and starts an empty one at this offset.",
            BrokerAction.DELETES_LOG,
        ),
    ),
    (
        Area.LOG_START_OFFSETS,
        R.CHECKPOINT_BELOW_LOG,
        Consequence(
            "Reads from the first segment on, or from remote storage where that is used.",
            "Takes the first segment in its place, unless remote storage is used.",
            BrokerAction.RESETS_OFFSET,
        ),
    ),
    (
        Area.CLEANER_OFFSETS,
        R.CHECKPOINT_BEYOND_LOG,
        Consequence(
            "Not affected.",
            "Compaction begins at the start of the log again.",
            BrokerAction.RESETS_OFFSET,
        ),
    ),
    *(
        (
            area,
            R.CHECKPOINT_PARTITION,
            Consequence(
                "Does not find the partition here.",
                "Passes over the entry, and leaves it out when it writes the file anew.",
                BrokerAction.NOTHING,
            ),
        )
        for area in _OFFSET_AREAS
    ),
    *(
        (
            area,
            R.CHECKPOINT_DUPLICATE,
            Consequence(_NO_READER, "Takes the last entry.", BrokerAction.NOTHING),
        )
        for area in _OFFSET_AREAS
    ),
    *(
        (
            Area.META_PROPERTIES,
            reason,
            Consequence(_NO_READER, "Does not start.", BrokerAction.REFUSES_START),
        )
        for reason in (R.OTHER_CLUSTER, R.OTHER_NODE, R.DIRECTORY_ID)
    ),
    (
        Area.CLEAN_SHUTDOWN,
        R.UNCLEAN_STOP,
        Consequence(
            "Not affected.",
            "Recovers the segments from the recovery point on: it cuts the log at the first batch "
            "that is damaged, and rebuilds their indexes.",
            BrokerAction.RECOVERS_LOG,
        ),
    ),
)

TEXT_CONSEQUENCES: dict[tuple[Area, R], Consequence] = {
    (area, reason): consequence for area, reason, consequence in _ROWS
}
"""By area and reason, for the text files."""
