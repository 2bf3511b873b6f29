"""Compressed messages of magic 0 and 1 as columns: what the other codec makes of them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kafkaspec as ks
from kafkaspec.codecs import codec_names
from tests import goldens
from tests.arrow import forge as arrow_forge
from tests.arrow.test_columns import LAYOUTS, plain, rows_of
from tests.arrow.test_damage import described
from tests.extent import examples
from tests.log import forge

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.skipif("native" not in codec_names(), reason="the extension was not built")

from kafkaspec.arrow.schema import COLUMNS  # noqa: E402
from kafkaspec.columns.reader import Reader  # noqa: E402

APPENDED = forge.LOG_APPEND_TIME
Outcome = tuple[list[dict[str, Any]], tuple[Any, ...] | None]


def columns_of(segment: ks.Segment, **options: Any) -> Outcome:
    """Rows, and the error after them."""
    rows: list[dict[str, Any]] = []
    reader = segment.to_batches(**options)
    try:
        for batch in reader:
            batch.validate(full=True)
            rows += plain(pa.Table.from_batches([batch]))
    except ks.KafkaSpecError as error:
        return rows, described(error)
    return rows, None


def objects_of(segment: ks.Segment) -> Outcome:
    """The same from records: rows, and the error after them."""
    rows = []
    try:
        for row in rows_of(segment, control=True):
            rows.append(row)
    except ks.KafkaSpecError as error:
        return rows, described(error)
    return rows, None


def check(data: bytes, options: dict[str, Any], crc: Any = "raise") -> Outcome:
    """The same outcome from both codecs."""
    native, python = (
        columns_of(ks.Segment(data, codec=codec, crc=crc, name="x", max_output=1 << 20), **options)
        for codec in ("native", "python")
    )
    assert native == python
    return native


@pytest.fixture
def by_python(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Positions of entries that a codec with a core leaves to record objects."""
    found: list[int] = []
    original = Reader._by_records

    def note(self: Reader, batch: Any) -> Any:
        if self._core is not None:
            found.append(batch.position)
        return original(self, batch)

    monkeypatch.setattr(Reader, "_by_records", note)
    return found


def inner(count: int, first: int = 0, *, magic: int = 1, **options: Any) -> list[bytes]:
    return [
        forge.legacy(
            first + 2 * i,
            None if i % 5 == 4 else b"v%d" % i * (i % 7),
            key=None if i % 3 else b"k%d" % i,
            magic=magic,
            timestamp=1000 + i,
            **options,
        )
        for i in range(count)
    ]


