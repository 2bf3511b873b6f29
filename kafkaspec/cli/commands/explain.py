"""``kafkaspec explain``: show the bytes of a batch, each field with name, value and meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kafkaspec._generated.layout import ENUMS, LAYOUTS
from kafkaspec.cli.command import command, defined, option
from kafkaspec.cli.commands.explain_data import (
    Section,
    entry_at,
    explain_batch,
    explain_sidecar,
    find_position,
)
from kafkaspec.cli.commands.explain_texts import explain_text
from kafkaspec.cli.commands.text_files import refuse_options
from kafkaspec.cli.console import (
    LONG,
    count_text,
    iso,
    new_table,
    note,
    print_object,
    say,
    stdout_console,
    styled,
)
from kafkaspec.cli.exits import USAGE
from kafkaspec.cli.inputs import Inputs
from kafkaspec.cli.options import CodecName, Decode, LogFormat, PathsOrUrls, is_given
from kafkaspec.codecs import Origin, codec_names, get_codec
from kafkaspec.codecs.references.kaitai.codec import KaitaiCodec
from kafkaspec.codecs.references.kaitai.positions import FieldPosition
from kafkaspec.columns.json_lines import PIECE_BYTES
from kafkaspec.columns.value_text import bytes_text
from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files import names
from kafkaspec.io.local import read_part
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.messages.topics import topic_of
from kafkaspec.options import did_you_mean
from kafkaspec.shown import some_of
from kafkaspec.tiered.mount import mounted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

ASSEMBLY: Final = "assembly"
_FOR_SEGMENTS: Final = "--offset is for segments; give --position"

_EPILOG = """
Output of --format json, one object for each field: file, section, path, start, end,
bits (null, or the first bit and the one after the last, from the highest bit of
the byte at start), hex, cut, value (bytes as {"hex": "..."}), name (of the value,
where the specification has one), kafka_name, doc, spec, error. A field of more than
1 MiB has its first 64 bytes in hex and value, and cut is how many are left out; with
--full, cut is 0.

Of a directory, stderr says which files are left out: empty ones, those that are
not Kafka's, and partitions that are being deleted or moved.

