"""``verify`` over many segments, with the findings of ``kafkaspec.verify`` for the same data.

Segments, and parts of large ones, are verified in the tasks. The state that they need from the
parts before them comes from a first pass over the headers; see ``kafkaspec.analysis.parts``. The
small files of partitions and log directories are checked where the job was started.

With a state, a task verifies a partition: its segments are read from where an earlier run ended.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkaspec.analysis.check_order import GROUP_OFFSETS, LogOrder
from kafkaspec.analysis.files import kind_of, read_directories
from kafkaspec.analysis.pace import share_of
from kafkaspec.analysis.parts import (
    WHOLE,
    BatchSpan,
    PartSurvey,
    Settled,
    settled,
    spans_of,
    survey,
)
from kafkaspec.analysis.remembered import Memory
from kafkaspec.analysis.report import FileKind, Report
from kafkaspec.analysis.state_file import StateFile, is_state
from kafkaspec.analysis.text_checks import size_of
from kafkaspec.analysis.verification import (
    check_remembered,
    codecs_of,
    memory_options,
    verify_events,
)
from kafkaspec.analysis.verify_segment import SegmentVerifier, VerifyChecks
from kafkaspec.codecs import DEFAULT_CODEC
from kafkaspec.io.remote import address, as_path
from kafkaspec.spark.jobs.units import ROUNDS, computed, slots_of
from kafkaspec.spark.paths import check_place, plain

__all__ = ["Verification", "verify"]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPLIT_BYTES: Final = 256 << 20
"""A segment that is larger is verified in parts of about this size."""

_GROUPS: Final = 32
"""Groups of partitions for each task, with a state: after so many, it may be saved."""

_FINDINGS: Final = (
    "file string, severity string, area string, reason string, message string, position bigint, "
    "offset bigint, path string, codec string, entry bigint, reader string, broker string, "
    "action string, offsets array<bigint>, strength string"
)
_FILES: Final = (
    "file string, kind string, partition string, checked boolean, clean boolean, size bigint, "
    "entries bigint, padding bigint, batches bigint, control_batches bigint, records bigint, "
    "unread bigint, magics map<string,bigint>, codecs map<string,bigint>, first_offset bigint, "
    "last_offset bigint, findings map<string,bigint>"
)


@dataclass(frozen=True)
class VerifyUnit:
    """The work of one call of a task.

    ``partition`` and ``log`` are paths of directories: of a partition, and of segments that are one
    log; "" where there is none. ``before`` is a pickled ``PartSurvey`` of what lies before the unit
    in the log, ``place`` the number of the path that was given.
    """

    path: str
    span: BatchSpan
    partition: str
    is_last: bool
    log: str
    group_offsets: bool
    codecs: tuple[str, ...]
    before: bytes = b""
    begins: bool = True
    place: int = 0
    size: int = 0


@dataclass
class Verification:
    """The result of ``verify``.

    Attributes:
        report: as ``kafkaspec.verify`` gives it.
        findings: one row each.
        files: one row for each file, also one without findings.
        remembered: with a state, bytes that were read, segments by what they are, and since when
            all was read.
    """

    report: Report
    findings: DataFrame
    files: DataFrame
    remembered: Mapping[str, Any] = field(default_factory=dict)


def verify(
    spark: SparkSession,
    paths: str | Sequence[str],
    *,
    codec: str = DEFAULT_CODEC,
    split_bytes: int = SPLIT_BYTES,
    tasks: int | None = None,
    state: str | None = None,
    start_over: bool = False,
    reread: str = "0%",
) -> Verification:
    """Check everything under paths, in the workers.

    Args:
        spark: a session whose workers have kafkaspec and see the same files under the same paths.
        paths: one or several of what ``kafkaspec.verify`` takes; with ``file:`` or without.
        codec: name of the codec that reads; several with commas, or ``all``, are compared.
        split_bytes: a larger segment is verified in parts.
        tasks: how many there are to be; three a slot by default.
        state: a table of Delta, or a file of ``kafkaspec.verify``, that remembers what was read, so
            that the next run reads only what is new. Local directories only.
        start_over: whether to forget what the state remembers.
        reread: share of what is remembered to read again; see ``kafkaspec.verify``.

    Raises:
        KafkaSpecError: ``unreadable``, if a path does not exist, or has no files of Kafka's. Or the
            state is damaged, or of runs with other options.
        ValueError: no such codec or share.
    """
    report = Report(codecs=codecs_of(codec))
    places = [as_path(plain(path)) for path in ([paths] if isinstance(paths, str) else paths)]
    if state is not None:
        memory = memory_of(state, places, codec, start_over=start_over, reread=share_of(reread))
        deal = partial(_dealt, spark, tasks)
        with memory:
            for place in places:
                for event in verify_events(place, codec=codec, memory=memory, deal=deal):
                    report.add(event)
        return _verification(spark, report, memory)
    units: list[VerifyUnit] = []
    for number, place in enumerate(places):
        if place.exists():  # of what does not, verify_events says so
            found = units_of(place, report.codecs, split_bytes)
            units += [replace(unit, place=number) for unit in found]
    done = _verified(spark, units, tasks)
    for number, place in enumerate(places):
        elsewhere = partial(_taken, done, number)
        for event in verify_events(place, codec=codec, elsewhere=elsewhere):
            report.add(event)
    return _verification(spark, report)


def memory_of(
    state: str, places: Sequence[Path], codec: str, *, start_over: bool, reread: float
) -> Memory:
    """Return what a state in a table or file remembers."""
    from kafkaspec.lake.state_table import RememberedTable

    place = plain(state)
    check_place(place, [os.fspath(each) for each in places])
    check_remembered(*places)
    store = StateFile(place) if is_state(place) else RememberedTable(place)
    return Memory.of_store(store, memory_options(codec, None), start_over=start_over, reread=reread)


def _dealt(
    spark: SparkSession,
    tasks: int | None,
    function: Callable[[Any], Any],
    items: Iterable[Any],
) -> Generator[Any, None, None]:
    """Yield the results of a function for items, in rounds after which a state is saved."""
    left = iter(items)
    most = _GROUPS * (tasks or ROUNDS * slots_of(spark))
    while units := list(islice(left, most)):
        sizes = [sum(sum(each.sizes) for each in directories) for directories, *_ in units]
        done = dict(computed(spark, units, sizes, function, tasks))
        yield from (done[number] for number in range(len(units)))


def _verification(
    spark: SparkSession, report: Report, memory: Memory | None = None
) -> Verification:
    findings = [_row(item.as_dict(), _FINDINGS) for item in report.findings]
    files = [_row(item.as_dict(), _FILES) for item in report.files]
    return Verification(
        report,
        spark.createDataFrame(findings, _FINDINGS),
        spark.createDataFrame(files, _FILES),
        {} if memory is None else memory.as_dict(),
    )


def _row(values: dict[str, object], schema: str) -> tuple[object, ...]:
    names = [field.split(" ")[0] for field in schema.split(", ")]
    return tuple(values[name] for name in names)


Done = dict[tuple[int, str], Settled]
"""Results by the number of the given path, and the path of the file."""


def _verified(spark: SparkSession, units: list[VerifyUnit], tasks: int | None) -> Done:
    followed = [n for n, unit in enumerate(units) if _is_followed(units, n)]
    chosen = [units[n] for n in followed]
    # Only headers are read here, of which there are about as many as there are bytes.
    surveys = {
        followed[number]: found
        for number, found in computed(spark, chosen, [u.size for u in chosen], look, tasks)
    }
    units = informed(units, surveys)
    results = dict(computed(spark, units, [u.size for u in units], check, tasks))
    return joined(units, results)


def _taken(done: Done, place: int, path: Path) -> Settled | None:
    return done.pop((place, address(path)), None)


def joined(units: Sequence[VerifyUnit], results: dict[int, Settled]) -> Done:
    """Return the results of parts as those of segments."""
    done: Done = {}
    for number, unit in enumerate(units):
        if _file(unit) in done:
            done[_file(unit)].append(results[number])
        else:
            done[_file(unit)] = results[number]
    return done


def units_of(place: Path, codecs: tuple[str, ...], split_bytes: int) -> list[VerifyUnit]:
    """Return the units to verify under a path, logs in order."""
    if not place.is_dir():
        if kind_of(place.name) not in (FileKind.SEGMENT, FileKind.KRAFT_SNAPSHOT):
            return []
        return _parts(place, VerifyUnit("", WHOLE, "", True, "", False, codecs), split_bytes)
    made: list[VerifyUnit] = []
    for directory in read_directories(place):
        partition = os.fspath(directory.path) if directory.is_partition else ""
        log = os.fspath(directory.path)
        group_offsets = directory.path.name.startswith(GROUP_OFFSETS)
        segments = directory.of(FileKind.SEGMENT)
        for path in segments:
            last = path == segments[-1]
            unit = VerifyUnit("", WHOLE, partition, last, log, group_offsets, codecs)
            made += _parts(path, unit, split_bytes)
        for path in directory.of(FileKind.KRAFT_SNAPSHOT):
            made += _parts(
                path, VerifyUnit("", WHOLE, partition, True, "", False, codecs), split_bytes
            )
    return made


def _parts(path: Path, unit: VerifyUnit, split_bytes: int) -> list[VerifyUnit]:
    spans = spans_of(path, split_bytes)
    size = size_of(path) // len(spans)
    unit = replace(unit, path=address(path), size=size)
    return [replace(unit, span=span, begins=span is spans[0]) for span in spans]


def _is_followed(units: Sequence[VerifyUnit], number: int) -> bool:
    if number + 1 == len(units):
        return False
    unit, following = units[number], units[number + 1]
    if unit.place != following.place:
        return False
    return unit.path == following.path or (unit.log != "" and unit.log == following.log)


def informed(units: Sequence[VerifyUnit], surveys: dict[int, PartSurvey]) -> list[VerifyUnit]:
    """Return the units with their initial state; a segment that cannot be split is one unit."""
    made: list[VerifyUnit] = []
    running: PartSurvey | None = None
    for _, group in groupby(range(len(units)), lambda number: _file(units[number])):
        numbers = list(group)
        unit = units[numbers[0]]
        known = [surveys.get(n) for n in numbers]
        followed = known[-1] is not None
        parts = [units[n] for n in numbers]
        if len(parts) > 1 and not all(found is None or found.sound for found in known):
            parts = [replace(unit, span=WHOLE)]
            known = [look(parts[0]) if followed else None]
        if not made or not unit.log or (made[-1].place, made[-1].log) != (unit.place, unit.log):
            running = None
        for part, found in zip(parts, known, strict=True):
            if running is not None:
                del running.order.epochs[:-1]  # the others are with the results
            made.append(replace(part, before=pickle.dumps(running) if running else b""))
            if found is not None:
                if running is not None:
                    found.follow(running, same_segment=not part.begins)
                running = found
    return made


def _file(unit: VerifyUnit) -> tuple[int, str]:
    return unit.place, unit.path


def look(unit: VerifyUnit) -> PartSurvey:
    """Return the survey of a unit, in a task."""
    path, codec = as_path(unit.path), unit.codecs[0]
    return survey(path, unit.span, codec, group_offsets=unit.group_offsets, mapped=False)


def check(unit: VerifyUnit) -> Settled:
    """Verify a unit, in a task."""
    before: PartSurvey | None = pickle.loads(unit.before) if unit.before else None
    order = before.order if before is not None else LogOrder(group_offsets=unit.group_offsets)
    verifier = SegmentVerifier(
        as_path(unit.path),
        VerifyChecks(unit.codecs, mapped=False),  # what is mapped counts as memory of a worker
        order=order,
        partition=unit.partition,
        is_last=unit.is_last,
        span=unit.span,
        before=None if unit.begins else before,
    )
    return settled(verifier.run(), order)
