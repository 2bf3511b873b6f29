"""Our readers, with and without what the public layers do on top."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from kafkaspec.codecs.native import NativeCodec
from kafkaspec.columns.memory import BytesColumn, Columns, IntegerColumn, Layout, ListColumn
from kafkaspec.columns.reader import Reader
from kafkaspec.columns.wanted import Wanted
from kafkaspec.log.options import ByteLayout as PublicLayout
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record

PLAIN = ("offset", "timestamp", "key", "value")
ALL = (*PLAIN, "headers")

Source = bytes | memoryview | Path


def names_of(headers: int) -> tuple[str, ...]:
    """Columns that are asked for: headers where there are some."""
    return ALL if headers else PLAIN


def allocate(size: int) -> pa.Buffer:
    """Memory of Arrow's pool, as the public layer uses it."""
    return pa.allocate_buffer(size)


def pieces(source: Source, names: Iterable[str], layout: Layout) -> Iterator[Columns]:
    """All columns of a file or of a buffer, as the public layer reads them, without its arrays."""
    with Segment(source, codec="native") as segment:
        yield from Reader(segment, tuple(names), Wanted(), layout=layout, allocate=allocate)


def read_columns(source: Source, names: Iterable[str], layout: Layout = Layout.VIEW) -> int:
    """All columns, each piece dropped again; the number of records."""
    return sum(columns.rows for columns in pieces(source, names, layout))


def read_objects(codec: NativeCodec, data: bytes) -> int:
    """All records as objects, each dropped again; nothing is compressed."""
    rows = position = 0
    while position < len(data):
        found = codec.plain_records(data, position, True, len(data))
        assert found is not None
        for _ in found:
            rows += 1
        position = found.end
    return rows


def record_batches(
    source: bytes | Path, names: Iterable[str], layout: PublicLayout = "view"
) -> int:
    """All record batches of the public interface, each dropped again; the number of records."""
    rows = 0
    with Segment(source, codec="native") as segment:
        for batch in segment.to_batches(columns=list(names), layout=layout):
            rows += batch.num_rows
    return rows


def records_of_batches(source: bytes | Path, layout: PublicLayout = "view") -> list[Record]:
    """Records put together from record batches, to compare."""
    found: list[Record] = []
    with Segment(source, codec="native") as segment:
        for batch in segment.to_batches(columns=list(ALL), layout=layout):
            stamps = batch.column("timestamp").cast(pa.int64()).to_pylist()
            others = [batch.column(name).to_pylist() for name in ALL if name != "timestamp"]
            for stamp, offset, key, value, headers in zip(stamps, *others, strict=True):
                pairs = tuple((header["key"], header["value"]) for header in headers)
                found.append(Record(offset, stamp, key, value, pairs))
    return found


def records_of_columns(data: bytes, layout: Layout) -> list[Record]:
    """Records put together from columns, to compare."""
    return [record for columns in pieces(data, ALL, layout) for record in _records(columns)]


def _records(columns: Columns) -> Iterable[Record]:
    rows = columns.rows
    parts = columns.columns
    headers = parts["headers"]
    assert isinstance(headers, ListColumn)
    ends = memoryview(headers.offsets).cast("B").cast("i")[: rows + 1].tolist()
    keys = _bytes(headers.children["key"], headers.items, columns)
    values = _bytes(headers.children["value"], headers.items, columns)
    pairs = [((key or b"").decode(), value) for key, value in zip(keys, values, strict=True)]
    integers = [_integers(parts[name], rows) for name in PLAIN[:2]]
    octets = [_bytes(parts[name], rows, columns) for name in PLAIN[2:]]
    for row in range(rows):
        yield Record(
            integers[0][row],
            integers[1][row],
            octets[0][row],
            octets[1][row],
            tuple(pairs[ends[row] : ends[row + 1]]),
        )


def _integers(column: object, rows: int) -> list[int]:
    assert isinstance(column, IntegerColumn)
    return memoryview(column.values).cast("B").cast("q")[:rows].tolist()


def _bytes(column: object, rows: int, columns: Columns) -> list[bytes | None]:
    assert isinstance(column, BytesColumn)
    validity = None if column.validity is None else pa.py_buffer(column.validity)
    buffers = [validity, pa.py_buffer(column.main)]
    if columns.layout is Layout.VIEW:
        buffers += [pa.py_buffer(source) for source in columns.sources]
        kind = pa.binary_view()
    else:
        buffers.append(pa.py_buffer(column.data))
        kind = pa.binary()
    found: list[bytes | None] = pa.Array.from_buffers(kind, rows, buffers).to_pylist()
    return found
