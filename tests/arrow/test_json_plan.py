"""JSON lines of any columns from the core, against those that Python makes of objects."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kafkaspec as ks
from kafkaspec.codecs import codec_names
from kafkaspec.codecs.native.core import Core
from kafkaspec.layout.names import TAGGED_FIELDS, UNUSED
from kafkaspec.tables import json_values
from kafkaspec.tables.json_plan import JsonPlan, json_lines
from kafkaspec.values.options import Options

pytestmark = pytest.mark.skipif("native" not in codec_names(), reason="the extension was not built")


@pytest.fixture(scope="module")
def core() -> Core:
    from kafkaspec.codecs.native.core import load_core

    return load_core()


def text_of(core: Core | None, batch: pa.RecordBatch, *, compact: bool) -> bytes:
    return b"".join(json_lines(core, batch, compact=compact))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    [
        '"',
        "\\",
        "\n\t\x00\x1f\x7f",
        "é€😀",
        "plain text of some length, so that it is no short view",
    ]
)
BYTES = st.binary(max_size=9) | TEXT.map(str.encode)
MOMENTS = st.integers(-62_000_000_000, 253_000_000_000)
FLOATS = st.floats(width=64) | st.sampled_from([0.0, -0.0, 1e16, 1e15, 1e-5, 5e-324, math.nan])

LEAVES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.null(), st.none()),
    (pa.bool_(), st.booleans()),
    (pa.int8(), st.integers(-128, 127)),
    (pa.int32(), st.integers(-(1 << 31), (1 << 31) - 1)),
    (pa.int64(), st.integers(-(1 << 63), (1 << 63) - 1)),
    (pa.uint32(), st.integers(0, (1 << 32) - 1)),
    (pa.uint64(), st.integers(0, (1 << 64) - 1)),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), FLOATS),
    (pa.string(), TEXT),
    (pa.string_view(), TEXT),
    (pa.large_string(), TEXT),
    (pa.binary(), BYTES),
    (pa.binary_view(), BYTES),
    (pa.binary(16), st.binary(min_size=16, max_size=16)),
    (pa.binary(3), st.binary(min_size=3, max_size=3)),
    (pa.decimal128(12, 3), st.integers(-(10**11), 10**11).map(lambda n: Decimal(n).scaleb(-3))),
    (pa.date32(), st.integers(-700_000, 2_900_000)),
    (pa.time64("us"), st.integers(0, 86_399_999_999)),
    (pa.timestamp("ms", "UTC"), MOMENTS.map(lambda n: n * 1000 + 7)),
    (pa.timestamp("us"), MOMENTS.map(lambda n: n * 1_000_000 + 70)),
    (pa.timestamp("us", "UTC"), MOMENTS.map(lambda n: n * 1_000_000) | st.just(1 << 62)),
    (pa.timestamp("ns", "UTC"), st.integers(-(1 << 62), 1 << 62)),
    (pa.duration("us"), st.integers(-(1 << 60), 1 << 60)),
    (pa.dictionary(pa.int32(), pa.string()), TEXT),
    (pa.uuid(), st.binary(min_size=16, max_size=16)),
]


@st.composite
def arrays(draw: Any, rows: int, depth: int = 3) -> pa.Array:
    """Any array with so many rows, which may be a part of a longer one."""
    before, after = draw(st.integers(0, 2)), draw(st.integers(0, 1))
    made = draw(whole_arrays(before + rows + after, depth))
    return made.slice(before, rows)


@st.composite
def whole_arrays(draw: Any, rows: int, depth: int) -> pa.Array:
    shape = draw(st.sampled_from(("leaf", "leaf", "struct", "list", "map")[: 5 if depth else 1]))
    nulls = [draw(st.integers(0, 3)) == 0 for _ in range(rows)] if draw(st.booleans()) else None
    mask = None if nulls is None else pa.array(nulls, pa.bool_())
    if shape == "struct":
        names = draw(st.lists(st.sampled_from(["a", 'b"', "ä", "d"]), max_size=3))
        children = [draw(arrays(rows, depth - 1)) for _ in names]
        if not names:
            return pa.array(
                [None if nulls and nulls[row] else {} for row in range(rows)], pa.struct([])
            )
        return pa.StructArray.from_arrays(children, names, mask=mask)
    if shape in ("list", "map"):
        sizes = [draw(st.integers(0, 3)) for _ in range(rows)]
        start = draw(st.integers(0, 1))
        ends = [start]
        for size in sizes:
            ends.append(ends[-1] + size)
        items = draw(arrays(ends[-1] + 1, depth - 1))
        offsets = pa.array(ends, pa.int32())
        if shape == "list":
            return pa.ListArray.from_arrays(offsets, items, mask=mask)
        kinds = st.sampled_from([(pa.string(), TEXT), (pa.int64(), st.integers(0, 9))])
        kind, values = draw(kinds)
        keys = pa.array([draw(values) for _ in range(len(items))], kind)
        return pa.MapArray.from_arrays(offsets, keys, items, mask=mask)
    kind, values = draw(st.sampled_from(LEAVES))
    content = [None if nulls and nulls[row] else draw(values) for row in range(rows)]
    return array_of(content, kind)


def array_of(content: list[Any], kind: pa.DataType) -> pa.Array:
    types = pa.types
    if types.is_dictionary(kind):
        return pa.array(content, pa.string()).dictionary_encode()
    if kind == pa.uuid():
        return pa.ExtensionArray.from_storage(kind, pa.array(content, pa.binary(16)))
    if types.is_temporal(kind):
        plain = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(content, plain).view(kind)
    return pa.array(content, kind)


@pytest.mark.slow
@given(st.data(), st.booleans())
def test_any_columns(core: Core, data: st.DataObject, compact: bool) -> None:
    rows = data.draw(st.integers(0, 4))
    columns = [data.draw(arrays(rows)) for _ in range(data.draw(st.integers(1, 3)))]
    batch = pa.RecordBatch.from_arrays(columns, [f"c{place}" for place in range(len(columns))])
    expected = json_values.json_lines(batch, compact=compact)
    assert text_of(core, batch, compact=compact) == expected
    assert len(expected.splitlines()) == rows


@pytest.mark.slow
@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize(("kind", "values"), LEAVES, ids=[str(kind) for kind, _ in LEAVES])
def test_leaves(
    core: Core, kind: pa.DataType, values: st.SearchStrategy[Any], compact: bool
) -> None:
    """Each type, with nulls and as a part of an array."""

    @settings(max_examples=20)
    @given(st.lists(st.none() | values, min_size=1, max_size=12), st.integers(0, 2))
    def check(content: list[Any], start: int) -> None:
        batch = pa.RecordBatch.from_arrays([array_of(content, kind)], ["c"]).slice(start)
        expected = json_values.json_lines(batch, compact=compact)
        assert text_of(core, batch, compact=compact) == expected

    check()


@pytest.mark.slow
def test_what_becomes_objects_first(core: Core) -> None:
    """Unions, maps with a key twice, large dictionaries, and what is too deep or too wide."""
    union = pa.UnionArray.from_dense(
        pa.array([0, 1, 1], pa.int8()),
        pa.array([0, 0, 1], pa.int32()),
        [pa.array([7]), pa.array([math.inf, 0.5])],
    )
    twice = pa.MapArray.from_arrays(
        pa.array([0, 3, 3, 4], pa.int32()), pa.array(["a", "b", "a", "a"]), pa.array([1, 2, 3, 4])
    )
    many = pa.array([f"symbol {row}" for row in range(1100)]).dictionary_encode().slice(1050, 3)
    deep = pa.array([1, 2, 3])
    for level in range(70):
        if level % 2:
            deep = pa.StructArray.from_arrays([deep], ["a"], mask=pa.array([False, True, False]))
        else:
            deep = pa.ListArray.from_arrays(pa.array(range(4), pa.int32()), deep)
    for column in (union, twice, many, deep):
        for array in (column, column.slice(1)):
            batch = pa.RecordBatch.from_arrays([array], ["c"])
            for compact in (False, True):
                expected = json_values.json_lines(batch, compact=compact)
                assert text_of(core, batch, compact=compact) == expected
    assert b'{"a":3,"b":2}' in text_of(core, pa.record_batch([twice], ["c"]), compact=True)
    wide = pa.RecordBatch.from_arrays([pa.array([1])] * 20_000, [str(n) for n in range(20_000)])
    assert json.loads(text_of(core, wide, compact=True)) == {str(n): 1 for n in range(20_000)}
    same = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    assert text_of(core, same, compact=True) == b'{"a":2}\n'


def test_fields_of_messages_that_are_seldom_there(core: Core) -> None:
    tag = pa.struct([("tag", pa.int32()), ("data", pa.binary())])
    kind = pa.struct(
        [("id", pa.binary(16)), (UNUSED, pa.binary_view()), (TAGGED_FIELDS, pa.list_(tag))]
    )
    only = pa.struct([(TAGGED_FIELDS, pa.list_(tag))])
    rows = [
        {"id": bytes(range(16)), UNUSED: b"", TAGGED_FIELDS: []},
        {"id": None, UNUSED: b"\xff", TAGGED_FIELDS: None},
        None,
        {"id": b"\xff" * 16, UNUSED: None, TAGGED_FIELDS: [{"tag": 1, "data": b"x"}]},
    ]
    few: list[Any] = [
        {TAGGED_FIELDS: []},
        None,
        {TAGGED_FIELDS: [{"tag": 1, "data": b""}]},
        {TAGGED_FIELDS: None},
    ]
    batch = pa.record_batch([pa.array(rows, kind), pa.array(few, only)], ["value", "other"])
    for start in range(3):
        for compact in (False, True):
            part = batch.slice(start)
            expected = json_values.json_lines(part, compact=compact)
            assert text_of(core, part, compact=compact) == expected
    first = json.loads(text_of(core, batch, compact=False).splitlines()[0])
    assert first == {"value": {"id": "AAECAwQFBgcICQoLDA0ODw"}, "other": {}}


TYPED = Path(__file__).parent.parent / "values" / "data"


@pytest.mark.slow
@pytest.mark.parametrize("unions", ["struct", "dense_union"])
@pytest.mark.parametrize("home", ["karapace", "confluent"])
def test_typed_topics(core: Core, home: str, unions: Any) -> None:
    """All topics with schemas: what ``dump`` and ``export`` write."""
    found = 0
    options = Options(depth=2, unions=unions)
    with ks.open(TYPED / home / "logs") as log:
        assert isinstance(log, ks.LogDirectory)
        for partition in log.current:
            if (partition.topic or "").startswith("_"):
                continue
            for batch in partition.to_typed(value="auto", key="auto", values=options):
                for compact in (False, True):
                    expected = json_values.json_lines(batch, compact=compact)
                    assert text_of(core, batch, compact=compact) == expected
                found += batch.num_rows
    assert found > 30


def test_hostile_plans(core: Core) -> None:
    """What no array can be is refused, not read."""
    made = JsonPlan(core, compact=True)
    made.value(pa.array([[1, 2], None, [3]]))
    made.end("\n")

    def run(pieces: Any, columns: Any, rows: int = 3) -> bytes:
        out, found, row = bytearray(500), b"", 0
        while row < rows:
            row, used, needed = core.module.json_lines(
                tuple(pieces), tuple(columns), row, rows, 2, out
            )
            assert not needed
            found += bytes(out[:used])
        return found

    plan, columns = made.pieces, made.columns
    assert run(plan, columns) == b"[1,2]\nnull\n[3]\n"
    at, validity, offsets, items = columns[0]  # type: ignore[misc]
    before, lowest, names, form = plan[0]
    for ends in ([0, 4, 4, 4], [0, -1, 0, 0], [2, 1, 1, 1], [-1, 1, 1, 1]):
        wrong = (at, None, pa.array(ends, pa.int32()).buffers()[1], items)
        with pytest.raises(ValueError, match="outside of its buffer"):
            run(plan, [wrong, *columns[1:]])
    for own in ((at, validity, offsets, items + 1), (at, b"", offsets, items), (at, None, b"", 0)):
        with pytest.raises(ValueError, match="a buffer has"):
            run(plan, [own, *columns[1:]])
    for piece in (
        (before, len(plan), names, form),
        (before, -1, names, form),
        (before, lowest, names[:3], form),
        (before, lowest, names, 0),
    ):
        with pytest.raises(ValueError, match="no structure or list"):
            run([piece, *plan[1:]], columns)
    with pytest.raises(ValueError, match="no structure or list"):
        run(plan, [(at, validity, offsets, 1 << 31), *columns[1:]])
    with pytest.raises(ValueError, match="no structure or list"):
        run([plan[0]] * 70 + plan[1:], [columns[0]] * 70 + columns[1:])


@pytest.mark.core
def test_lines_that_need_more_room(core: Core) -> None:
    """Lists that end, or an item that begins, where the room ends."""
    rows = [[{"a": "x" * size, "b": None if size % 3 else [size]}] * count
            for size in (0, 1, 50, 5000) for count in (0, 1, 7, 60)]  # fmt: skip
    batch = pa.record_batch([pa.array(rows)], ["c"])
    plan = JsonPlan(core, compact=True)
    plan.row(batch)
    wanted = json_values.json_lines(batch, compact=True)
    for more in (0, 1, 37):
        found, row, size = b"", 0, 1
        while row < len(rows):
            out = bytearray(size)
            row, used, needed = core.module.json_lines(
                tuple(plan.pieces), tuple(plan.columns), row, len(rows), 2, out
            )
            found += bytes(out[:used])
            assert bool(needed) != bool(used)
            size = max(needed + more, 1)
        assert found == wanted
    assert orjson.loads(found.splitlines()[1]) == {"c": [{"a": "", "b": [0]}]}
