"""Compare input and output in columns of the core, as long as nothing differs.

It only finds out whether both sides agree. What differs, and everything that columns do not show,
is for the comparisons that say what they find.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

from kafkaspec.codecs.native.core import Core
from kafkaspec.columns.memory import AnyColumn, BytesColumn, Columns, IntegerColumn, Layout
from kafkaspec.columns.reader import Reader
from kafkaspec.columns.wanted import BATCH_MAGIC, OF_BATCH, Wanted
from kafkaspec.conversion.fields import default_columns, holds_only
from kafkaspec.conversion.sides import CHUNK_BYTES, Sides
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import names
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.log.segment import Segment

_FLAGS: Final = tuple(OF_BATCH + name for name in (names.TIMESTAMP_TYPE, names.HAS_DELETE_HORIZON))
_COMPRESSION: Final = OF_BATCH + names.COMPRESSION


@cache
def own_names(core: Core) -> tuple[str, ...]:
    """Return the columns that ``is_plain`` needs."""
    own = (name for kind in KINDS.values() for name in default_columns(core, kind) or ())
    return tuple(dict.fromkeys((BATCH_MAGIC, _COMPRESSION, *_FLAGS, *own)))


def is_plain(core: Core, found: Columns) -> bool:
    """Return whether some records have no fields that are compared one by one.

    All are of one kind, with the default in each field that no conversion knows. Wrappers, other
    times under the append time, and delete horizons are compared one by one.
    """
    columns, rows = found.columns, found.rows
    kind = KINDS[_integers(columns[BATCH_MAGIC])[0]]
    expected = default_columns(core, kind)
    if expected is None or found.cut:
        return False
    flags = _FLAGS if kind.has_record_sets else (_COMPRESSION,)
    wanted = {BATCH_MAGIC: kind.magic, **dict.fromkeys(flags, 0), **expected}
    return holds_only(core, columns, rows, wanted)


def agreeing(sides: Sides) -> int | None:
    """Return the number of records if both sides agree, None if that is not known.

    They agree if all columns are equal, and nothing else of the specification can differ.
    """
    core, choices = sides.codec.core, sides.choices
    if core is None or choices.by_time:
        return None
    compared = tuple(name for column in sides.columns for name in sides.sources(column))
    needed = tuple(dict.fromkeys((*compared, *own_names(core))))
    bounds = {"start_offset": sides.low, "end_offset": choices.end_offset}
    source = _Rows(core, sides.source(), needed, include_control=sides.control, **bounds)
    target = _Rows(core, sides.target().segments_from(None), needed, include_control=True)
    records = 0
    try:
        while rows := min(source.left(), target.left()):
            if not source.first:
                _expect(core, sides, source, records)
            if not _same(core, compared, source, target, rows):
                return None
            source.first += rows
            target.first += rows
            records += rows
    except KafkaSpecError:
        return None
    return records if source.ended and target.ended else None


class _Rows:
    """One side, some rows at a time.

    Attributes:
        columns: the rows at hand.
        first: the first of them that was not compared.
        ended: whether there are no others.
    """

    def __init__(
        self, core: Core, segments: Iterable[Segment], needed: tuple[str, ...], **wanted: Any
    ) -> None:
        self._core = core
        self._found = self._read(segments, needed, Wanted(max_bytes=CHUNK_BYTES, **wanted))
        self.columns: Columns | None = None
        self.first = 0
        self.ended = False

    def _read(
        self, segments: Iterable[Segment], needed: tuple[str, ...], wanted: Wanted
    ) -> Iterator[Columns]:
        memory = self._core.module.memory
        for segment in segments:
            yield from Reader(segment, needed, wanted, allocate=memory)

    def left(self) -> int:
        """Return how many rows can be compared now; 0 at the end, and before what is not plain."""
        while not self.ended and (self.columns is None or self.first == self.columns.rows):
            self.columns, self.first = None, 0  # before others take their memory
            found = next(self._found, None)
            if found is None:
                self.ended = True
                break
            if found.layout is not Layout.VIEW or found.markers or not is_plain(self._core, found):
                break
            self.columns = found
        return 0 if self.columns is None else self.columns.rows - self.first


def _expect(core: Core, sides: Sides, source: _Rows, number: int) -> None:
    """Change new rows of the input to what the output must have; ``number`` are before them."""
    assert source.columns is not None
    columns, rows = source.columns.columns, source.columns.rows
    if sides.first is not None:
        first = sides.first + number
        columns[names.OFFSET] = IntegerColumn(array("q", range(first, first + rows)))
    elif sides.shift:
        offsets = columns[names.OFFSET]
        assert isinstance(offsets, IntegerColumn)
        core.module.adjust(offsets.values, 0, rows, False, sides.shift)
    if sides.kind is not None and not sides.kind.has_timestamps:
        times = columns[names.TIMESTAMP]
        assert isinstance(times, IntegerColumn)
        core.module.adjust(times.values, 0, rows, True, NO_TIMESTAMP)


def _same(core: Core, compared: tuple[str, ...], source: _Rows, target: _Rows, rows: int) -> bool:
    one, other = source.columns, target.columns
    assert one is not None
    assert other is not None
    return all(
        core.module.same(
            _column(one.columns[name], one),
            _column(other.columns[name], other),
            source.first,
            target.first,
            rows,
        )
        for name in compared
    )


def _column(column: AnyColumn, found: Columns) -> Any:
    """Return a column as the core compares it."""
    if isinstance(column, IntegerColumn):
        return column.values
    if isinstance(column, BytesColumn):
        return (column.validity if column.nulls else None, column.main, tuple(found.sources))
    children = tuple(_column(column.children[name], found) for name in sorted(column.children))
    return (column.offsets, children)


def _integers(column: AnyColumn) -> memoryview:
    assert isinstance(column, IntegerColumn)
    return column.integers
