"""Files of tables: one writer for each format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, Final, Protocol

import pyarrow as pa

from kafkaspec.arrow.nested import masked
from kafkaspec.codecs import get_codec
from kafkaspec.columns import json_lines
from kafkaspec.columns.memory import Layout
from kafkaspec.options import checked
from kafkaspec.tables import TableFormat
from kafkaspec.tables.json_values import json_lines as lines_of
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

        writer = parquet.ParquetWriter(file, schema, compression="zstd")
    elif to == "arrow":
        writer = pa.ipc.new_file(file, schema)
    elif to == "csv":
        writer = _Csv(file, schema)
    else:
        writer = JsonLinesWriter(file, get_codec().core)
    return writer


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
            self._writer = JsonLinesWriter(file, None, compact=True)
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
    """Writes one JSON object per row; without the core, and for nested columns, in Python."""

    def __init__(self, file: IO[bytes], core: Core | None, *, compact: bool = False) -> None:
        self._file = file
        self._core = core
        self._compact = compact

    def write_batch(self, batch: pa.RecordBatch) -> None:
        if self._core is None or any(map(_is_beyond_core, batch.schema.types)):
            self._file.write(lines_of(batch, compact=self._compact))
            return
        shown = [
            _in_core(json.dumps(name), column)
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        lines = json_lines.JsonLines(self._core, [field for field, _ in shown])
        given = [column for _, column in shown if column is not None]
        for text in lines.of(given, batch.num_rows):
            self._file.write(text)

    def close(self) -> None:
        """Do nothing: all lines are written already."""


def _in_core(
    name: str, array: pa.Array
) -> tuple[json_lines.LineField, json_lines.LineColumn | None]:
    """Return a field of a line, and its column as the core takes it."""
    kind = array.type
    if pa.types.is_null(kind):
        return json_lines.LineField(name, json_lines.NULL), None
    if pa.types.is_list(kind):
        # Their children are those of the whole array, whatever part of it this is.
        keys, values = (array.values.field(number) for number in range(2))
        offsets = array.buffers()[1]
        column = json_lines.pairs(
            offsets, len(array.values), _strings(keys), _strings(values), array.offset
        )
        return json_lines.LineField(name), column
    if _is_text(kind):
        return json_lines.LineField(name), _strings(array)
    shown: Sequence[str] = ()
    if pa.types.is_dictionary(kind):
        texts = array.dictionary.to_pylist()
        shown = [json.dumps(text, ensure_ascii=False) for text in texts]
        array = array.indices
    elif pa.types.is_boolean(kind):
        shown = json_lines.BOOLEANS
    elif pa.types.is_timestamp(kind):
        array = array.view(pa.int64())
    array = array if array.type == pa.int64() else array.cast(pa.int64())
    validity, integers = array.buffers()
    return json_lines.LineField(name, shown=shown), json_lines.numbers(
        integers, array.offset, validity
    )


def _strings(array: pa.Array) -> json_lines.LineColumn:
    validity, main, *data = array.buffers()
    binary = pa.types.is_binary(array.type) or pa.types.is_string(array.type)
    layout = Layout.BINARY if binary else Layout.VIEW
    present = [b"" if item is None else item for item in data]
    if main is None:  # no rows
        main = bytes(16)
    return json_lines.strings(layout, main, present, array.offset, validity)


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_binary(kind)
        or types.is_string(kind)
        or types.is_binary_view(kind)
        or types.is_string_view(kind)
    )


def _is_beyond_core(kind: pa.DataType) -> bool:
    """Return whether the core makes no JSON of a type: structures, and what 64 bits cannot hold."""
    tests = (pa.types.is_struct, pa.types.is_floating, pa.types.is_uint64)
    return any(test(kind) for test in tests)
