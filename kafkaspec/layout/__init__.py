"""What the specification says of each type, as data that codecs and ``explain`` can walk.

The classes are written by hand, the tables (``LAYOUTS``) are generated from the specification.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Form(StrEnum):
    """How a type appears in the typed model."""

    STRUCTURE = "structure"
    """A class of its own."""
    SCALAR = "scalar"
    """One int or byte string: the whole type stands for one value."""
    FRAME = "frame"
    """A size and the structure of that size; the model shows the structure."""
    CHOICE = "choice"
    """A switch between structures; the model shows the chosen one."""


class Kind(StrEnum):
    """What a field holds."""

    INTEGER = "integer"
    BITS = "bits"
    BYTES = "bytes"
    SCALAR = "scalar"
    TYPE = "type"
    CHOICE = "choice"
    GUARD = "guard"
    """Empty; demands the end of the structure."""


@dataclass(frozen=True, slots=True)
class FieldLayout:
    """One field of ``seq``, in order.

    Attributes:
        id: name in the specification, in the model and in every codec.
        kind: what it holds.
        location: place in the specification, ``recordbatch.ksy#/types/record/seq/3``.
        type: key of the type (``varint.varint32``) for kinds SCALAR and TYPE.
        cases: for kind CHOICE, pairs of case (None is the default) and key of the type.
        size: bytes of an INTEGER.
        width: bits of BITS.
        signed: whether an INTEGER is.
        boolean: a single bit that the model shows as bool.
        repeated: an array of it.
        optional: may be absent, None in the model (``if:``).
        derive: ``len``, ``count``, ``crc32`` or ``crc32c`` where a writer computes it, else "".
        derive_from: first field that it is computed from.
        derive_plus: number that is added to a length or count.
        opaque_count: a count over bytes that are not parsed: a writer is told it.
        constant: the only allowed value, None where it may vary.
        enum: key of the enumeration (``recordbatch.compression_type``), "" for none.
        original_id: Kafka's name.
        doc: meaning.
    """

    id: str
    kind: Kind
    location: str
    type: str = ""
    cases: tuple[tuple[int | None, str], ...] = ()
    size: int = 0
    width: int = 0
    signed: bool = False
    boolean: bool = False
    repeated: bool = False
    optional: bool = False
    derive: str = ""
    derive_from: str = ""
    derive_plus: int = 0
    opaque_count: bool = False
    constant: int | None = None
    enum: str = ""
    original_id: str = ""
    doc: str = ""


@dataclass(frozen=True, slots=True)
class PeekLayout:
    """A field that is read ahead of its place, to choose a type by."""

    id: str
    location: str
    position: int
    size: int
    signed: bool
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum of a structure: ``algorithm`` over the bytes from ``start`` to its end.

    ``position`` is where the stored value lies; both count from the first byte of the structure.
    """

    field: str
    algorithm: str
    position: int
    start: int


@dataclass(frozen=True, slots=True)
class TypeLayout:
    """One type of the specification.

    Attributes:
        key: ``recordbatch.record``.
        class_name: name of the class in the model (``Record``); of a Kaitai class too.
        form: how it appears in the model.
        location: place in the specification.
        parameters: pairs of name and key of the type, "" for an integer.
        fields: the fields in order.
        peeks: fields read ahead.
        instances: names of derived meanings, properties of the model class.
        scalar: ``varint32``, ``nullable_bytes`` ... for form SCALAR.
        minimum_size: bytes that it has at least.
        fixed_size: bytes that it always has, None if that varies.
        checksum: its checksum, None where it has none.
        doc: meaning.
    """

    key: str
    class_name: str
    form: Form
    location: str
    parameters: tuple[tuple[str, str], ...] = ()
    fields: tuple[FieldLayout, ...] = ()
    peeks: tuple[PeekLayout, ...] = ()
    instances: tuple[str, ...] = ()
    scalar: str = ""
    minimum_size: int = 0
    fixed_size: int | None = None
    checksum: Checksum | None = None
    doc: str = ""


class HeaderInteger(NamedTuple):
    """An integer of a header: where it begins, bytes in it, and whether it has a sign."""

    position: int
    size: int
    signed: bool


class HeaderBits(NamedTuple):
    """Bits of an integer of a header, which begins at ``position``."""

    position: int
    size: int
    shift: int
    width: int


Column = Callable[[str], Sequence[int]]
"""Gives a column by its name."""


@dataclass(frozen=True, slots=True)
class HeaderColumns:
    """Where the columns of a kind of entry come from, whose header has one size.

    Attributes:
        key: of the type.
        size: bytes of the header, framing included.
        hop: called with a buffer, a position, the end of the input, which may lie behind that of
            the buffer, and how many entries are wanted at most; gives where regular entries of
            the kind begin, one behind the other, with the end of the last one, and their headers.
        integers: columns that are stored.
        bits: columns that are stored in parts of integers.
        made: columns that follow from others.
        conditions: for columns that not every entry has, whether it does.
    """

    key: str
    size: int
    hop: Callable[[bytes | bytearray | memoryview, int, int, int], tuple[list[int], bytes]]
    integers: Mapping[str, HeaderInteger]
    bits: Mapping[str, HeaderBits]
    made: Mapping[str, Callable[[Column], Sequence[int]]]
    conditions: Mapping[str, Callable[[Column], Sequence[int]]]
