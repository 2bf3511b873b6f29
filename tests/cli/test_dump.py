"""``kafkaspec dump``: what comes out is what producers sent and what Kafka's own tool says."""

from __future__ import annotations

import base64
import json
import re
import tracemalloc
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaspec import Record, encode
from kafkaspec.cli.commands.dump_json import WRITERS, record_lines
from kafkaspec.codecs import codec_names
from kafkaspec.columns.value_text import bytes_text
from kafkaspec.conformance import dump_text
from kafkaspec.log.pieces import WHOLE_BYTES
from kafkaspec.log.segment import Segment
from tests.cli.helpers import golden, lines, run
from tests.goldens import FULL, GOLDEN, VERSIONS, compacted, files, produced
from tests.log.forge import batch, legacy, record
from tests.loops import each
from tests.work import calls

FIELDS = [
    "file",
    "position",
    "offset",
    "timestamp",
    "timestamp_type",
    "magic",
    "compression",
    "key",
    "value",
    "headers",
    "producer_id",
    "producer_epoch",
    "sequence",
    "transactional",
    "control",
]


def decoded(value: Any) -> bytes | None:
    """Bytes from their JSON."""
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])


@pytest.mark.parametrize(
    ("version", "form"),
    [*((version, "text") for version in VERSIONS), *((version, "base64") for version in FULL)],
)
def test_records_are_those_that_producers_sent(version: str, form: str) -> None:
    found: dict[str, list[tuple[object, ...]]] = {}
    deleted = ("--log-start", "ignore", "--no-decode")  # also records that were deleted later
    result = run("dump", "--format", "json", "--bytes", form, *deleted, GOLDEN / version / "logs")
    assert result.exit_code == 0
    for note in result.stderr.splitlines():
        assert re.search(r"note: .*compacted.*: .* are not there, as after compaction", note)
    for item in lines(result):
        assert list(item) == FIELDS
        if item["control"] is not None:
            continue
        headers = tuple((decoded(key), decoded(value)) for key, value in item["headers"])
        found.setdefault(Path(item["file"]).parent.name, []).append(
            (
                item["offset"],
                item["timestamp"],
                decoded(item["key"]),
                decoded(item["value"]),
                headers,
                item["compression"],
            )
        )
        if form == "base64":
            assert not isinstance(item["key"], str)
            assert not isinstance(item["value"], str)
    for partition, sent in produced(version).items():
        expected = [
            (
                item["offset"],
                item["timestamp"],
                item["key"],
                item["value"],
                tuple((key.encode(), value) for key, value in item["headers"]),
                item["compression"],
            )
            for item in sorted(sent, key=lambda item: item["offset"])
        ]
        if partition in compacted(version):
            assert set(found.get(partition, [])) <= set(expected)
        else:
            assert found.get(partition, []) == expected, partition


@pytest.mark.slow
@each(
    "log",
    [item for item in files(".log") if item.version in ("2.8.2", "3.9.2", "4.3.1")],
)
def test_batches_are_those_of_the_dump_tool(log: Any) -> None:
    result = run("dump", "--batches", "--format", "json", log.path)
    assert result.exit_code == 0
    theirs = [line.values for line in dump_text.batch_lines(log.dump) if line.batch]
    ours = lines(result)
    assert len(ours) == len(theirs)
    for mine, its in zip(ours, theirs, strict=True):
        expected = {
            "position": int(its["position"]),
            "size": int(its["size"]),
            "magic": int(its["magic"]),
            "compression": its["compresscodec"].lower(),
            "crc": int(its["crc"]),
            "crc_valid": its["isvalid"] == "true",
        }
        if "baseOffset" in its:
            expected |= {
                "base_offset": int(its["baseOffset"]),
                "last_offset": int(its["lastOffset"]),
                "record_count": int(its["count"]),
                "producer_id": int(its["producerId"]),
                "producer_epoch": int(its["producerEpoch"]),
                "base_sequence": int(its["baseSequence"]),
                "last_sequence": int(its["lastSequence"]),
                "partition_leader_epoch": int(its["partitionLeaderEpoch"]),
                "transactional": its["isTransactional"] == "true",
                "control": its["isControl"] == "true",
            }
        else:
            expected["last_offset"] = int(its["offset"])
        assert {name: mine[name] for name in expected} == expected
        largest = -1 if mine["max_timestamp"] is None else mine["max_timestamp"]
        assert str(largest) == its[mine["timestamp_type"]]


