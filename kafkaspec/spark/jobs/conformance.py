"""Decode each batch with two or more codecs in the workers; each difference is a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kafkaspec.analysis.compare import content_of, describe_error, error_key
from kafkaspec.analysis.parts import WHOLE, Span, spans_of
from kafkaspec.codecs import codec_names
from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.remote import address, as_path
from kafkaspec.log.batch import Batch
from kafkaspec.log.opening import open_log
from kafkaspec.log.segment import Segment
from kafkaspec.shown import without_credentials
from kafkaspec.spark.jobs.units import rows_of, size_of
from kafkaspec.spark.paths import find_logs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPLIT_BYTES: Final = 64 << 20
"""Larger segments are compared in parts of about this size, since some codecs are slow."""

MAX_DIFFERENCES: Final = 20
"""Most rows for the differences of a batch; the row of its part counts all of them."""

_MOST_TEXT: Final = 200

_SCHEMA: Final = pa.schema(
    [(name, pa.string()) for name in ("kind", "topic")]
    + [("partition", pa.int32()), ("file", pa.string())]
    + [(name, pa.int64()) for name in ("position", "offset")]
    + [(name, pa.string()) for name in ("path", "codec", "value", "other_codec", "other_value")]
    + [(name, pa.int64()) for name in ("start", "batches", "records", "refused", "differences")]
)
DIFFERENCES: Final = pa.schema([_SCHEMA.field(number) for number in range(1, 11)])
"""Columns of differences."""
_DIFFERENCE: Final = DIFFERENCES.names
_PART: Final = ("topic", "partition", "file", *_SCHEMA.names[11:])


@dataclass(frozen=True)
class Part:
    """The work of one call of a task."""

    path: str
    topic: str | None
    partition: int | None
    span: Span
    codecs: tuple[str, ...]


@dataclass
class Conformance:
    """The result of ``conformance``.

    Attributes:
        codecs: names of those that were compared; the first is the one the others are held to.
        differences: file, position and offset of a batch, path of the field, both values.
        parts: a row for each part of a segment: batches and records that all codecs read,
            batches that the first one refused, number of differences.
    """

    codecs: tuple[str, ...]
    differences: DataFrame
    parts: DataFrame


def conformance(
    spark: SparkSession,
    paths: str | Sequence[str],
    *,
    codecs: Sequence[str] | None = None,
    split_bytes: int = SPLIT_BYTES,
    tasks: int | None = None,
) -> Conformance:
    """Let several codecs read the same batches, and compare field by field.

    Args:
        spark: a session whose workers have kafkaspec and see the same files.
        paths: segments, partition directories, log directories, globs or URLs.
        codecs: names, two at least; all that are installed here by default.
        split_bytes: a larger segment is compared in parts.
        tasks: how many there are to be; three a slot by default.

    Raises:
        KafkaSpecError: ``unreadable``: there is nothing under a path.
        ValueError: fewer than two codecs.
    """
    chosen = tuple(codecs or codec_names())
    if len(set(chosen)) < 2:
        raise ValueError("a comparison needs two codecs at least")
    units, sizes = [], []
    for log in find_logs(paths):
        for item in log.segments:
            # For a URL, the index of each segment would be fetched here: these segments stay whole.
            local = "://" not in str(item.path)
            spans = spans_of(item.path, split_bytes) if local else [WHOLE]
            for span in spans:
                units.append(Part(address(item.path), log.topic, log.partition, span, chosen))
                sizes.append(size_of(item) // len(spans))
    found = rows_of(spark, units, sizes, compare, _SCHEMA, tasks).persist()
    return Conformance(
        chosen,
        found.where("kind = 'difference'").select(*_DIFFERENCE),
        found.where("kind = 'part'").select(*_PART),
    )


def compare(part: Part) -> Iterator[pa.RecordBatch]:
    """Yield the differences in a part, and a row about all of it; in a task."""
    place = {
        "topic": part.topic,
        "partition": part.partition,
        "file": without_credentials(part.path),
    }
    total: dict[str, Any] = dict.fromkeys(("batches", "records", "refused", "differences"), 0)
    rows: list[dict[str, Any]] = []
    for item, found in _compared(part, total):
        total["differences"] += len(found)
        for path, codec, value, other in found[:MAX_DIFFERENCES]:
            values = {"path": path, "codec": part.codecs[0], "other_codec": codec}
            values |= {"value": _text(value), "other_value": _text(other)}
            rows.append({"kind": "difference", **place, **_where(item), **values})
        if len(rows) >= 1000:
            yield pa.RecordBatch.from_pylist(rows, _SCHEMA)
            rows = []
    rows.append({"kind": "part", **place, "start": part.span.start, **total})
    yield pa.RecordBatch.from_pylist(rows, _SCHEMA)


Difference = tuple[str, str, Any, Any]
"""Path of the field, name of the other codec, value of the first codec and of the other."""


def _compared(
    part: Part, total: dict[str, Any]
) -> Iterator[tuple[Batch | KafkaSpecError | None, list[Difference]]]:
    with ExitStack() as stack:
        scans = []
        for codec in part.codecs:
            try:
                opened = open_log(as_path(part.path), codec=codec, mapped=False)
            except KafkaSpecError as error:
                yield error, [("", codec, error, "not opened")]
                return
            assert isinstance(opened, Segment)
            scans.append(stack.enter_context(opened).scan(part.span.start))
        for items in zip_longest(*scans):
            first = items[0]
            if part.span.end is not None and _position(first) >= part.span.end:
                return
            if isinstance(first, Batch):
                total["batches"] += 1
                content = content_of(first)
                if isinstance(content, KafkaSpecError):
                    total["refused"] += 1
                else:
                    total["records"] += len(content)
            else:
                content = None
                total["refused"] += first is not None
            found = []
            for codec, other in zip(part.codecs[1:], items[1:], strict=True):
                for path, one, its in islice(_items(first, content, other), 1000):
                    found.append((path, codec, one, its))
            yield first, found


def _position(item: Batch | KafkaSpecError | None) -> int:
    if isinstance(item, Batch):
        return item.position
    return -1 if item is None or item.position is None else item.position


def _items(first: Any, content: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    if not isinstance(first, Batch) or not isinstance(other, Batch):
        if not _same_error(first, other):
            yield "", first, other
        return
    if (first.position, first.size) != (other.position, other.size):
        yield "", (first.position, first.size), (other.position, other.size)
    yield from differences(first.message, other.message, "")
    theirs = content_of(other)
    if isinstance(content, KafkaSpecError) or isinstance(theirs, KafkaSpecError):
        if not _same_error(content, theirs):
            yield "records", content, theirs
        return
    if content != theirs:
        yield from differences(list(content), list(theirs), "records")


def _same_error(one: Any, other: Any) -> bool:
    if isinstance(one, KafkaSpecError) and isinstance(other, KafkaSpecError):
        return error_key(one) == error_key(other)
    return one is None and other is None


def differences(one: Any, other: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the paths of the fields in which two values differ, and both values."""
    if is_dataclass(one) and type(one) is type(other):
        for field in fields(one):
            if field.compare:
                inner = f"{path}/{field.name}" if path else field.name
                yield from differences(
                    getattr(one, field.name, None), getattr(other, field.name, None), inner
                )
    elif hasattr(one, "_fields") and hasattr(other, "_fields"):
        for name in one._fields:
            yield from differences(getattr(one, name), getattr(other, name), f"{path}/{name}")
    elif isinstance(one, list) and isinstance(other, list):
        for number, (mine, its) in enumerate(zip_longest(one, other)):
            if mine != its:
                yield from differences(mine, its, f"{path}/{number}")
    elif one != other:
        yield path, one, other


def _where(item: Batch | KafkaSpecError | None) -> dict[str, Any]:
    if isinstance(item, Batch):
        return {"position": item.position, "offset": item.last_offset}
    return {"position": None if item is None else item.position}


def _text(value: Any) -> str:
    if isinstance(value, KafkaSpecError):
        text = describe_error(value)
    elif isinstance(value, Batch):
        text = f"a batch of {value.size} bytes at {value.position}"
    elif isinstance(value, bytes | bytearray | memoryview):
        text = f"{len(value)} bytes: {bytes(value[:_MOST_TEXT]).hex(' ')}"
    else:
        text = "nothing" if value is None else repr(value)
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}..."
