"""``python -m tools.conformance``: run all decoders over all cases, and write the page about it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Final

import click

from kafkaspec.cli.commands.conform import show_run
from kafkaspec.cli.report import Reporter
from kafkaspec.conformance.cases import Case
from kafkaspec.conformance.goldens import committed_cases, golden_cases
from kafkaspec.conformance.made import made_cases
from kafkaspec.conformance.process import DEFAULT_TIMEOUT, Testee
from kafkaspec.conformance.protocol import CaseFailure
from kafkaspec.conformance.resource import resource_cases
from kafkaspec.conformance.runner import CaseOutcome, Result, Run, read_expected
from kafkaspec.conformance.vectors import vector_cases
from tools.brokers.maven import MissingToolError, ToolError
from tools.conformance import page
from tools.conformance.adapters import ADAPTERS, GOLDEN, VERSIONS, Adapter
from tools.conformance.faults import REPORTED, own_cases, shown
from tools.conformance.kaitai import ROOT
from tools.specgen.kaitai.emit import CompilerMissing

_PATIENCE: Final = 60.0
"""Seconds for an answer of a decoder that is not known to hang: on a slow, busy machine,
kafka-python needed more than 10 to decompress a bomb up to the memory limit."""
_PUT: Final = (CaseOutcome.PASSED, CaseOutcome.FAILED, CaseOutcome.EXPECTED_FAILURE)
"""What a case counts as that the decoder answered."""


@click.command()
@click.argument("names", nargs=-1, metavar="[DECODER]...")
@click.option("--check", is_flag=True, help="Write nothing; fail if the stored results differ.")
@click.option("--all", "everyone", is_flag=True, help="Run all whose tools are installed.")
@click.option("--page", "only_page", is_flag=True, help="Write the page from the stored results.")
@click.pass_context
def main(
    ctx: click.Context, names: tuple[str, ...], check: bool, everyone: bool, only_page: bool
) -> None:
    """Run the conformance kit on the decoders of this project, by default on all that CI runs, and
    store the results with the page that shows them.

    Exit codes: 0 all as expected, 1 not, 2 wrong usage.
    """
    known = [adapter.name for adapter in ADAPTERS]
    if unknown := [name for name in names if name not in known]:
        raise click.UsageError(f"no {', '.join(unknown)}; there are {', '.join(known)}")
    os.chdir(ROOT)  # where testees in Python are found
    stored = {result["adapter"]: result for result in page.load()}
    if only_page:
        page.PAGE.write_text(page.render(list(stored.values())), encoding="utf-8")
        return
    cases = all_cases()
    bad = False
    for adapter in ADAPTERS:
        if adapter.name not in names if names else not (everyone or adapter.always):
            continue
        try:
            run = run_adapter(adapter, cases)
        except MissingToolError as error:
            if not everyone:
                raise click.ClickException(f"{adapter.name}: {error}") from None
            click.echo(f"{adapter.name}: not run: {error}")
            continue
        except (ToolError, CompilerMissing) as error:
            raise click.ClickException(f"{adapter.name}: {error}") from None
        click.echo(f"{adapter.name}:")
        show_run(Reporter(ctx, "text"), run)
        bad |= not run.as_expected
        result = result_of(adapter, run)
        if check and _counts(result) != _counts(stored.get(adapter.name)):
            click.echo(f"{adapter.name}: the stored results differ; run make conformance")
            bad = True
        if not check and run.as_expected:
            page.store(result)
    if not check and not bad:
        page.PAGE.write_text(page.render(page.load()), encoding="utf-8")
    ctx.exit(int(bad))


def all_cases() -> list[Case]:
    """Return the cases that are made, hostile ones, and those of the brokers of ``VERSIONS``."""
    cases = [*vector_cases(), *made_cases(), *resource_cases()]
    for version in VERSIONS:
        cases += [*golden_cases(GOLDEN / version), *committed_cases(GOLDEN / version)]
    return cases


def run_adapter(adapter: Adapter, cases: Sequence[Case]) -> Run:
    """Build a testee and put all cases to it.

    Raises:
        ToolError: a tool is missing or fails.
        CompilerMissing: the compiler of Kaitai Struct cannot be run.
    """
    expected = read_expected(adapter.expected) if adapter.expected else []
    hangs = any(item.failure is CaseFailure.TIMED_OUT for item in expected)
    with Testee(adapter.command(), timeout=DEFAULT_TIMEOUT if hangs else _PATIENCE) as testee:
        run = Run(testee, expected)
        for _ in run.all([*cases, *own_cases(adapter.faults)]):
            pass
    return run


def result_of(adapter: Adapter, run: Run) -> dict[str, Any]:
    """Return the values of a run to store."""
    assert run.hello is not None
    return {
        "adapter": adapter.name,
        "title": adapter.title,
        "version": run.hello.version,
        "specification": page.specification(),
        "date": date.today().isoformat(),
        "levels": replace(run, results=_of_the_kit(run)).summary()["levels"],
        "classes": _classes(run),
        "expected": [
            {
                "pattern": item.pattern,
                "failure": item.failure.value,
                "why": item.why,
                "cases": sum(result.expected is item for result in run.results),
            }
            for item in run.expected
        ],
        "faults": _shown_faults(adapter, run),
    }


def _of_the_kit(run: Run) -> list[Result]:
    """Return the results of the cases that every decoder gets."""
    return [result for result in run.results if result.case.category != REPORTED]


def _classes(run: Run) -> dict[str, dict[str, list[int]]]:
    """Return by level and class how many cases passed, and how many were put; also for segments, by
    the version of the broker, with those whose payload was given."""
    counts: dict[str, dict[str, Counter[bool]]] = {}
    for result in _of_the_kit(run):
        case, places = result.case, []
        if run.counted(result) in _PUT:
            places.append((case.level.value, page.class_of(case)))
        if case.category == page.SEGMENTS and result.outcome in _PUT:
            places.append((page.SEGMENTS, page.version_of(case)))
        for level, name in places:
            of = counts.setdefault(level, {}).setdefault(name, Counter())
            of[result.outcome is CaseOutcome.PASSED] += 1
    return {
        level: {name: [count[True], count.total()] for name, count in of.items()}
        for level, of in counts.items()
    }


def _shown_faults(adapter: Adapter, run: Run) -> dict[str, dict[str, str]]:
    """Return by case the bytes and the answer that show each fault."""
    results = {result.case.id: result for result in run.results}
    return {
        fault.case: {
            "hex": shown(results[fault.case].case),
            "type": results[fault.case].case.extra.get("type", ""),
            "answer": results[fault.case].detail,
        }
        for fault in adapter.faults
    }


def _counts(result: dict[str, Any] | None) -> Any:
    """Return the values that must be equal: versions of packages may differ."""
    return result and (result["classes"], result["expected"])


if __name__ == "__main__":
    main()
