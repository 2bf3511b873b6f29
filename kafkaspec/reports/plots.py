"""The charts of a measurement as pictures, by matplotlib: PNG and SVG. The extra ``stats``."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from kafkaspec.output.atomic import DirectoryAside
from kafkaspec.reports.drawing import amount, axis_title
from kafkaspec.shown import printable
from kafkaspec.stats.charts import Chart

FORMATS: Final = ("png", "svg")
_INCHES: Final = (9, 5)
_NAMED: Final = 8
_RULES: Final = {"svg.hashsalt": "kafkaspec", "text.parse_math": False}
"""Names are not formulas, and two files with the same content are the same."""


def plot(charts: Sequence[Chart], directory: Path) -> list[Path]:
    """Write each chart as a PNG and as an SVG, all or none.

    Args:
        directory: a new or empty directory.

    Returns:
        The paths of the files.

    Raises:
        KafkaSpecError: ``unreadable``: the directory has files, or they cannot be written.
    """
    names = []
    with DirectoryAside(directory, sync=False) as aside:
        for chart in charts:
            for form, data in _pictures(chart):
                names.append(f"{chart.name}.{form}")
                aside.write(names[-1], data)
    return [Path(directory) / name for name in names]


def _pictures(chart: Chart) -> Iterator[tuple[str, bytes]]:
    with rc_context(_RULES):  # type: ignore[arg-type]  # its names of rules are a closed list
        made = figure(chart)
        for form in FORMATS:
            out = io.BytesIO()
            made.savefig(out, format=form, metadata={"Date": None} if form == "svg" else None)
            yield form, out.getvalue()


def figure(chart: Chart) -> Figure:
    """Return a chart as a figure."""
    made = Figure(figsize=_INCHES, layout="constrained")
    axes: Any = made.subplots()
    values = [bar.value for bar in chart.bars]
    labels = [printable(bar.label) for bar in chart.bars]
    places = range(len(values))
    axes.set_title(chart.title)
    ticks = FuncFormatter(lambda value, _: amount(value, chart))
    if chart.is_series:
        axes.bar(places, values, width=0.9)
        every = -(-len(labels) // _NAMED)
        axes.set_xticks(list(places)[::every], labels[::every], rotation=30, ha="right")
        axes.set_xlabel(axis_title(chart))
        axes.set_ylabel(chart.unit)
        axes.yaxis.set_major_formatter(ticks)
    else:
        bars = axes.barh(places, values)
        axes.set_yticks(places, labels)
        axes.invert_yaxis()
        axes.bar_label(bars, [f" {bar.text}  {bar.note}" for bar in chart.bars])
        axes.margins(x=0.2)
        axes.set_xlabel(chart.unit)
        axes.xaxis.set_major_formatter(ticks)
    return made
