"""Transaction index and producer snapshot of a segment."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.producer_snapshot import ProducerEntry
from kafkaspec._generated.python.model.producer_snapshot import (
    ProducerSnapshot as SnapshotStructure,
)
from kafkaspec._generated.python.model.transaction_index import AbortedTransaction
from kafkaspec.checksum import CHECKSUMS
from kafkaspec.codecs import Codec, Origin, get_codec
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names
from kafkaspec.files.arrays import entry_at, entry_struct, integer_column
from kafkaspec.io.local import Source, read_beside
from kafkaspec.io.remote import as_path
from kafkaspec.layout import Checksum, FieldLayout, Form, Kind
from kafkaspec.layout import names as ids
from kafkaspec.layout.framing import checksum_of, field_of, field_position
from kafkaspec.layout.kinds import new_value, type_key_of

ABORTED_TRANSACTION: Final = ids.ABORTED_TRANSACTION
_ENTRY_SIZE: Final = entry_struct(ABORTED_TRANSACTION).size
SNAPSHOT = "producer_snapshot.producer_snapshot"
_PRODUCER_ENTRY: Final = "producer_snapshot.producer_entry"
_ENTRIES: Final = "entries"

_VERSION: Final = {"version": 1}
"""The version that brokers write (``ProducerStateManager.PRODUCER_SNAPSHOT_VERSION``), for a
specification that has several."""


class TransactionIndex:
    """The aborted transactions whose ABORT marker lies in a segment (``.txnindex``).

    Attributes:
        path: path of the file.
        entry_size: bytes of an entry.
        trailing_bytes: bytes after the last whole entry, which Kafka ignores.
    """

    def __init__(self, path: str | PathLike[str], *, codec: Codec | str | None = None) -> None:
        """Map a transaction index.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        self.path = as_path(path)
        self._codec = codec if isinstance(codec, Codec) else get_codec(codec)
        self._source = Source.of(self.path)
        self.entry_size = _ENTRY_SIZE
        self.trailing_bytes = self._source.size % self.entry_size

    def __len__(self) -> int:
        return self._source.size // self.entry_size

    def entry(self, index: int) -> AbortedTransaction:
        """Return the entry with that index.

        Raises:
            CorruptError: its version is one that Kafka refuses.
            IndexError: there is none.
        """
        if not 0 <= index < len(self):
            raise IndexError(index)
        entry: AbortedTransaction
        entry = entry_at(self._codec, ABORTED_TRANSACTION, self._source, index)
        return entry

    @property
    def entries(self) -> list[AbortedTransaction]:
        """Return all entries in order.

        Raises:
            CorruptError: one has a version that Kafka refuses.
        """
        return [self.entry(index) for index in range(len(self))]

    def columns(self) -> dict[str, array[int]]:
        """Return all entries by the names of their fields with numbers.

        Raises:
            CorruptError: one has a version that Kafka refuses.
        """
        self._source.check()
        data = self._source.buffer[: len(self) * self.entry_size]
        found = {
            field.id: integer_column(ABORTED_TRANSACTION, field.id, data)
            for field in LAYOUTS[ABORTED_TRANSACTION].fields
            if field.kind is Kind.INTEGER
        }
        for index in {version: number for number, version in enumerate(found["version"])}.values():
            self.entry(index)  # raises for a version that is refused
        return found


