"""Fragments of the change log can be collected; what is public goes with one that says so."""

from __future__ import annotations

import re
import tomllib

import pytest

from kafkaspec import __version__
from tests.structure.source import ROOT
from tools import public

FOLDER = ROOT / "changes"
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]
KINDS = [kind["directory"] for kind in SETTINGS["type"]]
OTHERS = {"README.md", "template.md", "public.txt"}
FRAGMENTS = [path for path in sorted(FOLDER.iterdir()) if path.name not in OTHERS]
_NAME = re.compile(rf"[a-z0-9]+(-[a-z0-9]+)*\.({'|'.join(KINDS)})\.md")
_LINES = 6
_LINK = re.compile(r"\]\((?!https?://)([^)#\s]+)")


def complaints(name: str, text: str) -> list[str]:
    """Say what is wrong with a fragment."""
    lines = text.splitlines()
    found = []
    if not _NAME.fullmatch(name):
        found.append(f"{name}: its name is not NAME.KIND.md with a KIND of {', '.join(KINDS)}")
    if not text.strip() or text != text.strip() + "\n" or len(lines) > _LINES:
        found.append(
            f"{name}: it does not have one to {_LINES} lines without empty ones around them"
        )
    if re.match(r"[-*+#] ", text) or any(len(line) > 110 for line in lines):
        found.append(f"{name}: it begins with a bullet or title, or a line is longer than 110")
    found += [
        f"{name}: no such {link}" for link in _LINK.findall(text) if not (ROOT / link).exists()
    ]
    return found


def gone(listed: list[str], names: list[str], removed: str) -> list[str]:
    """Return what was public, is no more, and is not named by a fragment."""
    return [name for name in listed if name not in set(names) and f"`{name}`" not in removed]


def test_fragments_are_entries() -> None:
    wrong = [line for path in FRAGMENTS for line in complaints(path.name, path.read_text("utf-8"))]
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.new.md", "Text.\n"),
        ("X y.added.md", "Text.\n"),
        ("x.added.md", ""),
        ("x.added.md", "Text."),
        ("x.added.md", "- Text.\n"),
        ("x.added.md", "Text\n" * 7),
        ("x.added.md", "[Text](docs/none.md).\n"),
    ],
)
def test_bad_fragments_are_refused(name: str, text: str) -> None:
    assert len(complaints(name, text)) == 1


def test_the_readme_of_fragments_has_all_kinds() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` ", text, re.MULTILINE) == KINDS


def test_the_change_log_has_this_version() -> None:
    versions = re.findall(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", CHANGELOG, re.MULTILINE)
    assert versions[0] == __version__
    assert "## Unreleased" not in CHANGELOG


@pytest.mark.slow
def test_what_was_public_is_there() -> None:
    listed = public.LIST.read_text(encoding="utf-8").splitlines()
    fragments = (path for path in FRAGMENTS if path.name.endswith(".removed.md"))
    removed = "\n".join(path.read_text(encoding="utf-8") for path in fragments)
    assert "ks.open" in listed
    assert gone(listed, public.names(), removed) == []


def test_what_is_gone_is_found() -> None:
    assert gone(["ks.a", "ks.b"], ["ks.b"], "") == ["ks.a"]
    assert gone(["ks.a", "ks.b"], ["ks.b"], "`ks.a` is gone.") == []
