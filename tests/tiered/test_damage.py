"""Changed, cut and invented objects: each refusal is ours, with file, byte, field and reason."""

from __future__ import annotations

import json
import random
import re
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

import kafkaspec as ks
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files import segment_manifest
from tests import extent
from tests.tiered.storage import AIVEN, KEY, LOCAL, SETTINGS, content, copied, objects

_NAME = "segments-*/0/00000000000000000000-*"


def parts(place: Path) -> tuple[Path, Path, Path]:
    """The segment, indexes and manifest of the first segment of a topic."""
    log, indexes, manifest = (
        next(place.rglob(_NAME + suffix)) for suffix in (".log", ".indexes", ".rsm-manifest")
    )
    return log, indexes, manifest


def refused(place: Path, key: Path = KEY) -> KafkaSpecError:
    """Return the error of reading a partition."""
    with pytest.raises(KafkaSpecError) as error, ks.open(place, keys=key) as log:
        for _ in log.records():
            pass
    return error.value


def changed(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the JSON of a manifest."""
    value = json.loads(path.read_bytes())
    change(value)
    path.write_text(json.dumps(value, separators=(",", ":")))


def chunk_sizes(data: bytes) -> str:
    return b64encode(zstandard.ZstdCompressor().compress(data)).decode()


@pytest.mark.parametrize("setting", ["zstd", "encrypted", "encrypted-only"])
def test_a_changed_chunk_is_named(setting: str, tmp_path: Path) -> None:
    place = copied(tmp_path, setting)
    log, _, manifest = parts(place)
    second = segment_manifest.read(manifest).chunks.place(1)
    data = bytearray(log.read_bytes())
    data[second.position + second.size - 3] ^= 0x10
    log.write_bytes(data)
    with ks.open(log.parent, keys=KEY) as partition:
        assert isinstance(partition, ks.Partition)
        whole = partition.segments[0]
        # What lies in the first chunk can still be read.
        assert next(whole.records()).offset == 0
    error = refused(log.parent)
    assert error.file == str(log)
    assert error.position == second.position
    assert error.path == "/chunks/1"
    expected = Reason.CHECKSUM_MISMATCH if "encrypted" in setting else Reason.DECOMPRESSION_FAILED
    assert error.reason in (expected, Reason.INVALID_VALUE)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_cut_object_is_named(setting: str, tmp_path: Path) -> None:
    log, _, _ = parts(copied(tmp_path, setting))
    size = log.stat().st_size
    log.write_bytes(log.read_bytes()[:-1])
    error = refused(log.parent)
    assert (error.file, error.position, error.reason) == (str(log), size - 1, Reason.TRUNCATED)


def test_a_changed_index_is_named(tmp_path: Path) -> None:
    log, indexes, manifest = parts(copied(tmp_path, "encrypted"))
    place = segment_manifest.read(manifest).indexes[".timeindex"]
    data = bytearray(indexes.read_bytes())
    data[place.position] ^= 1
    indexes.write_bytes(data)
    with ks.open(log, keys=KEY) as segment:
        assert isinstance(segment, ks.Segment)
        with pytest.raises(KafkaSpecError) as error:
            _ = segment.time_index
    found = error.value
    assert (found.file, found.position) == (str(indexes), place.position)
    assert (found.path, found.reason) == ("/timestamp", Reason.CHECKSUM_MISMATCH)


@pytest.mark.slow
def test_another_key_is_refused(tmp_path: Path) -> None:
    rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa")
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    other = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (tmp_path / "other.pem").write_bytes(other)
    error = refused(AIVEN / "encrypted", tmp_path / "other.pem")
    assert (error.path, error.reason) == ("/encryption/dataKey", Reason.INVALID_VALUE)
    (tmp_path / "none.pem").write_bytes(other[:100])
    error = refused(AIVEN / "encrypted", tmp_path / "none.pem")
    assert error.file == str(tmp_path / "none.pem")


def _set(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(found: dict[str, Any]) -> None:
        for name in path[:-1]:
            found = found[name]
        if value is ...:
            del found[path[-1]]
        else:
            found[path[-1]] = value

    return change


_MANIFESTS = {
    "another version": ("zstd", _set("version", value="2"), "/version"),
    "no chunks": ("zstd", _set("chunkIndex", value=...), "/chunkIndex"),
    "chunks are not an object": ("zstd", _set("chunkIndex", value=[]), "/chunkIndex"),
    "unknown kind": ("zstd", _set("chunkIndex", "type", value="x"), "/chunkIndex/type"),
    "chunks of no bytes": (
        "zstd",
        _set("chunkIndex", "originalChunkSize", value=0),
        "/chunkIndex/originalChunkSize",
    ),
    "negative size": (
        "plain",
        _set("chunkIndex", "originalFileSize", value=-1),
        "/chunkIndex/originalFileSize",
    ),
    "size of 33 bits": (
        "plain",
        _set("chunkIndex", "transformedChunkSize", value=1 << 32),
        "/chunkIndex/transformedChunkSize",
    ),
    "too many chunks for the list": (
        "zstd",
        _set("chunkIndex", "originalChunkSize", value=1),
        "/chunkIndex/transformedChunks",
    ),
    "list is not base64": (
        "zstd",
        _set("chunkIndex", "transformedChunks", value="*"),
        "/chunkIndex/transformedChunks",
    ),
    "list is not zstd": (
        "zstd",
        _set("chunkIndex", "transformedChunks", value="AAAA"),
        "/chunkIndex/transformedChunks",
    ),
    "list of a wrong width": (
        "zstd",
        _set("chunkIndex", "transformedChunks", value=chunk_sizes(bytes([0, 0, 0, 2] + [9] * 20))),
        "/chunkIndex/transformedChunks/sizes/content/bytes_per_value",
    ),
    "list that is cut": (
        "zstd",
        _set("chunkIndex", "transformedChunks", value=chunk_sizes(bytes([0, 0, 0, 2, 0, 0, 0]))),
        "/chunkIndex/transformedChunks/sizes/content/base",
    ),
    "list without its last size": (
        "zstd",
        _set(
            "chunkIndex",
            "transformedChunks",
            value=chunk_sizes(bytes([0, 0, 0, 2] + [0] * 4 + [1, 1])),
        ),
        "/chunkIndex/transformedChunks",
    ),
    "list with a negative size": (
        "zstd",
        _set(
            "chunkIndex",
            "transformedChunks",
            value=chunk_sizes(bytes([0, 0, 0, 2, 255, 255, 255, 255, 1, 0, 0, 0, 0, 1])),
        ),
        "/chunkIndex/transformedChunks",
    ),
    "bomb": (
        "zstd",
        _set("chunkIndex", "transformedChunks", value=chunk_sizes(bytes(11 << 20))),
        "/chunkIndex/transformedChunks",
    ),
    "compression is text": ("zstd", _set("compression", value="true"), "/compression"),
    "no index": (
        "zstd",
        _set("segmentIndexes", "timestamp", value=...),
        "/segmentIndexes/timestamp",
    ),
    "index at a negative position": (
        "zstd",
        _set("segmentIndexes", "offset", "position", value=-5),
        "/segmentIndexes/offset/position",
    ),
    "key without id": (
        "encrypted",
        _set("encryption", "dataKey", value="AAAA"),
        "/encryption/dataKey",
    ),
    "key of other bytes": (
        "encrypted",
        _set("encryption", "dataKey", value="golden:AAAA"),
        "/encryption/dataKey",
    ),
    "no additional data": ("encrypted", _set("encryption", "aad", value=None), "/encryption/aad"),
}


@pytest.mark.parametrize("case", _MANIFESTS)
def test_a_wrong_manifest_is_named(case: str, tmp_path: Path) -> None:
    setting, change, path = _MANIFESTS[case]
    log, _, manifest = parts(copied(tmp_path, setting))
    changed(manifest, change)
    error = refused(log.parent)
    assert error.file == str(manifest)
    assert error.path == path, str(error)
    if case != "key of other bytes":
        assert error.position is not None


def test_a_position_after_the_end_of_the_indexes_is_named(tmp_path: Path) -> None:
    log, indexes, manifest = parts(copied(tmp_path, "plain"))
    changed(manifest, _set("segmentIndexes", "offset", "position", value=(1 << 31) - 9))
    with ks.open(log) as segment:
        assert isinstance(segment, ks.Segment)
        with pytest.raises(KafkaSpecError) as error:
            _ = segment.offset_index
    assert (error.value.file, error.value.path) == (str(indexes), "/offset")


def test_sizes_that_do_not_agree_with_the_chunks_are_named(tmp_path: Path) -> None:
    """A chunk that decompresses to more or less than its part of the segment."""
    log, _, manifest = parts(copied(tmp_path, "zstd"))
    size = json.loads(manifest.read_bytes())["chunkIndex"]["originalFileSize"]
    for other in (size - 1, size + 1):
        changed(manifest, _set("chunkIndex", "originalFileSize", value=other))
        error = refused(log.parent)
        assert (error.file, error.path) == (str(log), "/chunks/1")
        assert error.reason in (Reason.INVALID_VALUE, Reason.DECOMPRESSED_TOO_LARGE)


def test_a_segment_without_its_manifest_is_not_shown(tmp_path: Path) -> None:
    """Its copy was never finished; what is there is listed as what it is."""
    log, _, manifest = parts(copied(tmp_path, "zstd"))
    manifest.unlink()
    with ks.open(log.parent) as partition:
        assert isinstance(partition, ks.Partition)
        assert partition.base_offsets == [12, 24, 36]
        assert log.name in [path.name for path in partition.files]
    with pytest.raises(KafkaSpecError, match="not whole"):
        ks.open(log)


def test_of_two_copies_of_a_segment_one_is_shown(tmp_path: Path) -> None:
    place = copied(tmp_path, "zstd")
    log, _, manifest = parts(place)
    for path in (*parts(place),):
        copy = path.with_name(re.sub(r"-[^.]*", "-" + "A" * 22, path.name, count=1))
        copy.write_bytes(path.read_bytes())
    newer = manifest.with_name(re.sub(r"-[^.]*", "-" + "A" * 22, manifest.name, count=1))
    changed(newer, _set("remoteLogSegmentMetadata", "eventTimestampMs", value=1 << 50))
    with ks.open(log.parent) as partition:
        assert isinstance(partition, ks.Partition)
        assert partition.base_offsets == [0, 12, 24, 36]
        names = [path.name for path in partition.files]
        assert log.name in names
        assert newer.name not in names
        expected = (LOCAL / "segments-0" / f"{0:020d}.log").read_bytes()
        assert content(partition.segment_paths[0]) == expected


def test_two_topics_of_one_name_are_not_mixed(tmp_path: Path) -> None:
    place = copied(tmp_path, "plain")
    topic = next(place.rglob("segments-*"))
    topic.rename(topic.with_name("segments-" + "A" * 22))
    (topic / "0").mkdir(parents=True)
    for path in (topic.with_name("segments-" + "A" * 22) / "0").iterdir():
        (topic / "0" / path.name).write_bytes(path.read_bytes())
    with ks.open(place) as log:
        assert isinstance(log, ks.LogDirectory)
        assert [item.path.name for item in log.readable] == ["plain-0", "transactions-segments-0"]
        [error] = log.unreadable.values()
        assert str(topic) in error.detail
    with ks.open(topic) as log:
        assert sum(1 for _ in log.records()) == 45


@pytest.mark.parametrize("setting", SETTINGS)
def test_random_damage_never_raises_anything_else(setting: str, tmp_path: Path) -> None:
    chance = random.Random(setting)
    place = copied(tmp_path, setting)
    files = parts(place)
    wrong, rounds = 0, extent.examples(60)
    for _ in range(rounds):
        path = chance.choice(files)
        whole = path.read_bytes()
        data = bytearray(whole)
        for _ in range(chance.choice((1, 4, 30))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if chance.random() < 0.2:
            del data[chance.randrange(len(data)) :]
        path.write_bytes(data)
        try:
            with ks.open(files[0].parent, keys=KEY) as log:
                assert isinstance(log, ks.Partition)
                _ = log.snapshots, [segment.offset_index for segment in log.segments]
                for _ in log.records():
                    pass
        except KafkaSpecError as error:
            wrong += bool(error.file)
        path.write_bytes(whole)
    assert wrong > rounds // 3


_FOREIGN = {
    "1a2b3c4d/kafka/topic/0_12/0-100-4096-1-v1.log.1": "segment of Redpanda",
    "50000000/meta/kafka/topic/0_12/manifest.bin": "manifest of Redpanda",
    "topics/t/partition=0/t+0+0000000000.avro": "Confluent's S3 connector",
    "prefix/t-0-42.jsonl.gz": "an S3 connector, such as Aiven's",
    "t/segment_partition_000_from_offset_0000000000_records": "itadventurer/kafka-backup",
    "t/0/segment-00000000000000000000.bin.zst": "osodevops/kafka-backup",
    "deadbeef/_kafka_x/17": "object of AutoMQ",
}


@pytest.mark.parametrize("name", _FOREIGN)
def test_what_others_wrote_is_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    magic = 0x88E241B785F4CFF7 if "AutoMQ" in _FOREIGN[name] else 0
    path.write_bytes(bytes(100) + magic.to_bytes(8, "big"))
    for place in (path, tmp_path):
        with pytest.raises(KafkaSpecError, match=re.escape(_FOREIGN[name])) as error:
            ks.open(place)
        assert error.value.reason is Reason.UNREADABLE


def test_several_stores_in_a_folder_are_not_chosen_from(tmp_path: Path) -> None:
    copied(tmp_path, "plain")
    copied(tmp_path, "zstd")
    with pytest.raises(KafkaSpecError, match=r"several folders .*zstd"):
        ks.open(tmp_path)


def test_every_object_of_a_golden_is_used() -> None:
    """Nothing of what the plugin wrote is left over."""
    for setting in SETTINGS:
        shown = 0
        with ks.open(AIVEN / setting) as log:
            assert isinstance(log, ks.LogDirectory)
            for partition in log.partitions:
                assert not [path for path in partition.files if path.name.count("-") > 5]
                shown += len(partition.segment_paths)
        assert shown == len(objects(AIVEN / setting, ".rsm-manifest")) == 9
