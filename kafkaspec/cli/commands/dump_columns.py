"""Lines of ``dump`` from columns, in threads: of JSON, or of a format string.

The records of a batch, which are the reference, show what columns do not: control records that
cannot be decoded, batches with records outside the wanted offsets, and whatever is unusual.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from kafkaspec.cli.commands.dump_json import WRITERS, _Key, control_json
from kafkaspec.codecs import Codec
from kafkaspec.codecs.native.names import UNTIMED
from kafkaspec.columns.conditions import Compare, Marks
from kafkaspec.columns.json_lines import (
    BOOLEANS,
    KEPT_BYTES,
    NULL,
    PIECES_AHEAD,
    RANGE_BYTES,
    JsonLines,
    LineColumn,
    LineField,
    column_of,
    numbers,
)
from kafkaspec.columns.memory import Columns
from kafkaspec.columns.messages import TextColumn, bytes_of
from kafkaspec.columns.reader import Reader
from kafkaspec.columns.wanted import (
    BATCH_MAGIC,
    BATCH_POSITION,
    HIGHEST,
    IS_CONTROL,
    LOWEST,
    OF_BATCH,
    Wanted,
)
from kafkaspec.conversion.fields import has_values
from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.remote import RemotePath
from kafkaspec.jobs import flows_in_order
from kafkaspec.layout import names
from kafkaspec.layout.kinds import KINDS, value_names
from kafkaspec.log.batch import NO_TIMESTAMP, NO_TIMESTAMP_TYPE, NONE, TIMESTAMP_TYPES, Batch
from kafkaspec.log.control import decode_control
from kafkaspec.log.headers import divided, readable_headers
from kafkaspec.log.pieces import WHOLE_BYTES
from kafkaspec.log.segment import Segment
from kafkaspec.log.selection import Selection, chosen, first_position, selected_batches
from kafkaspec.model import Record

if TYPE_CHECKING:
    from kafkaspec.cli.commands.dump_messages import MessageRows
    from kafkaspec.codecs.native.core import Core


class _Shown(NamedTuple):
    """How a column becomes a field.

    Attributes:
        source: its name.
        lowest: see ``kafkaspec.columns.json_lines.LineField``.
        shown: see there.
        where: another column; ``lowest`` stands where that is negative or among some numbers.
        among: these numbers, a bit for each.
    """

    source: str
    lowest: int = 0
    shown: tuple[str, ...] = ()
    where: str = ""
    among: int = 0


_SHOWN: Final[dict[_Key, _Shown]] = {
    _Key.POSITION: _Shown(BATCH_POSITION),
    _Key.OFFSET: _Shown(names.OFFSET),
    _Key.TIMESTAMP: _Shown(names.TIMESTAMP, NO_TIMESTAMP, (NULL,)),
    _Key.TIMESTAMP_TYPE: _Shown(
        OF_BATCH + names.TIMESTAMP_TYPE,
        NONE,
        tuple(map(json.dumps, (NO_TIMESTAMP_TYPE, *TIMESTAMP_TYPES))),
        BATCH_MAGIC,
        UNTIMED,
    ),
    _Key.MAGIC: _Shown(BATCH_MAGIC),
    _Key.COMPRESSION: _Shown(
        OF_BATCH + names.COMPRESSION, 0, tuple(map(json.dumps, value_names(names.COMPRESSION)))
    ),
    _Key.KEY: _Shown(names.KEY),
    _Key.VALUE: _Shown(names.VALUE),
    _Key.HEADERS: _Shown(names.HEADERS),
    _Key.PRODUCER_ID: _Shown(OF_BATCH + names.PRODUCER_ID),
    _Key.PRODUCER_EPOCH: _Shown(OF_BATCH + names.PRODUCER_EPOCH),
    _Key.SEQUENCE: _Shown(names.SEQUENCE, NONE, (str(NONE),), OF_BATCH + names.BASE_SEQUENCE),
    _Key.TRANSACTIONAL: _Shown(OF_BATCH + names.IS_TRANSACTIONAL, NONE, (BOOLEANS[0], *BOOLEANS)),
}
"""The columns of a line; the other fields are the same for all records that have columns."""

_SOURCES: Final = tuple(
    dict.fromkeys(name for item in _SHOWN.values() for name in (item.source, item.where) if name)
)

_Item = tuple[int, int] | int | Batch | KafkaSpecError
"""Range of bytes with entries whose headers are regular, or what is none: the position of an entry
to look at by itself, an entry that the codec does not scan, an error."""
_Read = memoryview | int | Batch | KafkaSpecError | None
"""Lines, an entry without columns, an error, or None where reading ends."""
_Work = Callable[["_Item"], Iterator["_Read"]]

_BUNCH_BYTES: Final = 1 << 16
_BUNCH_PARTS: Final = 64
"""Bytes of lines, and parts, that a thread hands over together."""

_KEPT_ROWS: Final = re.compile(rb"\0+")


Some = TypeVar("Some")


class Maker(Protocol):
    """Makes lines of the rows of columns."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that it takes."""

    @property
    def has_control(self) -> bool:
        """Whether it makes lines of control records."""

    def lines(self, columns: Columns, rows: Iterable[tuple[int, int]]) -> Iterator[memoryview]:
        """Yield the lines of some ranges of rows, many at a time.

        Raises:
            UndecodedError: a control record cannot be decoded; before the first line.
        """


