"""Producer snapshots with a right checksum, against the log before them and what brokers did."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

from kafkaspec.analysis import BrokerAction, verify
from kafkaspec.analysis.findings import Finding
from kafkaspec.analysis.reasons import FindingReason
from kafkaspec.codecs import get_codec
from kafkaspec.files.snapshots import ProducerSnapshot, serialize_snapshot
from tests.goldens import GOLDEN, VERSIONS, release
from tests.kafka import producer_cases

PARTITIONS = ("idempotent-0", "transactions-segments-0", "transactions-open-0")
SINCE = (0, 11)


def about_content(path: Path) -> list[Finding]:
    found = verify(path).findings
    return [item for item in found if item.reason is FindingReason.SNAPSHOT_CONTENT]


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_no_snapshot_of_a_broker_is_wrong(version: str) -> None:
    """Of logs that are whole, compacted, cut at their start, or left by a crash."""
    snapshots = (GOLDEN / version).rglob("*.snapshot")
    directories = sorted({path.parent for path in snapshots if list(path.parent.glob("*.log"))})
    assert directories or release(version) < SINCE
    for directory in directories:
        assert about_content(directory) == [], directory


def wrong(path: Path) -> Iterator[str]:
    """Change each value in a snapshot, with the right checksum; yield its name."""
    good = path.read_bytes()
    entries = ProducerSnapshot(path).entries
    for number, entry in enumerate(entries):
        for item in fields(entry):
            more = 100_000 if item.name == "producer_id" else 1  # of no other producer
            changed = replace(entry, **{item.name: getattr(entry, item.name) + more})
            content = [*entries[:number], changed, *entries[number + 1 :]]
            path.write_bytes(serialize_snapshot(content, get_codec()))
            yield item.name
    path.write_bytes(good)


@pytest.mark.slow
@pytest.mark.parametrize("version", [each for each in VERSIONS if release(each) >= SINCE])
def test_each_wrong_value_is_named(version: str, tmp_path: Path) -> None:
    done = 0
    for name in PARTITIONS:
        source = GOLDEN / version / "logs" / name
        if not source.is_dir():
            continue
        directory = tmp_path / name
        shutil.copytree(source, directory)
        path = max(directory.glob("*.snapshot"))
        for field in wrong(path):
            found = [item.message for item in about_content(directory) if item.file == str(path)]
            assert found, (name, field)
            expected = "has no batch" if field == "producer_id" else field.replace("_", " ")
            # In 0.11, a marker is a last batch: without one, another value is the wrong one.
            named = any(expected in message for message in found)
            assert named or release(version)[:2] == SINCE, (name, field, found)
            done += 1
        assert about_content(directory) == []
    assert done


def test_nothing_is_said_of_a_log_without_its_start(tmp_path: Path) -> None:
    """A producer can have batches, and a coordinator, that are gone."""
    directory = tmp_path / "transactions-segments-0"
    shutil.copytree(GOLDEN / "4.3.1" / "logs" / directory.name, directory)
    for path in directory.glob(f"{0:020d}.*"):
        path.unlink()
    path = max(directory.glob("*.snapshot"))
    (entry,) = ProducerSnapshot(path).entries
    ghost = replace(entry, producer_id=77, last_offset=3, offset_delta=0)
    path.write_bytes(serialize_snapshot([entry, ghost], get_codec()))
    assert about_content(directory) == []


SAYS = {
    "a later sequence": "refuses the next batch of the producer as out of order",
    "the sequence of the next batch": "acknowledges it, and does not store it",
    "an earlier sequence": "is stored twice",
    "a later epoch": "refuses what the producer sends as of an old epoch",
    "an earlier epoch": "refuses the next batch of the producer",
    "a shorter batch": "refuses the last batch of the producer if it is sent again",
    "another offset": "gives a wrong offset if the producer sends its last batch again",
    "an open transaction": "transaction from offset 5 for an open one: read_committed gets nothing",
    "an open transaction of another producer": "transaction from offset 5 for an open one",
}


@pytest.mark.core
@pytest.mark.parametrize("version", producer_cases.RECORDED_WITH)
def test_the_consequence_is_what_a_broker_did(version: str, tmp_path: Path) -> None:
    answers = producer_cases.recorded()[version]
    right = answers["right"]
    assert SAYS.keys() == {case for case, answer in answers.items() if answer != right}
    takes_over = {BrokerAction.MISTAKES_PRODUCERS, BrokerAction.FORGETS_PRODUCERS}
    for case, path in producer_cases.cases(tmp_path).items():
        found = about_content(path)
        if case == "right":
            assert found == []
            continue
        (finding,) = found
        if case not in SAYS:  # nobody asked for what it changes
            continue
        assert finding.action in takes_over, case
        assert SAYS[case] in finding.broker, case
        assert finding.broker.startswith("After a clean stop"), case
    stored_twice = answers["an earlier sequence"]
    assert (stored_twice.again, stored_twice.stored) == ((0, 15), right.stored + 5)
    dropped = answers["the sequence of the next batch"]
    assert (dropped.following, dropped.stored) == (0, right.stored - 5)