REGULAR = {
    "magic 0": forge.wrapper(16, inner(9, magic=0), magic=0),
    "magic 0, offsets that do not fit": forge.wrapper(3, inner(9, 50, magic=0), magic=0),
    "relative": forge.wrapper(116, inner(9)),
    "relative, from 7 on": forge.wrapper(123, inner(9, 7)),
    "appended": forge.wrapper(116, inner(9), attributes=APPENDED),
    "appended, inner attributes": forge.wrapper(
        116, inner(9, attributes=APPENDED), attributes=APPENDED
    ),
    "inner attributes only": forge.wrapper(116, inner(9, attributes=APPENDED)),
    "offset 0 leaves inner offsets": forge.wrapper(0, inner(9, 40)),
    "magic 0 in magic 1": forge.wrapper(116, inner(9, magic=0)),
    "magic 0 in magic 1, appended": forge.wrapper(116, inner(9, magic=0), attributes=APPENDED),
    "magic 1 in magic 0": forge.wrapper(16, inner(9), magic=0),
    "both in magic 1": forge.wrapper(116, inner(4, magic=0) + inner(5, 8)),
    "appended without a time": forge.wrapper(116, inner(9), attributes=APPENDED, timestamp=-1),
    "offsets that wrap around": forge.wrapper((1 << 63) - 1, inner(2, -9) + inner(1, -(1 << 63))),
    "key and slack inside": forge.wrapper(116, inner(3, slack=b"more"), key=b"k"),
    "two hundred": forge.wrapper(1000, inner(200)),
}
ODD = {
    "cut": forge.wrapper(116, inner(9), cut=3),
    "any other magic": forge.wrapper(116, inner(4) + inner(2, 8, magic=3) + inner(3, 12)),
    "any other magic, appended": forge.wrapper(
        116, inner(4, magic=2) + inner(5, 8), attributes=APPENDED
    ),
    "any other magic in magic 0": forge.wrapper(116, inner(9, magic=-1), magic=0),
    "junk at the end": forge.wrapper(116, inner(9), surplus=b"\0\0\0\1"),
    "appended, both inside": forge.wrapper(
        116, inner(4, magic=0) + inner(5, 8), attributes=APPENDED
    ),
}
WRONG = {
    "offset below the last one inside": forge.wrapper(5, inner(9)),
    "empty": forge.wrapper(5, []),
    "compressed inside": forge.wrapper(116, [*inner(3), forge.wrapper(9, inner(2))]),
    "batch inside": forge.wrapper(116, [forge.batch(0, [forge.record(0, b"v")])]),
    "no value": forge.legacy(5, None, attributes=forge.GZIP),
    "zstd": forge.legacy(5, b"(\xb5/\xfd", attributes=4),
    "not gzip": forge.legacy(5, b"no gzip", attributes=forge.GZIP),
    "wrong checksum inside": forge.wrapper(116, [*inner(2), *inner(1, 4, crc=1)]),
}
BEFORE, BEHIND = forge.legacy(1, b"before"), forge.wrapper(900, inner(5))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*REGULAR, *ODD, *WRONG])
def test_contents_of_a_wrapper(name: str, layout: str, by_python: list[int]) -> None:
    data = BEFORE + (REGULAR | ODD | WRONG)[name] + BEHIND
    found = check(data, {"columns": COLUMNS, "layout": layout})
    assert found == objects_of(ks.Segment(data, codec="python", name="x"))
    assert (found[1] is not None) == (name in WRONG)
    if name in REGULAR:
        assert by_python == []
    if name in ODD:
        assert by_python == [len(BEFORE)]


@pytest.mark.slow
def test_golden_wrappers_need_no_record_objects(by_python: list[int]) -> None:
    read = 0
    for golden in goldens.files(".log"):
        if golden.version.startswith("0.") and "codec-" in golden.partition:
            with ks.Segment(golden.path, codec="native") as segment:
                old = [batch for batch in segment.batches() if batch.magic < 2]
                assert segment.to_arrow().num_rows
            read += sum(batch.is_compressed for batch in old)
    assert read > 100
    assert by_python == []


