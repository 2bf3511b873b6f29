"""``--where``: records for which a condition is true."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kafkaspec.arrow.record_arrays import Arrays, sources_of
from kafkaspec.arrow.record_batches import place_of
from kafkaspec.arrow.schema import Request
from kafkaspec.arrow.where.condition import Where
from kafkaspec.cli.commands.dump_columns import Maker
from kafkaspec.columns.memory import Columns
from kafkaspec.log.segment import Segment

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core

_TRUE: Final = re.compile(rb"\x01+")


class WhereMaker:
    """Makes lines of the rows for which a condition is true.

    Args:
        core: the extension.
        segment: the segment that has the records.
        where: the condition.
        maker: returns what makes lines of all rows.
        apart: whether each line is made by itself.
    """

    def __init__(
        self,
        core: Core,
        segment: Segment,
        *,
        where: Where,
        maker: Callable[[Core, Segment], Maker],
        apart: bool = False,
    ) -> None:
        self._maker = maker(core, segment)
        self._where = where
        self._apart = apart
        request = Request(where.columns, include_control=True, header_keys="binary")
        self._arrays = Arrays(request, place_of(segment), segment.codec, segment.name)
        self.sources = (*self._maker.sources, *sources_of(request))
        self.has_control = self._maker.has_control

    def lines(self, columns: Columns, rows: Iterable[tuple[int, int]]) -> Iterator[memoryview]:
        """Yield the lines of the wanted rows in some ranges, many at a time."""
        mask = self._where.mask(self._arrays.batch(columns))
        if mask.true_count:
            yield from self._maker.lines(columns, self._runs(mask, rows))

    def _runs(self, mask: pa.Array, rows: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        marks = memoryview(mask.cast(pa.uint8()).buffers()[1])
        for first, stop in rows:
            for found in _TRUE.finditer(marks[first:stop]):
                start, end = found.span()
                if self._apart:
                    yield from ((row, row + 1) for row in range(first + start, first + end))
                else:
                    yield first + start, first + end
