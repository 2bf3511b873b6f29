"""Groups and transactions against the text of Kafka's dump tool, record by record."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from click.testing import CliRunner

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.cli.main import main
from kafkaspec.conformance.goldens import read_dumps
from kafkaspec.forensics.transactions import open_transactions
from kafkaspec.log.batch import CREATE_TIME, LOG_APPEND_TIME
from kafkaspec.log.encoding import encode
from kafkaspec.log.partition import Partition
from kafkaspec.model import Record
from kafkaspec.state.groups import read_groups
from kafkaspec.state.history import history
from kafkaspec.state.lag import with_lag
from kafkaspec.state.latest import Latest
from kafkaspec.state.transactions import read_transactions
from tests.goldens import GOLDEN, VERSIONS

_RECORD = re.compile(
    r"^\| offset: (?P<offset>\d+) .*? key: (?P<key>\{.*?\}) payload: (?P<value>.*)$", re.M
)
_JSON_FROM = (3, 8)
"""The first release whose tool prints the records of groups as JSON."""


def json_folders(topic: str) -> list[Path]:
    """Log directories of releases whose tool prints JSON, with a partition of the topic."""
    return [
        path.parent
        for version in VERSIONS
        if tuple(map(int, version.split(".")[:2])) >= _JSON_FROM
        for path in sorted((GOLDEN / version).glob(f"**/{topic}-0"))
    ]


def dumped_records(
    logs: Path, topic: str
) -> list[tuple[int, dict[str, Any], dict[str, Any] | None]]:
    texts = read_dumps(logs.parent)
    found = []
    for name in sorted(texts):
        if name.startswith(f"{topic}-0/") and name.endswith(".log.txt"[:-4]):
            for match in _RECORD.finditer(texts[name]):
                value = None if match["value"] == "<DELETE>" else json.loads(match["value"])["data"]
                found.append((int(match["offset"]), json.loads(match["key"]), value))
    return found


def _latest(logs: Path, topic: str, kind: str) -> dict[str, Any]:
    """The values that a simple loop over the tool's text leaves, by key."""
    left: dict[str, Any] = {}
    for _, key, value in dumped_records(logs, topic):
        if key["type"] == kind:
            left.pop(json.dumps(key["data"]), None)
            if value is not None:
                left[json.dumps(key["data"])] = value
    return left


@pytest.mark.slow
def test_committed_offsets_are_the_last_that_the_dump_tool_shows() -> None:
    compared = 0
    for logs in json_folders("__consumer_offsets"):
        log = Partition(logs / "__consumer_offsets-0")
        groups = read_groups(log, release=logs.relative_to(GOLDEN).parts[0])
        if "4.0.2" in logs.parts:  # share groups in early access had other layouts
            groups.errors.clear()
            groups.unknown.clear()
        assert not groups.errors
        assert not groups.unknown
        expected = {
            (key["group"], key["topic"], key["partition"]): (value["offset"], value["metadata"])
            for key, value in (
                (json.loads(text), value)
                for text, value in _latest(logs, "__consumer_offsets", "1").items()
            )
            if key["group"] != "group-t"  # below
        }
        rows = [row for row in groups.offsets.to_pylist() if row["group"] != "group-t"]
        found = {
            (row["group"], row["topic"], row["partition"]): (row["offset"], row["metadata"])
            for row in rows
        }
        assert found == expected, logs
        assert len(found) == len(rows)
        compared += len(found)
    assert compared > len(json_folders("__consumer_offsets"))


def test_an_offset_counts_when_its_transaction_commits() -> None:
    """The scenario commits offset 2 in a transaction, and aborts one with offset 3."""
    compared = 0
    for version in VERSIONS:
        for path in sorted((GOLDEN / version / "logs").glob("__consumer_offsets-0")):
            rows = read_groups(Partition(path), release=version).offsets.to_pylist()
            rows = [row for row in rows if row["group"] == "group-t"]
            if rows:
                assert [(row["offset"], row["pending"]) for row in rows] == [(2, False)], version
                compared += 1
    assert compared >= min(len(VERSIONS) - 8, 2)


def test_a_streams_group_is_stable_once_its_member_has_its_tasks() -> None:
    """The one member of the scenario has taken all tasks when it writes its last assignment."""
    if "4.3.1" not in VERSIONS:
        return
    logs = GOLDEN / "4.3.1" / "administered" / "logs"
    log = Partition(logs / "__consumer_offsets-0")
    records = dumped_records(logs, Topic.CONSUMER_OFFSETS)
    written = [value for _, key, value in records if key["type"] == "22" and value is not None]
    assert [len(value["activeTasks"]) for value in written] == [0, 2]
    events = [
        event
        for event in history(log, Topic.CONSUMER_OFFSETS, "group-streams", Latest())
        if event.name == "StreamsGroupCurrentMemberAssignment" and event.value is not None
    ]
    assert [event.value and event.value["state"] for event in events] == [
        value["state"] for value in written
    ]
    groups = read_groups(log, at=events[-1].timestamp).groups.to_pylist()
    (state,) = [row["state"] for row in groups if row["group"] == "group-streams"]
    assert state == "Stable"


