"""With each option, and on files that are damaged, the text is what tools of some releases said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dumplog import cases
from tests.goldens import release


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dumplog")
    cases.prepare(directory)
    return directory


@pytest.mark.slow
@pytest.mark.parametrize("version", cases.read_answers())
def test_text_and_reports_are_those_of_the_tool(version: str, files: Path) -> None:
    answers, wrong = cases.read_answers()[version], []
    for case in cases.CASES:
        if release(version) >= case.since:
            mine, code = cases.ours(files, version, case)
            wrong += cases.differences(case, answers[str(case)], mine, code)
    assert wrong == []
    assert len(answers) > 50


@pytest.mark.slow
def test_answers_of_other_releases_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run with some releases writes theirs beside those of others."""
    before = cases.read_answers()
    copy = tmp_path / cases.ANSWERS.name
    copy.write_bytes(cases.ANSWERS.read_bytes())
    monkeypatch.setattr(cases, "ANSWERS", copy)
    added = {"2.0.1": {"a case": cases.Answer("out", "", ended=True)}}
    cases.write_answers(added)
    assert cases.read_answers() == before | added
