"""Put all cases to a testee, and compare the failures with the expected ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, TypedDict

from kafkaspec.conformance.cases import Case
from kafkaspec.conformance.levels import CaseLevel
from kafkaspec.conformance.process import BreakdownError, StartError, Testee
from kafkaspec.conformance.protocol import CaseFailure, Hello


@dataclass(frozen=True)
class ExpectedFailure:
    """One line of a list.

    Attributes:
        pattern: of ids of cases.
        failure: how they fail.
        why: for people.
        line: number of the line in its file.
    """

    pattern: str
    failure: CaseFailure
    why: str
    line: int = 0

    def matches(self, case_id: str) -> bool:
        """Return whether the pattern matches the case."""
        return fnmatchcase(case_id, self.pattern)


class ExpectedFailuresError(Exception):
    """The list is not valid; the text says which line and why."""


def parse_expected(lines: Iterable[str]) -> list[ExpectedFailure]:
    """Return the lines of a list, without empty ones and comments, which begin with ``#``.

    Raises:
        ExpectedFailuresError: a line is not valid.
    """
    found = []
    for number, text in enumerate(lines, 1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        parts = text.split(maxsplit=2)
        if len(parts) != 3:
            raise ExpectedFailuresError(f"line {number} needs a pattern, a failure and a reason")
        pattern, failure, why = parts
        if failure not in set(CaseFailure):
            raise ExpectedFailuresError(
                f"line {number}: {failure} is none of {', '.join(CaseFailure)}"
            )
        found.append(ExpectedFailure(pattern, CaseFailure(failure), why.strip(), number))
    return found


def read_expected(path: Path) -> list[ExpectedFailure]:
    """Return the list in a file.

    Raises:
        ExpectedFailuresError: a line is not valid, or it is not text.
        OSError: the file cannot be read.
    """
    try:
        return parse_expected(path.read_text(encoding="utf-8").splitlines())
    except UnicodeDecodeError as error:
        raise ExpectedFailuresError(f"{path} is not text: {error}") from None
    except ExpectedFailuresError as error:
        raise ExpectedFailuresError(f"{path}, {error}") from None


MAX_BREAKDOWNS: Final = 100
"""Restarts after which the rest is not run: each may take the whole time-out of an answer."""


_ANSWERED: Final = frozenset(
    {CaseFailure.ACCEPTED, CaseFailure.REFUSED, CaseFailure.WRONG, CaseFailure.WRONG_REASON}
)
"""Failures of a testee that answers."""


class CaseOutcome(StrEnum):
    """The outcome of a case."""

    PASSED = "passed"
    FAILED = "failed"
    EXPECTED_FAILURE = "expected_failure"
    """It failed as the list of expected failures says, or by a known quirk."""
    SKIPPED = "skipped"
    """The testee does not support it, and says so."""


@dataclass(frozen=True)
class Result:
    """The result of one case.

    Attributes:
        case: the case.
        outcome: how it ended.
        failure: how it failed, expected or not; None if it did not.
        detail: the answer instead, or why it was skipped.
        expected: the line of the list that expects it; None where a known quirk does.
    """

    case: Case
    outcome: CaseOutcome
    failure: CaseFailure | None = None
    detail: str = ""
    expected: ExpectedFailure | None = None


class LevelState(StrEnum):
    """The state of a testee at a level; a closed list."""

    PASSED = "passed"
    """It passed every case of the kinds that it reads."""
    FAILED = "failed"
    """It failed a case, expected or not."""
    INCOMPLETE = "incomplete"
    """It failed none, but skipped some, or was helped with what it does not decompress."""
    NOT_SUPPORTED = "not_supported"
    """It passed none, and was asked none that it does not skip."""
    NOT_RUN = "not_run"
    """No case of the level was chosen."""


class LevelSums(TypedDict):
    """The sums of a level.

    Attributes:
        state: what the testee showed.
        passed: number of cases.
        failed: number of cases that failed and should not.
        expected_failure: number of cases that failed as the list says.
        skipped: number of cases that it skipped, or for which it got what it does not decompress.
        not_supported: number of cases of kinds that it does not read.
    """

    state: LevelState
    passed: int
    failed: int
    expected_failure: int
    skipped: int
    not_supported: int


class Stale(TypedDict):
    """A line of a list of expected failures that is not true, or no longer."""

    pattern: str
    line: int
    problem: str


class RunSums(TypedDict):
    """The sums of a run.

    Attributes:
        testee: name of what was tested; None if it did not start, as for the version.
        version: of what was tested.
        as_expected: whether there is no unexpected failure, and no stale line in the list.
        breakdowns: how often it crashed, hung, or answered nonsense.
        levels: sums by level.
        categories: numbers of cases by the first part of their ids and by outcome; ``levels``
            replaces it, and it goes in 0.4.0.
        failures: numbers of failures by kind.
        known: numbers of cases that fail by each known quirk.
        stale: lines of the list that are not true.
    """

    testee: str | None
    version: str | None
    as_expected: bool
    breakdowns: int
    levels: dict[str, LevelSums]
    categories: dict[str, dict[str, int]]
    failures: dict[str, int]
    known: dict[str, int]
    stale: list[Stale]


@dataclass
class Run:
    """One run of a testee over cases.

    Attributes:
        known: numbers of quirks of Kafka; a case that shows one may fail, if the testee answers.
        partial: some cases are left out: a line of the list that matches none is not an error.
        hello: the testee's description of itself; None before it was started.
        results: of all cases so far.
        breakdowns: how often it had to be ended.
    """

    testee: Testee
    expected: Sequence[ExpectedFailure] = ()
    known: Sequence[str] = ()
    partial: bool = False
    max_breakdowns: int = MAX_BREAKDOWNS
    hello: Hello | None = None
    results: list[Result] = field(default_factory=list)
    breakdowns: int = 0

    def all(self, cases: Iterable[Case]) -> Iterator[Result]:
        """Put the cases, one after the other, and yield the results.

        Raises:
            StartError: the testee does not start at all.
        """
        self.hello = self.testee.hello
        for case in cases:
            result = self._judged(case, *self._one(case, self.hello))
            self.results.append(result)
            yield result

    def _one(self, case: Case, hello: Hello) -> tuple[CaseOutcome, CaseFailure | None, str]:
        if case.kind not in hello.kinds:
            return CaseOutcome.SKIPPED, None, f"does not read {case.kind}"
        if case.checksum and not hello.checksums:
            return CaseOutcome.SKIPPED, None, "does not verify checksums"
        if case.needs and case.needs not in hello.compression:
            return CaseOutcome.SKIPPED, None, f"does not decompress {case.needs}"
        if case.most_memory is not None and not self.testee.measures_memory:
            return CaseOutcome.SKIPPED, None, "memory cannot be measured on this system"
        if self.breakdowns > self.max_breakdowns:
            detail = f"broken down more than {self.max_breakdowns} times"
            return CaseOutcome.FAILED, CaseFailure.NOT_RUN, detail
        try:
            answer = self.testee.ask(case.request(hello), case.most_memory)
        except BreakdownError as error:
            self.breakdowns += 1
            return CaseOutcome.FAILED, error.failure, str(error)
        except StartError as error:
            self.breakdowns += 1
            return CaseOutcome.FAILED, CaseFailure.NOT_RUN, str(error)
        if "skipped" in answer:
            return CaseOutcome.SKIPPED, None, str(answer["skipped"])[:200]
        found = case.expected.failure(answer, case.kind)
        return (CaseOutcome.PASSED, None, "") if found is None else (CaseOutcome.FAILED, *found)

    def _judged(
        self, case: Case, outcome: CaseOutcome, failure: CaseFailure | None, detail: str
    ) -> Result:
        if failure is not None:
            for item in self.expected:
                if item.failure is failure and item.matches(case.id):
                    return Result(case, CaseOutcome.EXPECTED_FAILURE, failure, detail, item)
            if failure in _ANSWERED and set(case.quirks) & set(self.known):
                return Result(case, CaseOutcome.EXPECTED_FAILURE, failure, detail)
        return Result(case, outcome, failure, detail)

    @property
    def stale(self) -> list[tuple[ExpectedFailure, str]]:
        """Lines of the list that are not true, or no longer, and what is wrong with each."""
        found = []
        for item in self.expected:
            matched = [result for result in self.results if item.matches(result.case.id)]
            others = [result for result in matched if result.failure is not item.failure]
            if not matched and not self.partial:
                found.append((item, "matches no case"))
            elif others:
                first = others[0]
                became = first.failure or first.outcome
                text = f"{len(others)} of {len(matched)} do not fail so: {first.case.id} {became}"
                found.append((item, text))
        if not self.partial:
            found += [
                (ExpectedFailure(quirk, CaseFailure.WRONG, "known quirk"), "no case fails by it")
                for quirk, number in self.by_quirk().items()
                if not number
            ]
        return found

    def by_quirk(self) -> dict[str, int]:
        """Return how many cases fail by each known quirk."""
        failed = [
            result
            for result in self.results
            if result.outcome is CaseOutcome.EXPECTED_FAILURE and result.expected is None
        ]
        return {quirk: sum(quirk in each.case.quirks for each in failed) for quirk in self.known}

    @property
    def as_expected(self) -> bool:
        """Whether there is no unexpected failure, and no stale line in the list."""
        return not self.stale and not any(
            result.outcome is CaseOutcome.FAILED for result in self.results
        )

    def by_level(self) -> dict[CaseLevel, LevelSums]:
        """Return the sums of every level."""
        counts: dict[CaseLevel, Counter[str]] = {level: Counter() for level in CaseLevel}
        for result in self.results:
            counts[result.case.level][self.counted(result)] += 1
        return {level: _level_sums(counts[level]) for level in CaseLevel}

    def counted(self, result: Result) -> CaseOutcome | LevelState:
        """Return what a result counts as at its level."""
        case, hello = result.case, self.hello
        if hello is not None and case.kind not in hello.kinds:
            return LevelState.NOT_SUPPORTED
        if (
            hello is not None
            and case.level is CaseLevel.COMPRESSION
            and result.outcome is CaseOutcome.PASSED
            and not case.codecs <= hello.compression
        ):
            return CaseOutcome.SKIPPED
        return result.outcome

    def by_category(self) -> dict[str, Counter[str]]:
        """Count results by outcome for each category, in the order of the cases."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for result in self.results:
            counts[result.case.category][result.outcome] += 1
        return dict(counts)

    def summary(self) -> RunSums:
        """Return the sums, as ``--format json`` prints them last."""
        hello = self.hello
        return {
            "testee": hello.name if hello else None,
            "version": hello.version if hello else None,
            "as_expected": self.as_expected,
            "breakdowns": self.breakdowns,
            "levels": {level.value: sums for level, sums in self.by_level().items()},
            "categories": {
                category: {outcome.value: counts[outcome] for outcome in CaseOutcome}
                for category, counts in self.by_category().items()
            },
            "failures": dict(
                sorted(Counter(r.failure.value for r in self.results if r.failure).items())
            ),
            "known": self.by_quirk(),
            "stale": [
                {"pattern": item.pattern, "line": item.line, "problem": problem}
                for item, problem in self.stale
            ],
        }


def _level_sums(counts: Counter[str]) -> LevelSums:
    failed = counts[CaseOutcome.FAILED] + counts[CaseOutcome.EXPECTED_FAILURE]
    if not counts:
        state = LevelState.NOT_RUN
    elif failed:
        state = LevelState.FAILED
    elif not counts[CaseOutcome.PASSED]:
        state = LevelState.NOT_SUPPORTED
    elif counts[CaseOutcome.SKIPPED]:
        state = LevelState.INCOMPLETE
    else:
        state = LevelState.PASSED
    return {
        "state": state,
        "passed": counts[CaseOutcome.PASSED],
        "failed": counts[CaseOutcome.FAILED],
        "expected_failure": counts[CaseOutcome.EXPECTED_FAILURE],
        "skipped": counts[CaseOutcome.SKIPPED],
        "not_supported": counts[LevelState.NOT_SUPPORTED],
    }
