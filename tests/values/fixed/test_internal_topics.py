"""Internal topics of MirrorMaker 2, Connect and Streams: what their bytes say by ``struct``."""

from __future__ import annotations

import json
import struct
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from kafkaspec.values.decoded import Code
from kafkaspec.values.fixed import RecordDecoder, fixed, topic_formats
from kafkaspec.values.options import Options
from tests.values.fixed.records import Records, codes, decode, decode_records, octets, records

_DAY = datetime(2025, 1, 1, tzinfo=UTC)


def _moment(millis: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)


def _text(data: bytes) -> tuple[str, bytes]:
    (size,) = struct.unpack_from(">h", data)
    return data[2 : 2 + size].decode(), data[2 + size :]


def _heartbeat_key(data: bytes) -> dict[str, Any]:
    source, rest = _text(data)
    return {"source_cluster_alias": source, "target_cluster_alias": _text(rest)[0]}


def _heartbeat_value(data: bytes) -> dict[str, Any]:
    version, millis = struct.unpack(">hq", data)
    assert version == 0
    return {"timestamp": _moment(millis)}


def _checkpoint_key(data: bytes) -> dict[str, Any]:
    group, rest = _text(data)
    topic, rest = _text(rest)
    return {"consumer_group_id": group, "topic": topic, "partition": struct.unpack(">i", rest)[0]}


def _checkpoint_value(data: bytes) -> dict[str, Any]:
    _, upstream, downstream = struct.unpack_from(">hqq", data)
    names = ("upstream_offset", "downstream_offset", "metadata")
    return dict(zip(names, (upstream, downstream, _text(data[18:])[0]), strict=True))


def _sync_key(data: bytes) -> dict[str, Any]:
    topic, rest = _text(data)
    return {"topic": topic, "partition": struct.unpack(">i", rest)[0]}


def _sync_value(data: bytes) -> dict[str, Any]:
    return dict(
        zip(("upstream_offset", "downstream_offset"), struct.unpack(">qq", data), strict=True)
    )


MIRROR_MAKER = {
    "heartbeats": (_heartbeat_key, _heartbeat_value),
    "A.checkpoints.internal": (_checkpoint_key, _checkpoint_value),
    "mm2-offset-syncs.B.internal": (_sync_key, _sync_value),
}


@pytest.mark.parametrize("topic", MIRROR_MAKER)
def test_mirror_maker(topic: str) -> None:
    formats = topic_formats(topic)
    assert formats is not None
    found = records(topic)
    for name, rows, meaning in zip(formats, found[:2], MIRROR_MAKER[topic], strict=True):
        decoded = decode(name, rows)
        assert not decoded.failures
        assert decoded.values.to_pylist() == [meaning(data) for data in rows.to_pylist()]
        data = rows[0].as_py()
        damaged = decode(
            name, octets(*(data[:size] for size in range(len(data))), data + b"x", None)
        )
        assert set(codes(damaged).values()) == {Code.TRUNCATED, Code.TRAILING}
        assert codes(damaged)[len(data)] == Code.TRAILING
        assert len(damaged.failures) == len(data) + 1


def test_mirror_maker_versions_and_texts() -> None:
    decoded = decode("mm2-heartbeat-value", octets(b"\0\1" + bytes(8)))
    assert codes(decoded) == {0: Code.MALFORMED}
    decoded = decode("mm2-heartbeat-key", octets(b"\0\1\xff\0\0", b"\xff\xff\0\0"))
    assert codes(decoded) == {0: Code.BAD_UTF8, 1: Code.MALFORMED}


STREAMS = {
    "app-win-changelog": ("streams-window-store<text>", ">qi", ("start", "sequence")),
    "app-join-this-join-store-changelog": (
        "streams-window-store<text>",
        ">qi",
        ("start", "sequence"),
    ),
    "app-ses-changelog": ("streams-session<text>", ">qq", ("end", "start")),
    "st-out": ("streams-windowed<text>", ">q", ("start",)),
    "app-sup-store-changelog": ("streams-windowed<text>", ">q", ("start",)),
}


