"""Commands from the signatures of functions: an option is declared where the function takes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from kafkaspec.cli.options import (
    Words,
    format_option_with,
    library_option,
    reading_options,
    renamed_option,
)
from kafkaspec.cli.report import Output, ReportCommand, Reporter

Decorator = Callable[[Any], Any]
"""A decorator that adds options to a command, as ``click.option`` returns it."""


def command(
    output: Output | None, epilog: str = "", *, shared: Sequence[Decorator] = (reading_options,)
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function called ``name_command``; its docstring is the help text.

    Its parameters are, in the order of ``--help``, those with ``option`` or ``defined`` as default,
    and those annotated with what adds options: ``Annotated[int, click.option(...)]``.
    ``click.Context`` is the context, ``Reporter`` prints in the form of ``--format``.

    Args:
        output: the lines of ``--format json``; None for a command that prints data.
        epilog: paragraphs at the end of ``--help``, which keep their lines.
        shared: options that the function does not take.
    """

    def make(function: Callable[..., Any]) -> click.Command:
        hints = get_type_hints(function, include_extras=True)
        given = {name: kind for name, kind in hints.items() if kind in (click.Context, Reporter)}
        decorators: list[Decorator] = []
        for name, parameter in inspect.signature(function).parameters.items():
            if isinstance(parameter.default, _Declared):
                decorators.append(parameter.default.decorator(name, hints[name]))
            decorators += getattr(hints[name], "__metadata__", ())
        decorators += shared
        if Reporter in given.values():
            decorators.append(format_option_with(output.forms if output else {}))

        @wraps(function)
        def call(**values: Any) -> Any:
            ctx = click.get_current_context()
            for name, kind in given.items():
                is_context = kind is click.Context
                values[name] = ctx if is_context else Reporter(ctx, values.pop("output_format"))
            return function(**values)

        for decorator in reversed(decorators):
            call = decorator(call)
        paragraphs = (f"\b\n{each}" for each in epilog.strip("\n").split("\n\n") if each)
        text, name = "\n\n".join(paragraphs), function.__name__.removesuffix("_command")
        if output is None:
            return click.command(name, epilog=text)(call)
        return click.command(name, ReportCommand, epilog=text, output=output)(call)

    return make


def option(*words: str, former: str = "", **settings: Any) -> Any:
    """Declare an option as the default of a parameter; its type is that of the annotation.

    Args:
        words: its name, that of the parameter if it is left out, and its help text.
        former: the name that it had.
        settings: of ``click.option``, where they are not what follows from the annotation.
    """
    *names, text = words
    settings["help"] = text

    def decorator(name: str, hint: Any) -> Decorator:
        own = settings.keys() & {"type", "callback", "nargs"}
        found = settings if own else _settings(hint) | settings
        if "default" in found and not found.get("is_flag"):
            found = {"show_default": True} | found
        full = (*(names or [f"--{name.replace('_', '-')}"]), name)
        if former:
            return renamed_option(*full, old=former, **found)
        return click.option(*full, **found)

    return _Declared(decorator)


def defined(name: str = "", **settings: Any) -> Any:
    """Declare an option of the library as the default of a parameter; see ``library_option``.

    Args:
        name: its name in Python, that of the parameter if it is left out.
        settings: where the command differs.
    """
    return _Declared(lambda own, _: library_option(name or own, into=own, **settings))


@dataclass(frozen=True, slots=True)
class _Declared:
    """A declared option: what adds it to a command, given the parameter and its type."""

    decorator: Callable[[str, Any], Decorator]


def _settings(hint: Any) -> dict[str, Any]:
    """Return the settings that follow from an annotation."""
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    if NoneType in get_args(hint) and len(kinds) == 1:
        hint = kinds[0]
    if get_origin(hint) is Literal:
        return {"type": Words(hint)}
    if get_origin(hint) is tuple:
        return {"multiple": True} | _settings(get_args(hint)[0])
    if hint is bool:
        return {"is_flag": True}
    if hint is Path:
        return {"type": click.Path(path_type=Path)}
    return {"type": hint} if hint in (int, float, str) else {}
