"""Check the specification against the rules of spec/README.md.

Each rule is a function in one of the other modules of this package; they see the model only.
"""

from __future__ import annotations

from tools.specgen.lint import (
    derive,
    docs,
    files,
    library,
    messages,
    names,
    shapes,
    structure,
    style,
    types,
)
from tools.specgen.lint.problem import Problem
from tools.specgen.model import Model

__all__ = ["Problem", "lint"]


def lint(model: Model) -> list[Problem]:
    """Return all problems, sorted by file and place; none for a clean specification."""
    problems = set(names.check(model))
    # A type inside itself has no size, and the other rules would not end.
    if not any(problem.rule == "recursion" for problem in problems):
        # What uses an unknown name has no bounds either: each place is reported once.
        reported = {problem.location for problem in problems if problem.rule == "name"}
        for module in (structure, derive):
            problems |= {p for p in module.check(model) if p.location not in reported}
        # With these faults there are no kinds and shapes to check.
        for module in (types, shapes, *([library, files] if model.house.library else [])):
            if not problems:
                problems.update(module.check(model))
        for module in (style, docs, messages):
            problems.update(module.check(model))
    return sorted(problems, key=_order)


def _order(problem: Problem) -> tuple[list[tuple[int, str]], str, str]:
    # /seq/10 comes after /seq/9.
    parts = problem.location.replace("#", "/").split("/")
    place = [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
    return place, problem.rule, problem.message
