"""Export typed keys and values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, Unpack

from kafkaspec.arrow.reading import AnyLog
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.options import DecodingOptions
from kafkaspec.options import checked
from kafkaspec.output.atomic import DirectoryAside
from kafkaspec.output.places import check_output
from kafkaspec.tables import TableFormat
from kafkaspec.tables.exports import FILE_CHUNK, ExportTarget, FileOptions, opened_file
from kafkaspec.tables.folders import SCHEMA, SPLITS, TOPIC, Folders, columns_of
from kafkaspec.tables.writers import write_all, writer_of
from kafkaspec.values.fixed import CONNECT_CONFIG, topic_formats
from kafkaspec.values.options import DECODE
from kafkaspec.values.reading.batches import reader_of
from kafkaspec.values.reading.request import Schemas, ValueReport, is_internal, registry_of


class TypedFileOptions(FileOptions, DecodingOptions, total=False):
    """Options of ``export_typed``: those of ``export``, and how keys and values are decoded."""

    jobs: int


@checked
def export_typed(
    log: AnyLog,
    output: ExportTarget,
    to: TableFormat,
    *,
    split_by: Sequence[str] = (),
    flatten: str | None = None,
    columns: Sequence[str] | None = None,
    schemas: Schemas = None,
    topic: str | None = None,
    value: str = DECODE,
    report: ValueReport | None = None,
    replace_existing: bool = False,
    progress: Callable[[str, int], None] | None = None,
    on_topic: Callable[[str, Exception], None] | None = None,
    **options: Unpack[TypedFileOptions],
) -> ValueReport:
    """Write records with typed keys and values to a file, or to files in folders.

    A row without a key or value stays, with a short code in ``value_error`` and ``key_error``,
    unless ``on_value_error`` says otherwise. A struct without fields, which Parquet does not have,
    becomes a boolean. Names that are equal but for case are numbered.

    Args:
        log: the log.
        output: path of the file or, with ``split_by``, of the directory to write; or an open file.
        to: format: ``parquet``, ``arrow``, ``jsonl``, ``csv``.
        split_by: folders to make, the outermost first, of ``topic``, ``partition``, ``day`` (of the
            timestamp, in UTC) and ``schema`` (id of the values' schema): ``topic=orders/...``.
        flatten: what stands between the names of a column and its fields, which become columns;
            None keeps structs.
        columns: names of columns, as ``Columnar.to_typed`` takes them.
        schemas: likewise.
        value: what values are, likewise.
        topic: the topic to export; by default all of them, if there are folders for them.
        report: is filled, see ``ValueReport``.
        replace_existing: whether to replace an existing file; a directory has to be new.
        progress: called with the name of a file and the number of bytes just read from it.
        on_topic: called with a topic that cannot be exported, and why; by default it is raised.
        options: see ``Columnar.to_typed``.

    Raises:
        KafkaSpecError: the log cannot be read, or ``output`` is in it; nothing is written.
        ValueError: an option is none; a format cannot have a column.
        FileExistsError: ``output`` exists.
        OSError: ``output`` cannot be written.
    """
    report = ValueReport() if report is None else report
    wrong = [name for name in split_by if name not in SPLITS]
    if wrong or len(set(split_by)) < len(split_by):
        raise ValueError(f"folders are of {', '.join(SPLITS)}, each of them once")
    if options.get("evolve") == "each" and SCHEMA not in split_by:
        raise ValueError("each schema has a separate file: split by schema")
    options.setdefault("max_bytes", FILE_CHUNK)
    options.setdefault("header_keys", "strict")
    if to == "jsonl":
        options["header_keys"] = "string"
    request: dict[str, Any] = {
        "columns": columns,
        "schemas": schemas,
        "report": report,
        "value": value,
    } | options
    if not split_by:
        reader = reader_of(log, topic=topic, progress=progress, **request)
        with opened_file(output, log, replace_existing=replace_existing) as file:
            writer = writer_of(to, file, reader.schema, fitted=True, flatten=flatten)
            write_all(writer, reader, file)
        return report
    if not isinstance(output, str | os.PathLike):
        raise ValueError("folders need a directory, not an open file")
    if schemas is None and log.path is not None:
        request["schemas"] = registry_of(log, None)
    check_output(output, log)
    aside = DirectoryAside(output)
    try:
        for name in _topics(log, topic, split_by):
            request |= {"topic": name, "progress": progress, "also": columns_of(split_by)}
            request |= {"value": _value_format(name, topic, value, options)}
            try:
                reader = reader_of(log, **request)
                reader.check()
            except KafkaSpecError:
                raise
            except ValueError as error:
                if name is None or name == topic or on_topic is None:
                    raise
                on_topic(name, error)
                continue
            with closing(Folders(aside, to, split_by, flatten, reader.also)) as folders:
                for batch in reader:
                    folders.write(batch)
        aside.commit()
    finally:
        aside.discard()
    return report


def _value_format(name: str | None, asked: str | None, value: str, options: Any) -> str:
    """Return what the values of a topic are read as.

    With all topics of a directory come Connect's configurations, whose secrets nobody asked for.
    """
    formats = None if name is None or name == asked else topic_formats(name)
    if formats is not None and formats[1] == CONNECT_CONFIG and not options.get("secrets"):
        return CONNECT_CONFIG
    return value


def _topics(log: AnyLog, topic: str | None, split_by: Sequence[str]) -> Iterator[str | None]:
    """Yield the topics to export; None for the one of a log that is of one topic."""
    if topic is not None or not isinstance(log, LogDirectory) or TOPIC not in split_by:
        yield topic
        return
    yield from (name for name in log.topics if not is_internal(name))
