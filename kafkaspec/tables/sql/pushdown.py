"""The conditions of a DuckDB filter on offsets, timestamps, partitions and columns.

The filter is an expression of Arrow, which has no form that can be read. But Arrow tells whether
one can be true where something else is known (as it does to leave out files of a data set), so the
range of a column is found by asking that for half of it again and again. Where Arrow does not know,
the range is larger, never smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import dataset, fs

from kafkaspec.columns.wanted import HIGHEST, LOWEST


class Filter:
    """A filter on the columns of a schema."""

    def __init__(self, expression: pc.Expression | None, schema: pa.Schema) -> None:
        self._expression = expression
        self._schema = schema
        self._format = dataset.IpcFileFormat()
        self._files = fs.LocalFileSystem()

    def may_hold(self, known: pc.Expression) -> bool:
        """Return whether it can be true for rows of which something is known."""
        if self._expression is None:
            return True
        piece = self._format.make_fragment(
            "nothing is opened", filesystem=self._files, partition_expression=known
        )
        pieces = dataset.FileSystemDataset([piece], self._schema, self._format)
        return any(True for _ in pieces.get_fragments(filter=self._expression))

    def range(self, column: str) -> tuple[int | None, int | None]:
        """Return the smallest value that a column can have, and the first one after the largest.

        The column has integers, or timestamps, whose integers are meant. A column that can be null
        has no range.
        """
        field = pc.field(column)
        if self._schema.field(column).nullable and self.may_hold(field.is_null()):
            return None, None
        kind = self._schema.field(column).type

        def below(value: int) -> bool:
            return self.may_hold(field < pa.scalar(value, pa.int64()).cast(kind))

        def from_(value: int) -> bool:
            return self.may_hold(field >= pa.scalar(value, pa.int64()).cast(kind))

        low = None if below(LOWEST + 1) else _last_false(below)
        if not from_(HIGHEST):
            return low, _last_false(lambda value: not from_(value)) + 1
        return low, None

    def columns(self, names: Iterable[str]) -> list[str]:
        """Return which columns it is about."""
        if self._expression is None:
            return []
        return [name for name in names if not self._binds_without(name)]

    def _binds_without(self, name: str) -> bool:
        others = self._schema.remove(self._schema.get_field_index(name))
        try:
            dataset.Scanner.from_batches(iter(()), schema=others, filter=self._expression)
        except (pa.ArrowInvalid, KeyError):
            return False
        return True


def _last_false(test: Callable[[int], bool]) -> int:
    """Return the largest integer for which a test is false, which is true from some integer on."""
    low, high = LOWEST, HIGHEST
    while low < high:
        middle = (low + high + 1) // 2
        if test(middle):
            high = middle - 1
        else:
            low = middle
    return low
