"""Schemas of a typed table that change between increments, by the rules of each format."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.lake.base import Lake
from kafkaspec.lake.epochs import commit, finish, write_manifest
from kafkaspec.lake.evolution import as_taken, evolved, fitted, others
from kafkaspec.lake.manifest import LakeFile, Manifest, Mark
from kafkaspec.lake.schema import PROGRESS, folder, typed_schema
from tests.lake.conftest import Opening
from tests.lake.increments import TYPED, written

pytestmark = pytest.mark.slow  # ``test_tables.py`` and ``test_units.py`` are for make quick

FIRST = [pa.field("offset", pa.int64()), pa.field("name", pa.string()), pa.field("n", pa.int32())]
INNER = pa.struct([("a", pa.int32())])


def increment(lake: Lake, own: list[pa.Field], rows: list[dict[str, object]]) -> Mark:
    """Add rows with columns of their own to the typed table."""
    known = finish(lake)
    mark = Mark.new(1 if known is None else known.epoch + 1)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=typed_schema(own)), sink)
    data = sink.getvalue().to_pybytes()
    path = f"{TYPED}/{folder({'day': None})}{mark.epoch}-{mark.run}-0.parquet"
    lake.store.write(path, data)
    files = (
        *written(lake, mark, PROGRESS),
        LakeFile(TYPED, path, len(data), len(rows), {"day": None}),
    )
    manifest = Manifest(mark, files)
    write_manifest(lake, manifest)
    commit(lake, manifest)
    return mark


def table(lake: Lake, names: list[str]) -> list[dict[str, object]]:
    found = lake.table(TYPED).scan(["offset", *names]).read_all().sort_by("offset")
    return list(found.select(names).to_pylist())


def test_columns_are_added_and_stay(opening: Opening) -> None:
    increment(opening(), [*FIRST, pa.field("s", INNER)], [{"offset": 0, "n": 1, "s": {"a": 1}}])
    wider = pa.struct([("a", pa.int32()), ("b", pa.string())])
    more = [FIRST[0], FIRST[2], pa.field("s", wider), pa.field("tags", pa.list_(pa.string()))]
    row = {"offset": 1, "n": 2, "s": {"a": 2, "b": "x"}, "tags": ["y"]}
    increment(opening(), more, [row])
    increment(opening(), FIRST, [{"offset": 2, "name": "z", "n": 3}])
    lake = opening()
    found = table(lake, ["n", "name", "s"])
    assert [item["n"] for item in found] == [1, 2, 3]
    assert [item["name"] for item in found] == [None, None, "z"]
    assert [item["s"] for item in found] == [{"a": 1, "b": None}, {"a": 2, "b": "x"}, None]
    tags = [item["tags"] for item in table(lake, ["tags"])]
    # PyIceberg 0.12 reads an empty list for null.
    assert tags in ([None, ["y"], None], [[], ["y"], []])
    paths = [lake.store.url(file.path) for file in lake.table(TYPED).files()]
    query = "SELECT n, tags FROM read_parquet(?, union_by_name=true) ORDER BY n"
    rows = duckdb.connect().execute(query, [paths]).fetchall()
    assert rows == [(1, None), (2, ["y"]), (3, None)]
    if lake.to == "delta":
        assert DeltaTable(lake.store.url(TYPED)).to_pyarrow_table().num_rows == 3


def test_types_are_widened_where_the_format_does(opening: Opening, to: str) -> None:
    increment(opening(), FIRST, [{"offset": 0, "n": 1}])
    wide = [*FIRST[:2], pa.field("n", pa.int64())]
    if to == "iceberg":
        increment(opening(), wide, [{"offset": 1, "n": 1 << 40}])
        increment(opening(), FIRST, [{"offset": 2, "n": 3}])
        assert [row["n"] for row in table(opening(), ["n"])] == [1, 1 << 40, 3]
        return
    before = opening().table(PROGRESS).mark()
    with pytest.raises(KafkaSpecError, match="deltalake does not widen") as caught:
        increment(opening(), wide, [{"offset": 1, "n": 1 << 40}])
    assert caught.value.reason is Reason.UNENCODABLE
    assert opening().table(PROGRESS).mark() == before


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (pa.field("n", pa.string()), "the column n has the type int32, and rows have string"),
        (pa.field("N", pa.int32()), "differ in case alone: N, n"),
    ],
)
def test_what_cannot_be_is_refused_before_the_first_commit(
    opening: Opening, column: pa.Field, why: str
) -> None:
    increment(opening(), FIRST, [{"offset": 0, "n": 1}])
    before = opening().table(PROGRESS).mark()
    with pytest.raises(KafkaSpecError, match=why) as caught:
        increment(opening(), [*FIRST[:2], column], [{"offset": 1}])
    assert caught.value.file == opening().table(TYPED).place
    assert opening().table(PROGRESS).mark() == before
    increment(opening(), FIRST, [{"offset": 1, "n": 2}])
    assert [row["n"] for row in table(opening(), ["n"])] == [1, 2]


def test_the_rules_of_widening() -> None:
    """Those of Iceberg's specification, in either direction: the table keeps the wider type."""
    pairs = [
        (pa.int32(), pa.int64()),
        (pa.float32(), pa.float64()),
        (pa.decimal128(9, 2), pa.decimal128(12, 2)),
        (pa.list_(pa.int32()), pa.list_(pa.int64())),
        (pa.map_(pa.string(), pa.float32()), pa.map_(pa.string(), pa.float64())),
        (pa.struct([("x", pa.int32())]), pa.struct([("x", pa.int64())])),
    ]
    for narrow, wide in pairs:
        small, large = pa.schema([("c", narrow)]), pa.schema([("c", wide)])
        for old, new in ((small, large), (large, small)):
            assert evolved("lake", old, new, widen=True) == large
            with pytest.raises(KafkaSpecError, match="does not widen"):
                evolved("lake", old, new, widen=False)
    for one, other in (
        (pa.int64(), pa.float64()),
        (pa.decimal128(9, 2), pa.decimal128(12, 3)),
        (pa.string(), pa.binary()),
        (pa.map_(pa.int32(), pa.string()), pa.map_(pa.int64(), pa.string())),
        (INNER, pa.list_(INNER)),
    ):
        with pytest.raises(KafkaSpecError, match="the column c has the type"):
            evolved("lake", pa.schema([("c", one)]), pa.schema([("c", other)]), widen=True)


