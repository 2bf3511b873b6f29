"""Show figures as text: tables and bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkaspec.cli.console import count_text, iso, limited, new_table, say, size_text
from kafkaspec.stats.charts import Chart, charts_of
from kafkaspec.stats.figures import TOTAL, Figures, StatsRow, key_text, name_of

if TYPE_CHECKING:
    from rich.console import Console

_BAR: Final = 40
_MOST_BARS: Final = 24
"""Rows of a chart in text; of more, several are one."""
_MOST_ERRORS: Final = 10
_CHARTS: Final = ("topics", "compression", "batch-sizes", "record-sizes", "records-rate", "growth")
"""Charts that a terminal shows; a page has all."""


def print_text(figures: Figures, console: Console, *, show_keys: bool) -> None:
    """Print tables of partitions, charts, and totals."""
    _print_partitions(figures.partitions, console)
    for chart in charts_of(figures):
        if chart.name in _CHARTS:
            _print_chart(chart, console)
    _print_transactions(figures, console)
    _print_gaps(figures, console)
    _print_keys(figures, console, show_keys=show_keys)
    errors = figures.rows("errors")
    for row in errors[:_MOST_ERRORS]:
        at = "" if row["position"] is None else f" at byte {row['position']:,}"
        say(f"not read: {row['file']}{at}: {row['message']} [{row['reason']}]")
    total = figures.total
    if total["errors"] > _MOST_ERRORS:
        say(f"... and {total['errors'] - _MOST_ERRORS:,} more that cannot be read; --format json")
    say(_total(total))


def _print_partitions(rows: list[StatsRow], console: Console) -> None:
    counted = (">batches", ">records", ">offsets", ">size", ">ratio", ">not read")
    table = new_table("partition", ">magic", "codecs", ">segments", *counted)
    shown, rest = limited(rows, lambda row: bool(row["errors"]))
    for row in shown:
        empty = row["first_offset"] is None
        table.add_row(
            name_of(row),
            " ".join(map(str, row["magics"])) or "-",
            " ".join(row["codecs"]) or "-",
            f"{row['segments']:,}",
            f"{row['batches']:,}",
            f"{row['records']:,}",
            "-" if empty else f"{row['first_offset']}..{row['last_offset']}",
            size_text(row["file_bytes"]),
            "-" if row["ratio"] is None else f"{row['ratio']:.2f}",
            f"{row['errors']:,}" if row["errors"] else "",
        )
    console.print(table)
    if rest:
        say(f"... and {count_text(len(rest), 'more partition')}; --format json has all")


def _print_chart(chart: Chart, console: Console) -> None:
    mark = "█" if console.encoding.lower().startswith("utf") else "#"
    bars = list(chart.bars)
    table = new_table(chart.axis.partition(",")[0], "", f">{chart.unit}", "", title=chart.title,
                      title_justify="left")  # fmt: skip
    largest = chart.largest or 1
    used = [number for number, bar in enumerate(bars) if bar.value]
    if chart.is_series and used:
        bars = bars[used[0] : used[-1] + 1]
    step = -(-len(bars) // _MOST_BARS)
    width = max(10, min(_BAR, console.width - 50))
    for start in range(0, len(bars), step):
        bar = max(bars[start : start + step], key=lambda bar: bar.value)
        length = round(width * bar.value / largest) or bool(bar.value)
        table.add_row(bar.label, mark * length, bar.text, bar.note)
    console.print(table)
    if step > 1:
        say(f"each row is the largest of {step}; --html shows all")


def _print_transactions(figures: Figures, console: Console) -> None:
    rows = figures.rows("transactions", TOTAL)
    if not rows:
        return
    table = new_table("transactions", ">number", ">batches", ">records", ">longest, ms")
    for row in rows:
        longest = "-" if row["longest_ms"] is None else f"{row['longest_ms']:,}"
        counts = (f"{row[name]:,}" for name in ("transactions", "batches", "records"))
        table.add_row(row["outcome"], *counts, longest)
    console.print(table)


def _print_gaps(figures: Figures, console: Console) -> None:
    rows = figures.rows("gaps", TOTAL)
    if not rows:
        return
    table = new_table("offsets without a record", "why", ">ranges", ">offsets", ">largest")
    for row in rows:
        counts = (f"{row[name]:,}" for name in ("ranges", "missing", "largest"))
        table.add_row(row["kind"], row["why"], *counts)
    console.print(table)


def _print_keys(figures: Figures, console: Console, *, show_keys: bool) -> None:
    rows = figures.heaviest(TOTAL)
    if not rows:
        return
    table = new_table("heaviest keys", ">records", ">at most", ">size")
    for number, row in enumerate(rows[:10], 1):
        name = key_text(row) if show_keys else f"key {number}"
        counts = f"{row['count']:,}", f"{row['at_most']:,}"
        table.add_row(name, *counts, size_text(row["size"]))
    console.print(table)


def distinct_text(row: StatsRow) -> str:
    """Return the number of different keys, with its bounds where it is an estimate."""
    number = row["distinct_keys"]
    if row["distinct_low"] == row["distinct_high"]:
        return count_text(number, "different key")
    bounds = f"{row['distinct_low']:,} to {row['distinct_high']:,}"
    return f"about {number:,} different keys ({bounds})"


def _total(row: dict[str, Any]) -> str:
    parts = [
        count_text(row["partitions"], "partition"),
        count_text(row["segments"], "segment"),
        count_text(row["batches"], "batch", "batches"),
        count_text(row["records"], "record"),
        size_text(row["file_bytes"]),
    ]
    if row["distinct_keys"] is not None:
        parts.append(distinct_text(row))
        parts.append(count_text(row["tombstones"], "tombstone"))
        parts.append(count_text(row["steps_back"], "timestamp out of order", "out of order"))
    if row["first_timestamp"] is not None:
        parts.append(f"{iso(row['first_timestamp'])} to {iso(row['last_timestamp'])}")
    if row["errors"]:
        parts.append(f"{row['errors']:,} that cannot be read")
    return ", ".join(parts)
