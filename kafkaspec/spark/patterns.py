"""Regular expressions of Java, in which ``subscribePattern`` is written, as Python takes them."""

from __future__ import annotations

import re
from typing import Final

_CLASSES: Final = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": "\\x00-\\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": "!-/:-@\\[-`{-~",
    "XDigit": "0-9a-fA-F",
    "IsAlphabetic": "a-zA-Z",
    "IsDigit": "0-9",
    "L": "a-zA-Z",
    "Ll": "a-z",
    "Lu": "A-Z",
    "N": "0-9",
    "Nd": "0-9",
}
"""Classes of Java by name, as far as names of topics go: those are ASCII.

Java: ``java.util.regex.Pattern``; Kafka: ``Topic.LEGAL_CHARS``.
"""

_TOKEN: Final = re.compile(
    r"\\Q(?P<literal>.*?)(?:\\E|\Z)"
    r"|\\(?P<sign>[pP])(?:\{(?P<kind>\w+)\}|(?P<letter>\w))"
    r"|\\k<(?P<reference>[A-Za-z]\w*)>"
    r"|\\(?P<end>z)"
    r"|\\."
    r"|\(\?<(?P<group>[A-Za-z]\w*)>"
    r"|(?P<both>&&)"
    r"|[\[\]]",
    re.DOTALL,
)


def from_java(pattern: str) -> re.Pattern[str]:
    """Return a regular expression of Java as one of Python.

    Named groups, quotes, and classes by name are translated. Classes within classes are refused.
    """
    made: list[str] = []
    position = 0
    inside = False
    for token in _TOKEN.finditer(pattern):
        made.append(pattern[position : token.start()])
        position = token.end()
        inside, text = _translated(token, inside)
        made.append(text)
    try:
        return re.compile("".join((*made, pattern[position:])))
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _translated(token: re.Match[str], inside: bool) -> tuple[bool, str]:
    """Return whether the next token is inside a class, and this one in Python."""
    text = token[0]
    if text == "[" and not inside:
        return True, text
    if text == "]":
        return False, text
    if inside and (text == "[" or token["both"]):
        raise ValueError("Python has no classes within classes, such as [a-z&&[^b]]")
    if token["literal"] is not None:
        return inside, re.escape(token["literal"])
    if token["sign"]:
        return inside, _class(token, inside)
    if token["reference"]:
        return inside, f"(?P={token['reference']})"
    if token["group"] and not inside:
        return inside, f"(?P<{token['group']}>"
    return inside, r"\Z" if token["end"] else text


def _class(token: re.Match[str], inside: bool) -> str:
    name = token["kind"] or token["letter"]
    found = _CLASSES.get(name) or _CLASSES.get(name.removeprefix("Is"))
    if found is None:
        raise ValueError(f"there is no class \\p{{{name}}} here; there are {', '.join(_CLASSES)}")
    if token["sign"] == "p":
        return found if inside else f"[{found}]"
    if inside:
        raise ValueError(f"Python has no \\P{{{name}}} in a class")
    return f"[^{found}]"
