"""Write ``docs/api.md``: the public names, from ``kafkaspec.__all__`` and their docstrings.

``python -m tools.api`` writes it; a test compares it.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import kafkaspec

PAGE: Final = Path(__file__).parents[1] / "docs" / "api.md"

_HEAD = """\
<!-- Made by `python -m tools.api` from docstrings. DO NOT EDIT. -->

# API

`import kafkaspec as ks` gives these names, and `ks.__version__`. They load when they are first
used, so that the import is cheap. `help(ks.open)` and the like describe every argument. For
examples, see [Read and write from Python](guide/write.md) and [Arrow](guide/arrow.md).

Other public modules: `kafkaspec.spark` ([Spark](guide/spark.md)), `kafkaspec.conformance`
([Test your own decoder](guide/conform.md)), `kafkaspec.arrow.messages`
([Internal topics](guide/arrow.md#internal-topics)), and `kafkaspec.files.checkpoints`, which
reads and writes the text files of a log directory. Names that begin with an underscore, and
`kafkaspec._generated`, may change without notice.

"""


def page() -> str:
    """Return the page."""
    values = {name: getattr(kafkaspec, name) for name in kafkaspec.__all__}
    groups: dict[str, list[str]] = {"Functions": [], "Classes": [], "Errors": [], "Values": []}
    for name, value in values.items():
        groups[_group(value)].append(name)
    lines = []
    for title, names in groups.items():
        if not names:
            continue
        lines += [f"## {title}", "", "| name | meaning |", "|---|---|"]
        lines += [f"| {_code(name, values[name])} | {_meaning(values[name])} |" for name in names]
        lines.append("")
    for name in groups["Classes"]:
        rows = [
            f"| `{member}` | {text} |" for member, text in sorted(members(values[name]).items())
        ]
        if rows:
            lines += [f"## {name}", "", "| member | meaning |", "|---|---|", *rows, ""]
    return _HEAD + "\n".join(lines[:-1]) + "\n"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def _group(value: Any) -> str:
    if not isinstance(value, type):
        return "Functions" if callable(value) else "Values"
    if issubclass(value, Exception) or value is kafkaspec.Reason:
        return "Errors"
    return "Classes"


def _code(name: str, value: Any) -> str:
    if isinstance(value, FunctionType):
        return f"`{name}({_arguments(value)})`"
    return f"[`{name}`](#{name.lower()})" if _group(value) == "Classes" else f"`{name}`"


def _arguments(function: Any) -> str:
    """Return the arguments of a function without types and defaults."""
    names: list[str] = []
    keywords = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keywords:
            keywords = True
            names.append("*")
        if parameter.kind is parameter.VAR_KEYWORD:
            names.append(f"**{parameter.name}")
        else:
            names.append(parameter.name)
    return ", ".join(names)


def _meaning(value: Any) -> str:
    """Return the first paragraph of a docstring as Markdown, in one line."""
    return _markdown((inspect.getdoc(value) or "").split("\n\n")[0])


def _markdown(text: str) -> str:
    line = " ".join(text.split()).replace("``", "`").replace("|", "\\|")
    return line[:1].upper() + line[1:]


def members(class_: type) -> dict[str, str]:
    """Return what is public of a class, functions with their arguments, and what each means."""
    found = dict(_attributes(class_))
    for name, member in inspect.getmembers(class_):
        if name.startswith("_") or not inspect.getdoc(member):
            continue
        if isinstance(member, property):
            found[name] = _meaning(member)
        elif isinstance(member, FunctionType):
            found[f"{name}({_arguments(member)})"] = _meaning(member)
    return found


def _attributes(class_: type) -> Iterator[tuple[str, str]]:
    """Yield what docstrings list as attributes, those of base classes included."""
    for base in reversed(class_.__mro__):
        _, _, rest = inspect.cleandoc(base.__dict__.get("__doc__") or "").partition("Attributes:\n")
        block = textwrap.dedent(re.split(r"\n(?=\S)", rest)[0])
        for item in re.split(r"\n(?=\S)", block):
            name, colon, text = item.partition(":")
            if colon:
                yield name, _markdown(text)


if __name__ == "__main__":
    main()
