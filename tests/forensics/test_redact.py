"""Redacted logs: what was chosen is gone, and nothing else is different."""

from __future__ import annotations

import hashlib
import hmac
import json
import random
import re
import shutil
from array import array
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.checksum import crc32c
from kafkaspec.codecs import codec_names, get_codec
from kafkaspec.forensics.cleaner.compaction import Compaction, compaction
from kafkaspec.forensics.cleaner.settings import Settings
from kafkaspec.forensics.cleaner.view import LogView
from kafkaspec.forensics.redaction.choices import Changes, Chosen, Part, Way
from kafkaspec.forensics.redaction.columns import ColumnRedaction, RedactedRange
from kafkaspec.forensics.redaction.running import RedactedEntry, Redaction, redact
from kafkaspec.log.batch import computed_crc
from kafkaspec.log.partition import Partition
from tests.cli.helpers import fingerprint, lines, run
from tests.extent import some
from tests.goldens import GOLDEN, VERSIONS, distinct_partitions
from tests.log.forge import batch, record, sized, zigzag

ALL = {Part.KEY: Way.HASH, Part.VALUE: Way.FILL, Part.HEADERS: Way.FILL}
EVERY = Chosen(every=True)
DIGEST = hashlib.sha256().digest_size


def _redact(
    source: Path, out: Path, chosen: Chosen, ways: dict[Part, Way], secret: bytes = b"s" * 16
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
    """Of each golden partition: every header, offset, timestamp and header key stays.

    Sizes of values and headers stay too; a key becomes a digest.
    """
    for number, golden in enumerate(distinct_partitions(version)[:: some(3)]):
        if golden.name.startswith("__") or not list(golden.glob("*.log")):
            continue
        out = tmp_path / str(number) / golden.name
        # Away from the checkpoints of its broker, by which it would be cut.
        path = shutil.copytree(golden, out.parent / "alone" / golden.name)
        before = fingerprint(path)
        result, _ = _redact(path, out, EVERY, ALL)
        assert fingerprint(path) == before
        assert result.is_whole, path
        assert _batches(out) == _batches(path), path
        with Partition(path) as log, Partition(out) as new:
            old_records = list(log.records(include_control=True))
            new_records = list(new.records(include_control=True))
        pairs = list(zip(old_records, new_records, strict=True))
        for old, now in pairs:
            assert (old.offset, old.timestamp) == (now.offset, now.timestamp)
            assert _shape(old.value) == _shape(now.value)
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
            assert _shape(now.key) == (None if old.key is None else DIGEST)
            if old.key is not None and now.key is not None:
                assert known.setdefault(bytes(old.key), bytes(now.key)) == now.key
        assert len(set(known.values())) == len(known)
        assert _findings(out) == _findings(path), path
        if result.partitions[0].resized:
            continue
        for file in path.iterdir():  # what leads into the log is as it was
            if file.suffix in (".index", ".timeindex", ".txnindex", ".snapshot"):
                assert (out / file.name).read_bytes() == file.read_bytes(), file


@pytest.mark.slow
@pytest.mark.parametrize("way", [Way.FILL, Way.HASH, Way.EMPTY, Way.NULL])
def test_in_columns_and_one_by_one(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways write the same bytes; with an audit, each entry is written alone."""
    ways = dict.fromkeys((Part.VALUE, Part.HEADERS), way) | {Part.KEY: Way.HASH}
    seen = in_columns = 0
    ranges = ColumnRedaction.ranges

    def counted(self: ColumnRedaction, data: memoryview, most: int) -> Iterator[RedactedRange]:
        nonlocal in_columns
        for made in ranges(self, data, most):
            in_columns += made.batches
            yield made

    monkeypatch.setattr(ColumnRedaction, "ranges", counted)
    for number, golden in enumerate(distinct_partitions(VERSIONS[-1])):
        if golden.name.startswith("__") or not list(golden.glob("*.log")):
            continue
        path = shutil.copytree(golden, tmp_path / str(number) / "alone" / golden.name)
        one, two = (tmp_path / str(number) / name for name in ("one", "two"))
        changes = Changes(ways, None, b"s" * 100)
        found = redact(path, one, EVERY, changes, sync=False)
        exact = redact(path, two, EVERY, changes, audit=lambda _: None, sync=False)
        for name in ("entries", "redacted_entries", "records", "fields", "deleted", "resized"):
            results = [getattr(each.partitions[0], name) for each in (found, exact)]
            assert results[0] == results[1], (golden, name)
        for file in two.iterdir():
            assert (one / file.name).read_bytes() == file.read_bytes(), file
        assert len(list(one.iterdir())) == len(list(two.iterdir()))
        seen += exact.partitions[0].redacted_entries
    assert in_columns > seen / 3


@pytest.mark.slow
def test_a_long_log_in_columns(tmp_path: Path) -> None:
    """Batches of many ranges, of each compression, some of them with nothing to redact."""
    with ks.SegmentWriter(tmp_path / "orders-0") as writer:
        offset = 0
        for number in range(1500):
            codec = ("none", "lz4", "none", "none")[number % 4]
            records = [
                ks.Record(offset + row, 1_700_000_000_000 + row, (None, b"", b"key")[row % 3],
                          None if number == 700 else b"v" * (row * 37 % 500),
                          (("h", b"x"), ("n", None)) if row % 5 == 0 and number != 700 else ())
                for row in range(0 if number == 700 else 1, 30)
            ]  # fmt: skip
            writer.append_records(records, compression=codec)
            offset = records[-1].offset + 1
    for way in (Way.FILL, Way.HASH):
        changes = Changes({Part.VALUE: way, Part.HEADERS: Way.FILL}, None, b"s" * 16)
        one, two = tmp_path / f"one-{way}", tmp_path / f"two-{way}"
        found = redact(tmp_path / "orders-0", one, EVERY, changes, sync=False)
        exact = redact(tmp_path / "orders-0", two, EVERY, changes, audit=lambda _: None, sync=False)
        assert found.partitions[0].fields == exact.partitions[0].fields
        assert {file.name: file.read_bytes() for file in one.iterdir()} == {
            file.name: file.read_bytes() for file in two.iterdir()
        }


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 200])
def test_hashes_are_those_of_hmac(size: int) -> None:
    secret, data = bytes(range(200))[: max(size, 16)], b"d" * size
    changes = Changes({Part.KEY: Way.HASH}, None, secret)
    wanted = hmac.new(secret, b"\0" + data, "sha256").digest()
    assert changes.replaced(Part.KEY, data) == wanted


@pytest.mark.skipif("native" not in codec_names(), reason="the extension was not built")
def test_hashes_of_the_core_are_those_of_hmac() -> None:
    """Of each size around the blocks of the sum, and without nulls."""
    core = get_codec("native").core
    assert core is not None
    secret = random.Random(5).randbytes(70)
    pads = Changes({Part.KEY: Way.HASH}, None, secret).pads
    values = [bytes(range(256)) * 2] + [random.Random(size).randbytes(size) for size in range(200)]
    ends = array("i", accumulate(map(len, values), initial=0))
    bits = bytes([0b11111101]) + b"\xff" * 25
    data = b"".join(values)
    found = core.module.hashes(pads, len(values), bits, ends, data)
    wanted = [hmac.new(secret, b"\0" + value, "sha256").digest() for value in values]
    assert found == b"".join(wanted[:1] + wanted[2:])
    for plainly in (False, True):
        whole = core.module.hashes(pads, len(values), None, ends, data, plainly)
        assert whole == b"".join(wanted)
    for wrong in (array("i", [0, -1]), array("i", [1, 0]), array("i", [0, len(data) + 1])):
        with pytest.raises(ValueError, match="order"):
            core.module.hashes(pads, 1, None, wrong, data)
    with pytest.raises(ValueError, match="two blocks"):
        core.module.hashes(pads[1:], 1, None, ends, data)


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

    run("redact", "--match", r"value=user(2|11)@", "--parts", "value,headers", place,
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
    (tmp_path / "secret").write_bytes(b"of both replicas")
    logs = []
    for name, secret in (("a", True), ("b", True), ("c", False), ("d", False)):
        more = ["--secret", str(tmp_path / "secret")] if secret else []
        done = run("redact", "--all-values", "--way", "hash", *more, source, "-o", tmp_path / name)
        assert done.exit_code == 0
        logs.append((tmp_path / name / f"{0:020}.log").read_bytes())
    assert logs[0] == logs[1]
    assert len(set(logs)) == 3


@pytest.mark.slow
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
    for choice in (["--key", "k"], ["--all-values"], ["--match", "value=secret"]):
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


@pytest.mark.slow
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


@pytest.mark.slow
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
        [], ["--parts", "everything"], ["--range", "a-b"], ["--match", "value"],
        ["--match", "value=("], ["--all-values", "--parts", "key", "--way", "null"],
        ["--all-values", "--header", "h", "--parts", "value"], ["--all-values", "--secret", "{}"],
    ],
    ids=json.dumps,
)  # fmt: skip
def test_wrong_usage(options: list[str], tmp_path: Path) -> None:
    short = tmp_path / "secret"
    short.write_bytes(b"15 bytes, known")
    given = [option.format(short) for option in options]
    result = run("redact", *given, GOLDEN / "4.3.1/logs/plain-0", "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "Usage:" in result.stderr
    assert not (tmp_path / "out").exists()


# -- keys stay unequal -------------------------------------------------------------------------

DAY = 86_400_000
START = 1_700_000_000_000


def _compacted(place: Path, keys: list[bytes]) -> None:
    """Write a partition with one record of each key, all but the last in closed segments."""
    place.mkdir(parents=True)
    step = len(keys) // 4
    for start in range(0, len(keys), step):
        some_keys = keys[start : start + step]
        records = [ks.Record(start + n, START, key, b"v") for n, key in enumerate(some_keys)]
        (place / f"{start:020}.log").write_bytes(ks.encode(records))
    (place / f"{len(keys):020}.log").touch()
    _index(place)


def _index(place: Path) -> None:
    ks.rebuild_indexes(place, place.parent / "made")
    for path in (place.parent / "made").iterdir():
        path.rename(place / path.name)
    (place.parent / "made").rmdir()


def _cleaned(place: Path) -> Compaction:
    """What a pass of the cleaner would remove."""
    with Partition(place) as log:
        return compaction(LogView(log), Settings({"cleanup.policy": "compact"}), START + 9 * DAY)


@pytest.mark.slow
def test_hashed_keys_stay_unequal(tmp_path: Path) -> None:
    """A digest of as many characters as a key has made 17,245 keys of these 20,000."""
    keys = [b"%04x" % n for n in range(20_000)]
    _compacted(tmp_path / "in" / "t-0", keys)
    _redact(tmp_path / "in", tmp_path / "out", EVERY, ALL)
    with Partition(tmp_path / "out" / "t-0") as log:
        hashed = [record.key for record in log.records()]
    assert len(set(hashed)) == len(keys)
    assert {_shape(key) for key in hashed} == {DIGEST}
    before, after = _cleaned(tmp_path / "in" / "t-0"), _cleaned(tmp_path / "out" / "t-0")
    assert after.records == before.records == len(keys)
    assert after.removed_records == before.removed_records == 0
    assert after.keys == before.keys == len(keys)
    assert not _findings(tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("part", [Part.KEY, Part.VALUE, Part.HEADERS])
def test_hashes_never_equal_what_was_there(part: Part, tmp_path: Path) -> None:
    """Of 4,096 values of one byte, 256 were one of the 16 characters of their hash by chance."""
    records = [
        ks.Record(n, 7, b"%x" % (n % 16), b"%x" % (n % 16), (("h", b"%x" % (n % 16)),))
        for n in range(4_096)
    ]
    place = tmp_path / "t-0"
    place.mkdir()
    (place / f"{0:020}.log").write_bytes(ks.encode([*records, ks.Record(4_096, 7, b"", b"")]))
    result, _ = _redact(place, tmp_path / "out-0", EVERY, {part: Way.HASH})
    with Partition(tmp_path / "out-0") as log:
        new = list(log.records())
    assert result.records == len(new) - (part is Part.HEADERS)  # the last one has no headers
    for old, now in zip(records, new, strict=False):
        before, after = {
            Part.KEY: (old.key, now.key),
            Part.VALUE: (old.value, now.value),
            Part.HEADERS: (old.headers[0][1], now.headers[0][1]),
        }[part]
        assert after != before
        assert _shape(after) == DIGEST


@pytest.mark.parametrize("way", ["fill", "empty"])
def test_keys_are_not_merged(way: str, tmp_path: Path) -> None:
    place = tmp_path / "t-0"
    place.mkdir()
    keys = [b"ab", b"cd", b"efg", b"ab", None]
    data = [ks.encode([ks.Record(n, 7, key, b"v")]) for n, key in enumerate(keys)]
    (place / f"{0:020}.log").write_bytes(b"".join(data))
    other = tmp_path / "u-0"
    other.mkdir()
    taken = {"fill": b"xx", "empty": b""}[way]
    (other / f"{0:020}.log").write_bytes(
        ks.encode([ks.Record(0, 7, b"ab", b"v")]) + ks.encode([ks.Record(1, 7, taken, b"v")])
    )
    options = ["--parts", "key", "--way", way]
    refused = run("redact", "--all-values", *options, place, "-o", tmp_path / "all")
    assert refused.exit_code == 2
    count = {"fill": "2 unequal keys of t would become 1", "empty": "3 unequal keys of t would"}
    assert count[way] in refused.stderr
    # One key alone has no other to be merged with, unless one has that name already.
    refused = run("redact", "--key", "ab", *options, other, "-o", tmp_path / "taken")
    assert refused.exit_code == 2
    assert "2 unequal keys of u would become 1" in refused.stderr
    assert not (tmp_path / "all").exists()
    assert not (tmp_path / "taken").exists()
    done = run("redact", "--key", "ab", *options, place, "-o", tmp_path / "one")
    assert done.exit_code == 0
    with Partition(tmp_path / "one") as log:
        assert [record.key for record in log.records()] == [taken, b"cd", b"efg", taken, None]


# -- what an attacker learns -------------------------------------------------------------------

PIN = b"4711"
PLACES = {"none": 0, "gzip": 1, "zstd": 4}


def _account(place: Path, pin: bytes, compression: str, magic: int = 2) -> list[bytes]:
    """Write a log of which all is known but a PIN; return its entries."""
    place.mkdir(parents=True)
    entries = []
    for start in range(0, 9, 3):
        records = [
            ks.Record(
                n,
                7 if magic else -1,
                b"card-%d" % n,
                b"pin=" + (pin if n == 4 else b"0000") + b";card=4711",
            )
            for n in range(start, start + 3)
        ]
        entries.append(ks.encode(records, compression=compression, magic=magic))
    (place / f"{0:020}.log").write_bytes(b"".join(entries))
    _index(place)
    return entries


def _seen(text: str, out: Path) -> str:
    """All that an attacker has: the report, and each file of the output."""
    files = sorted(path for path in out.rglob("*") if path.is_file())
    return text + "".join(f"\n{path.name} {path.read_bytes().hex()}" for path in files)


def _forms(number: int) -> set[str]:
    return {str(number), f"{number:x}", f"{number:08x}"}


@pytest.mark.parametrize("compression", PLACES)
@pytest.mark.parametrize("way", ["fill", "hash", "empty", "null"])
@pytest.mark.slow
def test_a_pin_cannot_be_guessed(way: str, compression: str, tmp_path: Path) -> None:
    """The attack: who knows all but the PIN tries all that there are.

    For each candidate the attacker makes the entry as it was before. The checksum of it was in the
    report, and told the PIN. Its size is in none either: of compressed entries it tells some apart.
    """
    place = tmp_path / "in" / "t-0"
    entries = _account(place, PIN, compression)
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(range(32)))
    reports = ""
    for name, more in (("a", ()), ("b", ("--secret", secret))):
        for form in ("json", "text"):
            out = tmp_path / f"{name}-{form}"
            done = run(
                "redact", "--range", "4", "--way", way, *more, "--format", form, place, "-o", out
            )
            assert done.exit_code == 0, done.output
            reports += _seen(done.output, out)
    words = set(re.findall(r"[0-9a-f]+", reports.lower()))

    def told(pin: bytes) -> set[str]:
        """What depends on a candidate alone, and is in what the attacker has."""
        value = b"pin=" + pin + b";card=4711"
        records = [
            ks.Record(n, 7, b"card-%d" % n, value if n == 4 else b"pin=0000;card=4711")
            for n in range(3, 6)
        ]
        entry = ks.encode(records, compression=compression)
        before = [entries[0], entry, entries[2]]
        digests = {
            function(data).hexdigest()
            for data in (pin, value, entry, b"".join(before))
            for function in (hashlib.md5, hashlib.sha1, hashlib.sha256, hashlib.blake2b)
        }
        digests |= {hmac.digest(b"", data, "sha256").hex() for data in (pin, value)}
        checksums = {crc32c(data) for data in (pin, value, entry, b"".join(before))}
        checksums.add(ks.Segment(entry).batch_at(0).crc)
        return words & digests.union(*map(_forms, checksums))

    candidates = [b"%04d" % n for n in range(0, 10_000, 10_000 // some(400))]
    assert not any(map(told, [PIN, *candidates]))
    # Digits in a checksum, which the secret makes random, tell nothing.
    assert PIN not in re.sub(rb'card=4711|"new_crc": \d+|[0-9a-f]{16,}', b"", reports.encode())


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("way", ["fill", "empty", "null"])
def test_reports_do_not_depend_on_content(
    way: str, compression: str, magic: int, tmp_path: Path
) -> None:
    """The law: whatever was there, the report and all files of the output are the same bytes.

    So nobody can tell one content from another. Contents of one size compress to different ones,
    and one of them looks like the filler.
    """
    found = set()
    for pin in (b"0000", b"xxxx", b"4711", b"card", b"\0\xff7Q"):
        place = tmp_path / "in" / "t-0"
        _account(place, pin, compression, magic)
        options = ("--format", "json", "--range", "4", "--way", way)
        done = run("redact", *options, place, "-o", tmp_path / "out")
        assert done.exit_code == 0, done.output
        assert lines(done)[0]["hash"] is None
        found.add(_seen(done.output, tmp_path / "out"))
        for name in ("in", "out"):
            shutil.rmtree(tmp_path / name)
    assert len(found) == 1


def test_reports_do_not_depend_on_hashed_content(tmp_path: Path) -> None:
    """With hashes, all but the digests of the run are the same, whatever the size was."""
    found = set()
    for pin in (b"", b"1", b"4711", b"x" * 40):
        _account(tmp_path / "in" / "t-0", pin, "none")
        options = ("--format", "json", "--range", "4", "--way", "hash")
        done = run("redact", *options, tmp_path / "in" / "t-0", "-o", tmp_path / "out")
        names = sorted(path.name for path in (tmp_path / "out").iterdir())
        sizes = [(tmp_path / "out" / name).stat().st_size for name in names]
        report = re.sub(r'"new_crc": \d+', "", done.stdout)
        found.add((report, tuple(names), tuple(sizes)))
        for name in ("in", "out"):
            shutil.rmtree(tmp_path / name)
    assert len(found) == 1


def test_proofs_need_the_secret(tmp_path: Path) -> None:
    """They hold for one place: two with the same content have other ones."""
    place, secret = tmp_path / "t-0", bytes(range(16))
    place.mkdir()
    headers = (("h", b"v"), ("h", b"v"))
    data = ks.encode([ks.Record(n, 7, b"v", b"v", headers) for n in range(2)])
    (place / f"{0:020}.log").write_bytes(data)
    _, audit = _redact(place, tmp_path / "out", EVERY, ALL, secret)
    fields = [field for entry in audit for field in entry.fields]
    assert len({field.proof for field in fields}) == len(fields) == 8
    for field in fields:
        # As the page says it, for those who have nothing but HMAC.
        text = b"t-0 %d %s %d\0v" % (field.offset, field.part.encode(), field.number)
        assert field.proof == hmac.new(secret, text, hashlib.sha256).digest()
    with Partition(tmp_path / "out") as log:
        assert not {record.key for record in log.records()} & {field.proof for field in fields}


def test_messages_about_damage_have_no_checksum(tmp_path: Path) -> None:
    place = tmp_path / "t-0"
    entries = _account(place, PIN, "none")
    log = place / f"{0:020}.log"
    data = bytearray(b"".join(entries))
    data[len(entries[0]) + len(entries[1]) - 1] ^= 1
    log.write_bytes(data)
    done = run("redact", "--all-values", "--on-error", "skip", place, "-o", tmp_path / "out")
    assert done.exit_code == 1
    assert "checksum_mismatch" in done.stderr
    before = ks.Segment(entries[1]).batch_at(0).crc
    now = computed_crc(ks.Segment(bytes(data)).batch_at(len(entries[0])))
    assert not any(form in done.output for form in _forms(before) | _forms(now))


def test_a_batch_that_ends_too_early_is_not_copied(tmp_path: Path) -> None:
    """It may have the key; the field that is missing would be where the next batch begins."""
    name = b"a name"
    made = record(0, b"personal", key=b"secret", headers=[(name, name)])
    cut = batch(0, [made.replace(zigzag(1) + sized(name), zigzag(2) + sized(name), 1)])
    whole = batch(1, [record(0, b"v", key=b"other")])
    log = tmp_path / "t-0" / f"{0:020}.log"
    log.parent.mkdir()
    log.write_bytes(cut + whole)
    out = tmp_path / "out"
    result = run("redact", "--key", "secret", "--on-error", "skip", "-o", out, log.parent)
    assert result.exit_code == 1
    assert f"at byte {len(cut)}: left out" in result.stderr
    assert next(out.rglob(log.name)).read_bytes() == whole
