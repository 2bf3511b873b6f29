"""``kafkaspec conform``: test any decoder with vectors and real segments."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import click

from kafkaspec.cli.command import command, defined, option
from kafkaspec.cli.console import TableColumn, count_text, progress_bar
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.options import CodecName, Seed, is_given
from kafkaspec.cli.report import Output, Reporter, Tally, line
from kafkaspec.conformance.badge import BADGES, write_badge
from kafkaspec.conformance.cases import Case
from kafkaspec.conformance.differential import (
    QUIRKS,
    Difference,
    DifferenceSums,
    LogComparison,
)
from kafkaspec.conformance.goldens import GoldenError, committed_cases, golden_cases, is_golden
from kafkaspec.conformance.levels import CaseLevel
from kafkaspec.conformance.made import made_cases
from kafkaspec.conformance.own import PIECE, OwnCasesError, own_cases
from kafkaspec.conformance.process import StartError, Testee
from kafkaspec.conformance.protocol import CaseFailure
from kafkaspec.conformance.resource import RESOURCE, resource_cases
from kafkaspec.conformance.runner import (
    CaseOutcome,
    ExpectedFailuresError,
    LevelState,
    LevelSums,
    Run,
    RunSums,
    read_expected,
)
from kafkaspec.conformance.stored import LIST, StoredError, read_cases
from kafkaspec.conformance.vectors import vector_cases
from kafkaspec.generation.corpus import corpus
from kafkaspec.generation.quirks import MOST
from kafkaspec.generation.texts import text_cases
from kafkaspec.shown import size_text

OUTPUT = Output(
    forms={"junit": "kafkaspec.cli.forms:JUnit", "sarif": "kafkaspec.cli.forms:Sarif"},
    stale=line(line=int, pattern=str, problem=str),
    case=line(
        id=str,
        level=CaseLevel,
        outcome=CaseOutcome,
        failure=CaseFailure | None,
        detail=str,
        why=str,
    ),
    left_out=line(file=str, why=str),
    difference=line("kafkaspec.conformance.differential:Difference"),
    summary=line(
        "kafkaspec.conformance.runner:RunSums",
        "kafkaspec.conformance.differential:DifferenceSums",
        optional=(*RunSums.__annotations__, *DifferenceSums.__annotations__),
    ),
)
_EPILOG = """
Protocol of a testee: docs/guide/conform.md. A testee passes a level if it passes all cases
of it whose kind it reads:
  framing       entries, headers of batches, checksums
  records       records and messages that are not compressed
  compression   those that are
  transactions  control records, and what a consumer with read_committed gets
  indexes       indexes, producer snapshots and text files of a log directory
  messages      Kafka's own messages, and other contents of records
  writing       the bytes that the testee writes for records
  resource      counts, lengths, bombs and depth that no decoder should follow,
                with a bound on its memory (with --resource)

Ids of cases begin with
  structure  types of the specification, by its vectors
  record     the vectors of records and messages, each in a separate log
  made       logs of each magic and compression, transactions, and records to
             write, which are made here
  text       checkpoints, meta.properties, quorum-state, partition.metadata
  segment, control, index, snapshot, committed
             files that brokers wrote, compared with the producer's
             acknowledgements and the dump tool (with --cases); the files of
             another PATH, compared with our codecs native and python
  checksum   such files with one bit changed (with --cases)
  resource   those of that level

The vectors are part of every installation. Files of brokers are not: a clone
of the repository has them in tests/golden.

A list of expected failures has lines of a pattern of case ids, how they fail
(accepted, refused, wrong, wrong_reason, crashed, timed_out, garbage,
oversized, memory) and why. Each case that a pattern matches must fail in this way. A
pattern that matches nothing is an error too, unless --only, or no --cases,
leaves cases out. Lines about resource/ are read with --resource only.

