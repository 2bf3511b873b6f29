"""Which files are logs of Kafka's own topics; imported by commands for any log."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.files import names


def topic_of(file: str | PathLike[str]) -> str | None:
    """Return the topic whose records hold messages that a log file is of, None for other files.

    It is in the name of the directory; a KRaft snapshot is of ``__cluster_metadata`` anywhere.
    """
    path = Path(file)
    if names.is_log(path.name) and path.suffix == names.CHECKPOINT:
        return Topic.CLUSTER_METADATA
    parsed = names.parse_partition(path.absolute().parent.name)
    return parsed.topic if parsed is not None and parsed.topic in set(Topic) else None
