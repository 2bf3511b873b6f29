"""Options that choose records mean the same to ``records``, ``to_batches`` and ``dump``."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.log.partition import Partition
from kafkaspec.model import Record
from tests.cli.helpers import lines, run
from tests.goldens import GOLDEN, VERSIONS, produced, release

TRANSACTIONS = sorted(
    (version, path)
    for version in VERSIONS
    if release(version) >= (0, 11)
    for path in (GOLDEN / version / "logs").glob("*transactions*-0")
    if path.name in produced(version) and "compacted" not in path.name
)


def times(records: Iterable[Record]) -> list[int]:
    return [record.timestamp for record in records]


def by_arrow(partition: Partition, **options: Any) -> list[int]:
    options["include_control"] = options.pop("control", False)
    offsets: list[int] = partition.to_arrow(["offset"], **options).column("offset").to_pylist()
    return offsets


def by_records(partition: Partition, **options: Any) -> list[int]:
    return [record.offset for record in partition.records(**options)]


@pytest.mark.parametrize(("version", "path"), TRANSACTIONS)
def test_read_committed_is_what_was_committed(version: str, path: Path) -> None:
    sent = sorted(produced(version)[path.name], key=lambda record: record["offset"])
    end = min((item["offset"] for item in sent if item["transaction"] == "open"), default=1 << 62)
    expected = [
        item["offset"] for item in sent if item["offset"] < end and item["transaction"] != "aborted"
    ]
    partition = Partition(path)
    for start in (None, sent[len(sent) // 2]["offset"]):
        wanted = [offset for offset in expected if start is None or offset >= start]
        options = {"start_offset": start, "isolation": "read_committed"}
        assert by_records(partition, **options) == wanted
        assert by_arrow(partition, **options) == wanted
    result = run("dump", "--format", "json", "--isolation", "read_committed", path)
    assert [item["offset"] for item in lines(result) if item["control"] is None] == expected


@pytest.mark.core
def test_ranges_are_what_a_filter_leaves() -> None:
    for name in ("transactions-0", "compacted-0", "create-time-gzip-0"):
        partition = Partition(GOLDEN / "4.3.1" / "logs" / name)
        everything = list(partition.records(include_control=True))
        controls = {item.offset for item in everything} - {
            item.offset for item in partition.records()
        }
        offsets = [item.offset for item in everything]
        middle = sorted(times(everything))[len(everything) // 2]
        for low, high, first, last, control in product(
            (None, offsets[3], offsets[-1] + 9),
            (None, offsets[3], offsets[-2]),
            (None, middle),
            (None, middle, middle + 4000),
            (False, True),
        ):
            expected = [
                item.offset
                for item in everything
                if (low is None or item.offset >= low)
                and (high is None or item.offset < high)
                and (first is None or item.timestamp >= first)
                and (last is None or item.timestamp < last)
                and (control or item.offset not in controls)
            ]
            options = {
                "start_offset": low,
                "end_offset": high,
                "start_timestamp": first,
                "end_timestamp": last,
                "control": control,
            }
            assert by_records(partition, **options) == expected, (name, options)
            assert by_arrow(partition, **options) == expected, (name, options)


@pytest.mark.core
def test_the_log_start_offset_is_obeyed_unless_all_is_wanted() -> None:
    path = GOLDEN / "4.3.1" / "logs" / "deleted-records-0"
    partition = Partition(path)
    there = [record.offset for record in partition.records(log_start="ignore")]
    start = partition.log_start_offset
    assert start is not None
    assert there[0] < start
    for choice, lowest in (("ignore", there[0]), ("checkpoint", start), (start + 5, start + 5)):
        expected = [offset for offset in there if offset >= lowest]
        assert by_records(partition, log_start=choice) == expected
        assert by_arrow(partition, log_start=choice) == expected
        result = run("dump", "--format", "json", "--log-start", str(choice), path)
        assert [item["offset"] for item in lines(result)] == expected
    assert by_records(partition) == [offset for offset in there if offset >= start]
    assert by_arrow(partition) == by_records(partition)
    found = list(ks.open(path.parent).records())
    assert len(found) == sum(
        1 for item in ks.LogDirectory(path.parent).partitions
        for _ in item.records(item.log_start_offset)
    )  # fmt: skip


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A partition with a flipped bit in the records of its second batch of four."""
    path = tmp_path / "segments-0"
    shutil.copytree(GOLDEN / "4.3.1" / "logs" / "segments-0", path)
    segment = path / f"{0:020d}.log"
    second = list(ks.Segment(segment).batches())[1]
    assert (second.base_offset, second.last_offset) == (3, 5)
    data = bytearray(segment.read_bytes())
    data[second.end - 3] ^= 1
    segment.write_bytes(data)
    return path


@pytest.mark.parametrize("codec", ["native", "python"])
def test_damage_is_an_error_or_is_skipped_and_told(damaged: Path, codec: str) -> None:
    partition = Partition(damaged, codec=codec)
    whole = [record.offset for record in Partition(GOLDEN / "4.3.1/logs/segments-0").records()]
    for read in (by_records, by_arrow):
        with pytest.raises(KafkaSpecError):
            read(partition)
        for start in (None, 4):
            errors: list[KafkaSpecError] = []
            expected = [x for x in whole if not 3 <= x <= 5 and (start is None or x >= start)]
            assert read(partition, start_offset=start, on_error=errors.append) == expected
            assert [error.reason for error in errors] == [Reason.CHECKSUM_MISMATCH]


def test_a_segment_alone_has_no_committed_records() -> None:
    segment = ks.Segment(GOLDEN / "4.3.1/logs/transactions-0" / f"{0:020d}.log")
    with pytest.raises(ValueError, match="needs a partition"):
        segment.records(isolation="read_committed")
    with pytest.raises(ValueError, match="needs a partition"):
        segment.to_arrow(isolation="read_committed")
    assert run("dump", "--isolation", "read_committed", str(segment.path)).exit_code == 2