With --against CMD, both testees get --logs logs that follow from --seed: mutations of the
cases and of what `generate` makes, with right sizes. A line of type difference has the
smallest log that shows one. With --known Q9, logs about which the two differ by this
quirk of Kafka are counted, and are not findings; one that no log shows is stale.

Exit codes: 0 all as expected, 1 not as expected, 2 wrong usage or a testee that does not
start.
"""


@command(OUTPUT, _EPILOG, shared=())
def conform_command(
    report: Reporter,
    *,
    testee: str | None = option(
        "Command that speaks the protocol. No shell interprets it.", metavar="CMD"
    ),
    codec: str | None = defined(type=CodecName(), help="Test a codec of this library instead."),
    cases: tuple[Path, ...] = option(
        "Folder of `kafkaspec generate`, or with VERSION/logs of brokers, such as tests/golden; or"
        " any segment or log directory, whose answers are those of our codecs. Can be repeated.",
        metavar="PATH",
        multiple=True,
        type=click.Path(path_type=Path, exists=True),
    ),
    resource: bool = option(
        "Also hostile counts, bombs and depth, with a bound on the memory of the testee (Linux)."
    ),
    levels: tuple[str, ...] = option(
        "--only-level",
        "Levels to run, all but resource by default. Can be repeated.",
        multiple=True,
        type=click.Choice([str(level) for level in CaseLevel]),
    ),
    only: tuple[str, ...] = option("Cases to run. Can be repeated.", metavar="PATTERN"),
    expected_file: Path | None = option(
        "--expected-failures",
        "List of known failures.",
        metavar="FILE",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
    ),
    timeout: float = option(
        "Seconds for one answer.", type=click.FloatRange(0.01, 3600), default=10.0
    ),
    against: str | None = option(
        "Command of a second testee. Both get logs that are made by chance, instead of cases, and"
        " each log about which they differ is a finding.",
        metavar="CMD",
    ),
    logs: int = option(
        "Number of such logs.", type=click.IntRange(1), default=10_000, show_default=True
    ),
    seed: Seed,
    known: tuple[str, ...] = option(
        "Quirk of Kafka, as Q9: generated cases that show it may fail, and are counted. With "
        "--against, the two may differ about such logs. Can be repeated.",
        multiple=True,
        type=click.Choice([f"Q{number}" for number in range(1, MOST + 1)]),
        metavar="QUIRK",
    ),
    badge: Path | None = option(
        "Write a badge with the levels passed: SVG, or JSON of shields.io if FILE ends in .json.",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
    ),
) -> None:
    """Run a decoder over test vectors and segments of real brokers, and report its failures.

    The testee reads one JSON line for each case from its standard input and answers with one. If
    it crashes, hangs or answers nonsense, the case fails, and it is started again for the next.
    """
    command = _command(testee, codec)
    if against is not None:
        if cases or levels or only or resource or expected_file or badge:
            raise click.UsageError("--against takes no cases, levels, expected failures or badge")
        if others := sorted(set(known) - set(QUIRKS)):
            raise click.UsageError(
                f"--known: {', '.join(others)} explains no difference; {' and '.join(QUIRKS)} do"
            )
        _compare(report, command, _words("--against", against), timeout, logs, seed, known)
    for name in ("logs", "seed"):
        if is_given(click.get_current_context(), name):
            raise click.UsageError(f"--{name} is for --against")
    if badge is not None and badge.suffix not in BADGES:
        raise click.UsageError(f"--badge: {badge} does not end in {' or '.join(BADGES)}")
    resource = resource or CaseLevel.RESOURCE in levels
    try:
        expected = read_expected(expected_file) if expected_file else []
        if not resource:  # nor are lines about these cases stale
            expected = [item for item in expected if not item.pattern.startswith(RESOURCE)]
        with Testee(command, timeout=timeout) as process:
            run = Run(process, expected, known, partial=bool(only or levels) or not cases)
            left_out: list[Path] = []
            chosen = _chosen(cases, levels, only, left_out, resource=resource)
            for result in run.all(chosen):
                report.line("case", result.case, result, level=result.case.level)
            for path in left_out:
                report.line("left_out", file=str(path), why=_TOO_LARGE)
                report.say(f"{path}: {_TOO_LARGE}")
            if run.results:
                show_run(report, run)
    except (ExpectedFailuresError, GoldenError, OwnCasesError, StoredError, StartError) as error:
        raise click.UsageError(str(error)) from None
    if not run.results:
        raise click.UsageError("no case matches --only and --only-level")
    if badge is not None:
        write_badge(badge, run.by_level())
    failed = sum(result.outcome is CaseOutcome.FAILED for result in run.results)
    tally = Tally(CLEAN if run.as_expected else FINDINGS, findings=failed + len(run.stale))
    report.finish(tally, **run.summary())


def _compare(
    report: Reporter, first: list[str], second: list[str], timeout: float, count: int, seed: int,
    known: tuple[str, ...],
) -> None:  # fmt: skip
    """Compare two testees, and report the differences by what both say."""
    groups: Counter[tuple[str, str]] = Counter()
    smallest: dict[tuple[str, str], Difference] = {}
    begin = time.monotonic()
    try:
        with Testee(first, timeout=timeout) as one, Testee(second, timeout=timeout) as other:
            comparison = LogComparison(one, other, seed, list(corpus(seed)), known)
            with progress_bar("compare", count, counts=True) as advance:
                for found in comparison.run(count, lambda done: advance(done, "")):
                    report.line("difference", found)
                    groups[found.group] += 1
                    best = smallest.setdefault(found.group, found)
                    if len(found.data) < len(best.data):
                        smallest[found.group] = found
            names = [testee.hello.name for testee in (one, other)]
            sums = comparison.sums
    except StartError as error:
        raise click.UsageError(str(error)) from None
    for group, number in groups.most_common():
        shown = smallest[group]
        why = f" ({shown.quirk}, see docs/quirks.md; --known {shown.quirk})" if shown.quirk else ""
        report.say(f"{count_text(number, 'difference')}{why}, such as {shown.case}: {shown.data}")
        for name, said in zip(names, (shown.first, shown.second), strict=True):
            report.say(f"    {name}: {said}")
    for quirk, number in sums["known"].items():
        report.say(f"known: {quirk}, {count_text(number, 'log')}")
    stale = [quirk for quirk, number in sums["known"].items() if not number]
    for quirk in stale:
        report.line("stale", line=0, pattern=quirk, problem="no log shows it")
        report.say(f"stale: --known {quirk}: no log shows it")
    seconds = time.monotonic() - begin
    report.say(
        f"{' and '.join(names)}: {count_text(sums['cases'], 'log')} of seed {seed}"
        f" in {seconds:.1f} s, {sums['accepted']:,} read the same,"
        f" {sums['refused']:,} refused by both, {sums['skipped']:,} skipped by one,"
        f" {sums['differences']:,} different"
    )
    bad = sums["differences"] + len(stale)
    report.finish(Tally(FINDINGS if bad else CLEAN, findings=bad), **sums)


def _command(testee: str | None, codec: str | None) -> list[str]:
    if (testee is None) == (codec is None):
        raise click.UsageError("give either --testee or --codec")
    if codec is not None:
        return [sys.executable, "-m", "kafkaspec.conformance.testee", codec]
    return _words("--testee", testee or "")


def _words(name: str, text: str) -> list[str]:
    """Return the words of a command that an option gives."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise click.UsageError(f"{name}: {error}") from None
    if not words:
        raise click.UsageError(f"{name} is empty")
    return words


