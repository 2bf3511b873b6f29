"""Redacted logs: what was chosen is gone, and nothing else is different."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.forensics.redaction.choices import Changes, Chosen, Part, Way
from kafkaspec.forensics.redaction.running import RedactedEntry, Redaction, redact
from kafkaspec.log.partition import Partition
from tests.cli.helpers import fingerprint, lines, run
from tests.extent import some
from tests.goldens import GOLDEN, VERSIONS, distinct_partitions

ALL = {Part.KEY: Way.HASH, Part.VALUE: Way.FILL, Part.HEADERS: Way.FILL}
EVERY = Chosen(every=True)


def _redact(
    source: Path, out: Path, chosen: Chosen, ways: dict[Part, Way], secret: bytes = b"s"
) -> tuple[Redaction, list[RedactedEntry]]:
    audit: list[RedactedEntry] = []
    result = redact(
        source, out, chosen, Changes(ways, None, secret), audit=audit.append, sync=False
    )
    return result, audit


def _shape(data: bytes | None) -> int | None:
    return None if data is None else len(data)


def _findings(path: Path) -> list[tuple[Any, ...]]:
    return [(item.reason, item.severity, item.offset) for item in ks.verify(path).findings]


def _batches(path: Path) -> list[tuple[Any, ...]]:
    """All of each entry but its records, sizes and checksum."""
    with Partition(path) as log:
        return [
            (
                batch.magic, batch.base_offset, batch.last_offset, batch.compression,
                batch.timestamp_type, batch.base_timestamp, batch.max_timestamp,
                batch.delete_horizon, batch.partition_leader_epoch, batch.producer_id,
                batch.producer_epoch, batch.base_sequence, batch.is_transactional,
                batch.is_control, batch.num_records,
            )
            for batch in log.batches()
        ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_shape_without_content(version: str, tmp_path: Path) -> None:
    """Of each golden partition: every header, offset, timestamp, size and header key stays."""
    for number, path in enumerate(distinct_partitions(version)[:: some(3)]):
        if path.name.startswith("__") or not list(path.glob("*.log")):
            continue
        out = tmp_path / str(number) / path.name
        out.parent.mkdir()
        before = fingerprint(path)
        result, audit = _redact(path, out, EVERY, ALL)
        assert fingerprint(path) == before
        assert result.is_whole, path
        assert _batches(out) == _batches(path), path
        with Partition(path) as log, Partition(out) as new:
            old_records = list(log.records(control=True))
            new_records = list(new.records(control=True))
        pairs = list(zip(old_records, new_records, strict=True))
        for old, now in pairs:
            assert (old.offset, old.timestamp) == (now.offset, now.timestamp)
            assert [_shape(old.key), _shape(old.value)] == [_shape(now.key), _shape(now.value)]
            assert [(key, _shape(value)) for key, value in old.headers] == [
                (key, _shape(value)) for key, value in now.headers
            ]
        known: dict[bytes, bytes] = {}
        control = {
            offset
            for batch in Partition(path).batches()
            if batch.is_control
            for offset in range(batch.base_offset, batch.last_offset + 1)
        }
        for old, now in pairs:
            if old.offset in control:
                assert old == now
                continue
            assert now.value is None or set(now.value) <= set(b"x")
            if old.key and now.key:
                assert known.setdefault(bytes(old.key), bytes(now.key)) == now.key
        alone = shutil.copytree(path, out.parent / "alone" / path.name)
        assert _findings(out) == _findings(alone), path
        if result.partitions[0].resized:
            continue
        for file in path.iterdir():  # what leads into the log is as it was
            if file.suffix in (".index", ".timeindex", ".txnindex", ".snapshot"):
                assert (out / file.name).read_bytes() == file.read_bytes(), file
        assert all(entry.size == entry.new_size for entry in audit)


@pytest.mark.parametrize("name", ["headers-0", "codec-lz4-0", "transactions-0"])
def test_only_what_was_chosen(name: str, tmp_path: Path) -> None:
    source = GOLDEN / "4.3.1" / "logs" / name
    with Partition(source) as log:
        records = list(log.records())
    chosen = records[:: max(1, len(records) // 4)]
    offsets = tuple(range(item.offset, item.offset + 1) for item in chosen)
    result, audit = _redact(
        source, tmp_path / name, Chosen(offsets=offsets), {Part.VALUE: Way.EMPTY}
    )
    gone = {item.offset for item in chosen if item.value}
    assert {field.offset for entry in audit for field in entry.fields} == gone
    assert result.records == len(gone)
    with Partition(tmp_path / name) as log:
        for old, now in zip(records, log.records(), strict=True):
            assert now == (old._replace(value=b"") if old.offset in gone else old)
    untouched = {entry.position for entry in audit}
    assert len(untouched) == result.partitions[0].redacted_entries


def test_by_key_and_by_content(tmp_path: Path) -> None:
    place = tmp_path / "t-0"
    place.mkdir()
    records = [
        ks.Record(
            n, 7, b"user-%d" % (n % 3), b"mail=user%d@example.com" % n, (("trace", b"t%d" % n),)
        )
        for n in range(12)
    ]
    for compression, start in (("none", 0), ("gzip", 6)):
        data = ks.encode(records[start : start + 6], compression=compression)
        with (place / f"{0:020}.log").open("ab") as file:
            file.write(data)
    result = run("redact", "--format", "json", "--key", "user-1", place, "-o", tmp_path / "key-0")
    assert result.exit_code == 0
    found = [item for item in lines(result) if item["type"] == "redacted"]
    assert [item["offset"] for item in found] == [1, 4, 7, 10]
    assert "user1@" not in result.stdout
    with Partition(tmp_path / "key-0") as log:
        values = [item.value for item in log.records()]
    assert [n for n, value in enumerate(values) if value and set(value) == set(b"x")] == [
        1,
        4,
        7,
        10,
    ]

    run("redact", "--where", r"value=user(2|11)@", "--parts", "value,headers", place,
        "-o", tmp_path / "where-0")  # fmt: skip
    with Partition(tmp_path / "where-0") as log:
        changed = [new for new, old in zip(log.records(), records, strict=True) if new != old]
    assert [item.offset for item in changed] == [2, 11]
    assert [item.headers for item in changed] == [(("trace", b"xx"),), (("trace", b"xxx"),)]

    nothing = run("redact", "--key", "nobody", place, "-o", tmp_path / "nothing-0")
    assert nothing.exit_code == 1
    copied = tmp_path / "nothing-0" / f"{0:020}.log"
    assert copied.read_bytes() == (place / copied.name).read_bytes()


def test_hashes_are_the_same_with_the_same_secret(tmp_path: Path) -> None:
    source = GOLDEN / "4.3.1" / "logs" / "plain-0"
    (tmp_path / "secret").write_bytes(b"of two replicas")
    logs = []
    for name, secret in (("a", True), ("b", True), ("c", False), ("d", False)):
        more = ["--secret", str(tmp_path / "secret")] if secret else []
        done = run("redact", "--all-values", "--way", "hash", *more, source, "-o", tmp_path / name)
        assert done.exit_code == 0
        logs.append((tmp_path / name / f"{0:020}.log").read_bytes())
    assert logs[0] == logs[1]
    assert len(set(logs)) == 3


def test_look_ups_by_time_are_those_of_the_original(tmp_path: Path) -> None:
    """Compressed batches change their size, so that old indexes would lead to wrong places."""
    for name in ("codec-mixed-0", "segments-gzip-0", "segments-0"):
        source = GOLDEN / "4.3.1" / "logs" / name
        _redact(source, tmp_path / name, EVERY, {Part.VALUE: Way.FILL})
        with Partition(source) as log, Partition(tmp_path / name) as new:
            for record in log.records():
                old = log.find(timestamp=record.timestamp).offset
                assert new.find(timestamp=record.timestamp).offset == old, (name, record.offset)
                found = new.find(offset=record.offset).record
                assert found is not None
                assert found.offset == record.offset


def test_damage_is_not_blessed(tmp_path: Path) -> None:
    """A damaged entry gets no right checksum, and what may hold the key is not copied."""
    place = tmp_path / "t-0"
    place.mkdir()
    good = [ks.encode([ks.Record(n, 7, b"k", b"secret %d" % n)]) for n in range(3)]
    broken = bytearray(good[1])
    broken[-3] ^= 1
    log = place / f"{0:020}.log"
    log.write_bytes(good[0] + bytes(broken) + good[2] + b"secret tail that is no batch")
    for choice in (["--key", "k"], ["--all-values"], ["--where", "value=secret"]):
        refused = run("redact", *choice, place, "-o", tmp_path / "refused")
        assert refused.exit_code == 2
        assert "checksum_mismatch" in refused.stderr
        assert not (tmp_path / "refused").exists()
        out = tmp_path / "out"
        done = run("redact", *choice, "--on-error", "skip", place, "-o", out)
        assert done.exit_code == 1
        assert "left out" in done.stdout
        assert b"secret" not in (out / log.name).read_bytes()
        shutil.rmtree(out)


def test_random_damage(tmp_path: Path) -> None:
    chance = random.Random(7)
    source = GOLDEN / "4.3.1" / "logs" / "codec-mixed-0"
    for number in range(40):
        place = shutil.copytree(source, tmp_path / f"in-{number}" / source.name)
        log = place / f"{0:020}.log"
        data = bytearray(log.read_bytes())
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        log.write_bytes(data)
        done = run(
            "redact", "--all-values", "--on-error", "skip", place, "-o", tmp_path / f"out-{number}"
        )
        assert done.exit_code in (0, 1, 2), done.output


def test_a_log_directory(tmp_path: Path) -> None:
    """Kafka's own topics are left out, and copies of records elsewhere are named."""
    logs = tmp_path / "logs"
    source = GOLDEN / "4.3.1" / "logs"
    for name in ("plain-0", "headers-0", "__consumer_offsets-0"):
        shutil.copytree(source / name, logs / name)
    deleted = logs / "plain-0" / f"{0:020}.log.deleted"
    shutil.copy(source / "plain-0" / f"{0:020}.log", deleted)
    stray = logs / f"plain-0.{'0' * 32}-stray"
    shutil.copytree(source / "plain-0", stray)
    result = run("redact", "--format", "json", "--all-values", logs, "-o", tmp_path / "out")
    assert result.exit_code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["headers-0", "plain-0"]
    partitions = {item["topic"]: item for item in lines(result) if item["type"] == "partition"}
    assert partitions["plain"]["copies"] == [str(deleted), str(stray)]
    assert "__consumer_offsets-0" in result.stderr
    own = run("redact", "--all-values", logs / "__consumer_offsets-0", "-o", tmp_path / "own")
    assert own.exit_code == 2
    again = run("redact", "--all-values", logs, "-o", tmp_path / "out")
    assert again.exit_code == 2


def test_remote_storage(tmp_path: Path) -> None:
    """A log of remote storage becomes one on disk."""
    result = run("redact", "--all-values", GOLDEN / "4.3.1/tiered/remote", "-o", tmp_path / "out")
    assert result.exit_code == 0
    with Partition(tmp_path / "out" / "tiered-0") as log:
        records = list(log.records())
    assert [record.offset for record in records] == list(range(24))
    assert all(set(record.value or b"") <= set(b"x") for record in records)


@pytest.mark.parametrize(
    "options",
    [
        [], ["--parts", "everything"], ["--offsets", "a-b"], ["--where", "value"],
        ["--where", "value=("], ["--all-values", "--parts", "key", "--way", "null"],
        ["--all-values", "--header", "h", "--parts", "value"],
    ],
    ids=json.dumps,
)  # fmt: skip
def test_wrong_usage(options: list[str], tmp_path: Path) -> None:
    result = run("redact", *options, GOLDEN / "4.3.1/logs/plain-0", "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert not (tmp_path / "out").exists()
