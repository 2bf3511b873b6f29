"""Entries with one defect each: it is found, named, and nothing else is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkaspec.analysis import BrokerAction, FindingReason
from tests.analysis.entries import DATA, FLIPPED, GOOD, NEXT, marker_batch
from tests.analysis.forge import (
    ABORT,
    CONTROL,
    ZSTD,
    marker,
    reported,
    verify_log,
)
from tests.log.forge import GZIP, batch, framed, legacy, record, wrapper

ZERO_SIZE = framed(0, b"")
BAD_MAGIC = bytearray(GOOD)
BAD_MAGIC[16] = 3

DAY_MS = 24 * 60 * 60 * 1000

CASES = [
    ("torn tail", GOOD + NEXT[:-3], "warning", "batch", "torn_tail", "cuts_log"),
    ("short tail", GOOD + NEXT[:17], "warning", "batch", "short_tail", "cuts_log"),
    ("zeros", GOOD + bytes(5000), "warning", "batch", "zero_tail", "cuts_log"),
    ("flipped bit", bytes(FLIPPED) + NEXT, "error", "batch", "checksum_mismatch", "cuts_log"),
    ("impossible size", GOOD + ZERO_SIZE + NEXT, "error", "batch", "invalid_value", "cuts_log"),
    (
        "unknown magic",
        bytes(BAD_MAGIC) + NEXT,
        "error",
        "batch",
        "invalid_value",
        "keeps_unreadable",
    ),
    ("repeated batch", GOOD + GOOD, "error", "batch", "offset_order", "nothing"),
    ("backwards", NEXT + GOOD, "error", "batch", "offset_order", "nothing"),
    (
        "overlap",
        GOOD + batch(1, [record(0, b"x")]),
        "error",
        "batch",
        "offset_order",
        "nothing",
    ),
    (
        "beyond the index",
        batch(2**31, [record(0, b"x")]),
        "error",
        "batch",
        "offset_above_range",
        "splits_segment",
    ),
    (
        "negative lastOffsetDelta",
        batch(5, [], last_offset_delta=-2),
        "warning",
        "batch",
        "last_offset",
        "nothing",
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
        "inner magic",
        wrapper(0, [legacy(0, b"x", magic=3, timestamp=2000)]),
        "warning",
        "wrapper",
        "inner_magic",
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
        "sequences left out that no missing offsets explain",
        batch(0, [record(0, b"x")], producer=(7, 0, 5))
        + batch(1, [record(0, b"x")], producer=(7, 0, 8)),
        "warning",
        "batch",
        "sequence_gap",
        "nothing",
    ),
    (
        "sequences left out after the producer has expired",
        batch(0, [record(0, b"x")], producer=(7, 0, 5))
        + batch(
            1,
            [record(0, b"x")],
            producer=(7, 0, 8),
            base_timestamp=1000 + DAY_MS,
            max_timestamp=1000 + DAY_MS,
        ),
        "info",
        "batch",
        "sequence_gap",
        "nothing",
    ),
    (
        "a batch comes again, and the producer goes on",
        batch(0, [record(0, b"x")], producer=(7, 0, 5))
        + batch(1, [record(0, b"y")], producer=(7, 0, 6))
        + batch(2, [record(0, b"x")], producer=(7, 0, 5))
        + batch(3, [record(0, b"z")], producer=(7, 0, 7)),
        "warning",
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
        "data outside the open transaction",
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
        "data with the control bit and a short key",
        batch(0, [record(0, b"value", key=b"k")], attributes=CONTROL),
        "error",
        "records",
        "hidden_records",
        "hides_records",
    ),
    (
        "data with the control bit and without keys",
        batch(0, [record(0, b"value")], attributes=CONTROL),
        "error",
        "records",
        "hidden_records",
        "hides_records",
    ),
    (
        "data with the control bit and a key as long as that of a control record or longer",
        batch(0, [record(0, b"value", key=b"key-1")], attributes=CONTROL),
        "warning",
        "records",
        "hidden_records",
        "hides_records",
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
        "keeps_unreadable",
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
        "bytes after a value",
        legacy(0, b"x", slack=b"abc"),
        "warning",
        "batch",
        "trailing_bytes",
        "nothing",
    ),
    (
        "a few bytes after the inner messages",
        wrapper(0, [legacy(0, b"x", timestamp=2000)], surplus=b"1234567"),
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


def test_consumers_skip_what_is_no_control_record_without_an_error(tmp_path: Path) -> None:
    data = batch(0, [record(0, b"value", key=b"key-1")], attributes=CONTROL)
    for number, producer in enumerate(((-1, -1, -1), (7, 0, -1))):
        log = data if producer[0] < 0 else batch(0, [record(0, b"v")], attributes=DATA | CONTROL,
                                                 producer=producer)  # fmt: skip
        (finding,) = verify_log(tmp_path / str(number), log).findings
        assert finding.reader.startswith("Skips the batch without an error"), finding


@pytest.mark.parametrize(
    ("log", "severity", "area", "reason", "action"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_each_defect_is_one_finding(
    tmp_path: Path, log: bytes, severity: str, area: str, reason: str, action: str
) -> None:
    report = verify_log(tmp_path, log)
    lost = [item for item in report.findings if item.reason is FindingReason.MISSING_OFFSETS]
    assert not lost or (severity == "error" or reason == "torn_tail"), "its records are lost"
    report.findings = [item for item in report.findings if item not in lost]
    assert reported(report) == [(severity, area, reason)]
    (finding,) = report.findings
    assert finding.action == BrokerAction(action)
    assert finding.reader
    assert finding.broker
    assert report.clean is (severity == "info")
