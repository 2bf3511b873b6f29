"""The options of ``df.write.format("kafkasegment")``, checked before a task starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kafkaspec.broker.index_rules import INDEX_INTERVAL_BYTES
from kafkaspec.broker.profiles import DEFAULT_PROFILE
from kafkaspec.broker.settings import BATCH_BYTES, SEGMENT_BYTES
from kafkaspec.options import did_you_mean
from kafkaspec.spark.named import WriteNames
from kafkaspec.spark.parsing import OptionError, Table, lowered, parse, table_of
from kafkaspec.spark.paths import local

_OF_SPARK: Final = ("checkpointlocation", "querybatchid", "queryname")
"""Further options that Spark passes for a streaming query."""


@dataclass(frozen=True)
class WriteOptions:
    """How rows become partition directories; see ``kafkaspec.spark.named.WriteNames``.

    None for ``topic`` and ``partition`` takes the column, for ``keep_offsets`` asks whether there
    is one, and for ``magic`` takes that of the profile. ``path`` is local and absolute.
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


def _local(_: str, value: str) -> str:
    """Return a path of this machine, or of a file system that is mounted alike on all of them."""
    path = local(value)
    if path is None:
        raise OptionError(
            f"{value!r} cannot be written to: segments go to a local or mounted directory"
        )
    return os.path.abspath(path)


_TABLE: Final[Table] = {"path": ("path", _local)} | dict(table_of(WriteNames))
