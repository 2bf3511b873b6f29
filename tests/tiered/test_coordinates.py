"""Batches in WAL objects, whose offsets are in a list of coordinates.

The objects are made of batches that brokers wrote, as producers had sent them: with the offset 0,
and without the broker's time. With the coordinates, they are the broker's bytes again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import kafkaspec as ks
from kafkaspec.cli.main import main
from kafkaspec.codecs import get_codec
from kafkaspec.codecs.edited import written
from kafkaspec.log.batch import LOG_APPEND_TIME
from tests.goldens import GOLDEN

LOGS = GOLDEN / "4.3.1" / "logs"
APPENDED = ("log-append-time-0", "segments-log-append-time-0")
PARTITIONS = (
    "codec-gzip-0",
    "codec-none-0",
    "codec-zstd-0",
    "idempotent-0",
    "segments-0",
    *APPENDED,
)
HEADER = b"\0"
Line = dict[str, Any]


def batches_of(folder: str) -> list[tuple[bytes, ks.Batch]]:
    """The batches of a broker's partition."""
    found = []
    for path in sorted((LOGS / folder).glob("*.log")):
        data = path.read_bytes()
        with ks.Segment(path) as segment:
            found += [(data[b.position : b.end], b) for b in segment.batches()]
    return found


def as_sent(data: bytes, batch: ks.Batch) -> bytes:
    """A batch before a broker gave it offsets and times."""
    values: dict[str, Any] = {"base_offset": 0}
    if batch.timestamp_type == LOG_APPEND_TIME:
        values |= {"attributes.timestamp_type": 0, "max_timestamp": batch.max_timestamp - 12345}
    return written(get_codec("python"), data, values)


def objects(root: Path, header: bytes = HEADER) -> list[Line]:
    """Two objects with the batches of all partitions, and the lines of a list."""
    parts = [header, header]
    lines: list[Line] = []
    for folder in PARTITIONS:
        topic, _, number = folder.rpartition("-")
        for turn, (data, batch) in enumerate(batches_of(folder)):
            assert (folder in APPENDED) == (batch.timestamp_type == LOG_APPEND_TIME)
            place = turn % 2
            line: Line = {
                "object_key": f"wal/{place}",
                "topic_name": topic,
                "partition": int(number),
                "byte_offset": len(parts[place]),
                "byte_size": len(data),
                "base_offset": batch.base_offset,
                "last_offset": batch.last_offset,
                "batch_id": len(lines),
            }
            if folder in APPENDED:
                line |= {"timestamp_type": 1, "log_append_timestamp": batch.max_timestamp}
            lines.append(line)
            parts[place] += as_sent(data, batch)
    (root / "wal").mkdir(parents=True)
    for place, content in enumerate(parts):
        (root / "wal" / str(place)).write_bytes(content)
    return lines


def listed(root: Path, lines: list[Line]) -> Path:
    path = root / "all.coordinates.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def command(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(main, [str(item) for item in arguments])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def stored(folder: str) -> bytes:
    return b"".join(data for data, _ in batches_of(folder))


@pytest.mark.parametrize("header", [HEADER, b""], ids=["version byte", "no header"])
def test_the_batches_of_brokers_come_back(header: bytes, tmp_path: Path) -> None:
    lines = objects(tmp_path, header)
    path = listed(tmp_path, lines[::-1])
    with ks.open(path) as opened:
        assert isinstance(opened, ks.LogDirectory)
        assert [p.path.name for p in opened.partitions] == sorted(PARTITIONS)
        for partition in opened.partitions:
            data = b"".join(bytes(batch.data) for batch in partition.batches())
            assert data == stored(partition.path.name), partition.path
            with ks.Partition(LOGS / partition.path.name) as real:
                assert list(partition.records()) == list(real.records(log_start="ignore"))


