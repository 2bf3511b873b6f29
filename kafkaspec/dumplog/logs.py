"""The lines about a log: its batches, their records, and what the tool reports at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kafkaspec.dumplog.families import Family
from kafkaspec.dumplog.fields import (
    DumpRow,
    batch_values,
    control_text,
    own_row,
    row_values,
    rows_of,
)
from kafkaspec.dumplog.options import DumpOptions, OnFinding, Texts
from kafkaspec.errors import KafkaSpecError, Reason, make_error, unreadable
from kafkaspec.files import names
from kafkaspec.log.batch import Batch, crc_error
from kafkaspec.log.entries import Tail
from kafkaspec.log.legacy import LegacyBatch
from kafkaspec.log.segment import Segment
from kafkaspec.messages.json_text import java_text
from kafkaspec.model import Record

Pairs = dict[str, list[tuple[int, int]]]


class Reports:
    """Collects what does not fit together, by file.

    Attributes:
        index: offsets of entries of an offset index, and of the log at their positions.
        timestamps: timestamps of entries of a time index, and of their batches.
        order: timestamps of entries that are not larger than the ones before them, and these.
        not_found: offsets of entries of a time index, and of the batches found instead.
        gaps: offsets of a log, and those that follow them.
    """

    def __init__(self, family: Family) -> None:
        self.family = family
        self.index: Pairs = defaultdict(list)
        self.timestamps: Pairs = defaultdict(list)
        self.order: Pairs = defaultdict(list)
        self.not_found: Pairs = defaultdict(list)
        self.gaps: Pairs = defaultdict(list)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the tool, without line ends."""
        in_order = self.family.sorted_reports

        def newest(pairs: list[tuple[int, int]]) -> Iterable[tuple[int, int]]:
            return sorted(dict(pairs).items(), reverse=True) if in_order else reversed(pairs)

        def oldest(pairs: list[tuple[int, int]]) -> Iterable[tuple[int, int]]:
            return sorted(dict(pairs).items()) if in_order else reversed(pairs)

        index, before = "  Index timestamp: {}, ", "Previously indexed timestamp: {}"
        for found, title, text, order in (
            (self.index, "Mismatches in :{}", "  Index offset: {}, log offset: {}", newest),
            (self.timestamps, "Found timestamp mismatch in :{}", index + "log timestamp: {}", iter),
            (self.order, "Found out of order timestamp in :{}", index + before, iter),
            (self.not_found, self.family.not_found, "Indexed offset: {}, found log offset: {}",
             iter),
            (self.gaps, self.family.gaps + "{}", "  {} is followed by {}", oldest),
        ):  # fmt: skip
            for file, pairs in found.items():
                yield title.format(file)
                yield from (text.format(*pair) for pair in order(pairs))


@dataclass
class OffsetGaps:
    """Finds offsets of a log that do not follow each other, as the tool does."""

    family: Family
    file: str
    pairs: Pairs
    _last: int = -1

    def see(self, offset: int, *, compressed: bool = False) -> None:
        """Note the offset of a record, in a message that may be compressed as it stands."""
        self.run(offset, offset, compressed=compressed)

    def run(self, first: int, last: int, *, compressed: bool = False) -> None:
        """Note offsets from a first to a last one that follow each other."""
        family = self.family
        known = self._last != -1 or family.from_minus_one
        skipped = compressed and family.only_plain
        if known and not skipped and first != self._last + 1:
            self.pairs[self.file].append((self._last, first))
        self._last = last


_BOOTSTRAP = "bootstrap" + names.CHECKPOINT
_BAD_SIZES = ("zeros", "corrupt")
"""Ends of a log at which the tool throws an exception."""


def base_offset_of(path: Path) -> int:
    """Return the number at the start of the name of a file.

    Raises:
        KafkaSpecError: ``unreadable``: there is none.
    """
    try:
        return int(path.name.split(".")[0])
    except ValueError:
        raise unreadable(str(path), "its name has no base offset") from None