@pytest.mark.slow
def test_control_records() -> None:
    result = run("dump", "--format", "json", golden("3.9.2", "transactions-0"))
    controls = [item for item in lines(result) if item["control"] is not None]
    assert {item["control"]["type"] for item in controls} == {"ABORT", "COMMIT"}
    assert controls[0]["control"] == {
        "type": "COMMIT",
        "type_id": 1,
        "version": 0,
        "value": {"version": 0, "coordinator_epoch": 0},
    }
    kraft = run("dump", "--format", "json", golden("4.3.1", "__cluster_metadata-0"))
    by_type = {
        item["control"]["type"]: item["control"]["value"]
        for item in lines(kraft)
        if item["control"] is not None
    }
    assert set(by_type) >= {"LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER"}
    assert by_type["LEADER_CHANGE"]["voters"]


@pytest.mark.parametrize("codec", codec_names())
def test_every_codec_gives_the_same(codec: str) -> None:
    path = golden("2.8.2", "format-mixed-gzip-0")
    assert run("dump", "--codec", codec, "--format", "json", path).stdout == (
        run("dump", "--format", "json", path).stdout
    )


def test_from_offset_and_limit() -> None:
    path = golden("3.9.2", "segments-0")
    result = run("dump", "--format", "json", "--from-offset", "20", "--limit", "5", path)
    assert [item["offset"] for item in lines(result)] == [20, 21, 22, 23, 24]


def test_a_broken_batch_is_reported_and_left_out(tmp_path: Path) -> None:
    good = [batch(offset, [record(0, b"x")]) for offset in range(3)]
    bad = bytearray(good[1])
    bad[-2] ^= 1  # the value
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(good[0] + bad + good[2])
    result = run("dump", "--format", "json", path)
    assert [item["offset"] for item in lines(result)] == [0, 2]
    assert "checksum_mismatch" in result.stderr
    assert f"at byte {len(good[0]) + 17}" in result.stderr
    assert result.exit_code == 1
    result = run("dump", "--format", "json", "--crc", "ignore", path)
    assert [item["value"] for item in lines(result)] == ["x", "y", "x"]
    assert result.exit_code == 0


def test_null_and_none() -> None:
    log = legacy(0, None, magic=0, key=b"") + batch(
        1, [record(0, None, key=b"")], base_timestamp=-1, max_timestamp=-1
    )
    found = [
        line
        for item in Segment(log).batches()
        for line in record_lines(item, item.records(), "x", WRITERS["text"])
    ]
    assert '"timestamp": null, "timestamp_type": "NoTimestampType"' in found[0]
    assert '"timestamp": null, "timestamp_type": "CreateTime"' in found[1]
    assert all('"key": "", "value": null' in line for line in found)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.none() | st.binary() | st.text().map(str.encode),
            st.none() | st.binary(),
            st.lists(st.tuples(st.binary(), st.none() | st.binary())),
        )
    ),
    st.sampled_from(["text", "base64"]),
)
def test_json_is_lossless(
    content: list[tuple[bytes | None, bytes | None, list[tuple[bytes, bytes | None]]]],
    form: str,
) -> None:
    import json

    log = batch(
        0,
        [
            record(number, value, key=key, headers=headers)
            for number, (key, value, headers) in enumerate(content)
        ],
    )
    (item,) = Segment(log).batches()
    written = [
        json.loads("".join(line))
        for line in record_lines(item, item.records(), 'a "file"\n', WRITERS[form])
    ]
    assert all(line["file"] == 'a "file"\n' for line in written)
    assert [
        (
            decoded(line["key"]),
            decoded(line["value"]),
            [(decoded(key), decoded(value)) for key, value in line["headers"]],
        )
        for line in written
    ] == content


