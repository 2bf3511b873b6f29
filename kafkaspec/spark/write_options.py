"""The options of ``df.write.format("kafkasegment")``, checked before a task starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar
from uuid import UUID

from kafkaspec import compression
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.spark.paths import local
from kafkaspec.writing.acceptance import LARGEST_SEGMENT
from kafkaspec.writing.index_rules import INDEX_INTERVAL_BYTES
from kafkaspec.writing.profiles import get_profile
from kafkaspec.writing.settings import BATCH_BYTES, SEGMENT_BYTES

T = TypeVar("T")

_MOST_INT: Final = (1 << 31) - 1
_MOST_LONG: Final = (1 << 63) - 1
_MOST_TOPIC: Final = 249
"""Characters of the name of a topic (Kafka: ``Topic.MAX_NAME_LENGTH``)."""
_TOPIC_CHARACTERS: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)

_FIRST_EPOCH: int | None = 0
"""Of the first leader of a topic."""

NAMES: Final = (
    "path",
    "topic",
    "partition",
    "offsets",
    "startingOffset",
    "allowGaps",
    "compression",
    "compressionLevel",
    "batchSize",
    "segmentBytes",
    "indexIntervalBytes",
    "profile",
    "leaderEpoch",
    "topicId",
    "sync",
)
"""The options, spelled as documented; Spark does not tell apart small and capital letters."""

_OF_SPARK: Final = ("checkpointlocation", "querybatchid", "queryname")
"""Further options that Spark passes for a streaming query."""


@dataclass(frozen=True)
class WriteOptions:
    """How rows become partition directories.

    Attributes:
        path: the local directory that the partition directories are to be in, absolute.
        topic: of all rows, whatever the column says; None takes the column.
        partition: of all rows; None takes the column, and 0 if there is none.
        keep_offsets: True takes the column ``offset``, False counts on, None decides by whether
            there is such a column.
        starting_offset: of a partition that does not exist yet, where offsets are assigned.
        allow_gaps: whether offsets that are kept may leave some out, as those of a compacted log.
        compression: name of the codec.
        level: of the compression, None for Kafka's default.
        batch_bytes: ``batch.size``: of records in a batch, before compression.
        segment_bytes: ``segment.bytes``.
        index_interval_bytes: ``index.interval.bytes``.
        profile: version of Kafka whose files are written.
        leader_epoch: of all batches; None writes none.
        topic_id: for ``partition.metadata``, which is not written without.
        sync: whether files are forced to disk.
    """

    path: str
    topic: str | None = None
    partition: int | None = None
    keep_offsets: bool | None = None
    starting_offset: int = 0
    allow_gaps: bool = False
    compression: str = "none"
    level: int | None = None
    batch_bytes: int = BATCH_BYTES
    segment_bytes: int = SEGMENT_BYTES
    index_interval_bytes: int = INDEX_INTERVAL_BYTES
    profile: str = "4.3"
    leader_epoch: int | None = 0
    topic_id: UUID | None = None
    sync: bool = True


def parse_write_options(given: Mapping[str, str]) -> WriteOptions:
    """Return the options of a write.

    Args:
        given: as Spark hands them over: texts, whatever the case of their names.

    Raises:
        ValueError: an option that there is not, or a value that it cannot have; with its name.
    """
    left = {name.lower(): value for name, value in given.items()}
    for name in _OF_SPARK:
        left.pop(name, None)

    def take(name: str, parse: Callable[[str, str], T], default: T) -> T:
        value = left.pop(name.lower(), None)
        return default if value is None else parse(name, value)

    if "paths" in left or not left.get("path"):
        raise ValueError("give one path to write to: df.write.format('kafkasegment').save(path)")
    options = WriteOptions(
        path=take("path", _local, ""),
        topic=take("topic", _topic, None),
        partition=take("partition", _integer(0, _MOST_INT), None),
        keep_offsets=take("offsets", _kept, None),
        starting_offset=take("startingOffset", _integer(0, _MOST_LONG), 0),
        allow_gaps=take("allowGaps", _boolean, False),
        compression=take("compression", _codec, "none"),
        level=take("compressionLevel", _integer(-_MOST_INT, _MOST_INT), None),
        batch_bytes=take("batchSize", _integer(1, _MOST_INT), BATCH_BYTES),
        segment_bytes=take("segmentBytes", _integer(1, LARGEST_SEGMENT), SEGMENT_BYTES),
        index_interval_bytes=take(
            "indexIntervalBytes", _integer(0, LARGEST_SEGMENT), INDEX_INTERVAL_BYTES
        ),
        profile=take("profile", _profile, "4.3"),
        leader_epoch=take("leaderEpoch", _epoch, _FIRST_EPOCH),
        topic_id=take("topicId", _topic_id, None),
        sync=take("sync", _boolean, True),
    )
    if left:
        known = ", ".join(NAMES)
        raise ValueError(f"no option {sorted(left)[0]!r} for writing; there are {known}")
    if options.topic_id is not None and options.topic is None:
        raise ValueError("topicId is the id of one topic: give the option topic as well")
    return options


def is_kept(given: Mapping[str, object]) -> bool:
    """Return whether options let offsets be those of a column that is there."""
    found = {name.lower(): value for name, value in given.items()}
    return str(found.get("offsets", "keep")).lower() != "assign"


def check_topic(topic: str) -> str:
    """Return the name of a topic, if it may be one; it becomes part of a path.

    Kafka: ``Topic.validate``.

    Raises:
        ValueError: it may not.
    """
    if not 0 < len(topic) <= _MOST_TOPIC or topic in (".", ".."):
        raise ValueError(f"{topic[:40]!r} is no name of a topic: it has 1 to {_MOST_TOPIC} letters")
    if not _TOPIC_CHARACTERS.issuperset(topic):
        raise ValueError(
            f"{topic[:40]!r} is no name of a topic: only letters, digits, '.', '_', '-'"
        )
    return topic


def _topic(_name: str, value: str) -> str:
    return check_topic(value)


def _local(_name: str, value: str) -> str:
    """Return a path of this machine, or of a file system that is mounted alike on all of them."""
    path = local(value)
    if path is None:
        raise ValueError(
            f"{value!r} cannot be written to: segments go to a local or mounted directory"
        )
    return os.path.abspath(path)


def _integer(least: int, most: int) -> Callable[[str, str], int]:
    def parse(name: str, value: str) -> int:
        try:
            number = int(value)
        except ValueError:
            raise ValueError(f"option {name} is a whole number, not {value[:40]!r}") from None
        if not least <= number <= most:
            raise ValueError(f"option {name} is {number}; it must be from {least} to {most}")
        return number

    return parse


def _boolean(name: str, value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise ValueError(f"option {name} is true or false, not {value[:40]!r}")
    return value.lower() == "true"


def _kept(name: str, value: str) -> bool:
    if value.lower() not in ("keep", "assign"):
        raise ValueError(f"option {name} is keep or assign, not {value[:40]!r}")
    return value.lower() == "keep"


def _codec(name: str, value: str) -> str:
    if value.lower() not in compression.NAMES:
        known = ", ".join(compression.NAMES)
        raise ValueError(f"option {name} is {known}, not {value[:40]!r}")
    return value.lower()


def _profile(_name: str, value: str) -> str:
    get_profile(value)
    return value


def _epoch(name: str, value: str) -> int | None:
    return None if value.lower() == "none" else _integer(0, _MOST_INT)(name, value)


def _topic_id(name: str, value: str) -> UUID:
    found = kafka_uuid.from_text(value)
    if found is None:
        raise ValueError(f"option {name} is the id of a topic as Kafka shows it, 22 characters")
    return found
