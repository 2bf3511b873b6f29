"""The commands about Kafka's own topics: groups, transactions, cluster, remote."""

from __future__ import annotations

import json
import re
import shutil
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from kafkaspec.log.partition import Partition
from kafkaspec.state.cluster import read_cluster
from kafkaspec.state.image import ClusterKind, differences
from tests.cli.helpers import golden, run
from tests.goldens import GOLDEN
from tests.log import forge

LOGS = golden("4.3.1", "plain-0").parent
ADMINISTERED = GOLDEN / "4.3.1" / "administered" / "logs"


def _objects(output: str) -> list[dict[str, Any]]:
    *rows, last = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert last["type"] == "summary"
    return rows


@pytest.mark.slow
def test_groups_are_those_that_the_scenarios_made() -> None:
    result = run("groups", "--format", "json", LOGS)
    assert result.exit_code == 0, result.output
    rows = _objects(result.output)
    kinds = {row["group"]: row["kind"] for row in rows if row["type"] == "group"}
    assert kinds == {
        "group-a": "classic", "group-b": "classic", "group-c": "consumer", "group-s": "share",
        "group-t": "classic",
    }  # fmt: skip
    offsets = {row["group"]: row for row in rows if row["type"] == "offset"}
    assert (offsets["group-b"]["offset"], offsets["group-b"]["lag"]) == (12, 0)
    assert offsets["group-b"]["metadata"] == "metadata of the commit"
    assert [row["group"] for row in rows if row["type"] == "delivery"] == ["group-s"]


@pytest.mark.slow
def test_a_past_state_is_that_of_the_log_up_to_then() -> None:
    """The first commit of group-a is offset 9 of the record with offset 2."""
    log = LOGS / "__consumer_offsets-0"
    times = {record.offset: str(record.timestamp) for record in Partition(log).records()}
    for last, expected in ((1, None), (2, 9), (4, 9), (5, 12)):
        result = run("groups", "--format", "json", "--group", "group-a", "--at", times[last], log)
        # Where the data ended then is not proven, which only an offset makes matter.
        assert result.exit_code == (expected is not None), result.output
        assert ("is assumed by timestamps" in result.stderr) == (expected is not None)
        found = [row["offset"] for row in _objects(result.stdout) if row["type"] == "offset"]
        assert found == ([] if expected is None else [expected]), last


@pytest.mark.slow
def test_a_past_that_compaction_has_removed_is_said(tmp_path: Path) -> None:
    logs = Path(shutil.copytree(LOGS, tmp_path / "logs"))
    (logs / "cleaner-offset-checkpoint").write_text("0\n1\n__consumer_offsets 0 6\n")
    log = logs / "__consumer_offsets-0"
    times = {record.offset: str(record.timestamp) for record in Partition(log).records()}
    early = run("groups", "--at", times[2], log)
    assert early.exit_code == 1
    assert "compacted up to offset 6" in early.output
    assert "compacted up to" not in run("groups", "--at", times[max(times)], log).output


@pytest.mark.slow
def test_the_history_of_a_group_is_all_of_its_records() -> None:
    log = LOGS / "__consumer_offsets-0"
    result = run("groups", "--format", "json", "--history", "group-a", log)
    assert result.exit_code == 0
    events = _objects(result.output)
    wanted = [
        record.offset
        for record in Partition(log).records()
        if record.key is not None and b"group-a" in bytes(record.key)
    ]
    assert [event["offset"] for event in events] == wanted
    assert {event["name"] for event in events} == {"GroupMetadata", "OffsetCommit"}
    text = run("groups", "--history", "group-a", log).output
    assert len(text.splitlines()) == len(events)


@pytest.mark.slow
def test_bytes_in_a_history_are_not_taken_for_text() -> None:
    log = LOGS / "__consumer_offsets-0"
    values = {record.offset: bytes(record.value or b"") for record in Partition(log).records()}
    events = _objects(run("groups", "--format", "json", "--history", "group-a", log).output)
    compared = 0
    for event in events:
        for member in (event["value"] or {}).get("members", ()):
            for field in ("subscription", "assignment"):
                shown = member[field]
                text = isinstance(shown, str)
                data = shown.encode() if text else b64decode(shown["base64"], validate=True)
                assert len(data).to_bytes(4, "big") + data in values[event["offset"]]
                compared += not text
    assert compared


def test_the_history_says_what_became_of_transactions(tmp_path: Path) -> None:
    """The scenario commits offset 2 and takes offset 3 back; without its marker, that is open."""
    log = Path(shutil.copytree(LOGS / "__consumer_offsets-0", tmp_path / "__consumer_offsets-0"))
    wanted = [(2, "committed"), (3, "aborted")]
    assert _outcomes(log) == wanted
    last = [batch for batch in Partition(log).batches() if batch.is_control][-1]
    path = Path(str(last.file))
    path.write_bytes(path.read_bytes()[: last.position])
    assert _outcomes(log) == [wanted[0], (3, "open")]


