"""A condition on records: what it needs, what need not be read, and which rows it is true for."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any, Final

import pyarrow as pa

from kafkaspec.arrow.where import syntax
from kafkaspec.arrow.where.evaluation import WhereProgram
from kafkaspec.arrow.where.ranges import ValueRange, ranges_of
from kafkaspec.log.selection import W

Truth = bool | None
_ALL: Final = frozenset((True, False, None))
_PLACE: Final = pa.schema([("topic", pa.string()), ("partition", pa.int32())])


class Where:
    """A condition on records.

    Args:
        text: the condition; see ``kafkaspec.arrow.where.syntax``.

    Raises:
        WhereError: it is none.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._node = syntax.parse(text)
        self.ranges = ranges_of(self._node)
        """Ranges that hold all records for which it is true."""
        self._programs: dict[pa.Schema, WhereProgram] = {}
        found = (syntax.column_of(each) for each in syntax.operands(self._node))
        self.columns = tuple(dict.fromkeys(each.path[0] for each in found if each is not None))
        """The columns that it is about."""

    def __repr__(self) -> str:
        return f"Where({self.text!r})"

    def check(self, schema: pa.Schema) -> None:
        """Raise a ``WhereError`` if it does not suit columns of a schema."""
        if schema not in self._programs:
            self._programs[schema] = WhereProgram(self._node, schema, self.text)

    def mask(self, batch: pa.RecordBatch) -> pa.Array:
        """Return whether it is true, for each row of a record batch with its columns."""
        self.check(batch.schema)
        found = self._programs[batch.schema](batch)
        return found.fill_null(False) if found.null_count else found

    def narrowed(self, wanted: W) -> W:
        """Return a selection, or a request, with no more offsets and timestamps than needed."""
        bounds: dict[str, Any] = {}
        for what, found in (("offset", self.ranges.offset), ("timestamp", self.ranges.timestamp)):
            start, end = f"start_{what}", f"end_{what}"
            both = found & ValueRange(getattr(wanted, start), getattr(wanted, end))
            bounds |= {start: both.low, end: both.high}
        return replace(wanted, **bounds)

    def may_be_in(self, topic: str | None, partition: int | None) -> bool:
        """Return whether it can be true for a record of a partition."""
        place = pa.RecordBatch.from_arrays(
            [pa.array([topic], pa.string()), pa.array([partition], pa.int32())], schema=_PLACE
        )
        return not self.ranges.is_empty and True in self._outcomes(self._node, place)

    def _outcomes(self, node: syntax.WhereNode, place: pa.RecordBatch) -> frozenset[Truth]:
        """Return what a part of it can be for records of a partition."""
        if isinstance(node, syntax.Not):
            return frozenset(
                None if each is None else not each for each in self._outcomes(node.part, place)
            )
        if isinstance(node, syntax.All | syntax.Any):
            stops = isinstance(node, syntax.Any)
            found = frozenset[Truth]([not stops])
            for part in node.parts:
                others = self._outcomes(part, place)
                found = frozenset(
                    stops if stops in pair else None if None in pair else not stops
                    for pair in product(found, others)
                )
            return found
        columns = [syntax.column_of(each) for each in syntax.operands(node)]
        if not all(each is None or each.path in (("topic",), ("partition",)) for each in columns):
            return _ALL
        return frozenset(WhereProgram(node, place.schema, self.text)(place).to_pylist())
