"""Show fields and their bytes as text or as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from kafkaspec._generated.layout import ENUMS
from kafkaspec.cli.commands.explain_section import Section
from kafkaspec.cli.commands.value_text import bytes_text
from kafkaspec.cli.console import count_text, iso, new_table
from kafkaspec.codecs.references.kaitai import FieldPosition

_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "bright_cyan", "bright_green")
_COLUMNS = (">byte", "hex", "field", "value", "meaning")
_BYTES_A_LINE = 8
_BYTES_SHOWN = 64


def print_section(section: Section, console: Console, *, full: bool) -> None:
    """Print a table of the fields of a section: byte, hex, field, value, meaning."""
    if section.title:
        console.print(Text(section.title, style="bold"))
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
                Text("" if inner else _hex(section, field, full=full), style=colour),
                Text(name, style=colour),
                Text("" if inner else value_text(field)),
                _meaning(field),
            )
        console.print(table)
    if section.note:
        console.print(Text(section.note, style="dim"))
    if section.title:
        console.print()


def _has_inner(fields: list[FieldPosition], number: int) -> bool:
    following = fields[number + 1 : number + 2]
    return any(field.path.startswith(fields[number].path + "/") for field in following)


def _meaning(field: FieldPosition) -> Any:
    text = Text(" ".join(field.doc.split()), style="dim")
    if field.error is not None:
        text = Text(f"{field.error.detail} [{field.error.reason}] ", style="bold red") + text
    return text


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


def _bits(data: bytes, first: int, end: int) -> str:
    digits = "".join(f"{byte:08b}" for byte in data)
    shown = "".join(digit if first <= place < end else "." for place, digit in enumerate(digits))
    return " ".join(shown[place : place + 8] for place in range(0, len(shown), 8))


def value_text(field: FieldPosition) -> str:
    """Return the value of a field: numbers with their names or as times, bytes as text or hex."""
    value = field.value
    if isinstance(value, bytes | bytearray | memoryview):
        text = bytes_text(bytes(value))
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


def json_objects(section: Section) -> Iterator[dict[str, Any]]:
    """Yield one object for each field."""
    for field in section.fields:
        value = field.value
        if isinstance(value, bytes | bytearray | memoryview):
            value = {"hex": bytes(value).hex()}
        yield {
            "section": section.title,
            "path": field.path,
            "start": field.start,
            "end": field.end,
            "bits": field.bits,
            "hex": section.bytes_of(field).hex(),
            "value": value,
            "name": enum_name(field.enum, value) if field.enum else "",
            "kafka_name": field.original_id,
            "doc": field.doc,
            "spec": field.location,
            "error": None if field.error is None else str(field.error),
        }