Exit codes: 0 explained, 1 some field does not follow the specification, a checksum
is wrong (with --format assembly also a length or count), a codec of --codec disagrees,
or one of several files cannot be read, 2 wrong usage or nothing can be read.
"""


@command(None, _EPILOG)
def explain_command(
    ctx: click.Context,
    *,
    paths: PathsOrUrls,
    offset: int | None = defined(help="The batch that holds this log offset."),
    position: int | None = option(
        "The batch, or the first entry of an index to show, that holds this byte.",
        type=click.IntRange(min=0),
        metavar="P",
    ),
    max_records: int = option(
        "--records",
        "Number of records, or of entries of an index or checkpoint, to show; 0 for all.",
        type=click.IntRange(min=0),
        default=3,
        metavar="N",
    ),
    log_format: LogFormat,
    parameters: tuple[int, ...] = option(
        "--parameter",
        "With --as: a parameter of the type. The file name of an index gives its base offset.",
        metavar="N",
    ),
    size: int | None = option(
        "With --as: number of bytes to read from --position on; all by default.",
        type=click.IntRange(min=0),
        metavar="N",
    ),
    codec: str | None = defined(
        type=CodecName("all"),
        metavar="NAME",
        help="With --as: codecs that must give the same result, with commas, or all.",
    ),
    decode: Decode,
    full: bool = option("Show all bytes of long fields."),
    output_format: str = option(
        "--format",
        "Text, JSON lines, or assembly: all bytes as text that `assemble` turns into a file again.",
        type=click.Choice(["text", "json", ASSEMBLY]),
        default="text",
    ),
) -> None:
    """Show the bytes of a batch as hex, each field with its name, value and meaning.

    A PATH is a segment or a KRaft snapshot, an index (its entries are shown, from --position on),
    a producer snapshot or text file (all of it is shown), or the URL of one. Of a partition or log
    directory, all these files are shown; with --offset, of each partition the segment that has it.
    Names, positions and meanings of fields of binary files come from the specification, through
    the official Kaitai Struct compiler. Records of a compressed batch are shown over the
    decompressed bytes, and after them, in Kafka's own topics, the messages in their keys and
    values. With --as, PATH can be any file.
    """
    if offset is not None and position is not None:
        raise click.UsageError("give either --offset or --position")
    if log_format is None and (parameters or size is not None or codec is not None):
        raise click.UsageError("--parameter, --size and --codec go with --as")
    if log_format is not None and offset is not None:
        raise click.UsageError("--as takes --position, not --offset")
    if output_format == ASSEMBLY:
        ctx.exit(_print_assembly(ctx, paths, offset, position, size))
    inputs = Inputs(paths)
    console = None if output_format == "json" else stdout_console()
    if log_format is None:
        paths = tuple(_shown(path) for path in paths)
    chosen = [item for path in paths for item in _files(path, offset, inputs)]
    if position is not None and any(path.is_dir() for path in paths):
        raise click.UsageError("--position is of a file, not of a directory")
    for file in chosen:
        try:
            if log_format is None:
                sections: Iterable[Section] = _sections(file, offset, position, max_records, decode)
            else:
                codecs = codec_names() if codec == "all" else codec.split(",") if codec else []
                key = type_named(log_format)
                sections, disagree = explain_type(
                    file, key, parameters, position or 0, size, codecs
                )
                for text in disagree:
                    inputs.found(f"{file}: {text}")
            if console is not None and len(chosen) > 1:
                console.print(f"{file}")
            for section in sections:
                wrong = section.is_wrong or any(field.error for field in section.fields)
                inputs.findings += wrong
                if console is not None:
                    print_section(section, console, full=full)
                else:
                    print_fields(section, file, full=full)
            inputs.read += 1
        except KafkaSpecError as error:
            inputs.cannot_read(error)
    ctx.exit(USAGE if inputs.unreadable and not inputs.read else inputs.exit_code)


_NOT_OF_ASSEMBLY: Final = ("max_records", "codec", "full")
"""Parameters of what people read: assembly has all bytes."""


def _print_assembly(
    ctx: click.Context,
    paths: Sequence[Path],
    offset: int | None,
    position: int | None,
    size: int | None,
) -> int:
    """Print the lines of one file, and return the exit code."""
    given = {name for name in _NOT_OF_ASSEMBLY if is_given(ctx, name)}
    if given:
        options = {parameter.name: parameter.opts[0] for parameter in ctx.command.params}
        raise click.UsageError(f"{options[min(given)]} is not for --format {ASSEMBLY}")
    if len(paths) != 1 or paths[0].is_dir():
        raise click.UsageError(f"--format {ASSEMBLY} takes one file")
    from kafkaspec.assembly import listing, listing_as

    type_name, inputs = ctx.params["log_format"], Inputs(paths)
    (file,) = paths if type_name is not None else map(_shown, paths)
    try:
        if type_name is not None:
            key = type_named(type_name)
            parameters = parameters_of(file, key, ctx.params["parameters"])
            found = listing_as(file, key, parameters, position or 0, size)
        else:
            found = listing(file, _entry(file, offset, position), decode=ctx.params["decode"])
        for line in found:
            say(line)
    except KafkaSpecError as error:
        inputs.cannot_read(error)
        return USAGE
    inputs.read += 1
    for each in found.errors:
        inputs.found(str(each))
    if found.cuts:
        where = count_text(found.cuts, "place")
        inputs.found(f"{file}: {count_text(found.unread, 'byte')} without a field, in {where}")
    if found.wrong:
        what = count_text(found.wrong, "value does", "values do")
        inputs.found(f"{file}: {what} not follow from the rest: see ! and raw")
    return inputs.exit_code


def _entry(file: Path, offset: int | None, position: int | None) -> int | None:
    """Return the byte offset of the entry that holds a log offset or a byte, None for all."""
    if names.is_text(file.name):
        refuse_options(offset=offset is not None, position=position is not None)
    name = names.parse_segment(file.name)
    if name is not None and name.kind not in names.SEGMENTS:
        if offset is not None:
            raise click.UsageError(_FOR_SEGMENTS)
        return position
    if offset is None and position is None:
        return None
    with Segment(file) as segment:
        return (
            entry_at(segment, position or 0) if offset is None else find_position(segment, offset)
        )


def _shown(path: Path) -> Path:
    """Return a path, or what it is shown as: objects are segments, lists are partitions."""
    try:
        return (mounted(path) if path.is_file() else None) or path
    except (KafkaSpecError, OSError):
        return path  # reading it gives the error


def _files(path: Path, offset: int | None, inputs: Inputs) -> Iterator[Path]:
    """Yield the files of a directory and of its partitions that can be shown; any other path."""
    if not path.is_dir():
        yield path
        return
    shown = 0
    try:
        if offset is not None and names.parse_partition(path.absolute().name) is not None:
            with Partition(path) as partition:
                yield from partition.paths_from(offset, offset + 1)[:1]
            return
        left = []
        for each in sorted(path.iterdir()):
            if each.is_dir() and (found := names.parse_partition(each.name)) and not found.state:
                yield from _files(each, offset, inputs)
                shown += 1
            elif offset is None and each.is_file() and _is_known(each.name):
                shown += 1
                if each.stat().st_size:
                    yield each
                else:
                    left.append(f"{each.name} (empty)")
            elif offset is None:
                left.append(each.name)
        if not shown:
            open_log(path).close()  # says why there is nothing
    except OSError as error:
        inputs.cannot_read(unreadable(str(path), error.strerror or str(error)))
        return
    except KafkaSpecError as error:
        inputs.cannot_read(error)
        return
    if left:
        text = count_text(len(left), "file or directory", "files and directories")
        note(f"{path}: {text} left out: {some_of(left)}")


def _is_known(name: str) -> bool:
    parsed = names.parse_segment(name) or names.parse_checkpoint(name)
    return names.is_text(name) or (parsed is not None and not parsed.state)


def _sections(
    file: Path, offset: int | None, position: int | None, max_records: int, decode: bool
) -> Iterator[Section]:
    topic = topic_of(file) if decode else None
    if names.is_text(file.name):
        refuse_options(offset=offset is not None, position=position is not None)
        yield explain_text(file, max_records)
        return
    name = names.parse_segment(file.name)
    if name is not None and name.kind not in names.SEGMENTS:
        if offset is not None:
            raise click.UsageError(_FOR_SEGMENTS)
        yield from explain_sidecar(file, position or 0, max_records)
        return
    if position is None:
        # A given position is shown whatever it holds.
        open_log(file).close()
    with Segment(file) as segment:
        if position is None:
            position = 0 if offset is None else find_position(segment, offset)
        yield from explain_batch(segment, position, max_records, topic)


# -- text and JSON ----------------------------------------------------------------------------


_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "bright_cyan", "bright_green")
_COLUMNS = (">byte", "hex", "field", "value", "meaning")
_BYTES_A_LINE = 8
_BYTES_SHOWN = 64
_LONG_BYTES: Final = 1 << 20
"""Bytes of a field that JSON has whole in any case."""


def print_section(section: Section, console: Console, *, full: bool) -> None:
    """Print a table of the fields of a section: byte, hex, field, value, meaning."""
    if section.title:
        console.print(styled((section.title, "bold")))
    if section.fields:
        look = {"box": None, "padding": (0, 2, 0, 0), "header_style": "dim"}
        table = new_table(*_COLUMNS, many_lines=(_COLUMNS.index("hex"),), **look)
        for column in table.columns:
            column.no_wrap = column.header in ("hex", "field")
            column.ratio = 1 if column.header == "meaning" else None
        base = min(field.depth for field in section.fields)
        for number, field in enumerate(section.fields):
            inner = _has_inner(section.fields, number)
            colour = "bold" if inner else _COLOURS[number % len(_COLOURS)]
            name = "  " * (field.depth - base) + field.path.rpartition("/")[2]
            table.add_row(
                str(field.start),
                styled(("" if inner else _hex(section, field, full=full), colour)),
                styled((name, colour)),
                styled("" if inner else value_text(field)),
                _meaning(field),
            )
        console.print(table)
    if section.note:
        console.print(styled((section.note, "dim")))
    if section.title:
        console.print()


def _has_inner(fields: list[FieldPosition], number: int) -> bool:
    following = fields[number + 1 : number + 2]
    return any(field.path.startswith(fields[number].path + "/") for field in following)


def _meaning(field: FieldPosition) -> Text:
    doc = (" ".join(field.doc.split()), "dim")
    error = field.error
    return styled(
        *([] if error is None else [(f"{error.detail} [{error.reason}] ", "bold red")]), doc
    )


def _hex(section: Section, field: FieldPosition, *, full: bool) -> str:
    data = section.bytes_of(field)
    shown = data if full else data[:_BYTES_SHOWN]
    lines = [
        shown[place : place + _BYTES_A_LINE].hex(" ")
        for place in range(0, len(shown), _BYTES_A_LINE)
    ]
    if len(shown) < len(data):
        lines.append(f"... {len(data) - len(shown)} more bytes")
    if field.bits is not None and data:
        lines = [_bits(data, *field.bits)]
    return "\n".join(lines)


def _bits(data: memoryview, first: int, end: int) -> str:
    digits = "".join(f"{byte:08b}" for byte in data)
    shown = "".join(digit if first <= place < end else "." for place, digit in enumerate(digits))
    return " ".join(shown[place : place + 8] for place in range(0, len(shown), 8))


def value_text(field: FieldPosition) -> str:
    """Return the value of a field: numbers with their names or as times, bytes as text or hex."""
    value = field.value
    if isinstance(value, bytes | bytearray | memoryview):
        text = bytes_text(value)
        # The hex column has them already.
        return text if text.startswith('"') else count_text(len(value), "byte")
    if value is None:
        return "" if field.error is not None or field.start == field.end else "null"
    name = enum_name(field.enum, value)
    if name:
        return f"{value} ({name})"
    if field.path.endswith("timestamp") and isinstance(value, int) and value >= 0:
        return f"{value} ({iso(value)})"
    if isinstance(value, str) and not value.isprintable():
        return bytes_text(value.encode())
    return str(value)


def enum_name(enum: str, value: Any) -> str:
    """Return the name of a value of an enumeration, Kafka's if it is another; "" for none."""
    name, kafka = ENUMS.get(enum, {}).get(value, ("", ""))
    return name if name.upper() == kafka else kafka


