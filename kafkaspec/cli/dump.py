"""``kafkaspec dump``: print records, or headers of batches."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import click

from kafkaspec.cli.dump_json import WRITERS, BytesWriter, batch_line, control_texts, record_lines
from kafkaspec.cli.dump_text import TextDump
from kafkaspec.cli.exits import FINDINGS, USAGE
from kafkaspec.cli.inputs import Inputs
from kafkaspec.cli.options import LogPath, codec_option, format_option
from kafkaspec.cli.text_files import dump_lines, refuse_options
from kafkaspec.codecs import Origin
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.log.batch import Batch, CrcPolicy
from kafkaspec.log.control import ControlRecord, decode_control
from kafkaspec.model import Record

_EPILOG = """\b
Output of --format json, one object a record:
  file            path of the segment
  position        byte offset of the batch in it
  offset          offset of the record
  timestamp       milliseconds since the Unix epoch, null for none
  timestamp_type  CreateTime, LogAppendTime, NoTimestampType (magic 0)
  magic           0, 1 or 2
  format          only of entries of Kafka 0.7: "0.7"
  compression     none, gzip, snappy, lz4, zstd
  key, value      a string where the bytes are UTF-8, {"base64": "..."} where
                  they are not, null for null
  headers         list of [key, value], bytes as above
  producer_id, producer_epoch, sequence
                  -1 for none
  transactional   true or false
  control         null, or the control record: type (ABORT, COMMIT ...; null
                  if it is not known), type_id, version, value

\b
With --batches one object a batch: its header as it is stored, and whether its
checksum is right. Exit codes: 0 all was read, 1 something could not be
decoded (reported on stderr, the rest is there), 2 wrong usage or unreadable.
"""

_LINES_AT_ONCE = 64


@click.command("dump", epilog=_EPILOG)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=LogPath())
@click.option("--batches", is_flag=True, help="Print headers of batches instead of records.")
@click.option(
    "--bytes",
    "bytes_form",
    type=click.Choice(["text", "base64"]),
    default="text",
    show_default=True,
    help="JSON form of bytes: text if they are UTF-8, or base64 for all.",
)
@click.option("--from-offset", type=int, metavar="N", help="First offset to print.")
@click.option(
    "--limit", type=click.IntRange(min=0), metavar="N", help="Maximum number of records or batches."
)
@click.option(
    "--crc",
    type=click.Choice(["error", "ignore"]),
    default="error",
    show_default=True,
    help="Report and skip batches with a wrong checksum, or do not check.",
)
@codec_option()
@format_option
@click.pass_context
def dump_command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    batches: bool,
    bytes_form: str,
    from_offset: int | None,
    limit: int | None,
    crc: CrcPolicy,
    codec: str,
    output_format: str,
) -> None:
    """Print records, control records included, or headers of batches.

    A PATH is a segment (.log, or .kafka of Kafka 0.7), a KRaft snapshot (.checkpoint), a
    partition directory or a whole log directory. JSON is lossless, and one line a record. Text is
    for reading; it shows long keys and values in part.

    A text file (leader-epoch-checkpoint, meta.properties ...) given as PATH is printed
    too, before the logs: one line for each entry of a checkpoint, one for any other file.
    """
    text_paths = [path for path in paths if names.is_text(path.name)]
    inputs = Inputs([path for path in paths if path not in text_paths], codec, crc)
    text = TextDump()
    lines: Iterator[str]
    if batches and output_format == "json":
        lines = (batch_line(batch, file) for batch, file in inputs.batches(from_offset))
    elif batches:
        lines = (text.batch_line(batch, file) for batch, file in inputs.batches(from_offset))
    elif output_format == "json":
        lines = _json_records(inputs, from_offset, codec, WRITERS[bytes_form])
    else:
        lines = _text_records(inputs, from_offset, codec, text)
    if text_paths:
        refuse_options(batches=batches, from_offset=from_offset is not None)
        lines = chain(dump_lines(text_paths, output_format, inputs), lines)
    _write(islice(lines, limit))
    if inputs.unreadable:
        ctx.exit(USAGE)
    if inputs.broken:
        ctx.exit(FINDINGS)


def _contents(inputs: Inputs, from_offset: int | None) -> Iterator[tuple[Batch, list[Record], str]]:
    """Yield batches with their wanted records, and report errors."""
    for batch, file in inputs.batches(from_offset):
        try:
            records = batch.records()
        except KafkaSpecError as error:
            inputs.cannot_decode(error)
            continue
        if from_offset is not None:
            records = [record for record in records if record.offset >= from_offset]
        yield batch, records, file


def _controls(
    inputs: Inputs, batch: Batch, records: list[Record], file: str, codec: str
) -> list[ControlRecord] | None:
    """Return the decoded control records of a control batch, None if they cannot be decoded."""
    origin = Origin(file, batch.position, path=batch.payload_path)
    try:
        return [decode_control(record, codec=codec, origin=origin) for record in records]
    except KafkaSpecError as error:
        inputs.cannot_decode(error)
        return None


def _json_records(
    inputs: Inputs, from_offset: int | None, codec: str, write: BytesWriter
) -> Iterator[str]:
    for batch, records, file in _contents(inputs, from_offset):
        try:
            controls = control_texts(batch, records, codec, write)
        except KafkaSpecError as error:
            inputs.cannot_decode(error)
            controls = None
        yield from record_lines(batch, records, file, write, controls)


def _text_records(
    inputs: Inputs, from_offset: int | None, codec: str, text: TextDump
) -> Iterator[str]:
    for batch, records, file in _contents(inputs, from_offset):
        decoded = _controls(inputs, batch, records, file, codec) if batch.is_control else None
        if decoded is None:
            yield from text.record_lines(records, file)
        else:
            yield from text.control_lines(batch, decoded, file)


def _write(lines: Iterator[str]) -> None:
    """Write lines as UTF-8, many at a time."""
    out = sys.stdout.buffer
    while chunk := "".join(islice(lines, _LINES_AT_ONCE)):
        out.write(chunk.encode("utf-8", "surrogateescape"))
    out.flush()
