"""Files of tables: one writer for each format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, Final, Protocol

import pyarrow as pa

from kafkaspec.arrow.nested import masked
from kafkaspec.codecs import get_codec
from kafkaspec.layout import names
from kafkaspec.options import checked
from kafkaspec.tables import TableFormat
from kafkaspec.tables.json_plan import json_lines
from kafkaspec.tables.shapes import (
    converted,
    flattened,
    for_parquet,
    unique_names,
    without_dictionaries,
)

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core

_CHANGES: Final = {"parquet": for_parquet, "arrow": without_dictionaries}


class TableWriter(Protocol):
    """Writes record batches of one schema to an open file."""

    def write_batch(self, batch: pa.RecordBatch) -> None: ...
    def close(self) -> None: ...


@checked
def writer_of(
    to: TableFormat,
    file: IO[bytes],
    schema: pa.Schema,
    *,
    fitted: bool = False,
    flatten: str | None = None,
) -> TableWriter:
    """Return a writer for a format.

    Args:
        to: the format.
        file: the file.
        schema: of the record batches.
        fitted: whether the columns are any, and are fitted to what the format has; otherwise they
            are Kafka's own, or those of its messages.
        flatten: with ``fitted``, what stands between the names of a column and its fields, which
            become columns; None keeps structs.

    Raises:
        ValueError: the format is unknown, or cannot have a column.
    """
    writer: TableWriter
    if fitted:
        writer = _Fitted(to, file, schema, flatten)
    elif to == "parquet":
        from pyarrow import parquet

        writer = parquet.ParquetWriter(
            file, schema, compression="zstd", write_statistics=_with_statistics(schema)
        )
    elif to == "arrow":
        writer = pa.ipc.new_file(file, schema)
    elif to == "csv":
        writer = _Csv(file, schema)
    else:
        writer = JsonLinesWriter(file, get_codec().core)
    return writer


def _with_statistics(schema: pa.Schema) -> list[str]:
    """Return the paths of the columns that get statistics: all but those of bytes, without keys.

    The search for the least and the largest takes several times the size of a large value, and a
    file has none for those of more than 4 KiB.
    """
    from pyarrow import parquet

    empty = pa.BufferOutputStream()
    parquet.write_table(schema.empty_table(), empty)
    columns = parquet.read_metadata(pa.BufferReader(empty.getvalue())).schema
    return [
        column.path
        for column in columns
        if column.physical_type != "BYTE_ARRAY"
        or column.logical_type.type != "NONE"
        or column.path == names.KEY
    ]


def write_all(writer: TableWriter, batches: Iterable[pa.RecordBatch], file: IO[bytes]) -> int:
    """Write all record batches and the end of a file, and return the number of rows."""
    rows = 0
    try:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
            del batch  # so that its memory serves the next one
    finally:
        writer.close()
    file.flush()
    return rows


class _Fitted:
    """Writes any columns, in the types and with the names that a format has."""

    def __init__(
        self, to: TableFormat, file: IO[bytes], schema: pa.Schema, flatten: str | None
    ) -> None:
        self._flatten = flatten
        if flatten is not None:
            empty = [pa.array([], field.type) for field in schema]
            schema = flattened(pa.RecordBatch.from_arrays(empty, schema=schema), flatten).schema
        change = _CHANGES.get(to, lambda kind: kind)
        self._schema = pa.schema(
            [
                field.with_name(name).with_type(change(field.type))
                for name, field in zip(unique_names(schema.names), schema, strict=True)
            ]
        )
        self._writer: TableWriter
        if to == "jsonl":
            self._writer = JsonLinesWriter(file, get_codec().core, compact=True)
        else:
            self._writer = writer_of(to, file, self._schema)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        if self._flatten is not None:
            batch = flattened(batch, self._flatten)
        arrays = [
            masked(converted(array, field.type))
            for array, field in zip(batch.columns, self._schema, strict=True)
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


class _Csv:
    """Comma-separated values with a header; records' headers are left out, as CSV has no lists."""

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        from pyarrow import csv

        kept = []
        for field in schema:
            if not pa.types.is_nested(field.type):
                kept.append(field.with_type(_for_csv(field.type)))
            elif field.name != "headers":
                raise ValueError(
                    f"CSV has no column of type {field.type}: {field.name}; "
                    "flatten it, choose other columns, or another format"
                )
        self._schema = pa.schema(kept)
        self._writer = csv.CSVWriter(file, self._schema)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        arrays = []
        for field in self._schema:
            try:
                arrays.append(_text(batch.column(field.name), field.type))
            except pa.ArrowInvalid:
                raise ValueError(
                    f"CSV has text only, and {field.name} has bytes that are not UTF-8; "
                    "choose other columns, or another format"
                ) from None
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


def _for_csv(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_dictionary(kind):
        return kind.value_type
    octets = types.is_binary(kind) or types.is_fixed_size_binary(kind)
    if isinstance(kind, pa.BaseExtensionType) or types.is_null(kind) or octets:
        return pa.string()
    return kind


def _text(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if isinstance(array, pa.ExtensionArray):
        return pa.array([None if item is None else str(item) for item in array.to_pylist()], kind)
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    if pa.types.is_fixed_size_binary(array.type):
        array = array.cast(pa.binary())
    return array.cast(kind)


class JsonLinesWriter:
    """Writes one JSON object per row; without the core, in Python.

    Args:
        file: the file.
        core: the extension.
        compact: see ``json_values.json_lines``.
    """

    def __init__(self, file: IO[bytes], core: Core | None, *, compact: bool = False) -> None:
        self._file = file
        self._core = core
        self._compact = compact

    def write_batch(self, batch: pa.RecordBatch) -> None:
        for text in json_lines(self._core, batch, compact=self._compact):
            self._file.write(text)

    def close(self) -> None:
        """Do nothing: all lines are written already."""