def print_fields(section: Section, file: Path, *, full: bool) -> None:
    """Print one object of JSON for each field; a long one is cut, unless all of it is wanted."""
    for field in section.fields:
        parts = [section.bytes_of(field)]
        if isinstance(field.value, bytes | bytearray | memoryview):
            parts.append(memoryview(field.value))
        size = len(parts[0])
        long = size > _LONG_BYTES
        cut = size - _BYTES_SHOWN if long and not full else 0
        shown = [LONG if long and full else part[: size - cut].hex() for part in parts]
        content = {
            "file": str(file),
            "section": section.title,
            "path": field.path,
            "start": field.start,
            "end": field.end,
            "bits": field.bits,
            "hex": shown[0],
            "cut": cut,
            "value": {"hex": shown[1]} if len(parts) > 1 else field.value,
            "name": enum_name(field.enum, field.value) if field.enum else "",
            "kafka_name": field.original_id,
            "doc": field.doc,
            "spec": field.location,
            "error": None if field.error is None else str(field.error),
        }
        print_object(content, *(map(_hex_pieces, parts) if long and full else ()))


def _hex_pieces(data: memoryview) -> Iterator[str]:
    yield '"'
    for first in range(0, len(data), PIECE_BYTES):
        yield data[first : first + PIECE_BYTES].hex()
    yield '"'


