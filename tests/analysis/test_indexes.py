"""Indexes against their log: entries of every version pass, wrong ones are found."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kafkaspec.analysis import BrokerAction, verify
from tests.analysis.forge import reported, write_segment
from tests.log.forge import batch, legacy, record, wrapper

# Three batches of two records: offsets 0 1, 2 3, 4 5; the last record lacks in the third.
PARTS = [
    batch(
        offset,
        [record(i, b"x", timestamp_delta=i) for i in range(2 - (offset == 4))],
        last_offset_delta=1,
        base_timestamp=1000 + 10 * offset,
        max_timestamp=1000 + 10 * offset + (offset != 4),
    )
    for offset in (0, 2, 4)
]
LOG = b"".join(PARTS)
SECOND, THIRD = len(PARTS[0]), len(PARTS[0]) + len(PARTS[1])
WRAPPED = wrapper(
    3,
    [legacy(i, b"x" * 40, timestamp=[5, 9, 7, 6][i]) for i in range(4)],
    timestamp=9,
) + legacy(4, b"y", timestamp=20)
WRAPPER = WRAPPED.index(legacy(4, b"y", timestamp=20))


@pytest.mark.parametrize(
    ("log", "index"),
    [
        pytest.param(LOG, [(3, SECOND), (5, THIRD)], id="last offset, 2.0 and later"),
        pytest.param(LOG, [(2, SECOND), (4, THIRD)], id="first offset, up to 1.1"),
        pytest.param(LOG, [(5, SECOND)], id="last offset of a fetched chunk"),
        pytest.param(LOG, [(4, THIRD)], id="last record that compaction left"),
        pytest.param(LOG, [(1, 0), (3, SECOND)], id="the first batch too"),
        pytest.param(WRAPPED, [(0, 0), (4, WRAPPER)], id="first message of a wrapper"),
        pytest.param(WRAPPED, [(3, 0), (4, WRAPPER)], id="offset of a wrapper"),
        pytest.param(LOG, [], id="no entry"),
    ],
)
def test_entries_that_some_version_writes(
    tmp_path: Path, log: bytes, index: list[tuple[int, int]]
) -> None:
    assert reported(verify(write_segment(tmp_path, log, index=index))) == []


@pytest.mark.parametrize("slots", [1, 2, 1000])
def test_padding_is_counted_and_no_finding(tmp_path: Path, slots: int) -> None:
    index = struct.pack(">ii", 3, SECOND) + bytes(8 * slots)
    timeindex = struct.pack(">qi", 1040, 5) + bytes(12 * slots)
    report = verify(write_segment(tmp_path, LOG, index=index, timeindex=timeindex))
    assert reported(report) == []
    assert [(result.entries, result.padding) for result in report.files[1:]] == [
        (1, 8 * slots),
        (1, 12 * slots),
    ]


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        pytest.param([(3, SECOND + 1)], ["index_position"], id="inside a batch"),
        pytest.param([(5, len(LOG))], ["index_beyond_log"], id="end of the log"),
        pytest.param([(5, 10**6)], ["index_beyond_log"], id="beyond the log"),
        pytest.param([(1, SECOND)], ["index_offset"], id="offset of the batch before"),
        pytest.param([(900, THIRD)], ["index_offset"], id="offset beyond the log"),
        pytest.param(
            [(3, SECOND), (3, THIRD)], ["index_order", "index_offset"], id="offset repeats"
        ),
        pytest.param([(3, SECOND), (5, SECOND)], ["index_order"], id="position repeats"),
        pytest.param([(5, THIRD), (6, SECOND)], ["index_order", "index_position"], id="backwards"),
        pytest.param([(-5, SECOND)], ["index_sanity", "index_offset"], id="below the base"),
    ],
)
def test_wrong_offset_entries(
    tmp_path: Path, index: list[tuple[int, int]], expected: list[str]
) -> None:
    report = verify(write_segment(tmp_path, LOG, index=index))
    reasons = [str(finding.reason) for finding in report.findings]
    assert set(reasons) >= set(expected) or reasons == expected
    assert not report.clean
    assert any(finding.action is BrokerAction.HIDES_RECORDS for finding in report.findings)
    assert all(finding.file.endswith(".index") for finding in report.findings)
    assert all(finding.position is not None for finding in report.findings)


def test_a_broker_fails_where_an_entry_leads_below_the_segment(tmp_path: Path) -> None:
    """By Kafka's source: it reads from there, and Java's channel refuses a negative position."""
    report = verify(write_segment(tmp_path, LOG, index=[(3, SECOND), (5, -THIRD)]))
    reasons = {str(finding.reason): finding.action for finding in report.findings}
    assert reasons["index_position"] is BrokerAction.REFUSES_LOG


def test_an_offset_that_no_version_would_choose(tmp_path: Path) -> None:
    three = batch(0, [record(i, b"x") for i in range(3)])
    report = verify(write_segment(tmp_path, three, index=[(1, 0)]))
    assert reported(report) == [("warning", "offset_index", "index_key")]


def test_entries_after_a_hole_of_zeros(tmp_path: Path) -> None:
    index = struct.pack(">iiiiii", 3, SECOND, 0, 0, 5, THIRD)
    report = verify(write_segment(tmp_path, LOG, index=index))
    assert reported(report) == [("error", "offset_index", "index_order")]


def test_a_part_of_an_entry(tmp_path: Path) -> None:
    index = struct.pack(">ii", 3, SECOND) + b"\0\0\1"
    report = verify(write_segment(tmp_path, LOG, index=index))
    assert reported(report) == [("warning", "offset_index", "index_size")]


@pytest.mark.parametrize(
    "timeindex",
    [
        pytest.param([(1021, 3)], id="last offset of the batch"),
        pytest.param([(1001, 1), (1021, 3), (1040, 4)], id="offset of the record"),
        pytest.param([(1001, 1), (1040, 5)], id="the end"),
    ],
)
def test_time_entries_that_some_version_writes(
    tmp_path: Path, timeindex: list[tuple[int, int]]
) -> None:
    assert reported(verify(write_segment(tmp_path, LOG, timeindex=timeindex))) == []


def test_a_time_entry_goes_by_the_wrapper(tmp_path: Path) -> None:
    path = write_segment(tmp_path, WRAPPED, timeindex=[(9, 3), (20, 4)])
    assert reported(verify(path)) == []


def test_time_entries_of_magic_0_know_of_times_that_are_gone(tmp_path: Path) -> None:
    log = legacy(0, b"x", magic=0)
    assert reported(verify(write_segment(tmp_path, log, timeindex=[(77, 0)]))) == []


@pytest.mark.parametrize(
    ("timeindex", "expected"),
    [
        pytest.param([(1001, 3)], ["time_index_meaning"], id="a later time in front"),
        pytest.param([(1001, 1), (1001, 3)], ["index_order"], id="time repeats"),
        pytest.param([(1021, 3), (1040, 2)], ["index_order"], id="offset descends"),
        pytest.param([(9999, 3)], ["time_index_timestamp"], id="time that is not there"),
        pytest.param([(1040, 9)], ["index_beyond_log"], id="offset beyond the log"),
    ],
)
def test_wrong_time_entries(
    tmp_path: Path, timeindex: list[tuple[int, int]], expected: list[str]
) -> None:
    report = verify(write_segment(tmp_path, LOG, timeindex=timeindex))
    assert not report.clean
    assert set(expected) <= {str(finding.reason) for finding in report.findings}
    others = [item.reason for item in report.findings if str(item.area) != "time_index"]
    # An index that lists what the log does not have may be right.
    assert others == (["missing_offsets"] if timeindex[-1][1] > 3 else [])


def test_a_single_index_is_checked_against_the_log_beside_it(tmp_path: Path) -> None:
    path = write_segment(tmp_path, LOG, index=[(3, SECOND + 1)])
    report = verify(path.with_suffix(".index"))
    assert reported(report) == [("error", "offset_index", "index_position")]
    assert [result.file for result in report.files] == [str(path.with_suffix(".index"))]


def test_a_segment_without_index_is_a_note(tmp_path: Path) -> None:
    report = verify(write_segment(tmp_path, LOG, index=None))
    assert reported(report) == [("info", "offset_index", "missing_index")]
    assert report.clean
