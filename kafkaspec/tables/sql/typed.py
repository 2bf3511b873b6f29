"""Views with typed keys and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from kafkaspec.arrow.record_batches import AnyLog
from kafkaspec.arrow.schema import Request
from kafkaspec.tables.sql.pushdown import Filter
from kafkaspec.tables.sql.topics import Scans, Topic
from kafkaspec.values.reading.batches import SideReader
from kafkaspec.values.reading.request import ValueReport, planned


class TypedTopic(Topic):
    """A topic whose keys and values are decoded."""

    def __init__(
        self,
        log: AnyLog,
        name: str | None,
        partitions: Sequence[int | None],
        columns: Sequence[str] | None,
        options: Mapping[str, Any],
        scans: Scans,
        decoding: Mapping[str, Any],
    ) -> None:
        own = {each: value for each, value in decoding.items() if each != "report"}
        self._decided = planned(log, **own | {"topic": name})
        self._plain = dict(options)
        self._asked: bool = decoding["report"].asked if "report" in decoding else True
        schema = self._reader(columns, None).schema
        names = [each for each in schema.names if each != "topic" or columns is not None]
        super().__init__(log, name, partitions, names, options, scans)
        self._show(schema)

    def _reader(self, columns: Sequence[str] | None, request: Request | None) -> SideReader:
        report = ValueReport(asked=self._asked)
        reader = SideReader(self._decided, columns=columns, report=report, **self._plain)
        if request is not None:
            self._scans.reports[self._name] = report
            if request.where is not None:
                where = request.where
                reader.request = where.narrowed(replace(reader.request, where=where))
        return reader

    def _read(self, request: Request, names: list[str], found: Filter) -> Iterator[pa.RecordBatch]:
        return iter(self._reader(names, request))
