"""Numbers and times as a page shows them."""

from __future__ import annotations

from datetime import UTC, datetime

from kafkaspec.stats.charts import bytes_text

NONE = "-"


def number(value: float | None) -> str:
    """Return a number with its thousands apart."""
    if value is None:
        return NONE
    if isinstance(value, int) or value == int(value):
        return f"{int(value):,}"
    return f"{value:,.2f}" if abs(value) >= 0.01 else f"{value:.2g}"


def counted(value: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{value:,} {noun}" + ("" if value == 1 else "s")


def bytes_of(value: int | None) -> str:
    """Return a number of bytes in short form."""
    return NONE if value is None else bytes_text(value)


def time_of(milliseconds: int | None) -> str:
    """Return a time in UTC; a number where there is no such date."""
    if milliseconds is None:
        return NONE
    try:
        moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03}"
