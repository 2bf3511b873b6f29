"""The progress of streaming queries: a row of each micro-batch, and a file of metrics."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from kafkaspec.output.metrics import write_metrics
from kafkaspec.spark.stream_reader import SegmentStreamReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COUNTS: Final = ("rows", "bytes", "damaged")
"""What ``kafkaspec.spark.observe`` counts."""

_SCHEMA: Final = (
    "query string, runId string, batchId bigint, timestamp timestamp, durationMs bigint, "
    + ", ".join(f"{name} bigint" for name in COUNTS)
    + ", lag map<string,bigint>"
)


def lag_of(progress: StreamingQueryProgress) -> dict[str, int]:
    """Return the number of offsets to the end of each topic-partition."""
    found: dict[str, int] = {}
    for source in json.loads(progress.json)["sources"]:
        found |= SegmentStreamReader.lag(source["endOffset"], source.get("latestOffset"))
    return found


def counts_of(progress: StreamingQueryProgress, name: str) -> dict[str, int | None]:
    """Return what was counted under a name; None where nothing was."""
    found = progress.observedMetrics.get(name)
    return {each: None if found is None else found[each] for each in COUNTS}


def table_of(
    spark: SparkSession, progress: Iterable[StreamingQueryProgress], name: str
) -> DataFrame:
    """Return a row for each micro-batch."""
    rows = [
        (
            each.name,
            str(each.runId),
            each.batchId,
            datetime.fromisoformat(each.timestamp),
            each.durationMs.get("triggerExecution"),
            *counts_of(each, name).values(),
            lag_of(each),
        )
        for each in progress
    ]
    return spark.createDataFrame(rows, _SCHEMA)


class MetricsListener(StreamingQueryListener):
    """Writes a file of metrics after each micro-batch.

    Attributes:
        file: is replaced when a new one is whole.
        totals: of all micro-batches since the listener was added.
    """

    def __init__(self, file: Path, name: str, query: str | None) -> None:
        """Take where counts stand, and the name of the query; None for all."""
        self.file = file
        self.totals: Counter[str] = Counter(dict.fromkeys((*COUNTS, "batches"), 0))
        self._lag: dict[str, dict[str, int]] = {}
        self._name = name
        self._query = query

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Add what was counted, and write the file."""
        progress = event.progress
        if self._query not in (None, progress.name):
            return
        counts = counts_of(progress, self._name)
        self.totals.update({each: count or 0 for each, count in counts.items()})
        self.totals["batches"] += 1
        self._lag[str(progress.runId)] = lag_of(progress)
        lag: Counter[str] = Counter()
        for each in self._lag.values():
            lag.update(each)
        summary: dict[str, Any] = {"command": "spark_stream", **self.totals, "lag": lag}
        write_metrics(self.file, summary)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Nothing is written before a micro-batch is done."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Nothing has changed."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Forget the lag of a query that has ended."""
        self._lag.pop(str(event.runId), None)
