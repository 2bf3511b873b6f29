"""JSON text of one value: parsed exactly and within limits, and written again."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, Final

import orjson

from kafkaspec.values.decoded import Code, PayloadError
from kafkaspec.values.options import Bounds

DEEPEST: Final = 250
"""Levels of nesting that the library writes."""

_INEXACT: Final = re.compile(rb"[0-9][0-9.]{15}|[0-9][eE]")
"""What a floating-point number may not hold exactly; may match in texts too."""
_TOKENS: Final = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|$)|[\[{\]},]', re.DOTALL)


def parse(data: bytes, bounds: Bounds, *, exact: bool = True) -> Any:
    """Return the value of a JSON text; of names that are there twice the last one counts.

    With ``exact``, numbers that a floating-point one does not hold are ``int`` and ``Decimal``.
    """
    most = min(bounds.depth, DEEPEST)
    if data.count(b"[") + data.count(b"{") > most and (deep := _too_deep(data, most)) is not None:
        raise PayloadError(Code.DEPTH, f"more than {most} levels of nesting", deep)
    if data.count(b",") > bounds.items and _separators(data) > bounds.items:
        raise PayloadError(Code.BOUND, f"more than {bounds.items} items")
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _explained(data, error) from None
    if not exact or _INEXACT.search(data) is None:
        return value
    try:
        return json.loads(data, parse_float=Decimal)
    except (ValueError, ArithmeticError) as error:
        raise PayloadError(Code.RANGE, f"a number beyond limits: {error}") from None


def to_text(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # numbers beyond 64 bits
        return _exact_text(value)


def _exact_text(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{to_text(k)}:{_exact_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_exact_text, value)) + "]"
    if isinstance(value, Decimal) or type(value) is int:
        return str(value)
    return to_text(value)


def _too_deep(data: bytes, most: int) -> int | None:
    """Return the position of the first bracket beyond so many levels."""
    depth = 0
    for token in _TOKENS.finditer(data):
        first = data[token.start()]
        if first in b"[{":
            depth += 1
            if depth > most:
                return token.start()
        elif first in b"]}":
            depth -= 1
    return None


def _separators(data: bytes) -> int:
    """Return the number of commas outside texts."""
    return sum(data[token.start()] == b","[0] for token in _TOKENS.finditer(data))


def _explained(data: bytes, error: orjson.JSONDecodeError) -> PayloadError:
    try:
        text = data.decode()
    except UnicodeDecodeError as wrong:
        return PayloadError(Code.BAD_UTF8, wrong.reason, wrong.start)
    position = len(text[: error.pos].encode())
    reason = error.msg
    if not text.strip(" \t\r\n"):
        return PayloadError(Code.TRUNCATED, "no JSON at all", len(data))
    if "surrogate" in reason:
        return PayloadError(Code.BAD_UTF8, reason, position)
    if "infinity" in reason:
        return PayloadError(Code.RANGE, "a number beyond floating-point numbers", position)
    try:
        _, end = json.JSONDecoder().raw_decode(text.lstrip(" \t\r\n"))
    except json.JSONDecodeError as other:
        ends = error.pos >= len(text.rstrip()) or other.msg.startswith("Unterminated string")
        return PayloadError(Code.TRUNCATED if ends else Code.MALFORMED, reason, position)
    except ValueError:
        return PayloadError(Code.RANGE, "a number beyond limits", position)
    if text.lstrip(" \t\r\n")[end:].strip(" \t\r\n"):
        return PayloadError(Code.TRAILING, reason, position)
    return PayloadError(Code.MALFORMED, reason, position)
