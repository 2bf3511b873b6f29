"""``kafkaspec dump``: print records, or headers of batches."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, compress, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from kafkaspec.cli.command import command, option
from kafkaspec.cli.commands.dump_columns import JsonMaker, Maker, read_lines
from kafkaspec.cli.commands.dump_format import (
    FORMAT_EPILOG,
    DumpFormat,
    FormatMaker,
    FormatString,
    place_of,
)
from kafkaspec.cli.commands.dump_json import (
    MEANINGS,
    WRITERS,
    _Key,
    batch_line,
    decode_controls,
    record_lines,
)
from kafkaspec.cli.commands.dump_kafka import KAFKA, Asked, kafka_options
from kafkaspec.cli.commands.dump_text import TextDump
from kafkaspec.cli.commands.text_files import dump_lines, is_other, refuse_options
from kafkaspec.cli.console import note, size_text, write_lines
from kafkaspec.cli.inputs import Inputs
from kafkaspec.cli.options import (
    MISSING_EPILOG,
    Codec,
    Decode,
    Jobs,
    PathsOrUrls,
    WhereText,
    condition_of,
    crc_option,
    selection_options,
)
from kafkaspec.cli.outputs import (
    OUTPUT_EPILOG,
    Force,
    OutputContent,
    file_option,
    is_file,
    opened_output,
)
from kafkaspec.cli.typed import TYPED_EPILOG, taken, tell, typed_options
from kafkaspec.codecs import get_codec
from kafkaspec.conversion.fields import RecordValues, values_of_records
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.batch import Batch
from kafkaspec.log.control import ControlRecord
from kafkaspec.log.pieces import runs_of
from kafkaspec.log.segment import Segment
from kafkaspec.log.selection import Selection, selected_batches
from kafkaspec.messages.topics import topic_of
from kafkaspec.model import Buffer, Record
from kafkaspec.policy import CrcPolicy, report

if TYPE_CHECKING:
    from kafkaspec.arrow.where.condition import Where
    from kafkaspec.cli.commands.dump_messages import MessageLines

_WIDTH = 14
"""Of a name before its meaning in the help text."""


def _meaning(names: Iterable[str], meaning: str) -> str:
    name, blank = ", ".join(names), " " * (_WIDTH + 4)
    first = f"  {name:<{_WIDTH}}  " if len(name) <= _WIDTH else f"  {name}\n{blank}"
    return first + meaning.replace("\n", f"\n{blank}")


_EPILOG = f"""
Output of --format json, one object for each record:
{chr(10).join(_meaning(*item) for item in MEANINGS)}

With --batches, one object for each batch: its header as stored, and whether its
checksum is right.

{FORMAT_EPILOG.rstrip()}

{TYPED_EPILOG.rstrip()}

{OUTPUT_EPILOG.rstrip()}

{MISSING_EPILOG.rstrip()}

Exit codes: 0 all was read, 1 something is missing or cannot be read (stderr says
what, and the rest is printed), 2 wrong usage, or nothing in a PATH can be read.
"""

_RECORDS_AT_ONCE = 1 << 13
_LINE_END = re.compile(rb"\n")
_FEW = 1 << 13
"""Records up to which they are read batch by batch, and no more is read than they need."""

_Content = tuple[Sequence[Record], list[ControlRecord] | None, Sequence[RecordValues] | None]


class _Decoding:
    """Which files are of internal topics, and what decodes their records.

    Args:
        codec: name of the codec that reads.
        wanted: whether messages are to be shown; otherwise no file is of such a topic.
    """

    def __init__(self, codec: str, *, wanted: bool) -> None:
        self._codec, self._wanted = codec, wanted
        self._known: dict[str, MessageLines] = {}

    def of(self, file: str | None) -> MessageLines | None:
        """Return what decodes the records of a file, None where they are the user's."""
        topic = topic_of(file) if self._wanted and file is not None else None
        if topic is None:
            return None
        if topic not in self._known:
            from kafkaspec.cli.commands.dump_messages import MessageLines

            self._known[topic] = MessageLines(topic, self._codec)
        return self._known[topic]


