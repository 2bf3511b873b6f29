"""Write one entry of a log again, with other keys, values or headers in some of its records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafkaspec.codecs import get_codec
from kafkaspec.compression import compress
from kafkaspec.conversion.fields import record_values
from kafkaspec.errors import Reason, make_error
from kafkaspec.forensics.redaction.choices import Changes, Chosen, Part
from kafkaspec.layout.framing import ENTRY
from kafkaspec.layout.kinds import compression_of
from kafkaspec.log.batch import LOG_APPEND_TIME, Batch, crc_error
from kafkaspec.log.encoding import batch_entry
from kafkaspec.model import Record

Replaced = Callable[[int, Part, bytes | None, str | None, int], bytes | None]
"""Returns what takes the place of a part of the record at an offset, or of a header by number."""


@dataclass(slots=True)
class RedactedField:
    """A part of a record that has other bytes now.

    Attributes:
        offset: of the record.
        part: the part.
        header: key of the header, None for keys and values.
        number: of the header among those of the record, from 0; 0 for keys and values.
        new_size: its bytes now; None for null.
        proof: keyed hash of what was there, see ``Changes.proof``; None if it was not asked for.
    """

    offset: int
    part: Part
    header: str | None
    number: int
    new_size: int | None
    proof: bytes | None

    def place(self, log: str) -> str:
        """Return the place that the proof is for, in a partition named like its directory."""
        return f"{log} {self.offset} {self.part} {self.number}"


class KeyWatch:
    """Counts keys that were unequal and would be equal, which a cleaner takes for one."""

    def __init__(self) -> None:
        self._old: dict[bytes, set[bytes]] = {}

    def add(self, old: bytes | None, new: bytes | None) -> None:
        """Note the key of a record, and what happens to it."""
        if old is not None and new is not None:
            self._old.setdefault(new, set()).add(old)

    @property
    def merged(self) -> tuple[int, int]:
        """Number of keys that do not stay unequal, and number of keys that they become."""
        merged = [len(each) for each in self._old.values() if len(each) > 1]
        return sum(merged), len(merged)


def redacted_entry(
    batch: Batch,
    chosen: Chosen,
    changes: Changes,
    *,
    log: str | None = None,
    watch: KeyWatch | None = None,
) -> tuple[bytes, list[RedactedField]] | None:
    """Return the bytes of an entry with redacted records, and what was redacted; None for nothing.

    All else stays: offsets, timestamps and their deltas, attributes, sequence numbers, epochs.

    Args:
        batch: the entry; no control batch.
        log: name of the partition, for proofs of what was there; None for no proofs.
    """
    if not batch.crc_valid:
        raise crc_error(batch)
    records = batch.records()
    found: list[RedactedField] = []

    def replaced(
        offset: int, part: Part, data: bytes | None, header: str | None, number: int
    ) -> bytes | None:
        new = changes.replaced(part, data)
        # What looks like a filler already counts too: a report must not tell it from the others.
        if data is not None and (data or new != data):
            size = None if new is None else len(new)
            done = RedactedField(offset, part, header, number, size, None)
            if log is not None:
                done.proof = changes.proof(done.place(log), data)
            found.append(done)
        return new

    new = [
        _redacted(record, changes, replaced) if chosen.has(record) else record for record in records
    ]
    if watch is not None:
        for old, now in zip(records, new, strict=True):
            watch.add(old.key, now.key)
    if not found:
        return None
    if batch.kind.has_record_sets:
        return _batch(batch, new), found
    return _message(batch, new), found


def _redacted(record: Record, changes: Changes, replaced: Replaced) -> Record:
    offset, timestamp, key, value, headers = record
    if Part.KEY in changes.ways:
        key = replaced(offset, Part.KEY, key, None, 0)
    if Part.VALUE in changes.ways:
        value = replaced(offset, Part.VALUE, value, None, 0)
    if headers and Part.HEADERS in changes.ways:
        headers = tuple(
            (name, replaced(offset, Part.HEADERS, data, name, number))
            if changes.headers is None or name in changes.headers
            else (name, data)
            for number, (name, data) in enumerate(headers)
        )
    return Record(offset, timestamp, key, value, headers)


def _batch(batch: Batch, records: Sequence[Record]) -> bytes:
    codec = get_codec()
    message = codec.parse(ENTRY, batch.data)[0].message
    payload = batch.decompressed()
    if batch.timestamp_type == LOG_APPEND_TIME:  # deltas that no reader looks at stay, too
        kind = batch.kind
        record_set, _ = codec.parse(kind.record_set, payload, parameters=(message,), complete=True)
        for item, record in zip(record_set.records, records, strict=True):
            item.key, item.value = record.key, record.value
            for header, (_, value) in zip(item.headers, record.headers, strict=True):
                header.value = value
        data = codec.serialize(kind.record_set, record_set, parameters=(message,))
    else:
        fields = record_values(batch, message, payload, codec)
        data = codec.encode_records(message, records, fields)
    return batch_entry(message, data, codec, None)


def _message(batch: Batch, records: Sequence[Record]) -> bytes:
    codec = get_codec()
    entry = codec.parse(ENTRY, batch.data)[0]
    message = entry.message
    compression = compression_of(message)
    if not compression:
        return codec.serialize(ENTRY, replace(entry, message=_with(message, records[0])))
    inner = [
        codec.serialize(ENTRY, replace(each, message=_with(each.message, record)))
        for each, record in zip(_inner(batch, codec), records, strict=True)
    ]
    value = compress(compression, b"".join(inner), magic=message.magic)
    return codec.serialize(ENTRY, replace(entry, message=replace(message, value=value)))


def _with(message: Any, record: Record) -> Any:
    # Bytes after the value are no field of a record, and nobody knows what is in them.
    return replace(message, key=record.key, value=record.value, unused=b"")


def _inner(batch: Batch, codec: Any) -> Iterator[Any]:
    """Yield the entries inside a wrapper."""
    payload = batch.decompressed()
    position = 0
    count = len(batch.records())
    for _ in range(count):
        entry, position = codec.parse(ENTRY, payload, position)
        yield entry
    if position != len(payload):
        detail = f"{len(payload) - position} bytes in the wrapper are not a message"
        raise make_error(Reason.TRAILING_BYTES, detail, file=batch.file, offset=batch.position)
