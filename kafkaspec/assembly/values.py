"""Values of fields: to the words of assembly, and to bytes."""

from __future__ import annotations

import re
import struct
from typing import Any, Final

from kafkaspec._generated.layout import ENUMS, LAYOUTS
from kafkaspec.assembly.grammar import Node, Word, refuse
from kafkaspec.codecs import Codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import FieldLayout, Form, Kind
from kafkaspec.options import did_you_mean

NULL: Final = Word("null")
_TRUTH: Final = {"false": 0, "true": 1}
_FLOATS: Final = {4: ">f", 8: ">d"}
INTEGER: Final = (
    r"[-+]?(?:0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+"
    r"|0(?:_?0)*|[1-9](?:_?[0-9])*)"
)
"""How a whole number is written, for the explorer too: as in Python."""
DECIMAL: Final = (
    r"[nN][aA][nN]|[-+]?(?:[iI][nN][fF](?:[iI][nN][iI][tT][yY])?"
    r"|(?:[0-9](?:_?[0-9])*(?:\.(?:[0-9](?:_?[0-9])*)?)?|\.[0-9](?:_?[0-9])*)"
    r"(?:[eE][-+]?[0-9](?:_?[0-9])*)?)"
)
"""How a number with a point is written, for the explorer too: as in Python."""


def is_plain(field: FieldLayout) -> bool:
    """Return whether a field, or an item of it, is one value and not a structure."""
    if field.kind in (Kind.TYPE, Kind.CHOICE):
        return bool(field.type) and LAYOUTS[field.type].form is Form.SCALAR
    return True


def holds_bytes(field: FieldLayout) -> bool:
    """Return whether the value of a field is bytes, or null."""
    if field.kind is Kind.BYTES:
        return True
    return bool(field.type) and LAYOUTS[field.type].scalar in ("bytes", "nullable_bytes")


def _is_nullable(field: FieldLayout) -> bool:
    return bool(field.type) and LAYOUTS[field.type].scalar == "nullable_bytes"


def shown(field: FieldLayout, value: Any) -> str | bytes | Word:
    """Return the value of a node for a value of the typed model."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return Word(str(value).lower())
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return as_text(bytes(value))
    name = ENUMS.get(field.enum, {}).get(value, ("",))[0] if field.enum else ""
    return Word(name or repr(value))


def as_text(data: bytes) -> str | bytes:
    """Return the text that bytes are, or themselves where a terminal could not show it."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    return text if text.isprintable() else data


def as_bytes(node: Node) -> bytes | None:
    """Return the bytes that a node has, as text or hex; None for the word null and no bytes."""
    value = node.value
    if isinstance(value, str) and not isinstance(value, Word):
        return value.encode("utf-8", "surrogatepass")
    return value if isinstance(value, bytes) else None


def encoded(codec: Codec, field: FieldLayout, value: Any) -> bytes:
    """Return the bytes of a value that is not in bits.

    Raises:
        ValueError, OverflowError, struct.error, KafkaSpecError: the field cannot hold it.
    """
    match field.kind:
        case Kind.INTEGER:
            return int(value).to_bytes(field.size, "big", signed=field.signed)
        case Kind.FLOAT:
            return struct.pack(_FLOATS[field.size], value)
        case Kind.BYTES:
            return bytes(value)
    return codec.serialize(field.type, value)


def is_null(node: Node) -> bool:
    """Return whether a node is the word null; the text in quotes is a text."""
    return isinstance(node.value, Word) and node.value == NULL


def takes(field: FieldLayout) -> str:
    """Say what a field takes, for an error."""
    names = [name for name, _ in ENUMS.get(field.enum, {}).values()]
    match field.kind:
        case Kind.BITS if field.boolean:
            return "true or false"
        case Kind.BITS:
            numbers = f"a number from 0 to {(1 << field.width) - 1}"
        case Kind.INTEGER:
            low = ~field.largest if field.signed else 0
            numbers = f"a number from {low} to {field.largest}"
        case Kind.FLOAT:
            return "a number"
        case Kind.BYTES:
            return 'a "text" or hex'
        case _ if holds_bytes(field):
            return 'a "text", hex or null' if _is_nullable(field) else 'a "text" or hex'
        case Kind.TYPE | Kind.CHOICE:
            keys = [key for _, key in field.cases] or [field.type]
            return f"the fields of {' or '.join(keys)}"
        case _:
            return f"a number, as {LAYOUTS[field.type].scalar} holds it"
    return f"{', '.join(names)}, or {numbers}" if names else numbers


def given(field: FieldLayout, node: Node, file: str) -> Any:
    """Return the value of the typed model that a node gives for a field.

    Raises:
        KafkaSpecError: ``unencodable``: it is not of the field's kind, with line and column.
    """
    value = node.value
    if holds_bytes(field):
        data = as_bytes(node)
        if data is not None or (is_null(node) and _is_nullable(field)):
            return data
    elif isinstance(value, Word):
        number = _number(field, value)
        if number is not None:
            return number
    names = [name for name, _ in ENUMS.get(field.enum, {}).values()]
    hint = did_you_mean(str(value), names) if isinstance(value, Word) and names else ""
    written = "nothing" if value is None else value.hex() if isinstance(value, bytes) else value
    label = field.id if node.name else f"an item of {field.id}"
    raise refuse(file, node, f"{label} takes {takes(field)}, not {written}{hint or ''}")


def _number(field: FieldLayout, word: Word) -> int | float | None:
    if word in _TRUTH and field.boolean:
        return _TRUTH[word]
    for number, (name, _) in ENUMS.get(field.enum, {}).items():
        if word == name:
            return number
    if field.kind is Kind.FLOAT:
        return float(word) if re.fullmatch(DECIMAL, word) else None
    return integer(word)


def integer(word: str) -> int | None:
    """Return the whole number that a word is, None for none."""
    try:
        return int(word, 0) if re.fullmatch(INTEGER, word) else None
    except ValueError:  # more digits than Python reads, and no field holds
        return None


def encoded_node(codec: Codec, field: FieldLayout, node: Node, file: str) -> bytes:
    """Return the bytes that a node gives for a field that is not in bits.

    Raises:
        KafkaSpecError: ``unencodable``, with line and column.
    """
    if node.stored and isinstance(node.value, bytes):
        return node.value
    if node.parts is not None:
        raise refuse(file, node, f"{field.id} takes {takes(field)}, and has no parts")
    value = given(field, node, file)
    try:
        return encoded(codec, field, value)
    except (ValueError, OverflowError, struct.error, KafkaSpecError):
        detail = f"{field.id} takes {takes(field)}, not {node.value!s}"
        raise refuse(file, node, detail) from None
