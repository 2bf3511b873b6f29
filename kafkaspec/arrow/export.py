"""Export records to files: Parquet, Arrow IPC, JSON lines.

A file is written under a temporary name beside its target and renamed when it is complete, so a
partial file never appears.
"""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import IO, Any, Final, Literal, Protocol, cast

import pyarrow as pa

from kafkaspec.arrow.reading import Log, default_columns, record_batches
from kafkaspec.arrow.schema import Request, request_of
from kafkaspec.model import Buffer
from kafkaspec.writing.atomic import file_aside
from kafkaspec.writing.places import check_output

Format = Literal["parquet", "arrow", "jsonl"]

FILE_CHUNK: Final = 32 << 20
"""Bytes of Kafka data in a record batch of a file, and so in a row group of Parquet."""


class Writer(Protocol):
    """Writes record batches to an open file."""

    def write_batch(self, batch: pa.RecordBatch) -> None: ...
    def close(self) -> None: ...


def export(
    log: Log,
    output: str | os.PathLike[str] | IO[bytes],
    to: Format,
    *,
    columns: Sequence[str] | None = None,
    replace_existing: bool = False,
    progress: Callable[[str, int], None] | None = None,
    **options: Any,
) -> int:
    """Write records to a file.

    No value is changed: one that the format cannot express is an error. A header key that is not
    UTF-8 needs ``header_keys="binary"``, except in JSON lines, which take it in any case. Bytes are
    ``binary`` in Parquet and Arrow; timestamps are in milliseconds, UTC. In JSON lines, bytes are
    strings if they are UTF-8 and ``{"base64": "..."}`` otherwise, timestamps are numbers, and
    headers are pairs.

    Args:
        log: the log to read.
        output: path of the file to write; or an open file, which need not be seekable, and which
            keeps what was written before an error.
        to: format of the file.
        columns: names of columns, as ``Columnar.to_batches`` takes them.
        replace_existing: whether to replace an existing file.
        progress: called with the name of a file and the number of bytes just read from it.
        options: ranges, ``include_control``, ``isolation``, ``log_start``, ``on_error`` and
            ``header_keys`` of ``Columnar.to_batches``. ``on_unreadable`` says, as ``on_error``
            does, what happens with a partition or segment that cannot be read at all.

    Returns:
        Number of records.

    Raises:
        KafkaSpecError: the log cannot be read, or ``output`` is in it; no file is written.
        FileExistsError: ``output`` exists.
        OSError: ``output`` cannot be written.
    """
    exact = "binary" if to == "jsonl" else "strict"
    options = {"header_keys": exact, "max_bytes": FILE_CHUNK} | options
    request = request_of(default_columns(log), columns, layout="binary", **options)
    request = replace(request, progress=progress)
    if isinstance(output, str | os.PathLike):
        check_output(output, log)
        with file_aside(output, replace=replace_existing) as file:
            return _write(log, request, to, file)
    return _write(log, request, to, cast(IO[bytes], _Stream(output)))


class _Stream:
    """A file that counts its bytes, since a pipe does not know its position."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._position = 0

    def write(self, data: Buffer) -> int:
        self._position += memoryview(data).nbytes
        return self._file.write(data)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        self._file.flush()


def _write(log: Log, request: Request, to: Format, file: IO[bytes]) -> int:
    """Write all record batches, and return the number of records."""
    rows = 0
    writer = writer_of(to, file, request)
    try:
        for batch in record_batches(log, request):
            writer.write_batch(batch)
            rows += batch.num_rows
    finally:
        writer.close()
    file.flush()
    return rows


def writer_of(to: Format, file: IO[bytes], request: Request) -> Writer:
    """Return a writer for a format.

    Raises:
        ValueError: the format is unknown.
    """
    writer: Writer
    if to == "parquet":
        from pyarrow import parquet

        writer = parquet.ParquetWriter(file, request.schema, compression="zstd")
    elif to == "arrow":
        writer = pa.ipc.new_file(file, request.schema)
    elif to == "jsonl":
        writer = JsonLines(file, request)
    else:
        raise ValueError(f"no format {to!r}; there are parquet, arrow, jsonl")
    return writer


class JsonLines:
    """Writes one JSON object per record.

    Args:
        file: the open file.
        request: the request that the columns come from.
    """

    def __init__(self, file: IO[bytes], request: Request) -> None:
        self._file = file
        self._schema = request.schema

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write the records of a batch."""
        columns = [self._values(batch.column(i)) for i in range(batch.num_columns)]
        names = [json.dumps(name) for name in batch.schema.names]
        lines = [
            "{" + ", ".join(f"{name}: {text}" for name, text in zip(names, row, strict=True)) + "}"
            for row in zip(*columns, strict=True)
        ]
        self._file.write(("\n".join(lines) + "\n").encode())

    def close(self) -> None:
        """Do nothing: all lines are written already."""

    def _values(self, column: pa.Array) -> list[str]:
        kind = column.type
        if pa.types.is_binary(kind):
            return [_bytes(value) for value in column.to_pylist()]
        if pa.types.is_list(kind):
            return [_pairs(value) for value in column.to_pylist()]
        if pa.types.is_timestamp(kind):
            column = column.view(pa.int64())
        return [json.dumps(value) for value in column.to_pylist()]


def _bytes(data: bytes | str | None) -> str:
    if data is None:
        return "null"
    try:
        return json.dumps(data if isinstance(data, str) else data.decode(), ensure_ascii=False)
    except UnicodeDecodeError:
        assert isinstance(data, bytes)
        return f'{{"base64": "{b64encode(data).decode("ascii")}"}}'


def _pairs(headers: list[dict[str, Any]]) -> str:
    pairs = (f"[{_bytes(pair['key'])}, {_bytes(pair['value'])}]" for pair in headers)
    return f"[{', '.join(pairs)}]"
