"""Make a page from a template: one file, no script, nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kafkaspec._version import __version__
from kafkaspec.reports.drawing import drawn
from kafkaspec.reports.words import bytes_of, number, time_of
from kafkaspec.shown import printable, without_credentials

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
