"""A view of the headers of batches: counts, sizes and times without a payload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from kafkaspec.arrow.record_batches import BATCH_ROWS, AnyLog, batch_row_batches
from kafkaspec.arrow.schema import Request
from kafkaspec.log.segment import Segment
from kafkaspec.tables.sql.pushdown import Filter
from kafkaspec.tables.sql.topics import Scans, Topic, is_at

BATCHES: Final = "batches"
"""Name of the view."""


class BatchView(Topic):
    """A row for each batch of all topics."""

    _timestamps = frozenset(item.name for item in BATCH_ROWS if pa.types.is_timestamp(item.type))

    def __init__(self, log: AnyLog, options: Mapping[str, Any], scans: Scans) -> None:
        super().__init__(log, None, (), BATCH_ROWS.names, options, scans)
        self._show(BATCH_ROWS)

    def _request(self, columns: Sequence[str]) -> Request:
        request = super()._request(columns)
        if request.isolation == "read_committed" or request.by_timestamp or request.where:
            raise ValueError(
                "headers of batches do not say which records are committed, their times and"
                " contents: ask without isolation, times and conditions on records"
            )
        return request

    def _narrowed(self, request: Request, found: Filter) -> Request:
        """Return a request for the offsets that the last one of a batch may have."""
        low, high = found.range("last_offset")
        starts = [each for each in (low, request.start_offset) if each is not None]
        ends = [each for each in (high, request.end_offset) if each is not None]
        return replace(
            request,
            start_offset=max(starts, default=None),
            end_offset=min(ends, default=None),
        )

    def _note(self, request: Request) -> None:
        if isinstance(self._log, Segment):  # of a partition, when it is read
            super()._note(request)

    def _read(self, request: Request, names: list[str], found: Filter) -> Iterator[pa.RecordBatch]:
        def may_be_in(topic: str | None, partition: int | None) -> bool:
            held = found.may_hold(is_at("topic", topic) & is_at("partition", partition))
            if held:
                self._scans.requests.append((topic, request))
            return held

        return batch_row_batches(self._log, request, names, may_be_in)
