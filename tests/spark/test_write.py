"""Rows become partition directories: what a broker of the profile would have made of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

import kafkaspec as ks
from kafkaspec.analysis.reasons import FindingReason
from kafkaspec.broker.profiles import PROFILES, get_profile
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files import names
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.spark.write_options import parse_write_options
from kafkaspec.writing.comparison import Comparison
from tests.spark.writing import contents, listing, offsets, rows, without, write, writer_for

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def sound(path: Path, **options: Any) -> None:
    assert ks.verify(path, **options).findings == []


def records(path: Path) -> list[tuple[Any, ...]]:
    with ks.Partition(path) as partition:
        return [tuple(record) for record in partition.records()]


def expected(first: int, last: int, *, size: int = 10) -> list[tuple[Any, ...]]:
    """The files that ``rows`` made."""
    return [
        (at, at, b"%d" % at if at % 3 else None, b"%*d" % (size, at), ())
        for at in range(first, last)
    ]


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_offsets_are_kept(tmp_path: Path, compression: str) -> None:
    tasks = [
        [rows("b", 0, range(500, 700))],
        [rows("a", 0, range(100)), rows("a", 0, range(100, 300)), rows("b", 0, range(90))],
        [rows("b", 0, range(90, 500))],
    ]
    write(tmp_path, tasks, compression=compression, batchSize=500)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a-0", "b-0"]
    assert records(tmp_path / "a-0") == expected(0, 300)
    assert records(tmp_path / "b-0") == expected(0, 700)
    with ks.Partition(tmp_path / "b-0") as partition:
        assert [item.base_offset for item in partition.segments] == [0, 90, 500]
        found = {batch.compression_name for batch in partition.batches()}
        assert found == {compression}
        assert max(len(batch.records()) for batch in partition.batches()) < 30
    sound(tmp_path)


@pytest.mark.parametrize("profile", [item.since for item in PROFILES])
def test_one_task_makes_the_files_that_the_writer_of_segments_makes(
    tmp_path: Path, profile: str
) -> None:
    given = rows("a", 3, range(70, 1070))
    if not get_profile(profile).magic:
        given = without(given, "timestamp")  # for which there is no place
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    write(ours, [[given]], profile=profile, segmentBytes=9000)
    theirs.mkdir()
    table = without(given, "topic", "partition")
    if "timestamp" in table.schema.names:
        stamps = table.column("timestamp").cast(pa.timestamp("ms", "UTC"))
        table = table.set_column(1, "timestamp", stamps)
    with ks.SegmentWriter(
        theirs / "a-3", 70, profile, segment_bytes=9000, leader_epoch=0, sync=False
    ) as writer:
        writer.append_columns(table)
    assert contents(ours) == contents(theirs)
    assert len([name for name in contents(ours) if name.endswith(".log")]) == 3


@pytest.mark.parametrize("profile", ["4.3", "3.0", "2.3.1"])
def test_tasks_make_what_one_makes_with_new_segments(tmp_path: Path, profile: str) -> None:
    """Logs and indexes; but a leader has more batches where a task ends within one."""
    parts = [rows("a", 0, range(at, at + 100)) for at in range(0, 1000, 100)]
    write(tmp_path / "tasks", [[part] for part in parts], profile=profile)
    assert records(tmp_path / "tasks/a-0") == expected(0, 1000)
    directory = tmp_path / "tasks/a-0"
    logs = sorted(item.name for item in directory.glob("*.log"))
    assert logs == [f"{at:020d}.log" for at in range(0, 1000, 100)]
    snapshots = [names.parse_segment(item.name) for item in sorted(directory.glob("*.snapshot"))]
    found = [item.base_offset for item in snapshots if item is not None]
    rules = get_profile(profile)
    whole = list(range(100, 1001, 100)) if rules.producer_state else []
    assert found == (whole if rules.snapshot_per_segment else whole[-3:])
    sound(tmp_path / "tasks")
    report = ks.rebuild_indexes(directory, rule="append", profile=profile)
    assert report.is_sound
    removed = {"snapshot"} if not rules.snapshot_per_segment else set()
    different = [
        item.name
        for item in report.files
        if item.comparison is not Comparison.EQUAL
        and (item.comparison is not Comparison.MISSING or item.name.split(".")[1] not in removed)
    ]
    assert different == []


@pytest.mark.parametrize("profile", ["4.3", "0.10.2"])
@pytest.mark.parametrize("compression", ["none", "lz4"])
def test_offsets_are_assigned(tmp_path: Path, profile: str, compression: str) -> None:
    """In the order of the tasks, after the offsets that are there."""
    options = {
        "profile": profile, "compression": compression, "batchSize": 300, "segmentBytes": 4000,
    }  # fmt: skip
    parts = [without(rows("a", 0, range(at, at + 100)), "offset") for at in range(0, 600, 100)]
    write(tmp_path, [[parts[0], parts[1]], [parts[2]]], startingOffset=40, **options)
    assert offsets(tmp_path / "a-0") == list(range(40, 340))
    write(tmp_path, [[parts[3]], [parts[4], parts[5]]], **options)
    values = [(record[0] - 40, *record[1:]) for record in records(tmp_path / "a-0")]
    assert values == expected(0, 600)
    sound(tmp_path)
    report = ks.rebuild_indexes(tmp_path / "a-0", rule="append", profile=profile)
    assert report.is_sound


def test_rows_of_many_partitions_in_any_order(tmp_path: Path) -> None:
    chance = random.Random(5)
    places = [(topic, number) for topic in ("x", "y.z", "x-1") for number in range(9)]
    wanted: dict[tuple[str, int], list[bytes]] = {place: [] for place in places}
    tasks = []
    for _ in range(2):
        task = []
        for _ in range(4):
            chosen = chance.choices(places, k=600)
            values = [chance.randbytes(5) for _ in chosen]
            for place, value in zip(chosen, values, strict=True):
                wanted[place].append(value)
            task.append(
                pa.record_batch(
                    {
                        "topic": pa.array([place[0] for place in chosen]),
                        "partition": pa.array([place[1] for place in chosen], pa.int64()),
                        "value": pa.array(values, pa.binary()),
                    }
                )
            )
        tasks.append(task)
    write(tmp_path, tasks)
    for (topic, number), values in wanted.items():
        with ks.Partition(tmp_path / f"{topic}-{number}") as partition:
            found = list(partition.records())
        assert [record.offset for record in found] == list(range(len(values)))
        assert sorted(record.value or b"" for record in found) == sorted(values)
    sound(tmp_path)


def test_headers_strings_nulls_and_times(tmp_path: Path) -> None:
    given = pa.record_batch(
        {
            "key": pa.array(["k", None, ""]),
            "value": pa.array(["text", None, "ü"]),
            "timestamp": pa.array([1_500_999, None, -1], pa.timestamp("us", "UTC")),
            "headers": pa.array([[("h", b"1"), ("g", None)], None, []], HEADERS),
            "timestampType": pa.array([0, -1, None], pa.int32()),
        }
    )
    write(tmp_path, [[given.slice(2), given.slice(1), given]], topic="t", partition=7)
    first = (1500, b"k", b"text", (("h", b"1"), ("g", None)))
    second, third = (-1, None, None, ()), (-1, b"", "ü".encode(), ())
    found = [record[1:] for record in records(tmp_path / "t-7")]
    assert found == [third, second, third, first, second, third]
    sound(tmp_path)


def test_a_write_goes_on_from_the_log_that_is_there(tmp_path: Path) -> None:
    write(tmp_path, [[rows("a", 0, range(50))], [rows("b", 0, range(9, 20))]], leaderEpoch=2)
    before = contents(tmp_path)
    write(tmp_path, [[rows("a", 0, range(80, 99))], [rows("a", 0, range(50, 80))]], leaderEpoch=5)
    after = contents(tmp_path)
    epochs = "a-0/leader-epoch-checkpoint"
    assert {name: after[name] for name in before if name != epochs} == {
        name: data for name, data in before.items() if name != epochs
    }
    assert records(tmp_path / "a-0") == expected(0, 99)
    with ks.Partition(tmp_path / "a-0") as partition:
        found = [(item.epoch, item.start_offset) for item in partition.leader_epochs]
        assert found == [(2, 0), (5, 50)]
    sound(tmp_path)
    with pytest.raises(KafkaSpecError, match="leader epoch is 5"):
        write(tmp_path, [[rows("a", 0, range(99, 100))]])
    assert contents(tmp_path) == after


def test_overwrite_removes_all_partitions_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, [[rows("a", 0, range(50))], [rows("b", 0, range(9, 20))]])
    (tmp_path / "notes.txt").write_text("mine")
    write(tmp_path, [[rows("a", 0, range(7, 30))]], overwrite=True)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a-0", "notes.txt"]
    assert records(tmp_path / "a-0") == expected(7, 30)


@pytest.mark.parametrize(
    "tasks",
    [
        [[rows("a", 0, [0, 1, 5])]],
        [[rows("a", 0, [0, 1]), rows("a", 0, [5])]],
        [[rows("a", 0, [0, 1])], [rows("a", 0, [5])]],
    ],
)
def test_gaps_are_an_error_unless_they_are_allowed(
    tmp_path: Path, tasks: list[list[pa.RecordBatch]]
) -> None:
    with pytest.raises(KafkaSpecError, match="offsets of a-0 are missing") as caught:
        write(tmp_path, tasks)
    assert caught.value.reason is Reason.UNENCODABLE
    assert listing(tmp_path) == []
    write(tmp_path, tasks, allowGaps=True)
    assert offsets(tmp_path / "a-0") == [0, 1, 5]
    # Nothing tells offsets that nobody wrote between two segments from a lost segment.
    between = [FindingReason.MISSING_OFFSETS] if len(tasks) > 1 else []
    assert [item.reason for item in ks.verify(tmp_path).findings] == between
    with pytest.raises(KafkaSpecError, match="offsets of a-0 are missing"):
        write(tmp_path, [[rows("a", 0, [9, 10])]])
    write(tmp_path, [[rows("a", 0, [9, 10])]], allowGaps=True)
    assert offsets(tmp_path / "a-0") == [0, 1, 5, 9, 10]
    assert [item.reason for item in ks.verify(tmp_path).findings] == 2 * between


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([[rows("a", 0, [3, 2])]], "do not go up|missing"),
        ([[rows("a", 0, [2, 2])]], "do not go up|missing"),
        ([[rows("a", 0, [5, 6]), rows("a", 0, [3, 4])]], "order of their offsets"),
        ([[rows("a", 0, [0, 1, 2])], [rows("a", 0, [2, 3])]], "0 to|2 to 3 of a-0 overlap"),
        ([[rows("a", 0, [0, 1, 2])], [rows("a", 0, [0, 1, 2])]], "overlap"),
        ([[rows("../a", 0, [0])]], "not a name of a topic"),
        ([[rows("", 0, [0])]], "not a name of a topic"),
        ([[rows("a" * 250, 0, [0])]], "not a name of a topic"),
        ([[rows("a", -1, [0])]], "negative"),
        ([[rows("a", 0, [-1])]], "base_offset"),
    ],
)
@pytest.mark.parametrize("gaps", [True, False])
def test_rows_that_cannot_be_written_leave_nothing(
    tmp_path: Path, tasks: list[list[pa.RecordBatch]], message: str, gaps: bool
) -> None:
    write(tmp_path, [[rows("z", 0, range(5))]])
    before = contents(tmp_path)
    with pytest.raises(ValueError, match=message):
        write(tmp_path, [[rows("a", 1, range(9))], *tasks, []], allowGaps=gaps)
    assert contents(tmp_path) == before
    assert {name.split("/")[0] for name in listing(tmp_path)} == {"z-0"}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"value": [b"v"], "topic": pa.array([None], pa.string())}, "topic is null"),
        ({"value": [b"v"], "topic": ["a"], "partition": pa.array([None], pa.int32())}, "is null"),
        ({"value": [b"v"], "topic": ["a"], "offset": pa.array([None], pa.int64())}, "is null"),
        ({"value": [b"v"], "topic": ["a"], "timestampType": [2]}, "timestampType has 2"),
        ({"value": [b"v"], "topic": ["a"], "timestampType": [-2]}, "timestampType has -2"),
        ({"value": [b"v"], "topic": ["a"], "timestamp": [1]}, "not a timestamp"),
        ({"value": [1.5], "topic": ["a"]}, "column value"),
        ({"value": [b"v"], "topic": ["a"], "headers": pa.array([[(None, b"")]], HEADERS)}, "key"),
    ],
)
def test_values_that_cannot_be_written(
    tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        write(tmp_path, [[pa.record_batch(columns)]])
    assert listing(tmp_path) == []


@pytest.mark.parametrize(
    ("names_given", "options", "message"),
    [
        (["value", "topic", "sequence"], {}, "'sequence' cannot be written"),
        (["topic"], {}, "no column value"),
        (["value"], {}, "the topic is not known"),
        (["value"], {"topic": "a", "offsets": "keep"}, "needs a column offset"),
        (["value"], {"topic": "a/b"}, "not a name of a topic"),
        (["value"], {"topic": "a", "compresion": "lz4"}, "no option 'compresion'"),
        (["value"], {"topic": "a", "compression": "brotli"}, "option compression"),
        (["value"], {"topic": "a", "batchSize": "many"}, "option batchSize"),
        (["value"], {"topic": "a", "segmentBytes": 0}, "option segmentBytes"),
        (["value"], {"topic": "a", "allowGaps": "perhaps"}, "option allowGaps"),
        (["value"], {"topic": "a", "profile": "9.9"}, "no profile"),
        (["value"], {"topic": "a", "topicId": "?"}, "option topicId"),
        (["value", "topic"], {"topicId": "AAAAAAAAAAAAAAAAAAAAAQ"}, "give the option topic"),
    ],
)
def test_options_that_cannot_be_followed(
    tmp_path: Path, names_given: list[str], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        writer_for(tmp_path, names_given, **options)
    assert listing(tmp_path) == []


def test_the_id_of_a_topic(tmp_path: Path) -> None:
    topic_id = UUID(int=77)
    plain = without(rows("a", 0, range(3)), "topic")
    write(tmp_path, [[plain]], topic="t", topicId=kafka_uuid.to_text(topic_id))
    with ks.Partition(tmp_path / "t-0") as partition:
        assert partition.topic_id == topic_id


def test_the_log_directory_of_a_broker_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\n")
    with pytest.raises(KafkaSpecError, match="log directory of a broker"):
        write(tmp_path, [[rows("a", 0, range(3))]])
    assert listing(tmp_path) == ["meta.properties"]


def test_urls_of_files_are_paths_and_others_are_refused(tmp_path: Path) -> None:
    for scheme in ("file://", "file:", "file://localhost"):
        found = parse_write_options({"path": f"{scheme}{tmp_path}/a%20b c"})
        assert found.path == f"{tmp_path}/a%20b c"  # as Hadoop's Path, and as the reader
    for path in ("s3://bucket/logs", "hdfs://host/logs", "file://host/logs"):
        with pytest.raises(ValueError, match=path):
            parse_write_options({"path": path})
    with pytest.raises(ValueError, match="one path"):
        parse_write_options({"paths": '["/a","/b"]'})
