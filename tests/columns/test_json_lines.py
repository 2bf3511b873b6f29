"""Lines of JSON from the core, against Python's json."""

from __future__ import annotations

import json
import random
from array import array
from base64 import b64encode
from collections.abc import Sequence
from itertools import accumulate, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaspec.codecs import codec_names
from kafkaspec.codecs.native.core import Core
from kafkaspec.columns.json_lines import (
    NULL,
    JsonLines,
    LineColumn,
    LineField,
    LineForm,
    numbers,
    pairs,
    strings,
)
from kafkaspec.columns.memory import Layout

pytestmark = pytest.mark.skipif("native" not in codec_names(), reason="the extension was not built")

NASTY = (
    b'"', b"\\", b"\n", b"\x00", b"\x1f", b"\x7f", b"plain text of some length", b"\xc3\xa9",
    b"\xe2\x82\xac", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"\xc0\x80", b"\xff",
    b"\xf4\x90\x80\x80", b"\xe0\x9f\xbf", b"\xf0\x8f\xbf\xbf", b"\xed\x9f\xbf", b"\xef\xbf\xbf",
    b"\xf4\x8f\xbf\xbf", b"\xe2\x80\xa8", b"\xe2\x82",
)  # fmt: skip
NASTY_BYTES = st.lists(st.sampled_from(NASTY) | st.binary(max_size=9), max_size=8).map(b"".join)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-2, 3)


@pytest.fixture(scope="module")
def core() -> Core:
    from kafkaspec.codecs.native.core import load_core

    return load_core()


def in_python(data: bytes | None, base64: bool = False) -> str:
    """What the lines must say, by the decoder and the encoder of Python."""
    if data is None:
        return "null"
    try:
        if not base64:
            return json.dumps(data.decode(), ensure_ascii=False)
    except UnicodeDecodeError:
        pass
    return json.dumps({"base64": b64encode(data).decode()})


@pytest.mark.core
def test_quotes_at_every_place(core: Core) -> None:
    """Eight and sixteen bytes are written at once, whatever is among them."""
    chance = random.Random(7)
    alphabets = (b'"a', b'\\"xyz', b'"\\ abcdefgh', b'"abc\n', 'é"a'.encode(), b"\x7f~ ")
    values = [
        bytes(chance.choice(alphabet) for _ in range(size))
        for size in range(70)
        for alphabet in alphabets
        for _ in range(12)
    ]
    made = JsonLines(core, [LineField('"v"')])
    found = b"".join(made.of([offsets_of(values)], len(values))).decode()
    assert found.splitlines() == [f'{{"v": {in_python(value)}}}' for value in values]


