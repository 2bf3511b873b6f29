"""What nobody knows is counted and shown: types of records, tagged fields, records without a rule.

The bytes are put together here by Kafka's encoding of messages (KIP-482), not by the library.
"""

from __future__ import annotations

import json
import struct
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest

from kafkaspec.log.encoding import encode
from kafkaspec.log.partition import Partition
from kafkaspec.model import Record
from kafkaspec.state.cluster import read_cluster
from kafkaspec.state.groups import read_groups
from kafkaspec.state.image import ClusterKind, differences
from kafkaspec.state.remote import read_remote_segments
from tests.cli.helpers import run
from tests.state.test_groups import dumped_records, json_folders

_TIME = 1_700_000_000_000
_ID = bytes(range(16))
_TAG = b"\x01\x09\x02hi"
"""One tagged field: number 9, two bytes."""


def _write(home: Path, topic: str, *records: tuple[bytes | None, bytes | None]) -> Path:
    place = home / f"{topic}-0"
    place.mkdir(parents=True)
    made = [Record(n, _TIME + n, key, value) for n, (key, value) in enumerate(records)]
    (place / f"{0:020d}.log").write_bytes(encode(made) if made else b"")
    return place


def _text(content: bytes) -> bytes:
    return bytes([len(content) + 1]) + content


def _topic(name: bytes, number: int, tags: bytes = b"\0") -> tuple[None, bytes]:
    return None, b"\x01\x02\0" + _text(name) + bytes([number]) * 16 + tags


def _lines(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def test_cluster_shows_unknown_records_and_tags(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        "__cluster_metadata",
        _topic(b"a", 1),
        (None, b"\x01\x63\0what"),
        _topic(b"b", 2, _TAG),
        _topic(b"c", 3, _TAG),
    )
    done = run("cluster", "--format", "json", path)
    assert done.exit_code == 1
    place = {"type": "unknown", "topic": "__cluster_metadata", "partition": 0}
    lines = _lines(done.stdout)
    assert [line for line in lines if line["type"] == "unknown"] == [
        place | {"record_type": 99, "message": None, "field": None, "tag": None}
        | {"count": 1, "first_offset": 1},
        place | {"record_type": 2, "message": "TopicRecord", "field": "", "tag": 9}
        | {"count": 2, "first_offset": 2},
    ]  # fmt: skip
    topics = {line["name"]: line.get("tagged_fields") for line in lines if line["type"] == "topic"}
    assert topics == {"a": None, "b": [{"tag": 9, "data": "hi"}], "c": [{"tag": 9, "data": "hi"}]}
    text = run("cluster", path)
    assert text.exit_code == 1
    assert "1 record of type 99, not known, left out, the first at offset 1" in text.stderr
    assert "tagged field 9 in TopicRecord of type 2 is not known: 2 times" in text.stderr
    assert "9 hi" in text.stdout


def test_a_difference_of_unknown_tags_alone_is_one(tmp_path: Path) -> None:
    path = _write(tmp_path, "__cluster_metadata", _topic(b"a", 1), _topic(b"a", 1, _TAG))
    done = run("cluster", "--diff", "1", "2", path)
    assert done.exit_code == 1
    assert "~ topic topic_id=AQEBAQEBAQEBAQEBAQEBAQ tagged_fields=None -> [" in done.stdout
    images = [read_cluster(Partition(path), end_offset=end).image for end in (1, 2)]
    assert [each.kind for each in differences(*images)] == [ClusterKind.TOPIC]


def test_a_record_without_a_rule_is_shown_by_its_fields(tmp_path: Path) -> None:
    """RemoveFeatureLevelRecord of Kafka 3.0 to 3.2, which no controller of today has a rule for."""
    record = (None, b"\x01\x10\0" + _text(b"old.feature") + b"\0")
    path = _write(tmp_path, "__cluster_metadata", record, record)
    done = run("cluster", "--format", "json", path)
    assert done.exit_code == 1
    kinds = {line["type"]: line for line in _lines(done.stdout)}
    assert kinds["other"]["record"] == "RemoveFeatureLevelRecord"
    assert kinds["other"]["fields"] == {"name": "old.feature"}
    assert (kinds["unknown"]["record_type"], kinds["unknown"]["count"]) == (16, 2)
    text = run("cluster", path)
    assert "RemoveFeatureLevelRecord (1)" in text.stdout
    assert "old.feature" in text.stdout
    shown = run("cluster", "--diff", "0", "2", path).stdout
    assert "+ other record=RemoveFeatureLevelRecord name=old.feature" in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("topic", "command"),
    [
        ("__consumer_offsets", "groups"), ("__share_group_state", "groups"),
        ("__transaction_state", "transactions"), ("__remote_log_metadata", "remote"),
    ],
)  # fmt: skip
def test_unknown_types_of_all_topics_are_shown(topic: str, command: str, tmp_path: Path) -> None:
    keyed = topic != "__remote_log_metadata"
    unknown = (b"\0\x63key", b"\0\0value") if keyed else (None, b"\x01\x63\0what")
    _write(tmp_path, topic, unknown, unknown)
    if topic == "__share_group_state":
        _write(tmp_path, "__consumer_offsets")
    done = run(command, "--format", "json", tmp_path)
    assert done.exit_code == 1
    (line,) = [line for line in _lines(done.stdout) if line["type"] == "unknown"]
    assert (line["topic"], line["record_type"]) == (topic, 99)
    assert (line["count"], line["first_offset"]) == (2, 0)
    assert f"{topic}-0: 2 records of type 99, not known" in run(command, tmp_path).stderr