@pytest.mark.parametrize("topic", STREAMS)
def test_streams_keys(topic: str) -> None:
    name, layout, fields = STREAMS[topic]
    size = struct.calcsize(layout)
    keys = records(topic).keys
    decoded = decode(name, keys)
    assert not decoded.failures
    for row, data in zip(decoded.values.to_pylist(), keys.to_pylist(), strict=True):
        assert row.pop("key") == data[:-size].decode()
        numbers = dict(zip(fields, struct.unpack(layout, data[-size:]), strict=True))
        assert row == {n: v if n == "sequence" else _moment(v) for n, v in numbers.items()}
        assert _DAY <= row["start"] < _DAY + timedelta(hours=1)
    last = keys[len(keys) - 1].as_py()
    damaged = decode(name, octets(None, last[-size:][1:], b"", last, b"\xff" * (size + 1)))
    assert codes(damaged) == {1: Code.TRUNCATED, 2: Code.TRUNCATED, 4: Code.BAD_UTF8}
    assert damaged.values[3] == decoded.values[len(keys) - 1]


def test_streams_values_are_those_of_the_application() -> None:
    for store in ("kv", "win", "ses", "ver"):
        decoded = decode("long", records(f"app-{store}-changelog").values)
        assert not decoded.failures
        assert all(row is None or 0 <= row < 40 for row in decoded.values.to_pylist())


