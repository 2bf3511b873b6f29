"""The one model of the specification, which the linter and the emitters use.

Everything here is frozen. Facts that follow from the specification alone (sizes, whether a type
is a frame, which fields a writer computes) are properties here, so that no emitter repeats them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import PurePosixPath

from kafkaspec.layout import DeadLetterLayout, TextLayout
from tools.specgen.expression import Attribute, Expression, Int, Name, literal, walk
from tools.specgen.house import NONE, House

MESSAGES = "messages"
"""The folder of messages in records, in a folder for each topic, where the house has one."""


class Scalar(StrEnum):
    """Values of ``-scalar``: the whole type is one host value."""

    VARINT32 = "varint32"
    VARINT64 = "varint64"
    UNSIGNED_VARINT32 = "unsigned_varint32"
    NULLABLE_BYTES = "nullable_bytes"
    BYTES = "bytes"

    @property
    def is_integer(self) -> bool:
        """True for the varints, False for byte strings."""
        return self not in (Scalar.NULLABLE_BYTES, Scalar.BYTES)


class DeriveFunction(StrEnum):
    """Functions of ``-derive``."""

    LEN = "len"
    COUNT = "count"
    PRESENT = "present"
    CRC32 = "crc32"
    CRC32C = "crc32c"

    @property
    def is_checksum(self) -> bool:
        """True for functions of bytes, False for lengths, counts and marks."""
        return self in (DeriveFunction.CRC32, DeriveFunction.CRC32C)


@dataclass(frozen=True)
class IntegerType:
    """A fixed-width integer of ``size`` bytes, the high byte first unless it is ``little``."""

    size: int
    signed: bool
    little: bool = False

    @property
    def minimum(self) -> int:
        """Smallest value that fits."""
        return -(1 << (8 * self.size - 1)) if self.signed else 0

    @property
    def maximum(self) -> int:
        """Largest value that fits."""
        return (1 << (8 * self.size - int(self.signed))) - 1


@dataclass(frozen=True)
class FloatType:
    """A number of IEEE 754 with 64 or 32 bits, the high byte first unless it is ``little``."""

    size: int = 8
    little: bool = False


@dataclass(frozen=True)
class BitsType:
    """An unsigned integer of ``width`` bits, high bits first; ``b1`` without enum is a bool."""

    width: int


@dataclass(frozen=True)
class BytesType:
    """A byte string: ``size`` bytes, or all that is left if ``size`` is None (size-eos)."""

    size: Expression | None


@dataclass(frozen=True)
class TypeReference:
    """A type of this or another specification, with its arguments.

    ``size`` bounds it by a substream of so many bytes, ``size_eos`` by all bytes left.
    """

    spec_id: str
    name: str
    arguments: tuple[Expression, ...] = ()
    size: Expression | None = None
    size_eos: bool = False


@dataclass(frozen=True)
class SwitchType:
    """One of several types; ``None`` is the default case."""

    on: Expression
    cases: tuple[tuple[int | None, TypeReference], ...]
    size: Expression | None = None
    size_eos: bool = False


FieldType = IntegerType | FloatType | BitsType | BytesType | TypeReference | SwitchType


@dataclass(frozen=True)
class Valid:
    """The conditions of ``valid:``; exactly the given parts are set.

    With ``in_enum``, ``any_of`` has the values of the enumeration.
    """

    equal: Expression | None = None
    minimum: Expression | None = None
    maximum: Expression | None = None
    any_of: tuple[Expression, ...] = ()
    expression: Expression | None = None
    in_enum: bool = False


@dataclass(frozen=True)
class Repeat:
    """``repeat:``. One of: ``eos``, a ``count`` expression, an ``until`` expression."""

    eos: bool = False
    count: Expression | None = None
    until: Expression | None = None


@dataclass(frozen=True)
class Derive:
    """``-derive``: the field is ``function(first..last) + plus``.

    ``open_end`` means up to the end of the type; without it ``first`` alone, or through ``last``.
    """

    function: DeriveFunction
    first: str
    last: str | None = None
    open_end: bool = False
    plus: int = 0


@dataclass(frozen=True)
class Default:
    """``-default``: an integer, ``null`` or ``[]`` (empty bytes or empty array)."""

    value: int | tuple[()] | None


@dataclass(frozen=True)
class MadeFrom:
    """``-from``: what a broker makes a field of an index entry from.

    ``name`` is ``position``, the position of a batch, or a number of its header; ``largest`` says
    that it is the largest one so far (``largest(name)``).
    """

    name: str
    largest: bool = False


@dataclass(frozen=True, kw_only=True)
class Described:
    """The keys that nodes of a file share; ``key_order`` has all keys as they are in the file."""

    doc: str = ""
    original_id: str | None = None
    key_order: tuple[str, ...] = ()


@dataclass(frozen=True)
class Field(Described):
    """An attribute of ``seq``.

    ``location`` is its place in the specification, ``recordbatch.ksy#/types/record/seq/3``;
    ``enum`` the key of the enumeration of its values, ``recordbatch.compression_type``; ``known``
    the first and last of them that it can have; ``offsets`` where the offsets of entries are, if
    not in them.
    """

    id: str
    type: FieldType
    location: str
    enum: str | None = None
    valid: Valid | None = None
    repeat: Repeat | None = None
    condition: Expression | None = None
    derive: Derive | None = None
    default: Default | None = None
    ascending: str | None = None
    known: tuple[int, int] | None = None
    offsets: str | None = None
    made_from: MadeFrom | None = None
    process: str | None = None

    @property
    def is_guard(self) -> bool:
        """An empty field whose ``valid`` demands the end of the stream (rule S4)."""
        return (
            isinstance(self.type, BytesType)
            and self.type.size == Int(0)
            and self.valid is not None
            and self.valid.expression is not None
            and Attribute(Name("_io"), "eof") in walk(self.valid.expression)
        )

    @property
    def constant(self) -> int | None:
        """The value of ``valid: N``, None if the field may vary."""
        return literal(self.valid.equal) if self.valid else None

    @property
    def is_bool(self) -> bool:
        """A single bit without enum."""
        return isinstance(self.type, BitsType) and self.type.width == 1 and self.enum is None


@dataclass(frozen=True)
class ValueInstance(Described):
    """A value computed from fields: ``value:`` of ``instances``."""

    id: str
    value: Expression
    location: str
    condition: Expression | None = None
    enum: str | None = None


@dataclass(frozen=True)
class PeekInstance(Described):
    """A positional instance: an integer at a constant position of the substream (rule S2)."""

    id: str
    position: Expression
    type: FieldType
    location: str
    valid: Valid | None = None
    enum: str | None = None


@dataclass(frozen=True)
class Parameter(Described):
    """``params:`` of a type: an integer or a structure."""

    id: str
    type: IntegerType | TypeReference
    location: str


Node = Field | PeekInstance | ValueInstance
"""A thing that has expressions."""

Member = Parameter | Node
"""What an expression can name."""


@dataclass(frozen=True)
class EnumValue(Described):
    """A named value of an enumeration."""

    value: int
    id: str
    location: str

    @property
    def shown(self) -> str:
        """The name of its constant, or ``-orig-id``."""
        return self.original_id or self.id.upper()


@dataclass(frozen=True)
class Enum:
    """An enumeration."""

    id: str
    values: tuple[EnumValue, ...]
    spec_id: str
    location: str

    @property
    def key(self) -> str:
        """``enumeration.truth``: how fields name it."""
        return f"{self.spec_id}.{self.id}"


@dataclass(frozen=True)
class Type(Described):
    """A type of the specification; the root type of a file has the file's id as name."""

    name: str
    spec_id: str
    location: str
    fields: tuple[Field, ...]
    doc_refs: tuple[str, ...] = ()
    scalar: Scalar | None = None
    representation: str | None = None
    suffix: str | None = None
    """The file extension of the files that the type reads, where the file has several."""
    parameters: tuple[Parameter, ...] = ()
    value_instances: tuple[ValueInstance, ...] = ()
    peek_instances: tuple[PeekInstance, ...] = ()

    @property
    def key(self) -> str:
        """``recordbatch.record``: how codecs name the type."""
        return f"{self.spec_id}.{self.name}"

    @property
    def class_name(self) -> str:
        """``RecordBatch``: how languages with CamelCase name the type."""
        return camel(self.name)

    @cached_property
    def field_by_id(self) -> dict[str, Field]:
        """Fields by id."""
        return {field.id: field for field in self.fields}

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All fields and instances."""
        return (*self.fields, *self.peek_instances, *self.value_instances)

    @cached_property
    def members(self) -> dict[str, Member]:
        """Everything that an expression of the type can name, by id."""
        return {member.id: member for member in (*self.parameters, *self.nodes)}

    def is_opaque_count(self, field: Field) -> bool:
        """Return whether the field is a count over bytes that are not parsed, given to writers."""
        derive = field.derive
        if derive is None or derive.function is not DeriveFunction.COUNT:
            return False
        counted = self.field_by_id[derive.first]
        return isinstance(counted.type, BytesType) and counted.repeat is None

    @property
    def is_frame(self) -> bool:
        """True for a size and the structure of this size: models show only the structure."""
        if len(self.fields) != 2 or self.scalar is not None:
            return False
        size, body = self.fields
        return (
            size.derive is not None
            and size.derive.function is DeriveFunction.LEN
            and size.derive.first == body.id
            and isinstance(body.type, TypeReference)
            and body.type.size is not None
        )

    @property
    def is_choice(self) -> bool:
        """True for a switch between types: models show only the chosen structure."""
        return len(self.fields) == 1 and isinstance(self.fields[0].type, SwitchType)

    @property
    def is_transparent(self) -> bool:
        """True if models have no class for this type."""
        return self.scalar is not None or self.is_frame or self.is_choice


@dataclass(frozen=True)
class Spec:
    """One ``.ksy`` file; ``file_name`` is its path from the directory of the specification."""

    id: str
    file_name: str
    title: str
    types: tuple[Type, ...]
    """The root type first, then the others in the order of the file."""
    enums: tuple[Enum, ...]
    import_paths: tuple[str, ...] = ()
    """Paths of other files from the folder of this one, without their suffix."""
    doc: str = ""
    doc_refs: tuple[str, ...] = ()
    file_extensions: tuple[str, ...] = ()
    license: str = ""
    endian: str = ""
    bit_endian: str = ""
    ks_version: str = ""
    """Text that is empty unless it is a quoted string."""
    meta_order: tuple[str, ...] = ()
    releases: tuple[str, str] | None = None
    """First and last minor release that wrote this layout of a message; None for the newest."""
    since: str | None = None
    """First minor release that knows the message; None if all that have such messages do."""
    messages: str = MESSAGES
    """The folder of messages, by the house; empty where it has none."""
    identity: tuple[str, ...] | None = None
    """Ids of the fields of a record that say what it describes; None where it says no state."""

    @property
    def is_message(self) -> bool:
        """Whether it is a message: what records hold, not how a file is built."""
        return self.folder is not None

    @property
    def folder(self) -> str | None:
        """``consumer_offsets`` of ``messages/consumer_offsets``, or None."""
        parts = PurePosixPath(self.file_name).parts
        return parts[1] if parts[0] == self.messages and len(parts) == 3 else None

    @property
    def imports(self) -> tuple[str, ...]:
        """Ids of the files that this one imports."""
        return tuple(PurePosixPath(path).name for path in self.import_paths)

    @property
    def root(self) -> Type:
        """The type that reads a whole file."""
        return self.types[0]

    def reader_of(self, extension: str) -> Type:
        """Return the type that reads files with an extension: one that claims it, or the root."""
        return next((type_ for type_ in self.types if type_.suffix == extension), self.root)


@dataclass(frozen=True)
class Model:
    """All specifications of a directory, by id, in sorted order."""

    specs: tuple[Spec, ...]
    house: House = NONE
    texts: tuple[TextLayout, ...] = ()
    """Text files, of ``texts.yaml``."""
    dead_letters: tuple[DeadLetterLayout, ...] = ()
    """Headers of dead letters, of ``dead_letters.yaml``."""

    @cached_property
    def _types(self) -> dict[str, Type]:
        return {type_.key: type_ for spec in self.specs for type_ in spec.types}

    @cached_property
    def _enums(self) -> dict[str, Enum]:
        return {enum.key: enum for spec in self.specs for enum in spec.enums}

    def spec(self, spec_id: str) -> Spec:
        """Return the specification with this id."""
        return next(spec for spec in self.specs if spec.id == spec_id)

    def type(self, reference: TypeReference | str) -> Type:
        """Return the type that a reference or a key (``recordbatch.record``) means."""
        key = reference if isinstance(reference, str) else f"{reference.spec_id}.{reference.name}"
        return self._types[key]

    def inner(self, member: Field | Parameter) -> Type:
        """Return the type of a member that refers to one."""
        assert isinstance(member.type, TypeReference)
        return self.type(member.type)

    def has_type(self, reference: TypeReference) -> bool:
        """Return whether the reference means a known type."""
        return f"{reference.spec_id}.{reference.name}" in self._types

    def enum(self, key: str) -> Enum:
        """Return the enumeration with a key, ``enumeration.truth``."""
        return self._enums[key]

    def has_enum(self, key: str) -> bool:
        """Return whether the key means a known enumeration."""
        return key in self._enums

    def all_types(self) -> tuple[Type, ...]:
        """Return every type of every specification."""
        return tuple(self._types.values())

    def closure(self, spec_id: str) -> tuple[Spec, ...]:
        """Return a specification and all that it imports, sorted by id."""
        found = {spec_id} | reachable(spec_id, lambda spec_id: self.spec(spec_id).imports)
        return tuple(self.spec(key) for key in sorted(found))

    def part(self, spec_id: str) -> Model:
        """Return the model of a specification and all that it imports."""
        return Model(self.closure(spec_id), self.house)


def reachable(start: str, edges: Callable[[str], Iterable[str]]) -> set[str]:
    """Return all that ``start`` leads to, itself only if a circle leads back to it."""
    found: set[str] = set()
    pending = [start]
    while pending:
        new = set(edges(pending.pop())) - found
        found |= new
        pending += new
    return found


def camel(name: str) -> str:
    """Return ``record_batch`` as ``RecordBatch``."""
    return "".join(part.capitalize() for part in name.split("_"))
