"""The runner against testees that behave, lie, hang, die and talk nonsense."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kafkaspec.conformance.cases import Case, Items, Refusal
from kafkaspec.conformance.process import StartError, Testee
from kafkaspec.conformance.protocol import CaseFailure, RequestKind
from kafkaspec.conformance.runner import (
    CaseOutcome,
    ExpectedFailure,
    ExpectedFailuresError,
    Run,
    parse_expected,
    read_expected,
)

FAKE = Path(__file__).parent / "fake_testee.py"

GOOD = Items([{"producer_id": 4}])
CASES = [
    Case("index/first", RequestKind.TRANSACTION_INDEX, b"1", GOOD),
    Case("index/second", RequestKind.TRANSACTION_INDEX, b"2", GOOD),
    Case("index/third", RequestKind.TRANSACTION_INDEX, b"3", GOOD),
    Case("segment/refused", RequestKind.LOG, b"no log", Refusal()),
]


def run(mode: str, *expected: ExpectedFailure, timeout: float = 20.0, partial: bool = False) -> Run:
    """All cases, with a testee that does this on the second one."""
    command = [sys.executable, str(FAKE), mode, "second"]
    with Testee(command, timeout=timeout, max_answer=1 << 20) as testee:
        done = Run(testee, expected, partial=partial)
        list(done.all(CASES))
    assert [result.case for result in done.results] == CASES
    return done


def outcomes(done: Run) -> list[CaseOutcome]:
    return [result.outcome for result in done.results]


@pytest.mark.parametrize("mode", ["good", "complains"])
def test_a_testee_that_knows_the_answers(mode: str) -> None:
    done = run(mode)
    assert outcomes(done) == [CaseOutcome.PASSED] * 4
    assert done.as_expected
    assert done.hello is not None
    assert done.hello.name == "fake"


@pytest.mark.parametrize(
    ("mode", "quirks", "outcome", "stale"),
    [
        ("lies", ("Q9",), CaseOutcome.EXPECTED_FAILURE, []),
        ("lies", ("Q9", "Q10"), CaseOutcome.EXPECTED_FAILURE, ["Q10"]),
        ("lies", ("Q10",), CaseOutcome.FAILED, ["Q10"]),
        ("lies", (), CaseOutcome.FAILED, []),
        ("dies", ("Q9",), CaseOutcome.FAILED, ["Q9"]),
        ("good", ("Q9",), CaseOutcome.PASSED, ["Q9"]),
    ],
)
def test_a_known_quirk_explains_an_answer_and_goes_stale(
    mode: str, quirks: tuple[str, ...], outcome: CaseOutcome, stale: list[str]
) -> None:
    cases = [CASES[0], replace(CASES[1], quirks=("Q9",)), *CASES[2:]]
    with Testee([sys.executable, str(FAKE), mode, "second"], timeout=60) as testee:
        done = Run(testee, known=quirks)
        results = list(done.all(cases))
    assert results[1].outcome is outcome
    assert [item.pattern for item, _ in done.stale] == stale
    assert done.as_expected is (outcome is not CaseOutcome.FAILED and not stale)


@pytest.mark.parametrize(
    ("mode", "failure", "detail"),
    [
        ("lies", CaseFailure.WRONG, "producer_id is 5, not 4"),
        ("dies", CaseFailure.CRASHED, "exit code 3: my last words"),
        ("dies_at_length", CaseFailure.CRASHED, "exit code 3: ... find module cannot"),
        ("dies_half_way", CaseFailure.CRASHED, "exit code 0"),
        ("babbles", CaseFailure.GARBAGE, "not JSON"),
        ("nests", CaseFailure.GARBAGE, "not JSON"),
        ("other_id", CaseFailure.GARBAGE, "id is 'another', not 'index/second'"),
        ("no_answer", CaseFailure.GARBAGE, "found none"),
        ("two_answers", CaseFailure.GARBAGE, "found error, entries"),
        ("no_list", CaseFailure.GARBAGE, "entries is not a list of objects"),
        ("floods", CaseFailure.OVERSIZED, "more than 1048576 bytes"),
    ],
)
def test_one_bad_answer_is_one_failure(mode: str, failure: CaseFailure, detail: str) -> None:
    """The others are asked as if nothing had happened."""
    done = run(mode)
    assert outcomes(done) == [
        CaseOutcome.PASSED,
        CaseOutcome.FAILED,
        CaseOutcome.PASSED,
        CaseOutcome.PASSED,
    ]
    assert done.results[1].failure is failure
    assert detail in done.results[1].detail
    assert done.breakdowns == (mode != "lies")
    assert not done.as_expected


@pytest.mark.slow
def test_a_testee_that_hangs_is_not_waited_for() -> None:
    """The limit is generous for the others, which must start Python; none sleeps so long."""
    done = run("hangs", timeout=3.0)
    assert outcomes(done) == [
        CaseOutcome.PASSED,
        CaseOutcome.FAILED,
        CaseOutcome.PASSED,
        CaseOutcome.PASSED,
    ]
    assert done.results[1].failure is CaseFailure.TIMED_OUT


def test_skipped_cases_have_not_passed() -> None:
    done = run("skips")
    assert outcomes(done)[1] is CaseOutcome.SKIPPED
    assert done.results[1].detail == "not today"
    assert done.by_category()["index"] == {CaseOutcome.PASSED: 2, CaseOutcome.SKIPPED: 1}


def test_kinds_and_checksums_that_a_testee_does_not_have_are_skipped() -> None:
    cases = [
        Case("index/none", RequestKind.TIME_INDEX, b"", GOOD),
        Case("checksum/none", RequestKind.LOG, b"", Refusal(), checksum=True),
    ]
    with Testee([sys.executable, str(FAKE)]) as testee:
        results = list(Run(testee).all(cases))
    assert [result.detail for result in results] == [
        "does not read time_index",
        "does not verify checksums",
    ]


@pytest.mark.slow
def test_a_testee_that_always_dies_is_given_up_at_last() -> None:
    with Testee([sys.executable, str(FAKE), "dies", ""]) as testee:
        done = Run(testee, max_breakdowns=1)
        list(done.all(CASES))
    crashed, not_run = CaseFailure.CRASHED, CaseFailure.NOT_RUN
    assert [result.failure for result in done.results] == [crashed, crashed, not_run, not_run]


@pytest.mark.parametrize(
    "command",
    [
        ["/no/such/program"],
        [sys.executable, "-c", ""],
        [sys.executable, "-c", "print('hi')"],
        [sys.executable, str(FAKE), "other_protocol"],
    ],
    ids=["missing", "silent", "greeting", "other_protocol"],
)
def test_a_testee_that_does_not_start(command: list[str]) -> None:
    with Testee(command) as testee, pytest.raises(StartError):
        list(Run(testee).all(CASES))


# -- expected failures -----------------------------------------------------------------------------


def known(pattern: str, failure: CaseFailure = CaseFailure.WRONG) -> ExpectedFailure:
    return ExpectedFailure(pattern, failure, "known", 1)


@pytest.mark.parametrize("pattern", ["index/second", "index/s*", "*/second"])
def test_a_failure_that_is_expected(pattern: str) -> None:
    done = run("lies", known(pattern))
    assert outcomes(done)[1] is CaseOutcome.EXPECTED_FAILURE
    assert done.results[1].expected == known(pattern)
    assert done.as_expected


@pytest.mark.parametrize(
    ("mode", "line", "problem"),
    [
        ("good", known("index/second"), "index/second passed"),
        ("lies", known("index/*"), "2 of 3 do not fail so: index/first passed"),
        ("lies", known("index/none"), "matches no case"),
        ("lies", known("index/second", CaseFailure.CRASHED), "index/second wrong"),
        ("skips", known("index/second"), "index/second skipped"),
    ],
    ids=["passes", "glob", "no_case", "otherwise", "skipped"],
)
def test_a_list_cannot_go_stale(mode: str, line: ExpectedFailure, problem: str) -> None:
    done = run(mode, line)
    assert not done.as_expected
    assert len(done.stale) == 1
    assert problem in done.stale[0][1]


@pytest.mark.slow
def test_a_partial_run_does_not_judge_what_it_leaves_out() -> None:
    assert run("good", known("segment/none"), partial=True).as_expected
    assert not run("good", known("index/second"), partial=True).as_expected


def test_the_lines_of_a_list() -> None:
    text = "# known\n\nindex/s*  wrong   it is   so\n  segment/a[1]b refused why\n"
    assert parse_expected(text.splitlines()) == [
        ExpectedFailure("index/s*", CaseFailure.WRONG, "it is   so", 3),
        ExpectedFailure("segment/a[1]b", CaseFailure.REFUSED, "why", 4),
    ]


@pytest.mark.parametrize("text", ["one", "one wrong", "one never why"])
def test_lines_that_are_none(text: str) -> None:
    with pytest.raises(ExpectedFailuresError, match="line 2"):
        parse_expected(["", text])


def test_a_list_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ExpectedFailuresError):
        read_expected(path)
