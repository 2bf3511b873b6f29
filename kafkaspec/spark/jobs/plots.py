"""Pictures of ``stats``: batch sizes, compression, and records over time. The extra ``plots``."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as f

from kafkaspec.spark.jobs.stats import Stats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_INCHES: Final = (9, 5)
_TOPICS: Final = 10
"""Topics with a colour of their own, the largest ones; the others are one."""
_OTHERS: Final = "(others)"

NAMES: Final = ("batch-size.png", "compression.png", "time.png")


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
    from matplotlib.figure import Figure

    place = Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    made = []
    for name, draw in zip(NAMES, (_sizes, _compression, _time), strict=True):
        figure = Figure(figsize=_INCHES, layout="constrained")
        draw(figure.subplots(), found)
        figure.savefig(place / name)
        made.append(place / name)
    return made


def _sizes(axes: Axes, found: Stats) -> None:
    rows = found.sizes.groupBy("size_from").agg(f.sum("batches").alias("n")).orderBy("size_from")
    values = [(row.size_from, row.n) for row in rows.collect()]
    axes.bar(range(len(values)), [count for _, count in values], color="tab:blue")
    axes.set_xticks(range(len(values)), [_bytes(size) for size, _ in values], rotation=45)
    axes.set_title("Batches by size")
    axes.set_xlabel("bytes of a batch, from")
    axes.set_ylabel("batches")


def _compression(axes: Axes, found: Stats) -> None:
    rows = found.codecs.groupBy("compression").agg(
        f.sum("bytes").alias("bytes"),
        f.try_divide(f.sum("uncompressed"), f.sum("payload")).alias("ratio"),
    )
    values = sorted((row.compression, row.bytes, row.ratio) for row in rows.collect())
    bars = axes.bar([name for name, _, _ in values], [size for _, size, _ in values])
    labels = ["" if ratio is None else f"{ratio:.2f} : 1" for _, _, ratio in values]
    axes.bar_label(bars, labels)
    axes.set_title("Bytes by compression, and what it saves")
    axes.set_ylabel("bytes on disk")


def _time(axes: Axes, found: Stats) -> None:
    rows = found.times.where("hour is not null").collect()
    totals: Counter[str] = Counter()
    for row in rows:
        totals[row.topic or ""] += row.records or 0
    largest = sorted(totals, key=lambda name: (-totals[name], name))[:_TOPICS]
    series: defaultdict[str, Counter[Any]] = defaultdict(Counter)
    for row in rows:
        series[row.topic if row.topic in largest else _OTHERS][row.hour] += row.records or 0
    for name, hours in sorted(series.items()):
        moments = sorted(hours)
        axes.plot(moments, [hours[at] for at in moments], marker="o", markersize=3, label=name)
    axes.set_title("Records by hour of the largest timestamp of their batch")
    axes.set_ylabel("records")
    if series:
        axes.legend(fontsize="small")


def _bytes(size: int) -> str:
    for unit in ("", "Ki", "Mi"):
        if size < 1024:
            return f"{size}{unit}"
        size //= 1024
    return f"{size}Gi"