# -- --as -------------------------------------------------------------------------------------


def type_named(text: str) -> str:
    """Return the key of the type that ``text`` names: ``index.time_index``, or ``time_index``.

    Raises:
        UsageError: there is none, or several; the message lists them.
    """
    found = [key for key in LAYOUTS if text in (key, key.partition(".")[2])]
    root = f"{text}.{text}"
    if root in LAYOUTS:
        return root
    if len(found) == 1:
        return found[0]
    if found:
        raise click.UsageError(f"there are several types {text}: {', '.join(found)}")
    short = [key.partition(".")[2] for key in LAYOUTS]
    hint = did_you_mean(text, [*LAYOUTS, *short]) or "."
    files = groupby(LAYOUTS, lambda key: key.partition(".")[0])
    listed = "\n".join(f"  {', '.join(keys)}" for _, keys in files)
    raise click.UsageError(f"there is no type {text}{hint} The specification has\n{listed}")


def explain_type(
    path: Path,
    type_key: str,
    given: Sequence[int],
    position: int,
    size: int | None,
    codecs: Sequence[str],
) -> tuple[list[Section], list[str]]:
    """Read the bytes of a file as a type.

    Args:
        path: path of the file.
        type_key: key of the type.
        given: its parameters.
        position: byte offset of its first byte.
        size: number of bytes that it may take, None for all up to the end of the file.
        codecs: codecs that also read the bytes and must agree.

    Returns:
        The section to show, and one line for each codec that disagrees.

    Raises:
        UsageError: the parameters are not those of the type.
        KafkaSpecError: the file cannot be read, has no such byte, or there are too many.
    """
    from kafkaspec.assembly import MOST

    parameters = parameters_of(path, type_key, given)
    data = read_part(path, position, size, most=MOST)
    kaitai = KaitaiCodec()
    origin = Origin(str(path), position)
    fields = kaitai.positions(type_key, data, parameters=parameters, origin=origin)
    end = max((field.end for field in fields), default=position)
    more = position + len(data) - end
    broken = any(field.error for field in fields)
    note = f"{more} more bytes follow" if more and not broken else ""
    title = f"{type_key} at byte {position}, {end - position} bytes"
    sections = [Section(title, data, position, fields, note)]
    expected = _outcome(kaitai, type_key, data, parameters)
    disagree = []
    for name in codecs:
        found = _outcome(get_codec(name), type_key, data, parameters)
        same = found == expected
        sections.append(Section("", b"", 0, [], f"{name} {'agrees' if same else 'DISAGREES'}"))
        if not same:
            disagree.append(f"{name} reads something else: {found[1]}")
    return sections, disagree


def _outcome(
    codec: Any, type_key: str, data: bytes, parameters: tuple[int, ...]
) -> tuple[Any, Any]:
    """Return the value that a codec reads and its end, or the reason of the refusal."""
    try:
        value, end = codec.parse(type_key, data, parameters=parameters)
    except KafkaSpecError as error:
        return None, (error.reason, error.path, error.position, error.spec)
    return value, end


def parameters_of(path: Path, type_key: str, given: Sequence[int]) -> tuple[int, ...]:
    """Return the parameters of a type, taken from the name of the file if possible."""
    wanted = LAYOUTS[type_key].parameters
    structure = next((kind for _, kind in wanted if kind), None)
    if structure is not None:
        raise click.UsageError(
            f"{type_key} needs a {structure}, which cannot be given here; explain what holds both"
        )
    ids = [name for name, _ in wanted]
    if not given and ids == ["base_offset"]:
        name = names.parse_segment(path.name)
        if name is not None and name.parameters:
            return name.parameters
    if len(given) != len(ids):
        needs = f"the parameters {', '.join(ids)}" if ids else "no parameters"
        raise click.UsageError(f"{type_key} has {needs}: give --parameter N for each, in order")
    return tuple(given)
