"""Show figures as text: tables and bars."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kafkaspec.cli.console import TableColumn, count_text, iso, new_table, stdout_console
from kafkaspec.cli.report import Reporter
from kafkaspec.shown import clocks_text, duration_text, size_text
from kafkaspec.stats.charts import Chart, charts_of
from kafkaspec.stats.figures import TOTAL, Figures, StatsRow, key_text, name_of

_BAR: Final = 40
_MOST_BARS: Final = 24
"""Rows of a chart in text; of more, several are one."""
_MOST_ERRORS: Final = 10
_CHARTS: Final = ("topics", "compression", "batch-sizes", "record-sizes", "records-rate", "growth")
"""Charts that a terminal shows; a page has all."""


_PARTITIONS: Final[dict[str, TableColumn]] = {
    "partition": name_of,
    ">magic": lambda row: " ".join(map(str, row["magics"])) or None,
    "codecs": lambda row: " ".join(row["codecs"]) or None,
    ">segments": "segments:,",
    ">batches": "batches:,",
    ">records": "records:,",
    ">offsets": lambda row: (
        None if row["first_offset"] is None else f"{row['first_offset']}..{row['last_offset']}"
    ),
    ">size": "file_bytes:size",
    ">ratio": lambda row: None if row["ratio"] is None else f"{row['ratio']:.2f}",
    ">not read": lambda row: f"{row['errors']:,}" if row["errors"] else "",
}
_DISPENSABLE: Final = (">magic", ">segments", ">offsets", ">batches", "codecs")
"""Columns that a narrow terminal leaves out, the first one first; JSON has all."""
_TRANSACTIONS: Final[dict[str, TableColumn]] = {
    "transactions": "outcome",
    ">number": "transactions:,",
    ">batches": "batches:,",
    ">records": "records:,",
    ">longest": lambda row: None if row["longest_ms"] is None else clocks_text(row["longest_ms"]),
}
_GAPS: Final[dict[str, TableColumn]] = {
    "offsets without a record": "kind",
    "why": "why",
    ">ranges": "ranges:,",
    ">offsets": "missing:,",
    ">largest": "largest:,",
}


def print_text(figures: Figures, report: Reporter, *, show_keys: bool) -> None:
    """Print tables of partitions, charts, and totals."""
    more = "... and {:,} more partitions; --format json has all"
    columns = _PARTITIONS
    if not figures.total["errors"]:
        columns = {name: columns[name] for name in columns if name != ">not read"}
    report.table(
        columns,
        figures.partitions,
        lambda row: bool(row["errors"]),
        more=more,
        dispensable=_DISPENSABLE,
    )
    for chart in charts_of(figures):
        if chart.name in _CHARTS:
            _print_chart(report, chart)
    for name, columns in (("transactions", _TRANSACTIONS), ("gaps", _GAPS)):
        if rows := figures.rows(name, TOTAL):
            report.table(columns, rows, most=len(rows))
    _print_keys(report, figures, show_keys=show_keys)
    errors = figures.rows("errors")
    for row in errors[:_MOST_ERRORS]:
        at = "" if row["position"] is None else f" at byte {row['position']:,}"
        report.say(f"not read: {row['file']}{at}: {row['message']} [{row['reason']}]")
    left = figures.total["errors"] - _MOST_ERRORS
    if left > 0:
        report.say(f"... and {left:,} more that cannot be read; --format json")
    for text in _totals(figures.total):
        report.say(text)


def _print_chart(report: Reporter, chart: Chart) -> None:
    console = stdout_console()
    mark = "█" if console.encoding.lower().startswith("utf") else "#"
    bars = list(chart.bars)
    largest = chart.largest or 1
    used = [number for number, bar in enumerate(bars) if bar.value]
    if chart.is_series and used:
        bars = bars[used[0] : used[-1] + 1]
    step = -(-len(bars) // _MOST_BARS)
    width = max(10, min(_BAR, console.width - 50))
    groups = [bars[start : start + step] for start in range(0, len(bars), step)]
    shown = [max(group, key=lambda bar: bar.value) for group in groups]
    table = new_table(chart.axis.partition(",")[0], "", f">{chart.unit}", "", title=chart.title,
                      title_justify="left")  # fmt: skip
    for bar in shown:
        length = round(width * bar.value / largest) or bool(bar.value)
        table.add_row(bar.label, mark * length, bar.text, bar.note)
    console.print(table)
    if step > 1:
        report.say(f"each row is the largest of {step}; --html shows all")


def _print_keys(report: Reporter, figures: Figures, *, show_keys: bool) -> None:
    rows = list(enumerate(figures.heaviest(TOTAL)[:10], 1))
    columns: dict[str, TableColumn] = {
        "heaviest keys": lambda item: key_text(item[1]) if show_keys else f"key {item[0]}",
        ">records": lambda item: f"{item[1]['count']:,}",
        ">at most": lambda item: f"{item[1]['at_most']:,}",
        ">size": lambda item: size_text(item[1]["size"]),
    }
    if rows:
        report.table(columns, rows)


def distinct_text(row: StatsRow) -> str:
    """Return the number of different keys, with its bounds where it is an estimate."""
    number = row["distinct_keys"]
    if row["distinct_low"] == row["distinct_high"]:
        return count_text(number, "different key")
    bounds = f"{row['distinct_low']:,} to {row['distinct_high']:,}"
    return f"about {number:,} different keys ({bounds})"


def _totals(row: dict[str, Any]) -> Iterator[str]:
    """Yield the lines after the tables: how much, what is in it, from when to when."""
    yield ", ".join(_counts(row))
    if row["distinct_keys"] is not None:
        step = row["largest_step_back"]
        late = count_text(row["steps_back"], "timestamp out of order", "timestamps out of order")
        late += f" by at most {duration_text(step)}" if step else ""
        yield ", ".join([distinct_text(row), count_text(row["tombstones"], "tombstone"), late])
    if row["first_timestamp"] is not None:
        yield f"{iso(row['first_timestamp'])} to {iso(row['last_timestamp'])}"


def _counts(row: dict[str, Any]) -> list[str]:
    parts = [
        count_text(row["partitions"], "partition"),
        count_text(row["segments"], "segment"),
        count_text(row["batches"], "batch", "batches"),
        count_text(row["records"], "record"),
        size_text(row["file_bytes"]),
    ]
    if row["errors"]:
        parts.append(f"{row['errors']:,} that cannot be read")
    return parts
