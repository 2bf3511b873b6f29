"""The types of the specification as data that codecs and ``explain`` can walk.

The classes are written by hand, the tables (``LAYOUTS``) are generated from the specification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any, NamedTuple

from kafkaspec.layout import names


class Form(StrEnum):
    """How a type appears in the typed model."""

    STRUCTURE = "structure"
    """A separate class."""
    SCALAR = "scalar"
    """One int or byte string: the whole type stands for one value."""
    FRAME = "frame"
    """A size and the structure of that size; the model shows the structure."""
    CHOICE = "choice"
    """A switch between structures; the model shows the chosen one."""


class Kind(StrEnum):
    """Kind of the content of a field."""

    INTEGER = "integer"
    FLOAT = "float"
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
        kind: kind of its content.
        location: place in the specification, ``recordbatch.ksy#/types/record/seq/3``.
        type: key of the type (``varint.varint32``) for kinds SCALAR and TYPE.
        cases: for kind CHOICE, pairs of case (None is the default) and key of the type.
        size: bytes of an INTEGER or FLOAT, or of BYTES with a fixed size; else 0.
        width: bits of BITS.
        signed: whether an INTEGER is.
        boolean: a single bit that the model shows as bool.
        repeated: an array of it.
        optional: may be absent, None in the model (``if:``).
        since: the first version that has it, 0 where that is not a question of the version.
        derive: ``len``, ``count``, ``present``, ``crc32`` or ``crc32c`` where a writer computes it,
            else "".
        derive_from: first field that it is computed from.
        derive_plus: number that is added to a length or count; for None these are -1.
        ascending: field of the items of an array by which they ascend, "" for none.
        known: first and last number of its enumeration that mean something in it, None for all.
        default: what a writer writes if it is given no value, as the specification has it: a
            number, ``null``, ``[]`` for nothing in it, or "" where it must be given.
        opaque_count: a count of items in bytes that are not parsed; whoever writes must give it.
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
    since: int = 0
    derive: str = ""
    derive_from: str = ""
    derive_plus: int = 0
    ascending: str = ""
    known: tuple[int, int] | None = None
    default: str = ""
    opaque_count: bool = False
    constant: int | None = None
    enum: str = ""
    original_id: str = ""
    doc: str = ""

    @property
    def largest(self) -> int:
        """The largest number that an INTEGER can be."""
        return (1 << (8 * self.size - self.signed)) - 1


@dataclass(frozen=True, slots=True)
class PeekLayout:
    """A field that is read before its place, to choose a type."""

    id: str
    location: str
    position: int
    size: int
    signed: bool
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum of a structure: ``algorithm`` over the bytes from ``start`` to its end.

    ``position`` is that of the stored value; both count from the first byte of the structure.
    """

    field: str
    algorithm: str
    position: int
    start: int


class EntrySource(NamedTuple):
    """The number that a broker makes a field of an index entry from.

    Attributes:
        field: id of the field.
        name: ``position``, the position of the batch, or the dotted name of a number in headers.
        largest: whether it is the largest such number of the segment so far.
    """

    field: str
    name: str
    largest: bool = False


@dataclass(frozen=True, slots=True)
class FileLayout:
    """A kind of file.

    Attributes:
        suffix: how its name ends: ``.timeindex``.
        type: key of the type that reads it whole.
        entry: key of the type of its items, "" for any file but an array of them.
        sources: what the entries of an index are made from; empty for any other file.
    """

    suffix: str
    type: str
    entry: str = ""
    sources: tuple[EntrySource, ...] = ()

    @property
    def name(self) -> str:
        """Its name in words: ``time index``."""
        return self.type.rpartition(".")[2].replace("_", " ")

    @property
    def largest(self) -> EntrySource | None:
        """The source that is the largest number so far; the key of an index that has one."""
        return next((source for source in self.sources if source.largest), None)


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
        text: whether a byte string is text in UTF-8.
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
    text: bool = False
    minimum_size: int = 0
    fixed_size: int | None = None
    checksum: Checksum | None = None
    doc: str = ""


@dataclass(frozen=True, slots=True)
class EntryFile:
    """A file that holds log entries up to its end.

    Attributes:
        key: key of the type of the file.
        entry: key of the type of the entries.
        header: bytes before the first entry.
        has_offsets: whether the offsets in the entries are those of the log; otherwise they are
            kept elsewhere, and those here are as producers sent them.
    """

    key: str
    entry: str
    header: int
    has_offsets: bool


