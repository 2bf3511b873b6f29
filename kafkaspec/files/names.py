"""File and directory names of a log directory.

The specification says which files a segment has beside it, and how their names end. Kafka:
``LogFileUtils``, ``LocalLog.parseTopicPartitionName``, ``Snapshots.parse``, ``RemoteIndexCache``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from kafkaspec._generated.layout import ENTRY_KINDS, LAYOUTS
from kafkaspec._generated.layout.files import FILES
from kafkaspec.layout import FileLayout, names
from kafkaspec.layout.framing import LARGEST_OFFSET


def _suffix_of(type_key: str) -> str:
    """Return how the names of files end that a type reads."""
    return next(file.suffix for file in FILES.values() if file.type == type_key)


LOG: Final = _suffix_of(names.LOG_FILE)
MESSAGE_SET: Final = _suffix_of(names.MESSAGE_SET_FILE)
"""A segment of Kafka 0.7."""
OFFSET_INDEX: Final = _suffix_of(names.OFFSET_INDEX_FILE)
TIME_INDEX: Final = _suffix_of(names.TIME_INDEX_FILE)
TRANSACTION_INDEX: Final = _suffix_of(names.TRANSACTION_INDEX_FILE)
PRODUCER_SNAPSHOT: Final = _suffix_of(names.PRODUCER_SNAPSHOT_FILE)

SEGMENTS: Final = (
    LOG, *(name for name, file in FILES.items() if file.entry in ENTRY_KINDS and name != LOG)
)  # fmt: skip
"""The kinds of files that hold log entries."""

SIDECARS: Final = tuple(suffix for suffix in FILES if suffix not in SEGMENTS)
"""The kinds of files beside a segment, with its name."""

NEW_INDEXES: Final = tuple(
    suffix
    for suffix in SIDECARS
    if FILES[suffix].sources and suffix not in (OFFSET_INDEX, TIME_INDEX)
)
"""Indexes that no release writes, but the specification has: those of a draft."""

INDEXES: Final = (OFFSET_INDEX, TIME_INDEX, *NEW_INDEXES)
"""The indexes of a segment: files that a broker preallocates, and makes from the batches."""

CHECKPOINT: Final = ".checkpoint"
"""A KRaft snapshot: the same format as a segment."""

LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"
QUORUM_STATE: Final = "quorum-state"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS: Final = "log-start-offset-checkpoint"
CLEANER_OFFSETS: Final = "cleaner-offset-checkpoint"
META_PROPERTIES: Final = "meta.properties"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
LOCK: Final = ".lock"
REMOTE_LOG_SNAPSHOT: Final = "remote_log_snapshot"
"""In the directory of a partition: what the broker knows of its segments in remote storage."""

OFFSET_CHECKPOINTS: Final = (HIGH_WATERMARKS, RECOVERY_POINTS, LOG_START_OFFSETS, CLEANER_OFFSETS)
"""The checkpoints with an offset for each partition of a log directory."""

TEXT_FILES: Final = (
    LEADER_EPOCHS,
    PARTITION_METADATA,
    QUORUM_STATE,
    *OFFSET_CHECKPOINTS,
    META_PROPERTIES,
    CLEAN_SHUTDOWN,
)
"""The text files; the lock has no content."""

REMOTE_INDEX_CACHE: Final = "remote-log-index-cache"
"""Directory in a log directory with the indexes of segments that are in remote storage only."""

REMOTE_INDEXES: Final = (OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)
"""Kinds of files of each segment there; if one is missing, a broker deletes the others."""

STATES: Final = (".deleted", ".cleaned", ".swap")
"""Suffixes of files that a broker will delete, is writing, or will put in place of others."""


def _any_of(suffixes: Iterable[str]) -> str:
    """Return a pattern of names that end in one of some ways."""
    return "|".join(map(re.escape, suffixes))


OFFSET_DIGITS: Final = 20
"""Digits of an offset in the name of a file. Kafka: ``LogFileUtils.filenamePrefixFromOffset``."""
_EPOCH_DIGITS: Final = 10
# \d takes the digits of any script, and so does int(): Kafka formats with the default locale.
_SEGMENT = re.compile(rf"(\d{{{OFFSET_DIGITS}}})({_any_of(FILES)})({_any_of(STATES)})?")
# Not padded; after the offset an id as Uuid.toString writes it, 16 bytes in base64 for URLs.
_REMOTE_INDEX = re.compile(
    rf"([0-9]{{1,19}})_([A-Za-z0-9_-]{{22}})({_any_of(REMOTE_INDEXES)})(\.deleted|\.tmp)?"
)
_CHECKPOINT = re.compile(
    rf"(\d{{{OFFSET_DIGITS}}})-(\d{{{_EPOCH_DIGITS}}}){re.escape(CHECKPOINT)}(\.deleted)?"
)
_NUMBER = re.compile(r"([+-]?\d{1,4000})\.")
_NUMBERED = (LOG, *INDEXES, TRANSACTION_INDEX, PRODUCER_SNAPSHOT, *STATES[1:])
_STREAM_STATE: Final = ".kafkasegment-{}.json"
"""Of ours: the last micro-batch that a streaming query of Spark has written."""
_LARGEST_INT = (1 << 31) - 1
LARGEST_PARTITION: Final = _LARGEST_INT
"""The largest number of a partition."""
_MOVED = re.compile(r"\S+-\S+\.\S+(-delete|-future|-stray)")
_UNMOVED = re.compile(r".*(-delete|-future|-stray)", re.DOTALL)
_PARTITION = re.compile(r"(.+)-\+?(\d+)", re.DOTALL)


def segment_name(base_offset: int, kind: str) -> str:
    """Return the name of a file of a segment, as a broker writes it."""
    return f"{base_offset:0{OFFSET_DIGITS}}{kind}"


def checkpoint_name(end_offset: int, epoch: int) -> str:
    """Return the name of a KRaft snapshot, as a broker writes it. Kafka: ``Snapshots.filename``."""
    return f"{end_offset:0{OFFSET_DIGITS}}-{epoch:0{_EPOCH_DIGITS}}{CHECKPOINT}"


class SegmentName(NamedTuple):
    """The parts of the name of a file in a partition directory.

    Attributes:
        base_offset: the number in the name. No record of a segment has a smaller offset; a producer
            snapshot holds the state before this offset.
        kind: how it ends, as the specification lists it: ``.log``, ``.kafka``, ``.index``,
            ``.timeindex``, ``.txnindex`` or ``.snapshot``.
        state: ``.deleted``, ``.cleaned``, ``.swap``, ``.tmp`` or "".
        remote_id: id of the segment in remote storage, for an index in ``remote-log-index-cache``.
    """

    base_offset: int
    kind: str
    state: str = ""
    remote_id: str = ""

    @property
    def layout(self) -> FileLayout:
        """The layout of files of its kind."""
        return FILES[self.kind]

    @property
    def parameters(self) -> tuple[int, ...]:
        """Arguments of the types that read the file and its entries: the base offset, or none."""
        return (self.base_offset,) if LAYOUTS[self.layout.type].parameters else ()

    @property
    def words(self) -> str:
        """Its kind in words: ``an offset index``."""
        name = self.layout.name
        return f"an {name}" if name[0] in "aeiou" else f"a {name}"

    def sibling(self, kind: str) -> str:
        """Return the name of the file of another kind that belongs to the same segment."""
        if self.remote_id:
            return f"{self.base_offset}_{self.remote_id}{kind}{self.state}"
        return f"{segment_name(self.base_offset, kind)}{self.state}"


class CheckpointName(NamedTuple):
    """Name of a KRaft snapshot, which holds the state before ``end_offset`` of ``epoch``.

    ``state`` is ``.deleted`` or "". ``bootstrap.checkpoint`` is not such a name: it has neither
    offset nor epoch.
    """

    end_offset: int
    epoch: int
    state: str = ""


MOST_TOPIC: Final = 249
"""Most characters of the name of a topic. Kafka: ``Topic.MAX_NAME_LENGTH``."""
_TOPIC: Final = re.compile(f"[a-zA-Z0-9._-]{{1,{MOST_TOPIC}}}")
COPIES: Final = {
    "-delete": "a partition that is being deleted",
    "-future": "a copy that a broker is moving here from another log directory",
    "-stray": "a partition that the cluster did not know",
}
"""What the directory of a partition in a state is."""


class PartitionName(NamedTuple):
    """Name of a partition's directory; ``state``: ``-delete``, ``-future``, ``-stray`` or ""."""

    topic: str
    partition: int
    state: str = ""


