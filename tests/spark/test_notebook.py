"""The notebook of the guide: its cells run in order, and what they draw is a picture."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("matplotlib")

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "guide" / "archive.ipynb"


def cells() -> list[str]:
    """The code cells of the notebook; Jupyter is not needed."""
    found = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert found["nbformat"] == 4
    code = [each for each in found["cells"] if each["cell_type"] == "code"]
    assert all(each["outputs"] == [] and each["execution_count"] is None for each in code)
    return ["".join(each["source"]) for each in code]


@pytest.mark.slow
@pytest.mark.usefixtures("java")
def test_the_cells_run_in_order(tmp_path: Path) -> None:
    program = tmp_path / "notebook.py"
    program.write_text("\n\n".join(cells()), encoding="utf-8")
    environment = os.environ | {
        "MPLBACKEND": "agg",
        "MPLCONFIGDIR": str(tmp_path),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(tmp_path),
        "TMPDIR": str(tmp_path),
    }
    environment.pop("SPARK_REMOTE", None)
    done = subprocess.run(
        [sys.executable, program],
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "segments-gzip|" in done.stdout.replace(" ", "")
    (picture,) = tmp_path.glob("*/topics.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
