"""The explorer's page as it is served: the one of ``make explorer``, which asks for files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

_FORMATS: Final = "kafkaspec._generated.docs"
_PACKAGE, _PAGE = "kafkaspec._generated.explorer", "explorer.html"
_DROPPED: Final = '<meta name="explorer-files" content="dropped">'
_SERVED: Final = '<meta name="explorer-files" content="served">'
_LINKS, _OWN_LINKS = 'content="../docs/">', 'content="pages/">'
_POLICY: Final = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
_ALONE, _OWN = "connect-src 'none'", "connect-src 'self'"


def format_page(name: str) -> bytes | None:
    """Return a format page, which the fields link to; None if there is none of that name."""
    if re.fullmatch(r"[a-zA-Z0-9_]+\.md", name) is None:
        return None
    page = files(_FORMATS).joinpath(name)
    return page.read_bytes() if page.is_file() else None


@dataclass(frozen=True)
class Page:
    """The page, and the policy that its meta element and the header of its answer have."""

    html: bytes
    policy: str


def served(text: str | None = None) -> Page:
    """Return the page as it is served; it may connect to where it came from, and to nothing else.

    Args:
        text: the page as ``make explorer`` makes it; None for the one in the package.
    """
    if text is None:
        text = files(_PACKAGE).joinpath(_PAGE).read_text(encoding="utf-8")
    found = _POLICY.search(text)
    if found is None or text.count(_DROPPED) != 1 or found[1].count(_ALONE) != 1:
        raise ValueError("the page of the explorer is not one that make explorer makes")
    policy = found[1].replace(_ALONE, _OWN)
    start, end = found.span(1)
    html = (text[:start] + policy + text[end:]).replace(_DROPPED, _SERVED)
    html = html.replace(_LINKS, _OWN_LINKS)
    return Page(html.encode(), f"{policy}; frame-ancestors 'none'")
