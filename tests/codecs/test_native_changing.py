"""Lists, buffers and iterators that change while C reads them."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("kafkaspec._native", reason="the extension was not built")


@pytest.mark.core
def test_what_changes_meanwhile() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.codecs.changing_cases"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{done.stdout.split()[-1:]}: {done.stderr[-2000:]}"