@dataclass(frozen=True, slots=True)
class EntryKind:
    """A format of log entries and its properties.

    Code asks these properties what a format has, and never compares the number. A name is a dotted
    path of ids of the specification; ``kafkaspec.layout.names`` has those that the library knows.

    Attributes:
        magic: number in an entry that identifies the format.
        key: key of the type of the message.
        record_set: key of the type of its records after decompression; "" where an entry is one
            message, and a compressed one is a wrapper around other entries.
        record: key of the type of a record; that of the message where that is one.
        count: id of the field with the number of records, "" where an entry is one message.
        payload: id of the field that holds what may be compressed.
        header: names of all fields and value instances of a header; with a record set, of the
            part before the records.
        fields: names of all fields and value instances of a record.
    """

    magic: int
    key: str
    record_set: str
    record: str
    count: str
    payload: str
    header: frozenset[str]
    fields: frozenset[str]

    @property
    def has_record_sets(self) -> bool:
        """Whether an entry holds a set of records; otherwise it is a message or a wrapper."""
        return bool(self.record_set)

    @property
    def has_timestamps(self) -> bool:
        """Whether records have timestamps."""
        return names.TIMESTAMP in self.fields

    @property
    def has_headers(self) -> bool:
        """Whether records have headers."""
        return names.HEADERS in self.fields

    @property
    def has_leader_epochs(self) -> bool:
        """Whether a header says in which leader epoch the entry was appended."""
        return names.LEADER_EPOCH in self.header

    @property
    def has_producers(self) -> bool:
        """Whether a header has the producer's id, epoch and sequence number."""
        return names.PRODUCER_ID in self.header

    @property
    def has_transactions(self) -> bool:
        """Whether records may belong to a transaction, and control records end it."""
        return names.IS_TRANSACTIONAL in self.header

    @property
    def has_delete_horizons(self) -> bool:
        """Whether a header may hold a delete horizon (KIP-534)."""
        return names.HAS_DELETE_HORIZON in self.header


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


class Role(StrEnum):
    """The role of a message in the records of its topic."""

    KEY = "key"
    VALUE = "value"
    RECORD = "record"
    """The value of a record without a key, in a frame that says what it is."""
    EMBEDDED = "embedded"
    """Bytes inside another message."""


class HeadField(NamedTuple):
    """An integer that tells the records of a topic apart, or one before it.

    Attributes:
        id: name in the specification.
        type: key of the type, "" for an integer of ``size`` bytes.
        size: bytes of it, 0 where they vary.
        signed: whether it has a sign.
    """

    id: str
    type: str
    size: int
    signed: bool


@dataclass(frozen=True, slots=True)
class MessageLayout:
    """One layout of one of Kafka's messages.

    Attributes:
        key: key of its type, ``offset_commit_value.offset_commit_value``.
        name: name of the schema in Kafka, ``OffsetCommitValue``.
        topic: the topic that has it, "" for EMBEDDED.
        role: what it is there.
        number: type of the record, which key and value share, or the api key of a RECORD; None for
            EMBEDDED.
        versions: the first and the last version that it describes.
        releases: the first and the last minor release that wrote this layout, where a later one
            has the same version; None for the layout of the newest release.
        since: of a KEY or RECORD, the first minor release that knows it; None if all that have such
            messages do.
        identity: of a RECORD, the fields that say what it describes, so that the last record of the
            same counts; none where there is one of its kind; None if the layout alone does not say
            what the record changes.
    """

    key: str
    name: str
    topic: str
    role: Role
    number: int | None
    versions: tuple[int, int]
    releases: tuple[str, str] | None = None
    since: str | None = None
    identity: tuple[str, ...] | None = None

    @property
    def id(self) -> str:
        """Id of its file in the specification, ``offset_commit_value``."""
        return self.key.partition(".")[0]


class TextFormat(StrEnum):
    """How a text file says what its keys are."""

    PROPERTIES = "properties"
    """A file of Java properties."""
    CHECKPOINT = "checkpoint"
    """The version, the number of entries, and a line for each: values in the order of the keys."""
    LINES = "lines"
    """A line for each key, in their order: a name, which nobody reads, a colon and a value."""
    JSON = "json"
    """An object."""


