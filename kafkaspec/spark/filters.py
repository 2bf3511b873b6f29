"""Use filters of a query to leave out segments, if the option ``filterPushdown`` asks for it.

Spark up to 4.3 keeps one plan for all uses of a DataFrame, so that a filter of one use narrows the
others too. So this is off by default, and right only for a DataFrame that is used once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

from kafkaspec.spark.offsets import OffsetSpan

_ALL: Final = OffsetSpan()


@dataclass(frozen=True)
class Narrowed:
    """Limits that filters set, None for none; topics begin with all of ``prefixes``."""

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    prefixes: tuple[str, ...] = ()
    span: OffsetSpan = _ALL

    def selects(self, topic: str | None, partition: int | None) -> bool:
        """Return whether a log can have rows that are wanted."""
        return (
            (self.topics is None or topic in self.topics)
            and (self.partitions is None or partition in self.partitions)
            and all(topic is not None and topic.startswith(item) for item in self.prefixes)
        )

    def cut(self, span: OffsetSpan) -> OffsetSpan:
        """Return the offsets of both."""
        starts = [item for item in (span.start, self.span.start) if item is not None]
        ends = [item for item in (span.end, self.span.end) if item is not None]
        return OffsetSpan(max(starts, default=None), min(ends, default=None))


def narrowed(filters: Iterable[Any]) -> Narrowed:
    """Return the limits of filters that must all hold. Filters on other columns set none."""
    found = Narrowed()
    for item in filters:
        if not hasattr(item, "attribute"):  # Not
            continue
        if item.attribute == ("offset",):
            found = replace(found, span=found.cut(_offsets(item)))
        elif item.attribute == ("topic",):
            if isinstance(item, StringStartsWith):
                found = replace(found, prefixes=(*found.prefixes, item.value))
            else:
                found = replace(found, topics=_both(found.topics, _values(item)))
        elif item.attribute == ("partition",):
            found = replace(found, partitions=_both(found.partitions, _values(item)))
    return found


def _values(item: Any) -> frozenset[Any] | None:
    if isinstance(item, EqualTo | EqualNullSafe):
        return frozenset((item.value,))
    return frozenset(item.value) if isinstance(item, In) else None


def _both(one: frozenset[Any] | None, other: frozenset[Any] | None) -> frozenset[Any] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _offsets(item: Any) -> OffsetSpan:
    if isinstance(item, GreaterThan | GreaterThanOrEqual):
        return OffsetSpan(item.value + isinstance(item, GreaterThan))
    if isinstance(item, LessThan | LessThanOrEqual):
        return OffsetSpan(None, item.value + isinstance(item, LessThanOrEqual))
    values = [value for value in _values(item) or () if value is not None]
    return OffsetSpan(min(values), max(values) + 1) if values else OffsetSpan()
