"""Compare codecs on the same files: they must agree on every record, entry and error."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Final

from kafkaspec.analysis.check_batch import content_area
from kafkaspec.analysis.findings import Area, Finding, Place
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.analysis.report import FileKind
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.arrays import read_whole
from kafkaspec.files.indexes import INDEXES
from kafkaspec.files.snapshots import ProducerSnapshot, TransactionIndex
from kafkaspec.log.batch import Batch
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record

ReadRecords = Sequence[Record] | KafkaSpecError
"""The records of a batch, or the error that reading them raised."""

_SHOWN: Final = 40
"""Most bytes, or characters, of a value in a message."""
_MOST_FIELDS: Final = 1000
"""Most fields of a batch or record that are compared after the first one that differs."""


def content_of(batch: Batch) -> ReadRecords:
    """Return the records of a batch, or the error that reading them raises."""
    try:
        return batch.records()
    except KafkaSpecError as error:
        return error


class CodecComparison:
    """Reads a log with further codecs, in step with the first one, whose findings are reported.

    Args:
        segments: the same log, opened with each further codec.
        first: name of the codec with which the others are compared.
        start: byte offset of the first entry that is compared.
    """

    def __init__(
        self,
        segments: Sequence[Segment],
        codecs: Sequence[str],
        first: str,
        file: str,
        start: int = 0,
    ) -> None:
        self._scans = [segment.scan(start) for segment in segments]
        self._codecs = codecs
        self._first = first
        self._file = file

    def check(self, item: Batch | KafkaSpecError, content: ReadRecords | None) -> Iterator[Finding]:
        """Compare a result of the first codec with those of the others.

        Args:
            item: entry of the log, or the error of reading it.
            content: its records, or the error of reading them; None if they were not read.
        """
        for scan, codec in zip(self._scans, self._codecs, strict=True):
            other = next(scan, None)
            found = [_items_differ(item, other)]
            if content is not None and isinstance(other, Batch):
                found.append(_contents_differ(content, content_of(other)))
            for difference in filter(None, found):
                yield self._found(item, codec, difference)

    def finish(self) -> Iterator[Finding]:
        """Check that no codec reads more entries."""
        for scan, codec in zip(self._scans, self._codecs, strict=True):
            more = next(scan, None)
            if more is not None:
                yield self._found(more, codec, f"{codec} reads on where {self._first} ends")

    def _found(self, item: Batch | KafkaSpecError, codec: str, difference: str) -> Finding:
        if isinstance(item, Batch):
            place = Place(self._file, content_area(item), item.position, item.last_offset)
        else:
            place = Place(self._file, Area.BATCH, item.position)
        return disagreement(place, self._first, codec, difference)


def disagreement(place: Place, first: str, codec: str, difference: str) -> Finding:
    """Return the finding for a difference between two codecs."""
    text = f"{first} and {codec} disagree: {difference}"
    return place.error(R.CODECS_DISAGREE, text, codec=codec)


def error_key(error: KafkaSpecError) -> tuple[object, ...]:
    """Return the part of an error that must be the same for all codecs."""
    return (error.reason, error.path, error.position, error.inner_position, error.spec)


def describe_error(error: KafkaSpecError) -> str:
    """Return reason and place of an error as text."""
    return f"{error.reason} at byte {error.position} {error.path}"


def _errors_differ(mine: object, its: object, reads: str) -> str:
    """Return how two results differ of which one at least is an error; "" if they do not."""
    errors = [item for item in (mine, its) if isinstance(item, KafkaSpecError)]
    if len(errors) == 1:
        return f"one {reads}, the other reports {describe_error(errors[0])}"
    if len(set(map(error_key, errors))) == 1:
        return ""
    return ", or ".join(map(describe_error, errors))


def _items_differ(item: Batch | KafkaSpecError, other: Batch | KafkaSpecError | None) -> str:
    if other is None:
        return "the other one ends here"
    if isinstance(item, Batch) and isinstance(other, Batch):
        if (item.position, item.size) != (other.position, other.size):
            return f"the batch is at {item.position} or {other.position}"
        if item.message == other.message:
            return ""
        return "the headers differ" + _told(differences(item.message, other.message))
    return _errors_differ(item, other, "reads it")


def _contents_differ(content: ReadRecords, other: ReadRecords) -> str:
    if isinstance(content, KafkaSpecError) or isinstance(other, KafkaSpecError):
        return _errors_differ(content, other, "reads the records")
    if content == other:
        return ""
    # Those of a large batch are never equal as sequences: they are read as they are compared.
    for mine, its in zip_longest(content, other):
        if mine != its:
            text = f"the record with offset {(mine or its).offset} differs"
            return text + _told(differences(mine, its))
    return ""


def differences(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the paths of the fields in which two values differ, and both values."""
    if is_dataclass(one) and type(one) is type(other):
        names = [field.name for field in fields(one) if field.compare]
    elif hasattr(one, "_fields") and hasattr(other, "_fields"):
        names = one._fields
    elif isinstance(one, list) and isinstance(other, list):
        for number, (mine, its) in enumerate(zip_longest(one, other)):
            yield from differences(mine, its, f"{path}/{number}".lstrip("/"))
        return
    else:
        if one != other:
            yield path, one, other
        return
    for name in names:
        mine, its = getattr(one, name, None), getattr(other, name, None)
        yield from differences(mine, its, f"{path}/{name}".lstrip("/"))


def _told(found: Iterator[tuple[str, Any, Any]]) -> str:
    """Return the first field that differs with both values, and how many more do."""
    for path, one, other in found:
        text = f": {path + ' ' if path else ''}{_shown(one)}, or {_shown(other)}"
        more = sum(1 for _ in islice(found, _MOST_FIELDS))
        return f"{text}, and {more} more" if more else text
    return ""


def _shown(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        some = bytes(value[:_SHOWN]).hex(" ")
        return f"{len(value)} bytes: {some}" + ("..." if len(value) > _SHOWN else "")
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def compare_sidecar(path: Path, kind: FileKind, codecs: tuple[str, ...]) -> Iterator[Finding]:
    """Read a file with each codec and report the differences from the first.

    Raises:
        KafkaSpecError: ``unreadable``.
    """
    first, *others = codecs
    for codec in others:
        pairs = zip_longest(_entries(path, kind, first), _entries(path, kind, codec))
        for number, (mine, its) in enumerate(pairs):
            if _compared(mine) != _compared(its):
                text = f"entry {number} is {_text(mine)}, or {_text(its)}"
                yield disagreement(Place(os.fspath(path), Area(kind)), first, codec, text)
                break


def _entries(path: Path, kind: FileKind, codec: str) -> Iterator[Any]:
    """Yield entries, or errors in their place; any other file as one."""
    name = names.parse_segment(path.name)
    assert name is not None
    try:
        if kind is FileKind.PRODUCER_SNAPSHOT:
            yield ProducerSnapshot(path, codec=codec).structure
            return
        if kind is FileKind.OTHER:
            yield read_whole(path, codec)
            return
    except KafkaSpecError as error:
        yield error
        return
    index = INDEXES.get(name.kind, TransactionIndex)(path, codec=codec)
    for number in range(len(index)):
        try:
            yield index.entry(number)
        except KafkaSpecError as error:
            yield error


def _compared(entry: Any) -> Any:
    return error_key(entry) if isinstance(entry, KafkaSpecError) else entry


def _text(entry: Any) -> str:
    return describe_error(entry) if isinstance(entry, KafkaSpecError) else str(entry)
