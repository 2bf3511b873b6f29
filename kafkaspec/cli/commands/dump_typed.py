"""Records with typed keys and values in ``dump``, and the search for them in ``find``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import click
import orjson
import pyarrow as pa

from kafkaspec.cli.console import iso
from kafkaspec.cli.inputs import Inputs
from kafkaspec.cli.options import wrong_usage
from kafkaspec.codecs import get_codec
from kafkaspec.columns.value_text import bytes_text, in_short
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.log.lookup import Found
from kafkaspec.log.options import LogStart
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.model import Buffer
from kafkaspec.options import not_there
from kafkaspec.shown import printable
from kafkaspec.tables.json_plan import json_lines
from kafkaspec.tables.json_values import json_values
from kafkaspec.values.framing.frames import SIDES
from kafkaspec.values.reading.batches import SideReader, reader_of
from kafkaspec.values.reading.request import ERROR, is_internal
from kafkaspec.values.registry.log import SchemaLog, registry_of

_Log = Segment | Partition


class Readers:
    """Opens logs for typed columns; schemas that lie beside several logs are read once.

    Args:
        options: of ``Columnar.to_typed``, for all logs.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._known: dict[Path | None, SchemaLog | None] = {}

    def reader(self, log: _Log, **options: Any) -> SideReader:
        """Return the reader of a log.

        Raises:
            KafkaSpecError: schemas cannot be read.
            click.UsageError: an option does not suit the log.
        """
        with wrong_usage(ValueError):
            schemas = self._schemas(log)
            reader = reader_of(log, **self._options | options | {"schemas": schemas})
            reader.check()
        return reader

    def _schemas(self, log: _Log) -> SchemaLog | None:
        given = self._options["schemas"]
        home = None
        if given is None and log.path is not None:
            place = log.path.absolute()
            home = place.parent.parent if isinstance(log, Segment) else place.parent
        if home not in self._known:
            self._known[home] = registry_of(log, given)
        return self._known[home]


def typed_lines(
    inputs: Inputs,
    options: dict[str, Any],
    chosen: dict[str, Any],
    *,
    as_json: bool,
    limit: int | None,
) -> Iterator[str | Buffer]:
    """Yield the lines of records with typed keys and values; control records are left out.

    Args:
        inputs: what is read.
        options: of ``Columnar.to_typed``, as ``taken`` returns them.
        chosen: ranges, and what happens with what cannot be read.
        as_json: whether lines are JSON.
        limit: maximum number of records.

    Raises:
        click.UsageError: nothing is of the topic in ``options``, or an option does not suit a log.
    """
    readers = Readers(options)
    topic = options["topic"]
    core = get_codec().core
    left = limit
    topics = set[str]()
    for name, log in inputs.logs():
        own = log.topic if isinstance(log, Partition) else None
        topics.add(own or topic or "")
        if own is not None and (own != topic if topic is not None else is_internal(own)):
            inputs.read += 1
            continue
        try:
            reader = readers.reader(log, **chosen)
            if not as_json:
                yield f"{printable(name)}\n"
            for batch in reader:
                shown = batch if left is None else batch.slice(0, left)
                left = None if left is None else left - shown.num_rows
                if as_json:
                    yield from json_lines(core, shown, compact=True)
                else:
                    yield "".join(_text_lines(shown))
                if left == 0:
                    break
        except KafkaSpecError as error:
            inputs.cannot_read(error)
        inputs.read += 1
        if left == 0:
            return
        inputs.report_missing(log)
    if topic is not None and topic not in topics and not inputs.failed:
        raise click.UsageError(not_there("topic", topic, topics))


def _text_lines(batch: pa.RecordBatch) -> Iterator[str]:
    columns: list[list[Any]] = [
        batch.column("offset").to_pylist(),
        batch.column("timestamp").cast(pa.int64()).to_pylist(),
        *(shown_column(batch.column(side)) for side in SIDES),
        *(errors_of(batch, side) for side in SIDES),
    ]
    for offset, timestamp, key, value, *errors in zip(*columns, strict=True):
        wrong = "".join(f"  ({error})" for error in errors if error is not None)
        time = iso(NO_TIMESTAMP if timestamp is None else timestamp)
        yield f"{offset:>10}  {time:24}  {key}  {value}{wrong}\n"


def errors_of(batch: pa.RecordBatch, side: str) -> list[str | None]:
    """Return why rows have no key or value, None for the others."""
    name = ERROR.format(side)
    if name in batch.schema.names:
        return list(batch.column(name).to_pylist())
    return [None] * batch.num_rows


def shown_column(column: pa.Array) -> list[str]:
    """Return typed keys or values as text."""
    if pa.types.is_binary(column.type):
        return [bytes_text(data) for data in column.to_pylist()]
    return [in_short(orjson.dumps(item).decode()) for item in json_values(column)]


def find_typed(
    log: _Log,
    text: str,
    options: dict[str, Any],
    *,
    log_start: LogStart,
    on_error: Callable[[KafkaSpecError], None],
    every: bool,
) -> Iterator[Found]:
    """Yield the records for which a condition on typed keys and values is true, in order.

    Args:
        log: where to search.
        text: the condition.
        options: of ``Columnar.to_typed``.
        log_start: see ``LogStart``.
        on_error: is called for a batch that cannot be read.
        every: whether all of them are wanted; otherwise the first.

    Raises:
        KafkaSpecError: the log, or schemas, cannot be read.
    """
    found = Readers(options).reader(
        log, columns=["offset"], where=text, log_start=log_start, on_error=on_error
    )
    offsets = (offset for batch in found for offset in batch.column("offset").to_pylist())
    for offset in offsets if every else islice(offsets, 1):
        yield replace(log.find(offset=offset), how="where")
