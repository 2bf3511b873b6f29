"""``kafkaspec generate``: write cases made from the specification."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import click

from kafkaspec.cli.command import command, option
from kafkaspec.cli.console import TableColumn, count_text, size_text
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.report import Output, Reporter, Tally, line
from kafkaspec.conformance.stored import write_cases
from kafkaspec.conformance.vectors import vector_cases
from kafkaspec.generation.corpus import corpus
from kafkaspec.generation.goals import GoalCoverage, coverage, goals
from kafkaspec.output.atomic import DirectoryAside

OUTPUT = Output(
    coverage=line(GoalCoverage),
    summary={"cases": int, "files": int, "bytes": int, "seed": int},
)
_EPILOG = """
OUT is a new folder with the files and cases.jsonl, a line for each case: what its bytes are,
where they are, what they cover, and the verdict. The verdict follows from how the bytes
were made; no decoder is asked. `kafkaspec conform --cases OUT` puts them to any decoder.

The same seed gives the same bytes.

Exit codes: 0 everything is covered, 1 something is not, and is listed; 2 wrong usage, or
nothing is written.
"""
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
    seed: int = option("Seed of what the specification leaves open.", default=0),
) -> None:
    """Write the cases that cover the specification, valid and invalid, each with its verdict.

    They cover every type, field, case of a switch, enumeration and bound, and every pair of
    features of a log entry.
    """
    cases = list(corpus(seed))
    sizes: list[int] = []
    with DirectoryAside(output, sync=False) as aside:

        def write(name: str, data: bytes) -> None:
            sizes.append(len(data))
            aside.write(name, data)

        files = write_cases(cases, write)
    found = coverage(goals(vector_cases()), cases)
    for item in found:
        report.line("coverage", item)
    report.table(_COLUMNS, found, box="SIMPLE_HEAD")
    for item in found:
        for name in item.missing[:_SHOWN]:
            report.say(f"not covered: {item.goal} {name}")
        if len(item.missing) > _SHOWN:
            report.say(f"... {len(item.missing) - _SHOWN:,} more; --format json shows all")
    report.say(
        f"{output}: {count_text(len(cases), 'case')} in {count_text(files, 'file')}, "
        f"{size_text(sum(sizes))}"
    )
    missing = sum(len(item.missing) for item in found)
    report.finish(
        Tally(FINDINGS if missing else CLEAN, missing=missing),
        cases=len(cases),
        files=files,
        bytes=sum(sizes),
        seed=seed,
    )


_COLUMNS: Final[dict[str, TableColumn]] = {
    "goal": "goal",
    ">covered": lambda item: f"{item.covered:,}",
    ">of": lambda item: f"{item.total:,}",
}
