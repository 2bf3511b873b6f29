"""A DuckDB in memory with views of topics, which touches neither files nor the network."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, count
from typing import Any, Final, Unpack

import duckdb
import pyarrow as pa

from kafkaspec.arrow.record_batches import AnyLog, partitions_of, place_of
from kafkaspec.arrow.schema import DEFAULT_COLUMNS
from kafkaspec.log.options import BatchOptions
from kafkaspec.log.segment import Segment
from kafkaspec.options import checked, explained
from kafkaspec.policy import OnError
from kafkaspec.tables import SessionOptions
from kafkaspec.tables.sql.batches import BATCHES, BatchView
from kafkaspec.tables.sql.topics import Scans, Topic

VIEW_COLUMNS: Final = ("partition", *DEFAULT_COLUMNS)
"""Columns of a view by default."""

MOST_CHARACTERS: Final = 1 << 20
MOST_DEPTH: Final = 200
"""Of parentheses and brackets."""

_MACROS: Final = (
    "CREATE MACRO text(bytes) AS try(decode(bytes))",
    "CREATE MACRO header(headers, name) AS "
    "list_filter(headers, lambda each: each.key = name)[-1].value",
)
_LOCKED: Final = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "TimeZone": "UTC",
}

_NO_TABLE: Final = re.compile(r"Table with name (.+?) does not exist")


class SqlError(ValueError):
    """DuckDB refuses a query."""


@explained(SessionOptions)
class Session:
    """Runs queries over the topics of a log.

    Attributes:
        scans: what queries have read.
        renamed: names of the views of topics whose names differ only by case, which DuckDB cannot
            tell apart: none of them has the name of a topic, and a query that uses one is refused.
        batches: name of the view of the headers of all batches: ``batches``, unless a topic has it.

    Args:
        log: the log.
        columns: names of the columns of each view.
        ...
        decoding: options of ``Columnar.to_typed``: ``value``, ``key``, ``schemas`` ... With them,
            topics that a query names have typed keys and values.
        on_unreadable: what happens with a partition that cannot be read at all.
        options: of ``Columnar.to_batches``: ranges, ``isolation``, ``on_error`` ...
    """

    @checked
    def __init__(
        self,
        log: AnyLog,
        *,
        columns: Sequence[str] | None = None,
        threads: int | None = None,
        memory: str | None = None,
        files: bool = False,
        decoding: Mapping[str, Any] | None = None,
        on_unreadable: OnError = "raise",
        **options: Unpack[BatchOptions],
    ) -> None:
        self.scans = Scans()
        self._connection = _connect(threads, memory, files)
        names = VIEW_COLUMNS if columns is None else columns
        reading: dict[str, Any] = {**options, "on_unreadable": on_unreadable}
        self._untyped: dict[str, tuple[str | None, list[int | None]]] = {}
        topics = _topics(log, on_unreadable)
        self.renamed, self.batches = _distinct(topics)
        for topic, partitions in topics.items():
            made = self.renamed.get(topic, topic)
            name = None if isinstance(log, Segment) else topic
            view = Topic(log, name, partitions, names, reading, self.scans)
            self._connection.register(made, view)
            if decoding is not None:
                self._untyped[made] = (name, partitions)
        self._connection.register(self.batches, BatchView(log, reading, self.scans))
        self._typed = (log, columns, reading, decoding)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @contextmanager
    def query(self, text: str) -> Iterator[pa.RecordBatchReader]:
        """Run a query, and read its result within the block.

        Raises:
            SqlError: DuckDB refuses it.
            KafkaSpecError: the log cannot be read.
        """
        _check(text)
        self._decode(text)
        try:
            relation = self._connection.sql(text)
            if relation is None:  # a statement without a result
                yield pa.RecordBatchReader.from_batches(pa.schema([]), iter(()))
                return
            read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
            yield read()
        except (duckdb.Error, pa.ArrowException) as error:
            if self.scans.errors:
                raise self.scans.errors[0] from None
            raise SqlError(self._ambiguous(error) or str(error)) from None

    def _ambiguous(self, error: Exception) -> str:
        """Return why a table is not there if several topics have its name; "" if none has."""
        found = _NO_TABLE.search(str(error))
        name = found[1] if found else ""
        views = [
            f'topic {topic} is the view "{made}"'
            for topic, made in self.renamed.items()
            if topic.casefold() == name.casefold()
        ]
        listed = ", ".join(views)
        return f'"{name}" is ambiguous, because SQL ignores case: {listed}' if views else ""

    def _decode(self, text: str) -> None:
        """Make typed views of the topics that a query names."""
        log, columns, options, decoding = self._typed
        for name in [each for each in self._untyped if each.casefold() in text.casefold()]:
            from kafkaspec.tables.sql.typed import TypedTopic

            topic, partitions = self._untyped.pop(name)
            assert decoding is not None
            view = TypedTopic(log, topic, partitions, columns, options, self.scans, decoding)
            try:
                self._connection.register(name, view)
            except duckdb.Error as error:
                raise SqlError(f"topic {topic}: {error}") from None


def _check(text: str) -> None:
    """Refuse a query that DuckDB's parser, which has no bounds, may never come to an end with."""
    if len(text) > MOST_CHARACTERS:
        raise SqlError(f"a query has {MOST_CHARACTERS} characters at most")
    depth = most = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        most = max(most, depth)
    if most > MOST_DEPTH:
        raise SqlError(f"a query is nested {MOST_DEPTH} deep at most")


def _connect(threads: int | None, memory: str | None, files: bool) -> Any:
    config: dict[str, Any] = {} if files else {"enable_external_access": "false"}
    if threads is not None:
        config["threads"] = threads
    if memory is not None:
        config["memory_limit"] = memory
    try:
        connection = duckdb.connect(config=config)
    except duckdb.Error as error:
        raise SqlError(str(error)) from None
    for name, value in _LOCKED.items():
        if not files or not name.startswith("auto"):
            connection.execute(f"SET {name} = '{value}'")
    for macro in _MACROS:
        connection.execute(macro)
    return connection


def _topics(log: AnyLog, on_unreadable: OnError) -> Mapping[str, list[int | None]]:
    """Return the numbers of partitions by topic."""
    if isinstance(log, Segment):
        place = place_of(log)
        return {place.topic or "log": [place.partition]}
    found: dict[str, list[int | None]] = {}
    for partition in partitions_of(log, on_unreadable):
        found.setdefault(partition.topic or "log", []).append(partition.partition)
    return found


def _distinct(topics: Iterable[str]) -> tuple[dict[str, str], str]:
    """Return numbered names for topics whose names differ only by case, and one for batches."""
    alike: dict[str, list[str]] = {}
    for topic in sorted(topics):
        alike.setdefault(topic.casefold(), []).append(topic)
    taken, made = set(alike), {}
    for same in alike.values():
        numbers = count(1)
        for topic in same if len(same) > 1 else ():
            made[topic] = _free((f"{topic}_{each}" for each in numbers), taken)
    batches = _free(chain((BATCHES,), (f"{BATCHES}_{each}" for each in count(1))), taken)
    return made, batches


def _free(names: Iterable[str], taken: set[str]) -> str:
    name = next(each for each in names if each.casefold() not in taken)
    taken.add(name.casefold())
    return name
