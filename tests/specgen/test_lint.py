"""Each rule against a specification that breaks it in one place: exact place and message."""

from __future__ import annotations

import re
import shutil
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from tests.specgen.edits import HOUSE, SPEC, Edit, Files, edit_spec, type_of
from tests.specgen.lint_conventions import CONVENTIONS
from tests.specgen.lint_edits import EDITS, MESSAGES, Case
from tests.specgen.lint_library import LIBRARY
from tests.specgen.lint_shapes import SHAPES
from tests.specgen.lint_subset import MESSAGE, SUBSET
from tools.drafts.text import dump
from tools.specgen.lint.problem import Problem
from tools.specgen.lint.rules import lint
from tools.specgen.loader import join, load, read_spec, spec_files

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SAMPLE = (HERE / "good" / "sample.ksy").read_text(encoding="utf-8")

CASES = SUBSET + CONVENTIONS + SHAPES
ALL_EDITS = [*EDITS, *LIBRARY]


def shown(found: list[Problem]) -> list[str]:
    return [f"{problem.location}: {problem.rule}: {problem.message}" for problem in found]


def problems(directory: Path) -> list[str]:
    return shown(lint(load(directory, HOUSE)))


@pytest.mark.slow
def test_the_specification_is_clean() -> None:
    assert problems(ROOT / "spec") == []


def test_the_sample_is_clean() -> None:
    assert problems(HERE / "good") == []


@pytest.mark.parametrize(
    ("old", "new", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_rule(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    assert SAMPLE.count(old) == 1, "the sample has changed: mend the case"
    (tmp_path / "sample.ksy").write_text(SAMPLE.replace(old, new), encoding="utf-8")
    assert problems(tmp_path) == expected


@pytest.fixture(scope="module")
def documents() -> Files:
    """The specification, with a few of Kafka's messages."""
    found = {}
    for name, path in spec_files(SPEC).items():
        name = name.removesuffix(".ksy")
        if not name.startswith("messages/") or name in MESSAGES:
            found[name] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", ALL_EDITS, ids=lambda case: case.name)
def test_edit_is_refused(documents: Files, case: Case) -> None:
    """The edit alone is at fault: without it, the same files are clean."""
    files = deepcopy(documents)
    case.apply(files)
    specs = (read_spec(f"{name}.ksy", yaml.safe_load(dump(node))) for name, node in files.items())
    model = join(tuple(sorted(specs, key=lambda spec: spec.id)), HOUSE)
    assert shown(lint(model)) == case.expected


def test_s7_stream(tmp_path: Path) -> None:
    (tmp_path / "sample.ksy").write_text(SAMPLE.replace("_io.eof", "_io.end"), encoding="utf-8")
    assert f"{MESSAGE}/seq/9: S7: valid: of _io only eof, pos and size may be used" in problems(
        tmp_path
    )


def test_s7_parameters_across_files(tmp_path: Path) -> None:
    (tmp_path / "sample.ksy").write_text(SAMPLE, encoding="utf-8")
    other = (
        SAMPLE.replace("id: sample\n", "id: other\n")
        .replace("  endian: be\n", "  imports:\n    - sample\n  endian: be\n", 1)
        .replace("message(magic)", "sample::message(magic)")
        .replace(
            "        type: u1\n        doc: Version that",
            "        type: sample::frame\n        doc: X",
        )
    )
    (tmp_path / "other.ksy").write_text(other, encoding="utf-8")
    assert problems(tmp_path) == [
        "other.ksy#/types/choice/seq/0: S7: message of another file takes parameters; "
        "move the types together",
        "other.ksy#/types/message: S7: parameter version is a type of another file; "
        "move the types together",
    ]


def test_every_rule_has_a_case() -> None:
    expected = [case[3] for case in CASES] + [case.expected for case in ALL_EDITS]
    tested = {message.split(": ")[1] for messages in expected for message in messages}
    documented = {
        line.split("|")[1].strip()
        for line in (ROOT / "spec" / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("|") and re.search(r"`[a-z]+\.py`", line)
    }
    assert tested == documented


@pytest.mark.slow
def test_nothing_follows_the_message_of_an_entry(tmp_path: Path) -> None:
    """Readers take all that is left of an entry for its message."""
    shutil.copytree(ROOT / "spec", tmp_path / "spec")

    def trailer(files: Files) -> None:
        field = {"id": "trailer", "-default": "0", "type": "s4", "doc": "A field at the end."}
        type_of(files, "recordbatch.entry")["seq"].append(field)

    edit_spec(tmp_path / "spec", Edit("trailer", trailer))
    assert problems(tmp_path / "spec") == [
        "recordbatch.ksy#/types/entry/seq/3: shape: message reaches to the end of an entry of a "
        "log; put trailer before it"
    ]