@pytest.mark.slow
def test_converted_partitions_are_the_brokers(tmp_path: Path) -> None:
    path = listed(tmp_path, objects(tmp_path))
    code, text = command("convert", path, "-o", tmp_path / "out")
    assert code == 0, text
    for folder in PARTITIONS:
        made = b"".join(p.read_bytes() for p in sorted((tmp_path / "out" / folder).glob("*.log")))
        assert made == stored(folder), folder
    assert ks.verify(tmp_path / "out").clean


@pytest.mark.slow
def test_commands_take_the_list(tmp_path: Path) -> None:
    path = listed(tmp_path, objects(tmp_path))
    code, text = command("verify", path)
    assert code == 0, text
    code, text = command("dump", "--format", "json", path)
    assert code == 0, text
    found = [json.loads(line) for line in text.splitlines()]
    offsets = [
        line["offset"] for line in found if line["file"].rpartition("/")[0].endswith("/segments-0")
    ]
    with ks.Partition(LOGS / "segments-0") as real:
        assert offsets == [record.offset for record in real.records()]
    code, text = command("stats", path)
    assert code == 0, text


def test_coordinates_of_several_batches(tmp_path: Path) -> None:
    """inkless joins coordinates of one partition that follow each other (``commit_file_v2``)."""
    held = batches_of("segments-log-append-time-0")
    first, last = held[0][1], held[-1][1]
    time = 1_800_000_000_000
    body = b"".join(as_sent(data, batch) for data, batch in held)
    (tmp_path / "o").write_bytes(HEADER + body)
    line = {
        "object_key": "o", "topic_name": "t", "partition": 3, "byte_offset": 1,
        "byte_size": len(body), "base_offset": 700,
        "last_offset": 700 + last.last_offset - first.base_offset,
        "timestamp_type": 1, "log_append_timestamp": time,
        "topic_id": "6b1f6e2c-0d3e-4d6a-9f5b-1f2e3d4c5b6a",
    }  # fmt: skip
    path = listed(tmp_path, [line])
    with ks.open(path) as opened:
        records = list(opened.records())
        assert {record.timestamp for record in records} == {time}
        assert [r.offset - 700 for r in records] == [
            record.offset - first.base_offset for _, batch in held for record in batch.records()
        ]
    report = ks.verify(path)
    assert report.clean, report.findings
    assert "partition_metadata" in {str(file.kind) for file in report.files}


def test_a_path_as_text_is_opened_again(tmp_path: Path) -> None:
    path = listed(tmp_path, objects(tmp_path))
    with ks.open(path) as opened:
        assert isinstance(opened, ks.LogDirectory)
        text = str(opened.partitions[0].segment_paths[0])
    with ks.Segment(text) as segment:
        data = b"".join(bytes(batch.data) for batch in segment.batches())
    assert data == stored(sorted(PARTITIONS)[0])


def _with(number: int, **members: Any) -> Callable[[list[Line]], None]:
    def change(lines: list[Line]) -> None:
        lines[number] |= members

    return change


def _copied(number: int, **members: Any) -> Callable[[list[Line]], None]:
    def change(lines: list[Line]) -> None:
        lines.append(lines[number] | members)

    return change


def _without(name: str) -> Callable[[list[Line]], None]:
    def change(lines: list[Line]) -> None:
        del lines[1][name]

    return change


