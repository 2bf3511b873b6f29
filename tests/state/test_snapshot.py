"""Snapshots that we write: what Kafka's controllers wrote for the same state."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.messages.decoding import decode_message
from kafkaspec.messages.lookup import by_id
from kafkaspec.state.cluster import read_cluster
from kafkaspec.state.image import ClusterKind, differences
from kafkaspec.state.message_bytes import message_bytes
from kafkaspec.state.snapshot import image_records, write_snapshot
from tests.goldens import GOLDEN
from tests.state.test_cluster import LOGS

_SNAPSHOTS = sorted(GOLDEN.glob("*/**/__cluster_metadata-0/0*-*.checkpoint"))
_ADMINISTERED = GOLDEN / "4.4.0" / "administered" / "logs" / "__cluster_metadata-0"


def test_a_written_snapshot_has_the_state_of_the_log(tmp_path: Path) -> None:
    for number, path in enumerate(LOGS):
        cluster = read_cluster(ks.Partition(path))
        directory = tmp_path / str(number) / path.name
        directory.mkdir(parents=True)
        written = write_snapshot(cluster.image, directory, end_offset=7, epoch=3, timestamp=5)
        assert written.name == "00000000000000000007-0000000003.checkpoint"
        again = read_cluster(ks.Partition(directory))
        assert not again.errors, path
        assert not again.unknown, path
        assert again.image.kraft_version == cluster.image.kraft_version
        changed = differences(cluster.image, again.image)
        assert not changed, f"{path.relative_to(GOLDEN)}: {changed[:3]}"
        assert {batch.partition_leader_epoch for batch in ks.Segment(written).batches()} == {3}


@pytest.mark.slow
def test_records_are_those_of_kafkas_own_snapshots() -> None:
    """Byte for byte, but for versions that depend on the level, and for maps, which have no order.

    Some controllers left the broker that took the last producer ids in their snapshots.
    """
    free = {by_id(kind).number for kind in ("register_controller_record", "producer_ids_record")}
    same = 0
    for path in _SNAPSHOTS:
        segment = ks.Segment(path)
        batches = [batch for batch in segment.batches() if not batch.is_control]
        theirs = Counter(record.value or b"" for batch in batches for record in batch.records())
        ours = Counter(image_records(read_cluster(segment).image))
        same += sum((theirs & ours).values())
        for value in theirs - ours:
            assert value[1] in free or value[2] > 1, (path, value)
        assert theirs.total() == ours.total()
    assert same > 1_500


def test_the_lowest_version_that_has_all_fields_is_written() -> None:
    fields = {
        "partition_id": 1, "topic_id": "nUfdBeJDRum7Oz38TYeyxA", "replicas": [1], "isr": [1],
        "removing_replicas": [], "adding_replicas": [], "leader": 1, "leader_epoch": 4,
        "partition_epoch": 0,
    }  # fmt: skip
    placed = fields | {"directories": ["imAKWOH8TPa7Oemzfz-pNw"]}
    ranked = placed | {"eligible_leader_replicas": [1]}
    made = message_bytes("PartitionRecord", [ranked, fields, placed, fields])
    found = [decode_message("PartitionRecord", each).value.schema_version for each in made]
    assert found[1:] == [0, 1, 0]
    assert found[0] >= 1


def test_what_no_record_can_hold_is_refused(tmp_path: Path) -> None:
    image = read_cluster(ks.Partition(_ADMINISTERED)).image
    (key, *_) = image.items[ClusterKind.TOPIC]
    image.items[ClusterKind.TOPIC][key]["topic_id"] = "none"
    with pytest.raises(KafkaSpecError, match="'none' is not an id") as caught:
        write_snapshot(image, tmp_path, end_offset=7, epoch=3, timestamp=5)
    assert caught.value.reason is Reason.UNENCODABLE
    assert not list(tmp_path.iterdir())
    with pytest.raises(KafkaSpecError, match="unknown field 'nam'; there are name, "):
        message_bytes("TopicRecord", [{"nam": "a", "topic_id": "nUfdBeJDRum7Oz38TYeyxA"}])


def test_a_snapshot_is_not_replaced(tmp_path: Path) -> None:
    image = read_cluster(ks.Partition(_ADMINISTERED)).image
    written = write_snapshot(image, tmp_path, end_offset=7, epoch=3, timestamp=5)
    before = written.read_bytes()
    with pytest.raises(KafkaSpecError) as caught:
        write_snapshot(image, tmp_path, end_offset=7, epoch=3, timestamp=6)
    assert caught.value.reason is Reason.UNREADABLE
    assert written.read_bytes() == before
