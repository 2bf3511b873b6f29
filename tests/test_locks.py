"""What requirements/ locks is what pyproject.toml allows, and it names no package index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("packaging", reason="comes with pytest")
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]


def _locked(name: str) -> dict[str, str]:
    """Return the entries of a lock by package; a package may have one for each Python."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="ascii")
    entries = [line for line in text.replace("\\\n", "").splitlines() if line[0] != "#"]
    for entry in entries:
        assert re.fullmatch(r"[a-z0-9.-]+==\S+( ;[^-]+?)?( +--hash=sha256:[0-9a-f]{64})+", entry)
    return {entry.split("==")[0]: entry for entry in reversed(entries)}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("construct", [*PROJECT["project"]["dependencies"], *EXTRAS["construct"]]),
        (
            "construct-test",
            [*PROJECT["project"]["dependencies"], *EXTRAS["construct"], *EXTRAS["test"]],
        ),
        ("binary", [*PROJECT["project"]["dependencies"], *EXTRAS["binary"]]),
        ("docs", [*PROJECT["project"]["dependencies"], *EXTRAS["docs"]]),
        ("release", [*PROJECT["project"]["dependencies"], *EXTRAS["release"]]),
        ("build", PROJECT["build-system"]["requires"]),
    ],
)
def test_a_lock_holds_what_is_required(name: str, wanted: list[str]) -> None:
    locked = _locked(name)
    for requirement in map(Requirement, wanted):
        entry = locked[canonicalize_name(requirement.name)]
        version = entry.split("==")[1].split()[0]
        assert requirement.specifier.contains(version), f"make lock: {requirement}"


def test_locks_agree() -> None:
    everything = _locked("construct-test")
    for name in ("construct", "build", "docs", "release", "binary"):
        for package, entry in _locked(name).items():
            assert name in ("docs", "release", "binary") or package in everything
            assert everything.get(package, entry).split()[0] == entry.split()[0]  # markers differ
