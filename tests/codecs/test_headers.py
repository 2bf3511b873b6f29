"""Headers by columns in plain Python: the same as the native scan and as the parser's objects."""

from __future__ import annotations

from array import array
from operator import attrgetter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kafkaspec as ks
from kafkaspec._generated.python.runtime import signed64, sums
from kafkaspec.codecs import Codec, codec_names, get_codec
from kafkaspec.codecs.headers import Scan
from kafkaspec.codecs.native import Core, NativeCodec
from kafkaspec.codecs.native.scan import EntryTable, scan
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.log.headers import header_tables, skip
from tests import goldens

MAGIC_2 = 2
SEGMENTS = [
    golden for golden in goldens.distinct(".log", ".checkpoint") if golden.path.stat().st_size
]
PYTHON = PythonCodec()


def core() -> Core:
    if "native" not in codec_names():
        pytest.skip("the extension was not built")
    codec = get_codec("native")
    assert isinstance(codec, NativeCodec)
    return codec.core


def compare(table: Scan, native: EntryTable, first: int) -> None:
    """Rows of a table with those of the native one from ``first`` on."""
    for row in range(table.count):
        for name in table.names:
            there = native.has(name, first + row)
            assert table.has(name, row) == there, name
            if there:
                assert table.column(name)[row] == native.column(name)[first + row], name


def check(data: bytes) -> int:
    """Everything that the native scan finds of magic 2 is found, and nothing else."""
    native = scan(core(), data)
    magics = native.column("magic").tolist()
    row = found = 0
    while row < native.count:
        position = native.column("position")[row]
        table = PYTHON.scan(data, position)
        if magics[row] != MAGIC_2:
            assert table is None
            row += 1
            continue
        assert table is not None
        compare(table, native, row)
        row += table.count
        found += table.count
        assert row == native.count or magics[row] != MAGIC_2
    assert PYTHON.scan(data, native.position) is None
    return found


@pytest.mark.slow
def test_goldens_give_what_the_native_scan_gives() -> None:
    assert sum(check(golden.path.read_bytes()) for golden in SEGMENTS) > 500


@pytest.mark.core
@given(data=st.data())
def test_mutated_goldens_give_what_the_native_scan_gives(data: st.DataObject) -> None:
    stored = bytearray(data.draw(st.sampled_from(SEGMENTS)).path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(stored) - 1))
        stored[place] = data.draw(st.sampled_from((0, 1, 2, 0x7F, 0x80, 0xFF)))
    check(bytes(stored[: data.draw(st.integers(0, len(stored)))]))


@pytest.mark.core
@given(st.binary(max_size=200))
def test_any_bytes_give_what_the_native_scan_gives(data: bytes) -> None:
    check(data)


def header(base_offset: int, delta: int, sequence: int, attributes: int, epoch: int) -> bytes:
    """An entry of magic 2 with no records, by Kafka's ``DefaultRecordBatch``."""
    fields = (
        (base_offset, 8), (49, 4), (epoch, 4), (2, 1), (7, 4), (attributes - (1 << 15), 2),
        (delta, 4), (5, 8), (6, 8), (-1, 8), (-1, 2), (sequence, 4), (0, 4),
    )  # fmt: skip
    return b"".join(value.to_bytes(size, "big", signed=True) for value, size in fields)


SIGNED_32 = st.integers(-(1 << 31), (1 << 31) - 1)


@given(
    st.lists(
        st.builds(
            header,
            st.integers(-(1 << 63), (1 << 63) - 1),
            SIGNED_32,
            SIGNED_32,
            st.integers(0, (1 << 16) - 1),
            SIGNED_32,
        ),
        min_size=1,
        max_size=6,
    )
)
def test_every_value_is_that_of_the_parser(entries: list[bytes]) -> None:
    data = b"".join(entries)
    table = PYTHON.scan(data)
    assert table is not None
    assert table.count == len(entries)
    position = 0
    for row in range(table.count):
        entry, end = PYTHON.parse("recordbatch.entry", data, position)
        assert table.column("position")[row] == position
        assert table.column("size")[row] == end - position
        assert table.column("records.position")[row] == end
        assert table.column("records.size")[row] == 0
        for name in set(table.names) - {"position", "size", "records.position", "records.size"}:
            known = entry if name == "len_message" else entry.message
            value = attrgetter(name)(known)
            assert table.has(name, row) == (value is not None)
            assert value is None or table.column(name)[row] == value
        position = end
    assert table.position == position


