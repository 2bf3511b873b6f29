"""Exports hold all of the records: read back, they are encoded to the bytes of the segment."""

from __future__ import annotations

import base64
import io
import json
import re
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.codecs import codec_names, get_codec
from tests import goldens
from tests.agreement.test_reencode import options
from tests.arrow import forge
from tests.arrow.test_columns import milliseconds
from tests.cli.helpers import fingerprint, process, run

pa = pytest.importorskip("pyarrow")

from pyarrow import parquet  # noqa: E402

from kafkaspec.arrow.schema import COLUMNS as COLUMNS_OF_ALL  # noqa: E402
from kafkaspec.tables import TableFormat  # noqa: E402
from kafkaspec.tables.exports import export  # noqa: E402
from kafkaspec.tables.writers import JsonLinesWriter  # noqa: E402

FORMATS: list[TableFormat] = ["parquet", "arrow", "jsonl"]
COLUMNS = ["batch_position", "offset", "timestamp", "key", "value", "headers"]
SEGMENT = goldens.GOLDEN / "4.3.1/logs/plain-0/00000000000000000000.log"


def read_back(path: Path, to: TableFormat) -> list[tuple[int, ks.Record]]:
    """Positions of batches, and records, of an export with ``COLUMNS``."""
    if to == "jsonl":
        return [from_json(json.loads(line)) for line in path.read_bytes().splitlines()]
    table = parquet.read_table(path) if to == "parquet" else pa.ipc.open_file(path).read_all()
    stamps = milliseconds(table["timestamp"])
    found = []
    for row, timestamp in zip(table.to_pylist(), stamps, strict=True):
        pairs = tuple((text(pair["key"]), pair["value"]) for pair in row["headers"])
        record = ks.Record(row["offset"], timestamp, row["key"], row["value"], pairs)
        found.append((row["batch_position"], record))
    return found


def from_json(row: dict[str, Any]) -> tuple[int, ks.Record]:
    timestamp = -1 if row["timestamp"] is None else row["timestamp"]
    pairs = [(text(data(key)), data(value)) for key, value in row["headers"]]
    record = ks.Record(row["offset"], timestamp, data(row["key"]), data(row["value"]), tuple(pairs))
    return row["batch_position"], record


def data(value: Any) -> bytes | None:
    if isinstance(value, dict):
        return base64.b64decode(value["base64"])
    return None if value is None else str(value).encode()


def text(key: Any) -> str:
    return key.decode("utf-8", "surrogateescape") if isinstance(key, bytes) else str(key)


@pytest.mark.core
@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("version", [goldens.VERSIONS[0], goldens.VERSIONS[-1]])
def test_golden_segments_come_back_byte_for_byte(
    tmp_path: Path, version: str, to: TableFormat
) -> None:
    compared = 0
    for golden in goldens.files(".log", version=version):
        output = tmp_path / "out"
        with ks.Segment(golden.path) as segment:
            rows = export(
                segment, output, to, columns=COLUMNS, include_control=True, replace_existing=True
            )
            found = read_back(output, to)
            assert len(found) == rows
            groups = groupby(found, key=lambda pair: pair[0])
            by_batch = {position: [record for _, record in group] for position, group in groups}
            for batch in segment.batches():
                records = by_batch.get(batch.position, [])
                assert records == batch.records()
                appended = batch.timestamp_type == "LogAppendTime" and batch.magic == 2
                if not batch.is_compressed and not appended:
                    assert ks.encode(records, **options(batch)) == bytes(batch.data)
                    compared += 1
    assert compared > 50


