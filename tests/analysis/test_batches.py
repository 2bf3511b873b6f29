"""Broken entries and what is said of them. The bytes are made by hand (tests/log/forge.py)."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from kafkaspec.analysis import BrokerAction, Severity, verify
from tests.analysis.forge import (
    ABORT,
    COMMIT,
    CONTROL,
    DELETE_HORIZON,
    TRANSACTIONAL,
    ZSTD,
    marker,
    told,
    verify_log,
    write_segment,
)
from tests.log.forge import GZIP, LOG_APPEND_TIME, batch, framed, legacy, record, wrapper

GOOD = batch(0, [record(0, b"a"), record(1, b"b")])
NEXT = batch(2, [record(0, b"c")])
PRODUCER = (7, 0, 0)
DATA = TRANSACTIONAL


def marker_batch(offset: int, kind: int, epoch: int = 0, **more: object) -> bytes:
    key, value = marker(kind)
    return batch(
        offset,
        [record(0, value, key=key)],
        attributes=TRANSACTIONAL | CONTROL,
        producer=(7, epoch, -1),
        **more,  # type: ignore[arg-type]
    )


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
            + batch(1, [record(0, b"x")], producer=(7, 0, 500)),
            id="gap of sequences",
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
    assert told(verify_log(tmp_path, log)) == []


FLIPPED = bytearray(GOOD)
FLIPPED[-1] ^= 1
ZERO_SIZE = framed(0, b"")
BAD_MAGIC = bytearray(GOOD)
BAD_MAGIC[16] = 3

CASES = [
    ("torn tail", GOOD + NEXT[:-3], "warning", "batch", "torn_tail", "cuts_log"),
    ("short tail", GOOD + NEXT[:17], "warning", "batch", "short_tail", "cuts_log"),
    ("zeros", GOOD + bytes(5000), "warning", "batch", "zero_tail", "cuts_log"),
    ("flipped bit", bytes(FLIPPED) + NEXT, "error", "batch", "checksum_mismatch", "cuts_log"),
    ("impossible size", GOOD + ZERO_SIZE + NEXT, "error", "batch", "invalid_value", "cuts_log"),
    ("unknown magic", bytes(BAD_MAGIC) + NEXT, "error", "batch", "invalid_value", "cuts_log"),
    ("repeated batch", GOOD + GOOD, "error", "batch", "offset_order", "empties_segment"),
    ("backwards", NEXT + GOOD, "error", "batch", "offset_order", "empties_segment"),
    (
        "overlap",
        GOOD + batch(1, [record(0, b"x")]),
        "error",
        "batch",
        "offset_order",
        "empties_segment",
    ),
    (
        "beyond the index",
        batch(2**31, [record(0, b"x")]),
        "error",
        "batch",
        "offset_above_range",
        "refuses_log",
    ),
    (
        "negative lastOffsetDelta",
        batch(5, [], last_offset_delta=-2),
        "warning",
        "batch",
        "last_offset",
        "empties_segment",
    ),
    (
        "repeated offset delta",
        batch(0, [record(0, b"x"), record(0, b"y")]),
        "warning",
        "records",
        "record_offset_order",
        "nothing",
    ),
    (
        "descending offset delta",
        batch(0, [record(1, b"x"), record(0, b"y")]),
        "warning",
        "records",
        "record_offset_order",
        "nothing",
    ),
    (
        "offset beyond lastOffsetDelta",
        batch(0, [record(0, b"x"), record(9, b"y")]),
        "warning",
        "records",
        "record_offset_range",
        "nothing",
    ),
    (
        "negative offset delta",
        batch(5, [record(-1, b"x"), record(1, b"y")]),
        "warning",
        "records",
        "record_offset_range",
        "nothing",
    ),
    (
        "largest timestamp",
        batch(0, [record(0, b"x")], max_timestamp=2000),
        "warning",
        "records",
        "max_timestamp",
        "nothing",
    ),
    (
        "first timestamp",
        batch(0, [record(0, b"x", timestamp_delta=5)], max_timestamp=1005),
        "warning",
        "records",
        "base_timestamp",
        "nothing",
    ),
    (
        "header key",
        batch(0, [record(0, b"x", headers=[(b"\xff", None)])]),
        "warning",
        "records",
        "header_key_encoding",
        "nothing",
    ),
    (
        "count 0 with payload",
        batch(0, b"garbage", count=0, last_offset_delta=0),
        "warning",
        "records",
        "ignored_payload",
        "nothing",
    ),
    (
        "count too high",
        batch(0, [record(0, b"x")], count=2),
        "error",
        "records",
        "overrun",
        "keeps_unreadable",
    ),
    (
        "count too low",
        batch(0, [record(0, b"x"), record(1, b"y")], count=1),
        "error",
        "records",
        "trailing_bytes",
        "keeps_unreadable",
    ),
    (
        "not a gzip stream",
        batch(0, [record(0, b"x")], attributes=GZIP),
        "error",
        "records",
        "decompression_failed",
        "keeps_unreadable",
    ),
    (
        "codec without meaning",
        batch(0, [record(0, b"x")], attributes=7),
        "error",
        "records",
        "unsupported_compression",
        "keeps_unreadable",
    ),
    (
        "transactional without producer",
        batch(0, [record(0, b"x")], attributes=DATA),
        "warning",
        "batch",
        "producer_fields",
        "nothing",
    ),
    (
        "sequence repeats",
        batch(0, [record(0, b"x")], producer=(7, 0, 5))
        + batch(1, [record(0, b"x")], producer=(7, 0, 5)),
        "warning",
        "batch",
        "sequence_order",
        "nothing",
    ),
    (
        "sequence begins again",
        batch(0, [record(0, b"x")], producer=(7, 0, 5))
        + batch(1, [record(0, b"x")], producer=(7, 0, 0)),
        "info",
        "batch",
        "sequence_order",
        "nothing",
    ),
    (
        "producer epoch descends",
        batch(0, [record(0, b"x")], producer=(7, 5, 0))
        + batch(1, [record(0, b"x")], producer=(7, 4, 0)),
        "warning",
        "batch",
        "producer_epoch_order",
        "nothing",
    ),
    (
        "leader epoch descends",
        batch(0, [record(0, b"x")], leader_epoch=5) + batch(1, [record(0, b"x")], leader_epoch=4),
        "warning",
        "batch",
        "leader_epoch_order",
        "nothing",
    ),
    (
        "data outside of the open transaction",
        batch(0, [record(0, b"x")], producer=(7, 0, 0), attributes=DATA)
        + batch(1, [record(0, b"x")], producer=(7, 0, 1)),
        "error",
        "batch",
        "transaction_state",
        "refuses_log",
    ),
    (
        "marker without key",
        batch(0, [record(0, b"x")], attributes=DATA | CONTROL, producer=(7, 0, -1)),
        "error",
        "records",
        "control_record",
        "refuses_log",
    ),
    (
        "marker of unknown type",
        marker_batch(0, 9),
        "error",
        "records",
        "control_record",
        "refuses_log",
    ),
    (
        "marker with a short value",
        batch(
            0,
            [record(0, b"\0\0", key=marker(ABORT)[0])],
            attributes=DATA | CONTROL,
            producer=(7, 0, -1),
        ),
        "error",
        "records",
        "control_record",
        "refuses_log",
    ),
    (
        "control record of a type to come",
        batch(0, [record(0, b"x", key=b"\0\0\0\x63")], attributes=CONTROL),
        "info",
        "records",
        "unknown_control_type",
        "nothing",
    ),
    (
        "wrapper without value",
        legacy(0, None, attributes=GZIP),
        "error",
        "wrapper",
        "null_wrapper_value",
        "refuses_log",
    ),
    ("empty wrapper", wrapper(0, []), "error", "wrapper", "empty_wrapper", "refuses_log"),
    (
        "nested wrapper",
        wrapper(0, [wrapper(0, [legacy(0, b"x")])]),
        "error",
        "wrapper",
        "nested_compression",
        "refuses_log",
    ),
    (
        "wrapper offset below its messages",
        wrapper(1, [legacy(4, b"x")]),
        "error",
        "wrapper",
        "wrapper_offset",
        "refuses_log",
    ),
    (
        "wrong inner checksum",
        wrapper(0, [legacy(0, b"x", crc=1)]),
        "error",
        "wrapper",
        "checksum_mismatch",
        "cuts_log",
    ),
    (
        "cut inner message",
        wrapper(9, [legacy(0, b"x", timestamp=2000), legacy(1, b"yyyy")], cut=2),
        "error",
        "wrapper",
        "trailing_bytes",
        "nothing",
    ),
    (
        "bytes behind a value",
        legacy(0, b"x", slack=b"abc"),
        "warning",
        "batch",
        "trailing_bytes",
        "nothing",
    ),
    (
        "a few bytes behind the inner messages",
        wrapper(0, [legacy(0, b"x", timestamp=2000)], behind=b"1234567"),
        "warning",
        "wrapper",
        "trailing_bytes",
        "nothing",
    ),
    (
        "zstd in magic 1",
        legacy(0, b"x", attributes=ZSTD),
        "error",
        "wrapper",
        "unsupported_compression",
        "refuses_log",
    ),
    (
        "timestamp of a wrapper, as 0.10.0 left it",
        wrapper(0, [legacy(0, b"x", timestamp=5)]),
        "info",
        "wrapper",
        "max_timestamp",
        "nothing",
    ),
]


@pytest.mark.parametrize(
    ("log", "severity", "area", "reason", "action"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_each_defect_is_one_finding(
    tmp_path: Path, log: bytes, severity: str, area: str, reason: str, action: str
) -> None:
    report = verify_log(tmp_path, log)
    assert told(report) == [(severity, area, reason)]
    (finding,) = report.findings
    assert finding.action == BrokerAction(action)
    assert finding.reader
    assert finding.broker
    assert report.clean is (severity == "info")


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
    assert told(report) == [("error", "batch", "offset_below_base")]
    assert report.findings[0].action is BrokerAction.REFUSES_LOG


def test_a_batch_that_begins_below_the_file_name_is_legal(tmp_path: Path) -> None:
    report = verify_log(tmp_path, GOOD, base=1)
    assert told(report) == [("info", "files", "file_name")]


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


def test_reading_goes_on_behind_a_broken_batch(tmp_path: Path) -> None:
    report = verify_log(tmp_path, bytes(FLIPPED) + NEXT + batch(3, [record(0, b"d")]))
    (result, _) = report.files
    assert (result.batches, result.records, result.unread) == (3, 2, 1)
    assert (result.first_offset, result.last_offset) == (0, 3)


def test_a_cut_segment_in_front_of_others_is_an_error(tmp_path: Path) -> None:
    write_segment(tmp_path / "t-0", GOOD + NEXT[:-1])
    write_segment(tmp_path / "t-0", batch(3, [record(0, b"x")]), base=3)
    assert told(verify(tmp_path / "t-0")) == [("error", "batch", "torn_tail")]


def test_a_bomb_is_a_finding_at_the_bound(tmp_path: Path) -> None:
    import gzip

    bomb = batch(0, gzip.compress(bytes(50_000_000)), count=1, attributes=GZIP)
    path = write_segment(tmp_path / "t-0", bomb)
    report = verify(path, max_output=1_000_000)
    assert told(report) == [("error", "records", "decompressed_too_large")]


LEADER_EPOCH = range(12, 16)  # which the checksum does not cover


@pytest.mark.parametrize("position", [i for i in range(8, len(GOOD)) if i not in LEADER_EPOCH])
@pytest.mark.parametrize("bit", [0, 7])
def test_no_flipped_bit_behind_the_offset_goes_unseen(
    tmp_path: Path, position: int, bit: int
) -> None:
    data = bytearray(GOOD)
    data[position] ^= 1 << bit
    assert not verify_log(tmp_path, bytes(data)).clean


@pytest.mark.parametrize("size", range(1, len(GOOD + NEXT)))
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
