"""Broken entries and what is said of them. The bytes are made by hand (tests/log/forge.py)."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from kafkaspec.analysis import BrokerAction, Severity, verify
from tests.analysis.entries import DATA, FLIPPED, GOOD, NEXT, PRODUCER, marker_batch
from tests.analysis.forge import (
    ABORT,
    COMMIT,
    DELETE_HORIZON,
    reported,
    verify_log,
    write_segment,
)
from tests.log.forge import GZIP, LOG_APPEND_TIME, batch, legacy, record, wrapper
from tests.loops import each


@pytest.mark.parametrize(
    "log",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(GOOD + NEXT, id="two batches"),
        pytest.param(GOOD + batch(9, [record(0, b"x")]), id="a gap"),
        pytest.param(batch(0, [record(3, b"x")], last_offset_delta=9), id="compacted on both ends"),
        pytest.param(
            batch(0, [], last_offset_delta=4, base_timestamp=-1, producer=PRODUCER),
            id="emptied batch",
        ),
        pytest.param(
            batch(
                0,
                [record(0, b"x", timestamp_delta=-4000)],
                attributes=DELETE_HORIZON,
                base_timestamp=5000,
            ),
            id="delete horizon",
        ),
        pytest.param(
            batch(
                0,
                [record(0, b"x", timestamp_delta=77)],
                attributes=LOG_APPEND_TIME,
                max_timestamp=99999,
            ),
            id="LogAppendTime does not look at the deltas",
        ),
        pytest.param(
            batch(
                0,
                [record(0, b"x", timestamp_delta=5), record(1, b"y")],
                max_timestamp=1005,
            ),
            id="the base is the smallest timestamp, as other clients write it",
        ),
        pytest.param(
            batch(0, [record(0, b"x")], base_timestamp=-1, max_timestamp=-1), id="no timestamp"
        ),
        pytest.param(
            batch(0, [record(0, b"x")], producer=(7, 0, 0))
            + batch(500, [record(0, b"x")], producer=(7, 0, 500)),
            id="gap of sequences and offsets, as compaction leaves it",
        ),
        pytest.param(
            batch(0, [record(0, b"x"), record(1, b"y")], producer=(7, 0, 2**31 - 1))
            + batch(2, [record(0, b"x")], producer=(7, 0, 1)),
            id="sequences begin again",
        ),
        pytest.param(
            batch(0, [record(0, b"x")], producer=(7, 0, 90))
            + batch(1, [record(0, b"x")], producer=(7, 1, 0)),
            id="new epoch begins at 0",
        ),
        pytest.param(
            batch(0, [record(0, b"x")], producer=(7, 0, 0), attributes=DATA)
            + marker_batch(1, COMMIT, epoch=1)
            + batch(2, [record(0, b"x")], producer=(7, 1, 0), attributes=DATA),
            id="marker of the next epoch, as transaction version 2 has it",
        ),
        pytest.param(marker_batch(0, ABORT), id="marker without data"),
        pytest.param(legacy(0, b"x", magic=0) + legacy(1, b"y") + NEXT, id="three magics"),
        pytest.param(wrapper(2, [legacy(i, b"x", timestamp=2000) for i in range(3)]), id="wrapper"),
        pytest.param(
            wrapper(6, [legacy(0, b"x", timestamp=2000), legacy(4, b"y", timestamp=1)]),
            id="wrapper with gaps",
        ),
        pytest.param(
            wrapper(5, [legacy(4, b"x", magic=0), legacy(5, b"y", magic=0)], magic=0),
            id="magic 0 wrapper",
        ),
        pytest.param(
            wrapper(
                2,
                [legacy(0, b"x", magic=0), legacy(2, b"y", magic=0)],
                attributes=LOG_APPEND_TIME,
                timestamp=-1,
            ),
            id="inner messages of another magic, KAFKA-4298",
        ),
    ],
)
def test_legal_logs_have_no_findings(tmp_path: Path, log: bytes) -> None:
    assert reported(verify_log(tmp_path, log)) == []


def test_a_finding_says_where(tmp_path: Path) -> None:
    report = verify_log(tmp_path, GOOD + bytes(FLIPPED[:12]) + bytes(FLIPPED[12:]))
    crc, order = report.findings
    assert crc.file == str(tmp_path / "t-0" / f"{0:020}.log")
    assert crc.position == len(GOOD) + 17  # the CRC of magic 2 stands at byte 17
    assert crc.path == "/message/content/crc"
    assert crc.offset == 1
    assert order.position == len(GOOD)


def test_an_offset_below_the_file_name(tmp_path: Path) -> None:
    report = verify_log(tmp_path, GOOD, base=5)
    assert reported(report) == [("error", "batch", "offset_below_base")]
    assert report.findings[0].action is BrokerAction.REFUSES_LOG


def test_a_batch_that_begins_below_the_file_name_is_legal(tmp_path: Path) -> None:
    report = verify_log(tmp_path, GOOD, base=1)
    assert reported(report) == [("info", "files", "file_name")]


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.log"
    with path.open("wb") as log:
        for offset in range(200):
            log.write(batch(offset, [record(0, bytes(100_000))]))
    verify(path)  # imports count too
    tracemalloc.start()
    try:
        report = verify(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert report.totals.size > 20_000_000
    assert peak < 2_000_000


def test_reading_goes_on_after_a_broken_batch(tmp_path: Path) -> None:
    report = verify_log(tmp_path, bytes(FLIPPED) + NEXT + batch(3, [record(0, b"d")]))
    (result, _) = report.files
    assert (result.batches, result.records, result.unread) == (3, 2, 1)
    assert (result.first_offset, result.last_offset) == (0, 3)


def test_a_cut_segment_in_front_of_others_is_an_error(tmp_path: Path) -> None:
    write_segment(tmp_path / "t-0", GOOD + NEXT[:-1])
    write_segment(tmp_path / "t-0", batch(3, [record(0, b"x")]), base=3)
    assert reported(verify(tmp_path / "t-0")) == [
        ("error", "batch", "torn_tail"),
        ("warning", "files", "missing_offsets"),
    ]


@pytest.mark.core
def test_a_bomb_is_a_finding_at_the_bound(tmp_path: Path) -> None:
    import gzip

    bomb = batch(0, gzip.compress(bytes(50_000_000)), count=1, attributes=GZIP)
    path = write_segment(tmp_path / "t-0", bomb)
    report = verify(path, max_output=1_000_000)
    assert reported(report) == [("error", "records", "decompressed_too_large")]


LEADER_EPOCH = range(12, 16)  # which the checksum does not cover


@pytest.mark.core
@each("position", [i for i in range(8, len(GOOD)) if i not in LEADER_EPOCH])
@pytest.mark.parametrize("bit", [0, 7])
def test_no_flipped_bit_after_the_offset_goes_unseen(
    tmp_path: Path, position: int, bit: int
) -> None:
    data = bytearray(GOOD)
    data[position] ^= 1 << bit
    assert not verify_log(tmp_path, bytes(data)).clean


@pytest.mark.core
@each("size", range(1, len(GOOD + NEXT)))
def test_no_cut_goes_unseen(tmp_path: Path, size: int) -> None:
    report = verify_log(tmp_path, (GOOD + NEXT)[:size])
    assert report.clean is (size == len(GOOD))


def test_more_of_the_same_is_counted(tmp_path: Path) -> None:
    wrong = b"".join(batch(offset, [record(0, b"x")], max_timestamp=2000) for offset in range(150))
    report = verify_log(tmp_path, wrong)
    assert sum(finding.reason == "max_timestamp" for finding in report.findings) == 100
    assert report.findings[-1].reason == "more"
    assert "50" in report.findings[-1].message
    assert report.totals.findings[Severity.WARNING] == 150
