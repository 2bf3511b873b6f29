"""The cases: all codecs pass them, and a decoder that is wrong does not."""

from __future__ import annotations

import lzma
import shutil
import sys
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kafkaspec.codecs import codec_names
from kafkaspec.conformance.cases import CATEGORIES, Case, CaseValue, Items, Refusal, same
from kafkaspec.conformance.dump_text import shown
from kafkaspec.conformance.goldens import GoldenError, golden_cases
from kafkaspec.conformance.process import Testee
from kafkaspec.conformance.protocol import ANSWERS, CaseFailure, Hello, RequestKind, encode_bytes
from kafkaspec.conformance.runner import CaseOutcome, Run
from kafkaspec.conformance.vectors import vector_cases
from kafkaspec.conformance.written import WrittenRecords
from tests.goldens import FULL, GOLDEN, VERSIONS, files, produced, release
from tests.loops import each

VECTORS = list(vector_cases())
_DUMPS_SNAPSHOTS = (3, 3)
"""The first release whose dump tool reads KRaft snapshots by their names."""


@pytest.mark.slow
@pytest.mark.parametrize("codec", codec_names())
def test_our_codecs_pass_all_cases(codec: str) -> None:
    """The last version only: ``make conformance`` takes all."""
    cases = [*VECTORS, *golden_cases(GOLDEN / VERSIONS[-1])]
    with Testee([sys.executable, "-m", "kafkaspec.conformance.testee", codec]) as testee:
        run = Run(testee)
        bad = [result for result in run.all(cases) if result.outcome is not CaseOutcome.PASSED]
    assert bad == []
    assert set(run.by_category()) == set(CATEGORIES)


@cache
def asked(version: str) -> dict[str, tuple[str, set[int]]]:
    """Categories of the golden cases of a version, and the offsets that they ask for, by id."""
    found = {}
    for case in golden_cases(GOLDEN / version):
        assert case.id not in found
        items = case.expected.items if isinstance(case.expected, Items) else None
        offsets = {item["offset"] for item in items or () if case.category == "segment"}
        found[case.id] = case.category, offsets
    return found


@pytest.mark.slow
def test_ids_are_unique_and_begin_with_a_category() -> None:
    ids = [case.id for case in VECTORS] + [name for version in VERSIONS for name in asked(version)]
    assert max(Counter(ids).values()) == 1
    assert {name.split("/")[0] for name in ids} == set(CATEGORIES)


@pytest.mark.slow
def test_every_golden_file_is_a_case() -> None:
    found = Counter(category for version in VERSIONS for category, _ in asked(version).values())
    unread = [file for file in files(".checkpoint") if release(file.version) < _DUMPS_SNAPSHOTS]
    assert found["segment"] == len(files(".log", ".checkpoint")) - len(unread)
    assert found["index"] == len(files(".index", ".timeindex", ".txnindex"))
    assert found["snapshot"] == len(files(".snapshot"))


@pytest.mark.parametrize("version", VERSIONS)
def test_every_acknowledged_record_is_asked_for(version: str) -> None:
    """But those that the cleaner has removed, which no file and no dump has."""
    wanted: dict[str, set[int]] = defaultdict(set)
    for case, (category, offsets) in asked(version).items():
        if category == "segment":
            wanted[case.split("/")[2]] |= offsets
    for directory, records in produced(version).items():
        there = {item["offset"] for item in records} & wanted[directory]
        if "compacted" not in directory:
            assert there == {item["offset"] for item in records}
        assert there


@pytest.mark.slow
def test_a_testee_gets_decompressed_what_it_cannot_decompress() -> None:
    """One item for each entry, and nothing where it is not needed."""
    path = f"segment/{FULL[-1]}/codec-mixed-0/{0:020}.log"
    case = next(case for case in golden_cases(GOLDEN / FULL[-1]) if case.id == path)
    able = Hello(
        "a", "", frozenset(RequestKind), frozenset({"none", "gzip", "snappy", "lz4", "zstd"}), True
    )
    assert "decompressed" not in case.request(able)
    given = case.request(Hello("a", "", frozenset(RequestKind), frozenset({"none", "gzip"}), True))
    some = given["decompressed"]
    everything = case.request(Hello("a", "", frozenset(RequestKind), frozenset({"none"}), True))
    all_of_them = everything["decompressed"]
    assert len(some) == len(all_of_them)
    assert 0 < sum(item is not None for item in some) < sum(i is not None for i in all_of_them)


# -- judging ---------------------------------------------------------------------------------------