class ProducerSnapshot:
    """The state of all producers before an offset (``.snapshot``).

    Attributes:
        path: path of the file.
        offset: offset in the file name, None if there is none.
    """

    def __init__(self, path: str | PathLike[str], *, codec: Codec | str | None = None) -> None:
        """Read a producer snapshot into memory: it has one small entry for each producer.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        self.path = as_path(path)
        name = names.parse_segment(self.path.name)
        self.offset = name.base_offset if name else None
        self._codec = codec if isinstance(codec, Codec) else get_codec(codec)
        source = read_beside(self.path)
        self._name = source.name
        self._data = bytes(source.buffer)
        self._structure: SnapshotStructure | None = None

    @property
    def structure(self) -> SnapshotStructure:
        """The structure with the entries, as in the specification. The checksum is not verified.

        Raises:
            KafkaSpecError: the file is cut, of another version, or its count is too large for it.
        """
        if self._structure is None:
            found, _ = self._codec.parse(
                SNAPSHOT, self._data, complete=True, origin=Origin(self._name)
            )
            self._structure = _structure_of(found)
        assert self._structure is not None
        return self._structure

    @property
    def entries(self) -> list[ProducerEntry]:
        """Return one entry for each producer, in the order of the file, that of a hash map.

        Raises:
            KafkaSpecError: as ``structure``.
        """
        return self.structure.entries

    @property
    def crc_valid(self) -> bool:
        """Whether the stored CRC-32C is that of the bytes.

        Raises:
            KafkaSpecError: as ``structure``.
        """
        return self._computed() == self._stored()

    def crc_error(self) -> KafkaSpecError:
        """Return the error for a checksum that does not match."""
        checksum = self._checksum
        return make_error(
            Reason.CHECKSUM_MISMATCH,
            f"stored {checksum.algorithm} is {self._stored():#010x},"
            f" of the bytes it is {self._computed():#010x}",
            file=self._name,
            offset=checksum.position,
            path=f"/{checksum.field}",
            spec=field_of(type_key_of(self.structure), checksum.field).location,
        )

    def _stored(self) -> int:
        stored: int = getattr(self.structure, self._checksum.field)
        return stored

    def _computed(self) -> int:
        checksum = self._checksum
        return CHECKSUMS[checksum.algorithm](self._data[checksum.start :])

    @property
    def _checksum(self) -> Checksum:
        return checksum_of(type_key_of(self.structure))


def _structure_of(found: Any) -> SnapshotStructure:
    """Return the structure with the entries; a choice between versions may be around it."""
    while not hasattr(found, _ENTRIES):
        (part,) = fields(found)
        found = getattr(found, part.name)
    structure: SnapshotStructure = found
    return structure


def new_producer_entry(**values: int) -> ProducerEntry:
    """Return an entry of a snapshot; fields that are not given have their default.

    Raises:
        KafkaSpecError: ``unencodable``: a field without default is not given.
    """
    entry: ProducerEntry = new_value(_PRODUCER_ENTRY, _VERSION | values)
    return entry


def serialize_entry(entry: ProducerEntry, codec: Codec) -> bytes:
    """Return the bytes of an entry of a producer snapshot.

    Raises:
        KafkaSpecError: ``unencodable``.
    """
    return codec.serialize(_PRODUCER_ENTRY, entry)


def join_entries(entries: Sequence[bytes], codec: Codec) -> bytes | None:
    """Return the bytes of a producer snapshot with entries that ``serialize_entry`` made.

    Returns None if something follows the entries: then they cannot be joined.
    """
    data = serialize_snapshot([], codec)
    found, _ = codec.parse(SNAPSHOT, data, complete=True)
    layout = LAYOUTS[type_key_of(_structure_of(found))]
    if field_position(layout, _ENTRIES) != len(data):
        return None
    empty = bytearray(data)
    count = next(field for field in layout.fields if field.derive_from == _ENTRIES)
    checksum = checksum_of(layout.key)

    def put(field: FieldLayout, value: int) -> None:
        position = field_position(layout, field.id)
        empty[position : position + field.size] = value.to_bytes(field.size, "big")

    put(count, len(entries))
    empty += b"".join(entries)
    put(
        field_of(layout.key, checksum.field), CHECKSUMS[checksum.algorithm](empty[checksum.start :])
    )
    return bytes(empty)


def serialize_snapshot(entries: list[ProducerEntry], codec: Codec) -> bytes:
    """Return the bytes of a producer snapshot.

    Raises:
        KafkaSpecError: ``unencodable``.
    """
    around: list[tuple[str, str]] = []
    key = SNAPSHOT
    while _ENTRIES not in {field.id for field in LAYOUTS[key].fields}:
        (field,) = LAYOUTS[key].fields
        around.append((key, field.id))
        key = field.type
        if LAYOUTS[key].form is Form.CHOICE:
            key = dict(LAYOUTS[key].fields[0].cases)[_VERSION["version"]]
    value = new_value(key, {**_VERSION, _ENTRIES: entries})
    for outer, field_id in reversed(around):
        value = new_value(outer, {field_id: value})
    return codec.serialize(SNAPSHOT, value)


Snapshots = Mapping[int, Path]
"""Paths of producer snapshots by offset. Each is read when it is needed: all of them together list
every producer once for each segment."""


def find_snapshots(paths: Sequence[Path]) -> Snapshots:
    """Return the producer snapshots among some files."""
    named = ((names.parse_segment(path.name), path) for path in paths)
    return {name.base_offset: path for name, path in named if name is not None and not name.state}


def read_snapshot(path: Path) -> Sequence[ProducerEntry] | None:
    """Return the entries of a producer snapshot; None if it cannot be read."""
    try:
        snapshot = ProducerSnapshot(path)
        return snapshot.entries if snapshot.crc_valid else None
    except KafkaSpecError:
        return None
