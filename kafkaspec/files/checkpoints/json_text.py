"""A JSON object as Kafka's Jackson reads it, each number and text with its bounds checked."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from kafkaspec.errors import Reason, make_error
from kafkaspec.files.checkpoints.text import Text, TextPiece, fits, shown


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
        if not isinstance(value, str) or _is_surrogate(value):
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


def _is_surrogate(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return True
    return False


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