def validity_of(values: Sequence[bytes | None]) -> bytes:
    bits = bytearray((len(values) + 7) // 8)
    for row, value in enumerate(values):
        bits[row >> 3] |= (value is not None) << (row & 7)
    return bytes(bits)


def offsets_of(values: Sequence[bytes | None]) -> LineColumn:
    ends = array("i", accumulate((len(value or b"") for value in values), initial=0))
    data = b"".join(value or b"" for value in values)
    return strings(Layout.BINARY, ends, (data,), validity=validity_of(values))


def views_of(values: Sequence[bytes | None]) -> LineColumn:
    """Views in Arrow's layout; long values are in two buffers."""
    main, data = bytearray(), (bytearray(b"x"), bytearray())
    for row, value in enumerate(values):
        content = value or b""
        if len(content) <= 12:
            main += len(content).to_bytes(4, "little") + content.ljust(12, b"\0")
        else:
            place = len(data[row % 2])
            data[row % 2].extend(content)
            main += len(content).to_bytes(4, "little") + content[:4]
            main += (row % 2).to_bytes(4, "little") + place.to_bytes(4, "little")
    return strings(Layout.VIEW, main, data, validity=validity_of(values))


def text_of(lines: JsonLines, columns: list[LineColumn], rows: int) -> bytes:
    return b"".join(lines.of(columns, rows))


@pytest.mark.core
@pytest.mark.parametrize("column", [offsets_of, views_of])
def test_every_sequence_of_bytes_that_utf8_may_refuse(core: Core, column: Any) -> None:
    edges = (0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF)
    values = [bytes(pair) for pair in product(range(256), repeat=2)]
    for size in (3, 4):
        values += [bytes(item) for item in product(range(0xDF, 0xF7), *[edges] * (size - 1))]
    # Whole words of plain text before and after, and the place within a word.
    values += [b"x" * (number % 9) + value * 2 + b"y" * 9 for number, value in enumerate(values)]
    lines = JsonLines(core, [LineField('"v"')])
    found = text_of(lines, [column(values)], len(values)).decode().split("\n")[:-1]
    assert found == [f'{{"v": {in_python(value)}}}' for value in values]


@given(
    st.lists(
        st.tuples(
            st.none() | NASTY_BYTES,
            INT64,
            st.lists(st.tuples(NASTY_BYTES, st.none() | NASTY_BYTES), max_size=3),
        ),
        max_size=12,
    ),
    st.booleans(),
    st.integers(0, 3),
)
@pytest.mark.slow
def test_lines(
    core: Core,
    rows: list[tuple[bytes | None, int, list[tuple[bytes, bytes | None]]]],
    base64: bool,
    more: int,
) -> None:
    fields = [
        LineField('"file"', json.dumps("/ä/%s")),
        LineField('"n"', lowest=-1, shown=(NULL, '"zero"')),
        LineField('"v"'),
        LineField('"h"'),
        LineField('"last"', "1"),
    ]
    shown = {-1: "null", 0: '"zero"'}
    expected = [
        f'{{"file": "/\\u00e4/%s", "n": {shown.get(number, number)},'
        f' "v": {in_python(value, base64)}, "h": ['
        + ", ".join(f"[{in_python(k, base64)}, {in_python(v, base64)}]" for k, v in headers)
        + '], "last": 1}\n'
        for value, number, headers in rows
    ]
    ends = array("i", accumulate((len(headers) for _, _, headers in rows), initial=0))
    flat = [pair for _, _, headers in rows for pair in headers]
    for make in (offsets_of, views_of):
        columns = [
            numbers(array("q", [number for _, number, _ in rows])),
            make([value for value, _, _ in rows]),
            pairs(ends, len(flat), make([k for k, _ in flat]), make([v for _, v in flat])),
        ]
        lines = JsonLines(core, fields, base64=base64)
        assert text_of(lines, columns, len(rows)).decode() == "".join(expected)
        # The same with room for hardly more than one line, or for less.
        plan, found, first, size = lines._plan, bytearray(), 0, 1
        while first < len(rows):
            out = bytearray(size)
            first, used, needed = core.module.json_lines(
                plan, (*columns, None), first, len(rows), base64, out
            )
            found += out[:used]
            assert bool(needed) != bool(used)
            size = max(needed + more, 1)
        assert found.decode() == "".join(expected)


def test_numbers(core: Core) -> None:
    values = [0, -1, 1, 9, 10, 99, 100, 12345, -12345, (1 << 63) - 1, -(1 << 63)]
    values += [
        sign * 10**power + step for power in range(19) for sign in (1, -1) for step in (-1, 0)
    ]
    lines = JsonLines(core, [LineField('"n"')])
    found = text_of(lines, [numbers(array("q", values))], len(values))
    assert [json.loads(line)["n"] for line in found.splitlines()] == values
    assert found.decode() == "".join(f'{{"n": {value}}}\n' for value in values)


def test_a_number_beside_another_column(core: Core) -> None:
    lines = JsonLines(core, [LineField('"t"', lowest=-1, shown=('"none"', '"a"', '"b"'))])
    where = array("q", [0, 1, 2, 63, 64, -1, 1])
    column = numbers(array("q", [0, 0, 1, 1, 0, 1, -1]), where=where, among=1)
    found = [json.loads(line)["t"] for line in text_of(lines, [column], 7).splitlines()]
    assert found == ["none", "a", "b", "b", "a", "none", "none"]


def test_long_strings_take_the_room_that_they_need(core: Core) -> None:
    values: list[bytes | None] = [
        b"x" * 3_000_000, b"\x00" * 100_000, b'"' * 100_000 + b"\xff", "é".encode() * 70_000,
        b"\xff" * 1_000_000, b"",
    ]  # fmt: skip
    lines = JsonLines(core, [LineField('"v"')])
    for base64 in (False, True):
        lines = JsonLines(core, [LineField('"v"')], base64=base64)
        found = list(lines.of([offsets_of(values)], len(values)))
        expected = [f'{{"v": {in_python(value, base64)}}}\n' for value in values]
        assert b"".join(found).decode() == "".join(expected)
        assert max(memoryview(text.obj).nbytes for text in found) < 7_000_000


def test_unsound_columns_are_refused(core: Core) -> None:
    lines = JsonLines(core, [LineField('"v"')])
    outside = bytearray((20).to_bytes(4, "little") + bytes(4) + bytes(8))
    views: list[tuple[Any, ...]] = []
    for size, number, place in (
        (20, 0, 1), (20, 1, 0), (20, -1, 0), (20, 0, -1), (-1, 0, 0), (1 << 31 - 1, 0, 0)
    ):  # fmt: skip
        view = size.to_bytes(4, "little", signed=True) + b"abcd"
        view += number.to_bytes(4, "little", signed=True) + place.to_bytes(4, "little", signed=True)
        views.append(strings(Layout.VIEW, view, (bytes(20),)))
    offsets = [
        strings(Layout.BINARY, array("i", ends), (b"abc",)) for ends in ([0, 4], [2, 1], [-1, 2])
    ]
    lists = [
        pairs(array("i", ends), 1, offsets_of([b"k"]), offsets_of([b"v"]))
        for ends in ([0, 2], [1, 0], [-1, 1])
    ]
    for column in (*views, *offsets, *lists):
        with pytest.raises(ValueError, match="outside of its buffer"):
            list(lines.of([column], 1))
    short = (
        numbers(array("q", [1])),
        strings(Layout.VIEW, outside, (b"",)),
        offsets_of([b""]),
        numbers(array("q", [1, 2]), validity=b""),
        numbers(array("q", [1, 2]), 1),
        numbers(array("q", [1, 2]), where=array("q", [1])),
        pairs(array("i", [0, 0]), 0, offsets_of([]), offsets_of([])),
    )
    for column in short:
        with pytest.raises(ValueError, match="a buffer has"):
            list(lines.of([column], 2))
    for rows, column in ((1, (1 << 31, None, b"", None, 0)), (1 << 31, numbers(b""))):
        with pytest.raises(ValueError, match="rows"):
            list(lines.of([column], rows))
    wrong: list[Any] = [
        (), (0, None, 7, b"", (b"",)), (0, None, b"", None), "12345", (0, b"", 0, (), ()),
    ]  # fmt: skip
    for column in wrong:
        with pytest.raises((TypeError, ValueError)):
            list(lines.of([column], 1))
    with pytest.raises(ValueError, match="a column for each piece"):
        list(lines.of([], 1))
    plans: list[Any] = [
        ((b"",),), ((b"", 0, (1,), 0),), (("", 0, (), 0),), ((b"", 1 << 64, (), 0),),
        ((b"", 0, (), 5),), ((b"", 2, (), 4),), ((b"", -1, (), 4),),
        *(((b"", 0, (), form),) for form in LineForm if form is not LineForm.JSON),
    ]  # fmt: skip
    for plan in plans:
        with pytest.raises((TypeError, OverflowError, ValueError)):
            core.module.json_lines(plan, (None,), 0, 1, False, bytearray(100))