class UndecodedError(Exception):
    """Columns do not say what a control record is."""


class RowsLeft:
    """Counts the rows that are still wanted.

    Args:
        rows: their number.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def first(self, items: Iterable[Some]) -> Iterator[Some]:
        """Yield those of some rows that are wanted."""
        for item in islice(items, self.rows):
            self.rows -= 1
            yield item

    def until(self, parts: Iterator[Some]) -> Iterator[Some]:
        """Yield parts as long as rows are wanted, and ask for no more."""
        while self.rows and (found := next(parts, None)) is not None:
            yield found


class LimitMaker:
    """Makes lines of the rows that are still wanted; in one thread.

    Args:
        maker: makes the lines.
        left: counts the rows.
        ended_at: called with the position of the batch of the last row.
    """

    def __init__(self, maker: Maker, left: RowsLeft, ended_at: Callable[[int], None]) -> None:
        self._maker = maker
        self._left = left
        self._ended_at = ended_at
        self.sources = (*maker.sources, BATCH_POSITION)
        self.has_control = maker.has_control

    def lines(self, columns: Columns, rows: Iterable[tuple[int, int]]) -> Iterator[memoryview]:
        """Yield the lines of the first ranges of rows, many at a time."""
        found: list[tuple[int, int]] = []
        left = self._left.rows
        for first, stop in rows:
            if not left:
                break
            found.append((first, min(stop, first + left)))
            left -= found[-1][1] - first
        piece: memoryview | None = None
        for more in self._maker.lines(columns, found):
            if piece is not None:
                yield piece
            piece = more
        self._left.rows = left  # before the last piece, after which nobody may ask again
        if found and not left:
            position = columns.integer_column(BATCH_POSITION).integers[found[-1][1] - 1]
            self._ended_at(columns.start + position)
        if piece is not None:
            yield piece


def read_lines(
    segment: Segment,
    wanted: Selection,
    *,
    maker: Callable[[Core, Segment], Maker],
    jobs: int,
) -> Iterator[memoryview | Batch]:
    """Yield the lines of the wanted records of a segment; a batch where only its records say them.

    Args:
        segment: the segment.
        wanted: the records.
        maker: returns what makes the lines of a segment.
        jobs: number of threads.

    Raises:
        KafkaSpecError: as ``selected_batches``.
    """
    core = segment.codec.core
    remote = isinstance(segment.path, RemotePath)
    if core is None or not _is_plain(segment, wanted):
        yield from selected_batches(segment, wanted)
        return
    lines = maker(core, segment)
    core.module.memory(KEPT_BYTES)
    work: _Work
    if remote:  # its headers are not read apart, which would take as many requests again
        whole = first_position(segment, wanted), segment.size
        parts = _in_one_pass(core, segment, wanted, lines, whole)
    else:
        work = partial(_lines, core, segment, wanted, lines)
        threads = jobs if jobs > 1 else 0
        bunches = flows_in_order(
            partial(_bunches, work, 1 if threads == 0 else _BUNCH_PARTS),
            _items(segment, wanted), threads, PIECES_AHEAD,
        )  # fmt: skip
        parts = chain.from_iterable(bunches)
    for part in parts:
        if part is None:
            return
        if isinstance(part, memoryview):
            yield part
            continue
        batch, more = chosen(segment.batch_at(part) if isinstance(part, int) else part, wanted)
        if batch is not None:
            yield batch
        if not more:
            return


def _is_plain(segment: Segment, wanted: Selection) -> bool:
    """Return whether columns serve at all."""
    bounds = (
        wanted.start_offset,
        wanted.end_offset,
        wanted.start_timestamp,
        wanted.end_timestamp,
    )
    return (
        segment.format.has_columns
        and all(bound is None or LOWEST < bound < HIGHEST for bound in bounds)
        and not any(map(has_values, KINDS.values()))
    )


def _items(segment: Segment, wanted: Selection) -> Iterator[_Item]:
    for item in readable_headers(segment, first_position(segment, wanted)):
        if isinstance(item, KafkaSpecError):
            yield item
        elif item.batches is not None:
            yield from item.batches
        else:
            yield from divided(item, RANGE_BYTES)


def _bunches(work: _Work, most: int, item: _Item) -> Iterator[list[_Read]]:
    """Yield what is read of an item, little parts together: a thread hands each bunch over."""
    bunch: list[_Read] = []
    size = 0
    try:
        for part in work(item):
            bunch.append(part)
            size += len(part) if isinstance(part, memoryview) else 0
            del part
            if size >= _BUNCH_BYTES or len(bunch) == most:
                yield bunch
                bunch, size = [], 0
    except KafkaSpecError:
        if bunch:
            yield bunch
        raise
    if bunch:
        yield bunch


def _lines(
    core: Core, segment: Segment, wanted: Selection, lines: Maker, item: _Item
) -> Iterator[_Read]:
    """Yield what columns say of a range of entries; anything else as it is."""
    if not isinstance(item, tuple):
        yield item
        return
    reader = _reader(core, segment, wanted, lines, item)
    for columns in reader:
        yield from _of(core, columns, lines, reader, wanted)
        del columns
    if reader.ended:
        yield None


def _in_one_pass(
    core: Core, segment: Segment, wanted: Selection, lines: Maker, whole: tuple[int, int]
) -> Iterator[_Read]:
    """Yield the same for all entries; those from an error on are read one by one."""
    reader = _reader(core, segment, wanted, lines, whole)
    amid: int | None = None
    try:
        for columns in reader:
            amid = reader.position
            if columns.entry is not None and columns.entry < amid:
                amid = None  # everything up to the position was read
            yield from _of(core, columns, lines, reader, wanted)
            del columns
    except KafkaSpecError:
        if reader.position == amid:
            raise
        yield from selected_batches(segment, wanted, max(whole[0], reader.position))


def _reader(
    core: Core, segment: Segment, wanted: Selection, lines: Maker, item: tuple[int, int]
) -> Reader:
    sources = lines.sources
    if wanted.is_range:
        sources = (*sources, names.TIMESTAMP, names.OFFSET)
    return Reader(
        segment,
        tuple(dict.fromkeys(sources)) or (names.OFFSET,),
        Wanted(
            start_offset=wanted.start_offset,
            end_offset=wanted.end_offset,
            start_timestamp=wanted.start_timestamp,
            include_control=lines.has_control,
            max_bytes=WHOLE_BYTES,
            aborted=wanted.aborted,
            start_position=item[0],
            end_position=item[1],
            apart=True,
            joined=True,
        ),
        allocate=core.module.memory,
    )


def _of(
    core: Core, columns: Columns, lines: Maker, reader: Reader, wanted: Selection
) -> Iterator[memoryview | Batch]:
    """Yield the lines of the wanted rows, or an entry to read by its records."""
    if columns.entry is not None:
        yield reader.batch_at(columns.entry)
        return
    try:
        yield from lines.lines(columns, _kept(core, columns, wanted))
    except UndecodedError:
        positions = columns.integer_column(BATCH_POSITION).integers[: columns.rows]
        yield from (reader.batch_at(columns.start + at) for at in dict.fromkeys(positions))


def _kept(core: Core, columns: Columns, wanted: Selection) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows whose offsets and timestamps are wanted; see ``is_timely``."""
    offsets = (wanted.start_offset, wanted.end_offset) if columns.cut else (None, None)
    bounds = (wanted.start_timestamp, wanted.end_timestamp, *offsets)
    if all(bound is None for bound in bounds):
        yield 0, columns.rows
        return
    marks = _outside(*bounds).of(core, partial(_octets, columns), columns.rows)
    yield from map(re.Match.span, _KEPT_ROWS.finditer(marks))


