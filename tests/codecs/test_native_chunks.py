"""Chunks: whole segments of real brokers as columns, compressed and wrapped ones too."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kafkaspec.codecs.native.columns import Layout
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.encoding import encode
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests import goldens
from tests.codecs.native_cases import NAMES, golden_segments, integers, records
from tests.loops import each

pytest.importorskip("kafkaspec._native", reason="the extension was not built")

from kafkaspec.codecs.native import NativeCodec
from kafkaspec.codecs.native.chunks import ChunkReader

CODEC = NativeCodec()
REFERENCE = PythonCodec()


def _rescue(data: bytes) -> Any:
    def rescue(position: int) -> list[Record]:
        rescued.append(position)
        segment = Segment(data, codec=REFERENCE)
        return next(iter(segment.batches(start_position=position))).records()

    rescued: list[int] = []
    rescue.rescued = rescued  # type: ignore[attr-defined]
    return rescue


def _expected(segment: Any) -> list[Record]:
    batches = Segment(segment, codec=REFERENCE).batches()
    return [record for batch in batches for record in batch.records()]


def _read(data: bytes, layout: Layout, chunk_bytes: int, rescue: Any = None) -> list[Any]:
    reader = ChunkReader(CODEC, data, rescue=rescue, chunk_bytes=chunk_bytes)
    found = []
    for chunk in reader.plan():
        columns = reader.read(chunk, (*NAMES, "batch.position"), layout)
        sources = columns.sources
        rows = records(columns.columns, columns.rows, layout, sources) if columns.rows else []
        positions = integers(columns.columns["batch.position"])[: columns.rows]
        assert all(chunk.start <= position < chunk.end for position in positions) or rescue
        found += rows
    return found


@each("golden", golden_segments())
def test_golden_segments(golden: goldens.Golden) -> None:
    data = golden.path.read_bytes()
    expected = _expected(golden.path)
    rescue = _rescue(data)
    for layout, chunk_bytes in ((Layout.VIEW, 1 << 20), (Layout.BINARY, 1), (Layout.VIEW, 5000)):
        assert _read(data, layout, chunk_bytes, rescue) == expected
    assert rescue.rescued == [], "real segments need no help"


RECORDS = [Record(10 + i, 1000 + i, b"k%d" % i, b"value %d" % i * (i % 9)) for i in range(20)]


@pytest.mark.parametrize("layout", [Layout.VIEW, Layout.BINARY])
def test_wrappers_that_kafka_forgives(layout: Layout) -> None:
    """The last message cut; offsets that need not be moved; between batches of all kinds."""
    from kafkaspec import compression
    from kafkaspec._generated.python.model.recordbatch import (
        Entry,
        LegacyAttributes,
        LegacyMessage,
    )

    inner = encode([Record(i, 5, None, b"v%d" % i) for i in range(4)], magic=1, codec=REFERENCE)[
        :-3
    ]
    value = compression.compress(1, inner, magic=1)
    message = LegacyMessage(
        offset=9, magic=1, attributes=LegacyAttributes(compression=1), timestamp=5, value=value
    )
    cut = REFERENCE.serialize("recordbatch.entry", Entry(base_offset=9, message=message))
    around = [
        encode(RECORDS, magic=2, compression="lz4", codec=REFERENCE),
        encode(RECORDS, magic=1, compression="gzip", codec=REFERENCE),
        cut,
        encode(RECORDS, magic=1, codec=REFERENCE),
        encode(
            RECORDS,
            magic=1,
            compression="snappy",
            timestamp_type="LogAppendTime",
            max_timestamp=77,
            codec=REFERENCE,
        ),
        cut,
        encode(RECORDS, magic=2, codec=REFERENCE),
    ]
    data = b"".join(around)
    expected = _expected(data)
    for chunk_bytes in (1, 1 << 20):
        rescue = _rescue(data)
        assert _read(data, layout, chunk_bytes, rescue) == expected
        assert len(rescue.rescued) == 2


def test_errors_are_those_of_the_reference() -> None:
    """A segment with one broken byte: the error of the batch that holds it, to the byte."""
    chance = random.Random(5)
    data = encode(RECORDS, codec=REFERENCE) + encode(RECORDS, compression="zstd", codec=REFERENCE)
    data += encode(RECORDS, magic=1, compression="gzip", codec=REFERENCE)
    for _ in range(300):
        broken = bytearray(data)
        broken[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        expected: Any
        try:
            expected = _expected(bytes(broken))
        except KafkaSpecError as error:
            expected = (error.reason, error.offset, error.path)
        found: Any
        try:
            found = _read(bytes(broken), Layout.VIEW, 1 << 20, _rescue(bytes(broken)))
        except KafkaSpecError as error:
            found = (error.reason, error.offset, error.path)
        if isinstance(expected, tuple) and isinstance(found, list):
            # The framing is broken: columns end in front of it, and the segment says why.
            end = ChunkReader(CODEC, bytes(broken))
            assert [chunk.end for chunk in end.plan()][-1:] != [len(broken)]
            continue
        assert found == expected


def test_without_help_the_python_codec_explains() -> None:
    data = bytearray(encode(RECORDS, codec=REFERENCE))
    data[-1] ^= 1
    reader = ChunkReader(CODEC, bytes(data))
    (chunk,) = reader.plan()
    with pytest.raises(KafkaSpecError) as caught:
        reader.read(chunk, NAMES)
    assert (caught.value.reason, caught.value.path) == ("checksum_mismatch", "/message/content/crc")
    reader = ChunkReader(CODEC, bytes(data[:-1]) + b"\5", verify=False)
    (chunk,) = reader.plan()
    with pytest.raises(KafkaSpecError) as caught:
        reader.read(chunk, NAMES)
    assert caught.value.path.startswith("/message/content/records/records/19/body")
    assert caught.value.reason in ("overrun", "invalid_value", "truncated")