@given(st.lists(st.tuples(*[st.integers(-(1 << 63), (1 << 63) - 1)] * 2), max_size=20))
def test_sums_wrap_around_and_carry_nothing(rows: list[tuple[int, int]]) -> None:
    left, right = (array("q", [row[side] for row in rows]) for side in (0, 1))
    assert list(sums(left, right)) == [signed64(one + other) for one, other in rows]
    assert list(sums(left, -49)) == [signed64(one - 49) for one, _ in rows]


def test_headers_are_enough_where_the_input_goes_on() -> None:
    data = b"".join(ks.encode([ks.Record(i, 0, None, bytes(300))]) for i in range(3))
    size = len(data) // 3
    whole = PYTHON.scan(data)
    assert whole is not None
    assert whole.count == 3
    short = PYTHON.scan(data[: 2 * size + 61], limit=len(data))
    assert short is not None
    assert list(short.column("last_offset")) == [0, 1, 2]
    assert short.position == len(data)
    for cut in (data[: 2 * size + 60], data[: 2 * size + 61]):
        table = PYTHON.scan(cut)
        assert table is not None
        assert table.count == 2
    torn = PYTHON.scan(data[: 2 * size + 61], limit=len(data) - 1)
    assert torn is not None
    assert torn.count == 2
    assert PYTHON.scan(data, capacity=1).count == 1  # type: ignore[union-attr]


@pytest.mark.core
@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("codec_name", ["native", "python", "kaitai"])
def test_tables_are_equal_for_every_codec(codec_name: str, mapped: bool) -> None:
    pytest.importorskip("pyarrow")
    if codec_name == "native":
        core()
    for golden in SEGMENTS[::5]:
        with (
            ks.Segment(golden.path, codec=codec_name, mapped=mapped) as segment,
            ks.Segment(golden.path, codec="construct") as reference,
        ):
            assert segment.batch_table().to_pylist() == reference.batch_table().to_pylist()


@pytest.mark.slow
def test_an_entry_that_is_refused_is_the_same_error(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    core()
    good = ks.encode([ks.Record(0, 0, None, b"value")])
    path = tmp_path / f"{0:020d}.log"
    for place in range(8, 61):
        for value in (0, 3, 0x7F, 0xFF):
            bad = bytearray(good)
            bad[place] = value
            path.write_bytes(good + bytes(bad) + good)
            seen: list[object] = []
            for codec_name in ("native", "python", "construct"):
                with ks.Segment(path, codec=codec_name) as segment:
                    try:
                        seen.append(segment.batch_table())  # times may be beyond any calendar
                    except ks.KafkaSpecError as error:
                        seen.append((error.reason, error.position, error.path))
            assert seen[0] == seen[1] == seen[2]


def test_passing_over_headers_finds_what_looking_at_each_batch_finds(codec: Codec) -> None:
    for golden in SEGMENTS[::4]:
        with ks.Segment(golden.path, codec=codec) as segment:
            ends = [(batch.position, batch.last_offset) for batch in segment.batches()]
            for offset in {0, *(end + step for _, end in ends[:40] for step in (0, 1))}:
                position, passed = skip(segment, 0, offset)
                wanted = [number for number, (_, end) in enumerate(ends) if end >= offset]
                first = wanted[0] if wanted else len(ends)
                assert passed <= first
                assert position == (ends[passed][0] if passed < len(ends) else segment.size)
                if segment.codec.name == "native":
                    assert passed == first


def test_tables_end_where_an_entry_is_not_regular(tmp_path: Path) -> None:
    good = ks.encode([ks.Record(0, 0, None, b"value")])
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(good * 200 + b"\x00" * 100)
    for codec_name in ("native", "python"):
        with ks.Segment(path, codec=codec_name) as segment:
            counts = [len(table) for table in header_tables(segment, few=True)]
            assert counts == [64, 128, 8]
