"""Tables without styles: what rich draws, whatever is in the cells, but not in its time."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kafkaspec.cli import console
from kafkaspec.cli.console import print_table, styled
from tests import work

NARROW = ("a", "Z", "9", "-", " ", "é", "{", "\x1b", "\n", "\t", "\u202e")
LETTERS = (*NARROW, "漢", "\U0001f600", "e\u0301")
LOOKS: tuple[dict[str, Any], ...] = (
    {},
    {"box": "SIMPLE_HEAD"},
    {"box": None},
    {"title": "a title", "title_justify": "left"},
    {"title": "a title that is longer than the rest of the table " * 2},
    {"title": "█▓"},
)


def _cells(seed: int) -> tuple[list[str], list[list[Any]], dict[str, Any]]:
    chance = random.Random(seed)
    names = [f"{chance.choice(('', '>'))}name {'n' * chance.randrange(9)}" for _ in range(4)]
    letters = NARROW if seed % 2 else LETTERS
    longest = chance.choice((3, 12, 12, 40, 90))
    rows: list[list[Any]] = []
    for _ in range(chance.choice((1, 2, 30))):
        texts = ["".join(chance.choices(letters, k=chance.randrange(longest))) for _ in names]
        rows.append([chance.choice((text, styled((text, "red")))) for text in texts])
    return names, rows, chance.choice(LOOKS)


def _printed(names: list[str], rows: list[list[Any]], look: dict[str, Any], **more: Any) -> None:
    columns = {
        f"{name}{number}": lambda row, number=number: row[number]
        for number, name in enumerate(names)
    }
    print_table(columns, rows, **look, **more)


@pytest.mark.parametrize("seed", range(100))
def test_rows_are_laid_out_as_rich_does(
    seed: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cells of any width, of characters that take two columns or none, or that are escaped."""
    names, rows, look = _cells(seed)
    more: dict[str, Any] = {"most": 7} if seed % 3 == 0 else {"most": len(rows)}
    _printed(names, rows, look, **more)
    ours = capsys.readouterr().out
    monkeypatch.setattr(console, "_laid_out", lambda *_: None)
    _printed(names, rows, look, **more)
    assert ours == capsys.readouterr().out


@pytest.mark.slow
def test_cells_are_laid_out_without_rich(capsys: pytest.CaptureFixture[str]) -> None:
    """In the time of some joins, where rich takes hundreds of calls for a cell."""

    def calls(count: int) -> int:
        rows = [[f"{number:06}"] * 8 for number in range(count)]
        return work.calls(lambda: _printed([">n"] * 8, rows, {}, most=count))

    calls(10)
    few, many = calls(1000), calls(2000)
    assert many - few < 1000 * 8 * 40
    assert capsys.readouterr().out
