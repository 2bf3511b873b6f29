"""Charts as rows of labels and numbers, for a terminal, a page and pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from kafkaspec.shown import size_text
from kafkaspec.stats.figures import TOTAL, Figures
from kafkaspec.stats.tables import DAY, HOUR, WIDTHS

_MOST_TOPICS: Final = 12
_MOST_COLUMNS: Final = 96
_RATES: Final = (
    (1000, "a second"), (60_000, "a minute"), (HOUR, "an hour"), (DAY, "a day"),
)  # fmt: skip
_OTHERS: Final = "(others)"
_SIZES: Final = {
    "batch": "Sizes of batches",
    "record": "Sizes of records",
    "key": "Sizes of keys",
    "value": "Sizes of values",
}


@dataclass(frozen=True)
class Bar:
    """A bar of a chart, with its value for people and what else is known."""

    label: str
    value: float
    text: str
    note: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart; the bars of a series follow each other, as sizes or times do."""

    name: str
    title: str
    axis: str
    unit: str
    bars: tuple[Bar, ...]
    is_series: bool = True

    @property
    def largest(self) -> float:
        """The largest value; 0 without a bar."""
        return max((bar.value for bar in self.bars), default=0)


def charts_of(figures: Figures) -> list[Chart]:
    """Return the charts of a measurement, without those that would be empty."""
    found = [_topics(figures), _codecs(figures), *_times(figures), *_sizes(figures)]
    return [chart for chart in found if chart.bars]


def _topics(figures: Figures) -> Chart:
    sizes = Counter[str]()
    for row in figures.topics:
        sizes["(no topic)" if row["topic"] is None else row["topic"]] += row["file_bytes"]
    largest = sizes.most_common(_MOST_TOPICS)
    rest = sum(sizes.values()) - sum(size for _, size in largest)
    if rest:
        largest.append((_OTHERS, rest))
    bars = tuple(Bar(name, size, size_text(size)) for name, size in largest if size)
    return Chart("topics", "Bytes by topic", "topic", "bytes", bars, is_series=False)


def _codecs(figures: Figures) -> Chart:
    sizes = Counter[str]()
    before, after = Counter[str](), Counter[str]()
    for row in figures.rows("codecs", TOTAL):
        name = row["compression"]
        sizes[name] += row["bytes"]
        before[name] += row["uncompressed"] or 0
        after[name] += row["payload"] or 0
    bars = tuple(
        Bar(
            name,
            sizes[name],
            size_text(sizes[name]),
            f"{before[name] / after[name]:.2f} : 1" if after[name] else "",
        )
        for name in sorted(sizes)
    )
    return Chart(
        "compression", "Bytes by compression, and its ratio", "compression", "bytes", bars,
        is_series=False,
    )  # fmt: skip


def _sizes(figures: Figures) -> Iterator[Chart]:
    rows = figures.rows("sizes", TOTAL)
    for what, title in _SIZES.items():
        counts = {row["size_from"]: row["count"] for row in rows if row["what"] == what}
        bars = []
        if counts:
            first, last = (size.bit_length() for size in (min(counts), max(counts)))
            for bits in range(first, last + 1):
                size = 0 if bits == 0 else 1 << (bits - 1)
                count = counts.get(size, 0)
                label = f"{bits} B" if bits < 2 else f"{size_text(size)} and more"
                bars.append(Bar(label, count, f"{count:,}"))
        unit = "batches" if what == "batch" else "records"
        yield Chart(f"{what}-sizes", title, "size", unit, tuple(bars))


def _times(figures: Figures) -> Iterator[Chart]:
    rows = figures.rows("times", TOTAL)
    if not rows:
        return
    step = _step(rows)
    records, sizes = Counter[int](), Counter[int]()
    for row in rows:
        start = row["time"] - row["time"] % step
        records[start] += row["records"] or 0
        sizes[start] += row["bytes"]
    starts = range(min(sizes), max(sizes) + 1, step)
    axis = f"time (UTC), by {step_text(step)} of the largest timestamp of a batch"
    for what, counts, show in (("records", records, _count), ("bytes", sizes, size_text)):
        width, each = rate_unit(max(counts.values()) / step)
        rates = {at: counts[at] * width / step for at in starts}
        yield Chart(
            f"{what}-rate", f"{what.capitalize()} {each}", axis, f"{what} {each}",
            tuple(
                Bar(time_text(at, step), rates[at], show(rates[at]),
                    f"{show(counts[at])} {what if what == 'records' else ''}".strip())
                for at in starts
            ),
        )  # fmt: skip
    yield _growth(sizes, step)


def rate_unit(per_millisecond: float) -> tuple[int, str]:
    """Return the time for which a rate is at least one, in ms, and its words: a day at most."""
    return next((unit for unit in _RATES if per_millisecond * unit[0] >= 1), _RATES[-1])


def _growth(sizes: Counter[int], step: int) -> Chart:
    """Return how the bytes that are there grew, by hour or longer."""
    wide = max(step, HOUR)
    hours = Counter[int]()
    for at, size in sizes.items():
        hours[at - at % wide] += size
    total, bars = 0, []
    for at in range(min(hours), max(hours) + 1, wide):
        total += hours[at]
        bars.append(Bar(time_text(at, wide), total, size_text(total), f"+{size_text(hours[at])}"))
    axis = f"time (UTC), by {step_text(wide)}"
    return Chart("growth", "Growth: bytes that are still there", axis, "bytes", tuple(bars))


def _step(rows: list[dict[str, Any]]) -> int:
    """Return the width of the columns of a chart of time."""
    first, last = (how(row["time"] for row in rows) for how in (min, max))
    least = rows[0]["width"]
    fitting = (
        width for width in WIDTHS if width >= least and (last - first) // width < _MOST_COLUMNS
    )
    return next(fitting, WIDTHS[-1])


def step_text(step: int) -> str:
    """Return a width of ``WIDTHS`` for people."""
    if step >= DAY:
        return "day" if step == DAY else f"{step // DAY:,} days"
    if step >= HOUR:
        return "hour" if step == HOUR else f"{step // HOUR} hours"
    return "minute" if step == WIDTHS[0] else f"{step // WIDTHS[0]} minutes"


def time_text(at: int, step: int) -> str:
    """Return a time in UTC, as exact as the width asks for; a number where there is no date."""
    try:
        moment = datetime.fromtimestamp(at / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{at} ms"
    return moment.strftime("%Y-%m-%d" if step >= DAY else "%Y-%m-%d %H:%M")


def _count(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
