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
from typing import IO, TYPE_CHECKING, Any, Final, Literal, Protocol, Unpack, cast

import pyarrow as pa

from kafkaspec.arrow.messages.topics import ERROR, kind_of_record, read_messages
from kafkaspec.arrow.reading import Log, default_columns, record_batches
from kafkaspec.arrow.schema import Request, request_of
from kafkaspec.arrow.where.condition import Where
from kafkaspec.codecs import get_codec
from kafkaspec.columns import json_lines
from kafkaspec.columns.memory import Layout
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.layout.names import TAGGED_FIELDS, UNUSED
from kafkaspec.log.columnar import CHUNK_BYTES, ColumnOptions, OnMessage, RangeOptions
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.segment import Segment
from kafkaspec.log.selection import OnError
from kafkaspec.messages.topics import another_topic
from kafkaspec.model import Buffer
from kafkaspec.options import checked
from kafkaspec.writing.atomic import file_aside
from kafkaspec.writing.places import check_output

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core

Format = Literal["parquet", "arrow", "jsonl"]

FILE_CHUNK: Final = 4 << 20
"""Bytes of Kafka data in a record batch of a file, and so in a row group of Parquet. A writer takes
several times as much memory, and with jobs the next ones are made meanwhile; what larger row groups
would give is in ``benchmarks/LIMITS.md``."""


_SELDOM: Final = frozenset({TAGGED_FIELDS, UNUSED})
"""Fields of messages that JSON lines leave out where there is nothing in them."""


class FileOptions(ColumnOptions, total=False):
    """Options of ``export``: those of ``to_batches``, and what happens with unreadable files."""

    where: Where | None
    on_unreadable: OnError


class MessageFileOptions(RangeOptions, total=False):
    """Options of ``export_messages``, likewise, and progress and jobs."""

    on_unreadable: OnError
    progress: Callable[[str, int], None] | None
    jobs: int


class Writer(Protocol):
    """Writes record batches to an open file."""

    def write_batch(self, batch: pa.RecordBatch) -> None: ...
    def close(self) -> None: ...


