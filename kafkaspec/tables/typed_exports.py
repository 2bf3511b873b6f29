"""Export typed keys and values to a file, or to folders named as by Hive: ``day=2026-11-22``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import date, timedelta
from typing import Any, Final, Unpack
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.record_batches import AnyLog
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.options import DecodingOptions, Evolve
from kafkaspec.options import checked, explained
from kafkaspec.output.atomic import DirectoryAside
from kafkaspec.output.places import check_output
from kafkaspec.tables import FolderOptions, TableFormat
from kafkaspec.tables.exports import FILE_CHUNK, ExportTarget, FileOptions, opened_file
from kafkaspec.tables.writers import TableWriter, write_all, writer_of
from kafkaspec.values.fixed import CONNECT_CONFIG, topic_formats
from kafkaspec.values.options import DECODE
from kafkaspec.values.reading.batches import reader_of
from kafkaspec.values.reading.request import (
    SCHEMA_ID,
    ValueReport,
    is_internal,
)
from kafkaspec.values.registry.log import Schemas, registry_of


class TypedFileOptions(FileOptions, DecodingOptions, total=False):
    """Options of ``export_typed``: those of ``export``, and how keys and values are decoded."""

    jobs: int


@explained(FolderOptions)
@checked
def export_typed(
    log: AnyLog,
    output: ExportTarget,
    to: TableFormat,
    *,
    split_by: Sequence[str] = (),
    flatten: str | None = None,
    columns: Sequence[str] | None = None,
    schemas: Schemas = None,
    topic: str | None = None,
    value: str = DECODE,
    report: ValueReport | None = None,
    replace_existing: bool = False,
    progress: Callable[[str, int], None] | None = None,
    on_topic: Callable[[str, Exception], None] | None = None,
    **options: Unpack[TypedFileOptions],
) -> ValueReport:
    """Write records with typed keys and values to a file, or to files in folders.

    A row without a key or value stays, with a short code in ``value_error`` and ``key_error``,
    unless ``on_value_error`` says otherwise. A struct without fields, which Parquet does not have,
    becomes a boolean. Names that are equal but for case are numbered.

    Args:
        output: path of the file or, with ``split_by``, of the directory to write; or an open file.
        ...
        topic: the topic to export; by default all of them, if there are folders for them.
        report: is filled, see ``ValueReport``.
        on_topic: called with a topic that cannot be exported, and why; by default it is raised.
        log, to, replace_existing, progress: as ``export`` takes them; a directory has to be new.
        columns, schemas, value, options: see ``Columnar.to_typed``.

    Raises:
        ValueError: an option is none; a format cannot have a column.
        KafkaSpecError: as ``export``, and so are other errors.
    """
    report = ValueReport() if report is None else report
    check_splits(split_by, options.get("evolve"))
    options.setdefault("max_bytes", FILE_CHUNK)
    options.setdefault("header_keys", "strict")
    if to == "jsonl":
        options["header_keys"] = "string"
    request: dict[str, Any] = {
        "columns": columns,
        "schemas": schemas,
        "report": report,
        "value": value,
    } | options
    if not split_by:
        reader = reader_of(log, topic=topic, progress=progress, **request)
        with opened_file(output, log, replace_existing=replace_existing) as file:
            writer = writer_of(to, file, reader.schema, fitted=True, flatten=flatten)
            write_all(writer, reader, file)
        return report
    if not isinstance(output, str | os.PathLike):
        raise ValueError("folders need a directory, not an open file")
    if schemas is None and log.path is not None:
        request["schemas"] = registry_of(log, None)
    check_output(output, log)
    aside = DirectoryAside(output)
    try:
        for name in _topics(log, topic, split_by):
            request |= {"topic": name, "progress": progress, "also": columns_of(split_by)}
            request |= {"value": _value_format(name, topic, value, options)}
            try:
                reader = reader_of(log, **request)
                reader.check()
            except KafkaSpecError:
                raise
            except ValueError as error:
                if name is None or name == topic or on_topic is None:
                    raise
                on_topic(name, error)
                continue
            with closing(Folders(aside, to, split_by, flatten, reader.also)) as folders:
                for batch in reader:
                    folders.write(batch)
        aside.commit()
    finally:
        aside.discard()
    return report


def _value_format(name: str | None, asked: str | None, value: str, options: Any) -> str:
    """Return what the values of a topic are read as.

    With all topics of a directory come Connect's configurations, whose secrets nobody asked for.
    """
    formats = None if name is None or name == asked else topic_formats(name)
    if formats is not None and formats[1] == CONNECT_CONFIG and not options.get("secrets"):
        return CONNECT_CONFIG
    return value


def _topics(log: AnyLog, topic: str | None, split_by: Sequence[str]) -> Iterator[str | None]:
    """Yield the topics to export; None for the one of a log that is of one topic."""
    if topic is not None or not isinstance(log, LogDirectory) or TOPIC not in split_by:
        yield topic
        return
    yield from (name for name in log.topics if not is_internal(name))


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


def check_splits(split_by: Sequence[str], evolve: Evolve | None) -> None:
    """Refuse folders that there are not.

    Raises:
        ValueError: as it says.
    """
    wrong = [name for name in split_by if name not in SPLITS]
    if wrong or len(set(split_by)) < len(split_by):
        raise ValueError(f"folders are of {', '.join(SPLITS)}, each of them once")
    if evolve == "each" and SCHEMA not in split_by:
        raise ValueError("each schema has a separate file: split by schema")


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
