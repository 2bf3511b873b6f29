"""Control records in columns, sound and broken, and bounds that no offset reaches."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.codecs import Codec, get_codec
from kafkaspec.log.options import ByteLayout
from tests import goldens
from tests.arrow.test_columns import CODECS, LAYOUTS, plain, records, rows_of

pa = pytest.importorskip("pyarrow")

from kafkaspec.arrow import arrays, record_arrays  # noqa: E402
from kafkaspec.arrow.arrays import control_type  # noqa: E402
from kafkaspec.arrow.schema import COLUMNS, CONTROL_TYPES  # noqa: E402

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


@pytest.mark.parametrize("layout", LAYOUTS)
def test_control_records_with_the_same_bytes_are_decoded_once(
    layout: ByteLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Types from 0 to 9 and none; more different ones than are kept, so that some come again."""
    keys = [None, b"", b"\0", *(struct.pack(">hh", 0, kind) for kind in range(10))]
    values = [None, b"", *(struct.pack(">hi", 0, epoch) for epoch in range(3))]
    pairs = [(key, value) for key in keys for value in values]
    rows = [ks.Record(n, 7, *pair) for n, pair in enumerate([*pairs, *pairs])]
    data = ks.encode(
        rows, magic=2, producer_id=1, producer_epoch=0, transactional=True, control=True
    )
    expected = [CONTROL_TYPES[control_type(row, get_codec())] for row in rows]
    assert {"ABORT", "COMMIT", "UNKNOWN"} <= set(expected)
    for kept in (1 << 12, 7):
        seen = list[ks.Record]()

        def counted(record: ks.Record, codec: Codec, seen: list[ks.Record] = seen) -> int:
            seen.append(record)
            return control_type(record, codec)

        monkeypatch.setattr(arrays, "control_type", counted)
        monkeypatch.setattr(record_arrays, "_CONTROLS", kept)
        table = ks.Segment(data).to_arrow(["control_type"], include_control=True, layout=layout)
        assert table["control_type"].to_pylist() == expected
        assert len(seen) == (len(pairs) if kept > len(pairs) else len(rows))


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
