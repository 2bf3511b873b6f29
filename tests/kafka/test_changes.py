"""Changes of releases on disk: the data is what the jars say, and the driver takes a release in."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.kafka.chosen import VERSIONS as CHOSEN
from tools.brokers import maven, versions
from tools.brokers.maven import ToolError
from tools.brokers.versions import SOMETIMES_MISSING, VERSIONS, Version
from tools.kafka import changes, release

ROOT = Path(__file__).parents[2]
PAIRS = [(old, new) for old, new in pairwise(VERSIONS) if new in CHOSEN]


@pytest.mark.kafka
@pytest.mark.parametrize(("old", "new"), PAIRS, ids=lambda version: version.name)
def test_jars_say_what_is_kept(old: Version, new: Version) -> None:
    assert changes.collect(old, new) == changes.load()[new.name]


def test_every_release_is_compared_with_the_one_before() -> None:
    assert list(changes.load()) == [version.name for version in VERSIONS[1:]]


@pytest.mark.parametrize(
    ("name", "kind", "constant", "value"),
    [
        ("0.11.0.3", "added", "ControlRecordType.COMMIT", "type=1"),
        ("0.11.0.3", "added", "RecordBatch.MAGIC_VALUE_V2", "2"),
        ("4.4.0", "added", "ShareVersion.SV_2", "featureLevel=2"),
        ("4.4.0", "added", "Records.SOFT_MAX_ARRAY_LENGTH", "2147483639"),
    ],
)
def test_known_news(name: str, kind: str, constant: str, value: str) -> None:
    """KIP-98, KIP-1191, and the bound that no schema says."""
    assert changes.load()[name]["constants"][kind][constant] == value


def test_known_news_of_files_and_records() -> None:
    """KIP-1170, KIP-1331 and KIP-101."""
    assert "bootstrap.checkpoint" in changes.file_kinds("4.3.1") - changes.file_kinds("4.4.0")
    (line,) = changes.load()["4.4.0"]["messages"]["StreamsGroupMetadataValue"][:1]
    assert "tag 2" in line
    assert "leader-epoch-checkpoint" in (
        changes.file_kinds("0.11.0.3") - changes.file_kinds("0.10.2.2")
    )


@pytest.mark.parametrize("lacks", [(), SOMETIMES_MISSING[2:3], SOMETIMES_MISSING])
def test_a_new_release_gets_a_row(
    lacks: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "versions.py"
    table.write_text(Path(versions.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(versions, "__file__", str(table))
    monkeypatch.setattr(release, "missing", lambda name: lacks)
    assert not release.add_row(VERSIONS[-1].name)
    assert release.add_row("4.5.0")
    made: dict[str, object] = {"__name__": "tools.brokers.made"}
    sys.modules["tools.brokers.made"] = type(sys)("tools.brokers.made")
    exec(compile(table.read_text(encoding="utf-8"), str(table), "exec"), made)
    rows = made["VERSIONS"]
    assert isinstance(rows, tuple)
    assert [row.name for row in rows] == [*(v.name for v in VERSIONS), "4.5.0"]
    assert (rows[-1].missing, rows[-1].full) == (lacks, not lacks)
    formatted = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--check", str(table)], capture_output=True
    )
    assert formatted.returncode == 0, formatted.stderr


def test_what_maven_lacks_is_told_from_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "Could not find artifact"

    def run(*command: str) -> None:
        if "kafka-streams" in command[-1]:
            raise ToolError(f"mvn ended with 1:\n{said} org.apache.kafka:kafka-streams:jar:4.5.0")

    monkeypatch.setattr(maven, "run", run)
    monkeypatch.setattr(maven, "find_tool", lambda name, what: name)
    assert maven.missing("4.5.0") == ("kafka-streams",)
    said = "Connection refused"
    with pytest.raises(ToolError, match="Connection refused"):
        maven.missing("4.5.0")


def test_the_guide_lists_the_steps() -> None:
    page = (ROOT / "docs" / "guide" / "messages.md").read_text(encoding="utf-8")
    rows = page.replace("`", "").splitlines()
    for step in release.steps("4.4.0"):
        assert f"| {step.name} | {step.does} |" in rows


def test_an_unknown_step_names_those_there_are() -> None:
    refused = subprocess.run(
        [sys.executable, "-m", "tools.kafka.release", "4.4.0", "--only", "jugde"],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert refused.returncode == 2
    assert "the steps are messages, changes, generate" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tools.kafka.release", "4.x"], "'4.x' is not a release of Kafka"),
        (["tools.kafka.release", "1.2.3"], "1.2.3 is older than"),
        (["tools.kafka.changes"], "name releases, or write --all"),
        (["tools.kafka.changes", "9.9.9"], "Error: no version 9.9.9"),
    ],
)
def test_a_wrong_release_is_named(arguments: list[str], message: str) -> None:
    command = [sys.executable, "-m", *arguments]
    refused = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert refused.returncode in (1, 2)
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_checkout_without_schemas_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.kafka.release", "4.5.0", "--schemas", str(tmp_path)]
    refused = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert refused.returncode == 2
    assert "no MODULE/src/main/resources/common/message/*.json below it" in refused.stderr
    assert not (ROOT / "build" / "kafka-4.5.0").exists()


def test_a_report_says_what_changed_and_what_is_left() -> None:
    text = release.report("4.4.0", {"messages": 12.0}, ["golden"])
    assert "Compared with 4.3.1." in text
    assert "- messages: passed, 12 s" in text
    assert "- golden: FAILED" in text
    assert "- judge: not run" in text
    assert text.endswith("## Sentences that a person has to write\n\nNone.\n")


def test_what_others_do_not_need_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that fails does not keep the pages from being made; a generator that fails does."""
    code = {"judge": 1}
    ran: list[str] = []

    def passes(step: release.Step, name: str, log: object) -> bool:
        ran.append(step.name)
        return not code.get(step.name)

    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "_passes", passes)
    monkeypatch.setattr(subprocess, "run", lambda *given, **named: None)
    steps = [step.name for step in release.steps("4.4.0")]
    run = CliRunner().invoke(release.main, ["4.4.0"])
    assert (run.exit_code, ran) == (1, steps)
    ran.clear()
    assert CliRunner().invoke(release.main, ["4.4.0"]).exit_code == 1
    assert ran == ["judge"], "what passed is not run again"
    ran.clear()
    code |= {"generate": 1}
    assert CliRunner().invoke(release.main, ["4.4.0", "--again"]).exit_code == 1
    assert ran == ["messages", "changes", "generate"]