def _outcomes(log: Path) -> list[tuple[int, str]]:
    result = run("groups", "--format", "json", "--history", "group-t", log)
    return [(event["value"]["offset"], event["transaction"]) for event in _objects(result.output)]


def _copy(name: str, place: Path) -> Path:
    return Path(shutil.copytree(LOGS / name, place / name))


@pytest.mark.slow
def test_what_is_missing_or_broken_is_named(tmp_path: Path) -> None:
    log = _copy("__consumer_offsets-0", tmp_path)
    path = log / "00000000000000000000.log"
    batches = [(batch.position, batch.end) for batch in Partition(log).batches()]
    whole, sound = path.read_bytes(), run("groups", "--format", "json", log)
    assert sound.exit_code == 0, sound.output
    path.write_bytes(whole[: batches[-1][1] - 3])
    cut = run("groups", log)
    assert cut.exit_code == 1
    assert f"at byte {batches[-1][0]}: " in cut.output
    broken = bytearray(whole)
    broken[batches[2][1] - 1] ^= 1
    path.write_bytes(broken)
    skipped = run("groups", "--format", "json", log)
    assert skipped.exit_code == 1
    assert "checksum_mismatch" in skipped.output
    groups = [
        {row["group"] for row in _objects(done.output) if row["type"] == "group"}
        for done in (skipped, sound)
    ]
    assert groups[0] == groups[1]
    failed = run("groups", "--on-error", "raise", log)
    assert failed.exit_code == 2
    assert "checksum_mismatch" in failed.output


def test_a_log_of_another_topic_is_refused(tmp_path: Path) -> None:
    log = _copy("__consumer_offsets-0", tmp_path)
    for command in ("cluster", "remote"):
        for path in (log, log / "00000000000000000000.log"):
            result = run(command, path)
            assert result.exit_code == 2, result.output
            assert "it is of __consumer_offsets, not of __" in result.output
    assert run("cluster", tmp_path).exit_code == 2
    plain = _copy("plain-0", tmp_path / "other")
    result = run("groups", plain)
    assert result.exit_code == 2, result.output
    assert "it is of plain, not of __consumer_offsets" in result.output


def test_a_release_that_is_none_is_wrong_usage() -> None:
    for command in ("groups", "transactions", "cluster", "remote"):
        for release in ("x", "9", "4.x"):
            result = run(command, "--release", release, LOGS)
            assert result.exit_code == 2, result.output
            assert f"{release!r} is not a release" in result.output


@pytest.mark.slow
def test_the_log_directories_of_several_brokers_are_one_cluster(tmp_path: Path) -> None:
    """One has the coordinator, the other one the data; a replica that ends earlier is left out."""
    one, other = tmp_path / "1", tmp_path / "2"
    for name in ("__transaction_state-0", "__consumer_offsets-0"):
        _copy(name, one)
    for name in ("transactions-open-0", "groups-0", "__consumer_offsets-0"):
        _copy(name, other)
    result = run("transactions", "--complete", "--format", "json", one, other)
    assert result.exit_code == 0, result.output
    (row,) = [row for row in _objects(result.output) if row["type"] == "open"]
    assert (row["topic"], row["transactional_id"], row["hanging"]) == (
        "transactions-open", "open", False,
    )  # fmt: skip
    path = one / "__consumer_offsets-0" / "00000000000000000000.log"
    path.write_bytes(path.read_bytes()[: next(Partition(path.parent).batches()).end])
    result = run("groups", "--group", "group-b", "--format", "json", one, other)
    assert f"{path.parent}: left out" in result.output
    (offset,) = [row for row in _objects(result.output) if row["type"] == "offset"]
    assert (offset["offset"], offset["lag"]) == (12, 0)


@pytest.mark.slow
def test_a_lost_marker_makes_a_transaction_hang(tmp_path: Path) -> None:
    logs = Path(shutil.copytree(LOGS, tmp_path / "logs"))
    place = logs / "transactions-0"
    sound = run("transactions", "--complete", logs)
    assert sound.exit_code == 0, sound.output
    log = Partition(place)
    marker = [batch for batch in log.batches() if batch.is_control][-1]
    path = Path(str(marker.file))
    path.write_bytes(path.read_bytes()[: marker.position])
    for snapshot in place.glob("*.snapshot"):
        snapshot.unlink()
    result = run("transactions", "--format", "json", "--complete", logs)
    assert result.exit_code == 1, result.output
    (row,) = [row for row in _objects(result.output) if row["type"] == "open" and row["hanging"]]
    assert (row["topic"], row["partition"]) == ("transactions", 0)
    assert row["producer_id"] == marker.producer_id
    assert row["state"].startswith("Complete")


