"""The extent of a test run: all tests, or those of ``make quick``."""

from __future__ import annotations

quick = False
"""Whether ``--quick`` was given; set before any test module is imported."""
core = False
"""Whether ``--core`` was given, by which ``--quick`` takes the tests that are marked ``core``."""


def examples(count: int) -> int:
    """Return how many examples a property test tries: ``count``, or a tenth under ``--quick``."""
    return max(5, count // 10) if quick else count


def some(count: int) -> int:
    """Return how many of ``count`` like cases are tried: all, or one under ``--quick``."""
    return 1 if quick else count
