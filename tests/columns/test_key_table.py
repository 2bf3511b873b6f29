"""The table of keys of the cleaner: a dictionary of digests, with and without the extension."""

from __future__ import annotations

import hashlib
import random
from array import array

import pytest

import kafkaspec as ks
from kafkaspec.codecs import get_codec
from kafkaspec.columns.key_table import KeyTable, KeyVerdict
from kafkaspec.columns.memory import BytesColumn, Columns, IntegerColumn, Layout
from kafkaspec.columns.reader import Reader
from kafkaspec.columns.wanted import Wanted
from tests.loops import each


def _columns(keys: list[bytes | None]) -> Columns:
    valid = bytearray((len(keys) + 7) // 8)
    ends, data = array("i", [0]), b""
    for row, key in enumerate(keys):
        valid[row >> 3] |= (key is not None) << (row & 7)
        data += key or b""
        ends.append(len(data))
    column = BytesColumn(valid, ends, data, len(data), keys.count(None))
    offsets = IntegerColumn(array("q", range(len(keys))))
    columns = dict.fromkeys(("key", "value"), column)
    return Columns(rows=len(keys), columns={"offset": offsets, **columns}, layout=Layout.BINARY)


@pytest.mark.core
@each("seed", range(20))
def test_the_table_of_keys_is_a_dictionary_of_digests(seed: int) -> None:
    """With and without the extension; it fills up at its limit, whatever the key."""
    chance = random.Random(seed)
    pool = [chance.randbytes(chance.choice((0, 1, 12, 13, 55, 56, 63, 64, 65, 200)))
            for _ in range(50)]  # fmt: skip
    keys = [chance.choice([None, *pool]) for _ in range(300)]
    columns = _columns(keys)
    limit = chance.choice((5, 30, 1000))
    wanted: dict[bytes, int] = {}
    stop = len(keys)
    for row, key in enumerate(keys):
        if key is None:
            continue
        if len(wanted) >= limit:
            stop = row
            break
        wanted[hashlib.md5(key).digest()] = row
    latest = chance.randrange(300)
    for core in {get_codec().core, None}:
        table = KeyTable(core, 60, limit)
        assert table.put(columns, 0, len(keys), 0) == stop
        assert table.keys == len(wanted)
        judged = table.judge(columns, latest)
        for row, key in enumerate(keys):
            newest = -1 if key is None else wanted.get(hashlib.md5(key).digest(), -1)
            verdict = KeyVerdict(0) if key is not None else KeyVerdict.VALUELESS
            if row > latest:
                assert judged.verdicts[row] == verdict | KeyVerdict.AFTER
                continue
            assert judged.newest[row] == newest
            if key is None:
                verdict |= KeyVerdict.KEYLESS
            elif newest > row:
                verdict |= KeyVerdict.SUPERSEDED
            assert judged.verdicts[row] == verdict
        assert all(
            table.newest_of(key) == wanted.get(hashlib.md5(key).digest(), -1) for key in pool
        )


def test_c_refuses_what_is_no_column() -> None:
    core = get_codec().core
    if core is None:
        pytest.skip("without the extension")
    module = core.module
    with pytest.raises(ValueError, match="not a column"):
        module.key_digests(module.BINARY, 1, None, array("i", [5, 2]), (b"abc",), bytearray(16))
    view = array("i", [50, 0, 7, 3])
    with pytest.raises(ValueError, match="not a column"):
        module.key_digests(module.VIEW, 1, None, view, (b"abc",), bytearray(16))
    with pytest.raises(ValueError, match="a buffer has"):
        module.key_digests(module.BINARY, 2, None, array("i", [0, 1]), (b"abc",), bytearray(32))
    with pytest.raises(ValueError, match="no slot"):
        module.keys_put(
            bytearray(3), bytes(16), None, array("q", [0]), 0, 1, 0, 5, array("q", [0, 0])
        )


def test_views_of_a_log_have_the_digests_of_their_keys() -> None:
    """Short keys lie in their views, long ones in the log."""
    keys = [b"k" * size for size in (0, 1, 11, 12, 13, 55, 56, 64, 300)]
    log = ks.encode([ks.Record(number, 0, key, b"v") for number, key in enumerate(keys)])
    segment = ks.Segment(log + log)
    (columns,) = Reader(segment, ("offset", "key", "value"), Wanted())
    for core in {get_codec().core, None}:
        table = KeyTable(core, 100, 100)
        assert table.put(columns, 0, columns.rows, 0) == 2 * len(keys)
        assert [table.newest_of(key) for key in keys] == list(range(len(keys)))
        assert table.newest_of(b"another") == -1