@command(None, _EPILOG)
def dump_command(
    ctx: click.Context,
    *,
    paths: PathsOrUrls,
    batches: bool = option("Print the headers of batches instead of records."),
    bytes_form: str = option(
        "--bytes",
        "Bytes in JSON: text where they are UTF-8, or always base64.",
        type=click.Choice(["text", "base64"]),
        default="text",
    ),
    decode: Decode,
    selection: Annotated[dict[str, Any], selection_options(on_error="skip")],
    where: WhereText,
    limit: int | None = option(
        "Maximum number of records or batches.", type=click.IntRange(min=0), metavar="N"
    ),
    output: Annotated[Path | None, file_option(required=False)],
    force: Force,
    crc: Annotated[
        CrcPolicy, crc_option("Report and skip batches with a wrong checksum, or do not check.")
    ],
    codec: Codec,
    jobs: Jobs,
    output_format: str | FormatString = option(
        "-f",
        "--format",
        "Text, JSON lines (one object per line), the text of Kafka's own dump tool, or a format "
        "string as kcat has it: '%t %p %o: %k = %s\\n'.",
        type=DumpFormat("text", "json", KAFKA),
        default="text",
    ),
    kafka: Annotated[Asked, kafka_options],
    **arguments: Annotated[Any, typed_options],
) -> None:
    """Print records, including control records, or the headers of batches.

    A PATH is a segment (.log, or .kafka of Kafka 0.7), a KRaft snapshot (.checkpoint), a
    partition directory or a whole log directory, or the URL of one (s3://..., with fsspec). JSON
    has one line for each record and loses nothing. Text is for people, and shortens long keys and
    values. Keys and values of Kafka's own topics are shown as the messages that they are.

    A PATH can also be a text file (leader-epoch-checkpoint, meta.properties ...), an index or a
    producer snapshot. These come first: one line for each entry, one for any other text file.

    With --format kafka, a PATH is a file that Kafka's tool reads: a log, an index, a snapshot.

    With --value or --key-format, records are shown with what is decoded, as JSON, and without
    control records.

    A format string shows what a consumer gets: no control records, and the bytes as they are. No
    line end is added to it.
    """
    template = output_format if isinstance(output_format, FormatString) else None
    output_format = "text" if isinstance(output_format, FormatString) else output_format
    kafka.check(ctx, output_format)
    typed = taken(arguments)
    if typed is not None and (batches or output_format == KAFKA or template is not None):
        raise click.UsageError("--value and --key-format are for records, as text or as json")
    if where is not None and (batches or output_format == KAFKA):
        raise click.UsageError("--where cannot be combined with --batches or --format kafka")
    if output_format == KAFKA:
        with opened_output(output, *paths, replace=force, content="raw") as out:
            code = kafka.write(paths, out, codec=codec, jobs=jobs)
        ctx.exit(code)
    files = [path for path in paths if is_other(path)]
    others = [path for path in paths if not is_other(path)]
    condition = condition_of(where, typed=typed is not None)
    inputs = Inputs(others, codec, crc, selection, condition)
    chosen = None if condition is None or typed is not None else _Chosen(condition, codec)
    text = TextDump()
    lines: Iterator[str | Buffer]
    as_json = output_format == "json"
    decoding = _Decoding(codec, wanted=decode)
    if condition is not None and files:
        raise click.UsageError("--where is for records")
    if typed is not None:
        if files:
            raise click.UsageError("--value and --key-format are for records")
        lines = _typed_lines(inputs, typed, selection, condition, as_json=as_json, limit=limit)
        limit = None
    elif template is not None:
        if batches or files:
            raise click.UsageError("a format string is for records, and without --batches")
        lines = _formatted(inputs, codec, template, limit, jobs, chosen)
        limit = None
    elif batches:
        show = batch_line if as_json else text.batch_line
        lines = (show(batch, segment.name or "") for batch, segment, _ in inputs.batches())
    elif as_json and (limit is None or chosen is not None or (limit > _FEW and not files)):
        lines = _json_lines(inputs, codec, bytes_form, jobs, decoding, chosen)
    elif as_json:
        lines = chain.from_iterable(
            _lines_of(batch, segment, wanted, codec, bytes_form, decoding)
            for batch, segment, wanted in inputs.batches()
        )
    else:
        read = selected_batches if chosen is None else chosen.batches
        lines = chain.from_iterable(
            text.record_lines(
                batch, records, controls, segment.name or "", decoding.of(segment.name)
            )
            for batch, segment, wanted in inputs.batches(read)
            for records, controls, _ in _contents(
                batch, segment, wanted, codec, with_others=False, chosen=chosen
            )
        )
    if files:
        refuse_options(batches=batches, from_offset=selection["start_offset"] is not None)
        lines = chain(dump_lines(files, output_format, codec, inputs), lines)
    content: OutputContent = "shown" if template is None else "raw"
    with opened_output(output, *paths, replace=force, content=content) as out:
        write_lines(lines if limit is None else _limited(lines, limit, inputs.ended_at), out)
        inputs.finish()
        if typed is not None:
            inputs.broken += tell(typed["report"])
        if inputs.failed:
            ctx.exit(inputs.exit_code)
    if output is not None and is_file(output):
        note(f"{size_text(output.stat().st_size)} to {output}")
    ctx.exit(inputs.exit_code)


def _typed_lines(
    inputs: Inputs,
    typed: dict[str, Any],
    selection: dict[str, Any],
    condition: Where | None,
    *,
    as_json: bool,
    limit: int | None,
) -> Iterator[str | Buffer]:
    from kafkaspec.cli.commands.dump_typed import typed_lines

    chosen = selection | {"where": condition, "on_unreadable": inputs.cannot_read}
    if selection["on_error"] == "skip":
        chosen["on_error"] = inputs.cannot_decode
    yield from typed_lines(inputs, typed, chosen, as_json=as_json, limit=limit)


class _Chosen:
    """Chooses records by a condition."""

    def __init__(self, where: Where, codec: str) -> None:
        from kafkaspec.arrow.where.searching import Matching
        from kafkaspec.cli.commands.where import WhereMaker

        matching = Matching(where, codec)
        self.batches = matching.batches
        self.keeps = matching.keeps
        self.maker = partial(WhereMaker, where=where)


