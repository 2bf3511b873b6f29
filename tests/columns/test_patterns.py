"""Patterns of bytes: what Arrow's own matcher says of each value."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from kafkaspec import Record, Segment, encode
from kafkaspec.codecs import get_codec
from kafkaspec.columns.memory import INLINE_BYTES, Layout
from kafkaspec.columns.patterns import BytePattern
from tests.loops import each

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")


def _matches(pattern: bytes, values: Sequence[bytes | None]) -> list[bool | None]:
    """What Arrow says, which compiles a regular expression or looks for one text."""
    found: list[bool | None] = pc.match_like(pa.array(values, pa.binary()), pattern).to_pylist()
    return found


def _values(chance: random.Random) -> list[bytes | None]:
    letters = chance.choice((b"ab", b"abc%_", bytes(range(256))))
    longest = chance.choice((INLINE_BYTES, 40, 300))
    made = [bytes(chance.choices(letters, k=chance.randrange(longest + 1))) for _ in range(200)]
    return [None if chance.randrange(9) == 0 else value for value in made]


def _pattern(chance: random.Random, values: Sequence[bytes | None]) -> bytes:
    """A pattern of a few pieces, most of them cut from the values."""
    pieces = list[bytes]()
    for _ in range(chance.randrange(1, 5)):
        some = chance.choice(values) or b""
        first = chance.randrange(len(some) + 1)
        pieces += (
            some[first : first + chance.choice((1, 2, 5, 30))],
            chance.choice((b"%", b"_", b"")),
        )
    found = chance.choice((b"", b"%")) + b"".join(pieces)
    return found.replace(b"\\", b"")


@pytest.mark.core
@each("seed", range(30))
def test_a_pattern_fits_what_arrow_matches(seed: int) -> None:
    core = get_codec().core
    if core is None:
        pytest.skip("this needs the extension")
    chance = random.Random(seed)
    values = _values(chance)
    for _ in range(20):
        text = _pattern(chance, values)
        pattern = BytePattern.like(text)
        assert pattern is not None
        assert pattern.is_for(core)
        wanted = [bool(found) for found in _matches(text, values)]
        for kind, layout in ((pa.binary_view(), Layout.VIEW), (pa.binary(), Layout.BINARY)):
            array = pa.array(values, kind)
            present, main, *sources = array.buffers()
            sources = [source for source in sources if source is not None]
            bits = pattern.rows_of(core, layout, len(values), present, main, sources)
            found = [bool(bits[row >> 3] >> (row & 7) & 1) for row in range(len(values))]
            assert found == wanted, (text, layout)


@pytest.mark.core
@each("seed", range(4))
def test_conditions_find_what_arrow_matches(seed: int) -> None:
    """With patterns that the core takes, and those that Arrow does; in all kinds of entries."""
    chance = random.Random(seed)
    values = [value for value in _values(chance) for _ in range(chance.randrange(1, 4))]
    records = [Record(row, 7, value, value) for row, value in enumerate(values)]
    magic, compression = chance.choice(((2, "none"), (2, "gzip"), (1, "gzip"), (1, "none")))
    data = b"".join(
        encode(records[at : at + 60], magic=magic, compression=compression)
        for at in range(0, len(records), 60)
    )
    for _ in range(8):
        text = _pattern(chance, values).decode("ascii", "ignore").replace("'", "")
        wanted = _matches(text.encode(), values)
        for name in ("key", "value"):
            for sign, true in (("like", True), ("not like", False)):
                where = f"{name} {sign} '{text}'"
                found = Segment(data).to_arrow(columns=["offset"], where=where)
                offsets = [row for row, fits in enumerate(wanted) if fits is true]
                assert found["offset"].to_pylist() == offsets, where


def test_the_core_refuses_what_is_no_column() -> None:
    core = get_codec().core
    if core is None:
        pytest.skip("this needs the extension")
    pattern = BytePattern.containing([b"x"] * (core.module.PATTERN_PARTS - 2))
    assert pattern.is_for(core)
    assert not BytePattern.containing([b"x"] * (core.module.PATTERN_PARTS - 1)).is_for(core)
    view = (20).to_bytes(4, "little") + b"abcd" + (0).to_bytes(4, "little") + b"\1\0\0\0"
    for main, sources in ((view, [b"x" * 20]), (view, []), (view[:15], [b"x" * 30])):
        with pytest.raises(ValueError, match=r"column of Arrow|has 15 bytes"):
            pattern.rows_of(core, Layout.VIEW, 1, None, main, sources)
    more = BytePattern(b"%" * core.module.PATTERN_PARTS, b"\2" * core.module.PATTERN_PARTS)
    with pytest.raises(ValueError, match="too many parts"):
        more.rows_of(core, Layout.VIEW, 1, None, bytes(16), [])