def _chosen(
    paths: tuple[Path, ...],
    levels: tuple[str, ...],
    only: tuple[str, ...],
    left_out: list[Path],
    *,
    resource: bool,
) -> Iterator[Case]:
    def all_of_them() -> Iterator[Case]:
        yield from vector_cases()
        yield from made_cases()
        yield from text_cases(Random(0))
        if resource:
            yield from resource_cases()
        for path in paths:
            if (path / LIST).exists():
                yield from read_cases(path)
            elif is_golden(path):
                yield from golden_cases(path)
                yield from committed_cases(path)
            else:
                yield from own_cases(path, left_out.append)

    seen: dict[str, bytes] = {}
    for case in all_of_them():
        if seen.setdefault(case.id, case.data) is not case.data and seen[case.id] == case.data:
            continue  # generated cases hold vectors too
        named = not only or any(fnmatchcase(case.id, pattern) for pattern in only)
        if named and (not levels or case.level in levels):
            yield case


_TOO_LARGE: Final = f"not asked for its committed records: more than {size_text(PIECE)}"
_SHOWN: Final = 10
"""Number of cases shown for each level and failure."""
_COUNTED: Final = {
    ">passed": CaseOutcome.PASSED,
    ">expected failures": CaseOutcome.EXPECTED_FAILURE,
    ">failed": CaseOutcome.FAILED,
    ">skipped": CaseOutcome.SKIPPED,
    ">not supported": LevelState.NOT_SUPPORTED,
}
"""Columns of the table of levels."""


