"""The page that is checked in is the one of these sources, and keeps to a strict policy."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest

from tests.explorer.browser import HTML
from tools.explorer.build import sources


@pytest.fixture(scope="module")
def text() -> str:
    return HTML.read_text(encoding="utf-8")


@pytest.mark.slow
def test_it_is_made_from_these_sources(text: str) -> None:
    first = text.partition("\n")[0]
    assert f"Sources: sha256 {sources()}." in first, "make explorer"


def test_its_policy_lets_nothing_else_run(text: str) -> None:
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert found is not None
    policy = dict(part.split(" ", 1) for part in found[1].split("; "))
    assert policy["default-src"] == policy["connect-src"] == policy["base-uri"] == "'none'"
    assert "unsafe" not in found[1]
    for element, directive in (("script", "script-src"), ("style", "style-src")):
        contents = re.findall(rf"<{element}>(.*?)</{element}>", text, re.DOTALL)
        assert len(contents) == 1, element
        digest = base64.b64encode(hashlib.sha256(contents[0].encode()).digest()).decode()
        assert policy[directive] == f"'sha256-{digest}'"


def test_it_needs_nothing_else(text: str) -> None:
    """No script, style, picture or font from elsewhere."""
    document = re.sub(r"<(script|style)>.*?</\1>", "", text, flags=re.DOTALL)
    assert re.findall(r'(?:src|href|url)\s*[=(]\s*(?!"?data:)', document) == []
    assert re.search(r"\son\w+\s*=", document) is None