@checked
def export(
    log: Log,
    output: str | os.PathLike[str] | IO[bytes],
    to: Format,
    *,
    columns: Sequence[str] | None = None,
    replace_existing: bool = False,
    progress: Callable[[str, int], None] | None = None,
    jobs: int = 1,
    **options: Unpack[FileOptions],
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
        jobs: number of threads: one that writes, the others read ahead.
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
    if to == "jsonl":  # whatever is in the input, from where it is
        options = {"header_keys": "binary", "max_bytes": CHUNK_BYTES} | options
        options["layout"] = "view"
    else:
        options = {"header_keys": "strict", "max_bytes": FILE_CHUNK} | options
        options["layout"] = "binary"
    request = request_of(default_columns(log), columns, **options)
    request = replace(request, progress=progress, jobs=jobs)
    if isinstance(output, str | os.PathLike):
        check_output(output, log)
        with file_aside(output, replace=replace_existing) as file:
            return _write(log, request, to, file)
    return _write(log, request, to, cast(IO[bytes], _Stream(output)))


@checked
def export_messages(
    log: Log,
    output: str | os.PathLike[str] | IO[bytes],
    to: Format,
    name: str,
    *,
    release: str | None = None,
    on_message: OnMessage = "fail",
    replace_existing: bool = False,
    **options: Unpack[MessageFileOptions],
) -> tuple[int, int]:
    """Write the records of one type of an internal topic to a file, decoded.

    The columns are those of ``Columnar.topic_messages``, nested. In JSON lines, a UUID has Kafka's
    form, other bytes and timestamps are as ``export`` writes them, and unknown tagged fields and
    surplus bytes are left out where there are none.

    Args:
        log: the log to read: of the topic, or a log directory that has it.
        output: see ``export``.
        to: format of the file.
        name: the type of record, ``OffsetCommit``.
        release: see ``Columnar.topic_messages``, and for ``on_message``.
        on_message: ``keep`` adds the column ``error``.
        replace_existing: whether to replace an existing file.
        options: ranges, ``isolation``, ``log_start``, ``on_error``, ``on_unreadable``, ``jobs`` and
            ``progress``, as ``export`` takes them.

    Returns:
        Number of records, and of those that did not decode.

    Raises:
        ValueError: no topic has records of that name, or it is not this topic.
        KafkaSpecError: the log cannot be read, or a record does not decode, and ``fail``.
        FileExistsError: ``output`` exists.
        OSError: ``output`` cannot be written.
    """
    logs_of(log, name, release)
    options.setdefault("max_bytes", FILE_CHUNK)
    reader = read_messages(
        log, name, release=release, on_message=on_message, layout="binary", **options
    )
    if not isinstance(output, str | os.PathLike):
        return _write_all(reader, to, cast(IO[bytes], _Stream(output)))
    check_output(output, log)
    with file_aside(output, replace=replace_existing) as file:
        return _write_all(reader, to, file)


def logs_of(log: Log, name: str, release: str | None = None) -> Sequence[Log]:
    """Return what ``export_messages`` reads: the log, or partitions of a log directory.

    Raises:
        ValueError: no topic has records of that name, or it is not this topic.
    """
    topic = kind_of_record(name, release).topic
    if isinstance(log, LogDirectory):
        found = [partition for partition in log.current if partition.topic == topic]
        if not found:
            raise ValueError(f"{log.path} has no partition of {topic}, where {name} records are")
        return found
    own = another_topic(log.path, topic, segment=isinstance(log, Segment))
    if own is not None:
        raise ValueError(f"{log.path} is of {own}; {name} records are in {topic}")
    return [log]


def _write_all(reader: pa.RecordBatchReader, to: Format, file: IO[bytes]) -> tuple[int, int]:
    rows = bad = 0
    writer = writer_of(to, file, reader.schema)
    try:
        for batch in reader:
            writer.write_batch(batch)
            rows += batch.num_rows
            if ERROR in batch.schema.names:
                bad += batch.num_rows - batch.column(ERROR).null_count
    finally:
        writer.close()
    file.flush()
    return rows, bad


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
    writer = writer_of(to, file, request.schema)
    try:
        for batch in record_batches(log, request):
            writer.write_batch(batch)
            rows += batch.num_rows
            del batch  # so that its memory serves the next one
    finally:
        writer.close()
    file.flush()
    return rows


def writer_of(to: Format, file: IO[bytes], schema: pa.Schema) -> Writer:
    """Return a writer for a format.

    Raises:
        ValueError: the format is unknown.
    """
    writer: Writer
    if to == "parquet":
        from pyarrow import parquet

        writer = parquet.ParquetWriter(file, schema, compression="zstd")
    elif to == "arrow":
        writer = pa.ipc.new_file(file, schema)
    elif to == "jsonl":
        writer = JsonLines(file, get_codec().core)
    else:
        raise ValueError(f"no format {to!r}; there are parquet, arrow, jsonl")
    return writer


class JsonLines:
    """Writes one JSON object per record.

    Args:
        file: the open file.
        core: the extension, which makes the lines; without it they are made in Python.
    """

    def __init__(self, file: IO[bytes], core: Core | None) -> None:
        self._file = file
        self._core = core

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write the records of a batch."""
        if self._core is None or any(map(pa.types.is_struct, batch.schema.types)):
            self._file.write(_lines(batch).encode())
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


def _in_core(name: str, array: pa.Array) -> tuple[json_lines.Field, json_lines.Column | None]:
    """Return a field of a line, and its column as the core takes it."""
    kind = array.type
    if pa.types.is_null(kind):
        return json_lines.Field(name, json_lines.NULL), None
    if pa.types.is_list(kind):
        # Their children are those of the whole array, whatever part of it this is.
        keys, values = (array.values.field(number) for number in range(2))
        offsets = array.buffers()[1]
        column = json_lines.pairs(
            offsets, len(array.values), _strings(keys), _strings(values), array.offset
        )
        return json_lines.Field(name), column
    if _is_text(kind):
        return json_lines.Field(name), _strings(array)
    shown: Sequence[str] = ()
    if pa.types.is_dictionary(kind):
        shown = [json.dumps(text) for text in array.dictionary.to_pylist()]
        array = array.indices
    elif pa.types.is_boolean(kind):
        shown = json_lines.BOOLEANS
    elif pa.types.is_timestamp(kind):
        array = array.view(pa.int64())
    array = array if array.type == pa.int64() else array.cast(pa.int64())
    validity, integers = array.buffers()
    return json_lines.Field(name, shown=shown), json_lines.numbers(integers, array.offset, validity)


def _strings(array: pa.Array) -> json_lines.Column:
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


def _lines(batch: pa.RecordBatch) -> str:
    """Return the lines of a record batch, made in Python."""
    names = [json.dumps(name) for name in batch.schema.names]
    return "".join(
        "{" + ", ".join(f"{name}: {text}" for name, text in zip(names, row, strict=True)) + "}\n"
        for row in zip(*map(_values, batch.columns), strict=True)
    )


def _values(column: pa.Array) -> list[str]:
    kind = column.type
    if _is_text(kind):
        return [_bytes(value) for value in column.to_pylist()]
    if pa.types.is_struct(kind):
        return [
            json.dumps(_nested(kind, value), ensure_ascii=False) for value in column.to_pylist()
        ]
    if pa.types.is_list(kind):
        return [_pairs(value) for value in column.to_pylist()]
    if pa.types.is_timestamp(kind):
        column = column.view(pa.int64())
    return [json.dumps(value) for value in column.to_pylist()]


def _bytes(data: bytes | str | None) -> str:
    if data is None:
        return json_lines.NULL
    try:
        return json.dumps(data if isinstance(data, str) else data.decode(), ensure_ascii=False)
    except UnicodeDecodeError:
        assert isinstance(data, bytes)
        return f'{{"base64": "{b64encode(data).decode("ascii")}"}}'


def _nested(kind: pa.DataType, value: Any) -> Any:
    """Return a value of a message as JSON has it."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {
            field.name: _nested(field.type, value[field.name])
            for field in kind
            if field.name not in _SELDOM or value[field.name]
        }
    if pa.types.is_list(kind):
        return [_nested(kind.value_type, item) for item in value]
    if pa.types.is_fixed_size_binary(kind) and kind.byte_width == kafka_uuid.SIZE:
        return kafka_uuid.bytes_to_text(value)
    return json.loads(_bytes(value)) if isinstance(value, bytes) else value


def _pairs(headers: list[dict[str, Any]]) -> str:
    pairs = (f"[{_bytes(pair['key'])}, {_bytes(pair['value'])}]" for pair in headers)
    return f"[{', '.join(pairs)}]"