def test_an_unknown_tag_of_a_commit_is_shown(tmp_path: Path) -> None:
    key = b"\0\x01" + b"\0\x01g" + b"\0\x01t" + bytes(4)
    value = b"\0\x04" + bytes(8) + bytes(4) + _text(b"") + bytes(8) + _TAG
    path = _write(tmp_path, "__consumer_offsets", (key, value))
    done = run("groups", "--format", "json", path)
    assert done.exit_code == 1
    lines = {line["type"]: line for line in _lines(done.stdout)}
    assert (lines["unknown"]["message"], lines["unknown"]["tag"]) == ("OffsetCommitValue", 9)
    assert lines["offset"]["offset"] == 0


@pytest.mark.slow
def test_records_of_groups_without_a_table_are_the_last_that_the_dump_tool_shows() -> None:
    """Each key of each type is in a table or among the other records, and none is silent."""
    compared = set()
    for logs in json_folders("__consumer_offsets"):
        left: dict[str, Any] = {}
        for _, key, value in dumped_records(logs, "__consumer_offsets"):
            left[json.dumps(key)] = value
        wanted = {
            (int(json.loads(text)["type"]), json.loads(text)["data"]["groupId"])
            for text, value in left.items()
            if value is not None and json.loads(text)["type"] in _WITHOUT_A_TABLE
        }
        found = read_groups(Partition(logs / "__consumer_offsets-0"), on_error=lambda _error: None)
        assert {(each.record_type, each.owner) for each in found.records} >= wanted, logs
        compared |= wanted
    assert compared


_WITHOUT_A_TABLE = {"4", "7", "9", "15", "16", "23"}


def _update(state: int, *, start: bool = False, tags: bytes = b"\0") -> bytes:
    """RemoteLogSegmentMetadataRecord or ...UpdateRecord of segment 0 of ``t-0``; 0 is started."""
    place = _text(b"t") + _ID + bytes(4) + b"\0" + _ID + b"\0"
    if start:
        body = struct.pack(">qqiqq", 5, 9, 1, _TIME, _TIME) + b"\x01" + struct.pack(">i", 77)
        return b"\x01\0\0" + place + body + b"\0" + bytes([state]) + tags
    return b"\x01\x01\0" + place + struct.pack(">iq", 1, _TIME + 9) + b"\0" + bytes([state]) + tags


_KEY = b"id:t:0:9:1"