@pytest.mark.parametrize("to", FORMATS)
def test_odd_bytes(tmp_path: Path, to: TableFormat) -> None:
    made = [
        ks.Record(0, -1, b"\xff\x00", b'"\\\n\xc3\xa9', (("\udcff", b"\x80"), ("", None))),
        ks.Record(1, 2**62, b"", None),
        ks.Record(2, -5, None, b'{"base64": "AA=="}', (("\u2028\x00", b""),)),
    ]
    segment = ks.Segment(ks.encode(made))
    output = tmp_path / "out"
    if to != "jsonl":
        with pytest.raises(ks.KafkaSpecError, match="not UTF-8"):
            export(segment, output, to, columns=COLUMNS)
        assert list(tmp_path.iterdir()) == []
    export(segment, output, to, columns=COLUMNS, header_keys="binary")
    if to == "jsonl":
        assert [record for _, record in read_back(output, to)] == made
        return
    table = parquet.read_table(output) if to == "parquet" else pa.ipc.open_file(output).read_all()
    # Of timestamps to_pylist() would make datetime objects, which end in the year 9999.
    stamps = milliseconds(table["timestamp"])
    rows = table.drop_columns(["timestamp"]).to_pylist()
    assert [
        ks.Record(
            row["offset"],
            stamp,
            row["key"],
            row["value"],
            tuple((text(pair["key"]), pair["value"]) for pair in row["headers"]),
        )
        for row, stamp in zip(rows, stamps, strict=True)
    ] == made


@pytest.mark.core
def test_formats_are_plain(tmp_path: Path) -> None:
    """Any reader of the formats takes them: no views, one dictionary for a column."""
    output = tmp_path / "log.arrow"
    with ks.open(goldens.GOLDEN / "4.3.1/logs") as directory:
        rows = export(directory, output, "arrow", include_control=True, max_bytes=2000)
        assert rows > 100
    table = pa.ipc.open_file(output).read_all()
    assert table.num_rows == rows
    assert table.schema.field("value").type == pa.binary()
    assert table.schema.names[:2] == ["topic", "partition"]
    assert len(set(table["topic"].to_pylist())) > 5


