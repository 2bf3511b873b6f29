"""``kafkaspec spec diff`` compares folders from any directory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import kafkaspec.cli.commands.spec
from kafkaspec.cli.main import main
from tests.specgen.edits import SPEC
from tools.specgen.model import MESSAGES


@pytest.mark.slow
def test_spec_diff(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("old", "new"):
        shutil.copytree(SPEC, tmp_path / name, ignore=shutil.ignore_patterns(MESSAGES))
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["spec", "diff", "old", "new"]).exit_code == 0
    assert capfd.readouterr().out == "0 changes, 0 of them breaking somebody\n"
    (tmp_path / "new" / "transaction_index.ksy").unlink()
    made = CliRunner().invoke(main, ["spec", "diff", "old", "new", "--format", "json"])
    assert made.exit_code == 1
    change, _ = (json.loads(line) for line in capfd.readouterr().out.splitlines())
    assert (change["rule"], change["where"]) == ("FILE_REMOVED", "transaction_index.ksy")


def test_spec_diff_needs_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafkaspec.cli.commands.spec, "_CHECKOUT", tmp_path)
    refused = CliRunner().invoke(main, ["spec", "diff"])
    assert refused.exit_code == 2
    assert "needs a checkout of kafkaspec" in refused.output
