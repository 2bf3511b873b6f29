"""Segments of Kafka 0.7 through the library: what its own classes read, and nothing else."""

from __future__ import annotations

import contextlib
import gzip
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kafkaspec as ks
from kafkaspec.codecs import codec_names
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.log.batch import ignored_bytes, magic_name
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from tests.message_set.goldens import FILES, LOGS, damaged, payload, said

_REFUSALS = {
    "java.lang.IndexOutOfBoundsException",
    "java.io.EOFException",
    "java.util.zip.ZipException",
    "kafka.common.InvalidMessageSizeException",
    "kafka.common.UnknownCodecException",
    "kafka.common.UnknownMagicByteException",
    "kafka.message.InvalidMessageException",
}


def message(value: bytes, attributes: int = 0) -> bytes:
    """A message of magic 1, by hand."""
    body = struct.pack(">bBI", 1, attributes, zlib.crc32(value)) + value
    return struct.pack(">i", len(body)) + body


def compressed(*entries: bytes) -> bytes:
    return message(gzip.compress(b"".join(entries)), 1)


def values(data: bytes, **options: Any) -> list[bytes | None]:
    with Segment(data, log_format="0.7", **options) as segment:
        return [record.value for record in segment.records()]


@pytest.mark.parametrize("codec", codec_names())
def test_records_are_those_of_kafka(codec: str) -> None:
    """Payloads, and offsets: a consumer that fetches at the offset gets the message."""
    for path in FILES:
        starts = {}
        for found in said(path)["shallow"]:
            starts[found["position"]] = found["next"]
        with Segment(path, codec=codec) as segment:
            base = segment.base_offset
            assert base is not None
            expected = said(path)["deep"]
            assert not any("error" in found for found in expected)
            records = list(segment.records())
            assert [record.value for record in records] == [payload(m) for m in expected]
            assert all(record.key is None and record.timestamp == -1 for record in records)
            for batch in segment.batches():
                assert batch.next_offset == base + starts[batch.position]
                assert {r.offset for r in batch.records()} <= {base + batch.position}
            # Kafka names the end of a message, or the start of its set until that is done.
            ends = [found["offset"] for found in expected]
            offsets = [record.offset for record in records]
            assert all(offset <= end for offset, end in zip(offsets, ends, strict=True))


def test_damage_ends_or_fails_where_kafka_does() -> None:
    for case in damaged():
        data = bytes.fromhex(case["hex"])
        kafka = [payload(m) if "error" not in m else m["error"] for m in case["deep"]]
        refused = bool(kafka) and kafka[-1] in _REFUSALS
        expected = kafka[:-1] if refused else kafka
        found: list[bytes | None] = []
        error = None
        with Segment(data, log_format="0.7") as segment:
            try:
                for batch in segment.batches():
                    found += [record.value for record in batch.records()]
            except KafkaSpecError as raised:
                error = raised
            tail = segment.tail
        assert found == expected, case["name"]
        # A first message that is cut, and zeros, end a file and are an exception in a fetch.
        assert refused == (error is not None) or tail is not None, (case["name"], error)


def test_recovery_cuts_before_the_first_message_that_does_not_hold() -> None:
    """Recovery keeps exactly the bytes that can be read and have the right checksums."""
    for case in damaged():
        data = bytes.fromhex(case["hex"])
        end = 0
        refuses = False
        with Segment(data, log_format="0.7") as segment:
            for item in segment.scan():
                if isinstance(item, KafkaSpecError):
                    refuses = "magic" in item.path or item.reason is Reason.OVERRUN
                    break
                if not item.crc_valid:
                    break
                end = item.end
        if isinstance(case["recovered"], int):
            assert end == case["recovered"], case["name"]
        else:
            assert refuses, case["name"]


def test_a_log_of_segments() -> None:
    with Partition(LOGS / "segments-0") as partition:
        assert partition.base_offsets == [0, 305, 677, 1049]
        assert partition.topic == "segments"
        assert partition.log_end_offset == 1049 + 19
        offsets = [batch.base_offset for batch in partition.batches()]
        assert offsets[0] == 0
        assert offsets[-1] == 1049
        for offset in offsets:
            found = partition.find(offset=offset)
            assert (found.base_offset, found.offset) == (offset, offset)
        between = partition.find(offset=1)
        assert between.offset == offsets[1]
        assert [record.offset for record in partition.records(306)] == [
            record.offset for record in partition.records() if record.offset >= 306
        ]


@pytest.mark.slow
def test_columns_and_headers() -> None:
    pytest.importorskip("pyarrow")
    for directory in sorted(LOGS.iterdir()):
        with ks.open(directory) as log:
            rows = log.to_batches(["offset", "key", "value", "timestamp"]).read_all().to_pylist()
            records = [(r.offset, r.key, r.value) for r in log.records()]
            assert [(row["offset"], row["key"], row["value"]) for row in rows] == records
            assert {row["timestamp"] for row in rows} <= {None}
            types = log.to_batches(["timestamp_type", "compression", "magic"]).read_all()
            assert set(types.column("timestamp_type").to_pylist()) <= {"NoTimestampType"}
            assert types.column("compression").to_pylist() == [
                batch.compression_name for batch in log.batches() for _ in batch.records()
            ]
            table = log.batch_table().to_pylist()
            positions = [found["position"] for f in FILES for found in said(f)["shallow"]
                         if f.parent == directory]  # fmt: skip
            assert [row["position"] for row in table] == positions


