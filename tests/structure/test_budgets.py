"""Lines of Python by package: the house does not grow without a commit that says what for.

``python -m tests.structure.test_budgets`` writes ``budgets.toml`` as it is, up to the next 50.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

from tests.structure.source import ROOT

BUDGETS = Path(__file__).with_name("budgets.toml")
_HEAD = """\
# Most lines of Python in each package of kafkaspec/, by python -m tests.structure.test_budgets.
# Raise one only in a commit that says what the lines are for. The aim is 83,000 in all.
"""


def lines() -> dict[str, int]:
    """Return the number of lines by package; modules at the top are one, ``.``."""
    found: Counter[str] = Counter()
    home = ROOT / "kafkaspec"
    for path in home.rglob("*.py"):
        inner = path.relative_to(home)
        package = inner.parts[0] if len(inner.parts) > 1 else "."
        if package != "_generated":
            found[package] += path.read_bytes().count(b"\n")
    return dict(sorted(found.items()))


def test_no_package_is_larger_than_its_budget() -> None:
    budgets = tomllib.loads(BUDGETS.read_text("utf-8"))
    found = lines()
    assert found.keys() == budgets.keys(), "a package without a budget, or a budget without one"
    over = {name: f"{count} of {budgets[name]}" for name, count in found.items()
            if count > budgets[name]}  # fmt: skip
    assert not over, f"make it shorter, or say in a commit what the lines are for: {over}"


if __name__ == "__main__":
    rows = (f'"{name}" = {-(-count // 50) * 50}\n' for name, count in lines().items())
    BUDGETS.write_text(_HEAD + "".join(rows), encoding="utf-8")
