"""``kafkaspec dump``: print records, or headers of batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, compress, islice
from pathlib import Path
from typing import Any

import click

from kafkaspec.cli.console import note, size_text, write_lines
from kafkaspec.cli.dump_json import WRITERS, batch_line, decode_controls, record_lines
from kafkaspec.cli.dump_text import TextDump
from kafkaspec.cli.inputs import Inputs
from kafkaspec.cli.options import (
    MISSING_EPILOG,
    codec_option,
    crc_option,
    epilog,
    format_option,
    no_mmap_option,
    paths_or_urls_argument,
    selection_options,
)
from kafkaspec.cli.outputs import (
    OUTPUT_EPILOG,
    file_option,
    force_option,
    is_file,
    opened_output,
)
from kafkaspec.cli.text_files import dump_lines, refuse_options
from kafkaspec.codecs import get_codec
from kafkaspec.compression import NAMES
from kafkaspec.conversion.fields import RecordValues, values_of_records
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.layout.kinds import MAGICS
from kafkaspec.log.batch import Batch, CrcPolicy
from kafkaspec.log.control import ControlRecord
from kafkaspec.log.pieces import runs_of
from kafkaspec.log.selection import report
from kafkaspec.model import Record

_EPILOG = epilog(
    f"""\
Output of --format json, one object for each record:
  file            path of the segment
  position        byte offset of the batch in it
  offset          offset of the record
  timestamp       milliseconds since the Unix epoch, null for none
  timestamp_type  CreateTime, LogAppendTime, NoTimestampType (magic 0)
  magic           {", ".join(map(str, MAGICS))}
  format          only of entries of Kafka 0.7: "0.7"
  compression     {", ".join(NAMES)}
  key, value      a string where the bytes are UTF-8, {{"base64": "..."}} where
                  they are not, null for null
  headers         list of [key, value], bytes as above
  producer_id, producer_epoch, sequence
                  -1 for none
  transactional   true or false
  control         null, or the control record: type (ABORT, COMMIT ...; null
                  if it is not known), type_id, version, value
  fields          only where there are any: other fields of the format that do
                  not have their default
""",
    """\
With --batches, one object for each batch: its header as stored, and whether its
checksum is right.
""",
    OUTPUT_EPILOG,
    MISSING_EPILOG,
    """\
Exit codes: 0 all was read, 1 something is missing or cannot be read (stderr says
what, and the rest is printed), 2 wrong usage, or nothing of a PATH can be read.
""",
)

_RECORDS_AT_ONCE = 1 << 13

_Content = tuple[
    Batch, Sequence[Record], list[ControlRecord] | None, Sequence[RecordValues] | None, str
]


@click.command("dump", epilog=_EPILOG)
@paths_or_urls_argument
@click.option("--batches", is_flag=True, help="Print the headers of batches instead of records.")
@click.option(
    "--bytes",
    "bytes_form",
    type=click.Choice(["text", "base64"]),
    default="text",
    show_default=True,
    help="Bytes in JSON: text where they are UTF-8, or always base64.",
)
@selection_options(on_error="skip")
@click.option(
    "--limit", type=click.IntRange(min=0), metavar="N", help="Maximum number of records or batches."
)
@file_option(required=False)
@force_option
@crc_option("Report and skip batches with a wrong checksum, or do not check.")
@codec_option()
@no_mmap_option
@format_option
@click.pass_context
def dump_command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    batches: bool,
    bytes_form: str,
    limit: int | None,
    output: Path | None,
    force: bool,
    crc: CrcPolicy,
    codec: str,
    output_format: str,
    selection: dict[str, Any],
) -> None:
    """Print records, including control records, or the headers of batches.

    A PATH is a segment (.log, or .kafka of Kafka 0.7), a KRaft snapshot (.checkpoint), a
    partition directory or a whole log directory, or the URL of one (s3://..., with fsspec). JSON
    has one line for each record and loses nothing. Text is for people, and shortens long keys and
    values.

    A PATH can also be a text file (leader-epoch-checkpoint, meta.properties ...). Text files come
    first: one line for each entry of a checkpoint, one line for any other file.
    """
    text_paths = [path for path in paths if names.is_text(path.name)]
    others = [path for path in paths if path not in text_paths]
    inputs = Inputs(others, codec, crc, selection)
    text = TextDump()
    lines: Iterator[str]
    as_json = output_format == "json"
    if batches:
        show = batch_line if as_json else text.batch_line
        lines = (show(batch, file) for batch, file, _ in inputs.batches())
    else:
        write = WRITERS[bytes_form]
        lines = chain.from_iterable(
            record_lines(batch, records, file, write, controls, others)
            if as_json
            else text.record_lines(batch, records, controls, file)
            for batch, records, controls, others, file in _contents(
                inputs, codec, with_others=as_json
            )
        )
    if text_paths:
        refuse_options(batches=batches, from_offset=selection["start_offset"] is not None)
        lines = chain(dump_lines(text_paths, output_format, inputs), lines)
    with opened_output(output, *paths, replace=force) as out:
        write_lines(islice(lines, limit), out)
        inputs.finish()
        if inputs.failed:
            ctx.exit(inputs.exit_code)
    if output is not None and is_file(output):
        note(f"{size_text(output.stat().st_size)} to {output}")
    ctx.exit(inputs.exit_code)


def _contents(inputs: Inputs, codec: str, *, with_others: bool) -> Iterator[_Content]:
    """Yield batches with their wanted records, control records also decoded; report errors.

    A large batch comes more than once, with some of its records each time.
    """
    for batch, file, wanted in inputs.batches():
        try:
            whole = batch.records()
            values = values_of_records(batch, get_codec(codec)) if with_others else None
        except KafkaSpecError as error:
            report(wanted.on_error, error)
            continue
        first = 0
        for records in runs_of(whole, _RECORDS_AT_ONCE):
            others = None if values is None else values[first : first + len(records)]
            first += len(records)
            if wanted.is_range:
                kept = [wanted.keeps(record) for record in records]
                records = list(compress(records, kept))
                others = None if others is None else list(compress(others, kept))
            controls = None
            try:
                controls = decode_controls(batch, records, codec)
            except KafkaSpecError as error:
                report(wanted.on_error, error)
            yield batch, records, controls, others, file
