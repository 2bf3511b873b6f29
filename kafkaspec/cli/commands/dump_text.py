"""Show records and batches as text: one line each, with a line for each file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kafkaspec.cli.commands.value_text import bytes_text, headers_text, in_short
from kafkaspec.cli.console import iso
from kafkaspec.conversion.fields import RecordValues, header_values
from kafkaspec.log.batch import magic_name
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
        words = [
            f"{self._title(file)}{batch.position:>10}  magic {magic_name(batch)}",
            f"{batch.size:>8} B",
            f"{batch.compression_name:6}",
        ]
        if batch.is_wrapper:
            words.append(f"offsets ..{batch.last_offset}")
        else:
            words.append(f"offsets {batch.base_offset}..{batch.last_offset}")
            words.append(f"{batch.num_records} records")
        words.append(f"{batch.timestamp_type} {iso(batch.max_timestamp)}")
        if batch.producer_id >= 0:
            words.append(
                f"producer {batch.producer_id} epoch {batch.producer_epoch} "
                f"sequence {batch.base_sequence}..{batch.last_sequence}"
            )
        words += [
            word
            for word, holds in (
                ("transactional", batch.is_transactional),
                ("control", batch.is_control),
                (f"delete horizon {iso(batch.delete_horizon)}", batch.delete_horizon is not None),
            )
            if holds
        ]
        if batch.partition_leader_epoch >= 0:
            words.append(f"leader epoch {batch.partition_leader_epoch}")
        words += [word.lstrip() for word in _words(header_values(batch.kind, batch.message))]
        words.append(f"crc {batch.crc:08x}" + ("" if batch.crc_valid else " WRONG"))
        return "  ".join(words) + "\n"


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
