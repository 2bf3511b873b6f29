"""Read the YAML of ``.ksy`` files, as nothing else in the repository does.

Errors name file and path of what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

import yaml
from yaml.composer import Composer

from tools.specgen import expression as ex

_Value = TypeVar("_Value")

_LARGEST = 1 << 18
"""Bytes that a file may have; the largest of Kafka's formats takes a tenth of it."""


class SpecError(Exception):
    """The specification cannot be read; the message has file, path, problem and remedy."""

    def __init__(self, location: str, message: str) -> None:
        super().__init__(f"{location}: {message}")
        self.location = location
        self.message = message


def file_text(path: Path, name: str) -> str:
    """Return the text of a file; ``name`` is its place.

    Raises:
        SpecError: it cannot be read, is too large or not UTF-8.
    """
    try:
        size = path.stat().st_size
        if size > _LARGEST:
            raise SpecError(name, f"has {size} bytes, more than {_LARGEST}; split the file")
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise SpecError(name, f"byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except OSError as error:
        message = f"cannot be read: {error.strerror}; mend or remove it"
        raise SpecError(name, message) from None


def parsed(name: str, text: str) -> object:
    """Return what YAML makes of a text; ``name`` is the place of its file.

    Raises:
        SpecError: it is not the part of YAML that specifications need.
    """
    try:
        document: object = yaml.load(text, _Yaml)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        problem = error.problem or error.context or ""
        if problem.startswith("but "):
            problem = f"{error.context}, {problem}"
        raise SpecError(name, f"not valid YAML: {line}{problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        problem = str(error).splitlines()[0].split(": value has")[0]
        message = f"not valid YAML: {problem}; quote what is meant as text"
        raise SpecError(name, message) from None
    except RecursionError:
        raise SpecError(name, "nested too deeply; write fewer levels") from None
    return document


class _Yaml(Composer, yaml.CSafeLoader):
    """YAML without features that the specification does not need or that hide mistakes.

    ``libyaml`` parses, five times as fast as the parser in Python; nodes are made in Python, which
    is what ``compose_node`` needs.
    """

    def __init__(self, text: str) -> None:
        yaml.CSafeLoader.__init__(self, text)
        Composer.__init__(self)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark: Any = self.peek_event().start_mark  # type: ignore[union-attr]
            raise yaml.MarkedYAMLError(problem="no aliases; write it out", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int) or isinstance(key, bool):
                raise yaml.MarkedYAMLError(
                    problem="a key is text or a number; quote it", problem_mark=key_node.start_mark
                )
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key} is here twice; leave one of them out",
                    problem_mark=key_node.start_mark,
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


class Node:
    """A mapping of the file and its path; reading a value of another shape is a ``SpecError``."""

    def __init__(self, file_name: str, path: str, content: object) -> None:
        self.file_name, self.path = file_name, path
        if not isinstance(content, dict):
            raise self.fail("expected a mapping; write lines of the form key: value")
        self.content: Mapping[Any, Any] = content
        for key in content:
            if not isinstance(key, str | int):
                raise self.fail(f"{key!r} is not a key; write text or a number")

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys, in the order of the file."""
        return tuple(str(key) for key in self.content)

    def described(self) -> dict[str, Any]:
        """Return what every node of the model has."""
        return {
            "location": f"{self.file_name}#{self.path or '/'}",
            "doc": self.text("doc"),
            "original_id": self.optional_text("-orig-id"),
            "key_order": self.keys,
        }

    def fail(self, message: str, key: str = "") -> SpecError:
        """Return an error at the node, or at the value of a key."""
        below = f"{self.path}/{key}" if key else self.path or "/"
        return SpecError(f"{self.file_name}#{below}", message)

    def check(self, known: set[str], needed: set[str]) -> None:
        """Refuse unknown keys, and a mapping without some that are needed."""
        for key in self.keys:
            if key not in known:
                raise self.fail(f"unknown key {key}; the keys are {', '.join(sorted(known))}")
        for key in sorted(needed - set(self.keys)):
            raise self.fail(f"{key} is missing; write it")

    def get(self, key: str, kind: type[_Value], what: str) -> _Value | None:
        """Return the value under a key, None if there is none; it must be of the kind."""
        found = self.content.get(key)
        if found is not None and not isinstance(found, kind):
            raise self.fail(f"expected {what}, not {ex.shown(found)}", key)
        return found

    def child(self, key: str) -> Self:
        """Return the mapping under a key."""
        return type(self)(self.file_name, f"{self.path}/{key}", self.content.get(key))

    def named(self, key: str) -> list[tuple[str, Node]]:
        """Return the mappings under a key with their names; none if there is no such key."""
        if self.content.get(key) is None:
            return []
        found = self.child(key)
        for name in found.content:
            if not isinstance(name, str):
                raise found.fail(f"{name!r} is not an id; write lower_case words joined by _")
        return [(name, found.child(name)) for name in found.content]

    def nodes(self, key: str) -> list[Node]:
        """Return the list of mappings under a key, empty if there is no such key."""
        return [
            Node(self.file_name, f"{self.path}/{key}/{i}", item)
            for i, item in enumerate(self.get(key, list, "a list") or ())
        ]

    def id(self, what: str) -> str:
        """Return the id of a node."""
        found = self.content.get("id")
        if isinstance(found, str):
            return found
        if found is not None:
            raise self.fail(f"expected text, not {ex.shown(found)}; write another id", "id")
        raise self.fail(f"{what} needs an id; write id: and a name")

    def optional_text(self, key: str) -> str | None:
        """Return the text under a key, None if there is no such key."""
        return self.get(key, str, "text")

    def text(self, key: str) -> str:
        """Return the text under a key, empty if there is no such key."""
        return (self.optional_text(key) or "").strip()

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the texts under a key: one, or a list of them."""
        found = self.content.get(key)
        items = found if isinstance(found, list) else [] if found is None else [found]
        for item in items:
            if not isinstance(item, str):
                raise self.fail(f"expected text or a list of it, not {ex.shown(item)}", key)
        return tuple(items)

    def flag(self, key: str) -> bool:
        """Return the truth value under a key, False if there is no such key."""
        found = self.content.get(key, False)
        if not isinstance(found, bool):
            raise self.fail(f"expected true or false, not {ex.shown(found)}", key)
        return found

    def parse(self, node: object, key: str) -> ex.Expression:
        """Return the expression of a node; errors name the key."""
        if isinstance(node, bool):
            return ex.Bool(node)
        if not isinstance(node, str | int):
            raise self.fail(f"expected an expression, not {ex.shown(node)}; write one", key)
        try:
            parsed = ex.parse(str(node))
        except ValueError as error:
            raise self.fail(str(error), key) from None
        for part in ex.walk(parsed):
            if isinstance(part, ex.Int):
                self.number(part.value, "a number", key)
        return parsed

    def expression(self, key: str) -> ex.Expression | None:
        """Return the expression under a key, None if there is no such key."""
        found = self.content.get(key)
        return None if found is None else self.parse(found, key)

    def needed_expression(self, key: str) -> ex.Expression:
        """Return the expression under a key."""
        return self.parse(self.content.get(key), key)

    def number(self, value: object, what: str, key: str = "") -> int:
        """Return a number that fits 64 bits."""
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.fail(f"{what}, not {ex.shown(value)}", key)
        if not -(1 << 63) <= value < 1 << 64:
            raise self.fail(f"{ex.shown(value)} does not fit 64 bits; write a smaller one", key)
        return value