def perfect(case: Case) -> dict[str, Any]:
    """The answer that the case wants."""
    match case.expected:
        case Refusal():
            return {"error": "no"}
        case Items(items):
            return {ANSWERS[case.kind]: [dict(item) for item in items or ()]}
        case WrittenRecords():
            return {"bytes": encode_bytes(case.expected.canonical)}
        case CaseValue(end, members):
            value: Any = {}
            for name, wanted in members.items():
                if not name:
                    value = wanted
                    continue
                *parents, last = name.split(".")
                inner = value
                for parent in parents:
                    inner = inner.setdefault(parent, {})
                inner[last] = wanted
            return {"value": value, "end": end}


@each("case", VECTORS[::7], lambda case: case.id)
def test_a_case_is_passed_by_its_answer_and_by_no_other(case: Case) -> None:
    answer = perfect(case)
    assert case.expected.failure(answer, case.kind) is None
    if isinstance(case.expected, Refusal):
        found = case.expected.failure({ANSWERS[case.kind]: []}, case.kind)
        assert found is not None
        assert found[0] is CaseFailure.ACCEPTED
        found = case.expected.failure({"error": "no", "reason": "unreadable"}, case.kind)
        assert found is not None
        assert found[0] is CaseFailure.WRONG_REASON
        return
    found = case.expected.failure({"error": "no"}, case.kind)
    assert found is not None
    assert found[0] is CaseFailure.REFUSED
    if isinstance(case.expected, CaseValue):
        found = case.expected.failure(answer | {"end": case.expected.end + 1}, case.kind)
    else:
        found = case.expected.failure({"records": [{}, {}, {}, {}]}, case.kind)
    assert found is not None
    assert found[0] is CaseFailure.WRONG


@pytest.mark.parametrize(
    ("name", "found", "wanted", "equal"),
    [
        ("timestamp", None, -1, True),
        ("timestamp", -1, -1, True),
        ("timestamp", None, 0, False),
        ("offset", "1", 1, False),
        ("offset", 1.0, 1, False),
        ("is_control", True, 1, True),
        ("key", None, "", False),
        ("headers", [["a2V5", None]], [["a2V5", None]], True),
        ("headers", [["a2V5", ""]], [["a2V5", None]], False),
        ("headers", [["a2V", None]], [["a2V5", None]], False),
        ("headers", [[None, None]], [["a2V5", None]], False),
        ("headers", [["a2V5"]], [["a2V5", None]], False),
        ("headers", [7], [["a2V5", None]], False),
        ("headers", [], [["a2V5", None]], False),
    ],
)
def test_equal_values(name: str, found: Any, wanted: Any, equal: bool) -> None:
    assert same(name, found, wanted) is equal


def test_header_keys_that_are_no_text_may_come_as_a_consumer_shows_them() -> None:
    key = b"a\xff\xfeb"
    java = "a\ufffd\ufffdb".encode()
    other = "a\ufffdb".encode()
    for text in (key, java, other):
        assert same("headers", [[encode_bytes(text), None]], [[encode_bytes(key), None]])
    assert shown(b"\xff") == "\ufffd"
    assert shown(b"\xffa") != shown(b"a\xff")


# -- folders that are none -------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small version: one partition of a real one."""
    source = GOLDEN / VERSIONS[-1]
    target = tmp_path / VERSIONS[-1]
    shutil.copytree(source / "logs" / "plain-0", target / "logs" / "plain-0")
    for path in source.glob("*.xz"):
        shutil.copy(path, target)
    return target


def test_a_folder_of_versions_and_the_folder_of_one(folder: Path) -> None:
    one = [case.id for case in golden_cases(folder)]
    assert one
    assert one == [case.id for case in golden_cases(folder.parent)]


@pytest.mark.parametrize("name", ["dump.tar.xz", "produced.jsonl.xz"])
@pytest.mark.parametrize("damage", ["missing", "cut", "no_xz", "nothing", "other"])
def test_damaged_evidence_is_an_error_that_says_so(folder: Path, name: str, damage: str) -> None:
    path = folder / name
    data = path.read_bytes()
    match damage:
        case "missing":
            path.unlink()
        case "cut":
            path.write_bytes(data[: len(data) // 2])
        case "no_xz":
            path.write_bytes(b"something else")
        case "nothing":
            path.write_bytes(b"")
        case _:
            path.write_bytes(lzma.compress(b'{"topic": []}\nsomething else\n' * 99))
    with pytest.raises(GoldenError, match=name):
        list(golden_cases(folder))


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(GoldenError):
        list(golden_cases(tmp_path))
