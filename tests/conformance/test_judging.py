"""``python -m tools.conformance --all`` names the decoders that it could not run, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner

from tools.brokers.maven import MissingToolError, ToolError, find_tool
from tools.conformance import __main__ as judging
from tools.conformance.adapters import ADAPTERS


def no_tool() -> list[str]:
    return [find_tool("no-such-program", "nothing")]


def broken() -> list[str]:
    raise ToolError("the build failed")


def test_a_missing_tool_is_named_and_a_failed_build_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(judging, "all_cases", list)
    lacking = replace(ADAPTERS[0], name="lacking", command=no_tool)
    monkeypatch.setattr(judging, "ADAPTERS", (lacking,))
    with pytest.raises(MissingToolError):
        no_tool()
    all_of_them = CliRunner().invoke(judging.main, ["--all", "--check"])
    assert all_of_them.exit_code == 0
    assert "lacking: not run: no-such-program is not on the PATH" in all_of_them.output
    assert CliRunner().invoke(judging.main, ["lacking", "--check"]).exit_code == 1
    monkeypatch.setattr(judging, "ADAPTERS", (replace(lacking, command=broken),))
    failed = CliRunner().invoke(judging.main, ["--all", "--check"])
    assert failed.exit_code == 1
    assert "the build failed" in failed.output
