"""Segments to the tables of a lake, each increment in one commit of each table.

Tasks read segments and write Parquet files; the driver, without Spark, says what is new, and
commits. See ``kafkaspec.lake`` for what the tables have.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa

from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.jobs import cores
from kafkaspec.lake.base import Lake
from kafkaspec.lake.epochs import EPOCHS, commit, newest, write_manifest
from kafkaspec.lake.evolution import fitted
from kafkaspec.lake.iceberg import CATALOG
from kafkaspec.lake.increments import (
    Increment,
    LakePlace,
    LakeState,
    NewSegment,
    cut_segments,
    plan_increment,
    planned_here,
    progress_of,
    states_of,
)
from kafkaspec.lake.manifest import Manifest, Mark
from kafkaspec.lake.options import LakeFormat, LakeOptions
from kafkaspec.lake.parquet import LakeWriter
from kafkaspec.lake.results import LakeIncrement, LakeLoss, LakeReport, LakeStatus
from kafkaspec.lake.schema import FOLDERS, PROGRESS, PROGRESS_SCHEMA, SCHEMAS, TYPED
from kafkaspec.lake.store import Store
from kafkaspec.lake.tables import open_lake
from kafkaspec.lake.units import LakeSettings, UnitResult, write_units
from kafkaspec.lazy import uncollected
from kafkaspec.log.cuts import too_large
from kafkaspec.log.listed import TopicLog
from kafkaspec.options import not_there
from kafkaspec.policy import OnLoss
from kafkaspec.shown import some_of, without_credentials
from kafkaspec.spark.jobs.units import ROUNDS, computed, dealt, slots_of, told
from kafkaspec.spark.parsing import OptionError, size
from kafkaspec.spark.paths import check_place, find_logs, plain

__all__ = ["LakeAsked", "LakeJob", "fill", "fill_batches"]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafkaspec.lake.typed_rows import Plans

HAND_BYTES: Final = 16 << 20
"""Least bytes of a task, as long as there are enough: each task writes its own files."""
HAND_FILES: Final = 256
"""Least files of which a task reads the ends; fewer than four times as many are read here."""
_PIECES: Final = 4
"""Pieces of a task, as far as large segments are cut: more even out better."""
_CUT_BYTES: Final = 1 << 20
"""Bytes of a segment that cost as much to cut as a file whose end is read."""
CORE_SECONDS: Final = 5.6
"""Seconds of one core for a GiB of segments, as measured: to read it, and to write Parquet."""
_COUNTED: Final = ("rows", "batches", "dead", "lost")


@dataclass(frozen=True, slots=True)
class LakeAsked:
    """The options of a lake, with their defaults; see ``LakeOptions``."""

    to: LakeFormat | None = None
    catalog: Mapping[str, str] | None = None
    topics: Sequence[str] | str | None = None
    value: str | None = None
    key: str | None = None
    schemas: str | None = None
    evolve: Literal["latest"] | int = "latest"
    exact: bool = False
    max_segments: int | None = None
    file_size: int | str = "512m"
    active: bool = False
    on_loss: OnLoss = "stop"

    def __post_init__(self) -> None:
        """Check what the types do not say.

        Raises:
            OptionError: an option has another value.
            SchemaError: so has ``value`` or ``key``.
        """
        given = [name for name in (self.value, self.key) if name is not None]
        if given:
            from kafkaspec.values.fixed import check_format

            for name in given:
                check_format(name)
        if self.max_segments is not None and self.max_segments < 1:
            raise OptionError(f"max_segments is 1 or more, not {self.max_segments}")
        _ = self.file_bytes

    @property
    def file_bytes(self) -> int:
        """``file_size`` in bytes."""
        return size("file_size", str(self.file_size))


@dataclass(frozen=True)
class LakeSource:
    """The logs of a lake, listed each time.

    Attributes:
        paths: what is read.
        topics: names; None for all.
    """

    paths: tuple[str, ...]
    topics: frozenset[str] | None = None

    def logs(self) -> list[TopicLog]:
        """Return the logs that are there now, from their first segments.

        Raises:
            KafkaSpecError: ``unreadable``: there is nothing under a path.
            OptionError: a topic is not there.
        """
        found = find_logs(self.paths, log_start=False)
        if not any(log.segments for log in found):
            places = without_credentials(", ".join(self.paths))
            raise unreadable(places, "there is no segment here")
        if self.topics is None:
            return found
        there = {log.topic for log in found if log.topic is not None}
        for topic in sorted(self.topics - there):
            raise OptionError(not_there("topic", topic, there))
        return [log for log in found if log.topic in self.topics]


def state_of(lake: Lake, mark: Mark | None) -> dict[LakePlace, LakeState]:
    """Return what a lake has of each partition after an increment."""
    if mark is None:
        return {}
    names = [name for name in PROGRESS_SCHEMA.names if name not in ("batches", "rows", "dead")]
    # Another run may have committed since; then the commit of this one is refused.
    return states_of(lake.table(PROGRESS).scan(names, [("epoch", "<=", mark.epoch)]))


def fill(
    spark: Callable[[], SparkSession],
    paths: str | Sequence[str],
    output: str,
    options: LakeOptions,
    *,
    on_increment: Callable[[LakeIncrement], None] | None = None,
    tasks: int | None = None,
) -> LakeReport:
    """See ``kafkaspec.spark.lake``; the session is asked for when it is needed."""
    job = LakeJob(paths, output, options, create=True)
    made: list[LakeIncrement] = []
    losses: list[LakeLoss] = []
    while True:
        began = time.monotonic()
        mark, increment = job.plan(spark)
        losses += [loss for loss in increment.losses if loss not in losses]
        if not increment.segments:
            return LakeReport(
                tuple(made), tuple(losses), job.finished, increment.active, dict(job.untyped)
            )
        found = job.run(spark(), mark, increment, tasks)
        made.append(replace(found, seconds=time.monotonic() - began))
        if on_increment is not None:
            on_increment(made[-1])


def fill_batches(
    paths: str | Sequence[str],
    output: str,
    options: LakeOptions,
    *,
    on_increment: Callable[[LakeIncrement], None] | None = None,
    tasks: int | None = None,
) -> Callable[[DataFrame, int], None]:
    """See ``kafkaspec.spark.lake_batches``."""
    LakeJob(paths, output, options, create=True)  # refuses what is wrong before the stream starts

    def add(rows: DataFrame, _: int) -> None:
        job = LakeJob(paths, output, options, create=True)
        ends = rows.groupBy("topic", "partition").agg({"offset": "max"}).collect()
        until = {(row[0], row[1]): row[2] + 1 for row in ends}
        began = time.monotonic()
        mark, increment = job.plan(lambda: rows.sparkSession, until)
        if increment.segments:
            found = job.run(rows.sparkSession, mark, increment, tasks)
            if on_increment is not None:
                on_increment(replace(found, seconds=time.monotonic() - began))

    return add


class LakeJob:
    """Plans, writes and commits increments of a lake.

    Attributes:
        lake: the tables.
        untyped: topics that got no typed table though it was asked for, and why.
        finished: number of the last increment of another run that ``plan`` finished.
    """

    def __init__(
        self,
        paths: str | Sequence[str],
        output: str,
        options: LakeOptions,
        *,
        create: bool = False,
    ) -> None:
        """Open a lake and check the options.

        Args:
            paths: what is read; none to look at the lake alone.
            output: the lake.
            options: as ``LakeOptions`` has them.
            create: whether the lake may be new.
        """
        asked = self._asked = LakeAsked(**options)
        given = (paths,) if isinstance(paths, str) else tuple(paths)
        check_place(output, given)
        topics = (asked.topics,) if isinstance(asked.topics, str) else asked.topics
        self._source = LakeSource(given, None if topics is None else frozenset(topics))
        if create:
            _refuse_other_files(Store(plain(output)))
        self.lake = open_lake(plain(output), asked.to, catalog=asked.catalog, create=create)
        self.untyped: dict[str, str] = {}
        self.finished: int | None = None
        self.settings = LakeSettings(
            place=self.lake.place, exact=asked.exact, file_size=asked.file_bytes
        )

    def status(self) -> LakeStatus:
        """Return what the lake has and, if there are paths, what is new."""
        mark, left = newest(self.lake)
        names = ["topic", "partition", *_COUNTED]
        rows = self.lake.table(PROGRESS).scan(names).read_all()
        counts = (sum(rows.column(name).to_pylist()) for name in _COUNTED)
        places = set(zip(*(rows.column(name).to_pylist() for name in names[:2]), strict=True))
        status = LakeStatus(
            self.lake.to, 0 if mark is None else mark.epoch, left is not None,
            len(places), *counts,
        )  # fmt: skip
        if not self._source.paths:
            return status
        new = plan_increment(
            self._source.logs(), state_of(self.lake, mark), on_loss="continue",
            active=self._asked.active, losses=False,
        )  # fmt: skip
        seconds = CORE_SECONDS * new.size / (1 << 30) / cores()
        return replace(
            status, new_segments=len(new.segments), new_bytes=new.size, active_bytes=new.active,
            seconds=seconds,
        )  # fmt: skip

    def plan(
        self,
        spark: Callable[[], SparkSession] | None = None,
        until: Mapping[LakePlace, int] | None = None,
        *,
        dry: bool = False,
    ) -> tuple[Mark | None, Increment]:
        """Return the increment that the lake has, and the next one.

        Args:
            spark: a session whose tasks read what many segments say; None to read it here.
            until: see ``plan_increment``.
            dry: whether an increment that another run left stays as it is.
        """
        mark, left = newest(self.lake)
        if left is not None and not dry:
            commit(self.lake, left)
            self.finished = left.mark.epoch
        asked = self._asked
        with uncollected():  # of the many objects, nearly all stay
            return mark, plan_increment(
                self._source.logs(), state_of(self.lake, mark), on_loss=asked.on_loss,
                active=asked.active, most=asked.max_segments, until=until,
                planner=planned_here if spark is None else partial(_planned, spark),
            )  # fmt: skip

    def _plans(self, topics: Collection[str]) -> dict[str, Plans]:
        """Return how keys and values of topics are read; note in ``untyped`` which cannot be."""
        asked = self._asked
        given: Any = {"key": asked.key, "value": asked.value, "schemas": asked.schemas}
        given = {name: value for name, value in given.items() if value is not None}
        if not given.keys() & {"key", "value"}:
            return {}
        from kafkaspec.lake.typed_rows import plans_of
        from kafkaspec.values.reading.request import is_internal

        found: dict[str, Plans] = {}
        for log in self._source.logs():
            topic = log.topic or ""
            if topic not in topics or topic in found or is_internal(topic) or not log.segments:
                continue
            try:
                found[topic], _ = plans_of(log.opened, evolve=asked.evolve, **given)
            except ValueError as error:
                if isinstance(error, KafkaSpecError):
                    raise
                found[topic] = {}
                self.untyped[topic] = str(error)
        return {topic: plans for topic, plans in found.items() if plans}

    def _taken(self, typed: Mapping[str, Plans]) -> dict[str, pa.Schema]:
        """Return the types that the tables of topics take that are there already."""
        found: dict[str, pa.Schema] = {}
        for topic, plans in typed.items():
            from kafkaspec.lake.typed_rows import name_of, schema_of

            table = self.lake.table(name_of(topic))
            known = table.schema()
            if known is not None:
                found[topic] = fitted(known, schema_of(plans), widen=table.widens)
        return found

    def run(
        self, spark: SparkSession, before: Mark | None, increment: Increment, tasks: int | None
    ) -> LakeIncrement:
        """Write and commit an increment."""
        mark = Mark.new(1 if before is None else before.epoch + 1)
        typed = self._plans({item.unit.topic for item in increment.segments})
        settings = replace(self.settings, typed=typed, taken=self._taken(typed))
        most = tasks or max(1, min(ROUNDS * slots_of(spark), -(-increment.size // HAND_BYTES)))
        items = _even(spark, increment, most)
        sizes = [item.size for item in items]
        hands = [sorted(hand) for hand in dealt(sizes, most)]
        work = [[items[number].unit for number in hand] for hand in hands]
        weights = [sum(sizes[number] for number in hand) for hand in hands]
        # Of a module that needs neither format: workers do not have to have them.
        written = partial(write_units, settings=settings, mark=mark)
        results: dict[int, UnitResult] = {}
        for number, found in computed(spark, work, weights, written, len(work)):
            results |= dict(zip(hands[number], found, strict=True))
        rows = [results[number].progress for number in range(len(items))]
        progress = progress_of(items, rows, mark.epoch)
        writer = LakeWriter(self.lake.place, mark, settings.file_size)
        writer.write(PROGRESS, FOLDERS[PROGRESS], progress)
        files = [file for number in sorted(results) for file in results[number].files]
        manifest = Manifest(mark, (*files, *writer.finish()))
        write_manifest(self.lake, manifest)
        commit(self.lake, manifest)
        counts = (sum(progress.column(name).to_pylist()) for name in _COUNTED)
        return LakeIncrement(mark.epoch, len(increment.segments), increment.size, *counts)


def _refuse_other_files(store: Store) -> None:
    """Refuse a directory with what is not of a lake, or of one that was begun."""
    ours = {*SCHEMAS, EPOCHS, CATALOG}
    others = [n for n in store.names() if n not in ours and not n.startswith((TYPED, *"._"))]
    if others:
        detail = f"it is not a lake, and has other files: {some_of(others)}; name a new directory"
        raise unreadable(store.place, detail)


def _planned(
    spark: Callable[[], SparkSession],
    function: Callable[[Sequence[Any]], Sequence[Any]],
    units: Sequence[Any],
    sizes: Sequence[int],
) -> Iterable[Any]:
    """Plan in tasks, unless there is little to read: see ``LakePlanner``."""
    if sum(sizes) < 4 * HAND_FILES:
        return planned_here(function, units, sizes)
    hands = dealt(sizes, min(ROUNDS * slots_of(spark()), -(-sum(sizes) // HAND_FILES)))
    work = [[units[number] for number in hand] for hand in hands]
    weights = [sum(sizes[number] for number in hand) for hand in hands]
    found: dict[int, Any] = {}
    for number, made in computed(spark(), work, weights, partial(told, function), len(work)):
        if isinstance(made, KafkaSpecError):
            raise made
        found |= zip(hands[number], made, strict=True)
    return [found[number] for number in range(len(units))]


def _even(spark: SparkSession, increment: Increment, tasks: int) -> list[NewSegment]:
    """Return the segments, those cut that would make a task much larger than others."""
    target = max(HAND_BYTES // _PIECES, -(-increment.size // (tasks * _PIECES)))
    large = [n for n, item in enumerate(increment.segments) if too_large(item.size, target)]
    work = [increment.segments[number] for number in large]
    found = _planned(
        lambda: spark,
        partial(cut_segments, target),
        work,
        [item.size // _CUT_BYTES for item in work],
    )
    parts = dict(zip(large, found, strict=True))
    return [
        part for number, item in enumerate(increment.segments) for part in parts.get(number, [item])
    ]