def stream_state(query: str) -> str:
    """Return the name of the state of a streaming query, whose id is 32 hexadecimal digits."""
    return _STREAM_STATE.format(query)


def is_stream_state(name: str) -> bool:
    """Return whether a file is the state of a streaming query."""
    return re.fullmatch(re.escape(_STREAM_STATE).replace(r"\{\}", "[0-9a-f]{32}"), name) is not None


@lru_cache(maxsize=1 << 12)  # a name is parsed when it is listed, and again when it is opened
def parse_segment(name: str) -> SegmentName | None:
    """Parse a name like ``00000000000000000042.log``; return None for any other name.

    Also ``42_UgmvfPfTRLK0dtb2gyKmkg.index``, a copy of the index of a segment in remote storage.
    """
    match = _SEGMENT.fullmatch(name)
    if match and int(match[1]) <= LARGEST_OFFSET:
        return SegmentName(int(match[1]), match[2], match[3] or "")
    match = _REMOTE_INDEX.fullmatch(name)
    if match and int(match[1]) <= LARGEST_OFFSET:
        return SegmentName(int(match[1]), match[3], match[4] or "", match[2])
    return None


def offset_in(name: str) -> int | None:
    """Return the number before the first dot of a name; None if it is not an offset.

    Kafka: ``LogFileUtils.offsetFromFileName``, which takes other digits than 20 too.
    """
    match = _NUMBER.match(name)
    number = None if match is None else int(match[1])
    return number if number is not None and -LARGEST_OFFSET <= number <= LARGEST_OFFSET else None


