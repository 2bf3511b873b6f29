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
    topic = _topic_in(path.absolute().parent)
    return topic if topic in set(Topic) else None


def another_topic(log: Path | None, topic: str, *, segment: bool) -> str | None:
    """Return the topic that a log is of if that is not a certain one, by the name of its directory.

    Args:
        log: path of the log, None for one in memory.
        topic: the certain one.
        segment: whether the log is a segment; otherwise it is the directory of a partition.
    """
    if log is None or (segment and topic_of(log) == topic):
        return None
    home = log.absolute()
    own = _topic_in(home.parent if segment else home)
    return None if own == topic else own


def _topic_in(directory: Path) -> str | None:
    parsed = names.parse_partition(directory.name)
    return None if parsed is None else parsed.topic
