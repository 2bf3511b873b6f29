"""Partitions that are written through Spark, for real brokers to load.

The writers are called as Spark calls them, in tasks and a commit; ``tests/spark`` has them with
Spark.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import kafkaspec as ks
from kafkaspec.scenarios.partition import INDEX_INTERVAL_BYTES
from tests.spark.writing import rows, without, write
from tools.brokers.versions import Version

FIRST = 40
COUNT = 900


def given(first: int, last: int, magic: int, *, step: int = 1) -> pa.RecordBatch:
    """Rows with what there is room for in this magic."""
    batch = rows("any", 0, range(first, last, step), size=40)
    return batch if magic else without(batch, "timestamp")


def wanted(offsets: range, magic: int, *, moved: int = 0) -> list[ks.Record]:
    """The records that a consumer gets of ``rows``."""
    return [
        ks.Record(at + moved, at if magic else -1, b"%d" % at if at % 3 else None, b"%40d" % at, ())
        for at in offsets
    ]


def partitions(version: Version, target: Path) -> dict[str, tuple[Path, list[ks.Record]]]:
    """Write them; return by topic the directory and what a consumer must get of it."""
    magic = 2 if version.release >= (0, 11) else 1 if version.release >= (0, 10) else 0
    topics = {}
    for codec in version.codecs:
        if codec == "zstd" and magic < 2:
            continue
        options = {
            "profile": version.name, "compression": codec, "segmentBytes": 9000, "batchSize": 700,
            "leaderEpoch": 0, "indexIntervalBytes": INDEX_INTERVAL_BYTES,
        }  # fmt: skip
        bounds = [(FIRST, 300), (300, 310), (310, COUNT)]
        tasks = [[given(first, last, magic)] for first, last in reversed(bounds)]
        topic = f"kept-{codec}"
        write(target / topic, tasks, topic=topic, **options)
        topics[topic] = target / topic / f"{topic}-0", wanted(range(FIRST, COUNT), magic)

        topic = f"gaps-{codec}"
        gaps = [[given(at, at + 300, magic, step=7)] for at in (0, 301, 602)]
        write(target / topic, gaps, topic=topic, allowGaps=True, **options)
        expected = [item for at in (0, 301, 602) for item in wanted(range(at, at + 300, 7), magic)]
        topics[topic] = target / topic / f"{topic}-0", expected

        if magic or codec == "none":
            topic = f"assigned-{codec}"
            for first, last in ((0, 400), (400, COUNT)):
                middle = (first + last) // 2
                parts = [
                    [without(given(at, end, magic), "offset")]
                    for at, end in ((first, middle), (middle, last))
                ]
                write(target / topic, parts, topic=topic, **options)
            topics[topic] = target / topic / f"{topic}-0", wanted(range(COUNT), magic)
    return topics