@dataclass(frozen=True, slots=True)
class TextKey:
    """A key of a text file, or a column of one.

    Attributes:
        key: as in the file, ``node.id``.
        attribute: what it is in programs; several keys can be the same in different versions.
        type: ``s2``, ``s4``, ``s8``, ``str``, ``topic`` or ``uuid``.
        versions: of the file that have it.
        required: those of them that need it.
        item: name of the value in each of several objects; "" for one value.
        nullable: whether it can be null.
        nonzero: whether readers refuse zero.
    """

    key: str
    attribute: str
    type: str
    versions: tuple[int, ...]
    required: tuple[int, ...]
    item: str = ""
    nullable: bool = False
    nonzero: bool = False


@dataclass(frozen=True, slots=True)
class TextLayout:
    """A text file; the first of its versions is that of a file that says none.

    Attributes:
        name: of the file.
        versions: all of them, ascending.
        keys: in the order in which Kafka writes them.
        format: how it says what they are.
        newer: whether a later version is read as the last one.
    """

    name: str
    versions: tuple[int, ...]
    keys: tuple[TextKey, ...]
    format: TextFormat = TextFormat.PROPERTIES
    newer: bool = False

    def knows(self, version: int) -> bool:
        """Return whether readers take a version."""
        return version in self.versions or (self.newer and version > self.versions[-1])

    def key_of(self, attribute: str, version: int) -> str:
        """Return the key of an attribute in a version."""
        return next(
            each.key
            for each in self.keys
            if each.attribute == attribute and version in each.versions
        )


@dataclass(frozen=True, slots=True)
class DeadLetterHeader:
    """A header that a writer of dead letters adds to a record.

    Attributes:
        key: of the header.
        field: what it says: ``topic``, ``partition``, ``offset`` of the record, ``message`` ...
        type: ``s4``, ``s8`` or ``str``.
    """

    key: str
    field: str
    type: str


@dataclass(frozen=True, slots=True)
class DeadLetterLayout:
    """The headers of dead letters by one writer.

    Attributes:
        writer: the writer.
        binary: whether numbers are big-endian bytes; they are text otherwise.
        headers: all that it may add.
    """

    writer: str
    binary: bool
    headers: tuple[DeadLetterHeader, ...]


class Layouts(dict[str, TypeLayout]):
    """Layouts by key of the type. The module of a specification is imported when it is asked for.

    Args:
        package: where the modules are.
        specs: their names.
    """

    def __init__(self, package: str, specs: Sequence[str]) -> None:
        super().__init__()
        self._package = package
        self._pending = set(specs)

    def __missing__(self, key: str) -> TypeLayout:
        spec = key.partition(".")[0]
        if spec not in self._pending:
            raise KeyError(key)
        self._load(spec)
        return self[key]

    def _load(self, spec: str) -> None:
        for layout in import_module(f"{self._package}.{spec}").LAYOUTS:
            self[layout.key] = layout
        self._pending.discard(spec)  # last: another thread may ask meanwhile

    def _load_all(self) -> None:
        for spec in sorted(self._pending):
            self._load(spec)

    def __contains__(self, key: object) -> bool:
        try:
            self[key]  # type: ignore[index]
        except (KeyError, AttributeError):
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        self._load_all()
        return super().__iter__()

    def __len__(self) -> int:
        self._load_all()
        return super().__len__()

    def keys(self) -> Any:
        """See ``dict``."""
        self._load_all()
        return super().keys()

    def values(self) -> Any:
        """See ``dict``."""
        self._load_all()
        return super().values()

    def items(self) -> Any:
        """See ``dict``."""
        self._load_all()
        return super().items()


Column = Callable[[str], Sequence[int]]
"""Function that returns a column by its name."""


@dataclass(frozen=True, slots=True)
class HeaderColumns:
    """The sources of the columns of a kind of entry whose header has a fixed size.

    Attributes:
        key: key of the type.
        size: bytes of the header, framing included.
        hop: function of a buffer, a position, the end of the input, which may be after that of the
            buffer, and the largest number of entries. It returns the positions of adjacent regular
            entries of the kind, then the end of the last one; and their headers.
        integers: columns that are stored.
        bits: columns that are stored in parts of integers.
        made: columns that follow from others.
        conditions: for columns that only some entries have: whether an entry has it.
    """

    key: str
    size: int
    hop: Callable[[bytes | bytearray | memoryview, int, int, int], tuple[list[int], bytes]]
    integers: Mapping[str, HeaderInteger]
    bits: Mapping[str, HeaderBits]
    made: Mapping[str, Callable[[Column], Sequence[int]]]
    conditions: Mapping[str, Callable[[Column], Sequence[int]]]
