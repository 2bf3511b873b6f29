"""Some rows of a log, which show how all of them are framed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from kafkaspec.arrow.reading import Log, record_batches
from kafkaspec.arrow.schema import request_of
from kafkaspec.log.directory import LogDirectory
from kafkaspec.values.framing.frames import Side

SAMPLE_ROWS: Final = 1000
"""Rows of a partition that show how it is framed."""


_SAMPLE_BYTES: Final = 1 << 20


_MOST_PARTITIONS: Final = 16


@dataclass(frozen=True, slots=True)
class Sample:
    """Some rows of a log.

    Attributes:
        values: keys or values, ``binary``.
        headers: their headers, None if they are not known.
    """

    values: pa.Array
    headers: pa.Array | None


Source = Log | Sequence[Sample]
"""A log, or all rows of it."""


def rows_of(log: Source, side: Side, *, sample: bool) -> Iterator[Sample]:
    """Yield keys or values with their headers: all of a log, or some of each partition."""
    if isinstance(log, Sequence):
        for rows in log:
            yield Sample(rows.values.slice(0, SAMPLE_ROWS), None) if sample else rows
        return
    options: dict[str, Any] = {"layout": "binary", "on_error": _ignore, "on_unreadable": _ignore}
    if sample:
        options["max_bytes"] = _SAMPLE_BYTES
    request = request_of((side, "headers"), None, **options)
    logs = log.current[:_MOST_PARTITIONS] if sample and isinstance(log, LogDirectory) else [log]
    for each in logs:
        for batch in record_batches(each, request):
            columns = (batch.column(place) for place in range(2))
            if not sample:
                yield Sample(*columns)
                continue
            yield Sample(*(column.slice(0, SAMPLE_ROWS) for column in columns))
            break


def _ignore(error: Exception) -> None:
    """Ignore an error: it is reported later, when the log is read as a whole."""