def test_the_types_that_a_table_takes() -> None:
    """Its own where they differ, but for those that its format widens."""
    narrow, wide = pa.struct([("a", pa.int32())]), pa.struct([("a", pa.int64()), ("b", pa.int8())])
    old = pa.schema([("s", narrow), ("l", pa.list_(narrow)), ("gone", pa.int32())])
    new = pa.schema([("l", pa.list_(wide)), ("s", wide), ("more", pa.int32())])
    assert fitted(old, new, widen=True) == new
    taken = fitted(old, new, widen=False)
    assert taken.names == new.names
    assert taken.field("s").type == pa.struct([("a", pa.int32()), ("b", pa.int8())])
    assert others(taken.field("l").type, new.field("l").type, "l") == [
        "l[].a is int32 in the table, and int64 here"
    ]
    assert others(new.field("s").type, new.field("s").type, "s") == []
    kind = taken.field("l").type
    rows = [None, [], [{"a": 1, "b": None}, None], [{"a": None, "b": 2}]]
    assert as_taken(pa.array(rows, new.field("l").type), kind).to_pylist() == rows
    for values, to in (
        (pa.array([[{"a": 1 << 40}]], new.field("l").type), kind),
        (pa.array([0.1]), pa.float32()),
        (pa.array(["1"]), pa.int32()),
        (pa.array([1]), pa.string()),
        (pa.array([{"a": 1}]), pa.int64()),
    ):
        with pytest.raises(pa.ArrowInvalid):
            as_taken(values, to)
    assert as_taken(pa.array([0.5, float("nan"), None]), pa.float32()).null_count == 1


def test_a_field_that_differs_from_one_of_the_table_in_case_alone() -> None:
    inner = pa.struct([("n", pa.int32()), ("s", pa.string())])
    own = pa.schema([("v", inner), ("l", pa.list_(inner))])
    upper, rest = pa.struct([("N", pa.int32())]), pa.struct([("s", pa.string())])
    taken = fitted(pa.schema([("v", upper), ("l", pa.list_(upper))]), own, widen=False)
    assert taken == pa.schema([("v", rest), ("l", pa.list_(rest))])
    why = "{} differs in case alone from a field of the table"
    assert others(taken.field("v").type, inner, "v") == [why.format("v.n")]
    assert others(taken.field("l").type, pa.list_(inner), "l") == [why.format("l[].n")]
    rows = [[{"n": None, "s": "a"}, None], None, [{"n": None, "s": "b"}]]
    made = as_taken(pa.array(rows, pa.list_(inner)), pa.list_(rest)).to_pylist()
    assert made == [[{"s": "a"}, None], None, [{"s": "b"}]]
    with pytest.raises(pa.ArrowInvalid, match="no column for n"):
        as_taken(pa.array([{"n": 1, "s": None}], inner), rest)


def test_values_of_other_types_that_are_null_fit() -> None:
    assert as_taken(pa.array([None, None], pa.string()), pa.int32()).null_count == 2
