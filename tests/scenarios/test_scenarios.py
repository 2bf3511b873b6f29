"""Every scenario against the readers: what they find is what the scenario says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.analysis.findings import Finding, Severity
from kafkaspec.codecs import codec_names
from kafkaspec.files.checkpoints import leader_epoch_checkpoint, quorum_state
from kafkaspec.forensics.cleaner.compaction import compaction
from kafkaspec.forensics.cleaner.settings import Settings
from kafkaspec.forensics.cleaner.view import LogView
from kafkaspec.forensics.transactions import open_transactions
from kafkaspec.intact.division import judge
from kafkaspec.log.missing import missing
from kafkaspec.scenarios.making import LEAST_RECORDS, MOST_RECORDS, NOW, SCENARIOS, scenario
from kafkaspec.scenarios.partition import INDEX_INTERVAL_BYTES
from kafkaspec.state.groups import read_groups
from kafkaspec.state.transactions import read_transactions
from tests.cli.helpers import run
from tests.extent import some

SEEDS = range(some(2))
UNDAMAGED = [name for name in SCENARIOS if name != "damage"]


@dataclass
class Made:
    """A scenario on the disk, and what it says of itself."""

    path: Path
    expected: dict[str, Any]

    def partitions(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        for directory, partitions in self.expected["logs"].items():
            for name, facts in partitions.items():
                yield self.path / directory / name, facts


@pytest.fixture(scope="module", params=SEEDS, ids="seed {}".format)
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Made]:
    top = tmp_path_factory.mktemp("scenarios")
    found = {}
    for name in SCENARIOS:
        scenario(name, top / name, seed=request.param, records=LEAST_RECORDS)
        text = (top / name / "expected.json").read_text("utf-8")
        found[name] = Made(top / name, json.loads(text))
    return found


def fits(expected: dict[str, Any], found: Finding, top: Path) -> bool:
    """Whether a finding is the one that a scenario says."""
    file = Path(found.file).relative_to(top).as_posix()
    if (file, str(found.reason)) != (expected["file"], expected["reason"]):
        return False
    if expected["bytes"] is not None and not _within(expected["bytes"], found.position):
        return False
    # Errors of the layout are about bytes, and name no offset.
    return None in (expected["offsets"], found.offset) or _within(expected["offsets"], found.offset)


def _within(span: list[int], value: int | None) -> bool:
    return value is not None and span[0] <= value < span[1]


@pytest.mark.parametrize("name", SCENARIOS)
def test_verify_finds_the_damage_and_nothing_else(made: dict[str, Made], name: str) -> None:
    here = made[name]
    findings = [
        finding
        for directory in here.expected["logs"]
        for finding in ks.verify(
            here.path / directory, index_interval_bytes=INDEX_INTERVAL_BYTES
        ).findings
    ]
    expected = here.expected["findings"]
    lacking = [each for each in expected if not any(fits(each, f, here.path) for f in findings)]
    surplus = [
        finding
        for finding in findings
        if finding.severity is not Severity.INFO
        and not any(fits(each, finding, here.path) for each in expected)
    ]
    assert (lacking, surplus) == ([], [])
    assert bool(expected) == (name == "damage")


def shown(record: ks.Record) -> dict[str, Any]:
    def text(data: bytes | None) -> str | None:
        return None if data is None else data.decode()

    return {
        "offset": record.offset, "timestamp": record.timestamp, "key": text(record.key),
        "value": text(record.value), "headers": [[k, text(v)] for k, v in record.headers],
    }  # fmt: skip


@pytest.mark.parametrize("codec", ["native", "python"])
@pytest.mark.parametrize("name", [n for n in UNDAMAGED if "groups" not in n])
@pytest.mark.slow
def test_readers_deliver_the_records(made: dict[str, Made], name: str, codec: str) -> None:
    if codec not in codec_names():
        pytest.skip(f"{codec} is not built")
    for path, facts in made[name].partitions():
        if path.name.startswith("__"):
            continue
        start = facts["log_start_offset"]
        with ks.Partition(path, codec=codec) as log:
            assert [shown(record) for record in log.records(start_offset=start)] == facts["records"]
            assert log.last_stable_offset == facts["last_stable_offset"]
            committed = log.records(start_offset=start, isolation="read_committed")
            assert [record.offset for record in committed] == facts["committed"]
            bases = [segment["base_offset"] for segment in facts["segments"]]
            assert [segment.base_offset for segment in log.segments] == bases
            assert log.log_end_offset == facts["log_end_offset"]
        epochs = path / "leader-epoch-checkpoint"
        if facts["leader_epochs"]:
            assert [
                {"epoch": each.epoch, "start_offset": each.start_offset}
                for each in leader_epoch_checkpoint.read(epochs)
            ] == facts["leader_epochs"]


@pytest.mark.parametrize("name", UNDAMAGED)
@pytest.mark.slow
def test_nothing_is_lost(made: dict[str, Made], name: str) -> None:
    for directory in made[name].expected["logs"]:
        with ks.open(made[name].path / directory) as log:
            assert [each for each in missing(log) if each.is_loss] == []


def test_open_transactions(made: dict[str, Made]) -> None:
    top = made["transactions"].path / "logs"
    ids = read_transactions(ks.Partition(top / "__transaction_state-0")).ids
    for path, facts in made["transactions"].partitions():
        if path.name.startswith("__"):
            states = {row["transactional_id"]: row for row in ids.to_pylist()}
            assert {
                name: {key: row[key] for key in ("producer_id", "producer_epoch")}
                for name, row in states.items()
            } == {
                name: {key: row[key] for key in ("producer_id", "producer_epoch")}
                for name, row in facts["transactional_ids"].items()
            }
            continue
        rows = open_transactions([ks.Partition(path)], ids, complete=True).to_pylist()
        keys = ("producer_id", "first_offset", "verdict")
        assert [{key: row[key] for key in keys} for row in rows] == facts["open"]
        outcomes = Counter(each["outcome"] for each in facts["transactions"])
        assert min(outcomes["committed"], outcomes["aborted"], outcomes["open"]) > 0


def rows(kind: str, *arguments: str | Path) -> list[dict[str, Any]]:
    """The lines of a type that a command prints."""
    output = run(*arguments, "--format", "json").stdout.splitlines()
    return [row for row in map(json.loads, output) if row["type"] == kind]


@pytest.mark.slow
def test_every_transaction_is_listed(made: dict[str, Made]) -> None:
    here = made["transactions"]
    keys = ("producer_id", "producer_epoch", "first_offset", "marker", "outcome")
    found: dict[str, list[Any]] = {}
    for row in rows("transaction", "transactions", here.path / "logs"):
        name = f"{row['topic']}-{row['partition']}"
        found.setdefault(name, []).append(
            ({key: row[key] for key in keys}, row["last_offset"], row["records"])
        )
    assert found == {
        path.name: [
            ({key: each[key] for key in keys}, each["offsets"][-1], len(each["offsets"]))
            for each in facts["transactions"]
        ]
        for path, facts in here.partitions()
        if facts["transactions"]
    }


@pytest.mark.slow
def test_what_is_lost(made: dict[str, Made], tmp_path: Path) -> None:
    here = made["damage"]
    lost = {path: facts["lost"] for path, facts in here.partitions() if "lost" in facts}
    found = {}
    for path, _ in here.partitions():
        with ks.Partition(path) as log:
            gone = [list(each.lost) for each in missing(log, judge=judge, check=True) if each.lost]
        if gone:
            found[path] = gone
    assert found == lost
    for directory in here.expected["logs"]:
        said: dict[Path, list[Any]] = {}
        source = here.path / directory
        for row in rows("lost_offsets", "salvage", source, "-o", tmp_path / directory):
            place = source / f"{row['topic']}-{row['partition']}"
            said.setdefault(place, []).append(row["offsets"])
        assert said == {path: offsets for path, offsets in lost.items() if path.parent == source}
        for path, facts in here.partitions():
            if path.parent == source:
                with ks.Partition(tmp_path / directory / path.name) as log:
                    assert [shown(record) for record in log.records()] == [
                        record
                        for record in facts["records"]
                        if not any(a <= record["offset"] < b for a, b in facts.get("lost", []))
                    ]


@pytest.mark.slow
def test_the_stale_replica_has_to_truncate(made: dict[str, Made]) -> None:
    paths, facts = zip(*(each for each in made["leader-changes"].partitions()
                         if each[0].name == "orders-0"), strict=True)  # fmt: skip
    (cut,) = [each["truncates"] for each in facts if "truncates" in each]
    leader = "AB"[[each["leader"] for each in facts].index(True)]
    (row,) = [row for row in rows("truncation", "diff", *paths) if row["leader"] == leader]
    assert (row["offset"], row["removed"]) == (cut["offset"], cut["removed"])
    assert not row["acknowledged"]


@pytest.mark.parametrize("name", UNDAMAGED)
@pytest.mark.slow
def test_stats_count_what_is_there(made: dict[str, Made], name: str) -> None:
    here = made[name]
    counted: Counter[Path] = Counter()
    for directory in here.expected["logs"]:
        for row in rows("codec", "stats", here.path / directory):
            counted[Path(row["directory"])] += row["records"]
    assert counted == Counter({
        path: sum(segment["records"] for segment in facts["segments"])
        for path, facts in here.partitions()
        if any(segment["size"] for segment in facts["segments"])
    })  # fmt: skip


@pytest.mark.slow
def test_gaps_are_what_was_compacted_away(made: dict[str, Made]) -> None:
    ((path, facts),) = made["compaction"].partitions()
    gaps = rows("gap", "gaps", path)
    assert {gap["why"] for gap in gaps} == {"compaction"}
    assert sum(gap["missing"] for gap in gaps) == len(facts["compacted"])
    emptied = [gap["first_offset"] for gap in gaps if gap["kind"] == "emptied"]
    assert emptied == facts["empty_batches"]
    assert emptied
    there = {record["offset"] for record in facts["records"]}
    gone = {each["offset"] for each in facts["compacted"]}
    assert there | gone == set(range(facts["log_end_offset"]))
    assert not there & gone


def test_the_next_pass_of_the_cleaner(made: dict[str, Made]) -> None:
    ((path, facts),) = made["compaction"].partitions()
    found = compaction(LogView(ks.Partition(path)), Settings(), NOW)
    assert found.dirty.first_dirty == facts["first_dirty_offset"]
    assert {str(rule): count for rule, count in found.removed.items() if count} == (
        facts["next_pass"]["removed"]
    )
    assert found.end_offset == facts["next_pass"]["end_offset"]


def test_groups(made: dict[str, Made]) -> None:
    ((path, facts),) = made["groups"].partitions()
    state = read_groups(ks.Partition(path))
    assert not state.errors
    keys = ("group", "topic", "partition", "offset")
    rows = state.offsets.to_pylist()
    for pending, wanted in ((False, facts["offsets"]), (True, facts["pending"])):
        given = [{key: row[key] for key in keys} for row in rows if row["pending"] == pending]
        assert sorted(given, key=str) == sorted(wanted, key=str)
    members: dict[str, list[str]] = {}
    for row in state.members.to_pylist():
        members.setdefault(row["group"], []).append(row["member_id"])
    groups = {row["group"]: row for row in state.groups.to_pylist() if row["epoch"] is not None}
    assert {
        name: {"state": row["state"], "members": members.get(name, []), "generation": row["epoch"]}
        for name, row in groups.items()
    } == facts["groups"]


def test_groups_of_the_consumer_protocol(made: dict[str, Made]) -> None:
    ((path, facts),) = made["consumer-groups"].partitions()
    state = read_groups(ks.Partition(path))
    assert not state.errors
    members: dict[str, list[str]] = {}
    for row in state.members.to_pylist():
        members.setdefault(row["group"], []).append(row["member_id"])
    assert {
        row["group"]: {
            "state": row["state"], "members": sorted(members.get(row["group"], [])),
            "epoch": row["epoch"],
        }
        for row in state.groups.to_pylist()
        if row["kind"] == "consumer"
    } == facts["consumer_groups"]  # fmt: skip
    states = {each["state"] for each in facts["consumer_groups"].values()}
    assert states == {"Stable", "Assigning", "Reconciling", "Empty"}
    keys = ("group", "topic", "partition", "offset")
    given = [{key: row[key] for key in keys} for row in state.offsets.to_pylist()]
    assert sorted(given, key=str) == sorted(facts["offsets"], key=str)


@pytest.mark.slow
def test_the_cluster_that_the_controllers_describe(made: dict[str, Made]) -> None:
    ((path, facts),) = made["cluster"].partitions()
    wanted, top = facts["cluster"], path.parent
    assert facts["log_start_offset"] > 0
    assert wanted["removed_topics"]
    assert len(facts["elections"]) > 1
    (said,) = rows("cluster", "cluster", top)
    assert (said["snapshot"], said["end_offset"]) == (facts["snapshot"], facts["log_end_offset"])
    assert said["leader"] == facts["leader"]
    for kind, listed in (
        ("feature", "features"), ("topic", "topics"), ("partition", "partitions"),
        ("config", "configs"),
    ):  # fmt: skip
        found = rows(kind, "cluster", top)
        assert sorted(found, key=str) != []
        keys = wanted[listed][0]
        given = [{key: row[key] for key in keys} for row in found]
        assert sorted(given, key=str) == sorted(wanted[listed], key=str), kind
    state = quorum_state.read(path / "quorum-state")
    assert (state.leader_id, state.leader_epoch) == (
        facts["leader"], facts["leader_epochs"][-1]["epoch"]
    )  # fmt: skip
    # The snapshot alone says what was true where it ends.
    early = {row["name"] for row in rows("topic", "cluster", path / facts["snapshot"])}
    late = {each["name"] for each in wanted["topics"]} | {*wanted["removed_topics"]}
    assert early
    assert early <= late


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(made: dict[str, Made], tmp_path: Path) -> None:
    for name, here in made.items():
        again = tmp_path / name
        scenario(name, again, seed=here.expected["seed"], records=LEAST_RECORDS)
        files = sorted(path for path in here.path.rglob("*") if path.is_file())
        assert files
        for path in files:
            assert (again / path.relative_to(here.path)).read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="scenario"):
        scenario("weather", tmp_path / "out")
    with pytest.raises(ValueError, match="100 to 100000, not 99"):
        scenario("legacy", tmp_path / "out", records=LEAST_RECORDS - 1)
    with pytest.raises(ValueError, match="100 to 100000, not 100001"):
        scenario("legacy", tmp_path / "out", records=MOST_RECORDS + 1)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ks.KafkaSpecError):
        scenario("legacy", tmp_path)


@pytest.mark.slow
def test_the_command_writes_scenarios(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(
        "generate", out, "--scenario", "legacy", "--scenario", "groups", "--seed", "3",
        "--max-records", str(LEAST_RECORDS), "--clock", "2020-01-01T00:00:00Z", "--format", "json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    lines = [json.loads(text) for text in result.stdout.splitlines()]
    assert [row["name"] for row in lines[:-1]] == ["legacy", "groups"]
    assert sorted(path.name for path in out.iterdir()) == ["groups", "legacy"]
    expected = json.loads((out / "legacy" / "expected.json").read_text("utf-8"))
    again = scenario(
        "legacy", tmp_path / "again", seed=3, records=LEAST_RECORDS, now="2020-01-01T00:00:00Z"
    )
    assert expected == json.loads(json.dumps(again))
    assert lines[-1]["files"] == sum(path.is_file() for path in out.rglob("*"))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--max-records", "200"], "--scenario"),
        (["--scenario", "legacy", "--max-records", "1"], "100"),
        (["--scenario", "legacy", "--max-records", "100001"], "100000"),
        (["--scenario", "legacy", "--profile", "2.8"], "3.1"),
        (["--scenario", "weather"], "damage"),
    ],
)
def test_the_command_refuses(tmp_path: Path, arguments: list[str], text: str) -> None:
    result = run("generate", tmp_path / "out", *arguments)
    assert result.exit_code == 2
    assert text in result.output
    assert not (tmp_path / "out").exists()