def test_sets_in_sets() -> None:
    deep = message(b"x")
    for _ in range(60):
        deep = compressed(deep)
    assert values(deep) == [b"x"]
    assert values(compressed(message(b"a"), compressed(), compressed(message(b"b")))) == [
        b"a",
        b"b",
    ]


def test_decompression_is_bounded_over_all_levels() -> None:
    inner = [compressed(message(bytes(1000))) for _ in range(50)]
    data = compressed(*inner)
    assert len(values(data, max_output=1 << 20)) == 50
    with pytest.raises(KafkaSpecError) as raised:
        values(data, max_output=20_000)
    assert raised.value.reason is Reason.DECOMPRESSED_TOO_LARGE


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (compressed(message(b"cut")[:-1]), Reason.TRUNCATED),
        (compressed(struct.pack(">i", -1) + bytes(9)), Reason.INVALID_VALUE),
        (compressed(struct.pack(">i", 4) + bytes(9)), Reason.INVALID_VALUE),
        (compressed(struct.pack(">ib", 6, 7) + bytes(5)), Reason.INVALID_VALUE),
        (compressed(message(b"x")[:-1] + b"y"), Reason.CHECKSUM_MISMATCH),
        (compressed(compressed(message(b"x")[:-1] + b"y")), Reason.CHECKSUM_MISMATCH),
        (message(b"x", 3), Reason.UNSUPPORTED_COMPRESSION),
        (compressed(message(b"x", 3)), Reason.UNSUPPORTED_COMPRESSION),
        (message(b"no gzip", 1), Reason.DECOMPRESSION_FAILED),
        (message(b"", 2), Reason.DECOMPRESSION_FAILED),
        (message(b"x")[:-1] + b"y", Reason.CHECKSUM_MISMATCH),
    ],
    ids=[
        "cut inside",
        "size below 0",
        "size too small",
        "magic inside",
        "checksum inside",
        "checksum two levels down",
        "codec",
        "codec inside",
        "no gzip",
        "no snappy",
        "checksum",
    ],  # gzip writes the time: bytes in an id would differ between processes
)
def test_refusals(data: bytes, reason: Reason) -> None:
    for codec in codec_names():
        with pytest.raises(KafkaSpecError) as raised:
            values(data, codec=codec, name="some.kafka")
        error = raised.value
        assert (error.reason, error.file) == (reason, "some.kafka"), codec
        assert error.path.startswith("/message/content/"), codec
        assert error.spec.startswith("message_set.ksy#/"), codec


def test_bytes_that_the_set_drops_are_counted() -> None:
    data = compressed(message(b"whole"), message(b"cut off")[:-3])
    with Segment(data, log_format="0.7") as segment:
        (batch,) = segment.batches()
        assert [record.value for record in batch.records()] == [b"whole"]
        assert ignored_bytes(batch) == len(message(b"cut off")) - 3
        assert len(batch.records()) == 1
        assert ignored_bytes(batch) == len(message(b"cut off")) - 3


def test_a_set_of_a_size_alone_is_refused_and_one_of_fewer_bytes_is_empty() -> None:
    """``ByteBufferMessageSet.internalIterator`` looks at a size if its four bytes are there."""
    for count in range(4):
        assert values(compressed(message(b"cut off")[:count])) == []
    with pytest.raises(KafkaSpecError):
        values(compressed(message(b"cut off")[:4]))


def test_the_format_is_chosen_by_name_or_by_hand(tmp_path: Path) -> None:
    data = message(b"value")
    odd = tmp_path / "saved"
    odd.write_bytes(data)
    with pytest.raises(KafkaSpecError, match="not a Kafka log segment"):
        ks.open(odd)
    with ks.open(odd, log_format="0.7") as segment:
        assert [(record.offset, record.value) for record in segment.records()] == [(0, b"value")]
    named = tmp_path / "00000000000000000042.kafka"
    named.write_bytes(data)
    with ks.open(named) as segment:
        assert isinstance(segment, Segment)
        assert [(record.offset, record.value) for record in segment.records()] == [(42, b"value")]
        (batch,) = segment.batches()
        assert (batch.magic, magic_name(batch), batch.log_format) == (1, "1 (0.7)", "0.7")


@given(st.binary(max_size=200))
def test_any_bytes_end_or_raise_our_error(data: bytes) -> None:
    with contextlib.suppress(KafkaSpecError):
        values(data)
    with contextlib.suppress(KafkaSpecError):
        values(message(gzip.compress(data), 1))


@given(st.lists(st.binary(max_size=40), max_size=6), st.booleans())
def test_messages_survive_a_round_trip(payloads: list[bytes], together: bool) -> None:
    entries = [message(value) for value in payloads]
    data = compressed(*entries) if together else b"".join(entries)
    assert values(data) == payloads
