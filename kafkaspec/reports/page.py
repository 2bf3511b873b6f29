"""Make a page from a template: one file, no script, nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kafkaspec._version import __version__
from kafkaspec.reports.drawing import drawn
from kafkaspec.shown import printable, size_text, without_credentials

NONE = "-"


def number(value: float | None) -> str:
    """Return a number with its thousands apart."""
    if value is None:
        return NONE
    if isinstance(value, int) or value == int(value):
        return f"{int(value):,}"
    return f"{value:,.2f}" if abs(value) >= 0.01 else f"{value:.2g}"


def counted(value: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{value:,} {noun}" + ("" if value == 1 else "s")


def bytes_of(value: int | None) -> str:
    """Return a number of bytes in short form."""
    return NONE if value is None else size_text(value)


def time_of(milliseconds: int | None) -> str:
    """Return a time in UTC; a number where there is no such date."""
    if milliseconds is None:
        return NONE
    try:
        moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03}"


ReportSource = Sequence[tuple[str, str]]
"""Where a report comes from: names, and what they are: the places that were read, the command."""

MOST_ROWS: Final = 500
"""Rows of a table; the others are counted."""


@dataclass(frozen=True)
class Listing:
    """A table of a page.

    Attributes:
        columns: names of its columns; ">" before one aligns it to the right, "~" breaks it
            anywhere.
    """

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    left: int = 0


def listing(name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Listing:
    """Return a table with as many rows as a page shows."""
    given = list(rows)
    return Listing(name, columns, given[:MOST_ROWS], max(0, len(given) - MOST_ROWS))


_TEMPLATES: Final = Path(__file__).parent / "templates"
_POLICY: Final = (
    "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'"
)
"""What a browser may do with the page: apply its own style, and nothing else."""


def rendered(template: str, values: Mapping[str, Any]) -> bytes:
    """Return a page.

    Args:
        template: name of a file beside this module, without its ending.
        values: what the template shows; text in it may come from anywhere.
    """
    style = (_TEMPLATES / "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    made = _environment().get_template(f"{template}.html").render(
        policy=_POLICY.format(style=digest), style=Markup(style), version=__version__, **values
    )  # fmt: skip
    return made.encode("utf-8", "backslashreplace")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.filters |= {"bytes": bytes_of, "number": number, "time": time_of, "drawn": drawn}
    return made


def _shown(value: Any) -> Any:
    """Return what a page shows of a value: text in one line without anything invisible."""
    if value is None:
        return "-"
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(without_credentials(value))
    return value
