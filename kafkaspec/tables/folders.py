"""Folders of files by topic, partition, day and schema, as Hive names them: ``day=2026-11-22``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import date, timedelta
from typing import Any, Final
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.output.atomic import DirectoryAside
from kafkaspec.tables import TableFormat
from kafkaspec.tables.writers import TableWriter, writer_of
from kafkaspec.values.reading.request import SCHEMA_ID

TOPIC: Final = "topic"
PARTITION: Final = "partition"
DAY: Final = "day"
SCHEMA: Final = "schema"
SPLITS: Final = (TOPIC, PARTITION, DAY, SCHEMA)
"""What folders can be named after."""

_COLUMNS: Final = {TOPIC: TOPIC, PARTITION: PARTITION, DAY: "timestamp"}
"""Columns that say it."""

NONE: Final = "__HIVE_DEFAULT_PARTITION__"
"""What Hive, Spark and Arrow name the folder of rows without a value."""

_MOST_OPEN: Final = 64
"""Files that are open at a time; each has its own buffers."""

_EPOCH: Final = date(1970, 1, 1)
_DAY_MS: Final = 24 * 60 * 60 * 1000


def columns_of(splits: Sequence[str]) -> list[str]:
    names = (SCHEMA_ID.format("value") if name == SCHEMA else _COLUMNS[name] for name in splits)
    return list(dict.fromkeys(names))


class Folders:
    def __init__(
        self,
        aside: DirectoryAside,
        to: TableFormat,
        splits: Sequence[str],
        flatten: str | None,
        hidden: Sequence[str],
    ) -> None:
        self._aside = aside
        self._to = to
        self._splits = splits
        self._flatten = flatten
        # A file does not repeat what the names of its folders say.
        self._hidden = {*hidden, *(name for name in splits if name in (TOPIC, PARTITION))}
        self._open: dict[tuple[str, pa.Schema], tuple[TableWriter, ExitStack]] = {}
        self._files: dict[str, int] = {}

    def write(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch, each into its folder."""
        for folder, rows in self._divided(batch):
            kept = rows.select([name for name in rows.schema.names if name not in self._hidden])
            self._writer(folder, kept.schema).write_batch(kept)

    def close(self) -> None:
        while self._open:
            self._close(next(iter(self._open)))

    def _divided(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        if not batch.num_rows:
            return
        shown: list[Callable[[int], str]] = []
        codes = np.zeros((batch.num_rows, len(self._splits)), np.int64)
        for place, name in enumerate(self._splits):
            codes[:, place], show = _coded(name, batch)
            shown.append(show)
        found, inverse = np.unique(codes, axis=0, return_inverse=True)
        for number, values in enumerate(found.tolist()):
            parts = zip(self._splits, shown, values, strict=True)
            folder = "/".join(f"{name}={show(value)}" for name, show, value in parts)
            chosen = np.flatnonzero(inverse.reshape(-1) == number)
            whole = len(chosen) == batch.num_rows
            yield folder, batch if whole else batch.take(pa.array(chosen))

    def _writer(self, folder: str, schema: pa.Schema) -> TableWriter:
        key = folder, schema
        if key in self._open:
            self._open[key] = self._open.pop(key)  # the last one used is the last one closed
            return self._open[key][0]
        if len(self._open) >= _MOST_OPEN:
            self._close(next(iter(self._open)))
        number = self._files[folder] = self._files.get(folder, -1) + 1
        with ExitStack() as stack:
            name = f"{folder}/part-{number:05}.{self._to}"
            file = stack.enter_context(self._aside.opened(name))
            writer = writer_of(self._to, file, schema, fitted=True, flatten=self._flatten)
            self._open[key] = writer, stack.pop_all()
        return writer

    def _close(self, key: tuple[str, pa.Schema]) -> None:
        writer, stack = self._open.pop(key)
        with stack:
            writer.close()


def _coded(name: str, batch: pa.RecordBatch) -> tuple[Any, Callable[[int], str]]:
    """Return a number for each row, and how numbers are shown; -1 or the least is none."""
    if name == TOPIC:
        column = batch.column(TOPIC)
        names = column.dictionary.to_pylist()
        codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return codes, lambda code: NONE if code < 0 else quote(names[code], safe="")
    if name == DAY:
        stamps = batch.column("timestamp").cast(pa.int64())
        days = pc.fill_null(
            pc.cast(pc.floor(pc.divide(pc.cast(stamps, pa.float64()), _DAY_MS)), pa.int64()),
            _NO_DAY,
        )
        return days.to_numpy(zero_copy_only=False), _day
    column = batch.column(columns_of([name])[0])
    codes = pc.fill_null(column, -1).to_numpy(zero_copy_only=False)
    return codes, lambda code: NONE if code < 0 else str(code)


_NO_DAY: Final = -(1 << 62)


def _day(number: int) -> str:
    if number == _NO_DAY:
        return NONE
    try:
        return (_EPOCH + timedelta(days=number)).isoformat()
    except OverflowError:
        return NONE
