"""Every codec reads what brokers do besides appending, and agrees with the brokers' own files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkaspec.codecs import Codec
from kafkaspec.files.checkpoints import leader_epoch_checkpoint, offset_checkpoint
from kafkaspec.log.batch import Batch
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from tests.goldens import FULL, GOLDEN, VERSIONS, produced, release

METADATA = Path("logs", "__cluster_metadata-0")


def versions_with(scenario: str) -> list[str]:
    """Versions that have kept this scenario."""
    return [v for v in VERSIONS if (GOLDEN / v / "logs" / f"{scenario}-0").is_dir()]


def directory(version: str, scenario: str) -> Path:
    return GOLDEN / version / "logs" / f"{scenario}-0"


def batches(version: str, scenario: str, codec: Codec) -> Iterator[Batch]:
    for path in sorted(directory(version, scenario).glob("*.log")):
        yield from Segment(path, codec=codec).batches()


def markers(batch: Batch) -> list[str]:
    return [control.type_name for control in batch.control_records()]


# -- leader epochs -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "version", [v for v in versions_with("leader-epochs") if release(v) >= (0, 11)]
)
def test_epochs_in_batches_are_those_that_the_broker_wrote_down(version: str, codec: Codec) -> None:
    """The checkpoint says where each epoch begins; KIP-101."""
    first: dict[int, int] = {}
    for batch in batches(version, "leader-epochs", codec):
        first.setdefault(batch.partition_leader_epoch, batch.base_offset)
    path = directory(version, "leader-epochs") / "leader-epoch-checkpoint"
    entries = leader_epoch_checkpoint.read(path)
    # An epoch in which nothing was written may be listed too, at the end of the log.
    assert first.items() <= {entry.epoch: entry.start_offset for entry in entries}.items()
    if release(version) >= (3, 0):  # a single broker with ZooKeeper may keep its epoch
        assert len(first) == 2


# -- deleted records -----------------------------------------------------------------------------


@pytest.mark.parametrize("version", versions_with("deleted-records"))
def test_the_log_start_offset_lies_inside_the_first_segment(version: str) -> None:
    path = directory(version, "deleted-records")
    starts = offset_checkpoint.read(path.parent / "log-start-offset-checkpoint")
    (start,) = [entry.offset for entry in starts if entry.topic == "deleted-records"]
    bases = sorted(int(log.stem) for log in path.glob("*.log"))
    assert 0 < bases[0] < start < bases[1]
    assert Partition(path).log_start_offset == start


# -- producers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", versions_with("transactions-fenced"))
def test_a_fenced_producer_is_aborted_by_the_next_epoch(version: str, codec: Codec) -> None:
    """One producer id throughout; twice a marker above the epoch of the records it aborts."""
    outcomes = {item["offset"]: item["transaction"] for item in produced(version)[
        "transactions-fenced-0"
    ]}  # fmt: skip
    pending: list[Batch] = []
    fenced = 0
    producers = set()
    for batch in batches(version, "transactions-fenced", codec):
        producers.add(batch.producer_id)
        if not batch.is_control:
            pending.append(batch)
            continue
        (kind,) = markers(batch)
        said = {outcomes[record.offset] for each in pending for record in each.records()}
        assert said == {"committed" if kind == "COMMIT" else "aborted"}
        fenced += batch.producer_epoch > pending[0].producer_epoch
        pending = []
    assert pending == []
    assert len(producers) == 1
    # Under transaction version 2 every marker is above.
    assert fenced == (6 if release(version) >= (4, 0) else 2)


@pytest.mark.parametrize("version", versions_with("transaction-version-2"))
def test_transaction_version_2_raises_the_epoch_with_every_marker(
    version: str, codec: Codec
) -> None:
    """KIP-890: the marker bears the next epoch, and the next transaction has it too."""
    epochs = [
        (batch.is_control, batch.producer_epoch)
        for batch in batches(version, "transaction-version-2", codec)
    ]
    start = epochs[0][1]
    data = [epoch for control, epoch in epochs if not control]
    assert data == [start, start + 1, start + 2]
    assert [epoch for control, epoch in epochs if control] == [epoch + 1 for epoch in data]


# -- compression levels --------------------------------------------------------------------------


@pytest.mark.parametrize("version", versions_with("codec-levels"))
def test_levels_give_other_bytes_for_the_same_records(version: str, codec: Codec) -> None:
    found: dict[str, list[Batch]] = defaultdict(list)
    for batch in batches(version, "codec-levels", codec):
        found[batch.compression_name].append(batch)
    assert {name: len(both) for name, both in found.items()} == {"gzip": 2, "lz4": 2, "zstd": 2}
    for low, high in found.values():
        values = [[record.value for record in batch.records()] for batch in (low, high)]
        assert values[0] == values[1]
        assert bytes(low.data) != bytes(high.data)
        assert high.size < low.size


# -- internal topics -----------------------------------------------------------------------------


@pytest.mark.parametrize("version", versions_with("groups"))
def test_groups_left_commits_that_the_tool_shows(version: str) -> None:
    from tests.goldens import dumps

    text = "".join(
        text for name, text in dumps(version).items() if name.startswith("__consumer_offsets-0/")
    )
    for group in ("group-a", "group-b"):
        assert group in text
    if release(version) >= (0, 11):
        assert "group-t" in text
    if release(version) >= (4, 0):
        assert "group-c" in text


@pytest.mark.parametrize("version", [v for v in VERSIONS if (GOLDEN / v / METADATA).is_dir()])
def test_snapshots_of_the_metadata(version: str, codec: Codec) -> None:
    """Every snapshot begins and ends with its control records (KIP-630)."""
    paths = sorted((GOLDEN / version / METADATA).glob("*.checkpoint"))
    # One that was stopped before its first snapshot has the one of its formatting at most.
    assert len(paths) >= (2 if version in FULL else 0)
    for path in paths:
        found = list(Segment(path, codec=codec).batches())
        assert markers(found[0])[0] == "SNAPSHOT_HEADER"
        assert markers(found[-1]) == ["SNAPSHOT_FOOTER"]
