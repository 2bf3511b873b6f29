"""The options of ``df.write.format("kafkasegment")``, checked before a task starts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kafkaspec import compression
from kafkaspec.broker.index_rules import INDEX_INTERVAL_BYTES
from kafkaspec.broker.profiles import DEFAULT_PROFILE, get_profile
from kafkaspec.broker.settings import BATCH_BYTES, BOUNDS, SEGMENT_BYTES
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.layout.kinds import MAGICS
from kafkaspec.options import did_you_mean
from kafkaspec.spark.parsing import (
    LARGEST_INT,
    OptionError,
    Table,
    flag,
    lowered,
    one_of,
    parse,
    whole,
)
from kafkaspec.spark.paths import local

_MOST_TOPIC: Final = 249
"""Characters of the name of a topic (Kafka: ``Topic.MAX_NAME_LENGTH``)."""
_TOPIC: Final = re.compile("[a-zA-Z0-9._-]+")

_OF_SPARK: Final = ("checkpointlocation", "querybatchid", "queryname")
"""Further options that Spark passes for a streaming query."""


@dataclass(frozen=True)
class WriteOptions:
    """How rows become partition directories.

    Attributes:
        path: the local directory that the partition directories are to be in, absolute.
        topic: of all rows, whatever the column says; None takes the column.
        partition: of all rows; None takes the column, and 0 if there is none.
        keep_offsets: True takes the column ``offset``, False continues the log, None decides
            by whether there is such a column.
        starting_offset: of a new partition, where offsets are assigned.
        allow_gaps: whether offsets that are kept may leave some out, as those of a compacted log.
        magic: of the entries, None for that of the profile.
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
    magic: int | None = None
    compression: str = "none"
    level: int | None = None
    batch_bytes: int = BATCH_BYTES
    segment_bytes: int = SEGMENT_BYTES
    index_interval_bytes: int = INDEX_INTERVAL_BYTES
    profile: str = DEFAULT_PROFILE
    leader_epoch: int | None = 0
    topic_id: UUID | None = None
    sync: bool = True


def parse_write_options(options: Mapping[str, str]) -> WriteOptions:
    """Return the options of a write."""
    given = lowered(options)
    if "paths" in given or not given.get("path"):
        raise OptionError(
            "give one path to write to: df.write.format('kafkasegment').save(path). Spark forgets"
            " that of a table: INSERT INTO name WITH (path = '...') SELECT ..."
        )
    found = WriteOptions(**parse(given, _TABLE))
    unknown = given.keys() - {name.lower() for name in _TABLE} - {*_OF_SPARK}
    if unknown:
        raise OptionError(
            f"no option {min(unknown)!r} for writing; there are {', '.join(_TABLE)}"
            + did_you_mean(min(unknown), _TABLE)
        )
    if found.topic_id is not None and found.topic is None:
        raise OptionError("topicId is the id of one topic: give the option topic as well")
    return found


def check_topic(topic: str) -> str:
    """Return the name of a topic, if it may be one; it becomes part of a path.

    Kafka: ``Topic.validate``.
    """
    if not 0 < len(topic) <= _MOST_TOPIC or topic in (".", ".."):
        raise ValueError(
            f"{topic[:40]!r} is not a name of a topic: it has 1 to {_MOST_TOPIC} letters"
        )
    if not _TOPIC.fullmatch(topic):
        raise ValueError(
            f"{topic[:40]!r} is not a name of a topic: only letters, digits, '.', '_', '-'"
        )
    return topic


def _topic(_: str, value: str) -> str:
    return check_topic(value)


def _local(_: str, value: str) -> str:
    """Return a path of this machine, or of a file system that is mounted alike on all of them."""
    path = local(value)
    if path is None:
        raise OptionError(
            f"{value!r} cannot be written to: segments go to a local or mounted directory"
        )
    return os.path.abspath(path)


def _profile(_: str, value: str) -> str:
    get_profile(value)
    return value


def _epoch(name: str, value: str) -> int | None:
    return None if value.lower() == "none" else whole(*BOUNDS["leader_epoch"])(name, value)


def _topic_id(name: str, value: str) -> UUID:
    found = kafka_uuid.from_text(value)
    if found is None:
        raise OptionError(f"option {name} is the id of a topic as Kafka shows it, 22 characters")
    return found


_TABLE: Final[Table] = {
    "path": ("path", _local),
    "topic": ("topic", _topic),
    "partition": ("partition", whole(0, LARGEST_INT)),
    "offsets": ("keep_offsets", one_of({"keep": True, "assign": False})),
    "startingOffset": ("starting_offset", whole(*BOUNDS["base_offset"])),
    "allowGaps": ("allow_gaps", flag),
    "magic": ("magic", one_of({str(magic): magic for magic in MAGICS})),
    "compression": ("compression", one_of({name: name for name in compression.NAMES})),
    "compressionLevel": ("level", whole(-LARGEST_INT, LARGEST_INT)),
    "batchSize": ("batch_bytes", whole(1, LARGEST_INT)),
    "segmentBytes": ("segment_bytes", whole(*BOUNDS["segment_bytes"])),
    "indexIntervalBytes": ("index_interval_bytes", whole(*BOUNDS["index_interval_bytes"])),
    "profile": ("profile", _profile),
    "leaderEpoch": ("leader_epoch", _epoch),
    "topicId": ("topic_id", _topic_id),
    "sync": ("sync", flag),
}
"""The options, spelled as documented; Spark ignores their letter case."""
