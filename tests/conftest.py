"""Fixtures for all tests, and a last word on what was not run."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

from kafkaspec.codecs import Codec, codec_names, get_codec

# No test depends on how fast the machine is, under a sanitizer for instance.
settings.register_profile("kafkaspec", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kafkaspec")


@pytest.fixture(params=codec_names())
def codec(request: pytest.FixtureRequest) -> Codec:
    """Each codec in turn."""
    return get_codec(request.param)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in the last lines which tests were skipped and why: a skipped check has not passed."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", ()):
        if isinstance(report.longrepr, tuple):
            reasons[report.longrepr[2].removeprefix("Skipped: ")] += 1
    if reasons:
        terminalreporter.section("not run on this machine")
        for reason, count in sorted(reasons.items()):
            terminalreporter.write_line(f"{count} skipped: {reason}")
