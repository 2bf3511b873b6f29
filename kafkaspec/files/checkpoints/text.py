"""Text as Kafka reads it: lines, fields and numbers by Java's rules, each with its position; JSON
as its Jackson does.

The rules are those of ``BufferedReader.readLine``, ``Pattern.split("\\\\s+")``,
``Integer.parseInt`` and ``Long.parseLong``, not those of Python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any, Final, NamedTuple, NoReturn, TypeVar
from uuid import UUID

from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.io.local import read_beside
from kafkaspec.io.remote import as_path
from kafkaspec.layout import TextKey

T = TypeVar("T")

INT_BITS = 32
LONG_BITS = 64
BITS: Final = {"s2": 16, "s4": INT_BITS, "s8": LONG_BITS}
"""Bits of a number, by its type in the specification."""

_LINE_END = re.compile(rb"\r\n|\r|\n")
# Java's \s without UNICODE_CHARACTER_CLASS; Python's matches more.
_WHITESPACE = re.compile(r"[ \t\n\x0b\f\r]+")
_NUMBER = re.compile(r"[+-]?\d+")
# Kafka's Topic.LEGAL_CHARS.
_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_DIGITS = 400
"""Longer numbers are refused without conversion. Java allows any number of leading zeros."""


class TextPiece(NamedTuple):
    """A part of a line.

    Attributes:
        text: text of the part.
        position: byte offset in the file.
        line: number of the line, from 1.
    """

    text: str
    position: int
    line: int

    def part(self, start: int, end: int) -> TextPiece:
        """Return the characters from ``start`` to ``end``, with their own position."""
        before = len(self.text[:start].encode())
        return TextPiece(self.text[start:end], self.position + before, self.line)


@dataclass(frozen=True, slots=True)
class Text:
    """The bytes of a text file and its name in errors."""

    data: bytes
    file: str | None = None

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Text:
        """Read a file into memory.

        Raises:
            KafkaSpecError: ``unreadable``, also if it is larger than ``SIDE_FILE_BYTES``.
        """
        source = read_beside(as_path(path))
        return cls(bytes(source.buffer), source.name)

    def lines(self) -> Iterator[TextPiece]:
        """Yield the lines without their ends; the end of the last line does not begin another one.

        Raises:
            CorruptError: a line is not UTF-8.
        """
        start, number = 0, 0
        while start < len(self.data):
            number += 1
            match = _LINE_END.search(self.data, start)
            end, after = match.span() if match else (len(self.data), len(self.data))
            try:
                yield TextPiece(self.data[start:end].decode(), start, number)
            except UnicodeDecodeError as error:
                place = TextPiece("", start + error.start, number)
                raise self.error(Reason.INVALID_VALUE, "it is not UTF-8", place) from None
            start = after

    def error(
        self, reason: Reason, detail: str, where: TextPiece | None = None, path: str = ""
    ) -> KafkaSpecError:
        """Return the error about a piece, or about the end of the file."""
        position = len(self.data) if where is None else min(where.position, len(self.data))
        if where is not None:
            detail = f"line {where.line}: {detail}"
        return make_error(reason, detail, file=self.file, offset=position, path=path)

    def uuid(self, piece: TextPiece, path: str) -> UUID:
        """Parse a UUID in Kafka's text format.

        Raises:
            CorruptError: it is none.
        """
        found = kafka_uuid.from_text(piece.text)
        if found is None:
            detail = f"{shown(piece.text)} is not the base64 of a UUID"
            raise self.error(Reason.INVALID_VALUE, detail, piece, path)
        return found

    def value(self, key: TextKey, piece: TextPiece, path: str) -> Any:
        """Parse a value of a key of the specification.

        Raises:
            CorruptError: it is none of its type.
        """
        if key.type in BITS:
            return self.number(piece, BITS[key.type], path)
        if key.type != "uuid":
            return piece.text
        found = self.uuid(piece, path)
        if key.nonzero and found == kafka_uuid.ZERO:
            detail = f"{shown(piece.text)} is zero, which no {key.attribute} is"
            raise self.error(Reason.INVALID_VALUE, detail, piece, path)
        return found

    def number(self, piece: TextPiece, bits: int, path: str) -> int:
        """Parse a whole number like ``Integer.parseInt`` (32 bits) or ``Long.parseLong`` (64 bits).

        Raises:
            CorruptError: it is not a whole number, or too large.
        """
        value = None
        if len(piece.text) <= _MAX_DIGITS and _NUMBER.fullmatch(piece.text):
            value = int(piece.text)
        if value is None or not fits(value, bits):
            detail = f"{shown(piece.text)} is not a whole number of {bits} bits"
            raise self.error(Reason.INVALID_VALUE, detail, piece, path)
        return value


def reader(parse: Callable[..., T]) -> Callable[[str | PathLike[str]], T]:
    """Return the function that reads a file and parses it by a function of bytes and a name."""

    def read(path: str | PathLike[str]) -> T:
        """Read the file at ``path``.

        Raises:
            KafkaSpecError: ``unreadable``, and as ``parse``.
        """
        text = Text.load(path)
        return parse(text.data, file=text.file)

    return read


def fields(line: TextPiece, separator: re.Pattern[str] = _WHITESPACE) -> list[TextPiece]:
    """Split like Java's ``Pattern.split``: keep an empty first field, drop empty last ones.

    Args:
        line: line to split.
        separator: pattern that does not match the empty string.
    """
    found, start = [], 0
    for match in separator.finditer(line.text):
        found.append(line.part(start, match.start()))
        start = match.end()
    found.append(line.part(start, len(line.text)))
    if len(found) > 1:
        while found and not found[-1].text:
            found.pop()
    return found


def fits(value: int, bits: int) -> bool:
    """Return whether a signed number of that many bits can hold it."""
    return -(1 << (bits - 1)) <= value < 1 << (bits - 1)


def writable(value: int, bits: int, name: str) -> str:
    """Return the digits of a number.

    Raises:
        KafkaSpecError: ``unencodable``.
    """
    if not fits(value, bits):
        detail = f"{value} is not a whole number of {bits} bits"
        raise make_error(Reason.UNENCODABLE, detail, path=f"/{name}")
    return str(value)


def value_text(key: TextKey, value: Any) -> str:
    """Return the text of a value of a key of the specification.

    Raises:
        KafkaSpecError: ``unencodable``: it does not fit, or Kafka would refuse it.
    """
    if key.type in BITS:
        return writable(value, BITS[key.type], key.attribute)
    if key.type == "uuid":
        if key.nonzero and value == kafka_uuid.ZERO:
            detail = f"no {key.attribute} is zero"
            raise make_error(Reason.UNENCODABLE, detail, path=f"/{key.attribute}")
        return kafka_uuid.to_text(value)
    if key.type == "topic" and not _TOPIC.fullmatch(value):
        detail = f"{shown(value)} is not the name of a topic"
        raise make_error(Reason.UNENCODABLE, detail, path=f"/{key.attribute}")
    return str(value)


def shown(text: str, most: int = 40) -> str:
    """Shorten text from a file and escape its control characters, for a message."""
    return repr(text if len(text) <= most else text[:most] + "...")


class JsonObject:
    """The object at the beginning of a line. The rest of the line is ignored."""

    def __init__(self, text: Text, line: TextPiece) -> None:
        """Parse the object.

        Raises:
            CorruptError: the line is not JSON, or not an object.
        """
        self._text, self._line = text, line
        self._start, self._path = 0, ""
        start = len(line.text) - len(line.text.lstrip(" \t\r\n"))
        try:
            value, _ = _DECODER.raw_decode(line.text, start)
        except json.JSONDecodeError as error:
            place = line.part(error.pos, len(line.text))
            raise text.error(Reason.INVALID_VALUE, f"it is not JSON: {error.msg}", place) from None
        except (ValueError, RecursionError):  # a huge number, deep nesting, NaN
            raise text.error(Reason.INVALID_VALUE, "it is not JSON", line) from None
        if not isinstance(value, dict):
            raise text.error(Reason.INVALID_VALUE, "it is not a JSON object", line)
        self.fields: dict[str, Any] = value

    def inner(self, name: str) -> JsonObject:
        """Return the value of a field that is an object.

        Raises:
            CorruptError: it is missing or something else.
        """
        value = self.value(name)
        if not isinstance(value, dict):
            self.refuse(name, "it is not a JSON object")
        found = JsonObject.__new__(JsonObject)
        found._text, found._line = self._text, self._line
        found._start, found._path = self._found(name), f"{self._path}/{name}"
        found.fields = value
        return found

    def position(self, name: str) -> int:
        """Return the byte offset of the first occurrence of a field's name, else of the line."""
        return self._place(name).position

    def value(self, name: str) -> Any:
        """Return the value of a field.

        Raises:
            CorruptError: there is none.
        """
        if name not in self.fields:
            self.refuse(name, "the field is missing")
        return self.fields[name]

    def number(self, name: str, bits: int) -> int:
        """Return the value of a field that is a whole number.

        Raises:
            CorruptError: it is missing, something else, or too large.
        """
        return self.checked_number(name, self.value(name), bits)

    def typed(self, key: TextKey) -> Any:
        """Return the value of a field of the specification.

        Raises:
            CorruptError: it is missing, or none of its type.
        """
        value = self.value(key.key)
        if value is None and key.nullable:
            return None
        if not key.item:
            return self._typed(key, value)
        if not isinstance(value, list) or not all(
            isinstance(each, dict) and key.item in each for each in value
        ):
            self.refuse(key.key, f"it is not a list of objects with {key.item}")
        return tuple(self._typed(key, each[key.item]) for each in value)

    def _typed(self, key: TextKey, value: Any) -> Any:
        if key.type in BITS:
            return self.checked_number(key.key, value, BITS[key.type])
        if not isinstance(value, str) or _SURROGATE.search(value):
            self.refuse(key.key, "it is not text")
        place = TextPiece(value, self.position(key.key), self._line.line)
        return self._text.value(key, place, f"{self._path}/{key.key}")

    def checked_number(self, name: str, value: Any, bits: int) -> int:
        """Return ``value`` if it is a whole number.

        Raises:
            CorruptError: it is something else, or too large.
        """
        if not isinstance(value, int) or isinstance(value, bool):
            self.refuse(name, "it is not a whole number")
        if not fits(value, bits):
            self.refuse(name, f"{shown(str(value))} does not fit into {bits} bits")
        return value

    def string(self, name: str) -> str:
        """Return the value of a field that is text.

        Raises:
            CorruptError: it is missing or something else.
        """
        value = self.value(name)
        if not isinstance(value, str) or _SURROGATE.search(value):
            self.refuse(name, "it is not text")
        return value

    def refuse(self, name: str, detail: str, reason: Reason = Reason.INVALID_VALUE) -> NoReturn:
        """Raise the error about a field."""
        place, path = self._place(name), f"{self._path}/{name}"
        raise self._text.error(reason, f"{name}: {detail}", place, path)

    def _place(self, name: str) -> TextPiece:
        return self._line.part(self._found(name), len(self._line.text))

    def _found(self, name: str) -> int:
        """Return the index of the first occurrence of a name in the object, else its beginning."""
        at = self._line.text.find(json.dumps(name), self._start)
        return self._start if at < 0 else at


def written(fields: dict[str, Any]) -> bytes:
    """Serialize fields to JSON as Jackson does: no spaces, and only the necessary escapes.

    Raises:
        KafkaSpecError: ``unencodable``: a text is not Unicode.
    """
    try:
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        raise make_error(Reason.UNENCODABLE, "a text is not Unicode") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
