"""What Kafka's local tier and Aiven's plugin wrote has the bytes of the local files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files import names, segment_manifest
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.tiered.keys import VARIABLE
from tests.tiered.storage import AIVEN, KAFKA, KEY, LOCAL, SETTINGS, content, objects, pairs

PARTITIONS = ("plain-0", "segments-0", "transactions-segments-0")


def opened(place: Path) -> ks.LogDirectory:
    log = ks.open(place, keys=KEY)
    assert isinstance(log, ks.LogDirectory)
    return log


@pytest.mark.parametrize("setting", SETTINGS)
def test_files_of_the_plugin_are_the_local_files(setting: str) -> None:
    segments = 0
    with opened(AIVEN / setting) as log:
        assert tuple(item.path.name for item in log.partitions) == PARTITIONS
        for partition in log.partitions:
            listed = {path.name for path in partition.files}
            local = {path.name for path in (LOCAL / partition.path.name).iterdir()}
            hidden = {name for name in local if name.endswith(names.TRANSACTION_INDEX)}
            assert listed == local - hidden  # the manifest has them, and is not read for a list
            for path, original in pairs(partition):
                assert content(path) == original.read_bytes(), path
                assert path.stat().st_size == original.stat().st_size, path
            for segment in partition.segments:
                assert segment.path is not None
                name = segment.path.name.removesuffix(names.LOG) + names.TRANSACTION_INDEX
                index = segment.sidecar(names.TRANSACTION_INDEX)
                assert (index is not None) == (name in local)
                if index is not None:
                    assert content(index) == (LOCAL / partition.path.name / name).read_bytes()
                segments += 1
    assert segments == 9


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_records_and_look_ups_are_those_of_the_local_log(setting: str) -> None:
    with opened(AIVEN / setting) as log:
        for partition in log.partitions:
            with ks.open(LOCAL / partition.path.name) as local:
                assert isinstance(local, ks.Partition)
                for isolation in ("read_uncommitted", "read_committed"):
                    given = {"isolation": isolation, "log_start": "ignore"}
                    assert list(partition.records(**given)) == list(local.records(**given))  # type: ignore[arg-type]
                for offset in range(local.log_end_offset + 1):
                    one, two = partition.find(offset=offset), local.find(offset=offset)
                    assert (one.position, one.offset) == (two.position, two.offset)
                assert partition.log_end_offset == local.log_end_offset
                assert partition.last_stable_offset == local.last_stable_offset


def test_topics_partitions_and_objects_can_be_opened_by_themselves() -> None:
    folder = next(AIVEN.glob("zstd/transactions-segments-*"))
    with ks.open(folder) as log:
        assert isinstance(log, ks.LogDirectory)
        assert [item.path.name for item in log.partitions] == ["transactions-segments-0"]
    with ks.open(folder / "0") as partition:
        assert isinstance(partition, ks.Partition)
        assert partition.base_offsets == [0, 18, 36, 54]
    for path in sorted((folder / "0").iterdir()):
        with ks.open(path) as segment:
            assert isinstance(segment, ks.Segment)
            base = int(path.name[:20])
            assert segment.base_offset == base
            assert (segment.transaction_index is not None) == (base < 54)
            local = LOCAL / "transactions-segments-0" / f"{base:020d}.log"
            assert segment.path is not None
            assert content(segment.path) == local.read_bytes()


def test_a_path_that_became_text_opens_the_same_file() -> None:
    with opened(AIVEN / "encrypted") as log:
        [path] = log.partitions[0].segment_paths
        with ks.open(str(path)) as segment:
            assert isinstance(segment, ks.Segment)
            assert segment.size == (LOCAL / "plain-0" / path.name).stat().st_size


@pytest.mark.parametrize("place", KAFKA, ids=lambda path: path.parts[-3])
def test_files_of_local_tiered_storage_are_plain_copies(place: Path) -> None:
    with opened(place) as log:
        [partition] = log.partitions
        assert partition.path.name == "tiered-0"
        assert partition.base_offsets == [0, 12]
        copies = {path.name[:20]: path for path in objects(place, ".log")}
        for path in partition.segment_paths:
            assert content(path) == copies[path.name[:20]].read_bytes()
        # The broker kept the rest: what is here ends where that begins.
        local = ks.open(place.parent / "logs" / "tiered-0")
        assert isinstance(local, ks.Partition)
        assert partition.log_end_offset == local.log_start_offset == 24
        values = [record.offset for record in (*partition.records(), *local.records())]
        assert values == list(range(30))
        # The producer snapshot in remote storage is that after the segment.
        assert [path.name for path in partition.snapshot_paths] == [f"{12:020d}.snapshot"]
        assert partition.snapshots[0].crc_valid


def test_manifests_say_what_the_directories_say() -> None:
    compared = 0
    for setting in SETTINGS:
        for path in objects(AIVEN / setting, ".rsm-manifest"):
            found = segment_manifest.read(path)
            place = path.parent.parent.name  # the id of a topic has 22 characters
            assert found.segment.topic == place[:-23]
            assert kafka_uuid.to_text(found.segment.topic_id) == place[-22:]
            assert found.segment.start_offset == int(path.name[:20])
            assert found.compression == (setting in ("zstd", "encrypted"))
            assert (found.encryption is not None) == setting.startswith("encrypted")
            log = path.with_name(path.name.replace(".rsm-manifest", ".log"))
            assert found.chunks.object_size == log.stat().st_size
            compared += 1
    assert compared == 36


def test_an_encrypted_log_is_listed_without_its_key_and_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with ks.open(AIVEN / "encrypted") as log:
        assert isinstance(log, ks.LogDirectory)
        assert [len(item.segment_paths) for item in log.partitions] == [1, 4, 4]
        with pytest.raises(
            KafkaSpecError, match="'golden', whose private key is not here"
        ) as error:
            list(log.records())
        assert error.value.reason is Reason.UNREADABLE
        assert str(error.value.file).endswith(".rsm-manifest")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["{}", "golden={}", "other=/nowhere{sep}golden={}"])
def test_the_environment_names_keys(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setenv(VARIABLE, form.format(KEY, sep=os.pathsep))
    with ks.open(AIVEN / "encrypted") as log:
        assert sum(1 for _ in log.records()) > 100
