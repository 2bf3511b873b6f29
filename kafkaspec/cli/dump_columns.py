"""Lines of ``dump --format json`` from columns, in threads.

What columns do not say is left to the records of a batch, which are the reference: control records,
batches with records outside of the wanted offsets, and whatever is unusual or cannot be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkaspec.cli.dump_json import Key
from kafkaspec.codecs.native.names import UNTIMED
from kafkaspec.columns.json_lines import (
    BOOLEANS,
    NULL,
    Column,
    Field,
    JsonLines,
    column_of,
    numbers,
)
from kafkaspec.columns.memory import Columns, IntegerColumn
from kafkaspec.columns.names import BATCH_MAGIC, BATCH_POSITION, OF_BATCH
from kafkaspec.columns.reader import Reader
from kafkaspec.columns.wanted import HIGHEST, LOWEST, Wanted
from kafkaspec.conversion.fields import has_values
from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.remote import RemotePath
from kafkaspec.jobs import flows_in_order
from kafkaspec.layout import names
from kafkaspec.layout.kinds import KINDS, value_names
from kafkaspec.log.batch import NO_TIMESTAMP, NO_TIMESTAMP_TYPE, NONE, TIMESTAMP_TYPES, Batch
from kafkaspec.log.headers import divided, readable_headers
from kafkaspec.log.pieces import WHOLE_BYTES
from kafkaspec.log.segment import Segment
from kafkaspec.log.selection import Selection, chosen, first_position, selected_batches

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core

_RANGE: Final = 4 << 20
"""Bytes of a segment that one thread reads."""
_AHEAD: Final = 8
"""Pieces of text of a range that wait to be written."""
_KEPT: Final = 16 << 20
"""Bytes that the allocator had better keep: glibc learns how many from the largest piece that was
freed, and takes pages of less from the system again and again."""


class _Shown(NamedTuple):
    """How a column becomes a field.

    Attributes:
        source: its name.
        lowest: see ``kafkaspec.columns.json_lines.Field``.
        shown: see there.
        where: another column; ``lowest`` stands where that is negative or among some numbers.
        among: these numbers, a bit for each.
    """

    source: str
    lowest: int = 0
    shown: tuple[str, ...] = ()
    where: str = ""
    among: int = 0


_SHOWN: Final[dict[Key, _Shown]] = {
    Key.POSITION: _Shown(BATCH_POSITION),
    Key.OFFSET: _Shown(names.OFFSET),
    Key.TIMESTAMP: _Shown(names.TIMESTAMP, NO_TIMESTAMP, (NULL,)),
    Key.TIMESTAMP_TYPE: _Shown(
        OF_BATCH + names.TIMESTAMP_TYPE,
        NONE,
        tuple(map(json.dumps, (NO_TIMESTAMP_TYPE, *TIMESTAMP_TYPES))),
        BATCH_MAGIC,
        UNTIMED,
    ),
    Key.MAGIC: _Shown(BATCH_MAGIC),
    Key.COMPRESSION: _Shown(
        OF_BATCH + names.COMPRESSION, 0, tuple(map(json.dumps, value_names(names.COMPRESSION)))
    ),
    Key.KEY: _Shown(names.KEY),
    Key.VALUE: _Shown(names.VALUE),
    Key.HEADERS: _Shown(names.HEADERS),
    Key.PRODUCER_ID: _Shown(OF_BATCH + names.PRODUCER_ID),
    Key.PRODUCER_EPOCH: _Shown(OF_BATCH + names.PRODUCER_EPOCH),
    Key.SEQUENCE: _Shown(names.SEQUENCE, NONE, (str(NONE),), OF_BATCH + names.BASE_SEQUENCE),
    Key.TRANSACTIONAL: _Shown(OF_BATCH + names.IS_TRANSACTIONAL, NONE, (BOOLEANS[0], *BOOLEANS)),
}
"""The columns of a line; the other fields are the same for all records that have columns."""

_SOURCES: Final = tuple(
    dict.fromkeys(name for item in _SHOWN.values() for name in (item.source, item.where) if name)
)

_Item = tuple[int, int] | Batch | KafkaSpecError
"""Range of bytes with entries whose headers are regular, or what is none."""


def read_lines(
    segment: Segment, wanted: Selection, *, base64: bool, jobs: int
) -> Iterator[memoryview | Batch]:
    """Yield the lines of the wanted records of a segment; a batch where only its records say them.

    Args:
        segment: the segment.
        wanted: the records.
        base64: whether bytes that are UTF-8 are base64 too.
        jobs: number of threads.

    Raises:
        KafkaSpecError: as ``selected_batches``.
    """
    core = segment.codec.core
    if core is None or not _is_plain(segment, wanted):
        yield from selected_batches(segment, wanted)
        return
    lines = _json_lines(core, segment.name or "", base64)
    core.module.memory(_KEPT)
    threads = jobs if jobs > 1 else 0
    work = partial(_lines, core, segment, wanted, lines)
    for part in flows_in_order(work, _items(segment, wanted), threads, _AHEAD):
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
    bounds = (wanted.start_offset, wanted.end_offset)
    return (
        segment.format.has_columns
        and segment.crc == "error"
        and not isinstance(segment.path, RemotePath)
        and wanted.start_timestamp is None
        and wanted.end_timestamp is None
        and not wanted.aborted
        and all(bound is None or LOWEST < bound < HIGHEST for bound in bounds)
        and not any(map(has_values, KINDS.values()))
    )


def _items(segment: Segment, wanted: Selection) -> Iterator[_Item]:
    for item in readable_headers(segment, first_position(segment, wanted)):
        if isinstance(item, tuple):
            yield from divided(*item, _RANGE)
        else:
            yield item


def _lines(
    core: Core, segment: Segment, wanted: Selection, lines: JsonLines, item: _Item
) -> Iterator[memoryview | int | Batch | KafkaSpecError | None]:
    """Yield lines, the position of each entry without columns, and None where reading ends."""
    if not isinstance(item, tuple):
        yield item
        return
    reader = Reader(
        segment,
        _SOURCES,
        Wanted(
            start_offset=wanted.start_offset,
            end_offset=wanted.end_offset,
            include_control=True,
            max_bytes=WHOLE_BYTES,
            start_position=item[0],
            end_position=item[1],
            apart=True,
        ),
        allocate=core.module.memory,
    )
    for columns in reader:
        if columns.entry is None:
            yield from lines.of(_columns(core, columns), columns.rows)
        else:
            yield columns.entry
    if reader.ended:
        yield None


def _json_lines(core: Core, file: str, base64: bool) -> JsonLines:
    texts = {Key.FILE: json.dumps(file), Key.CONTROL: NULL}
    fields = [
        Field(key.json, text=texts[key])
        if key in texts
        else Field(key.json, lowest=_SHOWN[key].lowest, shown=_SHOWN[key].shown)
        for key in Key
        if key in texts or key in _SHOWN
    ]
    return JsonLines(core, fields, base64=base64)


def _columns(core: Core, columns: Columns) -> list[Column]:
    if columns.start:
        positions = columns.columns[BATCH_POSITION]
        assert isinstance(positions, IntegerColumn)
        core.module.adjust(positions.values, 0, columns.rows, False, columns.start)
    return [_column(columns, item) for item in _SHOWN.values()]


def _column(columns: Columns, item: _Shown) -> Column:
    found = columns.columns[item.source]
    if not item.where:
        return column_of(columns, item.source)
    other = columns.columns[item.where]
    assert isinstance(found, IntegerColumn)
    assert isinstance(other, IntegerColumn)
    return numbers(found.values, where=other.values, among=item.among)
