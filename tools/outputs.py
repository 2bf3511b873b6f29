"""Write a JSON Schema for the lines of each command, from the classes that hold their members.

python -m tools.outputs            write generated/schemas
python -m tools.outputs --check    fail if it is not what the commands declare
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import click

from kafkaspec.cli.main import main as command
from kafkaspec.cli.report import Line, Output, types_of
from kafkaspec.results import OffsetRange

FOLDER: Final = Path(__file__).resolve().parents[1] / "generated" / "schemas"
_PLAIN: Final[dict[Any, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    NoneType: "null",
}


def outputs() -> dict[str, Output]:
    """Return what each command prints as lines of JSON, by the name of the command."""
    return {
        name: output
        for name, each in sorted(_commands(command, ""))
        if (output := getattr(each, "output", None)) is not None
    }


def schema_of(name: str, output: Output) -> dict[str, Any]:
    """Return the JSON Schema of a line of a command.

    Args:
        name: the command: ``spark verify``.
        output: what it declares.
    """
    return {
        "$comment": "Made by `python -m tools.outputs`. DO NOT EDIT.",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A line of kafkaspec {name} --format json",
        "anyOf": [_line(kind, each) for kind, each in output.lines.items()],
    }


def texts() -> dict[str, str]:
    """Return the files by name."""
    return {
        f"{name.replace(' ', '-')}.json": json.dumps(schema_of(name, output), indent=1) + "\n"
        for name, output in outputs().items()
    }


def main(arguments: Sequence[str]) -> int:
    """Write or check the schemas."""
    made = texts()
    there = {each.name: each.read_text("utf-8") for each in FOLDER.glob("*.json")}
    if "--check" in arguments:
        wrong = sorted(name for name in made.keys() | there if made.get(name) != there.get(name))
        if wrong:
            print(f"run python -m tools.outputs: {', '.join(wrong)}", file=sys.stderr)
        return bool(wrong)
    FOLDER.mkdir(exist_ok=True)
    for name in there.keys() - made.keys():
        (FOLDER / name).unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


def _commands(group: click.Group, prefix: str) -> Iterator[tuple[str, click.Command]]:
    ctx = click.Context(group)
    for name in group.list_commands(ctx):
        each = group.get_command(ctx, name)
        if isinstance(each, click.Group):
            yield from _commands(each, f"{prefix}{name} ")
        elif each is not None:
            yield prefix + name, each


def _line(kind: str, line: Line) -> dict[str, Any]:
    made = _object(line.kinds)
    made["additionalProperties"] = line.rest is not None
    made["properties"] = {"type": {"const": kind}, **made["properties"]}
    made["required"].insert(0, "type")
    return made


def _object(members: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: _schema(_bare(kind)) for name, kind in members.items()},
        "required": [name for name, kind in members.items() if get_origin(kind) != NotRequired],
        "additionalProperties": False,
    }


def _bare(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) in (NotRequired, Required, Annotated) else kind


def _schema(kind: Any) -> dict[str, Any]:
    """Return the schema of a value of a type, as ``kafkaspec.results.as_json`` writes it."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return {}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if origin in (Union, UnionType):
        parts = [_schema(part) for part in inner]
        if all(part.keys() == {"type"} and isinstance(part["type"], str) for part in parts):
            return {"type": [part["type"] for part in parts]}
        return {"anyOf": parts}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (list, set, frozenset) or (origin is tuple and inner[1:] == (...,)):
        return {"type": "array", "items": _schema(inner[0])}
    if origin is tuple:
        return _array(inner)
    if origin is Counter:
        return {"type": "object", "additionalProperties": {"type": "integer"}}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(inner[1])}
    if isinstance(origin, type) and issubclass(origin, Collection):
        return {"type": "array", "items": _schema(inner[0])}
    if isinstance(kind, type):
        if issubclass(kind, Enum):
            return {"enum": [item.value for item in kind]}
        if issubclass(kind, OffsetRange):
            return _array(get_type_hints(kind).values())
        if issubclass(kind, range):
            return _array([int, int])
        if is_dataclass(kind) or is_typeddict(kind) or hasattr(kind, "_fields"):
            return _object(types_of(kind))
        if issubclass(kind, PathLike):
            return {"type": "string"}
        if issubclass(kind, Mapping):
            return {"type": "object"}
        if issubclass(kind, list | tuple):
            return {"type": "array"}
    raise TypeError(f"no JSON Schema for {kind}")


def _array(kinds: Collection[Any]) -> dict[str, Any]:
    return {
        "type": "array",
        "prefixItems": [_schema(kind) for kind in kinds],
        "items": False,
        "minItems": len(kinds),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
