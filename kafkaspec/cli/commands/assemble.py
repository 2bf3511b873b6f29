"""``kafkaspec assemble``: write the bytes that a text says, the inverse of ``explain``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import click

from kafkaspec.assembly import assemble
from kafkaspec.cli.command import command
from kafkaspec.cli.console import count_text, note
from kafkaspec.cli.outputs import file_option, force_option, opened_output
from kafkaspec.errors import Reason, make_error, unreadable

_SHOWN: Final = 20
"""Number of values that follow from others to name."""

_EPILOG = """
The text is that of `kafkaspec explain --format assembly FILE`, edited or not. A
line has the name of a field and its value, the lines below it that are indented
more are in it, and `-` begins an item of an array:

  last_offset_delta: 11
  crc: 0xdeadbeef !
  key: "a text in quotes"
  value: hex 00 01 ff
  headers: []

Lengths, counts, checksums and relative offsets follow from what the text has;
stderr says which. `!` after a value keeps it as it is written, so that wrong
bytes can be made on purpose. `raw 85 00` is a field as it is stored, `...` bytes
that no field has, `#` a comment. A compressed payload is compressed again if what
is in it was edited, else `stored` is kept.

Exit codes: 0 written, 2 not written: the text is wrong, or FILE exists.
"""


@command(None, _EPILOG, shared=())
def assemble_command(
    ctx: click.Context,
    *,
    text: Annotated[
        Path,
        click.argument("text", metavar="TEXT", type=click.Path(path_type=Path, dir_okay=False)),
    ],
    output: Annotated[Path, file_option(required=True)],
    force: Annotated[bool, force_option("FILE")],
) -> None:
    """Write the bytes that TEXT says, as `explain --format assembly` lists them.

    TEXT is a file, or - for standard input.
    """
    data, follows = assemble(_read(text), str(text))
    if output.exists() and text.exists() and output.samefile(text):
        raise click.UsageError("OUT is TEXT")
    with opened_output(output, replace=force) as file:
        file.write(data)
    for each in sorted(follows, key=lambda each: each.node.line)[:_SHOWN]:
        what = f"line {each.node.line}: {each.node.name}"
        note(f"{text}, {what} is {each.value}, as it follows from the rest, not {each.written}")
    if len(follows) > _SHOWN:
        note(f"... and {count_text(len(follows) - _SHOWN, 'value')} more that follow")
    note(f"{count_text(len(data), 'byte')} written")


def _read(text: Path) -> str:
    """Return the text of a file, or of standard input."""
    try:
        data = sys.stdin.buffer.read() if str(text) == "-" else text.read_bytes()
        return data.decode()
    except OSError as error:
        raise unreadable(str(text), error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise make_error(
            Reason.UNENCODABLE, f"not UTF-8: {error.reason}", file=str(text), offset=error.start
        ) from None
