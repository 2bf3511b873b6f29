"""The generated corpus: complete, the same for a seed, and what every codec says of it."""

from __future__ import annotations

import json
import re
import sys
import weakref
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from kafkaspec._generated.layout.texts import TEXTS
from kafkaspec.codecs import codec_names
from kafkaspec.conformance import stored
from kafkaspec.conformance.cases import Case, CaseValue, Items, Refusal
from kafkaspec.conformance.process import Testee
from kafkaspec.conformance.protocol import RequestKind
from kafkaspec.conformance.runner import Run
from kafkaspec.conformance.stored import LIST, StoredError, read_cases, write_cases
from kafkaspec.conformance.vectors import vector_cases
from kafkaspec.generation.corpus import corpus, random_cases
from kafkaspec.generation.features import FACTORS, FORBIDDEN
from kafkaspec.generation.goals import coverage, goals
from kafkaspec.generation.pairs import LevelPair, covering, pairs_of, possible_pairs, random_row
from kafkaspec.generation.quirks import ELSEWHERE, quirk_goals
from kafkaspec.output.atomic import DirectoryAside
from tests.cli.helpers import ROOT, run

MOST_FILES, MOST_BYTES = 2000, 2 << 20


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return list(corpus(0))


def started(codec: str) -> Testee:
    return Testee([sys.executable, "-m", "kafkaspec.conformance.testee", codec], timeout=300)


@pytest.mark.slow
def test_everything_is_covered(cases: list[Case]) -> None:
    found = coverage(goals(vector_cases()), cases)
    assert {item.goal: item.missing for item in found if item.missing} == {}
    assert len({case.id for case in cases}) == len(cases)


@pytest.mark.slow
@pytest.mark.parametrize("codec", codec_names())
def test_codecs_agree_with_every_verdict(cases: list[Case], codec: str) -> None:
    with started(codec) as process:
        failed = [result for result in Run(process).all(cases) if result.failure]
    assert [(result.case.id, result.detail) for result in failed] == []


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["native", "python"])
def test_codecs_agree_with_random_cases(codec: str) -> None:
    cases = list(random_cases(300, 7))
    assert cases == list(random_cases(300, 7)) != list(random_cases(300, 8))
    with started(codec) as process:
        failed = [result for result in Run(process).all(cases) if result.failure]
    assert [(result.case.id, result.detail) for result in failed] == []


@pytest.mark.slow
def test_random_rows_have_what_is_rare() -> None:
    possible = frozenset(possible_pairs(FACTORS, FORBIDDEN))
    reached = []
    for forget in (False, True):
        seen, times, chance = set[LevelPair](), Counter[LevelPair](), Random(5)
        for _ in range(200):
            seen.update(pairs_of(random_row(FACTORS, possible, times, chance)))
            if forget:
                times.clear()
        assert seen <= possible
        reached.append(len(seen))
    assert reached[0] > reached[1]


def test_every_quirk_is_a_goal_or_elsewhere() -> None:
    text = (ROOT / "docs" / "quirks.md").read_text(encoding="utf-8")
    numbers = sorted(map(int, re.findall(r"^### .*Q(\d+): ", text, re.MULTILINE)))
    goals = {int(goal.removeprefix("quirk Q")) for goal in quirk_goals()}
    assert sorted(goals | ELSEWHERE.keys()) == numbers
    assert not goals & ELSEWHERE.keys()


def wrong(case: Case) -> Iterator[Case]:
    """The case with each part of its verdict changed."""
    expected = case.expected
    if isinstance(expected, Refusal):
        yield replace(case, expected=Items(None))
        if case.kind == "type" or (case.kind == "text" and expected.path):
            yield replace(case, expected=replace(expected, path=f"{expected.path}/other"))
            place = expected.position or 0
            yield replace(case, expected=replace(expected, position=place + 1))
        elif expected.position is not None:
            yield replace(case, expected=replace(expected, position=expected.position + 1))
        if expected.reasons:
            yield replace(case, expected=replace(expected, reasons=frozenset({"unencodable"})))
    elif isinstance(expected, CaseValue):
        yield replace(case, expected=Refusal())
        yield replace(case, expected=replace(expected, end=expected.end + 1))
        for name in expected.members:
            members = {**expected.members, name: "no such value"}
            yield replace(case, expected=replace(expected, members=members))
    else:
        yield replace(case, expected=Refusal())
        items = list(expected.items or ())
        yield replace(case, expected=Items([*items, {}]))
        for name in items[0] if items else ():
            yield replace(case, expected=Items([{**items[0], name: "no such"}, *items[1:]]))


@pytest.mark.slow
def test_each_change_of_a_verdict_is_noticed(cases: list[Case]) -> None:
    changed = [each for case in cases[::7] for each in wrong(case)]
    with started("native") as process:
        passed = [result.case for result in Run(process).all(changed) if not result.failure]
    assert passed == []


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(cases: list[Case]) -> None:
    assert list(corpus(0)) == cases
    other = list(corpus(1))
    assert other != cases
    assert coverage(goals(vector_cases()), other) == coverage(goals(vector_cases()), cases)


