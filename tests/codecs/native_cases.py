"""Helpers for tests of the native codec: columns back to values, batches of golden files."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from kafkaspec.codecs.native import Core
from kafkaspec.columns.memory import (
    AnyColumn,
    BytesColumn,
    ColumnSet,
    IntegerColumn,
    Layout,
)
from kafkaspec.model import Record
from tests import goldens

Sources = tuple[Any, ...]
NAMES = ("offset", "timestamp", "key", "value", "headers")


def integers(column: AnyColumn) -> memoryview:
    assert isinstance(column, IntegerColumn)
    return memoryview(column.values).cast("B").cast("q")


def strings(column: Any, rows: int, layout: Layout, sources: Sources) -> list[bytes | None]:
    """Byte strings of a column, read as Arrow's documents describe the layout."""
    assert isinstance(column, BytesColumn)
    values: list[bytes | None] = []
    main = memoryview(column.main).cast("B")
    for row in range(rows):
        if layout is Layout.SPAN:
            start, size = main[16 * row : 16 * row + 16].cast("q")
            values.append(None if size < 0 else bytes(sources[0][start : start + size]))
            continue
        bits = column.validity
        if bits is not None and not memoryview(bits).cast("B")[row >> 3] >> (row & 7) & 1:
            values.append(None)
            continue
        if layout is Layout.BINARY:
            start, stop = main[4 * row : 4 * row + 8].cast("i")
            assert column.data is not None
            values.append(bytes(memoryview(column.data)[start:stop]))
            continue
        view = main[16 * row : 16 * row + 16]
        size = view[:4].cast("i")[0]
        if size <= 12:
            assert not any(view[4 + size :]), "the rest of a short view must be zeros"
            values.append(bytes(view[4 : 4 + size]))
        else:
            number, start = view[8:].cast("i")
            value = bytes(sources[number][start : start + size])
            assert bytes(view[4:8]) == value[:4]
            values.append(value)
    if column.validity is not None:
        assert column.nulls == values.count(None)
    return values


def records(found: dict[str, AnyColumn], rows: int, layout: Layout, sources: Sources) -> list[Any]:
    """Columns as records."""
    headers: Any = found["headers"]
    starts = memoryview(headers.offsets).cast("B").cast("i")
    keys = strings(headers.children["key"], headers.items, layout, sources)
    values = strings(headers.children["value"], headers.items, layout, sources)
    pairs = [
        (key.decode("utf-8", "surrogateescape"), value)
        for key, value in zip(keys, values, strict=True)
        if key is not None
    ]
    return [
        Record(*row, tuple(pairs[starts[i] : starts[i + 1]]))
        for i, row in enumerate(
            zip(
                integers(found["offset"])[:rows],
                integers(found["timestamp"])[:rows],
                strings(found["key"], rows, layout, sources),
                strings(found["value"], rows, layout, sources),
                strict=True,
            )
        )
    ]


def decode(
    core: Core,
    sources: Sources,
    batches: Sequence[Sequence[int]],
    layout: Layout,
    names: Sequence[str] = NAMES,
    *,
    items: int | None = None,
) -> tuple[int, ColumnSet]:
    """Runs the core over batches; ``items`` is the room that lists begin with."""
    rows = sum(max(batch[6], 0) for batch in batches)
    data = sum(len(source) for source in sources)
    columns = ColumnSet(core, names, rows, layout, data)
    if items is not None:
        columns._items = [items] * len(columns._items)
        for column in columns._wanted:
            columns.outputs[column.number] = columns._new(column)
    flat = array("q", [number for batch in batches for number in batch])
    refused = columns.decode(sources, flat)
    return (core.module.OK if refused == len(batches) else core.module.IRREGULAR), columns


def golden_segments() -> Iterator[goldens.Golden]:
    """Golden segments that hold anything, each content once."""
    for golden in goldens.distinct(".log"):
        if golden.path.stat().st_size:
            yield golden
