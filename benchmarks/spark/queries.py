"""The timed queries: a query on one source, wall time, all sources of a query in turns."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.timing import Candidate, Times, measure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SECONDS = 45.0

Query = Callable[["DataFrame"], object]

NOOP, COUNT, AGGREGATE = "scan", "count", "aggregate"
HEADERS = "count by headers"
NARROW, WRITE = "narrow scan", "write to Parquet"
LAKE = "tables of a lake"


def noop(rows: DataFrame) -> None:
    """Every value of every column becomes a row of Spark, and is dropped."""
    rows.write.format("noop").mode("overwrite").save()


def count(rows: DataFrame) -> int:
    """Count rows."""
    return int(rows.count())


def count_by_headers(rows: DataFrame) -> int:
    """Count records: add up those of batches, where a row is a batch."""
    if "records" not in rows.columns:
        return int(rows.count())
    return int(rows.agg({"records": "sum"}).collect()[0][0])


def aggregate(rows: DataFrame) -> object:
    """Of two columns."""
    return rows.selectExpr("sum(length(value))", "max(offset)").collect()


def narrow(rows: DataFrame) -> object:
    """Of two small columns."""
    return rows.selectExpr("max(offset)", "max(timestamp)").collect()


def to_parquet(target: Path) -> Query:
    """Write them as Parquet."""

    def write(rows: DataFrame) -> None:
        shutil.rmtree(target, ignore_errors=True)
        rows.write.parquet(str(target))

    return write


def call(job: Callable[[], object]) -> None:
    """Run a job that is not a query on rows."""
    job()


@dataclass
class Timed:
    """A query on a source, which is opened again each time.

    Attributes:
        source: makes the DataFrame.
        query: what is asked.
        records: rows of the source.
        seconds: wall time of the last run.
    """

    source: Callable[[], Any]
    query: Callable[[Any], object]
    records: int
    seconds: float = field(default=0.0, init=False)

    def run(self) -> int:
        """Time it once."""
        before = time.perf_counter()
        self.query(self.source())
        self.seconds = time.perf_counter() - before
        return self.records


def in_turns(
    query: Callable[[Any], object],
    sources: Mapping[str, Callable[[], Any]],
    records: int,
    rounds: int,
) -> Times:
    """The same query on all sources, in turns; no round begins after a time."""
    candidates = []
    for name, source in sources.items():
        timed = Timed(source, query, records)
        candidates.append(Candidate(name, timed.run, records, partial(getattr, timed, "seconds")))
    return measure(candidates, rounds, _SECONDS)