LISTS: dict[str, tuple[Callable[[list[Line]], None], str]] = {
    "the same bytes": (
        _copied(0, topic_name="other"), "lines 1 and {n} both have bytes 1 to "),
    "overlapping bytes": (_with(0, byte_size=500), "lines 1 and 3 both have bytes "),
    "the same offsets": (
        _copied(0, byte_offset=90_000_000), "lines 1 and {n} both have offsets 0 to "),
    "an unknown member": (_with(1, offset=3), "line 2: unknown member 'offset'; known: "),
    "no base offset": (_without("base_offset"), "line 2: base_offset is a number from 0 to "),
    "a boolean": (_with(1, partition=True), "line 2: partition is a number from 0 to 2147483647"),
    "a negative position": (_with(1, byte_offset=-1), "line 2: byte_offset is a number from 0 "),
    "an empty range": (_with(1, byte_size=0), "line 2: byte_size is a number from 17 to "),
    "a huge range": (_with(1, byte_size=1 << 40), "line 2: byte_size is a number from 17 to "),
    "offsets that go back": (
        _with(1, base_offset=9, last_offset=8), "line 2: last_offset 8 is below base_offset 9"),
    "a folder outside": (_with(1, object_key="../x"), "line 2: object_key is a path "),
    "an absolute path": (_with(1, object_key="/etc/x"), "line 2: object_key is a path "),
    "a topic outside": (_with(1, topic_name="../x"), "line 2: topic_name is the name of a topic"),
    "a time without a type": (
        _with(1, timestamp_type=1), "line 2: log_append_timestamp is a time in milliseconds"),
    "an unknown type": (_with(1, timestamp_type=2), "line 2: timestamp_type is one of (-1, 0, 1)"),
    "an id that is none": (_with(1, topic_id="x"), "line 2: topic_id is a UUID, not 'x'"),
    "several ids": (
        _with(1, topic_id="6b1f6e2c-0d3e-4d6a-9f5b-1f2e3d4c5b6a"), "the topic id of codec-"),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_lists_that_contradict_themselves(name: str, tmp_path: Path) -> None:
    lines = objects(tmp_path)
    change, message = LISTS[name]
    change(lines)
    path = listed(tmp_path, lines)
    with pytest.raises(ks.KafkaSpecError) as caught:
        ks.open(path)
    assert caught.value.file == str(path)
    assert message.format(n=len(lines)) in str(caught.value)
    for words in (("dump", path), ("verify", path), ("convert", path, "-o", tmp_path / "out")):
        code, text = command(*words)
        assert code == 2, (words, text)
        assert message.format(n=len(lines)) in text
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "text", ["", "\n\n", "[]\n", "{\n", "nonsense", "\xff", "[" * 100_000, "1\n"]
)
def test_files_that_are_no_lists(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.coordinates.jsonl"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ks.KafkaSpecError, match=r"the list is empty|line 1: it is not"):
        ks.open(path)


def _later(lines: list[Line]) -> None:
    lines[2]["byte_offset"] += 9
    lines[2]["byte_size"] -= 9


OBJECTS: dict[str, tuple[Callable[[list[Line]], None], str]] = {
    "no such object": (_with(0, object_key="wal/7"), "wal/7: "),
    "beyond the end": (_with(-1, byte_size=1 << 20), "does not fit: it ends at byte "),
    "inside a batch": (_later, "wal/0 at byte "),
    "a part of a batch": (
        _with(0, byte_size=80),
        "wal/0 at byte 1: line 1 of the coordinates does not fit: it ends inside a batch"),
    "more offsets than the batch": (
        _with(-1, last_offset=999), "does not fit: its last offset is 999, but its batches "),
    "fewer offsets than the batch": (
        _with(0, last_offset=0), "does not fit: its last offset is 0, but a batch ends at "),
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
def test_coordinates_that_do_not_fit_their_object(name: str, tmp_path: Path) -> None:
    lines = [line for line in objects(tmp_path) if line["topic_name"] == "segments"]
    change, message = OBJECTS[name]
    change(lines)
    path = listed(tmp_path, lines)
    code, text = command("verify", path)
    assert code in (1, 2), text
    message = message.replace("wal/0 at byte 1:", f"wal/0 at byte {lines[0]['byte_offset']}:")
    assert message in text.replace("\n", " "), text
    assert "wal/" in text
    code, text = command("dump", path)
    assert code in (1, 2), text
    assert "wal/" in text
    code, text = command("convert", path, "-o", tmp_path / "out")
    assert code, text
    assert "wal/" in text


def test_offsets_beyond_the_largest_are_refused(tmp_path: Path) -> None:
    batch = ks.encode([ks.Record(0, 5, b"k", b"v")], magic=2)
    (tmp_path / "o").write_bytes(HEADER + 2 * batch)
    last = (1 << 63) - 1
    line = {
        "object_key": "o", "topic_name": "t", "partition": 0, "byte_offset": 1,
        "byte_size": 2 * len(batch), "base_offset": last, "last_offset": last,
    }  # fmt: skip
    code, text = command("verify", listed(tmp_path, [line]))
    assert code, text
    assert f"/o at byte {1 + len(batch)}: line 1" in text.replace("\n", " ")


def test_bytes_without_coordinates_are_reported(tmp_path: Path) -> None:
    lines = objects(tmp_path)
    left = lines.pop(2)
    path = listed(tmp_path, lines)
    report = ks.verify(path)
    assert report.clean
    found = [f for f in report.findings if f.reason == "no_coordinates"]
    assert [(f.file, f.position) for f in found] == [
        (str(tmp_path / "wal" / "0"), left["byte_offset"])
    ]
    end = left["byte_offset"] + left["byte_size"] - 1
    assert f"bytes {left['byte_offset']} to {end} are" in found[0].message


def test_an_object_that_is_not_there_hides_no_other(tmp_path: Path) -> None:
    """Those that read its batches report it; the bytes of the other object are still compared."""
    lines = objects(tmp_path)
    gone, left = lines[0], lines.pop(3)
    assert left["object_key"] != gone["object_key"]
    (tmp_path / gone["object_key"]).unlink()
    report = ks.verify(listed(tmp_path, lines))
    assert {f.file for f in report.findings if f.reason == "no_coordinates"} == {
        str(tmp_path / left["object_key"])
    }
    unreadable = [f for f in report.findings if f.reason == "unreadable"]
    assert all(gone["object_key"] in f.message for f in unreadable)
    assert len(unreadable) == len(PARTITIONS)


def test_a_wrong_checksum_stays_wrong(tmp_path: Path) -> None:
    """A new time would make a checksum that hides the damage."""
    lines = objects(tmp_path)
    line = next(line for line in lines if line["topic_name"] == "log-append-time")
    file = tmp_path / line["object_key"]
    data = bytearray(file.read_bytes())
    data[line["byte_offset"] + line["byte_size"] - 1] ^= 1
    file.write_bytes(data)
    report = ks.verify(listed(tmp_path, lines))
    (wrong,) = [f for f in report.findings if f.reason == "checksum_mismatch"]
    assert "/log-append-time-0/" in wrong.file
    assert wrong.offset == line["last_offset"]


def test_the_example_of_the_guide(tmp_path: Path) -> None:
    path = Path(__file__).parent / "wal" / "all.coordinates.jsonl"
    with ks.open(path) as opened:
        assert isinstance(opened, ks.LogDirectory)
        for partition in opened.partitions:
            data = b"".join(bytes(batch.data) for batch in partition.batches())
            assert data == stored(partition.path.name)


@pytest.mark.parametrize("magic", [0, 1])
def test_a_message_of_an_old_format_is_refused(magic: int, tmp_path: Path) -> None:
    """Objects have batches of magic 2 and later: ``ObjectFormat`` of inkless."""
    time = -1 if magic == 0 else 5
    data = ks.encode([ks.Record(0, time, b"k", b"v" * 40)], magic=magic)
    (tmp_path / "o").write_bytes(HEADER + data)
    line = {
        "object_key": "o", "topic_name": "t", "partition": 0, "byte_offset": 1,
        "byte_size": len(data), "base_offset": 4, "last_offset": 4,
    }  # fmt: skip
    path = listed(tmp_path, [line])
    with ks.open(path) as log, pytest.raises(ks.CorruptError, match="old format") as caught:
        list(log.records())
    assert (caught.value.file, caught.value.position) == (str(tmp_path / "o"), 1)
