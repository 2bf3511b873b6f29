"""Rows of a lake as all readers see them: one type for each column, in the order asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyarrow import types


def plain(kind: pa.DataType) -> pa.DataType:
    """Return a type without what libraries choose: large offsets, views, names of items."""
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind):
        return pa.binary()
    if types.is_list(kind) or types.is_large_list(kind):
        return pa.list_(plain(kind.value_type))
    if types.is_map(kind):
        return pa.map_(plain(kind.key_type), plain(kind.item_type))
    if types.is_struct(kind):
        return pa.struct([(field.name, plain(field.type)) for field in kind])
    return kind


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema of plain types, all nullable, without metadata."""
    return pa.schema([(field.name, plain(field.type)) for field in schema])


def plain_rows(reader: pa.RecordBatchReader, columns: Sequence[str] | None) -> pa.RecordBatchReader:
    """Return the rows of a reader in plain types, and its columns in the order asked for."""
    found = plain_schema(reader.schema)
    schema = found if columns is None else pa.schema([found.field(name) for name in columns])

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            arrays = [batch.column(field.name).cast(field.type) for field in schema]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())
