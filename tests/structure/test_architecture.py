"""The list of packages has every package, and the pages show it and the imports as they are."""

from __future__ import annotations

import pytest

from tests.structure.packages import PACKAGES, arrows, pages
from tests.structure.source import ROOT

LEAVES = {"layout"}
"""Not listed: every package may import them."""


def test_every_package_is_listed() -> None:
    folders = {path.parent.name for path in (ROOT / "kafkaspec").glob("[a-z]*/__init__.py")}
    assert {package.name for package in PACKAGES} == folders - LEAVES


@pytest.mark.slow
def test_the_pages_show_the_list_and_the_imports() -> None:
    """Repair them with: python -m tests.structure.packages"""
    for page, text in pages().items():
        assert page.read_text(encoding="utf-8") == text, page.name
        assert all(f"{package.name}/" in text for package in PACKAGES), page.name


def test_an_import_that_follows_from_others_is_not_drawn() -> None:
    graph = {"c": {"a", "b"}, "b": {"a"}}
    assert sorted(arrows(graph)) == [("a", "b"), ("b", "c")]
