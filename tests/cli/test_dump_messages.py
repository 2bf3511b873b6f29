"""``dump`` of Kafka's own topics: the messages in place of their bytes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.log.partition import Partition
from tests.cli.helpers import golden, run
from tests.goldens import GOLDEN, dumps

LOGS = golden("4.3.1", "plain-0").parent
_TOLD = re.compile(r"^\| offset: (?P<offset>\d+) .*? payload: (?P<value>\{.*\})$", re.M)


def _objects(*arguments: str | Path) -> dict[int, dict[str, Any]]:
    result = run("dump", "--format", "json", *arguments)
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    return {row["offset"]: row for row in rows}


@pytest.mark.slow
def test_values_are_those_of_the_dump_tool() -> None:
    """The tool of 4.3.1 prints JSON for these; it names versions, not messages."""
    compared = 0
    for topic in ("__consumer_offsets", "__transaction_state", "__share_group_state",
                  "__cluster_metadata"):  # fmt: skip
        for path in sorted(LOGS.glob(f"{topic}-0/*.log")):
            shown = _objects(path)
            for found in _TOLD.finditer(dumps("4.3.1")[f"{topic}-0/{path.name}"]):
                told, value = json.loads(found["value"]), dict(shown[int(found["offset"])]["value"])
                assert value.pop("type")
                assert value.pop("version") == int(told["version"])
                assert value == told["data"], (topic, found["offset"])
                compared += 1
    assert compared > 100


def test_text_shows_messages_too() -> None:
    log = LOGS / "__consumer_offsets-0"
    lines = run("dump", log).stdout.splitlines()
    commit = next(line for line in lines if '"OffsetCommitKey"' in line)
    assert '"group":"group-a","topic":"groups","partition":0' in commit
    assert '"OffsetCommitValue","version":4,"offset":9' in commit
    checkpoint = run("dump", LOGS / "bootstrap.checkpoint").stdout
    assert '"FeatureLevelRecord","version":0,"name":"metadata.version"' in checkpoint


def test_without_decoding_there_are_bytes() -> None:
    log = LOGS / "__consumer_offsets-0"
    rows = _objects("--no-decode", "--bytes", "base64", log)
    stored = {record.offset: record for record in Partition(log).records()}
    assert all("base64" in row["key"] for offset, row in rows.items() if offset in stored)
    assert "OffsetCommit" not in run("dump", "--no-decode", log).stdout


def test_early_layouts_are_found_by_their_bytes() -> None:
    rows = _objects(GOLDEN / "4.0.2" / "logs" / "__share_group_state-0")
    assert {row["value"]["type"] for row in rows.values()} == {
        "ShareSnapshotValue", "ShareUpdateValue",
    }  # fmt: skip
    assert not [row for row in rows.values() if "problem" in row]


def test_what_does_not_decode_stays_bytes_with_the_reason(tmp_path: Path) -> None:
    place = tmp_path / "__consumer_offsets-0"
    place.mkdir()
    records = []
    for record in Partition(LOGS / "__consumer_offsets-0").records():
        if record.offset == 2 and record.value is not None:
            record = record._replace(value=bytes(record.value)[:-3])
        if record.offset == 3:
            record = record._replace(key=b"\x00\x63what")
        records.append(record)
    log = place / "00000000000000000000.log"
    log.write_bytes(b"".join(ks.encode([record]) for record in records))
    rows = _objects(log)
    assert rows[2]["key"]["type"] == "OffsetCommitKey"
    assert "type" not in rows[2]["value"]
    assert rows[2]["problem"].startswith("overrun")
    assert rows[3]["key"] == "\x00cwhat"
    assert "type 99" in rows[3]["problem"]
    assert rows[4]["value"]["type"] == "GroupMetadataValue"
    assert "problem" not in rows[4]
    text = run("dump", log)
    assert text.exit_code == 0
    assert "(overrun: " in text.stdout


def test_find_shows_messages_as_dump_does() -> None:
    log = LOGS / "__consumer_offsets-0"
    result = run("find", "--format", "json", "--offset", "2", log)
    (found,) = (json.loads(line) for line in result.stdout.splitlines())
    assert found["record"] == _objects(log)[2]
    assert found["record"]["value"]["offset"] == 9


def test_tagged_fields_that_are_not_known_are_shown(tmp_path: Path) -> None:
    """At the end of the structure that has them; Kafka's tool is silent about them."""
    place = tmp_path / "__consumer_offsets-0"
    place.mkdir()
    records = [record for record in Partition(LOGS / place.name).records() if record.offset == 2]
    (commit,) = records
    value = bytes(commit.value or b"")
    assert value[-19:-16] == b"\x01\x00\x10"
    more = value[:-19] + b"\x02" + value[-18:] + b"\x07\x03\xaa\xbb\xcc"
    log = place / f"{0:020}.log"
    log.write_bytes(ks.encode([commit._replace(offset=0, value=more)]))
    (row,) = _objects(log).values()
    assert row["value"].pop("unknown_tags") == [{"tag": 7, "data": "qrvM"}]
    assert row["value"] == _objects(LOGS / place.name)[2]["value"]
    assert '"unknown_tags":[{"tag":7,"data":"qrvM"}]' in run("dump", log).stdout
    kafka = run("dump", "--format", "kafka", "--offsets-decoder", log)
    assert '"topicId"' in kafka.stdout
    assert "unknown" not in kafka.stdout.lower()
    metadata = tmp_path / "__cluster_metadata-0"
    metadata.mkdir()
    data = bytes.fromhex("010900") + bytes(16) + b"\x01\x07\x03\xaa\xbb\xcc"
    log = metadata / f"{0:020}.log"
    log.write_bytes(ks.encode([ks.Record(0, 1, None, data)]))
    (row,) = _objects(log).values()
    assert row["value"]["type"] == "RemoveTopicRecord"
    assert row["value"]["unknown_tags"] == [{"tag": 7, "data": "qrvM"}]