def _octets(columns: Columns, name: str) -> memoryview:
    return memoryview(columns.integer_column(name).values).cast("B")


@lru_cache(maxsize=2)
def _outside(earliest: int | None, end: int | None, low: int | None, high: int | None) -> Marks:
    conditions: list[Compare] = []
    if not (earliest is None and end is None):
        conditions.append(Compare(names.TIMESTAMP, "!=", NO_TIMESTAMP))
    for name, least, most in ((names.TIMESTAMP, earliest, end), (names.OFFSET, low, high)):
        if least is not None:
            conditions.append(Compare(name, ">=", least))
        if most is not None:
            conditions.append(Compare(name, "<", most))
    return Marks(((condition,), 1) for condition in conditions)


_CONTROL: Final = Marks([((Compare(IS_CONTROL, "==", 1),), 1)])
"""Marks all but control records; messages have no such field, and -1 in its column."""


class JsonMaker:
    """Makes lines of JSON.

    Args:
        core: the extension.
        segment: the segment that has the records.
        base64: whether bytes that are UTF-8 are base64 too.
        messages: of an internal topic, shows the messages in its records.
    """

    sources = (*_SOURCES, IS_CONTROL)
    has_control = True

    def __init__(
        self,
        core: Core,
        segment: Segment,
        *,
        base64: bool,
        messages: MessageRows | None = None,
    ) -> None:
        self._core = core
        self._file = json.dumps(segment.name or "")
        self._base64 = base64
        self._messages = messages
        self._made: dict[frozenset[_Key], JsonLines] = {}
        self._controls = ControlTexts(core, segment.codec, base64=base64)

    def lines(self, columns: Columns, rows: Iterable[tuple[int, int]]) -> Iterator[memoryview]:
        """Yield the lines of some ranges of rows, many at a time."""
        controls = self._controls.of(columns) if columns.markers else {}
        if columns.start:
            positions = columns.integer_column(BATCH_POSITION)
            self._core.module.adjust(positions.values, 0, columns.rows, False, columns.start)
        others: dict[_Key, LineColumn] = {}
        if self._messages is not None:
            others = self._messages.of(columns, controls)
        if controls:
            texts = TextColumn(columns.rows, fill=NULL.encode())
            for row, text in controls.items():
                texts.put(row, text)
            others[_Key.CONTROL] = texts.column()
        found = [
            others.get(key) or _column(columns, _SHOWN[key])
            for key in _Key
            if key in _SHOWN or key in others
        ]
        raw = frozenset(others)
        lines = self._made[raw] = self._made.get(raw) or self._lines(raw)
        for first, stop in rows:
            yield from lines.of(found, stop, first)

    def _lines(self, raw: frozenset[_Key]) -> JsonLines:
        """Return what makes lines, of which some fields are JSON already."""
        texts = {_Key.FILE: self._file}
        if _Key.CONTROL not in raw:
            texts[_Key.CONTROL] = NULL
        fields = []
        for key in _Key:
            if key in texts:
                fields.append(LineField(key.json, text=texts[key]))
            elif key is _Key.PROBLEM and key in raw:
                fields.append(LineField("", raw=True))
            elif key in raw:
                fields.append(LineField(key.json, shown=(NULL,), raw=True))
            elif key in _SHOWN:
                lowest, shown = _SHOWN[key].lowest, _SHOWN[key].shown
                fields.append(LineField(key.json, lowest=lowest, shown=shown))
        return JsonLines(self._core, fields, base64=self._base64)


