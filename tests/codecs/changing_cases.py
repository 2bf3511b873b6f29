"""Lists, buffers and iterators that change while C reads them.

A program of its own, since a crash ends a process: ``python -m tests.codecs.changing_cases``.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from kafkaspec import _native as native
from kafkaspec._generated.python.model.recordbatch import RecordBatch
from kafkaspec.codecs.native import NativeCodec
from kafkaspec.codecs.native.names import ROLES
from kafkaspec.codecs.native.scan import EntryTable, scan
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.model import Record
from tests import goldens

CODEC, REFERENCE = NativeCodec(), PythonCodec()
CORE = CODEC.core
ROWS = 1000
SECONDS = 0.5
BATCH = RecordBatch(
    base_offset=0,
    last_offset_delta=0,
    base_timestamp=0,
    max_timestamp=0,
    num_records=ROWS,
    records=b"",
)
DATA = (goldens.GOLDEN / "4.3.1/logs/plain-0/00000000000000000000.log").read_bytes()
BUSY = {"the iterator is already in use"}


class Index:
    """An integer that does something when C asks for it."""

    def __init__(self, action: Callable[[], object]) -> None:
        self.action = action

    def __index__(self) -> int:
        self.action()
        return 0


def _records(headers: Any = ()) -> list[Record]:
    return [Record(i, i, b"key %d" % i, b"value", headers) for i in range(ROWS)]


def _encoded_while(change: Callable[[list[Record]], object]) -> None:
    given = _records()
    given[0] = given[0]._replace(offset=Index(lambda: change(given)))  # type: ignore[arg-type]
    assert CODEC.encode_records(BATCH, given) == REFERENCE.encode_records(BATCH, _records())


def an_index_that_empties_the_list() -> None:
    _encoded_while(list.clear)


def an_index_that_lengthens_headers() -> None:
    longer = _records((("key", b"value"),) * ROWS)
    _encoded_while(lambda given: given.__setitem__(slice(1, None), longer[1:]))


@contextmanager
def _beside(change: Callable[[], object]) -> Iterator[Iterator[None]]:
    """Another thread that changes something again and again; a loop for this one."""
    interval, done = sys.getswitchinterval(), threading.Event()

    def run() -> None:
        while not done.is_set():
            change()

    def turns() -> Iterator[None]:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            yield

    thread = threading.Thread(target=run)
    sys.setswitchinterval(1e-6)
    thread.start()
    yield turns()
    done.set()
    thread.join()
    sys.setswitchinterval(interval)


def a_thread_that_replaces_records() -> None:
    given: list[Record] = []

    def change() -> None:
        for text, sign in ((b"a" * 40, 1), (b"b" * 80, -1)):
            headers = [((str(i * sign), b"c"),) for i in range(ROWS)]
            given[:] = [Record(0, 0, text, text * 10, header) for header in headers]

    with _beside(change) as turns:
        seen = {CODEC.encode_records(BATCH, given) for _ in turns}
    assert len(seen) <= 3, f"{len(seen)} results: none, and two lists"


def a_thread_that_changes_offsets_and_null_flags() -> None:
    rows, data = 20_000, b"x" * 2_000_000
    validity, valid = bytearray(rows // 8), b"\xff" * (rows // 8)
    lists, one_each = array("i", [0] * (rows + 1)), array("i", range(rows + 1))
    texts, long = array("i", [0] * (rows + 1)), array("i", range(0, 100 * rows + 1, 100))
    nothing = lists[:]

    def change() -> None:
        validity[:], lists[:], texts[:] = bytes(rows // 8), nothing, nothing
        validity[:], lists[:], texts[:] = valid, one_each, long

    columns = {
        "headers": lists,
        "headers.key": (None, texts, data),
        "headers.value": (validity, texts, data),
    }
    with _beside(change) as turns:
        for _ in turns:
            with suppress(ValueError):
                CORE.encode(BATCH, rows, columns)


def offsets_below_zero() -> None:
    text = (None, array("i", [0] * 9), b"")
    for rows in (0, 1):
        for first in (-1, -1 << 20, -1 << 31):
            offsets = array("i", [first] * (rows + 1))
            for columns in (
                {"headers": offsets, "headers.key": text, "headers.value": text},
                {"key": (None, offsets, b"")},
            ):
                with pytest.raises(ValueError, match="is not a column of Arrow"):
                    CORE.encode(BATCH, rows, columns)


def _iterator(
    data: bytes, table: EntryTable, record: type = Record, check: Callable[[], object] | None = None
) -> Iterator[Any]:
    found: Iterator[Any] = native.Records(
        data, 0, table.values, table.capacity, table.count, CORE.plain_roles, 0,
        len(data), record, CORE.record_plan, CORE.record_text, check, None,
    )  # fmt: skip
    return found


def _more(found: Iterator[Any], seen: set[str]) -> None:
    try:
        next(found, None)
    except ValueError as error:
        seen.add(str(error))


def an_iterator_that_the_garbage_collector_calls() -> None:
    parts, rows, text = [], 50, b"abc" * 333
    for headers in (2, 4, 8, 16, 32):
        items = headers * rows
        column = (None, array("i", range(0, len(text) * (items + 1), len(text))), text * items)
        lists = array("i", range(0, items + 1, headers))
        columns = {"headers": lists, "headers.key": column, "headers.value": column}
        made = CORE.encode(replace(BATCH, num_records=rows), rows, columns, whole=True)
        assert made is not None
        parts.append(made)
    data, found, seen, threshold = b"".join(parts), iter(()), set[str](), gc.get_threshold()
    table = scan(CORE, data)

    def called(phase: str, info: object) -> None:
        _more(found, seen)

    gc.set_threshold(1)
    gc.callbacks.append(called)
    found = _iterator(data, table, check=int)
    records: list[Record] = list(found)
    gc.callbacks.remove(called)
    gc.set_threshold(*threshold)
    assert {pair for record in records for pair in record.headers} == {(text.decode(), text)}
    assert seen <= BUSY


def an_iterator_that_its_own_check_calls() -> None:
    seen, table = set[str](), scan(CORE, DATA)
    found: Iterator[Any] = _iterator(DATA, table, check=lambda: _more(found, seen))
    assert list(found) == list(_iterator(DATA, table))
    assert seen == BUSY


def a_type_of_records_that_is_gone() -> None:
    table = scan(CORE, DATA)
    found = _iterator(DATA, table, record=type("Short", (tuple,), {}))
    gc.collect()
    waste = [type(f"Waste{i}", (), {}) for i in range(500)]
    made = list(found)
    assert {type(record).__name__ for record in made} == {"Short"}, waste
    assert made == list(_iterator(DATA, table))


def hashes_of_records() -> None:
    for record in _iterator(DATA, scan(CORE, DATA)):
        assert hash(record) == hash(tuple(record))


def a_table_of_headers_with_absurd_numbers() -> None:
    table = scan(CORE, DATA)
    for name, number in (("num_records", (1 << 63) - 1), ("attributes.compression", 4)):
        column = table.column(name)
        for i in range(table.count):
            column[i] = number
    batches = array("q", bytes(8 * native.BATCH_FIELDS * table.count))
    rules = (0, -1 << 63, 0, -1 << 63, 0, 0, len(DATA))
    assert len(CORE.roles) == len(ROLES)
    following, number, rows, facts = native.select(
        table.values, table.capacity, 0, table.count, CORE.roles, rules, None, batches
    )
    assert (following, number, rows) == (0, 0, 0)
    assert facts & native.OTHERWISE


CASES = (
    an_index_that_empties_the_list,
    an_index_that_lengthens_headers,
    a_thread_that_replaces_records,
    a_thread_that_changes_offsets_and_null_flags,
    offsets_below_zero,
    an_iterator_that_the_garbage_collector_calls,
    an_iterator_that_its_own_check_calls,
    a_type_of_records_that_is_gone,
    hashes_of_records,
    a_table_of_headers_with_absurd_numbers,
)

if __name__ == "__main__":
    for case in CASES:
        if len(sys.argv) == 1 or case.__name__ in sys.argv:
            print(case.__name__, flush=True)
            case()
