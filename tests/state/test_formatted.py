"""Nodes of 4.4 that were formatted and hardly ran, against the text of Kafka's dump tool."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kafkaspec.files.checkpoints import meta_properties
from tests.cli.helpers import run

GOLDEN = Path(__file__).parent / "golden"
ZERO = "00000000000000000000-0000000000.checkpoint"


def _said(name: str, kind: str) -> list[dict[str, Any]]:
    """What the dump tool prints of records of a type: their JSON."""
    text = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    data = (json.loads(each) for each in re.findall(r"payload: (\{.*\})", text))
    return [each["data"] for each in data if each["type"] == kind]


def _control(name: str, kind: str) -> dict[str, Any]:
    text = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(re.findall(rf" {kind} (\{{.*\}})", text)[-1])
    return found


def _lines(folder: str, *options: str) -> dict[str, list[dict[str, Any]]]:
    done = run("cluster", "--format", "json", *options, GOLDEN / folder)
    assert done.exit_code == 0, done.output
    found: dict[str, list[dict[str, Any]]] = {}
    for text in done.stdout.splitlines():
        line = json.loads(text)
        found.setdefault(line.pop("type"), []).append(line)
    return found


@pytest.mark.slow
def test_a_formatted_node_is_what_its_zero_checkpoint_says() -> None:
    lines = _lines("formatted")
    (head,) = lines["cluster"]
    assert (head["snapshot"], head["end_offset"], head["leader"]) == (ZERO, 0, None)
    version = _control(f"formatted-{ZERO}", "KRaftVersion")["kRaftVersion"]
    assert head["kraft_version"] == version == 1
    features = {
        each["name"]: each["featureLevel"]
        for each in _said(f"formatted-{ZERO}", "FEATURE_LEVEL_RECORD")
    }
    assert "metadata.version" in features
    assert {each["name"]: each["feature_level"] for each in lines["feature"]} == features
    (voter,) = _control(f"formatted-{ZERO}", "KRaftVoters")["voters"]
    (found,) = lines["voter"]
    assert (found["voter_id"], found["voter_directory_id"], found["endpoints"]) == (
        voter["voterId"], voter["voterDirectoryId"], voter["endpoints"],
    )  # fmt: skip
    own = meta_properties.read(GOLDEN / "formatted" / "meta.properties")
    assert own.node_id == found["voter_id"]
    assert set(lines) == {"cluster", "feature", "voter", "summary"}
    text = run("cluster", GOLDEN / "formatted" / "__cluster_metadata-0" / ZERO)
    assert text.exit_code == 0
    assert "metadata.version" in text.stdout


def test_a_formatted_node_can_start() -> None:
    done = run("doctor", GOLDEN / "formatted")
    assert done.exit_code == 0, done.output
    assert "The broker starts." in done.stdout
    assert run("verify", GOLDEN / "formatted").exit_code == 0


def test_cordoned_directories_are_shown() -> None:
    log = "cordoned-00000000000000000000.log"
    own = re.search(
        "^directory.id=(.*)$", (GOLDEN / "cordoned-meta.properties.txt").read_text(), re.M
    )
    assert own is not None
    changes = _said(log, "BROKER_REGISTRATION_CHANGE_RECORD")
    cordoned = [each["cordonedLogDirs"] for each in changes if "cordonedLogDirs" in each]
    assert cordoned == [[own[1]]]
    (broker,) = _lines("cordoned")["broker"]
    assert broker["cordoned_log_dirs"] == cordoned[-1]
    (registered,) = _said(log, "REGISTER_BROKER_RECORD")
    assert broker["log_dirs"] == registered["logDirs"]
    shown = run("cluster", "--diff", "0", "100", GOLDEN / "cordoned")
    assert f"cordoned_log_dirs=['{own[1]}']" in shown.stdout


def test_the_record_that_cordons_is_a_difference() -> None:
    """Each record of the log is one offset: the state before and after it differ in this alone."""
    text = (GOLDEN / "cordoned-00000000000000000000.log.txt").read_text(encoding="utf-8")
    (offset,) = re.findall(r"^\| offset: (\d+) .*cordonedLogDirs", text, re.M)
    lines = _lines("cordoned", "--diff", offset, str(int(offset) + 1))
    (change,) = lines["difference"]
    before, after = change["before"], change["after"]
    changed = {name for name in after if before[name] != after[name]}
    assert (change["kind"], changed) == ("broker", {"cordoned_log_dirs"})
