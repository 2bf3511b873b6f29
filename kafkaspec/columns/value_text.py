"""Keys, values and headers of records in one line, cut where they are long."""

from __future__ import annotations

from kafkaspec.columns.json_lines import PIECE_BYTES, decoded
from kafkaspec.model import Headers
from kafkaspec.shown import printable

MAX_CHARACTERS = 100
"""Number of characters of a key or value that are shown."""
_MESSAGE = 400
"""The same of what is decoded."""


def bytes_text(data: bytes | bytearray | memoryview | None, limit: int = MAX_CHARACTERS) -> str:
    """Return bytes in one line: quoted if they are UTF-8, else in hex; ``null`` for None.

    A text longer than ``limit`` is cut, and the size is added.
    """
    if data is None:
        return "null"
    try:
        text = _beginning(data, limit + 1) if len(data) > PIECE_BYTES else str(data, "utf-8")
    except UnicodeDecodeError:
        shown, whole = bytes(data[: limit // 2]).hex(), len(data) <= limit // 2
        return f"0x{shown}" if whole else f"0x{shown}... ({len(data)} bytes)"
    if len(text) <= limit and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    quoted = _quoted(text[:limit])
    return quoted if len(text) <= limit else f"{quoted}... ({len(data)} bytes)"


def _beginning(data: bytes | bytearray | memoryview, size: int) -> str:
    """Return the text of the beginning of a long text; all of it is looked at.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
    """
    text = ""
    for piece in decoded(data):
        text = text or piece[:size]
    return text


def _quoted(text: str) -> str:
    shown = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{printable(shown)}"'


def in_short(text: str) -> str:
    """Return text of a message or a decoded value in one line, cut where it is long."""
    return printable(text if len(text) <= _MESSAGE else f"{text[:_MESSAGE]}...")


def headers_text(headers: Headers) -> str:
    """Return the headers of a record, with two blanks before them."""
    pairs = (
        f"{bytes_text(key.encode('utf-8', 'surrogateescape'))}: {bytes_text(value)}"
        for key, value in headers
    )
    return f"  {{{', '.join(pairs)}}}"
