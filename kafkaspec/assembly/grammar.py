"""The text of assembly: lines to nodes, nodes to lines.

A line has a name and what follows the colon, or ``-`` for an item of an array; the lines below that
are indented more belong to it. Values are numbers, words, ``"text"``, ``hex 00 ff`` for bytes and
``raw 00 ff`` for a field as it is stored; ``!`` after a value forces it; ``#`` begins a comment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kafkaspec.errors import KafkaSpecError, Reason, make_error

REST: Final = "..."
"""Name of bytes that no field has read."""

_INDENT: Final = "  "
_MOST_DEPTH: Final = 64
"""Levels of indentation, more than any type of the specification has."""
_NAME = re.compile(r"(?P<name>\.\.\.|[A-Za-z_][\w.]*)(?P<parameters>(?: -?\d+)*):(?= |$)")
_BYTES = re.compile(r"(?P<form>hex|raw)(?P<digits>(?: +[0-9a-fA-F]+)*)(?= *$| +[!#])")
_WORD = re.compile(r"[^\s\"#!]+")
_STRINGS = json.JSONDecoder()


@dataclass(slots=True)
class Node:
    """One field, structure or array.

    Attributes:
        name: id of the field, "" for an item of an array, ``REST`` for bytes without a field.
        value: text, bytes, or a word or number as it is written; None for a structure or array.
        stored: whether the value is the bytes of the field as they are stored.
        forced: whether the value holds even where another one follows from the other fields.
        parts: what is in a structure or array, None for a value.
        type: key of the type, where the specification leaves a choice.
        parameters: numbers that the type takes.
        comment: a remark for people.
        line: number of its line, from 1 on.
        column: number of the first character of the value, from 1 on; of the name without a value.
    """

    name: str
    value: str | bytes | Word | None = None
    stored: bool = False
    forced: bool = False
    parts: list[Node] | None = None
    type: str = ""
    parameters: tuple[int, ...] = ()
    comment: str = ""
    line: int = 0
    column: int = 1

    def part(self, name: str) -> Node | None:
        """Return the part with this name, None for none."""
        return next((node for node in self.parts or () if node.name == name), None)


class Word(str):
    """A number or word, as opposed to a text in quotes."""

    __slots__ = ()


def refuse(file: str, node: Node, detail: str) -> KafkaSpecError:
    """Return the error for a line."""
    return refuse_at(file, node.line, node.column, detail)


def refuse_at(file: str, line: int, column: int, detail: str) -> KafkaSpecError:
    """Return the error for a place in the text."""
    return make_error(Reason.UNENCODABLE, f"line {line}, column {column}: {detail}", file=file)


def read(text: str, file: str) -> list[Node]:
    """Return the nodes of a text, those of the outermost level.

    Raises:
        KafkaSpecError: ``unencodable``: a line that is none, with line and column.
    """
    top: list[Node] = []
    open_nodes: list[tuple[int, Node]] = []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip()
        content = line.lstrip(" ")
        if not content or content.startswith("#"):
            continue
        indent = len(line) - len(content)
        node = _node(content, file, number, indent + 1)
        while open_nodes and open_nodes[-1][0] >= indent:
            open_nodes.pop()
        if len(open_nodes) >= _MOST_DEPTH:
            raise refuse_at(file, number, indent + 1, f"more than {_MOST_DEPTH} levels")
        if open_nodes:
            _add(open_nodes[-1][1], node, file)
        elif indent and not top:
            raise refuse_at(file, number, 1, "the first line is indented")
        elif indent:
            raise refuse_at(file, number, 1, "the indentation matches no line before")
        else:
            top.append(node)
        open_nodes.append((indent, node))
    return top


def _add(parent: Node, node: Node, file: str) -> None:
    if parent.value is not None:
        if not isinstance(parent.value, Word) or parent.stored or parent.forced:
            raise refuse(file, node, f"{parent.name or 'the item'} has a value, and parts below")
        parent.type, parent.value = str(parent.value), None
    if parent.parts is None:
        parent.parts = []
    if node.name and "." not in node.name and parent.part(node.name) is not None:
        raise refuse(file, node, f"a second {node.name}")
    parent.parts.append(node)


def _node(content: str, file: str, number: int, column: int) -> Node:
    parameters: tuple[int, ...] = ()
    if content == "-" or content.startswith("- "):
        name, rest = "", content[1:]
    else:
        found = _NAME.match(content)
        if found is None:
            raise refuse_at(file, number, column, "neither `name:` nor `-` begins the line")
        name, rest = found["name"], content[found.end() :]
        parameters = tuple(int(word) for word in found["parameters"].split())
    node = Node(name, parameters=parameters, line=number)
    node.column = column + len(content) - len(rest.lstrip(" "))
    _value(node, rest.lstrip(" "), file)
    if node.value is None:
        node.column = column
    return node


def _value(node: Node, rest: str, file: str) -> None:
    """Set the value of a node from what follows the name."""
    if not rest or rest.startswith("#"):
        return
    if rest.startswith('"'):
        try:
            node.value, end = _STRINGS.raw_decode(rest)
        except ValueError as error:
            detail = f"not a text in quotes as JSON writes it: {error}"
            raise refuse(file, node, detail) from None
    elif (found := _BYTES.match(rest)) is not None:
        try:
            node.value = bytes.fromhex(found["digits"])
        except ValueError:
            raise refuse(file, node, "an odd number of hexadecimal digits") from None
        node.stored, end = found["form"] == "raw", found.end()
    elif rest.startswith(("[]", "{}")):
        node.parts, end = [], 2
    elif (word := _WORD.match(rest)) is not None:
        node.value, end = Word(word.group()), word.end()
    else:
        end = 0
    rest = rest[end:].lstrip(" ")
    if rest.startswith("!"):
        node.forced, rest = True, rest[1:].lstrip(" ")
    if rest and not rest.startswith("#"):
        detail = f"{rest[:40]!r} is neither a value, nor `!`, nor a comment after `#`"
        raise refuse(file, node, detail)


def write(nodes: Iterable[Node]) -> Iterator[str]:
    """Yield the lines of nodes, as ``read`` takes them."""
    return _lines(nodes, "")


def _lines(nodes: Iterable[Node], indent: str) -> Iterator[str]:
    for node in nodes:
        head = f"{' '.join((node.name, *map(str, node.parameters)))}:" if node.name else "-"
        words = [indent + head]
        if node.parts is None:
            words.append(_shown(node))
        elif not node.parts:
            words.append("[]")
        elif node.type:
            words.append(node.type)
        if node.forced:
            words.append("!")
        if node.comment:
            words.append(f" # {node.comment}")
        yield " ".join(words)
        yield from _lines(node.parts or (), indent + _INDENT)


def _shown(node: Node) -> str:
    value = node.value
    if isinstance(value, bytes):
        return f"{'raw' if node.stored else 'hex'} {value.hex(' ')}".rstrip()
    if isinstance(value, Word):
        return value
    return json.dumps(value, ensure_ascii=False)