@pytest.mark.slow
def test_the_cluster_has_what_its_snapshot_and_log_say() -> None:
    result = run("cluster", "--format", "json", ADMINISTERED)
    assert result.exit_code == 0, result.output
    rows = _objects(result.output)
    assert rows[0]["type"] == "cluster"
    assert {row["name"] for row in rows if row["type"] == "feature"} >= {"metadata.version"}
    (scram,) = [row for row in rows if row["type"] == "scram"]
    assert scram["name"] == "user-a"
    assert not {"salt", "stored_key", "server_key"} & scram.keys()
    text = run("cluster", ADMINISTERED)
    assert text.exit_code == 0
    assert "administered-streams" in text.output
    kinds = {row["resource_type"] for row in rows if row["type"] == "config"}
    assert kinds == {2, 4, 16, 32}  # what the scenario sets, as Kafka's own tool prints it
    for name in ("TOPIC", "BROKER", "CLIENT_METRICS", "GROUP", "SCRAM-SHA-256", "SASL_PLAINTEXT"):
        assert name in text.output, name
    assert "SCRAM-SHA-256" in run("cluster", ADMINISTERED, "--diff", "0", "200").output


@pytest.mark.slow
def test_the_history_has_names_of_states_in_text_and_numbers_in_json() -> None:
    text = run("transactions", "--history", "a-lz4", LOGS).output
    rows = _objects(run("transactions", "--history", "a-lz4", "--format", "json", LOGS).output)
    states = [row["value"]["transaction_status"] for row in rows]
    assert states[:2] == [0, 1]
    names = re.findall("transaction_status=(\\w+)", text)
    known = {
        0: "Empty", 1: "Ongoing", 2: "PrepareCommit", 3: "PrepareAbort", 4: "CompleteCommit",
        5: "CompleteAbort",
    }  # fmt: skip
    assert names == [known.get(state, state) for state in states]


@pytest.mark.slow
def test_differences_and_mismatches_are_named() -> None:
    same = run("cluster", ADMINISTERED, "--diff", "100", "100")
    assert same.exit_code == 0
    assert not same.stdout.strip()
    other = run("cluster", "--format", "json", ADMINISTERED, "--diff", "60", "100")
    assert other.exit_code == 0
    rows = _objects(other.output)
    assert any(row["kind"] == "topic" and row["before"] is None for row in rows)
    assert run("cluster", ADMINISTERED, "--compare", ADMINISTERED).exit_code == 0
    strange = run("cluster", ADMINISTERED, "--compare", LOGS)
    assert strange.exit_code == 1
    assert "stray" in strange.output


def test_unfinished_copies_are_none_after_a_clean_stop() -> None:
    logs = GOLDEN / "4.3.1" / "tiered" / "logs"
    rows = _objects(run("remote", "--format", "json", logs).output)
    assert {row["topic"] for row in rows} == {"tiered", "tiered-deleted"}
    assert _objects(run("remote", "--format", "json", "--unfinished", logs).output) == []


@pytest.mark.slow
def test_metadata_records_that_are_not_known_are_counted_and_shown(tmp_path: Path) -> None:
    """Layouts by hand: type 16 is of 3.2 alone, no release has type 200, nor control type 9."""
    removed = b"\x01\x10\x00\x09feature0\x00"
    values = [removed, removed, b"\x01\xc8\x01\x00\x00"]
    log = Path(shutil.copytree(ADMINISTERED, tmp_path / "logs")) / "__cluster_metadata-0"
    before = read_cluster(Partition(log))
    end = before.end_offset
    control = forge.record(0, b"\x00\x00", key=b"\x00\x00\x00\x09")
    with sorted(log.glob("*.log"))[-1].open("ab") as file:
        file.write(forge.batch(end, [forge.record(n, value) for n, value in enumerate(values)]))
        file.write(forge.batch(end + 3, [control], attributes=0x20))
    after = read_cluster(Partition(log))
    assert {each.kind for each in differences(before.image, after.image)} == {ClusterKind.OTHER}
    for options in (
        [],
        ["--format", "json"],
        ["--diff", "100", "10000"],
        ["--compare", log.parent],
    ):
        result = run("cluster", log.parent, *options)
        assert result.exit_code == 1, options
        for text in (
            "RemoveFeatureLevelRecord of type 16: not known what it changes: 2 records",
            "control record of type 9: not known what it changes: 1 record,",
            "1 record of type 200, not known, left out",
        ):
            assert result.stderr.count(text) == 1, (options, text, result.stderr)
        assert ("feature0" in result.stdout) == ("--compare" not in options)
    assert run("cluster", log.parent, "--until-offset", str(end)).exit_code == 0