class ControlTexts:
    """Makes JSON of control records, of those with the same bytes once.

    Args:
        core: the extension.
        codec: decodes them.
        base64: whether bytes that are UTF-8 are base64 too.
    """

    def __init__(self, core: Core, codec: Codec, *, base64: bool) -> None:
        self._core = core
        self._codec = codec
        self._write = WRITERS["base64" if base64 else "text"]
        self._known: dict[tuple[bytes | None, bytes | None], bytes] = {}

    def of(self, columns: Columns) -> dict[int, bytes]:
        """Return JSON of the control records by their rows.

        Raises:
            UndecodedError: one cannot be decoded; its batch, read by itself, says why.
        """
        found: dict[int, bytes] = {}
        stored = [columns.bytes_column(name) for name in (names.KEY, names.VALUE)]
        marks = _CONTROL.of(self._core, partial(_octets, columns), columns.rows)
        for row in chain.from_iterable(range(*run.span()) for run in _KEPT_ROWS.finditer(marks)):
            key, value = (bytes_of(each, row, columns.sources) for each in stored)
            found[row] = self._known.get((key, value)) or self._text(key, value)
        return found

    def _text(self, key: bytes | None, value: bytes | None) -> bytes:
        try:
            control = decode_control(Record(0, 0, key, value), codec=self._codec)
        except KafkaSpecError as error:
            raise UndecodedError from error
        text = json.dumps(control_json(control, self._write)).encode()
        if len(self._known) < _CONTROLS:
            self._known[key, value] = text
        return text


_CONTROLS: Final = 1 << 12
"""Control records of which is kept how they are shown."""


def _column(columns: Columns, item: _Shown) -> LineColumn:
    if not item.where:
        return column_of(columns, item.source)
    found, other = map(columns.integer_column, (item.source, item.where))
    return numbers(found.values, where=other.values, among=item.among)
