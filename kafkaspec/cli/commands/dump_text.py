"""Show records and batches as text: one line each, with a line for each file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from kafkaspec.cli.console import iso
from kafkaspec.columns.value_text import bytes_text, headers_text, in_short
from kafkaspec.compression import NAMES
from kafkaspec.conversion.fields import RecordValues, header_values
from kafkaspec.layout import names
from kafkaspec.log.batch import NONE, TIMESTAMP_TYPES, magic_name
from kafkaspec.log.header_table import POSITION, SIZE, HeaderTable
from kafkaspec.model import Record
from kafkaspec.shown import printable

if TYPE_CHECKING:
    from kafkaspec.cli.commands.dump_json import ShownMessage
    from kafkaspec.cli.commands.dump_messages import MessageLines
    from kafkaspec.log.batch import Batch
    from kafkaspec.log.control import ControlRecord


class TextDump:
    """Maker of lines that remembers the current file."""

    def __init__(self) -> None:
        self._file: str | None = None

    def _title(self, file: str) -> str:
        if file == self._file:
            return ""
        blank = "" if self._file is None else "\n"
        self._file = file
        return f"{blank}{printable(file)}\n"

    def record_lines(
        self,
        batch: Batch,
        records: Sequence[Record],
        controls: Sequence[ControlRecord] | None,
        file: str,
        messages: MessageLines | None = None,
        others: Sequence[RecordValues] | None = None,
    ) -> list[str]:
        """Return one line for each record: offset, time, and key, value, headers or what it does.

        Args:
            batch: the batch of the records.
            records: the records.
            controls: for a control batch, each record decoded.
            file: path of the segment.
            messages: what decodes the records of an internal topic.
            others: fields of each record that have no place in a line, to put at its end.
        """
        if controls is None and messages is not None:
            lines = [
                f"{record.offset:>10}  {iso(record.timestamp):24}  {_content(record, shown)}\n"
                for record, shown in zip(records, messages.show(batch, records), strict=True)
            ]
        elif controls is None:
            lines = [
                f"{offset:>10}  {iso(timestamp):24}  {bytes_text(key)}  {bytes_text(value)}"
                f"{headers_text(headers) if headers else ''}\n"
                for offset, timestamp, key, value, headers in records
            ]
        else:
            producer = f" of producer {batch.producer_id}" if batch.producer_id >= 0 else ""
            lines = [
                f"{control.record.offset:>10}  {iso(control.record.timestamp):24}  "
                f"({control.type_name}{producer})\n"
                for control in controls
            ]
        if others is not None:
            lines = [
                "".join([line[:-1], *_words(values.items())]) + "\n"
                for line, values in zip(lines, others, strict=True)
            ]
        if lines:
            lines[0] = self._title(file) + lines[0]
        return lines

    def batch_line(self, batch: Batch, file: str) -> str:
        """Return one line for a batch."""
        return self._title(file) + _batch_text(
            magic_name(batch),
            batch.position,
            batch.size,
            batch.compression_name,
            None if batch.is_wrapper else batch.base_offset,
            batch.last_offset,
            batch.num_records,
            batch.timestamp_type,
            batch.max_timestamp,
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            batch.last_sequence,
            batch.is_transactional,
            batch.is_control,
            batch.delete_horizon,
            batch.partition_leader_epoch,
            batch.crc,
            batch.crc_valid,
            _words(header_values(batch.kind, batch.message)),
        )

    def batch_lines(
        self, table: HeaderTable, rows: Sequence[int], right: Sequence[int], file: str
    ) -> Iterator[str]:
        """Yield the lines of some batches of a table, whose headers have nothing else.

        Args:
            right: of each batch of the table whether its checksum is.
        """
        columns: list[Iterable[Any]] = [table.list(name) for name in _OF_TABLE]
        columns += [table.crc, right]
        if len(rows) < len(table):
            columns = [[column[row] for row in rows] for column in columns]  # type: ignore[index]
        yield self._title(file)
        for magic, position, size, code, first, last, count, kind, *others in zip(
            *columns, strict=True
        ):
            yield _batch_text(
                str(magic), position, size, NAMES[code], first, last, count, TIMESTAMP_TYPES[kind],
                *others,
            )  # fmt: skip


_OF_TABLE: Final = (
    names.MAGIC, POSITION, SIZE, names.COMPRESSION, names.BASE_OFFSET, names.LAST_OFFSET,
    names.NUM_RECORDS, names.TIMESTAMP_TYPE, names.MAX_TIMESTAMP, names.PRODUCER_ID,
    names.PRODUCER_EPOCH, names.BASE_SEQUENCE, names.LAST_SEQUENCE, names.IS_TRANSACTIONAL,
    names.IS_CONTROL, names.DELETE_HORIZON, names.LEADER_EPOCH,
)  # fmt: skip
"""The columns of a line, in the order of ``_batch_text``; the checksum follows."""


def _batch_text(
    magic: str, position: int, size: int, compression: str, first: int | None, last: int,
    count: int | None, timestamp_type: str, max_timestamp: int, producer: int, epoch: int,
    base_sequence: int, last_sequence: int, transactional: int, control: int,
    horizon: int | None, leader_epoch: int, crc: int, crc_valid: int, others: Iterable[str] = (),
) -> str:  # fmt: skip
    """Return the line of a batch."""
    of = f"{first}..{last}  {count} records" if first is not None else f"..{last}"
    line = (
        f"{position:>10}  magic {magic}  {size:>8} B  {compression:6}  offsets {of}  "
        f"{timestamp_type} {iso(max_timestamp)}"
    )
    if producer >= 0:
        line += f"  producer {producer} epoch {epoch} sequence {base_sequence}..{last_sequence}"
    if transactional:
        line += "  transactional"
    if control:
        line += "  control"
    if horizon is not None and horizon != NONE:
        line += f"  delete horizon {iso(horizon)}"
    if leader_epoch >= 0:
        line += f"  leader epoch {leader_epoch}"
    return f"{line}{''.join(others)}  crc {crc:08x}{'' if crc_valid else ' WRONG'}\n"


def _words(values: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Yield fields that have no place in a line, each after two blanks."""
    for name, value in values:
        yield f"  {name} {bytes_text(value) if isinstance(value, bytes) else value}"


def _content(record: Record, shown: ShownMessage) -> str:
    parts = [
        bytes_text(data) if text is None else in_short(text)
        for data, text in ((record.key, shown.key), (record.value, shown.value))
    ]
    if shown.problem:
        parts.append(f"({printable(shown.problem)})")
    return "  ".join(parts)
