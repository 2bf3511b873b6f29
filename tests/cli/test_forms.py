"""Reports for other programs: SARIF, JUnit, and metrics of Prometheus."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.helpers import first_segment, golden, lines, run

TESTEE = """
import json, sys
for text in sys.stdin:
    request = json.loads(text)
    if request["kind"] == "hello":
        who = {"name": "x", "version": "1", "protocol": 1, "kinds": ["type"]}
        print(json.dumps({"id": request["id"]} | who))
    else:
        print(json.dumps({"id": request["id"], "value": 5}))
    sys.stdout.flush()
"""


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A segment with a wrong checksum in its second batch, in a directory with a hostile name."""
    data = bytearray(first_segment(golden("4.3.1", "codec-none-0")).read_bytes())
    data[-1] ^= 1
    folder = tmp_path / "a b%\x1b-0"
    folder.mkdir()
    path = folder / f"{0:020}.log"
    path.write_bytes(data)
    return path


def test_sarif_has_the_findings_of_json(damaged: Path) -> None:
    """One result for each finding, with file, byte, reason and level; the exit code is the same."""
    found = run("verify", damaged, "--format", "json")
    result = run("verify", damaged, "--format", "sarif")
    assert result.exit_code == found.exit_code == 1
    log = json.loads(result.stdout)
    assert log["version"] == "2.1.0"
    (once,) = log["runs"]
    expected = [each for each in lines(found) if each["type"] == "finding"]
    assert expected
    assert [each["ruleId"] for each in once["results"]] == [each["reason"] for each in expected]
    for each, finding in zip(once["results"], expected, strict=True):
        physical = each["locations"][0]["physicalLocation"]
        assert physical["artifactLocation"]["uri"] == damaged.as_uri()
        assert physical.get("region", {}).get("byteOffset") == finding["position"]
        level = {"error": "error", "warning": "warning", "info": "note"}[finding["severity"]]
        assert each["level"] == level
        assert each["message"]["text"] == finding["message"]
    rules = [rule["id"] for rule in once["tool"]["driver"]["rules"]]
    assert rules == sorted({each["reason"] for each in expected})
    assert once["invocations"] == [{"exitCode": 1, "executionSuccessful": True}]


def test_sarif_of_what_cannot_be_read(tmp_path: Path) -> None:
    result = run("verify", tmp_path / "nothing", "--format", "sarif")
    assert result.exit_code == 2
    (once,) = json.loads(result.stdout)["runs"]
    assert once["invocations"] == [{"exitCode": 2, "executionSuccessful": False}]
    assert [each["level"] for each in once["results"]] == ["error"]


def test_metrics_are_the_totals(damaged: Path, tmp_path: Path) -> None:
    """Each line follows Prometheus' grammar; a file of an earlier run is replaced."""
    file = tmp_path / "kafka.prom"
    file.write_text("old")
    summary = lines(run("verify", damaged, "--format", "json", "--metrics", file))[-1]
    text = file.read_text()
    gauge = re.compile(r'kafkaspec_verify_[a-z_]+(?:\{kind="(?:[^"\\\n]|\\.)*"\})? -?\d+(?:\.\d+)?')
    values = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(gauge.fullmatch(line) for line in values), text
    assert f"kafkaspec_verify_batches {summary['batches']}" in values
    assert f"kafkaspec_verify_clean {int(summary['clean'])}" in values
    errors = summary["findings"]["error"]
    assert f'kafkaspec_verify_findings_by_kind{{kind="error"}} {errors}' in values
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["kafka.prom"]


def test_metrics_are_not_written_among_the_logs(damaged: Path) -> None:
    result = run("verify", damaged, "--metrics", damaged)
    assert result.exit_code == 2
    assert damaged.stat().st_size > 0


@pytest.mark.slow
def test_conform_as_junit_and_sarif(tmp_path: Path) -> None:
    """A testee that answers all cases alike: its failures, and an expectation that is stale."""
    testee, expected = tmp_path / "testee.py", tmp_path / "expected"
    testee.write_text(TESTEE)
    expected.write_text("structure/index.index/noth* crashed it was so\n")
    command: list[str | Path] = [
        "conform", "--testee", f"{sys.executable} {testee}", "--only", "structure/index.*",
        "--expected-failures", expected, "--format",
    ]  # fmt: skip
    printed = lines(run(*command, "json"))
    told = [each for each in printed if each["type"] == "case"]
    failed = [each["id"] for each in told if each["outcome"] == "failed"]
    assert failed
    result = run(*command, "junit")
    assert result.exit_code == 1
    root = ElementTree.fromstring(result.stdout)
    suite = root[0]
    cases = [case for case in suite if case.get("name") in {each["id"] for each in told}]
    assert len(cases) == len(told)
    assert [case.get("name") for case in cases if case.find("failure") is not None] == failed
    assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure"))
    (once,) = json.loads(run(*command, "sarif").stdout)["runs"]
    named = [
        each["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]
        for each in once["results"]
        if "suppressions" not in each
    ]
    stale = [each["pattern"] for each in printed if each["type"] == "stale"]
    assert stale
    assert named == [*failed, *stale]
    assert sum(case.get("name") in stale for case in suite) == len(stale)


def test_an_unknown_form_is_refused() -> None:
    result = run("dump", "--format", "sarif", golden("4.3.1", "codec-none-0"))
    assert result.exit_code == 2
    result = run("gaps", "--format", "sarif", golden("4.3.1", "codec-none-0"))
    assert result.exit_code == 2
