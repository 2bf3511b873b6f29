"""The conformance kit: any decoder that speaks a small protocol, over vectors and segments.

``docs/conformance-protocol.md`` says what a testee has to understand, ``kafkaspec conform`` runs
one.
Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkaspec.conformance.cases import Case
    from kafkaspec.conformance.expected import ExpectedFailure, read_expected
    from kafkaspec.conformance.goldens import golden_cases
    from kafkaspec.conformance.process import Testee
    from kafkaspec.conformance.runner import Result, Run
    from kafkaspec.conformance.serving import serve
    from kafkaspec.conformance.vectors import vector_cases

_HOMES = {
    "Case": "cases",
    "ExpectedFailure": "expected",
    "Result": "runner",
    "Run": "runner",
    "Testee": "process",
    "golden_cases": "goldens",
    "read_expected": "expected",
    "serve": "serving",
    "vector_cases": "vectors",
}

__all__ = [
    "Case",
    "ExpectedFailure",
    "Result",
    "Run",
    "Testee",
    "golden_cases",
    "read_expected",
    "serve",
    "vector_cases",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"kafkaspec.conformance.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
