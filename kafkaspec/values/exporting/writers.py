"""Files of typed record batches."""

from __future__ import annotations

from typing import IO, Any, Final, Literal, Protocol

import pyarrow as pa
from pyarrow import csv, parquet

from kafkaspec.values.decoding.masking import masked
from kafkaspec.values.exporting.objects import json_lines
from kafkaspec.values.exporting.tables import (
    converted,
    flattened,
    for_parquet,
    unique_names,
    without_dictionaries,
)

Format = Literal["parquet", "arrow", "jsonl", "csv"]
FORMATS: Final = ("parquet", "arrow", "jsonl", "csv")


class Writer(Protocol):
    """Writes record batches of one schema to an open file."""

    def write_batch(self, batch: pa.RecordBatch) -> None: ...
    def close(self) -> None: ...


class TypedWriter:
    """Writes typed record batches to an open file.

    Args:
        to: format of the file.
        file: the file.
        schema: of the record batches.
        flatten: what stands between the names of a column and its fields, which become columns;
            None keeps structs.

    Raises:
        ValueError: the format cannot have a column.
    """

    def __init__(
        self, to: Format, file: IO[bytes], schema: pa.Schema, flatten: str | None = None
    ) -> None:
        self._flatten = flatten
        if flatten is not None:
            empty = [pa.array([], field.type) for field in schema]
            schema = flattened(pa.RecordBatch.from_arrays(empty, schema=schema), flatten).schema
        change = {"parquet": for_parquet, "arrow": without_dictionaries}.get(to, _same)
        names = unique_names(schema.names)
        fields = zip(names, schema, strict=True)
        self._schema = pa.schema(
            [field.with_name(name).with_type(change(field.type)) for name, field in fields]
        )
        if to == "csv":
            _check_flat(self._schema)
        self._writer = _writer(to, file, self._schema)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch."""
        if self._flatten is not None:
            batch = flattened(batch, self._flatten)
        arrays = [
            masked(converted(array, field.type))
            for array, field in zip(batch.columns, self._schema, strict=True)
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()


def _same(kind: pa.DataType) -> pa.DataType:
    return kind


def _writer(to: Format, file: IO[bytes], schema: pa.Schema) -> Writer:
    writer: Writer
    if to == "parquet":
        writer = parquet.ParquetWriter(file, schema, compression="zstd")
    elif to == "arrow":
        writer = pa.ipc.new_file(file, schema)
    elif to == "csv":
        writer = _Csv(file, schema)
    else:
        writer = _JsonLines(file)
    return writer


def _check_flat(schema: pa.Schema) -> None:
    for field in schema:
        if pa.types.is_nested(field.type) and field.name != "headers":
            raise ValueError(
                f"CSV has no column of type {field.type}: {field.name}; "
                "flatten it, choose other columns, or another format"
            )


class _Csv:
    """Comma-separated values with a header; records' headers are left out, as CSV has no lists."""

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self._kept = [field.name for field in schema if not pa.types.is_nested(field.type)]
        fields = [schema.field(name) for name in self._kept]
        self._schema = pa.schema([field.with_type(_for_csv(field.type)) for field in fields])
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
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if isinstance(kind, pa.BaseExtensionType) or pa.types.is_null(kind) or _is_octets(kind):
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


def _is_octets(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind))


class _JsonLines:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self._file.write(json_lines(batch))

    def close(self) -> None:
        """Do nothing: all lines are written already."""


def check_format(to: Any) -> Format:
    """Return a format.

    Raises:
        ValueError: it is none.
    """
    if to not in FORMATS:
        raise ValueError(f"no format {to!r}; there are {', '.join(FORMATS)}")
    found: Format = to
    return found
