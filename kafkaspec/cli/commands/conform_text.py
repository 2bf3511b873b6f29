"""Show a conformance run as text."""

from __future__ import annotations

from collections import Counter

from rich.box import SIMPLE_HEAD
from rich.table import Table

from kafkaspec.cli.console import count_text, new_table, stdout_console
from kafkaspec.conformance.runner import CaseOutcome, Run

_SHOWN = 10
"""Number of cases shown for each category and failure."""


def print_run(run: Run) -> None:
    """Print the table of categories, the failures, stale expectations, and a summary line."""
    console = stdout_console()
    console.print(_table(run))
    failed = [result for result in run.results if result.outcome is CaseOutcome.FAILED]
    groups = Counter((result.case.category, result.failure) for result in failed)
    for (category, failure), number in groups.items():
        console.print(f"{category}: {count_text(number, 'case')} {failure}")
        group = [r for r in failed if (r.case.category, r.failure) == (category, failure)]
        for result in group[:_SHOWN]:
            console.print(f"    {result.case.id}: {result.detail}")
            if result.case.why:
                console.print(f"        {result.case.why}")
        if number > _SHOWN:
            console.print(f"    ... {number - _SHOWN:,} more; --format json shows all")
    for item, problem in run.stale:
        console.print(
            f"stale: line {item.line} of the expected failures, {item.pattern}: {problem}"
        )
    console.print(_last_line(run))


def _table(run: Run) -> Table:
    counted = (">passed", ">expected failures", ">failed", ">skipped")
    table = new_table("category", *counted, box=SIMPLE_HEAD)
    order = (
        CaseOutcome.PASSED,
        CaseOutcome.EXPECTED_FAILURE,
        CaseOutcome.FAILED,
        CaseOutcome.SKIPPED,
    )
    for category, counts in run.by_category().items():
        table.add_row(category, *(f"{counts[outcome]:,}" for outcome in order))
    return table


def _last_line(run: Run) -> str:
    counts = Counter(result.outcome for result in run.results)
    hello = run.hello
    who = f"{hello.name} {hello.version}".strip() if hello else "the testee"
    parts = [f"{counts[CaseOutcome.PASSED]:,} of {len(run.results):,} cases passed"]
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