def head_of(family: Family, path: Path) -> str:
    """Return the line that comes first, without its end.

    Raises:
        KafkaSpecError: ``unreadable``: the name does not say what the tool prints.
    """
    if path.suffix != names.CHECKPOINT:
        return family.head.format(base_offset_of(path))
    if path.name == _BOOTSTRAP:
        return "KRaft bootstrap snapshot"
    name = names.parse_checkpoint(path.name)
    if name is None:
        raise unreadable(str(path), "its name has neither offset nor epoch")
    return f"Snapshot end offset: {name.end_offset}, epoch: {name.epoch}"


@dataclass
class LogLines:
    """Makes the lines of a log, batch by batch.

    Args:
        log: the log, of which records are read whatever their checksums are.
        strict: the same log; its records are not read if a checksum is wrong.
    """

    family: Family
    options: DumpOptions
    log: Segment
    strict: Segment
    gaps: OffsetGaps
    found: OnFinding

    @property
    def whole(self) -> bool:
        """Whether there are lines about records only."""
        return self.options.deep and not self.family.batches_always

    def of(self, batch: Batch) -> Iterator[str]:
        """Yield the lines of a batch."""
        family, legacy = self.family, isinstance(batch, LegacyBatch)
        valid = batch.crc_valid
        line = family.legacy_batch if legacy else family.batch
        if line and not self.whole:
            yield line.format_map(batch_values(family, batch, line)) + "\n"
        if self.options.deep:
            rows: Iterable[DumpRow] = rows_of(batch)
        elif not line and isinstance(batch, LegacyBatch):
            rows = [own_row(batch)]
        else:
            rows = ()
        record_line = family.legacy_record if legacy else family.record
        if not record_line:  # a release from before magic 2
            raise unreadable(batch.file or "", f"it has magic {batch.magic}, which came later")
        shared = batch_values(family, batch, record_line)
        for row in rows:
            self.gaps.see(row.record.offset, compressed=row.codec != 0)
            valid &= row.valid
            line = ""
            if not self.options.skip_metadata:
                line = record_line.format_map(shared | row_values(family, batch, row))
                if batch.is_control:
                    line += control_text(family, batch, row.record, self.log.codec)
            if self.options.content and not batch.is_control:
                line += self._content(row, line)
            yield line + "\n"
        if not valid:
            self._report(batch)

    def _content(self, row: DumpRow, line: str) -> str:
        family = self.family
        before = " " if line else "| "
        record = row.record
        if record.value is None and family.drops_key:
            return ""
        key, payload = (self.options.parse or utf8)(record)
        if payload is None:
            payload = family.null_value
        text = ""
        if key is not None:
            text = f"{before}key: {key}"
            before = " "
        elif not family.bar_before_value:
            before = " "
        return text if payload is None else f"{text}{before}payload: {payload}"

    def _report(self, batch: Batch) -> None:
        if not batch.crc_valid:
            self.found(str(crc_error(batch)))
            return
        try:
            self.strict.batch_at(batch.position).records()
        except KafkaSpecError as error:
            self.found(str(error))


def check_end(log: Segment) -> None:
    """Raise an error if the log ends with a size that no batch can have, as the tool does.

    Raises:
        KafkaSpecError: it does.
    """
    for _ in log.batches():
        pass
    if log.tail is not None and log.tail.reason in _BAD_SIZES:
        raise make_error(
            Reason.TRAILING_BYTES, str(log.tail), file=log.name, offset=log.tail.position
        )


def tail_line(
    family: Family, options: DumpOptions, path: Path, tail: Tail, found: OnFinding
) -> str:
    """Return the line about bytes at the end that are not a batch, or ""; report them."""
    if options.max_bytes is not None:
        return ""
    found(f"{path}: {tail}")
    if tail.reason not in _BAD_SIZES or family.ends_at_bad_size:
        return f"Found {tail.size} invalid bytes at the end of {path.name}\n"
    return ""


def utf8(record: Record) -> Texts:
    """Return key and value as text, as ``StringDecoder`` of the tool does."""
    key, value = record.key, record.value
    return None if key is None else java_text(key), None if value is None else java_text(value)
