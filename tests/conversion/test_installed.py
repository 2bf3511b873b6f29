"""What a conversion has verified does not depend on what is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.codecs import codec_names
from tests.goldens import GOLDEN

PROGRAM = """
import sys
if sys.argv[1] == "without":
    sys.modules["pyarrow"] = None
import kafkaspec as ks
report = ks.convert(sys.argv[2], sys.argv[3], codec=sys.argv[4], **eval(sys.argv[5]))
print(report.partitions[0].comparison)
"""
CASES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("4.3.1", "log-append-time-gzip-0", {"batch_bytes": 300}),
    ("4.3.1", "transactions-0", {"start_offset": 3, "batch_bytes": 300}),
    ("0.10.2.2", "create-time-gzip-0", {"magic": 2}),
)


@pytest.mark.slow
@pytest.mark.parametrize("codec", codec_names())
@pytest.mark.parametrize(("version", "name", "plan"), CASES)
def test_all_columns_are_compared_without_pyarrow_too(
    version: str, name: str, plan: dict[str, Any], codec: str, tmp_path: Path
) -> None:
    source = GOLDEN / version / "logs" / name
    found = []
    for which in ("with", "without"):
        arguments = (which, str(source), str(tmp_path / f"{which}-0"), codec, repr(plan))
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True
        )
        found.append(done.stdout)
    assert found[0] == found[1]
    assert "producer_epoch" in found[0]
    records = list(ks.Partition(tmp_path / "with-0", codec="python").records(include_control=True))
    assert f"records={len(records)}," in found[0]
