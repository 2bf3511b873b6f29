"""The commands over segments of Kafka 0.7: verify, dump, find, explain, convert, export."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.analysis.findings import FindingReason, Severity
from kafkaspec.analysis.verification import verify
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.log.segment import Segment
from tests.cli.helpers import lines, run
from tests.message_set.goldens import FILES, LOGS, damaged, payload, said
from tests.message_set.test_log import compressed, message

NAME = f"{0:020}.kafka"


def partition(path: Path, *files: bytes) -> Path:
    """A partition directory with these segments, each named after where it begins."""
    directory = path / "topic-0"
    directory.mkdir()
    position = 0
    for data in files:
        (directory / f"{position:020}.kafka").write_bytes(data)
        position += len(data)
    return directory


def findings(path: Path) -> list[tuple[FindingReason, Severity]]:
    report = verify(path, codec="all")
    assert not [f for f in report.findings if f.reason is FindingReason.CODECS_DISAGREE]
    return [(found.reason, found.severity) for found in report.findings]


# -- verify ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_verify_goldens() -> None:
    report = verify(LOGS, codec="all")
    assert {found.reason for found in report.findings} == {FindingReason.TRAILING_BYTES}
    assert {Path(found.file).parent.name for found in report.findings} == {"inner-cut-0"}
    results = {Path(result.file): result for result in report.files}
    for path in FILES:
        expected = said(path)
        result = results[path]
        assert (result.batches, result.records) == (
            len(expected["shallow"]),
            len(expected["deep"]),
        )
        assert str(result.kind) == "message_set"
        assert set(result.magics) <= {"0 (0.7)", "1 (0.7)"}


@pytest.mark.slow
def test_verify_damage(tmp_path: Path) -> None:
    """Whatever recovery would cut, or a consumer would fail at, is a finding."""
    for case in damaged():
        data = bytes.fromhex(case["hex"])
        (tmp_path / NAME).write_bytes(data)
        whole = case["recovered"] == len(data) and not any("error" in m for m in case["deep"])
        if whole and case["name"].startswith("bit 36"):
            continue  # the codec in the attributes of a set: its checksum does not cover it
        assert (not findings(tmp_path / NAME)) == whole, case["name"]


def test_verify_joins_segments(tmp_path: Path) -> None:
    one, two = message(b"one"), message(b"two")
    directory = partition(tmp_path, one, two, message(b"three"))
    assert findings(directory) == []
    middle = directory / f"{len(one):020}.kafka"
    middle.unlink()
    assert findings(directory) == [(FindingReason.SEGMENT_POSITION, Severity.ERROR)]
    middle.write_bytes(two[:-1] + b"?")
    assert findings(directory) == [(FindingReason.CHECKSUM_MISMATCH, Severity.ERROR)]


def test_verify_tails(tmp_path: Path) -> None:
    directory = partition(tmp_path, message(b"one") + message(b"cut")[:-2])
    assert findings(directory) == [(FindingReason.TORN_TAIL, Severity.WARNING)]
    (directory / NAME).write_bytes(message(b"one") + bytes(100))
    assert findings(directory) == [(FindingReason.ZERO_TAIL, Severity.WARNING)]
    text = run("verify", directory)
    assert text.exit_code == 1
    assert "Recovery cuts these bytes off" in text.stdout


# -- dump, find, explain, export ------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_dump(path: Path) -> None:
    result = run("dump", path, "--format", "json", "--bytes", "base64")
    assert result.exit_code == 0
    rows = lines(result)
    assert [row["value"] for row in rows] == [
        {"base64": found["payload"]} for found in said(path)["deep"]
    ]
    assert {row["format"] for row in rows} <= {"0.7"}
    batches = lines(run("dump", path, "--format", "json", "--batches"))
    assert [(row["position"], row["crc"], row["crc_valid"], row["format"]) for row in batches] == [
        (found["position"], found["crc"], found["valid"], "0.7") for found in said(path)["shallow"]
    ]


def test_dump_text() -> None:
    text = run("dump", LOGS / "gzip-0", "--batches").stdout
    assert "magic 1 (0.7)" in text


def test_find() -> None:
    result = run("find", LOGS / "segments-0", "--offset", "305", "--format", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["record"]["offset"] == 305


@pytest.mark.slow
def test_explain_shows_every_byte() -> None:
    for path in FILES:
        for found in said(path)["shallow"]:
            result = run(
                "explain", path, "--position", str(found["position"]), "--format", "json",
                "--records", "2",
            )  # fmt: skip
            assert result.exit_code == 0 or path.parent.name == "inner-cut-0"
            fields = [row for row in lines(result) if row["section"].startswith("entry")]
            (value,) = [row["value"] for row in fields if row["path"].endswith("/payload")]
            assert bytes.fromhex(value["hex"]) == payload(found)
            assert fields[-1]["end"] == found["next"]


def test_explain_shows_what_is_in_a_set() -> None:
    (path,) = (LOGS / "snappy-0").iterdir()
    text = run("explain", path, "--offset", "0").stdout
    assert "decompressed with snappy" in text
    assert '"only"' in text
    assert "right" in text


@pytest.mark.slow
def test_export(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    out = tmp_path / "records.jsonl"
    assert run("export", LOGS / "mixed-0", "--to", "jsonl", "-o", out).exit_code == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    (path,) = (LOGS / "mixed-0").iterdir()
    assert [row["value"].encode() for row in rows] == [payload(m) for m in said(path)["deep"]]


def test_no_indexes() -> None:
    with pytest.raises(KafkaSpecError, match=r"Kafka 0\.7 has no indexes"):
        ks.rebuild_indexes(LOGS / "segments-0")


# -- convert --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_convert_all(tmp_path: Path, magic: int) -> None:
    report = ks.convert(LOGS, tmp_path / "out", magic=magic, offsets="renumber")
    assert report.clean
    for directory in LOGS.iterdir():
        with ks.open(directory) as old, ks.open(tmp_path / "out" / directory.name) as new:
            before, after = list(old.records()), list(new.records())
            assert [record.value for record in after] == [record.value for record in before]
            assert [record.offset for record in after] == list(range(len(before)))
    assert verify(tmp_path / "out", codec="all").clean


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_convert_keeps_positions(tmp_path: Path, magic: int) -> None:
    """Plain messages keep their offsets, so that consumers go on where they were."""
    report = ks.convert(LOGS / "plain-0", tmp_path / "out", magic=magic)
    assert report.clean
    with ks.open(LOGS / "plain-0") as old, ks.open(tmp_path / "out") as new:
        assert [(r.offset, r.value) for r in new.records()] == [
            (r.offset, r.value) for r in old.records()
        ]


def test_convert_of_a_range(tmp_path: Path) -> None:
    directory = partition(tmp_path, *(message(b"%d" % i) for i in range(5)))
    size = len(message(b"0"))
    report = ks.convert(
        directory, tmp_path / "out", magic=2, start_offset=size, end_offset=3 * size
    )
    assert report.clean
    with ks.open(tmp_path / "out") as new:
        assert [(r.offset, r.value) for r in new.records()] == [(size, b"1"), (2 * size, b"2")]


def test_convert_needs_a_choice(tmp_path: Path) -> None:
    """Neither the format nor the offsets change in silence."""
    no_magic = run("convert", LOGS / "plain-0", "-o", tmp_path / "out")
    assert no_magic.exit_code == 2
    assert "the format of Kafka 0.7 cannot be written: choose a magic" in no_magic.stderr
    shared = run("convert", LOGS / "gzip-0", "-o", tmp_path / "out", "--magic", "2")
    assert shared.exit_code == 2
    assert "4 messages of a compressed set share offset 61" in shared.stderr
    assert "renumber" in shared.stderr
    assert not (tmp_path / "out").exists()


def test_convert_counts_what_a_set_drops(tmp_path: Path) -> None:
    report = ks.convert(LOGS / "inner-cut-0", tmp_path / "out", magic=2, offsets="renumber")
    assert report.clean
    (result,) = report.partitions
    assert {kind: count["batches"] for kind, count in result.losses.as_dict().items()} == {
        "unused_bytes": 2
    }


def test_convert_of_damage(tmp_path: Path) -> None:
    good, bad = message(b"good"), message(b"bad")
    directory = partition(tmp_path, good + bad[:-1] + b"?" + compressed(bad[:-1]) + good)
    with pytest.raises(KafkaSpecError) as raised:
        ks.convert(directory, tmp_path / "out", magic=2)
    assert raised.value.reason is Reason.CHECKSUM_MISMATCH
    report = ks.convert(directory, tmp_path / "out", magic=2, on_error="skip")
    (result,) = report.partitions
    assert result.taken == 2
    with ks.open(tmp_path / "out") as new:
        assert [record.value for record in new.records()] == [b"good", b"good"]


def test_a_directory_of_both(tmp_path: Path) -> None:
    """After an upgrade: what 0.8 wrote is the log, and verify looks at all files."""
    ks.convert(LOGS / "plain-0", tmp_path / "topic-0", magic=2)
    (source,) = (LOGS / "plain-0").iterdir()
    shutil.copy(source, tmp_path / "topic-0")
    with ks.open(tmp_path / "topic-0") as log:
        assert all(path.suffix == ".log" for path in log.segment_paths)  # type: ignore[union-attr]
    kinds = {str(result.kind) for result in verify(tmp_path / "topic-0").files}
    assert {"segment", "message_set"} <= kinds


def test_names() -> None:
    with Segment(message(b"x"), log_format="0.7", base_offset=100) as segment:
        (batch,) = segment.batches()
    assert (batch.base_offset, batch.next_offset) == (100, 100 + len(message(b"x")))
    assert "magic 1 (0.7)" in repr(batch)


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_convert_counts_reserved_bits(tmp_path: Path, magic: int) -> None:
    """Bits of the attributes that Kafka 0.7 does not read have no place in any later format."""
    inside = compressed(message(b"b", 8), message(b"c"), message(b"d", 252))
    wrapped = bytearray(inside)
    wrapped[5] |= 16  # the checksum of 0.7 does not cover the attributes
    path = partition(tmp_path, message(b"a", 4) + message(b"-"), bytes(wrapped))
    options: list[dict[str, Any]] = [{}, {"compression": "gzip"}, {"batch_bytes": 1 << 10}]
    for number, more in enumerate(options):
        out = tmp_path / f"out{number}"
        report = ks.convert(path, out, magic=magic, offsets="renumber", **more)
        assert report.clean, report.partitions
        lost = {name: count.records for name, count in report.losses.fields.items()}
        assert lost["record.attributes.reserved"] == 3
        assert "header.attributes.reserved" in lost
        values = [r.value for r in ks.Partition(out).records()]
        assert values == [b"a", b"-", b"b", b"c", b"d"]
