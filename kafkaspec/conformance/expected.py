"""Lists of known failures, which cannot go stale.

A line is a pattern of case ids, how those cases fail, and why::

    record/recordbatch.record/attributes.minimum  wrong  reads the attributes as a varint

A pattern may hold ``*``, ``?`` and ``[...]``. Every case that it matches must fail in this way:
one that passes, fails otherwise or is skipped is an error, and so is a pattern that matches none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from kafkaspec.conformance.protocol import CaseFailure


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
