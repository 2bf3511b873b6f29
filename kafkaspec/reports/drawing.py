"""Where the parts of a chart are, in the units of its drawing."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kafkaspec.shown import size_text
from kafkaspec.stats.charts import Chart

WIDTH: Final = 640
_LINE: Final = 24
_TALL: Final = 246
_TOP: Final = 24
_LEFT: Final = 78
_BELOW: Final = 48
_LABELS: Final = 140
_TEXTS: Final = 120
_LETTERS: Final = 22
_TICKS: Final = 4
_MINUTE: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
_NAMED: Final = 6
"""Labels below a chart of columns."""


@dataclass(frozen=True)
class PlotMark:
    """A bar: a rectangle with what it is about, which is cut if it is long."""

    x: float
    y: float
    width: float
    height: float
    label: str
    title: str
    text: str


@dataclass(frozen=True)
class Tick:
    """A text beside an axis, and where."""

    at: float
    text: str
    anchor: str = "middle"


@dataclass(frozen=True)
class Drawing:
    """A chart as it is drawn."""

    width: int
    height: int
    marks: list[PlotMark]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    left: float
    bottom: float
    x_title: str = ""
    y_title: str = ""


def drawn(chart: Chart) -> Drawing:
    """Return a chart as a drawing: columns for what follows each other, else lines of bars."""
    return _columns(chart) if chart.is_series else _lines(chart)


def _lines(chart: Chart) -> Drawing:
    room = WIDTH - _LABELS - _TEXTS
    largest = chart.largest or 1
    marks = [
        PlotMark(
            _LABELS,
            number * _LINE + 4,
            max(1.0, round(room * bar.value / largest, 1)),
            _LINE - 8,
            bar.label if len(bar.label) <= _LETTERS else f"{bar.label[: _LETTERS - 1]}…",
            _title(bar.label, bar.text, bar.note),
            f"{bar.text}  {bar.note}".strip(),
        )
        for number, bar in enumerate(chart.bars)
    ]
    height = _LINE * len(marks) + 4
    return Drawing(WIDTH, height, marks, [], [], _LABELS, height)


def _columns(chart: Chart) -> Drawing:
    room, tall = WIDTH - _LEFT - 8, _TALL - _TOP - _BELOW
    top = _nice(chart.largest, is_bytes=chart.unit.startswith("bytes"))
    step = room / len(chart.bars)
    gap = min(2.0, step / 5)
    bottom = _TOP + tall
    marks = []
    for number, bar in enumerate(chart.bars):
        height = tall * bar.value / top
        if bar.value:
            height = max(height, 1)
        marks.append(
            PlotMark(
                round(_LEFT + number * step + gap / 2, 2),
                round(bottom - height, 2),
                round(step - gap, 2),
                round(height, 2),
                bar.label,
                _title(bar.label, bar.text, bar.note),
                bar.text,
            )
        )
    every = -(-len(marks) // _NAMED)
    shared = shared_time([mark.label for mark in marks])
    x_ticks = [
        Tick(
            round(mark.x + mark.width / 2, 1),
            mark.label.removeprefix(shared).lstrip("- ").removesuffix(" and more"),
        )
        for mark in marks[every // 2 :: every]
    ]
    y_ticks = [
        Tick(round(bottom - tall * n / _TICKS, 1), amount(top * n / _TICKS, chart), "end")
        for n in range(_TICKS + 1)
    ]
    return Drawing(
        WIDTH, _TALL, marks, x_ticks, y_ticks, _LEFT, bottom, axis_title(chart), chart.unit
    )


def _nice(value: float, *, is_bytes: bool) -> float:
    """Return a round number at or above a value."""
    if value <= 0:
        return 1
    base = 1024.0 ** math.floor(math.log(max(value, 1), 1024)) if is_bytes else 1.0
    scaled = value / base
    power = 10.0 ** math.floor(math.log10(scaled))
    steps = (1, 2, 4, 5, 8, 10)
    return float(base * power * next(step for step in steps if scaled <= step * power * (1 + 1e-9)))


def amount(value: float, chart: Chart) -> str:
    """Return a value of a chart in short form."""
    if chart.unit.startswith("bytes"):
        return size_text(value)
    if value >= 10_000:
        for size, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
            if value >= size:
                return f"{value / size:g} {name}"
    return f"{value:.3g}"


def _title(label: str, text: str, note: str) -> str:
    return f"{label}: {text}" + (f", {note}" if note else "")


def shared_time(labels: Sequence[str]) -> str:
    """Return the day that all labels of times of day have in common, or the year, or neither."""
    if not all(_MINUTE.fullmatch(label) for label in labels):
        return ""
    for length in (len("2026-11-21"), len("2026")):
        if len({label[:length] for label in labels}) == 1:
            return labels[0][:length]
    return ""


def axis_title(chart: Chart) -> str:
    """Return what stands along a chart, with the day or year that its ticks leave out."""
    shared = shared_time([bar.label for bar in chart.bars]) if chart.is_series else ""
    return f"{chart.axis}, {shared}" if shared else chart.axis
