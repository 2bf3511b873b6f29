"""List what is public: the library, commands, their arguments, extras, the specification.

``python -m tools.public`` writes ``changes/public.txt`` when a release is made. A test compares
later versions with it; ``docs/stability.md`` has the rule.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from enum import Enum
from inspect import signature
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import click

import kafkaspec
from kafkaspec.cli.main import main as command
from kafkaspec.cli.options import FormerName
from kafkaspec.log.batch import FORMER
from kafkaspec.options import names_of
from tools.api import members
from tools.specgen.document import file_text, parsed

ROOT: Final = Path(__file__).parents[1]
LIST: Final = ROOT / "changes" / "public.txt"


def names() -> list[str]:
    """Return everything that is public."""
    return sorted({*_library(), *_commands(command, "kafkaspec"), *_extras(), *_specification()})


def _library() -> Iterator[str]:
    for name in kafkaspec.__all__:
        value = getattr(kafkaspec, name)
        yield f"ks.{name}"
        if isinstance(value, FunctionType):
            yield from (f"ks.{name}({argument})" for argument in signature(value).parameters)
        elif isinstance(value, type):
            yield from (f"ks.{name}.{member}" for member in _members(value))


def _members(class_: type) -> Iterator[str]:
    """Yield what docs/api/ lists, functions once more with each argument; values of enums."""
    if issubclass(class_, Enum):
        yield from class_.__members__
    for name, (function, is_method, _) in (FORMER if class_ is kafkaspec.Batch else {}).items():
        yield name  # deprecated
        if is_method:
            _, *given = signature(function).parameters
            yield from (f"{name}({argument})" for argument in given)
    for member in members(class_):
        name, _, arguments = member.rstrip(")").partition("(")
        yield name
        for argument in arguments.split(", "):
            if argument.strip("*"):
                yield f"{name}({argument.strip('*')})"
        found = getattr(class_, name, None)
        if isinstance(found, FunctionType):
            yield from (f"{name}({option})" for option in names_of(found))


def _commands(group: click.Command, path: str) -> Iterator[str]:
    yield path
    for parameter in group.params:
        if isinstance(parameter, FormerName) or (
            isinstance(parameter, click.Option) and not parameter.hidden
        ):
            options = (*parameter.opts, *parameter.secondary_opts)
            yield from (f"{path} {option}" for option in options)
    if isinstance(group, click.Group):
        context = click.Context(group)
        former: Mapping[str, str] = getattr(group, "former", {})
        for name in (*group.list_commands(context), *former):
            inner = group.get_command(context, former.get(name, name))
            if inner is not None:
                yield from _commands(inner, f"{path} {name}")


def _extras() -> Iterator[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"]) - {"test", "release"}  # for developers
    return (f"kafkaspec[{extra}]" for extra in extras)


def _specification() -> Iterator[str]:
    """Yield the fields by file, type and Kafka's name."""
    for path in sorted((ROOT / "spec").rglob("*.ksy")):
        place = path.relative_to(ROOT).as_posix()
        yield from _fields(parsed(place, file_text(path, place)), place)


def _fields(type_: Any, place: str) -> Iterator[str]:
    for field in type_.get("seq", ()):
        original = field.get("-orig-id")
        yield f"{place} {field['id']}" + (f" {original}" if original else "")
    for name in type_.get("instances", {}):
        yield f"{place} {name}"
    for name, inner in type_.get("types", {}).items():
        yield from _fields(inner, f"{place} {name}")


def main() -> None:
    """Write the list."""
    LIST.write_text("".join(f"{name}\n" for name in names()), encoding="utf-8")


if __name__ == "__main__":
    main()