def show_run(report: Reporter, run: Run) -> None:
    """Print the table of levels, the failures, stale expectations, and a summary line."""
    columns: dict[str, TableColumn] = {
        "level": lambda item: item[0],
        "state": lambda item: item[1]["state"].replace("_", " "),
    }
    for title, word in _COUNTED.items():
        columns[title] = partial(_number, word)
    levels = run.by_level().items()
    ran = [item for item in levels if item[1]["state"] is not LevelState.NOT_RUN]
    report.table(columns, ran, box="SIMPLE_HEAD")
    failed = [result for result in run.results if result.outcome is CaseOutcome.FAILED]
    groups = Counter((result.case.level, result.failure) for result in failed)
    for (level, failure), number in groups.items():
        report.say(f"{level}: {count_text(number, 'case')} {failure}")
        group = [r for r in failed if (r.case.level, r.failure) == (level, failure)]
        for result in group[:_SHOWN]:
            report.say(f"    {result.case.id}: {result.detail}")
            if result.case.why:
                report.say(f"        {result.case.why}")
        if number > _SHOWN:
            report.say(f"    ... {number - _SHOWN:,} more; --format json shows all")
    for quirk, number in run.by_quirk().items():
        report.say(f"known: {quirk}, {count_text(number, 'case')}")
    for item, problem in run.stale:
        report.line("stale", line=item.line, pattern=item.pattern, problem=problem)
        where = f"line {item.line} of the expected failures" if item.line else "--known"
        report.say(f"stale: {where}, {item.pattern}: {problem}")
    report.say(_last_line(run))


def _number(word: str, item: tuple[CaseLevel, LevelSums]) -> str:
    return f"{dict(item[1])[word]:,}"


def _last_line(run: Run) -> str:
    counts = Counter(result.outcome for result in run.results)
    hello = run.hello
    who = f"{hello.name} {hello.version}".strip() if hello else "the testee"
    passed = sum(sums["state"] is LevelState.PASSED for sums in run.by_level().values())
    parts = [f"{passed} of {len(CaseLevel)} levels"]
    parts += [f"{counts[CaseOutcome.PASSED]:,} of {len(run.results):,} cases passed"]
    for outcome, text in (
        (CaseOutcome.EXPECTED_FAILURE, "failed as expected"),
        (CaseOutcome.FAILED, "failed"),
        (CaseOutcome.SKIPPED, "skipped"),
    ):
        if counts[outcome]:
            parts.append(f"{counts[outcome]:,} {text}")
    if run.breakdowns:
        parts.append(f"started again {count_text(run.breakdowns, 'time')}")
    if run.stale:
        parts.append(count_text(len(run.stale), "stale expectation"))
    verdict = "as expected" if run.as_expected else "not as expected"
    return f"{who}, {verdict}: {', '.join(parts)}"
