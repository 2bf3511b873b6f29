"""``kafkaspec generate``: write cases made from the specification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Final

import click

from kafkaspec.broker.profiles import DEFAULT_PROFILE, Profile
from kafkaspec.cli.command import command, defined, option
from kafkaspec.cli.console import TableColumn, count_text, progress_bar
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.options import Seed, Timestamp
from kafkaspec.cli.report import Output, Reporter, Tally, line
from kafkaspec.conformance.cases import Case
from kafkaspec.conformance.stored import write_cases
from kafkaspec.conformance.vectors import vector_cases
from kafkaspec.generation.corpus import MOST_RANDOM, corpus, random_cases
from kafkaspec.generation.goals import GoalCoverage, goals, measured
from kafkaspec.generation.quirks import ELSEWHERE
from kafkaspec.output.atomic import DirectoryAside, require_new
from kafkaspec.scenarios.making import (
    LEAST_RECORDS,
    MOST_RECORDS,
    NOW,
    RECORDS,
    SCENARIOS,
    scenario,
    scenario_rules,
)
from kafkaspec.scenarios.scenario_plan import EXPECTED
from kafkaspec.shown import size_text

OUTPUT = Output(
    coverage=line(GoalCoverage),
    scenario=line(
        name=str, file=str, seed=int, logs=int, partitions=int, records=int, findings=int
    ),
    elsewhere=line(quirk=int, why=str),
    summary={"cases": int, "files": int, "bytes": int, "seed": int},
)
_EPILOG = """
OUT is a new folder with the files and cases.jsonl, a line for each case: what its bytes are,
where they are, what they cover, and the verdict. The verdict follows from how the bytes
were made; no decoder is asked. `kafkaspec conform --cases OUT` puts them to any decoder.

With --scenario, OUT has a folder for each scenario: log directories as brokers leave
them, and expected.json, which says what is true of them: records, transactions, epochs,
what is gone, and what verify must report.

The same seed gives the same bytes.

Exit codes: 0 everything is covered, 1 something is not, and is listed; 2 wrong usage, or
nothing is written.
"""
_ALL: Final = "all"
_SHOWN: Final = 20
"""Number of goals shown that no case covers."""


@command(OUTPUT, _EPILOG, shared=())
def generate_command(
    report: Reporter,
    *,
    output: Annotated[
        Path,
        click.argument("output", metavar="OUT", type=click.Path(path_type=Path, file_okay=False)),
    ],
    seed: Seed,
    count: int = option(
        "Number of random cases to write as well: logs, indexes, snapshots and text files, with "
        "more of what is rare.",
        type=click.IntRange(0, MOST_RANDOM),
        default=0,
    ),
    scenarios: tuple[str, ...] = option(
        "--scenario",
        "Write log directories instead, about this, or all. Can be repeated.",
        multiple=True,
        type=click.Choice([*SCENARIOS, _ALL]),
    ),
    max_records: int | None = option(
        f"Most records in a partition of a scenario; {RECORDS} if not given.",
        type=click.IntRange(LEAST_RECORDS, MOST_RECORDS),
        metavar="N",
    ),
    clock: int | None = option(
        "When the brokers of a scenario stopped: milliseconds since 1970, or ISO 8601 (UTC if it "
        "names no zone). 2026-01-01 if not given.",
        type=Timestamp(),
        metavar="TIME",
    ),
    profile: str | None = defined(
        default=None, metavar="VERSION", help="Version of Kafka that writes a scenario."
    ),
) -> None:
    """Write the cases that cover the specification, valid and invalid, each with its verdict.

    They cover every type, field, case of a switch, enumeration and bound, every pair of
    features of a log entry, and every quirk of Kafka that bytes can show.
    """
    if scenarios and count:
        raise click.UsageError("--count is about cases, not about a --scenario")
    require_new(output)
    if scenarios:
        try:
            rules = scenario_rules(profile or DEFAULT_PROFILE)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--profile") from None
        names = SCENARIOS if _ALL in scenarios else dict.fromkeys(scenarios)
        _write_scenarios(
            report,
            output,
            names,
            seed,
            max_records or RECORDS,
            NOW if clock is None else clock,
            rules,
        )
        return
    if (max_records, clock, profile) != (None, None, None):
        raise click.UsageError("--max-records, --clock and --profile are about a --scenario")
    times: Counter[str] = Counter()
    number = 0

    def counted() -> Iterator[Case]:
        nonlocal number
        for case in chain(corpus(seed), random_cases(count, seed)):
            times.update(case.covers)
            number += 1
            yield case
            advance(1, "")

    with (
        progress_bar("generate", count, counts=True) as advance,
        DirectoryAside(output, sync=False) as aside,
    ):
        files, size = write_cases(counted(), aside)
    found = measured(goals(vector_cases()), times)
    for item in found:
        report.line("coverage", item)
    report.table(_COLUMNS, found, box="SIMPLE_HEAD")
    for item in found:
        for name in item.missing[:_SHOWN]:
            report.say(f"not covered: {item.goal} {name}")
        if len(item.missing) > _SHOWN:
            report.say(f"... {len(item.missing) - _SHOWN:,} more; --format json shows all")
    for number, why in ELSEWHERE.items():
        report.line("elsewhere", quirk=number, why=why)
        report.say(f"not in the bytes of one file: quirk Q{number}, {why}")
    report.say(
        f"{output}: {count_text(number, 'case')} in {count_text(files, 'file')}, {size_text(size)}"
    )
    missing = sum(len(item.missing) for item in found)
    report.finish(
        Tally(FINDINGS if missing else CLEAN, missing=missing),
        cases=number,
        files=files,
        bytes=size,
        seed=seed,
    )


def _write_scenarios(
    report: Reporter, output: Path, names: Iterable[str], seed: int, records: int, now: int,
    profile: Profile,
) -> None:  # fmt: skip
    """Write scenarios, and say how large each of them is."""
    with DirectoryAside(output, sync=False) as aside:
        found = [
            (name, scenario(name, aside.path / name, seed=seed, records=records, now=now,
                            profile=profile))
            for name in names
        ]  # fmt: skip
        sizes = [path.stat().st_size for path in aside.path.rglob("*") if path.is_file()]
    for name, expected in found:
        partitions = [each for one in expected["logs"].values() for each in one.values()]
        numbers = {
            "logs": len(expected["logs"]),
            "partitions": len(partitions),
            "records": sum(len(each["records"]) for each in partitions),
            "findings": len(expected["findings"]),
        }
        report.line("scenario", name=name, file=str(output / name / EXPECTED), seed=seed, **numbers)
        report.say(
            f"{output / name}: {count_text(numbers['partitions'], 'partition')} with "
            f"{count_text(numbers['records'], 'record')}; what is true of them is in {EXPECTED}"
        )
    report.finish(Tally(CLEAN), cases=0, files=len(sizes), bytes=sum(sizes), seed=seed)


_COLUMNS: Final[dict[str, TableColumn]] = {
    "goal": "goal",
    ">covered": lambda item: f"{item.covered:,}",
    ">of": lambda item: f"{item.total:,}",
}
