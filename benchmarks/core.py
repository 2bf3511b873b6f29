"""Our reader without its public layers: chunks of headers that are known, columns, objects."""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from kafkaspec.codecs.native import NativeCodec
from kafkaspec.codecs.native.chunks import Chunk, ChunkReader, Columns
from kafkaspec.codecs.native.columns import BytesColumn, IntegerColumn, Layout, ListColumn
from kafkaspec.log.columnar import Layout as PublicLayout
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record

PLAIN = ("offset", "timestamp", "key", "value")
ALL = (*PLAIN, "headers")


def names_of(headers: int) -> tuple[str, ...]:
    """Columns that are asked for: headers where there are some."""
    return ALL if headers else PLAIN


def allocate(size: int) -> pa.Buffer:
    """Memory of Arrow's pool, as the public layer uses it."""
    return pa.allocate_buffer(size)


class Core:
    """Columns of a buffer whose headers were read before.

    Args:
        codec: the native codec.
        data: whole entries.
    """

    def __init__(self, codec: NativeCodec, data: bytes | memoryview) -> None:
        self.codec = codec
        self.reader = ChunkReader(codec, data)
        self.plan: list[Chunk] = list(self.reader.plan())

    def columns(self, names: Iterable[str], layout: Layout = Layout.VIEW) -> int:
        """All columns, chunk by chunk, dropped again; the number of records."""
        return self.some_columns(self.plan, names, layout)

    def some_columns(self, plan: Iterable[Chunk], names: Iterable[str], layout: Layout) -> int:
        """The same for some of the chunks."""
        wanted = list(names)
        return sum(self.reader.read(chunk, wanted, layout, allocate).rows for chunk in plan)

    def objects(self) -> int:
        """All records as objects, each dropped again; nothing is compressed."""
        rows = position = 0
        while position < len(self.reader.buffer):
            found = self.codec.plain_records(self.reader.buffer, position, True)
            for _ in found:
                rows += 1
            position = found.end
        return rows


def columns_of_file(codec: NativeCodec, path: Path, names: Iterable[str], layout: Layout) -> int:
    """All columns of a file that is mapped for it."""
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        memoryview(mapped) as view,
    ):
        reader = ChunkReader(codec, view)
        wanted = list(names)
        rows = 0
        for chunk in reader.plan():
            rows += reader.read(chunk, wanted, layout, allocate).rows
        reader.buffer.release()
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


def records_of_columns(codec: NativeCodec, data: bytes, layout: Layout) -> list[Record]:
    """Records put together from columns, to compare."""
    reader = ChunkReader(codec, data)
    found: list[Record] = []
    for chunk in reader.plan():
        found += _records(reader.read(chunk, list(ALL), layout, allocate), layout)
    return found


def _records(columns: Columns, layout: Layout) -> Iterable[Record]:
    rows = columns.rows
    parts = columns.columns
    headers = parts["headers"]
    assert isinstance(headers, ListColumn)
    ends = memoryview(headers.offsets).cast("B").cast("i")[: rows + 1].tolist()
    keys = _bytes(headers.children["key"], headers.items, layout, columns)
    values = _bytes(headers.children["value"], headers.items, layout, columns)
    pairs = [((key or b"").decode(), value) for key, value in zip(keys, values, strict=True)]
    integers = [_integers(parts[name], rows) for name in PLAIN[:2]]
    octets = [_bytes(parts[name], rows, layout, columns) for name in PLAIN[2:]]
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


def _bytes(column: object, rows: int, layout: Layout, columns: Columns) -> list[bytes | None]:
    assert isinstance(column, BytesColumn)
    validity = None if column.validity is None else pa.py_buffer(column.validity)
    buffers = [validity, pa.py_buffer(column.main)]
    if layout is Layout.VIEW:
        buffers += [pa.py_buffer(source) for source in columns.sources]
        kind = pa.binary_view()
    else:
        buffers.append(pa.py_buffer(column.data))
        kind = pa.binary()
    found: list[bytes | None] = pa.Array.from_buffers(kind, rows, buffers).to_pylist()
    return found
