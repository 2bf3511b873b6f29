"""``kafkaspec explain``: show the bytes of a batch, each field with name, value and meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import click

from kafkaspec.cli.command import command, option
from kafkaspec.cli.commands.explain_data import explain_batch, explain_sidecar, find_position
from kafkaspec.cli.commands.explain_section import Section
from kafkaspec.cli.commands.explain_text import json_objects, print_section
from kafkaspec.cli.commands.explain_type import explain_type, type_named
from kafkaspec.cli.commands.text_files import explain_text, refuse_options
from kafkaspec.cli.console import print_object, stdout_console, warn
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.options import (
    CodecName,
    Decode,
    LogPath,
    format_option,
)
from kafkaspec.codecs import codec_names
from kafkaspec.files import names
from kafkaspec.log.opening import open_log
from kafkaspec.log.segment import Segment
from kafkaspec.messages.topics import topic_of
from kafkaspec.tiered.mount import mounted

_EPILOG = """
Output of --format json, one object for each field: section, path, start, end, bits
(null, or the first bit and the one after the last, from the highest bit of
the byte at start), hex, value (bytes as {"hex": "..."}), name (of the value,
where the specification has one), kafka_name, doc, spec, error. Exit codes:
0 explained, 1 some field does not follow the specification, a checksum is wrong
(or a codec of --codec disagrees), 2 wrong usage or unreadable.
"""


@command(None, _EPILOG)
def explain_command(
    ctx: click.Context,
    *,
    file: Annotated[Path, click.argument("file", type=LogPath())],
    offset: int | None = option("The batch that holds this log offset.", metavar="N"),
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
    type_name: str | None = option(
        "--as",
        "Read the file as this type of the specification: index.time_index, message_set ...",
        metavar="TYPE",
    ),
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
    codec: str | None = option(
        "With --as: codecs that must give the same result, with commas, or all.",
        type=CodecName("all"),
        metavar="NAME",
    ),
    decode: Decode,
    full: bool = option("Show all bytes of long keys and values."),
    output_format: Annotated[str, format_option],
) -> None:
    """Show the bytes of a batch as hex, each field with its name, value and meaning.

    FILE is a segment or a KRaft snapshot, an index (its entries are shown, from --position on), or
    a producer snapshot or text file (all of it is shown). Names, positions and meanings of fields
    of binary files come from the specification, through the official Kaitai Struct compiler.
    Records of a compressed batch are shown over the decompressed bytes, and after them, in Kafka's
    own topics, the messages in their keys and values. With --as, FILE can be any file.
    """
    if offset is not None and position is not None:
        raise click.UsageError("give either --offset or --position")
    disagree: list[str] = []
    if type_name is None:
        if parameters or size is not None or codec is not None:
            raise click.UsageError("--parameter, --size and --codec go with --as")
        if file.is_file():
            file = mounted(file) or file  # an object in remote storage is a segment
        sections: Iterable[Section] = _sections(
            file, offset, position, max_records, topic_of(file) if decode else None
        )
    else:
        if offset is not None:
            raise click.UsageError("--as takes --position, not --offset")
        chosen = codec_names() if codec == "all" else codec.split(",") if codec else []
        key = type_named(type_name)
        sections, disagree = explain_type(file, key, parameters, position or 0, size, chosen)
        for line in disagree:
            warn(f"{file}: {line}")
    console = None if output_format == "json" else stdout_console()
    broken = bool(disagree)
    for section in sections:
        broken |= section.is_wrong or any(field.error for field in section.fields)
        if console is not None:
            print_section(section, console, full=full)
            continue
        for content in json_objects(section):
            print_object(content)
    ctx.exit(FINDINGS if broken else CLEAN)


def _sections(
    file: Path, offset: int | None, position: int | None, max_records: int, topic: str | None
) -> Iterator[Section]:
    if names.is_text(file.name):
        refuse_options(offset=offset is not None, position=position is not None)
        yield explain_text(file, max_records)
        return
    name = names.parse_segment(file.name)
    if name is not None and name.kind not in names.SEGMENTS:
        if offset is not None:
            raise click.UsageError("--offset is for segments; give --position")
        yield from explain_sidecar(file, position or 0, max_records)
        return
    if position is None:
        # A given position is shown whatever it holds.
        open_log(file, codec="kaitai").close()
    with Segment(file, codec="kaitai") as segment:
        if position is None:
            position = 0 if offset is None else find_position(segment, offset)
        yield from explain_batch(segment, position, max_records, topic)
