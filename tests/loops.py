"""Thousands of like cases as one test: all of them run, and the message names those that fail."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable, Iterable
from functools import cache, wraps
from typing import Any, TypeVar

import pytest

SHOWN = 20

_Test = TypeVar("_Test", bound=Callable[..., None])


def each(
    names: str, cases: Iterable[Any], ids: Callable[[Any], str] = str
) -> Callable[[_Test], _Test]:
    """Run a test for each case, as ``pytest.mark.parametrize`` does, but as one test.

    All cases run. The first failures are shown, each with the name of its case. A loop without
    cases fails. A test with ``tmp_path`` gets a folder of its own for each case.

    Args:
        names: names of the arguments, separated by commas; with more than one, cases are tuples.
        cases: their values; a generator is consumed by the test, not when tests are collected.
        ids: returns the name of a case.
    """
    arguments = [name.strip() for name in names.split(",")]

    @cache
    def everything() -> list[Any]:
        return list(cases)

    def decorate(test: _Test) -> _Test:
        @wraps(test)
        def loop(**fixtures: Any) -> None:
            __tracebackhide__ = True
            failed = 0
            failures: list[tuple[str, BaseException]] = []
            for number, case in enumerate(everything()):
                values = (case,) if len(arguments) == 1 else case
                given = fixtures | dict(zip(arguments, values, strict=True))
                if "tmp_path" in fixtures:
                    given["tmp_path"] = fixtures["tmp_path"] / str(number)
                    given["tmp_path"].mkdir()
                try:
                    test(**given)
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
                    failed += 1
                    if len(failures) < SHOWN:
                        failures.append((ids(case), error))
                else:
                    if "tmp_path" in fixtures:
                        shutil.rmtree(given["tmp_path"])
            assert everything(), "no cases"
            if failures:
                summary = f"{failed} of {len(everything())} cases failed:"
                raise AssertionError(_message(summary, failures, failed)) from failures[0][1]

        signature = inspect.signature(test)
        loop.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[
                parameter
                for name, parameter in signature.parameters.items()
                if name not in arguments
            ]
        )
        return loop  # type: ignore[return-value]

    return decorate


def _message(summary: str, failures: list[tuple[str, BaseException]], failed: int) -> str:
    lines = [summary]
    for name, error in failures:
        text = str(error) if isinstance(error, AssertionError) else repr(error)
        lines.append(f"{name}: " + text.replace("\n", "\n    "))
    if failed > len(failures):
        lines.append(f"... and {failed - len(failures)} more")
    return "\n".join(lines)