def _array(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def _buffered(prior: bytes | None, old: bytes | None, new: bytes | None, *, same: bool) -> bytes:
    """Return what ``BufferValue.serialize`` writes, with one header."""
    head = struct.pack(">qq", 7, 8) + _array(b"topic") + struct.pack(">ii", 9, 1)
    header = _array(b"h") + _array(None)
    change = struct.pack(">i", -2) if same else _array(old)
    return head + header + _array(prior) + change + _array(new) + struct.pack(">q", 10)


def test_suppress() -> None:
    name, long = "streams-suppress<long>", struct.Struct(">q").pack
    found = records("app-sup-store-changelog")
    decoded = decode_records(name, found)
    assert not decoded.failures
    rows = [row for row in decoded.values.to_pylist() if row is not None]
    assert len(rows) == sum(value is not None for value in found.values.to_pylist()) > 0
    for row in rows:
        assert (row["topic"], row["partition"], row["headers"]) == ("st-in", 0, [])
        assert (row["prior"], row["old"], row["new"]) == (0, 0, 1)

    cases = [
        (long(1), long(1), long(2), True),
        (None, None, long(2), True),
        (long(1), None, None, False),
        (None, long(3), long(4), False),
    ]
    made = [_buffered(*case[:3], same=case[3]) for case in cases]
    three = [{"key": "v", "value": b"\2"}, {"key": "v", "value": b"\3"}]
    values = octets(
        *made, made[0], *(made[0][:size] for size in range(len(made[0]))), made[1] + b"x"
    )
    headers = pa.array([three] * 4 + [three[:1]] + [three] * (len(values) - 5))
    decoded = decode_records(name, Records(values, values, headers))
    for row, (prior, old, new, _) in zip(decoded.values.to_pylist()[:4], cases, strict=True):
        assert [row[side] for side in ("prior", "old", "new")] == [
            each and int.from_bytes(each, "big") for each in (prior, old, new)
        ]
        assert row["headers"] == [{"key": "h", "value": None}]
        assert (row["timestamp"], row["offset"], row["time"]) == (_moment(7), 8, _moment(10))
    found_codes = codes(decoded)
    assert found_codes.pop(4) == Code.UNSUPPORTED
    assert found_codes.pop(len(values) - 1) == Code.TRAILING
    assert set(found_codes.values()) == {Code.TRUNCATED}
    assert len(found_codes) == len(made[0])


def test_outer_joins() -> None:
    keys = octets(struct.pack(">qb", 5, 1) + b"k", struct.pack(">qb", 5, 0), b"x", None)
    decoded = decode("streams-join-side-key<text>", keys)
    assert [row and (row["is_left"], row["key"]) for row in decoded.values.to_pylist()] == [
        (True, "k"), (False, ""), None, None,
    ]  # fmt: skip
    values = octets(b"\1left", b"\0" + bytes(8), b"\0" + bytes(7), b"", None)
    decoded = decode("streams-join-side-value<text,long>", values)
    assert decoded.values.to_pylist() == [
        {"is_left": True, "left": "left", "right": None},
        {"is_left": False, "left": None, "right": 0},
        None, None, None,
    ]  # fmt: skip
    assert codes(decoded) == {2: Code.TRUNCATED, 3: Code.TRUNCATED}
    assert decoded.failures[2].path == "right"


@pytest.mark.parametrize("cluster", ["A", "B"])
def test_connect(cluster: str) -> None:
    for kind in ("status", "offsets"):
        topic = f"mm2-{kind}.{cluster}.internal"
        found, formats = records(topic), topic_formats(topic)
        assert formats is not None
        for name, rows in zip(formats, found[:2], strict=True):
            decoded = decode(name, rows)
            assert not decoded.failures
            for row, data in zip(decoded.values.to_pylist(), rows.to_pylist(), strict=True):
                if name == "text":
                    assert row == data.decode()
                elif name == "connect-offset-key":
                    assert [row["connector"], json.loads(row["partition"])] == json.loads(data)
                elif name == "connect-offset-value":
                    assert data is None or json.loads(row) == json.loads(data)
                elif data is not None:
                    given = json.loads(data)
                    assert row["_rest"] is None
                    assert {n: row[n] for n in given if n != "topic"} == {
                        n: value for n, value in given.items() if n != "topic"
                    }


SECRETS = ("s3cret", "hunter2", "Zm9vYmFy", "AKIA")
SETTINGS: tuple[Any, ...] = (
    {"properties": {"name": "n", "connector.class": "C", "database.password": SECRETS[0],
                    "sasl.jaas.config": SECRETS[1], "topics": "t", "url": f"http://u:{SECRETS[0]}@h"}},
    {"properties": {"name": {"nested": SECRETS[0]}}, "tasks": 3},
    {"key": SECRETS[2], "algorithm": "HmacSHA256", "creation-timestamp": 1},
    {"state": "STARTED", "new": SECRETS[3], "state.v2": {"x": SECRETS[3]}},
    {"properties": SECRETS[0]},
    {"properties": [SECRETS[0]]},
    [SECRETS[0]],
    SECRETS[0],
    {"tasks": 2},
    {SECRETS[0] + "-is-a-name": 1},
)  # fmt: skip


def test_settings_without_secrets() -> None:
    assert topic_formats("connect-configs") == topic_formats("mm2-configs.A.internal")
    rows = octets(*(json.dumps(each).encode() for each in SETTINGS), b"{", None)
    decoded = decode("connect-config", rows)
    assert codes(decoded) == {len(SETTINGS): Code.TRUNCATED}
    shown = decoded.values.to_pylist()
    for text, given in zip(shown, SETTINGS, strict=False):
        assert type(json.loads(text)) is type(given) or not isinstance(given, dict)
        assert not any(secret in text.replace("s3cret-is-a-name", "") for secret in SECRETS), text
    first = json.loads(shown[0])["properties"]
    assert (first["name"], first["connector.class"], first["topics"]) == ("n", "C", "t")
    assert first["database.password"] == first["url"] == "[hidden]"
    assert json.loads(shown[3])["state"] == "STARTED"
    assert all(
        secret not in failure.reason for failure in decoded.failures.values() for secret in SECRETS
    )
    asked = fixed("connect-config", Options(), secrets=True)
    assert not isinstance(asked, RecordDecoder)
    assert json.loads(asked.decode(rows).values[0].as_py()) == SETTINGS[0]


def test_topics_that_say_nothing() -> None:
    for topic in ("orders", "heartbeats2", "x.checkpoints", "mm2-offsets", "connect-configs-2"):
        assert topic_formats(topic) is None
