"""The document: numbers stay, each rule names tests that exist, each layout has a section."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from kafkaspec.conformance.levels import CaseLevel
from tests.pages import ROOT
from tools.document import source
from tools.document.__main__ import INTO, differences, made, problems
from tools.document.shown import missing
from tools.specgen.document import SpecError
from tools.specgen.loader import load

DOCUMENT = source.read()
Edit = Callable[[str], str]


@cache
def files() -> dict[str, str]:
    return made()


@pytest.mark.slow
def test_pages_are_made_from_the_specification() -> None:
    # Do they differ? python -m tools.document
    assert differences(files()) == []
    assert problems() == []
    assert source.new(DOCUMENT, source.taken()) == {}


def edited(tmp_path: Path, name: str, edit: Edit) -> Path:
    folder = tmp_path / "document"
    shutil.copytree(source.FOLDER, folder)
    text = (folder / name).read_text(encoding="utf-8")
    assert edit(text) != text
    (folder / name).write_text(edit(text), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "edit", "problem"),
    [
        (
            "sections.yaml",
            lambda text: text.replace("'4.2', id: entry", "'4.99', id: entry"),
            "4.2 (entry) is gone; bring it back, and mark it withdrawn",
        ),
        (
            "sections.yaml",
            lambda text: text.replace("id: entry,", "id: new,"),
            "4.2 is entry, not new; take the next number",
        ),
        (
            "rules.yaml",
            lambda text: text.replace("    R14:", "    R999:"),
            "R14 (end-of-log) is gone; bring it back, and mark it withdrawn",
        ),
    ],
)
@pytest.mark.slow
def test_a_number_that_moves_is_noticed(
    name: str, edit: Edit, problem: str, tmp_path: Path
) -> None:
    document = source.read(edited(tmp_path, name, edit))
    assert problem in source.moved(document, source.taken())


@pytest.mark.parametrize(
    ("name", "edit", "problem"),
    [
        (
            "sections.yaml",
            lambda text: text.replace("'4.2', id: entry", "'4.3', id: entry"),
            "the number 4.3 is there twice",
        ),
        (
            "sections.yaml",
            lambda text: text.replace("'4.2', id: entry", "'5.9', id: entry"),
            "5.9 is not a number of this chapter; write 4.N",
        ),
        (
            "sections.yaml",
            lambda text: text.replace("each other. The magic", "each other. It MUST be. The magic"),
            "the text of 4 binds; make it a rule",
        ),
        (
            "rules.yaml",
            lambda text: text.replace("A reader MUST ignore the key", "Ignore the key"),
            "R33 does not bind",
        ),
        (
            "rules.yaml",
            lambda text: re.sub(r"(?<=of a wrapper\.\n)      tests:\n(        - .*\n)+", "", text),
            "R33 names no test",
        ),
        (
            "rules.yaml",
            lambda text: text.replace("section: order", "section: disorder"),
            "not a section",
        ),
        ("rules.yaml", lambda text: text.replace("[remote-reader]", "[reader]"), "not a profile"),
        (
            "document.yaml",
            lambda text: text.replace("\nversion: 1.0.0-draft.1", "\nversion: 2.0.0"),
            "no entry in changes",
        ),
        ("numbers.txt", lambda text: text + "4.2 entry\n", "a number is there twice"),
        ("numbers.txt", lambda text: text + "4.99\n", "not a number and an id"),
    ],
)
@pytest.mark.slow
def test_what_contradicts_itself_is_refused(
    name: str, edit: Edit, problem: str, tmp_path: Path
) -> None:
    folder = edited(tmp_path, name, edit)
    with pytest.raises(SpecError, match=re.escape(problem)):
        source.moved(source.read(folder), source.taken(folder))


@pytest.mark.slow
def test_a_test_that_does_not_exist_is_noticed(tmp_path: Path) -> None:
    folder = edited(
        tmp_path,
        "rules.yaml",
        lambda text: text.replace("::test_an_empty_file_is_an_empty_log", "::test_nothing"),
    )
    assert list(missing(source.read(folder))) == [
        "R13 names tests/log/test_tail.py::test_nothing, which is not a test"
    ]
    folder = edited(
        tmp_path / "other",
        "rules.yaml",
        lambda text: text.replace("test_tail.py", "test_head.py", 1),
    )
    (found,) = missing(source.read(folder))
    assert found.endswith("tests/log/test_head.py, which is not there")


@pytest.mark.slow
def test_pytest_collects_each_test_that_a_rule_names() -> None:
    named = sorted({test for rule in DOCUMENT.rules for test in rule.tests})
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-m", "", *named],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    collected = {line.partition("[")[0] for line in done.stdout.splitlines()}
    assert [test for test in named if test not in collected] == []


def test_every_sentence_that_binds_is_a_rule_with_a_test() -> None:
    for name, text in files().items():
        outside = []
        for paragraph in text.split("\n\n"):
            if source.BINDING.search(paragraph) and "The key words" not in paragraph:
                rule = re.match(r'<a id="r\d+"></a>\*\*R\d+\*\* ', paragraph)
                outside += [] if rule else [paragraph]
        assert outside == [], name
        for shown in re.findall(r'(?<=\n\n)<a id="r\d+"></a>.*?\n\n(.*?)(?=\n\n)', text, re.S):
            assert re.fullmatch(r"> For: .*\. Shown by \[`test_\w+\.py::test_\w+`\].*", shown)


@pytest.mark.slow
def test_every_structure_has_a_section() -> None:
    model = load(ROOT / "spec")
    shown = {section.what for section in DOCUMENT.sections()}
    expected = {
        f"{spec.id}.{type_.name}"
        for spec in model.specs
        if "/" not in spec.file_name and spec.id not in ("enumeration",)
        for type_ in spec.types
        if type_.fields and f"{spec.id}.{type_.name}" != "control_record.control_record"
    }
    assert expected - shown == set()
    folders = {spec.file_name.split("/")[1] for spec in model.specs if spec.is_message}
    assert folders - shown == set()


def test_profiles_are_tied_to_levels_of_the_kit() -> None:
    named = [level for profile in DOCUMENT.profiles for level in profile.levels]
    assert set(named) == {str(level) for level in CaseLevel}
    for profile in DOCUMENT.profiles:
        rules = [rule for rule in DOCUMENT.rules if profile.id in rule.profiles]
        assert rules, profile


def test_anchors_are_there_once_and_links_lead_to_them() -> None:
    anchors = {name: re.findall(r'<a id="([^"]+)"', text) for name, text in files().items()}
    for name, found in anchors.items():
        assert [each for each, count in Counter(found).items() if count > 1] == [], name
    for name, text in files().items():
        for link in re.findall(r"\]\(([^)]*)\)", text):
            file, _, anchor = link.partition("#")
            if file.startswith("https:"):
                continue
            there = (INTO / (file or name)).resolve()
            assert there.exists(), link
            if anchor and there.parent == INTO:
                assert anchor in anchors[there.name], (name, link)


def test_the_citation_is_one(tmp_path: Path) -> None:
    schema = pytest.importorskip("yaml").safe_load(files()["CITATION.cff"])
    assert schema["version"] == DOCUMENT.facts["version"]
    assert schema["preferred-citation"]["type"] == "standard"