offsets = st.one_of(st.integers(0, 30), st.integers(-2, 60), st.sampled_from([(1 << 63) - 1]))
messages = st.builds(
    forge.legacy,
    offsets,
    st.one_of(st.none(), st.binary(max_size=20)),
    magic=st.sampled_from([0, 1, 1, 2, -1]),
    key=st.one_of(st.none(), st.binary(max_size=3)),
    attributes=st.sampled_from([0, 0, 0, 0, APPENDED]),
    timestamp=st.integers(-1, 8),
)
wrappers = st.builds(
    forge.wrapper,
    offsets,
    st.lists(messages, min_size=1, max_size=6),
    magic=st.integers(0, 1),
    attributes=st.sampled_from([0, 0, APPENDED]),
    timestamp=st.integers(-1, 8),
    cut=st.sampled_from([0, 0, 0, 0, 1, 20]),
)
ordered = st.builds(
    lambda first, count, magic, shift, attributes: forge.wrapper(
        first + 2 * (count - 1) + shift * magic,
        inner(count, first, magic=magic),
        magic=magic,
        attributes=attributes,
        timestamp=5,
    ),
    first=st.integers(0, 20),
    count=st.integers(1, 6),
    magic=st.integers(0, 1),
    shift=st.integers(0, 9),
    attributes=st.sampled_from([0, APPENDED]),
)
batches = st.sampled_from(
    [
        ks.encode(arrow_forge.records(4, 10)),
        ks.encode(arrow_forge.records(3, 14), compression="lz4"),
    ]
)
bounds = st.one_of(
    st.none(), st.none(), st.integers(-3, 40), st.sampled_from([1 << 62, (1 << 63) - 1])
)


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@given(
    parts=st.lists(st.one_of(ordered, ordered, wrappers, messages, batches), max_size=6),
    names=st.one_of(
        st.just(list(COLUMNS)),
        st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=3, unique=True),
    ),
    low=bounds,
    high=bounds,
    start=st.one_of(st.none(), st.none(), st.integers(-2, 9), st.integers(999, 1006)),
    end=st.one_of(st.none(), st.none(), st.integers(-2, 9), st.integers(999, 1006)),
    layout=st.sampled_from(LAYOUTS),
    max_bytes=st.sampled_from([1, 200, 1 << 20]),
    crc=st.sampled_from(["raise", "ignore"]),
)
def test_any_entries_ranges_and_columns(
    parts: list[bytes],
    names: list[str],
    low: int | None,
    high: int | None,
    start: int | None,
    end: int | None,
    layout: str,
    max_bytes: int,
    crc: str,
) -> None:
    options: dict[str, Any] = {
        "columns": names,
        "start_offset": low,
        "end_offset": high,
        "start_timestamp": start,
        "end_timestamp": end,
        "layout": layout,
        "max_bytes": max_bytes,
    }
    check(b"".join(parts), options, crc)


@pytest.mark.slow
@pytest.mark.parametrize("crc", ["raise", "ignore"])
@pytest.mark.parametrize("magic", [0, 1])
def test_hostile_messages_inside(magic: int, crc: str) -> None:
    """The wrapper's own checksum is right, so that nothing shields what reads the payload."""
    chance = random.Random(magic)
    whole = b"".join(inner(12, magic=magic))
    errors = 0
    for round_ in range(150):
        data = bytearray(whole)
        for _ in range(chance.choice([1, 1, 3])):
            data[chance.randrange(len(data))] = chance.choice([0, 1, 2, 0x7F, 0x80, 0xFF])
        made = BEFORE + forge.wrapper(
            chance.choice([0, 22, 100]),
            [bytes(data)],
            magic=magic,
            attributes=chance.choice([0, APPENDED]) * magic,
        )
        layout = LAYOUTS[round_ % 2]
        found = check(made + BEHIND, {"columns": COLUMNS, "layout": layout}, crc)
        errors += found[1] is not None
    assert errors > 10


def test_more_output_than_is_allowed() -> None:
    large = forge.wrapper(9, [forge.legacy(0, bytes(2 << 20))])
    rows, error = check(BEFORE + large, {"columns": ["offset"]})
    assert len(rows) == 1
    assert error is not None
    assert error[1] == ks.Reason.DECOMPRESSED_TOO_LARGE


@pytest.mark.core
@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
@pytest.mark.parametrize("magic", [0, 1])
def test_many_wrappers_and_small_arenas(codec: str, magic: int, by_python: list[int]) -> None:
    parts, expected = [], []
    for number in range(60):
        made = [
            record._replace(headers=(), timestamp=record.timestamp if magic else -1)
            for record in arrow_forge.records(20, 20 * number, seed=number, size=number * 20)
        ]
        parts.append(ks.encode(made, magic=magic, compression=codec))
        expected += made
    with ks.Segment(b"".join(parts), codec="native") as segment:
        for max_bytes in (1, 3000, 1 << 24):
            rows, error = columns_of(segment, columns=["offset", "value"], max_bytes=max_bytes)
            assert error is None
            assert rows == [{"offset": row.offset, "value": row.value} for row in expected]
            rows, _ = columns_of(segment, start_offset=333, end_offset=777, max_bytes=max_bytes)
            assert [row["offset"] for row in rows] == list(range(333, 777))
    assert by_python == []
