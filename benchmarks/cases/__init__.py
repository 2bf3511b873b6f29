"""The cases of the program, in the order of their tables."""

from __future__ import annotations

from importlib import import_module

from benchmarks.outcome import Case

_NAMES = (
    "columns",
    "public",
    "objects",
    "compressed",
    "fresh",
    "encode",
    "writer",
    "convert",
    "headers",
    "threads",
    "imports",
    "java",
    "languages",
    "dump",
    "json_lines",
    "messages",
    "find",
    "export",
    "records",
    "committed",
    "verify",
    "salvage",
    "cleaner",
    "redact",
    "memory",
    "tiered",
    "history",
    "protobuf",
    "avro",
    "typed",
    "lake",
    "json_values",
    "stats",
    "explorer",
)


def all_cases() -> list[Case]:
    """Each case."""
    cases: list[Case] = [import_module(f"benchmarks.cases.{name}").CASE for name in _NAMES]
    return cases
