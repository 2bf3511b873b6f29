"""The lines about a log from columns, in threads: those of batches that have nothing unusual.

Left to ``kafkaspec.dumplog.logs``, which is the reference, are messages of magic 0 and 1, control
batches, batches without records or with a delete horizon, and what cannot be read.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from functools import partial
from string import Formatter
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkaspec.columns.json_lines import (
    KEPT_BYTES,
    PIECES_AHEAD,
    RANGE_BYTES,
    LineColumn,
    LineForm,
    LinePiece,
    Lines,
    column_of,
    numbers,
)
from kafkaspec.columns.memory import Columns, Layout
from kafkaspec.columns.messages import MessageTexts, TextColumn, bytes_of
from kafkaspec.columns.reader import Reader
from kafkaspec.columns.wanted import (
    BATCH_BASE_OFFSET,
    BATCH_MAGIC,
    BATCH_POSITION,
    BATCH_SIZE,
    OF_BATCH,
    Wanted,
)
from kafkaspec.dumplog.families import Family
from kafkaspec.dumplog.fields import FALSE, NO_HORIZON, TRUE
from kafkaspec.dumplog.options import DumpOptions, Parse
from kafkaspec.errors import KafkaSpecError
from kafkaspec.jobs import flows_in_order
from kafkaspec.layout import names
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import NONE, TIMESTAMP_TYPES, Batch
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import divided_around, readable_headers
from kafkaspec.log.pieces import WHOLE_BYTES
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core

_NEWEST: Final = max(KINDS)


class _Shown(NamedTuple):
    """How a column becomes a part of a line.

    Attributes:
        lowest: the number that the first of ``texts`` stands for.
        texts: what stands for that number and the next ones.
        where: another column; ``lowest`` stands where that is negative.
    """

    source: str
    form: LineForm = LineForm.JSON
    lowest: int = 0
    texts: tuple[str, ...] = ()
    where: str = ""


_BASE_SEQUENCE: Final = OF_BATCH + names.BASE_SEQUENCE
_SHOWN: Final = {
    "offset": _Shown(names.OFFSET),
    "timestamp": _Shown(names.TIMESTAMP),
    "key_size": _Shown(names.KEY, LineForm.SIZE),
    "value_size": _Shown(names.VALUE, LineForm.SIZE),
    "sequence": _Shown(names.SEQUENCE, LineForm.JSON, NONE, (str(NONE),), _BASE_SEQUENCE),
    "header_keys": _Shown(names.HEADERS, LineForm.KEYS),
    "base_offset": _Shown(BATCH_BASE_OFFSET),
    "last_offset": _Shown(OF_BATCH + names.LAST_OFFSET),
    "count": _Shown(OF_BATCH + names.NUM_RECORDS),
    "base_sequence": _Shown(_BASE_SEQUENCE),
    "last_sequence": _Shown(
        OF_BATCH + names.LAST_SEQUENCE, LineForm.JSON, NONE, (str(NONE),), _BASE_SEQUENCE
    ),
    "producer_id": _Shown(OF_BATCH + names.PRODUCER_ID),
    "producer_epoch": _Shown(OF_BATCH + names.PRODUCER_EPOCH),
    "leader_epoch": _Shown(OF_BATCH + names.LEADER_EPOCH),
    "transactional": _Shown(OF_BATCH + names.IS_TRANSACTIONAL, texts=(FALSE, TRUE)),
    "position": _Shown(BATCH_POSITION),
    "timestamp_type": _Shown(OF_BATCH + names.TIMESTAMP_TYPE, texts=TIMESTAMP_TYPES),
    "max_timestamp": _Shown(OF_BATCH + names.MAX_TIMESTAMP),
    "size": _Shown(BATCH_SIZE),
    "magic": _Shown(BATCH_MAGIC),
    "codec": _Shown(OF_BATCH + names.COMPRESSION),
    "batch_crc": _Shown(OF_BATCH + "crc"),
}
_SAME: Final = {
    "control": FALSE,
    "delete_horizon": NO_HORIZON,
    "batch_valid": TRUE,
    "crc": "null",
    "valid": TRUE,
}
"""What is the same for all records that are read into columns."""

_Run = tuple[int, int]
"""A first and a last offset, between which no record is missing."""
_Item = _Run | int | Batch | KafkaSpecError
_Read = memoryview | list[_Run] | int | Batch | KafkaSpecError


def has_columns(family: Family, options: DumpOptions, log: Segment) -> bool:
    """Return whether columns say the lines of a log."""
    return (
        log.codec.core is not None
        and log.format.has_columns
        and bool(family.record)
        and options.deep
        and not options.skip_metadata
        and not (options.content and family.drops_key)
        and options.max_bytes is None
    )


def read_lines(
    family: Family, options: DumpOptions, log: Segment, jobs: int
) -> Iterator[memoryview | list[_Run] | int | Batch | KafkaSpecError]:
    """Yield the lines of a log.

    Args:
        options: what is asked for, for which ``has_columns`` is true.
        log: the log; checksums have to match.

    Yields:
        The offsets of some records, and then their lines; or the position of an entry for the
        caller to read, an entry, or the error of one.
    """
    core = log.codec.core
    assert core is not None
    core.module.memory(KEPT_BYTES)
    text = _Text(core, family, options)
    work = partial(_read, core, log, text)
    threads = jobs if jobs > 1 and not text.alone else 0  # others hold the GIL
    yield from flows_in_order(work, _items(family, log), threads, PIECES_AHEAD)


class _Text:
    """The plan of the lines, and the columns that it takes."""

    def __init__(self, core: Core, family: Family, options: DumpOptions) -> None:
        self._codecs = family.codecs
        self._plan: list[LinePiece] = []
        self._shown: list[_Shown | None] = []
        if family.batches_always:
            self._add("", _Shown(BATCH_POSITION, LineForm.FIRST))
            self._line(family.batch)
            self._add("\n", None)
            self._plan[0] = (b"", len(self._plan) - 1, (), LineForm.FIRST)
        self._line(family.record)
        self._parse = options.parse
        self._texts = None if options.parse is None else options.parse.texts(core)
        self.alone = options.parse is not None and self._texts is None
        self._decoded: dict[int, int] = {}
        """Places of what the decoder makes: its key and its payload."""
        if options.content:
            for number, (before, name) in enumerate((("key", names.KEY), ("payload", names.VALUE))):
                self._decoded[len(self._plan)] = number
                self._add(f" {before}: ", _Shown(name, LineForm.TEXT))
        self._add("\n", None)
        self._lines = Lines(core, self._plan)
        known = [item for item in self._shown if item is not None]
        self.sources = tuple(
            dict.fromkeys(name for item in known for name in (item.source, item.where) if name)
            | {BATCH_POSITION: None, names.OFFSET: None, names.TIMESTAMP: None}
        )

    def _line(self, template: str) -> None:
        before = ""
        for literal, name, _, _ in Formatter().parse(template):
            before += literal
            if name in _SAME:
                before += _SAME[name]
            elif name is not None:
                self._add(before, _SHOWN[name])
                before = ""
        if before:
            self._add(before, None)

    def _add(self, before: str, shown: _Shown | None) -> None:
        self._shown.append(shown)
        if shown is None:
            self._plan.append((before.encode(), 0, (), LineForm.JSON))
            return
        texts = self._codecs if shown is _SHOWN["codec"] else shown.texts
        encoded = tuple(text.encode() for text in texts)
        self._plan.append((before.encode(), shown.lowest, encoded, shown.form))

    def of(self, columns: Columns) -> Iterator[memoryview | list[_Run] | int]:
        """Yield the offsets and lines of all rows, or up to the entry that the decoder fails at."""
        given = [_column(columns, item) for item in self._shown]
        rows = columns.rows
        if self._parse is not None:
            made, rows = _parsed(columns, self._parse, self._texts)
            for place, number in self._decoded.items():
                given[place] = made[number]
        if rows:
            yield _runs(columns, rows)
            yield from self._lines.of(given, rows)
        if rows < columns.rows:
            yield columns.integer_column(BATCH_POSITION).integers[rows]


def _items(family: Family, log: Segment) -> Iterator[_Item]:
    for item in readable_headers(log):
        if isinstance(item, KafkaSpecError):
            yield item
        elif item.batches is not None:
            yield from item.batches
        else:
            yield from divided_around(item, RANGE_BYTES, _alone(family, item))


def _alone(family: Family, table: HeaderTable) -> set[int]:
    """Return the positions of entries that columns do not say everything of."""
    columns = (names.MAGIC, names.NUM_RECORDS, names.HAS_DELETE_HORIZON, names.COMPRESSION)
    rows = list(zip(*map(table.list, columns), strict=True))
    plain = {
        row
        for row in set(rows)
        if row[0] == _NEWEST and row[1] > 0 and not row[2] and row[3] < len(family.codecs)
    }
    return {place for place, row in zip(table.position, rows, strict=True) if row not in plain}


def _read(core: Core, log: Segment, text: _Text, item: _Item) -> Iterator[_Read]:
    """Yield what columns say of a range of entries; anything else as it is."""
    if not isinstance(item, tuple):
        yield item
        return
    reader = Reader(
        log,
        text.sources,
        Wanted(
            include_control=True,
            max_bytes=WHOLE_BYTES,
            start_position=item[0],
            end_position=item[1],
            apart=True,
        ),
        layout=Layout.VIEW,
        allocate=core.module.memory,
    )
    for columns in reader:
        if columns.entry is not None:
            yield columns.entry
            continue
        positions = columns.integer_column(BATCH_POSITION)
        if columns.start:
            core.module.adjust(positions.values, 0, columns.rows, False, columns.start)
        yield from text.of(columns)
        del columns


def _runs(columns: Columns, rows: int) -> list[_Run]:
    """Return the offsets of the first rows, as runs of those that follow each other."""
    offsets = columns.integer_column(names.OFFSET).integers[:rows]
    first, last = offsets[0], offsets[-1]
    if last - first == rows - 1:
        following = array("q", range(first, last + 1))
        if offsets.tobytes() == following.tobytes():
            return [(first, last)]
    runs: list[_Run] = []
    for offset in offsets:
        if runs and offset == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], offset)
        else:
            runs.append((offset, offset))
    return runs


def _parsed(
    columns: Columns, parse: Parse, texts: MessageTexts | None
) -> tuple[list[LineColumn], int]:
    """Return the texts that a decoder makes, and the rows before the entry that it fails at."""
    rows = columns.rows
    position, offset, timestamp = (
        columns.integer_column(name).integers
        for name in (BATCH_POSITION, names.OFFSET, names.TIMESTAMP)
    )
    stored = [columns.bytes_column(name) for name in (names.KEY, names.VALUE)]
    keys, values = None, TextColumn(rows)
    left: Iterable[int] = range(rows)
    if texts is not None:
        keys, values, left = texts.write(rows, stored[0], stored[1], columns.sources)
    keys = keys or TextColumn(rows, bytes(-(-rows // 8)))
    for row in left:
        key, value = (bytes_of(column, row, columns.sources) for column in stored)
        try:
            made = parse(Record(offset[row], timestamp[row], key, value))
        except KafkaSpecError:
            rows = next(first for first in range(row + 1) if position[first] == position[row])
            break
        for column, text in zip((keys, values), made, strict=True):
            column.put(row, None if text is None else text.encode())
    return [keys.column(), values.column()], rows


def _column(columns: Columns, item: _Shown | None) -> LineColumn | None:
    if item is None:
        return None
    if not item.where:
        return column_of(columns, item.source)
    found, other = map(columns.integer_column, (item.source, item.where))
    return numbers(found.values, where=other.values)
