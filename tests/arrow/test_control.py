"""Control records in columns, sound and broken, and bounds that no offset reaches."""

from __future__ import annotations

import random
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.log.options import ByteLayout
from tests import goldens
from tests.arrow.test_columns import CODECS, LAYOUTS, plain, records, rows_of

pa = pytest.importorskip("pyarrow")

from kafkaspec.arrow.schema import COLUMNS  # noqa: E402

TRANSACTIONS = goldens.GOLDEN / "4.3.1/logs/transactions-0/00000000000000000000.log"
LARGEST = (1 << 63) - 1


def outcome(data: bytes, codec: str, layout: ByteLayout) -> tuple[list[dict[str, Any]], Any]:
    """Rows before an error, and its message."""
    segment = ks.Segment(data, codec=codec, crc="ignore")
    reader = segment.to_batches(COLUMNS, include_control=True, layout=layout)
    batches = []
    found: Any = None
    try:
        for batch in reader:
            batches.append(batch)
    except ks.KafkaSpecError as error:
        found = (error.reason, error.position, error.path)
    return plain(pa.Table.from_batches(batches, reader.schema)), found


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_control_records_join_the_others(codec: str, layout: ByteLayout) -> None:
    with ks.Segment(TRANSACTIONS.read_bytes(), codec=codec) as segment:
        expected = list(rows_of(segment, control=True))
        kinds = [row["control_type"] for row in expected]
        assert {"COMMIT", "ABORT", None} <= set(kinds)
        batches = list(segment.to_batches(COLUMNS, include_control=True, layout=layout))
        assert plain(pa.Table.from_batches(batches)) == expected
        assert len(batches) <= 2  # and not one for each transaction
        table = segment.to_arrow(["control_type"], include_control=True, layout=layout)
        assert table["control_type"].to_pylist() == kinds


@pytest.mark.slow
@pytest.mark.skipif(len(CODECS) < 2, reason="the extension was not built")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_broken_control_records_are_the_same_for_both(layout: ByteLayout) -> None:
    data = TRANSACTIONS.read_bytes()
    with ks.Segment(data) as segment:
        spots = [
            position
            for batch in segment.batches()
            if batch.is_control
            for position in range(batch.payload_position, batch.end)
        ]
    chance = random.Random(5)
    kinds = set()
    for _ in range(150):
        broken = bytearray(data)
        for _ in range(chance.randrange(1, 4)):
            broken[chance.choice(spots)] ^= 1 << chance.randrange(8)
        found = outcome(bytes(broken), "native", layout)
        assert found == outcome(bytes(broken), "python", layout)
        kinds |= {row["control_type"] for row in found[0]}
    assert "UNKNOWN" in kinds


@pytest.mark.core
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_bounds_beyond_64_bits(codec: str, layout: ByteLayout) -> None:
    stamps = (-1, 5, LARGEST)
    made = [ks.Record(LARGEST - 2 + i, stamp, b"k", b"v") for i, stamp in enumerate(stamps)]
    segment = ks.Segment(ks.encode(made), codec=codec)
    for low in (None, -(1 << 70), LARGEST - 1, LARGEST, LARGEST + 1, 1 << 70):
        for high in (None, -(1 << 70), LARGEST, LARGEST + 1, 1 << 70):
            chosen = [
                record
                for record in made
                if (low is None or record.offset >= low) and (high is None or record.offset < high)
            ]
            table = segment.to_arrow(start_offset=low, end_offset=high, layout=layout)
            assert records(table) == chosen
            if low is None and high is None:
                continue
            chosen = [
                record
                for record in made
                if record.timestamp != -1
                and (low is None or record.timestamp >= low)
                and (high is None or record.timestamp < high)
            ]
            table = segment.to_arrow(start_timestamp=low, end_timestamp=high, layout=layout)
            assert records(table) == chosen