@pytest.mark.core
def test_command(tmp_path: Path) -> None:
    before = fingerprint(SEGMENT.parent)
    with ks.Segment(SEGMENT) as segment:
        records = list(segment.records())
    middle = records[len(records) // 2].offset
    output = tmp_path / "out.parquet"
    result = run(
        "export", SEGMENT.parent, "--to", "parquet", "-o", output, "--columns", "value, offset",
        "--from-offset", str(middle), "--until-offset", str(middle + 2),
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert "2 records to" in result.stderr
    table = parquet.read_table(output)
    assert table.column_names == ["value", "offset"]
    assert table["offset"].to_pylist() == [middle, middle + 1]
    assert fingerprint(SEGMENT.parent) == before

    again = run("export", SEGMENT, "--to", "jsonl", "-o", output)
    assert again.exit_code == 2
    assert "--force" in again.stderr
    time = records[3].timestamp
    done = process(
        "export", SEGMENT, "--to", "jsonl", "-o", output, "--force", "--from-time", str(time),
        "--until-time", str(time + 1),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    assert [line["offset"] for line in lines] == [r.offset for r in records if r.timestamp == time]
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_the_suffix_names_the_format(tmp_path: Path) -> None:
    for form in ("parquet", "arrow", "jsonl"):
        named, plain = tmp_path / f"segment.{form}", tmp_path / form
        assert run("export", SEGMENT, "-o", named).exit_code == 0
        assert run("export", SEGMENT, "--to", form, "-o", plain).exit_code == 0
        assert named.read_bytes() == plain.read_bytes(), form
    for name in ("-", tmp_path / "segment.orc", tmp_path / "segment"):
        wrong = run("export", SEGMENT, "-o", name)
        assert wrong.exit_code == 2
        assert f"{name} ends in none of .parquet, .arrow, .jsonl, .csv; name" in wrong.stderr
        assert not Path(name).exists()


def test_command_on_what_cannot_be_read_leaves_no_file(tmp_path: Path) -> None:
    broken = bytearray(ks.encode(forge.records(10)) + ks.encode(forge.records(10, 10)))
    broken[-1] ^= 1
    path = forge.segment(tmp_path / "topic-0", [bytes(broken)])
    output = tmp_path / "out.jsonl"
    result = run("export", path, "--to", "jsonl", "-o", output)
    assert result.exit_code == 2
    assert "checksum_mismatch" in result.stderr
    assert [item.name for item in tmp_path.iterdir()] == ["topic-0"]
    good = run("export", path, "--to", "jsonl", "-o", output, "--crc", "ignore")
    assert good.exit_code == 0
    assert len(output.read_text().splitlines()) == 20
    for arguments, text_ in [
        (["--columns", "nothing"], "no column 'nothing'"),
        (["--columns", "offset,offset"], "twice"),
    ]:
        wrong = run("export", path, "--to", "arrow", "-o", tmp_path / "x", *arguments)
        assert wrong.exit_code == 2
        assert text_ in wrong.stderr
    absent = run("export", path, "--to", "arrow", "-o", tmp_path / "no" / "x", "--crc", "ignore")
    assert absent.exit_code == 2
    assert "make it first" in absent.stderr


@pytest.mark.core
def test_without_pyarrow_it_says_what_is_missing(tmp_path: Path) -> None:
    import subprocess

    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import kafkaspec as ks\n"
        "segment = ks.open(sys.argv[1])\n"
        "assert list(segment.records())\n"
        "try: segment.to_arrow()\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(SEGMENT)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "pip install 'kafkaspec[arrow]'" in done.stdout


def test_progress_counts_every_byte(tmp_path: Path) -> None:
    root = goldens.GOLDEN / "4.3.1/logs/segments-0"
    seen: dict[str, int] = {}

    def note(name: str, done: int) -> None:
        seen[name] = seen.get(name, 0) + done

    with ks.open(root) as partition:
        export(partition, tmp_path / "out", "parquet", progress=note, max_bytes=100)
        assert isinstance(partition, ks.Partition)
        assert seen == {str(path): path.stat().st_size for path in partition.segment_paths}


@pytest.mark.core
@pytest.mark.skipif("native" not in codec_names(), reason="the extension was not built")
@pytest.mark.parametrize("header_keys", ["binary", "string"])
@pytest.mark.parametrize("version", goldens.VERSIONS)
def test_lines_of_the_core_are_those_of_python(version: str, header_keys: Any) -> None:
    """Each release has both kinds of keys and both layouts; the next one has them crosswise."""
    choices: list[dict[str, Any]] = [{}, {"layout": "binary", "start_offset": 3}]
    crosswise = goldens.VERSIONS.index(version) + (header_keys == "string")
    options = choices[crosswise % 2]
    for path in goldens.distinct_partitions(version):
        with ks.open(path) as log:
            batches = log.to_batches(
                COLUMNS_OF_ALL, header_keys=header_keys, include_control=True, **options
            )
            for batch in batches:
                for part in (batch, batch.slice(1, 5), batch.slice(2, 20)):
                    check_lines(part)


def check_lines(part: Any) -> None:
    lines = [io.BytesIO(), io.BytesIO()]
    for file, core in zip(lines, (None, get_codec("native").core), strict=True):
        if part.num_rows:
            JsonLinesWriter(file, core).write_batch(part)
    assert lines[0].getvalue() == lines[1].getvalue()
    assert lines[0].getvalue().count(b"\n") == part.num_rows


@pytest.mark.slow
@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize(
    "options", [{}, {"start_offset": 9, "end_offset": 60}, {"start_offset": 3}]
)
def test_jobs_make_the_same_file(tmp_path: Path, to: TableFormat, options: dict[str, Any]) -> None:
    for name in ("plain-0", "transactions-0", "codec-mixed-0"):
        path = goldens.GOLDEN / "4.3.1/logs" / name
        for max_bytes in (400, 1 << 20):
            made = []
            for jobs in (1, 2, 5):
                output = tmp_path / f"{name}-{max_bytes}-{jobs}"
                with ks.open(path) as log:
                    export(
                        log,
                        output,
                        to,
                        jobs=jobs,
                        max_bytes=max_bytes,
                        include_control=True,
                        replace_existing=True,
                        **options,
                    )
                # Arrow's files have padding with any content.
                made.append(
                    pa.ipc.open_file(output).read_all() if to == "arrow" else output.read_bytes()
                )
            assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("jobs", [1, 3])
def test_jobs_skip_what_is_damaged(tmp_path: Path, jobs: int) -> None:
    data = bytearray(SEGMENT.read_bytes())
    batches = list(ks.Segment(bytes(data)).batches())
    data[batches[2].position + 70] ^= 1
    errors: list[ks.KafkaSpecError] = []
    output = tmp_path / "out"
    rows = export(
        ks.Segment(bytes(data)), output, "jsonl", jobs=jobs, max_bytes=300, on_error=errors.append
    )
    whole = sum(len(batch.records()) for batch in batches)
    assert rows == whole - len(batches[2].records())
    assert [error.reason for error in errors] == [ks.Reason.CHECKSUM_MISMATCH]
    assert output.read_bytes().count(b"\n") == rows


# -- messages --------------------------------------------------------------------------------------

LOGS = goldens.GOLDEN / "4.3.1" / "logs"


def _told(topic: str, number: str) -> dict[int, dict[str, Any]]:
    """Values of records of a type by offset, as 4.3.1's own dump tool shows them."""
    path = f"{topic}-0/{0:020}.log"
    line = re.compile(
        rf'^\| offset: (\d+) .*? key: {{"type":"{number}",.*?}} payload: (.*)$', re.MULTILINE
    )
    return {
        int(found[1]): json.loads(found[2])["data"]
        for found in line.finditer(goldens.dumps("4.3.1")[path])
        if found[2].startswith("{")
    }


@pytest.mark.core
@pytest.mark.parametrize("to", FORMATS)
def test_messages_are_exported_as_typed_columns(tmp_path: Path, to: TableFormat) -> None:
    for name, topic, number, fields in (
        ("OffsetCommit", "__consumer_offsets", "1", {"offset": "offset", "metadata": "metadata"}),
        ("TransactionLog", "__transaction_state", "0", {"producer_id": "producerId"}),
        ("GroupMetadata", "__consumer_offsets", "2", {"generation": "generation"}),
    ):
        told = _told(topic, number)
        assert told
        for path in (LOGS, LOGS / f"{topic}-0", LOGS / f"{topic}-0" / f"{0:020}.log"):
            output = tmp_path / f"out.{to}"
            result = run("export", path, "--messages", name, "-o", output, "--force")
            assert result.exit_code == 0, result.output
            if to == "jsonl":
                rows = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
            elif to == "parquet":
                rows = parquet.read_table(output).to_pylist()
            else:
                rows = pa.ipc.open_file(output).read_all().to_pylist()
            found = {row["offset"]: row["value"] for row in rows if row["value"] is not None}
            assert found.keys() == told.keys()
            for offset, value in told.items():
                for id_, shown in fields.items():
                    assert found[offset][id_] == value[shown]


def test_messages_in_json_have_ids_as_kafka_writes_them(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    assert run("export", LOGS, "--messages", "OffsetCommit", "-o", output).exit_code == 0
    rows = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    ids = {row["offset"]: row["value"]["topic_id"] for row in rows}
    assert ids == {
        offset: value.get("topicId") for offset, value in _told("__consumer_offsets", "1").items()
    }
    assert all("unused" not in row["key"] for row in rows)


def test_messages_that_are_not_there_are_refused_by_name(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    for path, name, said in (
        (LOGS, "Nothing", "no topic has records called 'Nothing'"),
        (LOGS / "plain-0", "OffsetCommit", "is of plain; OffsetCommit records are in __consumer_"),
        (LOGS.parent / "unclean" / "logs", "ShareSnapshot", "has no partition of __share_group_st"),
    ):
        result = run("export", path, "--messages", name, "-o", output)
        assert result.exit_code == 2
        assert said in result.output.replace("\n", "")
        assert not output.exists()
    wrong = run("export", LOGS, "--messages", "OffsetCommit", "--columns", "key", "-o", output)
    assert wrong.exit_code == 2
    assert run("export", LOGS, "--release", "4.0", "-o", output).exit_code == 2


def test_messages_that_do_not_decode(tmp_path: Path) -> None:
    place = tmp_path / "__consumer_offsets-0"
    place.mkdir()
    records = list(ks.Partition(LOGS / place.name).records())
    records[2] = records[2]._replace(value=bytes(records[2].value or b"")[:-3])
    (place / f"{0:020}.log").write_bytes(b"".join(ks.encode([record]) for record in records))
    output = tmp_path / "out.parquet"
    command: list[str | Path] = ["export", place, "--messages", "OffsetCommit", "-o", output]
    failed = run(*command)
    assert failed.exit_code == 2
    assert "record 2, byte" in failed.output
    assert not output.exists()
    kept = run(*command, "--on-error", "skip")
    assert kept.exit_code == 1
    assert "1 record not decoded" in kept.output
    rows = parquet.read_table(output).to_pylist()
    assert [row["offset"] for row in rows if row["error"]] == [2]
