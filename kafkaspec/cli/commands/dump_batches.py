"""Make lines of ``dump --batches`` from columns of headers, of JSON or of text.

A batch is shown by itself if its header has more than the columns say, or is not that of a batch.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kafkaspec.cli.commands.dump_json import batch_line
from kafkaspec.cli.commands.dump_text import TextDump
from kafkaspec.cli.inputs import Inputs
from kafkaspec.columns.json_lines import BOOLEANS, NULL, JsonLines, LineField, numbers
from kafkaspec.compression import NAMES
from kafkaspec.conversion.fields import own_fields
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import names
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import NO_TIMESTAMP, NONE, TIMESTAMP_TYPES, Batch
from kafkaspec.log.header_table import CRC, POSITION, SIZE, HeaderTable, picked
from kafkaspec.log.headers import readable_headers, sound_headers
from kafkaspec.log.segment import Segment
from kafkaspec.log.selection import Selection, chosen, first_position, left_out, selected_batches
from kafkaspec.policy import report

_NO_TIME: Final = NO_TIMESTAMP, (NULL,)
_FLAG: Final = 0, BOOLEANS
_NUMBER: Final = 0, ()
_CRC_VALID: Final = "crc_valid"
_COLUMNS: Final[tuple[tuple[str, str, tuple[int, tuple[str, ...]]], ...]] = (
    ("position", POSITION, _NUMBER),
    ("size", SIZE, _NUMBER),
    ("base_offset", names.BASE_OFFSET, _NUMBER),
    ("last_offset", names.LAST_OFFSET, _NUMBER),
    ("record_count", names.NUM_RECORDS, _NUMBER),
    ("magic", names.MAGIC, _NUMBER),
    ("compression", names.COMPRESSION, (0, tuple(map(json.dumps, NAMES)))),
    ("timestamp_type", names.TIMESTAMP_TYPE, (0, tuple(map(json.dumps, TIMESTAMP_TYPES)))),
    ("base_timestamp", names.BASE_TIMESTAMP, _NO_TIME),
    ("max_timestamp", names.MAX_TIMESTAMP, _NO_TIME),
    ("delete_horizon", names.DELETE_HORIZON, (NONE, (NULL,))),
    ("partition_leader_epoch", names.LEADER_EPOCH, _NUMBER),
    ("producer_id", names.PRODUCER_ID, _NUMBER),
    ("producer_epoch", names.PRODUCER_EPOCH, _NUMBER),
    ("base_sequence", names.BASE_SEQUENCE, _NUMBER),
    ("last_sequence", names.LAST_SEQUENCE, _NUMBER),
    ("transactional", names.IS_TRANSACTIONAL, _FLAG),
    ("control", names.IS_CONTROL, _FLAG),
    ("crc", CRC, _NUMBER),
    (_CRC_VALID, _CRC_VALID, _FLAG),
)
"""Fields of a line after ``file``, the column of each, and how its numbers are shown."""


class BatchLines:
    """Makes lines of batches, of JSON or of text, one file after the other."""

    def __init__(self, *, as_json: bool) -> None:
        self._text = None if as_json else TextDump()

    def line(self, batch: Batch, segment: Segment) -> str:
        """Return the line of a batch."""
        file = segment.name or ""
        return batch_line(batch, file) if self._text is None else self._text.batch_line(batch, file)

    def _of(self, table: HeaderTable, rows: Sequence[int]) -> Iterator[memoryview | str]:
        """Yield the lines of some batches of a table, which are usual, many at a time."""
        right = array("q", [1]) * len(table)
        for row in table.wrong_checksums(rows):
            right[row] = 0
        file = table.segment.name or ""
        if self._text is not None:
            yield "".join(self._text.batch_lines(table, rows, right, file))
            return
        shown = (
            LineField(json.dumps(name), lowest=lowest, shown=texts)
            for name, _, (lowest, texts) in _COLUMNS
        )
        core = table.segment.codec.core
        assert core is not None
        lines = JsonLines(core, [LineField('"file"', json.dumps(file)), *shown])
        columns: list[Any] = [
            right if name == _CRC_VALID else table.list(name) for _, name, _ in _COLUMNS
        ]
        if len(rows) < len(table):
            columns = [picked(column, rows) for column in columns]
        yield from lines.of([*map(numbers, columns)], len(rows))

    def lines(self, inputs: Inputs) -> Iterator[memoryview | str]:
        """Yield the lines of all batches that may hold wanted records."""
        for part, segment, _ in inputs.parts(self._read):
            yield self.line(part, segment) if isinstance(part, Batch) else part

    def _read(self, segment: Segment, wanted: Selection) -> Iterator[memoryview | str | Batch]:
        """Yield the lines of the batches that may hold wanted records; batches that are not usual.

        Raises:
            KafkaSpecError: as ``selected_batches``.
        """
        timed = wanted.start_timestamp is not None or wanted.end_timestamp is not None
        if segment.codec.core is None or timed:
            yield from selected_batches(segment, wanted)
            return
        position = first_position(segment, wanted)
        items: Iterator[HeaderTable | KafkaSpecError] = readable_headers(segment, position)
        if wanted.on_error == "raise":
            items = sound_headers(segment, position, strict_tail=True)
        for item in items:
            if isinstance(item, KafkaSpecError):
                report(wanted.on_error, item)
                continue
            judged = 0
            if _is_usual(item):
                marks = left_out(item, wanted)
                judged = len(marks)
                if wanted.start_offset is not None:
                    for row, last in enumerate(item.last_offset[:judged]):
                        marks[row] |= last < wanted.start_offset
                rows: Sequence[int] = range(judged)
                if any(marks):
                    rows = [row for row in rows if not marks[row]]
                if rows:
                    yield from self._of(item, rows)
            for row in range(judged, len(item)):
                batch, more = chosen(item.batch(row), wanted)
                if batch is not None:
                    yield batch
                if not more:
                    return


def _is_usual(table: HeaderTable) -> bool:
    """Return whether the columns say all that the lines of some batches show."""
    if table.batches is not None or table.start + len(table.buffer) < table.end:
        return False
    if table.has_messages(0, len(table)) or max(table.compression) >= len(NAMES):
        return False
    for field in (field for magic in table.magics for field in own_fields(KINDS[magic]).header):
        if not table.has(field.name) or set(table.list(field.name)) != {field.default}:
            return False
    flags, times = map(table.list, (names.HAS_DELETE_HORIZON, names.DELETE_HORIZON))
    return not any(flags) or all(
        time != NONE for flag, time in zip(flags, times, strict=True) if flag
    )
