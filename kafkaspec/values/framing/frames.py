"""Frames: ids of schemas before payloads or in headers, and how they are taken off.

Each framing is a function from the keys or values of some records, and their headers, to ``Split``.
It says what stands there and looks no schema up.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec._generated.layout import ENUMS, LAYOUTS
from kafkaspec.layout import Kind
from kafkaspec.layout.framing import field_position
from kafkaspec.values.decoded import Code, Failure
from kafkaspec.values.options import Bounds
from kafkaspec.values.rows import Rows, after, integers, last_headers, without

if TYPE_CHECKING:
    from kafkaspec.values.rows import Integers, Mask, Octets

Side = Literal["key", "value"]
"""Which half of a record."""

_CONFLUENT_HEADERS: Final = {"key": "__key_schema_id", "value": "__value_schema_id"}
"""``SchemaId.KEY_SCHEMA_ID_HEADER`` and ``VALUE_SCHEMA_ID_HEADER`` of Confluent's registry."""

_APICURIO_HEADERS: Final = {
    side: (f"apicurio.{side}.globalId", f"apicurio.{side}.contentId") for side in ("key", "value")
}
"""Apicurio's ``KafkaSerdeHeaders``, the ones with an id."""

_CONTENT_TYPE: Final = "content-type"
_AZURE_AVRO: Final = "avro/binary"
"""What Azure's serializer writes there before ``+`` and the id of a schema."""


class KeyKind(StrEnum):
    """The ways in which a frame names a schema."""

    ID = "id"
    """The id that a registry gave to it, in a context."""
    GUID = "guid"
    """Its GUID, which does not depend on a registry."""
    FINGERPRINT = "fingerprint"
    """CRC-64-AVRO of its parsing canonical form."""
    VERSION_ID = "version_id"
    """The UUID that AWS Glue gave to one version of it."""
    NAME = "name"
    """A name of another registry: the id in Azure's header."""


@dataclass(frozen=True, slots=True)
class SchemaKey:
    """The name of the schema in a frame: what it is, and the number or UUID."""

    kind: KeyKind
    value: int | str | UUID

    def __str__(self) -> str:
        return f"{self.kind} {self.value}"


@dataclass(slots=True)
class Split:
    """Keys or values with their frames taken off.

    Attributes:
        payloads: what follows the frames; null for a null and where a row has failed.
        schemas: the different schemas that the frames name.
        codes: for each row the number of its schema in ``schemas``; -1 for a null, and where it
            has failed.
        sizes: for each row the bytes of its frame.
        failures: why rows have no payload, by number of the row.
    """

    payloads: pa.Array
    schemas: list[SchemaKey]
    codes: Integers
    sizes: Integers
    failures: dict[int, Failure] = field(default_factory=dict)


SIDES: Final[tuple[Side, Side]] = ("key", "value")

_Framing = Callable[[pa.Array, "pa.Array | None", Side], Split]
"""Takes frames off keys or values (binary), given the column ``headers``."""

UUID_SIZE: Final = len(UUID(int=0).bytes)


@dataclass(frozen=True, slots=True)
class Prefix:
    """A frame of a fixed size: the bytes that it begins with, then the key, a number or bytes."""

    kind: KeyKind
    octets: tuple[int, ...]
    key_at: int
    key_size: int
    is_number: bool

    @property
    def size(self) -> int:
        """Bytes of the frame."""
        return self.key_at + self.key_size


def _prefix(kind: KeyKind, key: str, **chosen: int) -> Prefix:
    """Return the frame of a structure: constants, chosen values of an enumeration, then the key."""
    octets = b""
    for each in LAYOUTS[key].fields:
        value = chosen.get(each.id, each.constant)
        if value is None:
            place = field_position(LAYOUTS[key], each.id)
            return Prefix(kind, tuple(octets), place, each.size, each.kind is Kind.INTEGER)
        octets += value.to_bytes(each.size, "big")
    raise KeyError(f"{key} names no schema")


_NAMES: Final = {name: code for code, (name, _) in ENUMS["schema_frame.glue_compression"].items()}

BY_ID: Final = _prefix(KeyKind.ID, "schema_frame.id_frame")
BY_LONG_ID: Final = _prefix(KeyKind.ID, "schema_frame.long_id_frame")
BY_GUID: Final = _prefix(KeyKind.GUID, "schema_frame.guid_frame")
SINGLE_OBJECT: Final = _prefix(KeyKind.FINGERPRINT, "schema_frame.single_object_frame")
_CONFLUENT: Final = (BY_ID, BY_GUID)
GLUE: Final = {
    name: _prefix(KeyKind.VERSION_ID, "schema_frame.glue_frame", compression=code)
    for name, code in _NAMES.items()
}
"""Frames of Glue by the compression of what follows."""

