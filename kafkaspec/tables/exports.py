"""Export records, and Kafka's own messages, to files.

A file is written under a temporary name beside its target and renamed when it is complete, so a
partial file never appears.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, Final, Unpack, cast

import pyarrow as pa

from kafkaspec.arrow.messages.topics import ERROR, kind_of_record, read_messages
from kafkaspec.arrow.record_batches import AnyLog, default_columns, record_batches
from kafkaspec.arrow.schema import DEFAULT_OWN, WITHOUT_COLUMN, request_of
from kafkaspec.arrow.where.condition import Where
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.options import CHUNK_BYTES, ColumnOptions, RangeOptions
from kafkaspec.log.segment import Segment
from kafkaspec.messages.topics import another_topic
from kafkaspec.model import Buffer
from kafkaspec.options import checked
from kafkaspec.output.atomic import file_aside
from kafkaspec.output.places import check_output
from kafkaspec.policy import OnError, RaiseOrColumn
from kafkaspec.tables import TableFormat
from kafkaspec.tables.writers import write_all, writer_of

ExportTarget = str | os.PathLike[str] | IO[bytes]

FILE_CHUNK: Final = 4 << 20
"""Bytes of Kafka data in a record batch of a file, and so in a row group of Parquet. A writer takes
several times as much memory, and with jobs the next ones are made meanwhile; what larger row groups
would give is in ``benchmarks/LIMITS.md``."""


class FileOptions(ColumnOptions, total=False):
    """Options of ``export``: those of ``to_batches``, and what happens with unreadable files."""

    where: Where | None
    on_unreadable: OnError


class MessageFileOptions(RangeOptions, total=False):
    """Options of ``export_messages``, likewise, and progress and jobs."""

    on_unreadable: OnError
    progress: Callable[[str, int], None] | None
    jobs: int


@checked
def export(
    log: AnyLog,
    output: ExportTarget,
    to: TableFormat,
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
    request = request_of((*default_columns(log), *DEFAULT_OWN), columns, **options)
    request = replace(request, progress=progress, jobs=jobs)
    with opened_file(output, log, replace_existing=replace_existing) as file:
        writer = writer_of(to, file, request.schema)
        return write_all(writer, record_batches(log, request), file)


def unasked(*, typed: bool) -> str:
    """Return the fields that only the specification knows, and no default column of a file has.

    Args:
        typed: whether values are decoded.
    """
    arrays = [f"{name} (no column can hold it)" for name in WITHOUT_COLUMN]
    return ", ".join([*(DEFAULT_OWN if typed else ()), *arrays])


@checked
def export_messages(
    log: AnyLog,
    output: ExportTarget,
    to: TableFormat,
    name: str,
    *,
    release: str | None = None,
    on_value_error: RaiseOrColumn = "raise",
    replace_existing: bool = False,
    **options: Unpack[MessageFileOptions],
) -> tuple[int, int]:
    """Write the records of one type of an internal topic to a file, decoded.

    The columns are those of ``Columnar.topic_messages``, nested. In JSON lines, a UUID has Kafka's
    form, other bytes and timestamps are as ``export`` writes them, and unknown tagged fields and
    surplus bytes are left out where there are none.

    Args:
        log: the log to read: of the topic, or a log directory that has it.
        name: the type of record, ``OffsetCommit``.
        release: see ``Columnar.topic_messages``, and for ``on_value_error``.
        on_value_error: ``column`` adds the column ``error``.
        output, to, replace_existing, options: as ``export`` takes them.

    Returns:
        Number of records, and of those that did not decode.

    Raises:
        ValueError: no topic has records of that name, or it is not this topic.
        KafkaSpecError: a record does not decode, and ``raise``; and what ``export`` raises.
    """
    logs_of(log, name, release)
    options.setdefault("max_bytes", FILE_CHUNK)
    reader = read_messages(
        log, name, release=release, on_value_error=on_value_error, layout="binary", **options
    )
    bad = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal bad
        for batch in reader:
            if ERROR in batch.schema.names:
                bad += batch.num_rows - batch.column(ERROR).null_count
            yield batch

    with opened_file(output, log, replace_existing=replace_existing) as file:
        return write_all(writer_of(to, file, reader.schema), counted(), file), bad


def logs_of(log: AnyLog, name: str, release: str | None = None) -> Sequence[AnyLog]:
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


@contextmanager
def opened_file(
    output: ExportTarget, log: AnyLog, *, replace_existing: bool
) -> Iterator[IO[bytes]]:
    """Open the file of an export: a new one, which appears at the end, or a given open one."""
    if not isinstance(output, str | os.PathLike):
        yield cast(IO[bytes], _Stream(output))
        return
    check_output(output, log)
    with file_aside(output, replace=replace_existing) as file:
        yield file


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