@pytest.mark.slow
def test_a_broken_control_batch_is_skipped_as_any_other(tmp_path: Path) -> None:
    """The topic after it is there: ``topic_record`` of Kafka, version 0, by hand."""
    topic = b"\x01\x02\x00\x06after" + bytes(range(16)) + b"\x00"
    for name, key, crc in (("key", b"\x00", None), ("crc", bytes(4), 5)):
        log = Path(shutil.copytree(ADMINISTERED, tmp_path / name)) / "__cluster_metadata-0"
        end = read_cluster(Partition(log)).end_offset
        control = forge.record(0, bytes(2), key=key)
        with sorted(log.glob("*.log"))[-1].open("ab") as file:
            file.write(forge.batch(end, [control], attributes=0x20, crc=crc))
            file.write(forge.batch(end + 1, [forge.record(0, topic)]))
        result = run("cluster", "--format", "json", log.parent)
        assert result.exit_code == 1
        assert len(result.stderr.splitlines()) == 1 + result.stderr.count("missing"), result.stderr
        topics = [row["name"] for row in _objects(result.stdout) if row["type"] == "topic"]
        assert "after" in topics
        assert run("cluster", "--on-error", "raise", log.parent).exit_code == 2


@pytest.mark.parametrize("command", ["groups", "cluster", "remote"])
def test_a_directory_without_the_topic_is_an_error(command: str, tmp_path: Path) -> None:
    shutil.copytree(LOGS / "plain-0", tmp_path / "logs" / "plain-0")
    result = run(command, tmp_path / "logs")
    assert result.exit_code == 2
    assert "there is no" in result.output


def test_a_damaged_record_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    """Bytes of a value that are cut, in a batch whose checksum is right again."""
    import kafkaspec as ks

    records = list(Partition(LOGS / "__consumer_offsets-0").records())
    broken = [
        record._replace(value=bytes(record.value)[:-3])
        if record.offset == 5 and record.value is not None
        else record
        for record in records
    ]
    place = tmp_path / "__consumer_offsets-0"
    place.mkdir()
    (place / "00000000000000000000.log").write_bytes(b"".join(ks.encode([r]) for r in broken))
    result = run("groups", "--format", "json", "--group", "group-a", place)
    assert result.exit_code == 1
    assert "record 5" in result.output
    offsets = [row["offset"] for row in _objects(result.output) if row["type"] == "offset"]
    assert offsets == [9]  # of the record before it


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    ("command", "option", "wrong", "near"),
    [
        ("groups", "--group", "group-bb", "there is no group 'group-bb'; did you mean 'group-b'"),
        ("groups", "--group", "x", "there is no group 'x'; there are 'group-a', 'group-b', "),
        ("groups", "--history", "Group-C", "there is no group 'Group-C'; did you mean 'group-c'"),
        ("transactions", "--history", "transaction", "there is no transactional id 'transaction'"),
    ],
)
def test_a_name_that_is_not_there_is_an_error_with_the_nearest(
    command: str, option: str, wrong: str, near: str, form: str
) -> None:
    result = run(command, option, wrong, "--format", form, LOGS)
    assert result.exit_code == 1
    assert near in result.stderr
    assert wrong not in "".join(result.stdout.splitlines()[: -1 if form == "json" else None])


@pytest.mark.slow
def test_of_several_groups_those_that_are_there_are_shown() -> None:
    result = run("groups", "--format", "json", "--group", "group-b", "--group", "group-z", LOGS)
    assert result.exit_code == 1
    assert {row["group"] for row in _objects(result.stdout)} == {"group-b"}
    assert "'group-z'" in result.stderr
    # A group that is in a topic of share groups alone, and in that of groups.
    assert run("groups", "--group", "group-s", LOGS).exit_code == 0


def test_a_topic_that_is_not_there_is_an_error_with_the_nearest(tmp_path: Path) -> None:
    commands: list[tuple[str | Path, ...]] = [
        ("dump", "--value", "text", "--topic", "plane", LOGS),
        ("export", "--value", "text", "--topic", "plane", LOGS, "-o", tmp_path / "a.jsonl"),
        ("partitions", "--topic", "plane", LOGS),
    ]
    for command in commands:
        result = run(*command)
        assert (result.exit_code, result.stdout) == (2, ""), command
        assert "there is no topic 'plane'; did you mean 'plain'?" in result.stderr
    assert not list(tmp_path.iterdir())
