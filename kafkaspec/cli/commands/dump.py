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
from kafkaspec.cli.commands.dump_batches import BatchLines
from kafkaspec.cli.commands.dump_columns import JsonMaker, LimitMaker, Maker, RowsLeft, read_lines
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
    BytesWriter,
    _Key,
    decode_controls,
    record_lines,
)
from kafkaspec.cli.commands.dump_kafka import KAFKA, Asked, kafka_options
from kafkaspec.cli.commands.dump_text import TextDump
from kafkaspec.cli.commands.text_files import dump_lines, is_other, refuse_options
from kafkaspec.cli.console import ShownLine, note, write_lines
from kafkaspec.cli.inputs import Inputs
from kafkaspec.cli.options import (
    MISSING_EPILOG,
    Codec,
    Decode,
    FileFormat,
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
from kafkaspec.log.formats import format_named
from kafkaspec.log.pieces import runs_of
from kafkaspec.log.segment import Segment
from kafkaspec.log.selection import Selection, selected_batches
from kafkaspec.messages.topics import topic_of
from kafkaspec.model import Buffer, Record
from kafkaspec.policy import CrcPolicy, report
from kafkaspec.shown import size_text

if TYPE_CHECKING:
    from kafkaspec.arrow.where.condition import Where
    from kafkaspec.cli.commands.dump_messages import MessageLines
    from kafkaspec.codecs.native.core import Core

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
    log_format: FileFormat,
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
    files = [path for path in paths if log_format is None and is_other(path)]
    others = [path for path in paths if path not in files]
    condition = condition_of(where, typed=typed is not None)
    inputs = Inputs(others, codec, crc, selection, condition, log_format=log_format)
    if not format_named(log_format).has_offsets:
        note("the offsets of the log are not in such a file: those shown are the producers'")
    lines: Iterator[ShownLine]
    left: RowsLeft | None = None
    as_json = output_format == "json"
    if condition is not None and files:
        raise click.UsageError("--where is for records")
    dump = _Dump(
        inputs,
        codec,
        jobs,
        WRITERS[bytes_form],
        decode=decode,
        base64=bytes_form == "base64",
        where=None if typed is not None else condition,
    )
    if typed is not None:
        if files:
            raise click.UsageError("--value and --key-format are for records")
        from kafkaspec.cli.commands.dump_typed import typed_lines

        wanted = selection | {"where": condition, "on_unreadable": inputs.cannot_read}
        if selection["on_error"] == "skip":
            wanted["on_error"] = inputs.cannot_decode
        lines = typed_lines(inputs, typed, wanted, as_json=as_json, limit=limit)
        limit = None
    elif template is not None:
        if batches or files:
            raise click.UsageError("a format string is for records, and without --batches")
        left = None if limit is None else RowsLeft(limit)
        lines = dump.formatted(template, left)
    elif batches:
        made = BatchLines(as_json=as_json)
        if limit is None:
            lines = made.lines(inputs)
        else:
            lines = (made.line(batch, segment) for batch, segment, _ in inputs.batches())
    elif not as_json:
        lines = dump.text()
    elif limit is None or condition is not None or (limit > _FEW and not files):
        lines = dump.json()
    else:
        lines = chain.from_iterable(dump.lines_of(*each) for each in inputs.batches())
    if files:
        refuse_options(batches=batches, from_offset=selection["start_offset"] is not None)
        lines = chain(dump_lines(files, output_format, codec, inputs), lines)
    content: OutputContent = "shown" if template is None else "raw"
    some = lines  # which go on to exist when some were written, and their segments stay open
    if left is not None:
        some = left.until(lines)
    elif limit is not None:
        some = _limited(lines, limit, inputs.ended_at)
    with opened_output(output, *paths, replace=force, content=content) as out:
        write_lines(some, out)
        inputs.finish()
        if typed is not None:
            inputs.broken += tell(typed["report"])
        if inputs.failed:
            ctx.exit(inputs.exit_code)
    if output is not None and is_file(output):
        note(f"{size_text(output.stat().st_size)} to {output}")
    ctx.exit(inputs.exit_code)


class _Dump:
    """Makes lines of the wanted records.

    Args:
        inputs: what is read.
        codec: name of the codec that reads.
        jobs: number of threads.
        write: returns the JSON of bytes.
        decode: whether the messages in internal topics are shown.
        base64: whether bytes that are UTF-8 are base64 in JSON too.
        where: a condition of the records.
    """

    def __init__(
        self,
        inputs: Inputs,
        codec: str,
        jobs: int,
        write: BytesWriter,
        *,
        decode: bool,
        base64: bool,
        where: Where | None,
    ) -> None:
        self._inputs, self._codec, self._jobs, self._write = inputs, codec, jobs, write
        self._decode, self._base64, self._where = decode, base64, where
        self._known: dict[str, MessageLines] = {}
        self._read: Callable[[Segment, Selection], Iterator[Batch]] = selected_batches
        if where is not None:
            from kafkaspec.arrow.where.searching import Matching

            self._matching = Matching(where, codec)
            self._read = self._matching.batches

    def _columns(
        self, maker: Callable[[Any, Segment], Maker], jobs: int | None = None
    ) -> Callable[[Segment, Selection], Iterator[memoryview | Batch]]:
        """Return what reads lines from columns; batches where only their records say them."""
        if self._where is not None:
            from kafkaspec.cli.commands.where import WhereMaker

            maker = partial(WhereMaker, where=self._where, maker=maker)
        return partial(read_lines, maker=maker, jobs=jobs or self._jobs)

    def _messages(self, file: str | None) -> MessageLines | None:
        """Return what decodes the records of an internal topic; None where they are the user's."""
        topic = topic_of(file) if self._decode and file is not None else None
        if topic is None:
            return None
        if topic not in self._known:
            from kafkaspec.cli.commands.dump_messages import MessageLines

            self._known[topic] = MessageLines(topic, self._codec)
        return self._known[topic]

    def text(self) -> Iterator[str]:
        """Yield a line of text for each record."""
        text = TextDump()
        for batch, segment, wanted in self._inputs.batches(self._read):
            parts = self._contents(batch, segment, wanted, with_others=True)
            for records, controls, others in parts:
                messages, file = self._messages(segment.name), segment.name or ""
                yield from text.record_lines(batch, records, controls, file, messages, others)

    def json(self) -> Iterator[ShownLine]:
        """Yield lines of JSON from columns, and those of other batches from their records."""

        def maker(core: Core, segment: Segment) -> JsonMaker:
            messages = self._messages(segment.name)
            base64 = self._base64
            rows = None if messages is None else messages.rows(core, segment, base64=base64)
            return JsonMaker(core, segment, base64=base64, messages=rows)

        read = self._columns(maker)
        for part, segment, wanted in self._inputs.parts(read):
            if isinstance(part, Batch):
                self._inputs.reached(part)
                yield from self.lines_of(part, segment, wanted)
            else:
                yield part

    def lines_of(
        self, batch: Batch, segment: Segment, wanted: Selection
    ) -> Iterator[str | Iterator[str]]:
        """Yield the lines of JSON of the wanted records of a batch; report errors."""
        file = segment.name or ""
        messages = self._messages(file)
        for records, controls, others in self._contents(batch, segment, wanted, with_others=True):
            shown = None if messages is None or controls else messages.show(batch, records)
            yield from record_lines(batch, records, file, self._write, controls, others, shown)

    def formatted(self, template: FormatString, left: RowsLeft | None) -> Iterator[Buffer]:
        """Yield records as a format string shows them, from columns unless few are left."""

        def texts_of(batch: Batch, segment: Segment, wanted: Selection) -> Iterator[bytes]:
            if not batch.is_control:
                for records, _, _ in self._contents(batch, segment, wanted):
                    texts = template.texts(place_of(segment.path), records)
                    yield from texts if left is None else left.first(texts)

        def maker(core: Core, segment: Segment) -> Maker:
            made = FormatMaker(core, segment, template=template)
            return made if left is None else LimitMaker(made, left, self._inputs.ended_at)

        read: Callable[[Segment, Selection], Iterator[Any]] = self._read
        if left is None:
            read = self._columns(maker)
        elif left.rows > _FEW:
            read = self._columns(maker, 1)
        for part, segment, wanted in self._inputs.parts(read):
            if isinstance(part, Batch):
                self._inputs.reached(part)
                yield b"".join(texts_of(part, segment, wanted))
            else:
                yield part

    def _contents(
        self, batch: Batch, segment: Segment, wanted: Selection, *, with_others: bool = False
    ) -> Iterator[_Content]:
        """Yield the wanted records of a batch, control records also decoded; report errors.

        Those of a large batch come in several parts.
        """
        try:
            whole = batch.records()
            values = values_of_records(batch, get_codec(self._codec)) if with_others else None
        except KafkaSpecError as error:
            report(wanted.on_error, error)
            return
        first = 0
        for records in runs_of(whole, _RECORDS_AT_ONCE):
            others = None if values is None else values[first : first + len(records)]
            first += len(records)
            for keeps in (
                wanted.is_range and partial(map, wanted.keeps),
                self._where and partial(self._matching.keeps, segment, batch),
            ):
                if keeps:
                    kept = list(keeps(records))
                    records = list(compress(records, kept))
                    others = None if others is None else list(compress(others, kept))
            controls = None
            try:
                controls = decode_controls(batch, records, self._codec)
            except KafkaSpecError as error:
                report(wanted.on_error, error)
            yield records, controls, others


def _limited(
    lines: Iterator[ShownLine], most: int, ended_at: Callable[[int], None]
) -> Iterator[ShownLine]:
    """Yield so many of the lines, and ask for no more.

    Args:
        lines: a line as text, or any number of them as bytes.
        most: the number.
        ended_at: called with the position of the batch of the last line, if that was bytes.
    """
    while most and (found := next(lines, None)) is not None:
        if isinstance(found, str | Iterator):
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