@pytest.mark.parametrize("announced", [True, False])
def test_a_keyed_record_counts_without_the_one_that_announced_it(
    announced: bool, tmp_path: Path
) -> None:
    """KIP-1266: the topic is compacted, so that COPY_SEGMENT_STARTED may be gone."""
    before = [(_KEY, _update(0, start=True))] if announced else []
    path = _write(tmp_path, "__remote_log_metadata", *before, (_KEY, _update(1)))
    done = run("remote", "--format", "json", path)
    assert done.exit_code == 0, done.output
    (line,) = [line for line in _lines(done.stdout) if line["type"] == "remote_segment"]
    assert (line["state"], line["topic"]) == ("COPY_SEGMENT_FINISHED", "t")
    assert line["segment_id"] == urlsafe_b64encode(_ID).decode().rstrip("=")
    known = (line["start_offset"], line["end_offset"], line["size"], line["offsets"])
    assert known == ((5, 9, 77, [5, 10]) if announced else (None, None, None, None))
    assert "COPY_SEGMENT_FINISHED" in run("remote", path).stdout


def test_a_tombstone_removes_what_its_key_said(tmp_path: Path) -> None:
    path = _write(
        tmp_path, "__remote_log_metadata",
        (_KEY, _update(0, start=True)), (_KEY, _update(1)), (_KEY, None), (b"other", None),
    )  # fmt: skip
    found = read_remote_segments(Partition(path))
    assert found.segments.num_rows == 0
    assert not [*found.errors, *found.unknown, *found.orphans]
    assert run("remote", path).exit_code == 0


def test_an_update_without_a_key_still_needs_its_segment(tmp_path: Path) -> None:
    path = _write(tmp_path, "__remote_log_metadata", (None, _update(1)))
    done = run("remote", path)
    assert done.exit_code == 1
    assert "1 update of segment AAECAwQFBgcICQoLDA0ODw, left out" in done.stderr


def test_the_removal_of_a_partition_is_shown(tmp_path: Path) -> None:
    """RemotePartitionDeleteMetadataRecord: the last of a partition counts."""
    place = _text(b"t") + _ID + bytes(4) + b"\0"
    marks = [
        (None, b"\x01\x02\0" + place + struct.pack(">iq", 1, _TIME) + bytes([state, 0]))
        for state in (0, 1)
    ]
    path = _write(tmp_path, "__remote_log_metadata", *marks)
    done = run("remote", "--format", "json", path)
    assert done.exit_code == 0, done.output
    (line,) = [line for line in _lines(done.stdout) if line["type"] == "record"]
    assert (line["record"], line["log_offset"]) == ("RemotePartitionDeleteMetadataRecord", 1)
    assert line["value"]["topic_id_partition"]["name"] == "t"


@pytest.mark.slow
def test_a_key_for_compaction_alone_is_shown_as_its_bytes(tmp_path: Path) -> None:
    """Brokers read the values of the topic alone; a key in __cluster_metadata they refuse."""
    records = [(_KEY, _update(0, start=True)), (_KEY, None)]
    path = _write(tmp_path, "__remote_log_metadata", *records)
    log = path / f"{0:020d}.log"
    first, gone = _lines(run("dump", "--format", "json", log).stdout)
    assert (first["key"], first["value"]["type"]) == (
        _KEY.decode(),
        "RemoteLogSegmentMetadataRecord",
    )
    assert (gone["key"], gone["value"]) == (_KEY.decode(), None)
    assert "problem" not in first | gone
    assert "unknown_record_type" not in run("verify", "--codec", "all", path).output
    assert run("explain", log).exit_code == 0
    assert "offset 1" in run("find", path, "--key", _KEY.decode()).output
    metadata = _write(tmp_path, "__cluster_metadata", (b"k", _topic(b"a", 1)[1]))
    (line,) = _lines(run("dump", "--format", "json", metadata).stdout)
    assert "must not have a key (/message/content/records/key)" in line["problem"]
    done = run("cluster", metadata)
    assert done.exit_code == 1
    assert "record 0: a record of __cluster_metadata must not have a key" in done.stderr
    assert "topic (1)" not in done.stdout