def test_text_is_a_line_a_record() -> None:
    path = golden("3.9.2", "plain-0")
    result = run("dump", path)
    records = lines(run("dump", "--format", "json", path))
    assert result.exit_code == 0
    title, *rows = result.stdout.splitlines()
    assert title == records[0]["file"]
    assert [int(row.split()[0]) for row in rows] == [item["offset"] for item in records]
    assert "null" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_batches_as_text(version: str) -> None:
    result = run("dump", "--batches", GOLDEN / version / "logs")
    assert result.exit_code == 0
    assert "WRONG" not in result.stdout


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (None, "null"),
        (b"", '""'),
        (b"abc", '"abc"'),
        ("é".encode(), '"é"'),
        (b'a"b\\', '"a\\"b\\\\"'),
        (b"\x1b[31m\n\x00", '"\\x1b[31m\\n\\x00"'),
        ("\u202e".encode(), '"\\u202e"'),
        (b"\xff\x00", "0xff00"),
        (b"x" * 150, '"' + "x" * 100 + '"... (150 bytes)'),
        (b"\xff" * 60, "0x" + "ff" * 50 + "... (60 bytes)"),
    ],
)
def test_bytes_for_people(data: bytes | None, shown: str) -> None:
    assert bytes_text(data) == shown


@pytest.mark.slow
@pytest.mark.parametrize("output", ["json", "text"])
@pytest.mark.parametrize("options", [(), ("--from-offset", "3", "--until-offset", "700")], ids=str)
def test_lines_of_batches_are_those_of_another_codec(
    tmp_path: Path, output: str, options: tuple[str, ...]
) -> None:
    """Headers of all kinds, among them a wrong checksum, and flags that Kafka does not use."""
    other: dict[str, Any] = {"producer_id": 7, "producer_epoch": 1, "base_sequence": 5}
    more: list[dict[str, Any]] = [
        {}, {"compression": "zstd"}, {"timestamp_type": "LogAppendTime"}, other,
        other | {"transactional": True}, {"delete_horizon": 1_700_000_000_000},
        {"partition_leader_epoch": 3}, {"header": {"attributes.reserved": 2}}, {"magic": 1},
        {"magic": 1, "compression": "gzip"}, {"magic": 0}, {"delete_horizon": -1},
    ]  # fmt: skip
    kinds = [[kind] * (1 + 20 * (number % 3)) for number, kind in enumerate(more)] * 3
    entries = [
        encode(
            [Record(at, -1 if at % 5 == 0 or kind.get("magic") == 0 else at, b"k", b"v")], **kind
        )
        for at, kind in enumerate(chain.from_iterable(kinds))
    ]
    entries[4] = entries[4][:-1] + b"x"
    log = tmp_path / "t-0" / f"{0:020d}.log"
    log.parent.mkdir()
    log.write_bytes(b"".join(entries))
    ours, theirs = (
        run("dump", "--batches", "--format", output, *options, "--codec", codec, log)
        for codec in ("native", "python")
    )
    assert ours.stdout == theirs.stdout
    assert (ours.exit_code, ours.stderr) == (theirs.exit_code, theirs.stderr)
    assert len(ours.stdout.splitlines()) > len(entries) // 2


@pytest.mark.slow
@pytest.mark.parametrize(("output", "most"), [("json", 0.1), ("text", 12)])
def test_lines_of_batches_take_few_calls(tmp_path: Path, output: str, most: float) -> None:
    work = []
    for number in (1000, 5000):
        log = tmp_path / f"t{number}-0" / f"{0:020d}.log"
        log.parent.mkdir()
        log.write_bytes(b"".join(encode([Record(at, at, None, b"v")]) for at in range(number)))
        work.append(calls(partial(run, "dump", "--batches", "--format", output, log)))
    assert work[1] - work[0] < 4000 * most, work


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "base64"])
def test_a_large_record_is_written_in_pieces(tmp_path: Path, form: str) -> None:
    """The same line as ever, in a few times its bytes: as text, zeros take six times as many."""
    size = WHOLE_BYTES + (1 << 20)
    values = [b"\0" * size, "\u20ac\n".encode() * (size // 4), b"\xff" * size, None]
    for number, value in enumerate(values):
        log = tmp_path / f"t{number}-0" / f"{0:020d}.log"
        log.parent.mkdir()
        log.write_bytes(encode([Record(0, 1, b"%s \0k \0v", value), Record(1, 2, None, b"v")]))
        out = tmp_path / f"{number}.json"
        tracemalloc.start()
        run("dump", "--format", "json", "--bytes", form, "-o", out, log)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        shown = [WRITERS[form](each) for each in (b"%s \0k \0v", value, None, b"v")]
        given = [row[name] for row in rows for name in ("key", "value")]
        assert given == [json.loads(each) for each in shown]
        assert most < 4 * size
