"""``kafkaspec partitions``: which partitioner placed keys, and which keys are misplaced."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import click

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.cli.command import command, option
from kafkaspec.cli.console import TableColumn, count_text, iso, note, warn
from kafkaspec.cli.inputs import Inputs, place_text
from kafkaspec.cli.options import Codec, PathsOrUrls, TopicName, wrong_usage
from kafkaspec.cli.report import Output, Reporter, line
from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.partitions.fitting import Placement
from kafkaspec.log.partition import Partition
from kafkaspec.options import not_there
from kafkaspec.provider import require_pyarrow
from kafkaspec.results import Assumption
from kafkaspec.shown import printable

if TYPE_CHECKING:
    from kafkaspec.forensics.partitions import TopicKeys

_SHOWN = 20
"""Misplaced records in the text; JSON has all of them."""

_FITTING = "kafkaspec.forensics.partitions.fitting"
_TOPIC = {"topic": str}

OUTPUT = Output(
    fit=line(_TOPIC, {"count": int}, f"{_FITTING}:Fit"),
    partition=line(
        _TOPIC,
        f"{_FITTING}:Placement",
        file=str,
        changed_offset=int | None,
        changed_timestamp=int | None,
        before_change=int | None,
        without=("path", "growth"),
    ),
    misplaced=line(f"{_FITTING}:MISPLACED"),
    assumption=line(_TOPIC, Assumption),
    summary={"topics": int, "misplaced": int},
)
_EPILOG = """
Example, of a topic that has 12 partitions, some of which are here:
  kafkaspec partitions --topic orders --count 12 /var/kafka-logs

Exit codes: 0 every key is where its partitioner puts it, 1 findings: misplaced
keys, a change of the number of partitions, no partitioner that fits, or something
cannot be read, 2 wrong usage, or nothing in a PATH can be read.
"""


@command(OUTPUT, _EPILOG)
def partitions_command(
    report: Reporter,
    *,
    paths: PathsOrUrls,
    topic: TopicName,
    count: int | None = option(
        "Number of partitions of the topic; by default that of the metadata in the log "
        "directory, or the highest number here, and one.",
        type=click.IntRange(min=1),
        metavar="N",
    ),
    codec: Codec,
) -> None:
    """Say which partitioner the keys of each topic fit, and which keys are in another partition.

    Hashes are those of Kafka's Java clients (murmur2) and of librdkafka (murmur2, CRC32, FNV-1a).
    Where the number of partitions grew, the offset and time from which keys follow the new number
    are shown. A PATH is a log directory, or the directory of a partition. Kafka's own topics, whose
    partitions do not follow the keys of their records, are left out unless they are named.
    """
    with wrong_usage(ImportError):
        require_pyarrow()
        from kafkaspec.forensics.partitions import place_keys
    inputs = Inputs(paths, codec)
    counts: dict[str, int] = {}
    topics = set[str]()
    logs: dict[str, dict[int, Partition]] = defaultdict(dict)
    for _, log in inputs.logs():
        if not isinstance(log, Partition) or log.topic is None or log.partition is None:
            place = printable(str(log.path))
            raise click.UsageError(f"{place} is not the directory of a partition")
        inputs.read += 1
        if log.topic == Topic.CLUSTER_METADATA and count is None:
            counts.update(_counts(log))
        topics.add(log.topic)
        wanted = log.topic == topic if topic else not log.topic.startswith("__")
        if wanted:
            logs[log.topic].setdefault(log.partition, log)
    if topic is not None and topic not in logs and not inputs.failed:
        raise click.UsageError(not_there("topic", topic, topics))
    misplaced = 0
    for name, found in sorted(logs.items()):
        with wrong_usage(ValueError):
            known = counts.get(name, 0)
            if count is None and known > max(found):
                why = "from the metadata of the cluster"
                keys = place_keys(list(found.values()), count=known, why=why)
            else:
                keys = place_keys(list(found.values()), count=count)
        for error in keys.errors:
            inputs.cannot_decode(error)
        for log in found.values():
            inputs.report_missing(log, ends_only=True)
        inputs.findings += _is_wrong(keys)
        misplaced += len(keys.misplaced)
        _show(report, keys)
    report.finish(inputs, topics=len(logs), misplaced=misplaced)


def _counts(log: Partition) -> dict[str, int]:
    """Return the numbers of partitions of topics; none if the metadata cannot be read."""
    from kafkaspec.state.cluster import read_cluster
    from kafkaspec.state.image import ClusterKind

    try:
        image = read_cluster(log).image
    except KafkaSpecError as error:
        warn(f"{log.path}: the metadata are not used: {error.detail}")
        return {}
    counts: dict[str, int] = defaultdict(int)
    for topic_id, _ in image.items[ClusterKind.PARTITION]:
        name = image.topic_name(topic_id)
        if name is not None:
            counts[name] += 1
    return counts


def _is_wrong(keys: TopicKeys) -> bool:
    keyed = sum(item.keyed for item in keys.placements)
    if keys.best is None:
        return bool(keyed) and keys.count > 1
    return bool(len(keys.misplaced)) or any(item.growth for item in keys.placements)


_COLUMNS: Final[dict[str, TableColumn]] = {
    ">partition": "partition",
    ">with key": "keyed:,",
    ">without": "null_keys:,",
    ">empty": "empty_keys:,",
    ">in place": "fits:,",
    ">misplaced": "misplaced:,",
    "changed": lambda item: _changed(item),
}
_KNOWN: Final = (">in place", ">misplaced")
"""Columns of a topic whose partitioner is known."""


def _show(report: Reporter, keys: TopicKeys) -> None:
    topic = {"topic": keys.topic}
    for fit in keys.fits:
        report.line("fit", topic, {"count": keys.count}, fit)
    for item in keys.placements:
        growth = item.growth
        report.line(
            "partition",
            topic,
            item,
            file=item.path,
            changed_offset=growth and growth.offset,
            changed_timestamp=growth and growth.timestamp,
            before_change=growth and growth.records,
        )
    report.rows("misplaced", keys.misplaced)
    for each in keys.assumptions:
        report.line("assumption", topic, each)
    best = keys.best
    what = f"{keys.topic}, {count_text(keys.count, 'partition')} ({keys.assumptions[0].why})"
    if best is None:
        report.say(f"{what}: no partitioner is proven (unknown)")
    else:
        report.say(f"{what}: {', '.join(best.partitioners) or best.hash} ({best.strength})")
        if best.before is not None:
            report.say(f"  before, it had {count_text(best.before, 'partition')}")
    unknown: dict[str, TableColumn] = {} if best else dict.fromkeys(_KNOWN, lambda _: None)
    report.table(_COLUMNS | unknown, keys.placements, most=len(keys.placements))
    for row in keys.misplaced.slice(0, _SHOWN).to_pylist():
        place = f"{place_text(row)}, offset {row['offset']}"
        report.say(f"misplaced: {place}: belongs to partition {row['belongs']}")
    if len(keys.misplaced) > _SHOWN and not report.as_json:
        more = count_text(len(keys.misplaced) - _SHOWN, "more misplaced record")
        note(f"{more}; --format json has all")


def _changed(item: Placement) -> str:
    growth = item.growth
    if growth is None:
        return ""
    text = "not yet" if growth.offset is None else f"at offset {growth.offset}"
    return text + ("" if growth.timestamp is None else f", {iso(growth.timestamp)}")
