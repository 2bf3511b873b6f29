"""The picture in docs/architecture.md has every package, and its arrows are imports."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from tests.structure.source import ROOT, modules

PAGE = ROOT / "docs" / "architecture.md"
LEAVES = {"layout"}
"""Not drawn: every package may import them."""
_NODE = re.compile(r"^ +(\w+)\[|--> (\w+)\[", re.MULTILINE)
_ARROW = re.compile(r"^ +(\w+)(?:\[[^]]*\])? --> (\w+)", re.MULTILINE)


def picture() -> str:
    return PAGE.read_text(encoding="utf-8").split("```mermaid\n")[1].split("```")[0]


def imports() -> dict[str, set[str]]:
    """Return the packages of the library that each package imports."""
    found: dict[str, set[str]] = defaultdict(set)
    for module in modules().values():
        if not module.name.startswith("kafkaspec"):
            continue
        own = module.name.split(".")[1:2]
        for item in module.imports:
            other = item.full.split(".")
            if own and other[0] == "kafkaspec" and other[1:2] != own:
                found[own[0]].add("".join(other[1:2]).removeprefix("_"))
    return found


def packages() -> set[str]:
    folders = {path.parent.name for path in (ROOT / "kafkaspec").glob("[a-z]*/__init__.py")}
    return folders - LEAVES


def before(name: str) -> set[str]:
    """Return everything from which arrows lead to ``name``."""
    direct = {first for first, second in _ARROW.findall(picture()) if second == name}
    return direct.union(*map(before, direct))


def test_every_package_is_in_the_picture() -> None:
    drawn = {name for pair in _NODE.findall(picture()) for name in pair if name}
    assert drawn == packages() | {"spec", "specgen", "generated"}


@pytest.mark.slow
def test_every_arrow_is_an_import() -> None:
    found = imports()
    wrong = [
        f"{second} does not import {first}"
        for first, second in _ARROW.findall(picture())
        if first not in ("spec", "specgen") and first not in found[second]
    ]
    assert wrong == []


def test_every_import_follows_the_arrows() -> None:
    wrong = [
        f"{name} imports {other}"
        for name, others in imports().items()
        if name in packages()
        for other in sorted(others & packages() - before(name))
    ]
    assert wrong == []