def has_no_offset(name: str) -> bool:
    """Return whether a name ends like that of a segment or its files, and begins with no offset.

    A broker does not start with such a file in a partition: ``LogFileUtils.offsetFromFileName``
    throws ``NumberFormatException``, which nothing handles.
    """
    return name.endswith(_NUMBERED) and offset_in(name) is None


def is_beyond_offsets(name: str) -> bool:
    """Return whether a name is that of a segment or its files, but for a number too large."""
    match = _SEGMENT.fullmatch(name)
    return match is not None and int(match[1]) > LARGEST_OFFSET


def parse_checkpoint(name: str) -> CheckpointName | None:
    """Parse a name like ``00000000000000000042-0000000003.checkpoint``; return None for others."""
    match = _CHECKPOINT.fullmatch(name)
    if match is None or int(match[1]) > LARGEST_OFFSET or int(match[2]) > _LARGEST_INT:
        return None
    return CheckpointName(int(match[1]), int(match[2]), match[3] or "")


def parse_partition(name: str) -> PartitionName | None:
    """Parse a name like ``topic-0`` or ``topic-0.<unique id>-delete``; return None for others.

    By Kafka's rule: with a directory of any other name in a log directory a broker does not start.
    A topic may contain ``-`` and ``.``: the number follows the last hyphen (KAFKA-5232). It is an
    int of 32 bits.
    """
    moved = _MOVED.fullmatch(name)
    if moved is None and _UNMOVED.fullmatch(name):
        return None
    match = _PARTITION.fullmatch(name.rpartition(".")[0] if moved else name)
    if match is None or int(match[2]) > _LARGEST_INT:
        return None
    return PartitionName(match[1], int(match[2]), moved[1] if moved else "")


def is_topic(name: str) -> bool:
    """Return whether Kafka lets a topic have this name. Kafka: ``Topic.isValid``."""
    return _TOPIC.fullmatch(name) is not None and name not in (".", "..")


def is_of_log_directory(name: str) -> bool:
    """Return whether a broker starts with a directory of that name in a log directory."""
    return name == REMOTE_INDEX_CACHE or parse_partition(name) is not None


def copy_text(state: str) -> str:
    """Return what a directory with this state of ``PartitionName`` is, for people."""
    return f"{COPIES[state]}; its records are no longer, or not yet, of the partition"


def is_log(name: str) -> bool:
    """Return whether a file of this name holds log entries: a segment or a KRaft snapshot."""
    segment = parse_segment(name)
    if segment is not None:
        return segment.kind in SEGMENTS
    return parse_checkpoint(name) is not None or name == "bootstrap" + CHECKPOINT


def is_text(name: str) -> bool:
    """Return whether a file of this name holds text that ``kafkaspec.files.checkpoints`` reads."""
    return name in TEXT_FILES
