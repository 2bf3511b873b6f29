"""Figures of golden logs against kafka-python's reader, ``verify``, and the brokers' producers."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("datasketches")

import kafkaspec as ks
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.stats.figures import Figures
from kafkaspec.stats.measure import measure
from kafkaspec.stats.units import units_of_log
from tests.goldens import GOLDEN, compacted, partitions, produced
from tests.stats.peers import counted

VERSIONS = ("0.9.0.1", "0.10.2.2", "4.3.1")


def figures_of(path: Path, **options: bool) -> Figures:
    """The figures of a partition, or of a segment."""
    with open_log(path) as log:
        assert isinstance(log, (Partition, Segment))
        return measure(list(units_of_log(log, **options)))


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_figures_are_those_of_a_reader_that_counts_records(version: str) -> None:
    for directory in partitions(version):
        figures, theirs = figures_of(directory), counted(directory)
        (row,) = figures.partitions
        where = str(directory)
        assert row["records"] == theirs.records, where
        assert row["batches"] == theirs.batches, where
        assert row["file_bytes"] == sum(p.stat().st_size for p in directory.glob("*.log")), where
        assert row["keys"] == theirs.keys.total(), where
        assert row["null_keys"] == theirs.null_keys, where
        assert row["tombstones"] == theirs.tombstones, where
        assert row["distinct_keys"] == len(theirs.keys), where
        assert row["steps_back"] == len(theirs.steps), where
        assert row["largest_step_back"] == max(theirs.steps, default=0), where
        assert row["errors"] == 0, where
        for what, sizes in theirs.sizes.items():
            classes = Counter(0 if not size else 1 << (size.bit_length() - 1) for size in sizes)
            ours = {r["size_from"]: r["count"] for r in figures.rows("sizes") if r["what"] == what}
            assert ours == classes, (where, what)
            (extent,) = [r for r in figures.rows("extents") if r["what"] == what]
            assert extent["bytes"] == sum(sizes), (where, what)
            assert (extent["smallest"], extent["largest"]) == (min(sizes), max(sizes))
        heaviest = {r["key"]: r["count"] for r in figures.heaviest()}
        expected = sorted(theirs.keys.values(), reverse=True)[:20]
        assert sorted(heaviest.values(), reverse=True) == [n for n in expected if n > 1], where
        assert all(theirs.keys[key] == number for key, number in heaviest.items()), where
        by_codec = sum(r["records"] for r in figures.codecs())
        by_time = sum(r["records"] for r in figures.rows("times"))
        assert by_codec == theirs.records, where
        assert by_time == len(theirs.times), where


@pytest.mark.slow
def test_totals_are_those_of_verify_and_of_the_producers() -> None:
    for version in ("0.11.0.3",):
        for directory in partitions(version):
            if list(directory.glob("*.checkpoint")):
                continue  # verify counts KRaft snapshots too
            figures = figures_of(directory)
            verified = ks.verify(directory).totals
            total = figures.total
            assert total["batches"] == verified.batches
            assert total["records"] + total["control_batches"] == verified.records
            by_codec = Counter[str]()
            for row in figures.codecs():
                by_codec[row["compression"]] += row["batches"]
            assert by_codec == verified.codecs
            if directory.name in produced(version) and directory.name not in compacted(version):
                assert total["records"] == len(produced(version)[directory.name])


@pytest.mark.slow
def test_ratios_are_those_of_the_batches() -> None:
    for version in VERSIONS:
        for directory in partitions(version):
            if not re.search("gzip|snappy|lz4|zstd|mixed|levels", directory.name):
                continue
            before = after = 0
            with Partition(directory) as log:
                for batch in log.batches():
                    if batch.is_compressed and not batch.is_control:
                        before += len(batch.payload or b"")
                        after += len(batch.decompressed())
            total = figures_of(directory).total
            assert (total["payload"] or 0, total["uncompressed"] or 0) == (before, after), directory


def test_producers_and_transactions() -> None:
    figures = figures_of(GOLDEN / "4.3.1/logs/transactions-0")
    timeline = ks_timeline(GOLDEN / "4.3.1/logs/transactions-0")
    assert {r["outcome"]: r["transactions"] for r in figures.rows("transactions")} == timeline
    with Partition(GOLDEN / "4.3.1/logs/transactions-0") as log:
        batches = list(log.batches())
    ids = {(batch.producer_id, batch.producer_epoch) for batch in batches}
    rows = {(r["producer_id"], r["producer_epoch"]): r for r in figures.rows("producers")}
    assert rows.keys() == {key for key in ids if key[0] >= 0}
    for key, row in rows.items():
        own = [b for b in batches if (b.producer_id, b.producer_epoch) == key]
        assert row["markers"] == sum(b.is_control for b in own)
        assert row["batches"] == sum(not b.is_control for b in own)
        assert (row["first_offset"], row["last_offset"]) == (
            own[0].base_offset,
            own[-1].last_offset,
        )


def ks_timeline(directory: Path) -> dict[str, int]:
    """Transactions by outcome, from the brokers' markers, read one by one."""
    found = Counter[str]()
    is_open: set[int] = set()
    with Partition(directory) as log:
        for batch in log.batches():
            if not batch.is_transactional:
                continue
            if not batch.is_control:
                is_open.add(batch.producer_id)
                continue
            marker = batch.marker()
            assert marker is not None
            found["aborted" if marker.key.type == 0 else "committed"] += 1
            is_open.discard(batch.producer_id)
    found["open"] += len(is_open)
    return dict(+found)


@pytest.mark.slow
def test_gaps_are_those_of_compaction() -> None:
    directory = GOLDEN / "4.3.1/logs/compacted-0"
    figures = figures_of(directory)
    with Partition(directory) as log:
        offsets = {record.offset for record in log.records()}
        start, end = log.first_base_offset or 0, log.log_end_offset
    assert figures.total["missing_offsets"] == len(set(range(start, end)) - offsets)
    assert {row["why"] for row in figures.rows("gaps")} == {"compaction"}


def test_headers_alone_say_what_headers_can() -> None:
    directory = GOLDEN / "4.3.1/logs/codec-gzip-0"
    whole, quick = figures_of(directory).total, figures_of(directory, records=False).total
    for name in ("records", "batches", "bytes", "first_timestamp", "last_timestamp", "producers"):
        assert quick[name] == whole[name]
    for name in ("keys", "distinct_keys", "tombstones", "ratio", "steps_back"):
        assert quick[name] is None


def test_damage_is_counted_and_left_out(tmp_path: Path) -> None:
    source = GOLDEN / "4.3.1/logs/plain-0/00000000000000000000.log"
    with Segment(source) as segment:
        batches = list(segment.batches())
    data = bytearray(source.read_bytes())
    data[batches[3].end - 1] ^= 1  # its checksum is wrong now
    data[batches[5].position + 16] = 9  # a magic that nobody knows
    (tmp_path / "x-0").mkdir()
    (tmp_path / "x-0" / source.name).write_bytes(data)
    figures = figures_of(tmp_path / "x-0")
    (row,) = figures.partitions
    assert row["errors"] == 2
    assert row["batches"] == len(batches) - 2
    assert row["records"] == sum(
        len(batch.records()) for number, batch in enumerate(batches) if number not in (3, 5)
    )
    found = {(error["position"], error["reason"]) for error in figures.rows("errors")}
    assert {reason for _, reason in found} == {"checksum_mismatch", "invalid_value"}
    assert {position for position, _ in found} <= {
        *range(batches[3].position, batches[3].end),
        *range(batches[5].position, batches[5].end),
    }