ZLIB: Final = "zlib"


class _Made:
    """A split in the making: rows are given their schemas in a few steps."""

    def __init__(self, values: pa.Array) -> None:
        self.values = values
        self.rows = Rows.of(values)
        count = len(values)
        self.codes = np.full(count, -1, np.int64)
        self.sizes = np.zeros(count, np.int64)
        self.schemas: list[SchemaKey] = []
        self.failures: dict[int, Failure] = {}
        self.open = self.rows.present.copy()
        self.moved = np.zeros(count, np.int64)

    def give(self, chosen: Integers, kind: KeyKind, found: Integers | Octets, size: int) -> None:
        """Give schemas to rows: by numbers, or by lines of 16 bytes that are UUIDs."""
        if not len(chosen):
            return
        if found.ndim == 2:
            whole = np.ascontiguousarray(found).view("V16").reshape(-1)
            unique, inverse = np.unique(whole, return_inverse=True)
            keys = [SchemaKey(kind, UUID(bytes=item.tobytes())) for item in unique]
        else:
            unique, inverse = _distinct(found)
            keys = [SchemaKey(kind, int(item)) for item in unique]
        self.codes[chosen] = inverse + len(self.schemas)
        self.schemas += keys
        self.sizes[chosen] = size
        self.open[chosen] = False

    def name(self, row: int, name: str) -> None:
        """Give a schema to one row, by its name."""
        key = SchemaKey(KeyKind.NAME, name)
        if key not in self.schemas:
            self.schemas.append(key)
        self.codes[row] = self.schemas.index(key)
        self.open[row] = False

    def read_headers(self, rows: Integers, frames: pa.Array) -> None:
        """Give schemas to the rows with a header that has an id or a GUID."""
        found = Rows.of(frames)
        wanted = self.open[rows]
        for prefix in _CONFLUENT:
            chosen = np.flatnonzero(wanted & _has(found, prefix))
            self.give(rows[chosen], prefix.kind, _key(found, chosen, prefix), 0)
            longer = chosen[found.sizes[chosen] > prefix.size]
            if len(longer):
                self._put_before(rows[longer], frames.take(pa.array(longer)), prefix.size)
            wanted[chosen] = False
        for place in np.flatnonzero(wanted):
            row = int(rows[place])
            self.failures[row] = Failure(Code.NOT_FRAMED, "its header has no id of a schema")
            self.open[row] = False

    def _put_before(self, rows: Integers, frames: pa.Array, size: int) -> None:
        """Put what follows the GUIDs in headers before the payloads, as if it were there."""
        chosen = pa.array(rows)
        rest = after(frames, size)
        joined = pc.binary_join_element_wise(rest, self.values.take(chosen), b"")
        mask = np.zeros(len(self.values), np.bool_)
        mask[rows] = True
        self.values = pc.replace_with_mask(self.values, pa.array(mask), joined)
        self.moved[rows] = np.asarray(pc.binary_length(rest))

    def finish(self, *prefixes: Prefix) -> Split:
        """Give schemas to the rows that begin as a layout says, and return the split.

        Other rows without a schema fail: they are cut off, or begin with other bytes.
        """
        begun = np.zeros(len(self.open), np.bool_)
        for prefix in prefixes if self.open.any() else ():
            chosen = np.flatnonzero(self.open & _has(self.rows, prefix))
            self.give(chosen, prefix.kind, _key(self.rows, chosen, prefix), prefix.size)
        for prefix in prefixes if self.open.any() else ():
            begun |= self.rows.begins_with(*prefix.octets)
        for row in np.flatnonzero(self.open).tolist():
            self.failures[row] = Failure(Code.NOT_FRAMED, "nothing says its schema", 0)
            if begun[row]:
                size = self.rows.sizes[row]
                reason = f"{size} bytes, of which the frame takes {prefixes[0].size}"
                self.failures[row] = Failure(Code.TRUNCATED, reason, 0)
        payloads = without(self.values, self.sizes, self.codes >= 0)
        return Split(payloads, self.schemas, self.codes, self.sizes - self.moved, self.failures)


def _distinct(found: Any) -> tuple[Integers, Integers]:
    """Return the different numbers, sorted, and the place of each among them."""
    if (found == found[0]).all():  # as in most topics
        return found[:1], np.zeros(len(found), np.int64)
    return np.unique(found, return_inverse=True)


def _has(rows: Rows, prefix: Prefix) -> Mask:
    return rows.begins_with(*prefix.octets) & (rows.sizes >= prefix.size)


