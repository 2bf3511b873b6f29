"""Use a magic 3 beside magic 2 through everything that is public. Run by test_public.py.

Each function is a check; the program says which failed and why.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

import kafkaspec as ks
from kafkaspec.analysis.findings import FindingReason
from kafkaspec.cli.main import main
from kafkaspec.codecs import codec_names
from kafkaspec.compression import NAMES
from kafkaspec.log.default import DefaultBatch
from tests.specgen.programs.checks import run

TOPIC_ID = bytes(range(16))
OWN: dict[str, Any] = {"topic_id": TOPIC_ID}
CODECS = codec_names()
RECORDS = [
    ks.Record(10, 1_700_000_000_000, b"k", b"v" * 40, (("h", b"1"), ("", None))),
    ks.Record(11, 1_700_000_000_005, None, None),
    ks.Record(13, 1_700_000_000_003, b"", b"x"),
]


def batch(offset: int, magic: int = 3, **options: Any) -> bytes:
    """A batch of three records, or messages of magic 0 and 1."""
    records = [record._replace(offset=record.offset - 10 + offset) for record in RECORDS]
    if magic < 2:
        records = [record._replace(headers=()) for record in records]
    if magic == 0:
        records = [record._replace(timestamp=-1) for record in records]
    own = OWN if magic == 3 else None
    return ks.encode(records, magic=magic, header=own, **options)


def command(*arguments: object, code: int | None = 0) -> str:
    """The output of the command."""
    done = CliRunner().invoke(main, [str(item) for item in arguments])
    shown = done.output + (str(done.exception) if done.exception else "")
    if done.exception and not isinstance(done.exception, SystemExit):
        traceback.print_exception(done.exception, file=sys.stdout)
        raise AssertionError(shown)
    assert code is None or done.exit_code == code, (arguments, done.exit_code, shown)
    return done.stdout


def partition(root: Path, name: str = "t-0") -> Path:
    """Magic 0 to 3 mixed in two segments, with indexes."""
    path = root / name
    path.mkdir(parents=True)
    first = [batch(offset, magic) for offset, magic in ((0, 0), (10, 1), (20, 2), (30, 3))]
    second = [batch(40 + 10 * n, 3, compression=name) for n, name in enumerate(NAMES)]
    second.append(batch(90, 2, compression="zstd"))
    second.append(batch(100, 1, compression="gzip"))
    (path / f"{0:020d}.log").write_bytes(b"".join(first))
    (path / f"{40:020d}.log").write_bytes(b"".join(second))
    return path


# -- encode and decode --------------------------------------------------------------------------


def encode_gives_the_same_with_all_codecs(root: Path) -> None:
    for name in NAMES:
        made = {codec: batch(10, compression=name, codec=codec) for codec in CODECS}
        assert len(set(made.values())) == 1, name
        data = made[CODECS[0]]
        assert data[16] == 3
        for codec in CODECS:
            assert ks.decode(data, codec=codec) == RECORDS, (name, codec)
            found = next(iter(ks.Segment(data, codec=codec).batches()))
            assert (found.magic, found.message.topic_id) == (3, TOPIC_ID), codec


def a_field_without_default_is_asked_for_by_name(root: Path) -> None:
    for codec in CODECS:
        with pytest.raises(ks.KafkaSpecError, match="topic_id") as caught:
            ks.encode(RECORDS, magic=3, codec=codec)
        assert caught.value.reason == ks.Reason.UNENCODABLE


def fields_of_records_are_written(root: Path) -> None:
    own = [{"expiry_delta": 7}, {}, {"expiry_delta": -9, "attributes": 3}]
    made = {ks.encode(RECORDS, magic=3, header=OWN, fields=own, codec=codec) for codec in CODECS}
    assert len(made) == 1
    for codec in CODECS:
        found = next(iter(ks.Segment(next(iter(made)), codec=codec).batches()))
        assert isinstance(found, DefaultBatch)
        records = found.record_set().records
        assert [record.expiry_delta for record in records] == [7, 0, -9]
        assert [record.attributes for record in records] == [0, 0, 3]
    path = root / f"{10:020d}.log"
    for kind in ("none", "zstd"):
        data = ks.encode(RECORDS, magic=3, compression=kind, header=OWN, fields=own)
        place: dict[str, Any] = {"base_offset": 14, "last_offset": 14}
        empty = ks.encode([], magic=3, compression=kind, header=OWN, **place)  # is no stream (Q9)
        path.write_bytes(data + empty)
        for codec in CODECS:
            lines = command("dump", "--format", "json", "--codec", codec, path).splitlines()
            assert [json.loads(line).get("fields", {}) for line in lines] == own, (kind, codec)
        first, second, third = command("dump", path).splitlines()[1:]
        assert first.endswith("  expiry_delta 7")
        assert "expiry_delta" not in second
        assert sorted(third.split("  ")[-2:]) == ["attributes 3", "expiry_delta -9"]


def transactions_and_producers(root: Path) -> None:
    data = batch(
        10, producer_id=4, producer_epoch=70_000, base_sequence=9, transactional=True,
        partition_leader_epoch=6, delete_horizon=1_700_000_000_000,
    )  # fmt: skip
    found = next(iter(ks.Segment(data).batches()))
    assert (found.producer_id, found.producer_epoch, found.last_sequence) == (4, 70_000, 12)
    assert found.is_transactional
    assert (found.partition_leader_epoch, found.delete_horizon) == (6, 1_700_000_000_000)
    assert [found.sequence(record.offset) for record in found.records()] == [9, 10, 12]


def new_fields_are_columns(root: Path) -> None:
    """Null where an entry is of another format; in files too, those of records unasked."""
    own = [{"expiry_delta": 7}, {}, {"expiry_delta": -9}]
    made = ks.encode(RECORDS, magic=3, header=OWN, fields=own, compression="zstd")
    path = root / "t-0"
    path.mkdir()
    (path / f"{0:020d}.log").write_bytes(batch(0, 0) + made + batch(20, 2) + batch(30, 1))
    blank = [None] * 3
    expected = {
        "offset": [0, 1, 3, 10, 11, 13, 20, 21, 23, 30, 31, 33],
        "expiry_delta": [*blank, 7, 0, -9, *blank, *blank],
        "topic_id": [*blank, *[TOPIC_ID] * 3, *blank, *blank],
    }
    for codec in CODECS:
        log = ks.Partition(path, codec=codec)
        for layout in ("view", "binary"):
            table = log.to_arrow(list(expected), layout=layout)
            assert table.to_pydict() == expected, codec
        assert table.schema.field("expiry_delta").type == "int64"
        batches = log.to_batches(["expiry_delta"], where="expiry_delta < 0")
        assert [row for piece in batches for row in piece.to_pylist()] == [{"expiry_delta": -9}]
        assert "expiry_delta" not in log.to_arrow().column_names
        heads = log.batch_table().select(["magic", "topic_id"]).to_pylist()
        assert [head["topic_id"] for head in heads if head["magic"] != 3] == [None] * 7
        assert [head["topic_id"] for head in heads if head["magic"] == 3] == [TOPIC_ID]
    command("export", path, "-o", root / "some.parquet", "--columns", "topic_id")
    some = parquet.read_table(root / "some.parquet")
    assert some.to_pydict() == {"topic_id": expected["topic_id"]}
    shown = command("find", path, "--where", "expiry_delta < 0", code=2)
    assert "expiry_delta" not in shown
    for to in ("parquet", "arrow", "jsonl"):
        command("export", path, "-o", root / f"all.{to}")
    found = parquet.read_table(root / "all.parquet")
    assert found["expiry_delta"].to_pylist() == expected["expiry_delta"]
    assert pa.ipc.open_file(root / "all.arrow").read_all().equals(found)
    lines = (root / "all.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["expiry_delta"] for line in lines] == expected["expiry_delta"]


# -- reading ------------------------------------------------------------------------------------


def expected() -> list[int]:
    return [base + delta for base in range(0, 110, 10) for delta in (0, 1, 3)]


def records_and_batches(root: Path) -> None:
    path = partition(root)
    for codec in CODECS:
        log = ks.Partition(path, codec=codec)
        assert [record.offset for record in log.records()] == expected(), codec
        assert [b.magic for b in log.batches()][-3:] == [3, 2, 1]
        assert [r.offset for r in log.records(start_offset=41)][:2] == [41, 43]
        for offset in (0, 13, 33, 41, 83, 93, 103):
            found = log.find(offset=offset)
            assert found.record is not None
            assert found.record.offset == offset, (codec, offset, found)
        found = log.find(timestamp=1_700_000_000_004)
        assert found.offset == 11, found


def columns(root: Path) -> None:
    path = partition(root)
    wanted = list(ks.open(path, codec="python").records())
    names = ["offset", "timestamp", "key", "value", "headers", "magic", "compression", "sequence"]
    tables = {}
    for codec in CODECS:
        for layout in ("view", "binary"):
            rows = ks.open(path, codec=codec).to_arrow(names, layout=layout).to_pylist()
            tables[codec, layout] = rows
            assert [row["offset"] for row in rows] == [record.offset for record in wanted], codec
            assert [row["value"] for row in rows] == [record.value for record in wanted], codec
            magics = [row["magic"] for row in rows if 30 <= row["offset"] < 90]
            assert set(magics) == {3}, (codec, layout, magics)
    assert all(rows == tables["python", "view"] for rows in tables.values())
    heads = {codec: ks.open(path, codec=codec).batch_table().to_pylist() for codec in CODECS}
    for codec, rows in heads.items():
        for row, other in zip(rows, heads["python"], strict=True):
            assert row == other, (codec, row, other)


def verify_is_clean(root: Path) -> None:
    path = partition(root)
    report = ks.verify(path)
    assert {finding.reason for finding in report.findings} == {FindingReason.MISSING_INDEX}
    text = command("verify", "--codec", "all", path)
    assert "clean" in text
    damaged = bytearray((path / f"{40:020d}.log").read_bytes())
    damaged[-200] ^= 1
    (path / f"{40:020d}.log").write_bytes(damaged)
    assert ks.verify(path).findings
    command("verify", path, code=1)


def dump_and_explain(root: Path) -> None:
    path = partition(root)
    lines = [json.loads(line) for line in command("dump", "--format", "json", path).splitlines()]
    assert [line["offset"] for line in lines] == expected()
    assert {line["magic"] for line in lines} == {0, 1, 2, 3}
    assert command("dump", path)
    shown = command("dump", "--batches", path)
    headers = [
        json.loads(line)
        for line in command("dump", "--batches", "--format", "json", path).splitlines()
    ]
    for header in headers:
        own = header.get("fields", {}).get("topic_id")
        assert own == (TOPIC_ID.decode() if header["magic"] == 3 else None), header
    assert shown.count("topic_id") == sum(header["magic"] == 3 for header in headers)
    text = command("explain", path / f"{0:020d}.log", "--offset", "31")
    assert "topic_id" in text
    assert "expiry_delta" in text
    for codec in CODECS:
        assert command("dump", "--codec", codec, "--format", "json", path).count("\n") == len(lines)


def find_command(root: Path) -> None:
    path = partition(root)
    assert "41" in command("find", "--offset", "41", path)
    assert command("find", "--max-timestamp", path)


# -- writing ------------------------------------------------------------------------------------


def segment_writer_and_indexes(root: Path) -> None:
    with ks.SegmentWriter(root / "w-0", segment_bytes=1024, index_interval_bytes=200) as writer:
        for n in range(30):
            writer.append(batch(10 * n, 3 if n % 2 else 2, compression=NAMES[n % 5]))
    assert ks.verify(root / "w-0").findings == []
    result = ks.rebuild_indexes(root / "w-0", root / "again")
    assert result is not None
    command("index", root / "w-0", "-o", root / "third", "--interval", "200", code=None)
    offsets = [record.offset for record in ks.open(root / "w-0").records()]
    assert offsets == [10 * n + delta for n in range(30) for delta in (0, 1, 3)]


def append_records_of_magic_3(root: Path) -> None:
    with ks.SegmentWriter(root / "r-0") as writer:
        writer.append_records(RECORDS, magic=3, header=OWN)
    assert list(ks.open(root / "r-0").records()) == RECORDS


def content(path: Path) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(record.offset, record.key, record.value) for record in ks.open(path).records()]


def convert_from_magic_3(root: Path) -> None:
    path = partition(root)
    before = content(path)
    for magic in (None, 0, 1, 2):
        for name in (None, "none", "gzip", "zstd"):
            if name == "zstd" and magic != 2:  # messages of magic 0 and 1 are there
                continue
            out = root / f"out-{magic}-{name}-0"
            if magic in (0, 1) and name is None:  # batches of zstd are there
                continue
            report = ks.convert(path, out, magic=magic, compression=name)
            assert content(out) == before, (magic, name)
            assert ks.verify(out).findings == [], (magic, name)
            if magic is None:
                kept = [b.message.topic_id for b in ks.Partition(out).batches() if b.magic == 3]
                assert kept == [TOPIC_ID] * 6, (name, report)


def convert_needs_what_magic_3_asks_for(root: Path) -> None:
    path = partition(root)
    with pytest.raises(ks.KafkaSpecError, match="topic_id"):
        ks.convert(path, root / "out-0", magic=3)
    assert not (root / "out-0").exists()


CHECKS: tuple[Callable[[Path], None], ...] = (
    encode_gives_the_same_with_all_codecs,
    a_field_without_default_is_asked_for_by_name,
    fields_of_records_are_written,
    new_fields_are_columns,
    transactions_and_producers,
    records_and_batches,
    columns,
    verify_is_clean,
    dump_and_explain,
    find_command,
    segment_writer_and_indexes,
    append_records_of_magic_3,
    convert_from_magic_3,
    convert_needs_what_magic_3_asks_for,
)

if __name__ == "__main__":
    run(CHECKS)
