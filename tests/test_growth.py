"""The table of what is measured has each command, and measures what it says."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

pytest.importorskip("pyarrow")
pytest.importorskip("kafkaspec._native")

import kafkaspec as ks
from benchmarks.growth import __main__ as program
from benchmarks.growth.inputs import AXES
from benchmarks.growth.measuring import Cell, Spent
from benchmarks.growth.page import GrowthRows, page, rows_of, with_cells
from benchmarks.growth.ways import LOGS, WAYS, Way
from kafkaspec.cli.main import main


def test_each_command_has_a_row_or_a_reason_for_none() -> None:
    assert list(main.list_commands(click.Context(main))) == list(WAYS)
    for command, ways in WAYS.items():
        for way in [] if isinstance(ways, str) else ways:
            assert way.axes
            assert AXES.keys() >= set(way.axes)
            assert way.arguments.startswith((command, "{"))


@pytest.mark.parametrize("name", [name for name in LOGS if name not in ("files", "partitions")])
def test_inputs_have_what_their_axis_says(name: str, tmp_path: Path) -> None:
    axis = AXES[name]
    sizes = []
    for size in (2, 4):
        folder = tmp_path / str(size)
        folder.mkdir()
        path = axis.make(folder, size)
        sizes.append(sum(file.stat().st_size for file in path.glob("*.log")))
        with ks.open(path) as log:
            table = log.batch_table()
        expected = {
            "segments": ("file", size), "producers": ("producer_id", size),
            "open transactions": ("producer_id", size),
            "aborted transactions": ("producer_id", size),
            "batches": ("base_offset", size), "broken batches": ("base_offset", 2 * size),
        }.get(name)  # fmt: skip
        if expected is not None:
            assert len(table[expected[0]].unique()) == expected[1]
    assert sizes[1] > sizes[0]


def test_the_exponent_is_the_slope_of_the_upper_half() -> None:
    cell = Cell("verify", Way("verify {path}"), AXES["batches"])
    for size, seconds in ((10, 0.5), (100, 0.55), (1000, 1.5), (10_000, 100.5)):
        cell.spent[size] = Spent(seconds, 20.0, 0)
    assert cell.exponent == pytest.approx(2.0)
    cell.spent[10_000] = Spent(0.6, 20.0, 0)
    assert cell.exponent is None


def test_a_run_keeps_the_rows_of_other_runs() -> None:
    ways = [Way("verify {path}", ["batches", "keys"]), Way("gaps {path}", ["keys"])]
    rows: GrowthRows = {}
    for way in ways:
        for axis, seconds in zip(way.axes, (0.7, 1.5), strict=False):
            cell = Cell(
                "x", way, AXES[axis], {10: Spent(0.5, 20.0, 0), 1000: Spent(seconds, 21, 0)}
            )
            rows = with_cells(rows_of(page(rows, ways, {}, "")), [cell])
    assert list(rows) == [("verify", "batches"), ("verify", "keys"), ("gaps", "keys")]
    text = page(rows, ways, {}, "")
    assert rows_of(text) == rows
    again = Cell("x", ways[1], AXES["keys"], {10: Spent(0.5, 20.0, 0), 3000: Spent(9.5, 21.0, 0)})
    newer = with_cells(rows_of(text), [again])
    assert newer["gaps", "keys"][2] == "3,000"
    assert newer["verify", "keys"] == rows["verify", "keys"]
    failed = Cell("x", ways[1], AXES["keys"], failure="ended with 70")
    older = with_cells(newer, [failed])
    assert ("gaps", "keys") not in older
    why = {("gaps", "keys"): failed.failure}
    assert "- `gaps`: ended with 70: keys" in page(older, ways, why, "")


@pytest.mark.slow
def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    axes = {name: way for name, way in WAYS.items() if name in ("find", "schemas")}
    monkeypatch.setattr(program, "WAYS", axes)
    monkeypatch.setattr(program, "PAGE", tmp_path / "page")
    (tmp_path / "page").write_text("")
    arguments = ["--quick", "--write", "--only", "schemas"]
    done = CliRunner().invoke(program.main, [*arguments, "--along", "subjects"])
    assert done.exit_code == 0, done.output
    assert "| `schemas` | subjects | 100 |" in done.output
    assert "- `schemas`: not run yet: schemas" in done.output
    kept = rows_of(done.output)
    done = CliRunner().invoke(program.main, [*arguments, "--along", "schemas"])
    assert rows_of(done.output).items() > kept.items()
    assert CliRunner().invoke(program.main, ["--along", "nothing"]).exit_code == 2
    assert CliRunner().invoke(program.main, ["--only", "nothing"]).exit_code == 2
