"""``kafkaspec spark`` where what it needs is not installed."""

from __future__ import annotations

import sys

import pytest

from tests.cli.helpers import run

JOBS = {
    "verify": ["."],
    "stats": ["."],
    "export": [".", "-o", "out"],
    "compaction": [".", "-o", "out"],
}


@pytest.mark.parametrize("missing", ["pyspark", "pyarrow"])
@pytest.mark.parametrize("job", JOBS)
def test_the_extra_is_named(job: str, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        name for name in sys.modules if name.startswith(("kafkaspec.spark", "kafkaspec.arrow"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    result = run("spark", job, *JOBS[job])
    assert result.exit_code == 2
    assert "pip install 'kafkaspec[spark]'" in result.stderr
    assert "Traceback" not in result.stderr


def test_help_needs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    for job in JOBS:
        assert run("spark", job, "--help").exit_code == 0