def _key(rows: Rows, chosen: Integers, prefix: Prefix) -> Integers | Octets:
    lines = rows.cut(chosen, prefix.key_at, prefix.key_size)
    if prefix.key_size == UUID_SIZE:
        return lines
    return integers(lines, little=not prefix.is_number)  # fingerprints are written low byte first


def confluent(values: pa.Array, headers: pa.Array | None, side: Side) -> Split:
    """Take off what Confluent's serializers write: an id or a GUID, before it or in a header.

    As Confluent's ``DualSchemaIdDeserializer``: the last header of the name that has a value wins,
    and then nothing stands before the payload. What a header has after the GUID, the indexes of a
    Protobuf message, is put there.
    """
    made = _Made(values)
    if headers is not None:
        made.read_headers(*last_headers(headers, _CONFLUENT_HEADERS[side]))
    return made.finish(*_CONFLUENT)


def apicurio(values: pa.Array, headers: pa.Array | None, side: Side) -> Split:
    """Take off what Apicurio's serializers write with 8-byte ids, or in headers.

    With 4-byte ids, the default since its version 3, they write what Confluent's write.
    """
    made = _Made(values)
    for name in _APICURIO_HEADERS[side] if headers is not None else ():
        rows, found = last_headers(headers, name)
        numbers = Rows.of(found)
        whole = np.flatnonzero((numbers.sizes == 8) & made.open[rows])
        made.give(rows[whole], KeyKind.ID, integers(numbers.cut(whole, 0, 8)), 0)
    return made.finish(BY_LONG_ID)


def single_object(values: pa.Array, headers: pa.Array | None, side: Side) -> Split:
    """Take off the start of Avro's single-object encoding: a fingerprint, little-endian."""
    return _Made(values).finish(SINGLE_OBJECT)


def glue(values: pa.Array, headers: pa.Array | None, side: Side) -> Split:
    """Take off what the serializers of AWS Glue write, and decompress."""
    made = _Made(values)
    split = made.finish(*GLUE.values())
    zlibbed = made.rows.begins_with(*GLUE[ZLIB].octets)
    packed = np.flatnonzero(zlibbed & (split.codes >= 0))
    if len(packed):
        _unpack(split, packed)
    return split


def azure(values: pa.Array, headers: pa.Array | None, side: Side) -> Split:
    """Read the id of Azure's schema registry, which is in the header ``content-type``."""
    made = _Made(values)
    if headers is not None:
        rows, types = last_headers(headers, _CONTENT_TYPE)
        texts = [text.decode("utf-8", "replace") for text in types.to_pylist()]
        for row, text in zip(rows.tolist(), texts, strict=True):
            kind, _, name = text.partition("+")
            if made.open[row] and kind == _AZURE_AVRO and name:
                made.name(row, name)
    return made.finish()


FRAMINGS: Final[dict[str, _Framing]] = {
    "confluent": confluent,
    "apicurio": apicurio,
    "glue": glue,
    "single-object": single_object,
    "azure": azure,
    "apicurio-ref": confluent,
    "apicurio-ref-8": apicurio,
}
"""Framings by name."""

REF: Final = frozenset(("apicurio-ref", "apicurio-ref-8"))
"""Framings in which a Protobuf message has its name before it, Apicurio's ``Ref``, and no index."""

UNPACKED_BYTES: Final = Bounds().output_bytes
"""Most bytes of a batch's payloads of Glue, decompressed."""


def _unpack(split: Split, packed: Integers) -> None:
    """Decompress payloads, all of them together within a bound."""
    room = UNPACKED_BYTES
    made: list[bytes | None] = []
    for row in packed.tolist():
        found = _inflated(split.payloads[row].as_py(), room)
        if isinstance(found, Failure):
            split.failures[row] = found
            split.codes[row] = -1
            made.append(None)
        else:
            room -= len(found)
            made.append(found)
    mask = np.zeros(len(split.payloads), np.bool_)
    mask[packed] = True
    replaced = pa.array(made, split.payloads.type)
    split.payloads = pc.replace_with_mask(split.payloads, pa.array(mask), replaced)


def _inflated(data: bytes, room: int) -> bytes | Failure:
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(data, room + 1)
    except zlib.error as error:
        return Failure(Code.MALFORMED, str(error), 0)
    if len(found) > room:
        return Failure(Code.BOUND, f"its decompressed bytes are more than the {room} left", 0)
    if not stream.eof:
        return Failure(Code.TRUNCATED, "the zlib stream is cut off", 0)
    if stream.unused_data:
        return Failure(Code.TRAILING, "bytes follow the zlib stream", 0)
    return found