def _json_lines(
    inputs: Inputs,
    codec: str,
    bytes_form: str,
    jobs: int,
    decoding: _Decoding,
    chosen: _Chosen | None,
) -> Iterator[str | Buffer]:
    """Yield lines from columns, and those of other batches from their records."""
    maker: Callable[[Any, Segment], Maker] = partial(JsonMaker, base64=bytes_form == "base64")
    maker = maker if chosen is None else partial(chosen.maker, maker=maker)
    columns = partial(read_lines, maker=maker, jobs=jobs)
    others = selected_batches if chosen is None else chosen.batches

    def read(segment: Segment, wanted: Selection) -> Iterator[Any]:
        reader = columns if decoding.of(segment.name) is None else others
        return reader(segment, wanted)

    for part, segment, wanted in inputs.parts(read):
        if isinstance(part, Batch):
            inputs.reached(part)
            yield from _lines_of(part, segment, wanted, codec, bytes_form, decoding, chosen)
        else:
            yield part


def _formatted(
    inputs: Inputs,
    codec: str,
    template: FormatString,
    limit: int | None,
    jobs: int,
    chosen: _Chosen | None,
) -> Iterator[Buffer]:
    """Yield records as a format string shows them, from columns where there is no limit."""
    if limit is not None:
        read = selected_batches if chosen is None else chosen.batches
        each = (
            text
            for batch, segment, wanted in inputs.batches(read)
            for text in _texts_of(batch, segment, wanted, codec, template, chosen)
        )
        yield from islice(each, limit)
        return
    maker: Callable[[Any, Segment], Maker] = partial(FormatMaker, template=template)
    maker = maker if chosen is None else partial(chosen.maker, maker=maker)
    for part, segment, wanted in inputs.parts(partial(read_lines, maker=maker, jobs=jobs)):
        if isinstance(part, Batch):
            inputs.reached(part)
            yield b"".join(_texts_of(part, segment, wanted, codec, template, chosen))
        else:
            yield part


def _texts_of(
    batch: Batch,
    segment: Segment,
    wanted: Selection,
    codec: str,
    template: FormatString,
    chosen: _Chosen | None,
) -> Iterator[bytes]:
    if not batch.is_control:
        place = place_of(segment.path)
        for records, _, _ in _contents(
            batch, segment, wanted, codec, with_others=False, chosen=chosen
        ):
            yield from template.texts(place, records)


def _limited(
    lines: Iterator[str | Buffer], most: int, ended_at: Callable[[int], None]
) -> Iterator[str | Buffer]:
    """Yield so many of the lines, and ask for no more.

    Args:
        lines: a line as text, or any number of them as bytes.
        most: the number.
        ended_at: called with the position of the batch of the last line, if that was bytes.
    """
    while most and (found := next(lines, None)) is not None:
        if isinstance(found, str):
            most -= 1
            yield found
            continue
        there = bytes(found).count(b"\n")
        if there < most:
            most -= there
            yield found
            continue
        end = next(islice(_LINE_END.finditer(found), most - 1, None))
        some = bytes(memoryview(found)[: end.end()])
        ended_at(json.loads(some[some.rfind(b"\n", 0, -1) + 1 :])[_Key.POSITION])
        yield some
        return


def _lines_of(
    batch: Batch,
    segment: Segment,
    wanted: Selection,
    codec: str,
    bytes_form: str,
    decoding: _Decoding,
    chosen: _Chosen | None = None,
) -> Iterator[str]:
    """Yield the lines of the wanted records of a batch; report errors."""
    file = segment.name or ""
    write, messages = WRITERS[bytes_form], decoding.of(file)
    for records, controls, others in _contents(
        batch, segment, wanted, codec, with_others=True, chosen=chosen
    ):
        shown = None if messages is None or controls else messages.show(batch, records)
        yield from record_lines(batch, records, file, write, controls, others, shown)


def _contents(
    batch: Batch,
    segment: Segment,
    wanted: Selection,
    codec: str,
    *,
    with_others: bool,
    chosen: _Chosen | None = None,
) -> Iterator[_Content]:
    """Yield the wanted records of a batch, control records also decoded; report errors.

    Those of a large batch come in several parts.
    """
    try:
        whole = batch.records()
        values = values_of_records(batch, get_codec(codec)) if with_others else None
    except KafkaSpecError as error:
        report(wanted.on_error, error)
        return
    first = 0
    for records in runs_of(whole, _RECORDS_AT_ONCE):
        others = None if values is None else values[first : first + len(records)]
        first += len(records)
        for keeps in (
            wanted.is_range and partial(map, wanted.keeps),
            chosen and partial(chosen.keeps, segment, batch),
        ):
            if keeps:
                kept = list(keeps(records))
                records = list(compress(records, kept))
                others = None if others is None else list(compress(others, kept))
        controls = None
        try:
            controls = decode_controls(batch, records, codec)
        except KafkaSpecError as error:
            report(wanted.on_error, error)
        yield records, controls, others
