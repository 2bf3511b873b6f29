"""Specifications that are broken by chance: an error with its place, or code of each target."""

from __future__ import annotations

import random
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.specgen.edits import FAST, SPEC
from tests.specgen.mutations import donors_of, mutate
from tools.specgen import driver
from tools.specgen.document import SpecError
from tools.specgen.lint.rules import lint
from tools.specgen.loader import join, read_spec
from tools.specgen.model import Spec

pytestmark = pytest.mark.slow

ROUNDS = 1_500
GOOD = Path(__file__).parent / "good"


def documents() -> dict[str, Any]:
    return {
        path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in sorted((*SPEC.glob("*.ksy"), *GOOD.glob("*.ksy")))
    }


def needed(specs: dict[str, Spec], spec: Spec) -> tuple[Spec, ...]:
    """A specification and all that it imports, as far as that is there."""
    found = {spec.id: spec}
    pending = list(spec.imports)
    while pending:
        name = pending.pop()
        if name in specs and name not in found:
            found[name] = specs[name]
            pending += specs[name].imports
    return tuple(found[name] for name in sorted(found))


def outcome(specs: dict[str, Spec], name: str, document: Any) -> str:
    """Whether the loader or the linter refuses it, or everything is made of it."""
    try:
        model = join(needed(specs, read_spec(f"{name}.ksy", document)))
        problems = lint(model)
    except SpecError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert refusal.startswith(f"{name}.ksy"), refusal
        assert "\n" not in refusal
        return "loader"
    for problem in problems:
        assert problem.location.split("#")[0] in {spec.file_name for spec in model.specs}, problem
        assert problem.message, problem
    if problems:
        assert len(problems) == len(set(problems))
        return "linter"
    for emit in driver.emitters(FAST).values():
        emit(model)
    return "made"


def test_every_mutation_is_refused_or_made() -> None:
    """Each one is of one to three changes of the loaded YAML, drawn with its number as seed."""
    known = documents()
    donors = donors_of(list(known.values()))
    specs = {name: read_spec(f"{name}.ksy", document) for name, document in known.items()}
    # Most of them of small files, whose code is made in no time.
    names = [
        name
        for name in known
        for _ in range(1 if name in ("recordbatch", "control_record") else 20)
    ]
    found: Counter[str] = Counter()
    for number in range(ROUNDS):
        chance = random.Random(number)
        name = chance.choice(names)
        document = deepcopy(known[name])
        changes = [mutate(chance, document, donors) for _ in range(chance.choice((1, 1, 2, 3)))]
        try:
            found[outcome(specs, name, document)] += 1
        except Exception as error:
            error.add_note(f"mutation {number} of {name}: {'; '.join(changes)}")
            raise
    assert min(found[result] for result in ("loader", "linter", "made")) > ROUNDS // 20, found
