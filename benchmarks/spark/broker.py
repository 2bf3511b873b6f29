"""The same partition on a real broker on the loopback, for Spark's own Kafka source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.spark.sources import TOPIC, Rows
from tools.brokers.versions import by_name
from tools.kafka.serving import Template

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KAFKA = by_name("4.3.1")


@contextmanager
def served(rows: Rows, work: Path, tasks: int) -> Iterator[Callable[[SparkSession], DataFrame]]:
    """Start a broker that has the partition; yield a reader of the topic.

    Args:
        rows: whose log directory it gets.
        work: for its files.
        tasks: into how many Spark is to cut the partition: as many as we do.

    Raises:
        ToolError: there is no Java or Maven, or the broker does not start.
    """
    work.mkdir()
    template = Template(KAFKA, work, [TOPIC], {"retention.ms": "-1"})
    template.place([(TOPIC, rows.logs / f"{TOPIC}-0")], clean=True)

    def read(spark: SparkSession) -> DataFrame:
        reader = spark.read.format("kafka")
        reader = reader.option("kafka.bootstrap.servers", template.bootstrap)
        reader = reader.option("subscribe", TOPIC).option("minPartitions", tasks)
        return reader.option("startingOffsets", "earliest").load()

    with template.running():
        yield read
