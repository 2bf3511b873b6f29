"""Columns of the native codec against records of the Python codec, on segments of real brokers."""

from __future__ import annotations

from typing import Any

import pytest

from kafkaspec.codecs.python import PythonCodec
from kafkaspec.columns.memory import Layout
from kafkaspec.log.segment import Segment
from tests import goldens
from tests.codecs.native_cases import decode, golden_segments, integers, records
from tests.loops import each

native = pytest.importorskip("kafkaspec._native", reason="the extension was not built")

from kafkaspec.codecs.native import NativeCodec  # noqa: E402

CODEC = NativeCodec()
CORE = CODEC.core
LAYOUTS = list(Layout)


def _batches(golden: goldens.Golden) -> list[tuple[Any, tuple[Any, ...], list[int], list[Any]]]:
    """Each batch, its buffers, its description for the core, and its records by Python."""
    found: list[tuple[Any, tuple[Any, ...], list[int], list[Any]]] = []
    for batch in Segment(golden.path, codec=PythonCodec()).batches():
        expected = list(batch.records())
        data = bytes(batch.data)
        flags = native.VERIFY
        if not batch.is_compressed:
            found.append(
                (batch, (data,), [0, 0, len(data), -1, 0, 0, len(expected), flags], expected)
            )
        elif batch.magic == 2:
            payload = bytes(batch.decompressed())
            item = [1, 0, len(data), 0, 0, len(payload), len(expected), flags]
            found.append((batch, (payload, data), item, expected))
    return found


@pytest.mark.core
@each("golden", golden_segments())
def test_golden_segments(golden: goldens.Golden) -> None:
    for _, sources, item, expected in _batches(golden):
        for layout in LAYOUTS:
            status, columns = decode(CORE, sources, [item], layout)
            assert status == native.OK
            assert columns.filled == len(expected)
            assert records(columns.result(), len(expected), layout, sources) == expected, layout


@pytest.mark.parametrize("layout", LAYOUTS)
def test_many_batches_in_one_call(layout: Layout) -> None:
    golden = goldens.GOLDEN / "4.3.1/logs/plain-0/00000000000000000000.log"
    data = golden.read_bytes()
    batches = list(Segment(golden, codec=PythonCodec()).batches())
    items = [[0, b.position, b.size, -1, 0, 0, b.num_records or 0, native.VERIFY] for b in batches]
    expected = [record for batch in batches for record in batch.records()]
    for room in (None, 1):  # one item for each list, so that they must grow in the middle
        status, columns = decode(CORE, (data,), items, layout, items=room)
        assert status == native.OK
        assert records(columns.result(), len(expected), layout, (data,)) == expected


def test_columns_of_headers_repeat_for_each_record() -> None:
    golden = goldens.GOLDEN / "4.3.1/logs/plain-0/00000000000000000000.log"
    data = golden.read_bytes()
    batches = list(Segment(golden, codec=PythonCodec()).batches())
    items = [[0, b.position, b.size, -1, 0, 0, b.num_records or 0, 0] for b in batches]
    names = [name for name in CORE.columns if name.startswith("batch.")]
    status, columns = decode(CORE, (data,), items, Layout.VIEW, names)
    assert status == native.OK
    found = columns.result()
    for name in (
        "base_offset",
        "magic",
        "crc",
        "attributes.compression",
        "attributes.is_control",
        "max_timestamp",
        "producer_id",
        "base_sequence",
        "last_offset",
        "last_sequence",
    ):
        expected = []
        for batch in batches:
            value: Any = batch.message
            for part in name.split("."):
                value = getattr(value, part)
            expected += [value] * batch.num_records  # type: ignore[operator]
        assert integers(found[f"batch.{name}"])[: columns.filled].tolist() == expected, name


def test_rare_columns_are_those_of_the_typed_model() -> None:
    golden = goldens.GOLDEN / "4.3.1/logs/plain-0/00000000000000000000.log"
    codec = PythonCodec()
    (batch, *_) = Segment(golden, codec=codec).batches()
    found, _ = codec.parse(
        "recordbatch.record_set", batch.decompressed(), parameters=(batch.message,)
    )
    data = bytes(batch.data)
    names = ["sequence", "attributes", "timestamp_delta", "offset_delta", "num_headers"]
    item = [0, 0, len(data), -1, 0, 0, batch.num_records or 0, 0]
    status, columns = decode(CORE, (data,), [item], Layout.VIEW, names)
    assert status == native.OK
    for name in names:
        values = integers(columns.result()[name])[: columns.filled].tolist()
        assert values == [getattr(record, name) for record in found.records], name


def test_a_wrong_checksum_is_told_from_wrong_bytes() -> None:
    golden = goldens.GOLDEN / "4.3.1/logs/plain-0/00000000000000000000.log"
    (batch, *_) = Segment(golden, codec=PythonCodec()).batches()
    for position in range(batch.size):
        data = bytearray(batch.data)
        data[position] ^= 0x10
        item = [0, 0, len(data), -1, 0, 0, batch.num_records or 0, native.VERIFY]
        status, columns = decode(CORE, (bytes(data),), [item], Layout.BINARY)
        outside = position < 16  # offset, size, leader epoch: not covered
        if not outside:
            assert status in (native.CHECKSUM, native.IRREGULAR), position
            assert columns.filled == 0


@pytest.mark.parametrize(
    "item",
    [
        [0, -1, 10, -1, 0, 0, 1, 0],
        [0, 0, -1, -1, 0, 0, 1, 0],
        [0, 1 << 62, 1 << 62, -1, 0, 0, 1, 0],
        [4, 0, 70, -1, 0, 0, 1, 0],
        [-1, 0, 70, -1, 0, 0, 1, 0],
        [0, 0, 70, 3, 0, 0, 1, 0],
        [0, 0, 70, -2, 0, 0, 1, 0],
        [0, 0, 70, 0, 60, 1 << 40, 1, 0],
        [0, 0, 70, 0, 1 << 62, 1 << 62, 1, 3],
    ],
)
def test_places_that_are_not_in_the_buffers(item: list[int]) -> None:
    status, columns = decode(CORE, (bytes(70),), [item], Layout.VIEW)
    assert status == native.IRREGULAR
    assert columns.filled == 0


def test_memory_that_is_too_small_is_an_error_of_the_caller() -> None:
    status, columns = decode(CORE, (b"",), [], Layout.VIEW)
    assert status == native.OK
    outputs = list(columns.outputs)
    arguments = ((b"",), b"", 0, 0, Layout.VIEW)
    with pytest.raises(ValueError, match="needs 44"):
        native.decode(*arguments, tuple(outputs), (10, 10), columns.state)
    columns.state[0] = 7
    with pytest.raises(ValueError, match="the state does not fit"):
        native.decode(*arguments, tuple(outputs), (0, 0), columns.state)
    columns.state[0] = 0
    with pytest.raises(ValueError, match="not as many batches"):
        native.decode((b"",), b"", 0, 1, Layout.VIEW, tuple(outputs), (0, 0), columns.state)
    with pytest.raises(TypeError):
        native.decode(*arguments, (), (0, 0), columns.state)
