"""``kafkaspec find``, against what producers sent."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from kafkaspec import Record, encode
from kafkaspec.cli.console import iso
from kafkaspec.cli.options import Timestamp
from kafkaspec.codecs import codec_names, get_codec
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from tests.cli.helpers import first_segment, golden, lines, run
from tests.goldens import GOLDEN, VERSIONS, dumps, produced
from tests.log.forge import batch, record


@pytest.mark.parametrize("version", VERSIONS)
def test_every_offset_of_a_partition_is_found(version: str) -> None:
    name = "leader-epochs-0" if version == "0.8.0" else "segments-0"  # it has no topic settings
    sent = produced(version)[name]
    for item in sent[::5]:
        result = run(
            "find",
            "--format",
            "json",
            "--offset",
            str(item["offset"]),
            golden(version, name),
        )
        (found,) = lines(result)
        assert result.exit_code == 0
        assert found["found"]
        assert found["record"]["offset"] == item["offset"]
        assert found["record"]["timestamp"] == item["timestamp"]
        assert found["record"]["value"].encode() == item["value"]
        assert found["base_offset"] <= item["offset"] <= found["last_offset"]
        assert int(Path(found["file"]).stem) <= item["offset"]


def test_the_index_is_used_and_shown() -> None:
    (found,) = lines(
        run("find", "--format", "json", "--offset", "20", golden("3.9.2", "segments-0"))
    )
    assert found["index"] is not None
    assert found["index"]["offset"] <= 20
    assert found["scanned_batches"] == 1
    text = run("find", "--offset", "20", golden("3.9.2", "segments-0")).stdout
    assert f"index:  offset {found['index']['offset']}" in text
    assert "1 batch header" in text


@pytest.mark.slow
@pytest.mark.parametrize("partition", ["segments-0", "segments-out-of-order-0", "create-time-0"])
def test_plain_answers_are_the_first_record_at_or_after(partition: str) -> None:
    sent = sorted(produced("3.9.2")[partition], key=lambda item: item["offset"])
    for target in sorted({item["timestamp"] for item in sent}):
        result = run(
            "find",
            "--format",
            "json",
            "--plain",
            "--timestamp",
            str(target),
            golden("3.9.2", partition),
        )
        (found,) = lines(result)
        expected = next(item["offset"] for item in sent if item["timestamp"] >= target)
        assert found["how"] == "plain"
        assert found["record"]["offset"] == expected


def two_segments(directory: Path) -> Path:
    """The first segment has a marker late in it, the second one records with time 5000."""
    partition = directory / "t-0"
    partition.mkdir()
    marker = batch(
        1,
        [record(0, b"\0\0\0\0\0\0", key=b"\0\0\0\1")],
        attributes=0x30,
        base_timestamp=9000,
        max_timestamp=9000,
        producer=(7, 0, -1),
    )
    (partition / f"{0:020}.log").write_bytes(batch(0, [record(0, b"x")]) + marker)
    (partition / f"{2:020}.log").write_bytes(
        batch(2, [record(0, b"y")], base_timestamp=5000, max_timestamp=5000)
    )
    return partition


def test_a_broker_answers_with_a_marker(tmp_path: Path) -> None:
    partition = two_segments(tmp_path)
    (broker,) = lines(run("find", "--format", "json", "--timestamp", "5000", partition))
    (plain,) = lines(run("find", "--format", "json", "--timestamp", "5000", "--plain", partition))
    assert (broker["how"], broker["record"]["offset"]) == ("broker", 1)
    assert broker["record"]["control"]["type"] == "COMMIT"
    assert broker["largest_timestamp"]["value"] == 9000
    assert (plain["how"], plain["record"]["offset"]) == ("plain", 2)


def test_missing_offsets_and_times(tmp_path: Path) -> None:
    partition = two_segments(tmp_path)
    result = run("find", "--offset", "99", partition)
    assert result.exit_code == 1
    assert "not found" in result.stdout
    (found,) = lines(run("find", "--format", "json", "--offset", "99", partition))
    assert (found["found"], found["record"]) == (False, None)


@pytest.mark.slow
def test_a_log_directory_answers_for_each_partition() -> None:
    result = run("find", "--format", "json", "--offset", "0", GOLDEN / "2.8.2" / "logs")
    names = {Path(item["path"]).name for item in lines(result)}
    assert names == {path.parent.name for path in (GOLDEN / "2.8.2" / "logs").glob("*/*.log")}


def test_a_wrong_index_is_not_followed(tmp_path: Path) -> None:
    partition = Path(shutil.copytree(golden("3.9.2", "segments-0"), tmp_path / "segments-0"))
    path = sorted(partition.glob("*.index"))[0]
    path.write_bytes(b"\0\0\0\1\0\0\0\7")
    result = run("find", "--offset", "3", partition)
    assert result.exit_code == 0
    assert "cannot be right: not followed" in result.stdout


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("0", 0),
        ("-1", -1),
        ("1609459220000", 1609459220000),
        ("2021-01-01T00:00:20Z", 1609459220000),
        ("2021-01-01T00:00:20", 1609459220000),
        ("2021-01-01 01:00:20.123+01:00", 1609459220123),
        ("2021-01-01", 1609459200000),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_timestamps(text: str, milliseconds: int) -> None:
    assert Timestamp().convert(text, None, None) == milliseconds


@pytest.mark.parametrize(
    ("timestamp", "text"),
    [
        (None, "-"),
        (-1, "-"),
        (0, "1970-01-01T00:00:00.000Z"),
        (1609459220123, "2021-01-01T00:00:20.123Z"),
        (-2, "1969-12-31T23:59:59.998Z"),
        (2**63 - 1, str(2**63 - 1)),
    ],
)
def test_times_for_people(timestamp: int | None, text: str) -> None:
    assert iso(timestamp) == text


def test_times_from_the_clock_of_the_file(tmp_path: Path) -> None:
    partition = tmp_path / "t-0"
    partition.mkdir()
    path = partition / f"{0:020}.log"
    path.write_bytes(batch(0, [record(0, b"x")], base_timestamp=-1, max_timestamp=-1))
    path.with_suffix(".index").write_bytes(b"")
    os.utime(path, (1000, 1000))
    result: Any = run("find", "--format", "json", "--timestamp", "999999", partition)
    (found,) = lines(result)
    assert result.exit_code == 1
    assert found["largest_timestamp"] == {"value": 1000000, "source": "file time"}


@pytest.mark.slow
def test_the_largest_timestamp() -> None:
    place = golden("4.3.1", "plain-0")
    sent = produced("4.3.1")["plain-0"]
    largest = max(item["timestamp"] for item in sent)
    first = next(item for item in sent if item["timestamp"] == largest)
    (found,) = lines(run("find", "--max-timestamp", "--format", "json", place))
    assert (found["how"], found["target"]) == ("max_timestamp", largest)
    assert found["record"]["offset"] == first["offset"]
    assert f"largest timestamp: {largest}" in run("find", "--max-timestamp", place).stdout
    nothing = run("find", "--max-timestamp", golden("0.8.2.2", "plain-0"))
    assert nothing.exit_code == 1
    assert "largest timestamp: none" in nothing.stdout


def test_read_committed(tmp_path: Path) -> None:
    place = tmp_path / "t-0"
    place.mkdir()
    log = place / f"{0:020}.log"
    log.write_bytes(batch(0, [record(0, b"x")], attributes=0x10, producer=(7, 0, 0)))
    asked = ("--isolation", "read_committed", "--timestamp", "0")
    result = run("find", *asked, place)
    assert result.exit_code == 1
    assert "up to offset 0, exclusive: offset 0 would answer, and is hidden" in result.stdout
    (found,) = lines(run("find", "--format", "json", *asked, place))
    assert (found["found"], found["last_stable_offset"], found["hidden_offset"]) == (False, 0, 0)
    assert run("find", "--timestamp", "0", place).exit_code == 0
    assert run("find", *asked, log).exit_code == 2
    assert run("find", "--isolation", "read_committed", "--offset", "0", place).exit_code == 2
    assert run("find", "--max-timestamp", "--offset", "0", place).exit_code == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "target",
    [
        ("--offset", "3"),
        pytest.param(("--max-timestamp", "--format", "json"), marks=pytest.mark.slow),
    ],
)
def test_jobs_change_nothing(tmp_path: Path, target: tuple[str, ...]) -> None:
    """Answers, notes and exit code, with a segment that cannot be read and a damaged one."""
    logs = tmp_path / "logs"
    shutil.copytree(GOLDEN / VERSIONS[-1] / "logs", logs)
    (logs / "lost-0").mkdir()
    (logs / "lost-0" / f"{0:020}.log").symlink_to(tmp_path / "nowhere")
    cut = max(logs.glob("segments-0/*.log"))
    cut.write_bytes(cut.read_bytes()[:-20])
    one, many = (run("find", *target, "--jobs", jobs, logs, tmp_path) for jobs in ("1", "3"))
    assert one.stdout
    assert "lost-0" in one.stderr
    assert (many.stdout, many.stderr, many.exit_code) == (one.stdout, one.stderr, one.exit_code)


# -- by key ----------------------------------------------------------------------------------------


def _by_key(key: str, *arguments: str | Path) -> list[dict[str, Any]]:
    result = run("find", "--format", "json", "--key", key, *arguments)
    found = lines(result)
    assert result.exit_code == (0 if all(item["found"] for item in found) else 1)
    return found


def _as_key(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    encoded = json.dumps({"base64": base64.b64encode(data).decode()})
    return encoded if not text or text.startswith("{") else text


@pytest.mark.parametrize("name", ["segments-0", "compacted-0", "codec-zstd-0", "headers-gzip-0"])
def test_every_record_is_found_by_its_key(name: str) -> None:
    sent: dict[bytes | None, list[int]] = {}
    for item in Partition(golden("4.3.1", name)).records():
        sent.setdefault(None if item.key is None else bytes(item.key), []).append(item.offset)
    keys = [key for key in sent if key is not None]
    for key in keys[:: max(1, len(keys) // 5)]:
        every = _by_key(_as_key(key), "--all", golden("4.3.1", name))
        assert [found["record"]["offset"] for found in every] == sent[key][::-1], key
        (newest,) = _by_key(_as_key(key), golden("4.3.1", name))
        assert newest == every[0]
        assert newest["how"] == "key"
        assert newest["base_offset"] <= newest["record"]["offset"] <= newest["last_offset"]
    (nothing,) = _by_key("no such key", golden("4.3.1", name))
    assert not nothing["found"]


@pytest.mark.slow
@pytest.mark.parametrize("codec", codec_names())
def test_keys_of_any_size_in_any_entry(tmp_path: Path, codec: str) -> None:
    """A view holds 12 bytes itself; messages and wrappers are columns too; null is no key."""
    keys = [b"", b"a", b"\xff" * 4, b"k" * 12, b"k" * 13, b"k" * 12 + b"x", b"kkkk", b"k" * 300]
    for magic, compression in ((0, "gzip"), (1, "none"), (2, "none"), (2, "lz4")):
        path = tmp_path / str(magic) / compression / "t-0" / f"{0:020}.log"
        path.parent.mkdir(parents=True)
        stamp = -1 if magic == 0 else 7
        records = [Record(n, stamp, key, b"k" * 40) for n, key in enumerate([None, *keys, *keys])]
        data = [records[at : at + 5] for at in range(0, len(records), 5)]
        path.write_bytes(
            b"".join(encode(some, magic=magic, compression=compression) for some in data)
        )
        for number, key in enumerate(keys, 1):
            found = _by_key(_as_key(key) or '{"base64": ""}', "--all", "--codec", codec, path)
            assert [item["record"]["offset"] for item in found] == [number + len(keys), number]


@pytest.mark.slow
def test_keys_of_internal_topics_by_their_fields() -> None:
    """As the dump tool shows them: all fields, or some."""
    logs = golden("4.3.1", "__consumer_offsets-0").parent
    told = [
        (int(match[1]), json.loads(match[2]))
        for match in re.finditer(
            r"^\| offset: (\d+) .*? key: (\{.*\}) payload: ",
            dumps("4.3.1")["__consumer_offsets-0/00000000000000000000.log"],
            re.M,
        )
    ]
    for wanted in (
        {"group": "group-a", "topic": "groups", "partition": 0},
        {"group": "group-a"},
        {"topic": "groups"},
        {"type": "GroupMetadataKey", "group": "group-b"},
        {"groupId": "no such group"},
    ):
        fields = {name: value for name, value in wanted.items() if name != "type"}
        expected = [
            offset
            for offset, key in told
            if fields.items() <= key["data"].items()
            and (key["type"] == "2" or "type" not in wanted)
        ]
        found = _by_key(json.dumps(wanted), "--all", logs / "__consumer_offsets-0")
        assert [item["record"]["offset"] for item in found if item["found"]] == expected[::-1]
        assert bool(expected) == ("groupId" not in wanted)
    shared = {"groupId": "no", "topicId": "gtTm9KVTSAGNBJfWODSMnw", "partition": 0}
    assert _by_key(json.dumps(shared), logs / "__share_group_state-0")[0]["found"] is False
    text = run("find", "--key", '{"group": "group-b", "topic": "groups"}', logs)
    assert text.exit_code == 0
    assert "not found" not in text.stdout  # one log has it, which is enough
    none = run("find", "--key", "nobody has it", logs)
    assert none.exit_code == 1
    assert none.stdout.startswith(f"{logs}: key nobody has it\n  not found in ")
    wrong = run("find", "--key", '{"grouping": 1}', logs / "__consumer_offsets-0")
    assert wrong.exit_code == 2
    assert "OffsetCommitKey: group, topic, partition" in wrong.output


@pytest.mark.slow
def test_fields_find_the_same_keys_in_columns_and_one_by_one(tmp_path: Path) -> None:
    """A group whose name is no text, parts of names, numbers that are in other fields."""
    groups = [b"g", b"group", b"groups", b"gr\xffoup", b"", b"\0\0\0\3"]
    keys = [
        struct.pack(
            f">hh{len(group)}sh{len(topic)}si",
            version,
            len(group),
            group,
            len(topic),
            topic,
            partition,
        )
        for version in (0, 1)
        for group in groups
        for topic in (b"t", b"group")
        for partition in (0, 3, 1 << 24)
    ]
    keys += [struct.pack(f">hh{len(group)}s", 2, len(group), group) for group in groups]
    keys += [b"", b"\0", b"group", keys[0] + b"more", b"\xff" * 40]
    path = tmp_path / "__consumer_offsets-0" / f"{0:020}.log"
    path.parent.mkdir()
    records = [Record(n, 7, key, b"v") for n, key in enumerate([*keys, None, *keys])]
    path.write_bytes(b"".join(encode(records[at : at + 40]) for at in range(0, len(records), 40)))
    names = [group.decode("utf-8", "replace") for group in groups]
    some: list[dict[str, Any]] = [{"group": name} for name in names] + [
        {"partition": n} for n in (0, 3, "3", 3.0, -1)
    ]
    some += [{"group": name, "partition": 3} for name in names] + [{"type": "GroupMetadataKey"}]
    some += [{"topic": "group", "type": "OffsetCommitKey"}, {"topic": "grou"}]
    for wanted in some:
        found = {
            codec: _by_key(json.dumps(wanted), "--all", "--codec", codec, path)
            for codec in ("python", get_codec().name)
        }
        assert all(each == found["python"] for each in found.values()), wanted
    assert any(item["found"] for item in _by_key(json.dumps({"group": names[3]}), path))


@pytest.mark.slow
def test_a_directory_is_searched_in_parts_alike(tmp_path: Path) -> None:
    for number in range(20):
        place = tmp_path / f"t-{number}"
        place.mkdir()
        (place / f"{0:020}.log").write_bytes(encode([Record(0, 7, b"k%d" % (number % 3), b"v")]))
    outputs = {run("find", "--key", "k1", "--jobs", jobs, tmp_path).stdout for jobs in "13"}
    (output,) = outputs
    assert output.count("record  offset 0") == 7


def test_a_broken_batch_is_named_and_passed_over(tmp_path: Path) -> None:
    place = tmp_path / "t-0"
    place.mkdir()
    good = [encode([Record(n, 7, b"k", b"v%d" % n)]) for n in range(3)]
    broken = bytearray(good[1])
    broken[-1] ^= 1
    (place / f"{0:020}.log").write_bytes(good[0] + bytes(broken) + good[2])
    result = run("find", "--key", "k", "--all", place)
    assert result.exit_code == 1
    assert "checksum_mismatch" in result.stderr
    assert result.stdout.count("record  offset") == 2


def test_records_of_one_offset_are_each_found_by_their_own_key(tmp_path: Path) -> None:
    """No Kafka writes two records of one offset, but damage does; wrappers hold what they like."""
    place = tmp_path / "t-0"
    place.mkdir()
    twice = [record(0, b"first", key=b"a"), record(0, b"second", key=b"b")]
    (place / f"{0:020}.log").write_bytes(batch(0, twice))
    for key, value in (("a", "first"), ("b", "second")):
        (found,) = _by_key(key, "--all", place)
        assert found["record"]["value"] == value


@pytest.mark.parametrize("codec", codec_names())
@pytest.mark.parametrize("number", [0, 1, -1])
def test_a_wrapper_with_another_offset_is_missing(tmp_path: Path, codec: str, number: int) -> None:
    """No checksum covers it; ``find`` and ``dump`` say the same of it, with each codec."""
    path = tmp_path / "t-0" / f"{0:020}.log"
    path.parent.mkdir()
    data = bytearray(first_segment(golden("0.11.0.3", "format-1-lz4-0")).read_bytes())
    position = [item.position for item in Segment(data).batches()][number]
    data[position : position + 2] = b"\0\x7f"
    path.write_bytes(data)
    found = run("find", "--codec", codec, "--key", "no such key", path.parent)
    assert "not an intact batch of the log" in found.stderr
    assert found.stderr == run("dump", "--codec", codec, "--format", "json", path.parent).stderr
