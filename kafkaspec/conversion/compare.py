"""Read input and output of a conversion again, and compare every field of the specification.

If entries correspond one to one, their headers and whole payloads are compared. Otherwise all
columns of the records are compared, in C if the codec has a core, and with them the fields of
headers and records that no conversion knows. The values of a column that differs are compared one
by one, to name the records.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain, groupby, pairwise
from operator import attrgetter
from typing import Any, NamedTuple

from kafkaspec import compression as compressions
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs import Codec
from kafkaspec.columns.keys import each_value
from kafkaspec.columns.memory import AnyColumn, BytesColumn, Columns, IntegerColumn, Layout
from kafkaspec.columns.wanted import POSITION, SIZE
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.fields import header_names
from kafkaspec.conversion.partition import FileProgress, PartitionConversion
from kafkaspec.conversion.report import SideComparison
from kafkaspec.conversion.sides import HIDDEN, OwnValues, SideRows, Sides
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import read_headers
from kafkaspec.log.segment import Segment
from kafkaspec.model import Buffer


def compare(
    conversion: PartitionConversion,
    choices: Choices,
    codec: Codec,
    *,
    low: int | None,
    progress: FileProgress | None = None,
) -> SideComparison:
    """Compare the converted part of the input, from offset ``low`` on, with the output."""
    sides = Sides(conversion, choices, codec, low, progress)
    result = SideComparison(columns=tuple(sides.columns))
    if not _compare_entries(sides, result):
        result.records = 0
        try:
            _compare_records(sides, result)
        except KafkaSpecError as error:
            result.differ(f"cannot be compared: {error}")
    return result


# -- entries ---------------------------------------------------------------------------------------


class _Entry(NamedTuple):
    """An entry with the bytes of its records, and its values of the fields ``_stored``."""

    kind: EntryKind
    base_offset: int
    num_records: int
    compression: int
    payload: Buffer
    values: tuple[Any, ...]


def _compare_entries(sides: Sides, result: SideComparison) -> bool:
    """Compare entry by entry, and return whether each became one entry with the same records.

    Only batches are compared here, since messages are faster to compare in columns.
    """
    if sides.choices.batch_bytes is not None:
        return False
    try:
        target = chain.from_iterable(map(_entries, sides.target()))
        for entry in chain.from_iterable(map(_entries, sides.source())):
            if entry is None or (sides.kind or entry.kind) is not entry.kind:
                return False
            made = next(target, None)
            if made is None or made.kind is not entry.kind or not _same_payload(entry, made, sides):
                return False
            _compare_headers(sides, result, entry, made)
            result.records += entry.num_records
        return next(target, None) is None
    except KafkaSpecError:
        return False  # the comparison of records reports where and why


def _entries(segment: Segment) -> Iterator[_Entry | None]:
    """Yield the batches of a segment, from columns of headers if possible; None at a message."""
    for table in read_headers(segment):
        start = 0
        for magic, alike in groupby(table.magic):
            kind, stop = KINDS[magic], start + sum(1 for _ in alike)
            if not kind.has_record_sets:
                yield None
                return
            yield from _alike(table, kind, start, stop)
            start = stop


def _alike(table: HeaderTable, kind: EntryKind, start: int, stop: int) -> Iterator[_Entry]:
    """Yield batches of one kind."""
    place = f"{kind.payload}.{POSITION}", f"{kind.payload}.{SIZE}"
    wanted = (names.BASE_OFFSET, kind.count, names.COMPRESSION, *place, *_stored(kind))
    if any(field.optional for field in LAYOUTS[kind.key].fields) or not all(map(table.has, wanted)):
        read = attrgetter(*_stored(kind))
        for batch in map(table.batch, range(start, stop)):
            yield _Entry(
                kind,
                batch.base_offset,
                batch.num_records or 0,
                batch.compression,
                batch.payload or b"",
                read(batch.message),
            )
        return
    rows = zip(*(table.list(name)[start:stop] for name in wanted), strict=True)
    for first, count, codec, at, length, *values in rows:
        at -= table.start
        yield _Entry(kind, first, count, codec, table.buffer[at : at + length], tuple(values))


@cache
def _stored(kind: EntryKind) -> tuple[str, ...]:
    """Return the names of all fields of a header that do not follow from others."""
    return tuple(name for name in header_names(kind) if name != kind.payload)


def _same_payload(entry: _Entry, made: _Entry, sides: Sides) -> bool:
    if entry.num_records != made.num_records:
        return False
    one, other = bytes(entry.payload), bytes(made.payload)  # faster to compare than views
    if entry.compression == made.compression and one == other:
        return True
    return entry.num_records != 0 and _unpacked(entry, one, sides) == _unpacked(made, other, sides)


def _unpacked(entry: _Entry, payload: bytes, sides: Sides) -> bytes:
    if not entry.compression:
        return payload
    magic = entry.kind.magic
    return compressions.decompress(entry.compression, payload, magic=magic, **sides.bound)


def _compare_headers(sides: Sides, result: SideComparison, entry: _Entry, made: _Entry) -> None:
    base_offset = entry.base_offset + sides.shift
    if sides.first is not None:
        base_offset = sides.first + result.records
    if made.base_offset != base_offset:
        result.differ(f"offset {entry.base_offset} became {made.base_offset}")
    if entry.values == made.values:
        return
    free = {names.COMPRESSION}
    if sides.choices.leader_epoch is not None:
        free.add(names.LEADER_EPOCH)
    for name, one, other in zip(_stored(entry.kind), entry.values, made.values, strict=True):
        if one != other and name not in free:
            result.differ(
                f"{name} of the batch with offset {entry.base_offset}: {one!r} became {other!r}"
            )


# -- records ---------------------------------------------------------------------------------------


def _compare_records(sides: Sides, result: SideComparison) -> None:
    """Compare record by record."""
    source, target = sides.expected(), sides.made()
    while rows := min(source.left(), target.left()):
        _compare_rows(sides, result, source, target, rows)
        result.records += rows
        source.first += rows
        target.first += rows
    for name, side in (("missing", source), ("too many", target)):
        while left := side.left():
            offset = side.integers(names.OFFSET)[side.first]
            result.differ(f"{left} records {name}, from offset {offset} on")
            side.first += left


def _compare_rows(
    sides: Sides, result: SideComparison, source: SideRows, target: SideRows, number: int
) -> None:
    one, other = source.chunk, target.chunk
    mine, others = (range(side.first, side.first + number) for side in (source, target))
    core = sides.codec.core if one.layout is other.layout is Layout.VIEW else None
    found: list[tuple[str, list[Any], list[Any]]] = []
    for name, columns in sides.columns.items():
        for left, right in ((one.columns[item], other.columns[item]) for item in columns):
            if core is None or not core.module.same(
                _in_c(left, one), _in_c(right, other), mine.start, others.start, number
            ):
                found.append((name, _values(one, left, mine), _values(other, right, others)))
    plain: list[OwnValues] = [{}] * number
    own, made = source.own_of(mine) or plain, target.own_of(others) or plain
    if own != made:
        for name in sorted({name for values in (*own, *made) for name in values}):
            found.append(
                (name, [item.get(name) for item in own], [item.get(name) for item in made])
            )
    offsets = source.integers(names.OFFSET)[mine.start : mine.stop]
    for name, expected, values in found:
        if expected == values:
            continue
        for offset, a, b in zip(offsets, expected, values, strict=True):
            if a != b and not (name == HIDDEN and None in (a, b)):
                result.differ(f"{name} of the record with offset {offset}: {a!r} became {b!r}")


def _in_c(column: AnyColumn, found: Columns) -> Any:
    """Return a column as the core compares it."""
    if isinstance(column, IntegerColumn):
        return column.values
    if isinstance(column, BytesColumn):
        return (column.present, column.main, tuple(found.sources))
    children = tuple(_in_c(column.children[name], found) for name in sorted(column.children))
    return (column.offsets, children)


def _values(found: Columns, column: AnyColumn, rows: range) -> list[Any]:
    """Return the values of some rows."""
    if isinstance(column, IntegerColumn):
        return column.integers[rows.start : rows.stop].tolist()
    if isinstance(column, BytesColumn):
        made: list[Any] = [None] * len(rows)
        for row, value in each_value(found, column, rows):
            made[row - rows.start] = value
        return made
    ends = memoryview(column.offsets).cast("B").cast("i")[rows.start : rows.stop + 1].tolist()
    items = range(ends[0], ends[-1])
    children = [_values(found, column.children[name], items) for name in sorted(column.children)]
    pairs = list(zip(*children, strict=True))
    return [tuple(pairs[a - ends[0] : b - ends[0]]) for a, b in pairwise(ends)]
