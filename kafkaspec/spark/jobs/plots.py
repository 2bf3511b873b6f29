"""Pictures of ``stats``: batch sizes, compression, and records over time. The extra ``stats``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as f

from kafkaspec.spark.jobs.stats import Stats
from kafkaspec.writing.atomic import file_aside

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INCHES: Final = (9, 5)
_TOPICS: Final = 10
"""Topics with a colour of their own, the largest ones; the others are one."""
_OTHERS: Final = "(others)"
_HOUR: Final = timedelta(hours=1)
_TICKS: Final = 6
_NAMED: Final = 3
"""Topics that a label names where several have the same records."""
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")

NAMES: Final = ("batch-size.png", "compression.png", "time.png")


@dataclass(frozen=True)
class Counts:
    """The numbers in the pictures.

    Attributes:
        sizes: batches by size, from a power of two on.
        codecs: compression, bytes, and the ratio or None.
        hours: topic, hour in UTC, records.
    """

    sizes: dict[int, int]
    codecs: list[tuple[str, int, float | None]]
    hours: list[tuple[str, datetime, int]]


def plot(found: Stats, directory: str | Path) -> list[Path]:
    """Draw three pictures.

    Args:
        found: what ``stats`` gave; its small tables are collected.
        directory: where they are to be; it is made.

    Returns:
        The files ``NAMES``.

    Raises:
        ImportError: matplotlib is missing.
    """
    place = Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    made = []
    for name, figure in zip(NAMES, figures(_collected(found)), strict=True):
        with file_aside(place / name, replace=True) as file:
            figure.savefig(file, format="png")
        made.append(place / name)
    return made


def figures(counts: Counts) -> list[Figure]:
    """Return the pictures, in the order of ``NAMES``."""
    from matplotlib.figure import Figure

    made = []
    for draw in (_sizes, _compression, _time):
        figure = Figure(figsize=_INCHES, layout="constrained")
        draw(figure.subplots(), counts)
        made.append(figure)
    return made


def _collected(found: Stats) -> Counts:
    sizes = found.sizes.groupBy("size_from").agg(f.sum("batches").alias("n")).collect()
    codecs = found.codecs.groupBy("compression").agg(
        f.sum("bytes").alias("bytes"),
        f.try_divide(f.sum("uncompressed"), f.sum("payload")).alias("ratio"),
    )
    hours = found.times.where("hour is not null").groupBy("topic", "hour")
    rows = hours.agg(f.sum("records").alias("n")).collect()
    return Counts(
        {row.size_from: row.n for row in sizes},
        sorted((row.compression, row.bytes, row.ratio) for row in codecs.collect()),
        [(row.topic or "", row.hour.astimezone(UTC), row.n or 0) for row in rows],
    )


def _sizes(axes: Axes, counts: Counts) -> None:
    sizes = [1 << power for power in _powers(counts.sizes)]
    axes.bar(range(len(sizes)), [counts.sizes.get(size, 0) for size in sizes], color="tab:blue")
    axes.set_xticks(range(len(sizes)), [_bytes(size) for size in sizes], rotation=45)
    axes.set_title("Batches by size")
    axes.set_xlabel("size of a batch, from")
    axes.set_ylabel("batches")


def _powers(sizes: Iterable[int]) -> range:
    """Return the powers of two from the smallest to the largest size, also those between."""
    found = [size.bit_length() - 1 for size in sizes]
    return range(min(found), max(found) + 1) if found else range(0)


def _compression(axes: Axes, counts: Counts) -> None:
    from matplotlib.ticker import FuncFormatter, MultipleLocator

    sizes = [size for _, size, _ in counts.codecs]
    bars = axes.bar([name for name, _, _ in counts.codecs], sizes)
    labels = ["" if ratio is None else f"{ratio:.2f} : 1" for _, _, ratio in counts.codecs]
    axes.bar_label(bars, labels)
    step = 1 << (max(sizes, default=1) // _TICKS).bit_length()
    axes.yaxis.set_major_locator(MultipleLocator(step))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda size, _: _bytes(size)))
    axes.set_title("Bytes by compression, and what it saves")
    axes.set_ylabel("size on disk")


def _time(axes: Axes, counts: Counts) -> None:
    import matplotlib.dates

    dates: Any = matplotlib.dates  # it has no types
    series = _series(counts.hours)
    for number, (label, hours) in enumerate(series):
        points = _points(hours)
        width = 1 + len(series) - number  # where lines lie on each other, the upper one is thinner
        axes.plot(
            [dates.date2num(hour) for hour, _ in points],
            [records for _, records in points],
            marker="o",
            markersize=width + 2,
            linewidth=width,
            label=label,
        )
    locator = dates.AutoDateLocator(tz=UTC)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, tz=UTC))
    axes.set_title("Records by hour of the largest timestamp of their batch")
    axes.set_xlabel("hour (UTC)")
    axes.set_ylabel("records")
    if series:
        axes.legend(fontsize="small")


def _series(rows: list[tuple[str, datetime, int]]) -> list[tuple[str, dict[datetime, int]]]:
    """Return the records by hour of each topic, of equal ones together, with a label."""
    totals: Counter[str] = Counter()
    for topic, _, records in rows:
        totals[topic] += records
    largest = sorted(totals, key=lambda name: (-totals[name], name))[:_TOPICS]
    by_topic: defaultdict[str, Counter[datetime]] = defaultdict(Counter)
    for topic, hour, records in rows:
        by_topic[topic if topic in largest else _OTHERS][hour] += records
    equal: defaultdict[tuple[tuple[datetime, int], ...], list[str]] = defaultdict(list)
    for topic, hours in sorted(by_topic.items()):
        equal[tuple(sorted(hours.items()))].append(topic)
    return [(_label(topics), dict(hours)) for hours, topics in equal.items()]


def _label(topics: list[str]) -> str:
    named = ", ".join(topics[:_NAMED])
    more = len(topics) - _NAMED
    return f"{named} and {more} more" if more > 0 else named


def _points(hours: dict[datetime, int]) -> list[tuple[datetime, float]]:
    """Return the points of a line, which is broken where hours are missing."""
    made: list[tuple[datetime, float]] = []
    for hour, records in sorted(hours.items()):
        if made and hour - made[-1][0] > _HOUR:
            made.append((made[-1][0] + _HOUR, float("nan")))
        made.append((hour, records))
    return made


def _bytes(size: float) -> str:
    unit = 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:g} {_UNITS[unit]}"
