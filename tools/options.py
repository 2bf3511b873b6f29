"""Make the tables of options in the guide from the definitions of the options.

``python -m tools.options`` writes them; a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

from kafkaspec.cli.options import LIBRARY
from kafkaspec.options import words_of
from kafkaspec.spark.named import ReadNames, WriteNames
from kafkaspec.spark.parsing import Sets

GUIDE: Final = Path(__file__).parents[1] / "docs" / "guide"
_PLACE: Final = re.compile(
    r"(<!-- Options of (\w+), by `python -m tools.options` -->\n).*?\n\n", re.S
)


def meaning(name: str, said: Any) -> str:
    """Return what an option of the library or of Spark does, as Markdown."""
    if not isinstance(said, Sets):
        return str(said.text).replace("``", "`")
    spark = name.replace("_", ".").removeprefix("kafka.")
    return said.text.replace("``", "`") or next(
        each.text for _, each in LIBRARY.values() if each.spark == spark
    )


def _library() -> Iterator[str]:
    yield "| Python | command | Spark | words | meaning |"
    yield "|---|---|---|---|---|"
    for name, (kind, said) in LIBRARY.items():
        if said.command:
            spark = f"`{said.spark}`" if said.spark else ""
            words = ", ".join(f"`{word}`" for word in words_of(kind))
            yield f"| `{name}` | `{said.command}` | {spark} | {words} | {meaning(name, said)} |"


def _spark(keys: type) -> Iterator[str]:
    yield "| option | values | meaning |"
    yield "|---|---|---|"
    for name, kind in get_type_hints(keys, include_extras=True).items():
        base, (said,) = kind.__origin__, kind.__metadata__
        words = ", ".join(f"`{word}`" for word in words_of(base))
        number = "a number" if int in get_args(base) else ""
        number = "a time" if datetime in get_args(base) else number
        yield f"| `{name.replace('_', '.')}` | {words or number} | {meaning(name, said)} |"


def made(text: str) -> str:
    """Return a page with its tables as they are to be."""
    tables: dict[str, Callable[[], Iterator[str]]] = {
        "Python": _library,
        "reading": lambda: _spark(ReadNames),
        "writing": lambda: _spark(WriteNames),
    }
    return _PLACE.sub(lambda found: found[1] + "\n".join(tables[found[2]]()) + "\n\n", text)


def main() -> None:
    """Write the tables."""
    for path in GUIDE.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(made(text), encoding="utf-8")


if __name__ == "__main__":
    main()