def test_transactional_ids_are_those_that_the_dump_tool_shows() -> None:
    compared = 0
    for logs in json_folders("__transaction_state"):
        if tuple(map(int, logs.relative_to(GOLDEN).parts[0].split(".")[:2])) < (4, 1):
            continue  # no JSON
        log = Partition(logs / "__transaction_state-0")
        ids = read_transactions(log).ids.to_pylist()
        expected = {
            json.loads(key)["transactionalId"]: (value["producerId"], value["producerEpoch"])
            for key, value in _latest(logs, "__transaction_state", "0").items()
        }
        found = {
            row["transactional_id"]: (row["producer_id"], row["producer_epoch"]) for row in ids
        }
        assert found == expected, logs
        compared += len(found)
    assert compared > 5


def test_an_open_transaction_of_a_golden_log_does_not_hang() -> None:
    """The producer of transactions-open has neither committed nor aborted when the broker stops."""
    logs = GOLDEN / VERSIONS[-1] / "logs"
    ids = read_transactions(Partition(logs / "__transaction_state-0")).ids
    data = Partition(logs / "transactions-open-0")
    (row,) = open_transactions([data], ids, complete=True).to_pylist()
    assert (row["state"], row["hanging"]) == ("Ongoing", False)
    (row,) = open_transactions([data], ids.slice(0, 0), complete=True).to_pylist()
    assert row["hanging"] is True
    (row,) = open_transactions([data], None, complete=False).to_pylist()
    assert row["hanging"] is None


def test_lag_is_what_lies_after_the_committed_offset() -> None:
    logs = GOLDEN / VERSIONS[-1] / "logs"
    groups = read_groups(Partition(logs / "__consumer_offsets-0"))
    rows, errors = with_lag(groups.offsets, [Partition(logs / "groups-0")])
    assert not errors
    found = {(row["group"], row["topic"]): row for row in rows.to_pylist()}
    end = Partition(logs / "groups-0").log_end_offset
    for group in ("group-a", "group-b"):
        row = found[group, "groups"]
        assert (row["log_end_offset"], row["lag"]) == (end, end - row["offset"])
    assert found["group-t", "groups-transactional"]["lag"] is None  # not among the partitions


def _end_at(log: Partition, at: int) -> tuple[int, int, int]:
    place = {"topic": log.topic, "partition": 0, "offset": 0, "topic_id": None}
    committed = pa.Table.from_pylist([place])
    rows, errors = with_lag(committed, [log], at=at)
    assert not errors
    (row,) = rows.to_pylist()
    assert row["lag"] == row["log_end_offset"]
    return row["log_end_offset"], row["log_end_least"], row["log_end_most"]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_end_at_a_time_is_exact_with_log_append_time(version: str) -> None:
    found = 0
    for path in sorted((GOLDEN / version / "logs").glob("*log-append-time*-0")):
        log = Partition(path)
        records = list(log.records())
        for at in {record.timestamp + more for record in records for more in (-1, 0)}:
            end = sum(record.timestamp <= at for record in records)
            assert _end_at(log, at) == (end, end, end), (path, at)
            found += 1
    assert found or version < "0.10.1" or version.startswith(("0.8", "0.9"))


def test_markers_bound_the_end_at_a_time() -> None:
    """Producers' timestamps are years old here; the markers have the time of the broker."""
    log = Partition(GOLDEN / "4.3.1" / "logs" / "groups-transactional-0")
    (one, other) = [batch for batch in log.batches() if batch.is_control]
    for at, end in (
        (one.max_timestamp - 1, (one.base_offset, 0, one.base_offset)),
        (one.max_timestamp, (other.base_offset, one.last_offset + 1, other.base_offset)),
        (other.max_timestamp - 1, (other.base_offset, one.last_offset + 1, other.base_offset)),
        (other.max_timestamp, (log.log_end_offset,) * 3),
    ):
        assert _end_at(log, at) == end


def test_a_timestamp_of_a_producer_counts_only_between_those_of_brokers(tmp_path: Path) -> None:
    """One producer is ahead of the broker, and one says 500 where the broker says 400 and 600."""
    path = tmp_path / "ahead-0"
    path.mkdir()
    data = b"".join(
        encode([Record(offset, time, None, b"v")], timestamp_type=cast(Any, kind))
        for offset, (time, kind) in enumerate(
            [(900, CREATE_TIME), (400, LOG_APPEND_TIME), (500, CREATE_TIME), (600, LOG_APPEND_TIME)]
        )
    )
    (path / f"{0:020d}.log").write_bytes(data[: len(data) // 2])
    (path / f"{2:020d}.log").write_bytes(data[len(data) // 2 :])
    log = Partition(path)
    assert _end_at(log, 399) == (0, 0, 1)
    assert _end_at(log, 450) == (2, 2, 3)
    assert _end_at(log, 550) == (3, 2, 3)
    assert _end_at(log, 600) == (4, 4, 4)


def test_the_command_says_which_ends_are_assumed() -> None:
    arguments = ["groups", str(GOLDEN / "4.3.1" / "logs"), "--group", "group-t", "--at"]
    for time, code, shown in (("490", 1, "7 (4 to 7)"), ("506", 0, " 8 ")):
        result = CliRunner().invoke(main, [*arguments, f"2026-11-21T16:19:34.{time}Z"])
        assert (result.exit_code, shown in result.stdout) == (code, True), result.output
        assert ("where 1 partition ended at" in result.stderr) == (code == 1)