@pytest.mark.slow
def test_stored_cases_are_read_as_they_were(cases: list[Case], tmp_path: Path) -> None:
    with DirectoryAside(tmp_path / "cases", sync=False) as aside:
        sums = write_cases(cases, aside)
    sizes = [path.stat().st_size for path in (tmp_path / "cases").rglob("*") if path.is_file()]
    assert sums == (len(sizes), sum(sizes))
    assert len(sizes) <= MOST_FILES
    assert sum(sizes) <= MOST_BYTES
    assert list(read_cases(tmp_path / "cases")) == cases


@pytest.mark.slow
def test_random_cases_share_files_and_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "_PIECE", 20_000)
    alive: weakref.WeakSet[Case] = weakref.WeakSet()
    most = 0

    class Kept(Case):
        """A case that can be counted while it is there."""

        __hash__ = object.__hash__

    def watched() -> Iterator[Case]:
        nonlocal most
        for case in random_cases(600, 4):
            each = Kept(**{item.name: getattr(case, item.name) for item in fields(Case)})
            alive.add(each)
            most = max(most, len(alive))
            yield each

    with DirectoryAside(tmp_path / "cases", sync=False) as aside:
        files, _ = write_cases(watched(), aside)
    assert most < 10
    assert files < 60
    assert max(path.stat().st_size for path in (tmp_path / "cases" / "random").iterdir()) < 30_000
    assert list(read_cases(tmp_path / "cases")) == list(random_cases(600, 4))


@pytest.mark.slow
def test_random_cases_are_of_every_kind_and_rare_forms_come_first() -> None:
    cases = list(random_cases(500, 4))
    kinds = Counter(case.kind for case in cases)
    assert kinds.keys() >= set(RequestKind) - {
        RequestKind.COMMITTED_RECORDS, RequestKind.ENCODE, RequestKind.BATCH, RequestKind.TYPE
    }  # fmt: skip
    assert kinds[RequestKind.LOG] > len(cases) // 2
    texts = Counter(case.extra["file"] for case in cases if case.kind is RequestKind.TEXT)
    assert texts.keys() == TEXTS.keys()
    assert max(texts.values()) - min(texts.values()) < 6


def test_covering_has_every_possible_pair() -> None:
    factors = {"a": ("0", "1", "2"), "b": ("x", "y"), "c": ("p", "q"), "d": ("m", "n")}
    forbidden = frozenset(
        {frozenset({("a", "1"), ("b", "y")}), frozenset({("c", "q"), ("b", "x")})}
    )
    rows = covering(factors, forbidden, Random(3))
    found = Counter(pair for row in rows for pair in pairs_of(row))
    assert not found.keys() & forbidden
    # a=1 needs b=x, which c=q does not go with: so do a=1 and c=q not.
    never = forbidden | {frozenset({("a", "1"), ("c", "q")})}
    every = {
        frozenset({(one, level), (other, second)})
        for one, other in combinations(factors, 2)
        for level in factors[one]
        for second in factors[other]
    }
    assert found.keys() == every - never == set(possible_pairs(factors, forbidden))
    assert len(rows) < 10


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"file": "../secret"}, "not in the folder"),
        ({"file": "absent"}, "No such file"),
        ({"size": 99}, "has no 99 bytes at 0"),
        ({"position": -1}, "has no 1 bytes at -1"),
        ({"verdict": "perhaps"}, "not accept or reject"),
        ({"kind": "song"}, "'song' is not a valid RequestKind"),
        ({"reasons": ["too_long"]}, "'too_long' is not a valid Reason"),
        ({"verdict": "accept", "items": 7}, "items is 7, not a list"),
        (
            {"reason": "truncated"},
            "line 1: unknown member reason; there are checksum, cov",
        ),
    ],
)
def test_a_wrong_list_is_refused(tmp_path: Path, change: dict[str, object], text: str) -> None:
    line = {
        "id": "log/x", "kind": "log", "file": "x.log", "position": 0, "size": 1,
        "verdict": "reject", "reasons": [],
    }  # fmt: skip
    (tmp_path / "x.log").write_bytes(b"x")
    (tmp_path / LIST).write_text(json.dumps(line | change), encoding="utf-8")
    with pytest.raises(StoredError, match=text):
        list(read_cases(tmp_path))


def test_an_empty_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / LIST).touch()
    with pytest.raises(StoredError, match="lists no case"):
        list(read_cases(tmp_path))


@pytest.mark.slow
def test_the_command_writes_a_folder_that_conform_takes(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    made = run("generate", folder, "--format", "json")
    assert made.exit_code == 0, made.output
    lines = [json.loads(line) for line in made.stdout.splitlines()]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert lines[-1]["files"] == len(files)
    assert lines[-1]["bytes"] == sum(path.stat().st_size for path in files)
    assert all(line["covered"] == line["total"] for line in lines if line["type"] == "coverage")
    judged = run("conform", "--codec", "native", "--cases", folder, "--only", "log/*")
    assert judged.exit_code == 0, judged.output
    again = run("generate", folder)
    assert again.exit_code == 2
    assert "exists already" in again.stderr


@pytest.mark.slow
def test_conform_names_a_damaged_list(tmp_path: Path) -> None:
    (tmp_path / LIST).write_text("{}\n", encoding="utf-8")
    result = run("conform", "--codec", "native", "--cases", tmp_path)
    assert result.exit_code == 2
    assert f"{LIST}, line 1, is not valid: KeyError('file')" in result.stderr
