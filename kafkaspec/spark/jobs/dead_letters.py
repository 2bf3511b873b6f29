"""Dead letters of many logs, joined with the records that they are about: the job of ``dlq``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

import pyarrow as pa

from kafkaspec.arrow.schema import headers_type
from kafkaspec.forensics.dead_letters import DEAD_LETTERS, LETTERS, join_letters
from kafkaspec.forensics.dead_letters.letters import read_letters
from kafkaspec.forensics.dead_letters.sources import SourceLog, SourcePlace
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.options import TypedOptions
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.shown import some_of
from kafkaspec.spark.jobs.messages import local_path
from kafkaspec.spark.jobs.units import rows_of
from kafkaspec.spark.parsing import OptionError
from kafkaspec.spark.schema import spark_schema
from kafkaspec.tables.shapes import without_dictionaries

__all__ = ["dead_letters"]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafkaspec.spark.jobs.typed_letters import TypedLetters

_CONTENT: Final = [
    ("key", pa.binary()), ("value", pa.binary()), ("headers", headers_type("binary", "binary"))
]  # fmt: skip
_SOURCE: Final = ("source_topic", "source_partition", "source_offset")


def _plain(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_type(without_dictionaries(field.type)) for field in schema])


_ROWS: Final = pa.schema([*_plain(LETTERS), *_CONTENT])
_JOINED: Final = _plain(DEAD_LETTERS)


def dead_letters(
    spark: SparkSession,
    paths: str | Sequence[str],
    sources: str | Sequence[str] = (),
    *,
    tasks: int | None = None,
    **options: Unpack[TypedOptions],
) -> DataFrame:
    """Return the dead letters in logs, as ``DEAD_LETTERS`` has them.

    Segments are dealt to tasks; then letters about one partition go to one task, in the order of
    the offsets that they name, so that its log is read once from there on.

    Args:
        spark: a session whose workers have kafkaspec and see the same files.
        paths: log directories, partitions or segments in which letters are looked for.
        sources: log directories and partitions in which records are looked up, besides ``paths``.
        tasks: how many there are to be in the first step; three a slot by default.
        options: ``topic`` leaves only letters about one topic. With the others of
            ``Columnar.to_typed``, ``value``, ``schemas`` ..., the columns ``letter_record`` and
            ``source_record`` have the typed key and value of the letter, and of the record. All
            letters have to be about one topic then, which has one type.

    Raises:
        OptionError: an option of ``to_typed`` cannot be followed, or there are several topics.
        KafkaSpecError: ``unreadable``: a path cannot be opened; in a task, a batch with letters
            cannot be read. One with the record of a letter is the state ``unreadable``.
    """
    logs = list(_opened(paths))
    segments = [path for log in logs for path in _segments(log)]
    places = {
        (log.topic, log.partition): str(log.path)
        for log in [*_opened(sources), *logs]
        if isinstance(log, Partition) and log.topic is not None and log.partition is not None
    }
    sizes = [path.stat().st_size for path in segments]
    letters = rows_of(spark, segments, sizes, _letters, _ROWS, tasks)
    topic = options.pop("topic", None)
    if topic is not None:
        letters = letters.where(letters.source_topic == topic)
    typed, schema = None, _JOINED
    if options:
        topics = [topic] if topic is not None else [
            row.source_topic
            for row in letters.select("source_topic").distinct().dropna().collect()
        ]  # fmt: skip
        typed = _typed(sorted(topics), logs, places, options)
        for each in typed.fields:
            schema = schema.append(each)
    dealt = letters.repartition(*_SOURCE[:2]).sortWithinPartitions(*_SOURCE)
    return dealt.mapInArrow(partial(_join, places, typed), spark_schema(schema))


def _typed(
    topics: Sequence[str],
    logs: Sequence[Partition | Segment],
    places: Mapping[SourcePlace, str],
    options: Any,
) -> TypedLetters:
    from kafkaspec.spark.jobs.typed_letters import TypedLetters

    if len(topics) != 1:
        text = f"the letters are about {some_of(topics)}" if topics else "there are no letters"
        raise OptionError(f"typed keys and values are of one topic, and {text}: name one")
    with ExitStack() as stack:
        sources = [
            stack.enter_context(Partition(path))
            for (name, _), path in places.items()
            if name == topics[0]
        ]
        return TypedLetters(topics[0], logs, sources, options)


def _opened(paths: str | Sequence[str]) -> Iterator[Partition | Segment]:
    for path in [paths] if isinstance(paths, str) else paths:
        log = open_log(local_path(path))
        if isinstance(log, LogDirectory):
            yield from log.current
        else:
            yield log


def _segments(log: Partition | Segment) -> list[Path]:
    if isinstance(log, Partition):
        return list(log.segment_paths)
    return [] if log.path is None else [log.path]


def _letters(path: Path) -> Iterator[pa.RecordBatch]:
    with Segment(path) as segment:
        for letters, records in read_letters(segment, "raise"):
            columns = [*letters.columns, *(records[name] for name, _ in _CONTENT)]
            arrays = [column.cast(field.type) for column, field in zip(columns, _ROWS, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=_ROWS)


def _join(
    places: Mapping[SourcePlace, str],
    typed: TypedLetters | None,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    with ExitStack() as stack:
        opened: dict[SourcePlace, SourceLog] = {}
        for batch in batches:
            table = pa.Table.from_batches([batch]).select(LETTERS.names).cast(LETTERS)
            (letters,) = table.combine_chunks().to_batches()
            named = set(zip(*(batch[name].to_pylist() for name in _SOURCE[:2]), strict=True))
            for place in (named & places.keys()) - opened.keys():
                opened[place] = SourceLog(stack.enter_context(Partition(places[place])))
            joined = join_letters(letters, batch, opened).cast(_JOINED)
            if typed is not None:
                contents = typed.contents(letters, batch, opened)
                for field, column in zip(typed.fields, contents, strict=True):
                    joined = joined.append_column(field, column)
            yield from joined.to_batches()
