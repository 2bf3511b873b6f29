"""Names and Arrow types of the columns, and requests for them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Unpack

import pyarrow as pa

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.columns.memory import Unpacked
from kafkaspec.columns.records import OWN, OwnColumn
from kafkaspec.columns.wanted import HIGHEST, LOWEST, Wanted
from kafkaspec.layout import FieldLayout, Kind, names
from kafkaspec.layout.kinds import KINDS, header_fields, value_names
from kafkaspec.log.batch import NO_TIMESTAMP_TYPE
from kafkaspec.log.batch import TIMESTAMP_TYPES as STORED_TIMESTAMP_TYPES
from kafkaspec.log.options import ByteLayout, ColumnOptions, HeaderKeys
from kafkaspec.log.transactions import AbortedTransactions
from kafkaspec.options import checked
from kafkaspec.policy import OnError
from kafkaspec.times import with_milliseconds

if TYPE_CHECKING:
    from kafkaspec.arrow.where.condition import Where

TIMESTAMP_TYPES: Final = (*STORED_TIMESTAMP_TYPES, NO_TIMESTAMP_TYPE)
"""Timestamp types: by what is stored in a batch, the last one for magic 0."""


def whole_numbers(values: Sequence[int]) -> pa.Array:
    """Return 64-bit integers as an array; ``pa.array`` would import pandas where that is there."""
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(array("q", values))])


UNTIMED: Final = whole_numbers([kind.magic for kind in KINDS.values() if not kind.has_timestamps])
"""Magics whose records have no timestamps."""

MESSAGES: Final = whole_numbers([kind.magic for kind in KINDS.values() if not kind.has_record_sets])
"""Magics whose entries are single messages or wrappers."""

COMPRESSIONS: Final = value_names(names.COMPRESSION)
"""Names of compression types, by stored id."""

CONTROL_TYPES: Final = (*(kind.name for kind in ControlRecordType), "UNKNOWN")

DEFAULT_COLUMNS: Final = ("offset", "timestamp", "timestamp_type", "key", "value", "headers")
PLACE_COLUMNS: Final = ("topic", "partition")

_TEXT: Final = pa.dictionary(pa.int8(), pa.string())
TIMESTAMP: Final = pa.timestamp("ms", tz="UTC")


def integer_type(name: str) -> pa.DataType:
    """Return a type with room for a number of headers, whatever their kind, and for -1."""
    fields = header_fields(name)
    bits = max(f.largest.bit_length() + 1 if f.kind is Kind.INTEGER else 64 for f in fields)
    kinds = (pa.int8(), pa.int16(), pa.int32())
    return next((kind for kind in kinds if bits <= kind.bit_width), pa.int64())


SIMPLE: Final[dict[str, tuple[pa.DataType, bool]]] = {
    "offset": (pa.int64(), False),
    "timestamp": (TIMESTAMP, True),
    "timestamp_type": (_TEXT, False),
    "topic": (pa.dictionary(pa.int32(), pa.string()), True),
    "partition": (pa.int32(), True),
    "leader_epoch": (integer_type(names.LEADER_EPOCH), False),
    "magic": (integer_type(names.MAGIC), False),
    "compression": (_TEXT, False),
    "producer_id": (pa.int64(), False),
    "producer_epoch": (integer_type(names.PRODUCER_EPOCH), False),
    "sequence": (integer_type(names.BASE_SEQUENCE), False),
    "transactional": (pa.bool_(), False),
    "control_type": (_TEXT, True),
    "batch_position": (pa.int64(), False),
    "batch_base_offset": (pa.int64(), False),
    "own_timestamp": (TIMESTAMP, True),
}
"""Type and nullability of the columns that are the same in all layouts."""


def _own_type(column: OwnColumn) -> pa.DataType | None:
    """Return the type of a column that only the specification knows; None if there is none."""
    found = {_type_of(field) for field in column.fields.values()}
    if len(found) == 1:
        return found.pop()
    integers = None not in found and all(map(pa.types.is_integer, found))
    return pa.int64() if integers and pa.uint64() not in found else None


def _type_of(field: FieldLayout) -> pa.DataType | None:
    if field.repeated:
        return None
    match field.kind:
        case Kind.INTEGER:
            return INTEGERS[field.size, field.signed]
        case Kind.BITS:
            bits = next(size for size in (1, 2, 4, 8) if field.width <= 8 * size)
            return pa.bool_() if field.boolean else INTEGERS[bits, False]
        case Kind.FLOAT:
            return pa.float64()
        case Kind.BYTES:
            return pa.binary()
        case Kind.SCALAR:
            return _SCALARS.get(LAYOUTS[field.type].scalar, pa.binary())
    return None


INTEGERS: Final = {
    (size, signed): getattr(pa, f"{'' if signed else 'u'}int{8 * size}")()
    for size in (1, 2, 4, 8)
    for signed in (True, False)
}
"""Types of integers by their bytes, and by whether they are signed."""
_SCALARS: Final = {
    "varint32": pa.int32(), "varint64": pa.int64(), "unsigned_varint32": pa.uint32()
}  # fmt: skip

OWN_TYPES: Final = {
    name: kind for name, column in OWN.items() if (kind := _own_type(column)) is not None
}
"""Types of the columns of fields that only the specification knows, as far as they have one."""

DEFAULT_OWN: Final = tuple(name for name in OWN_TYPES if not OWN[name].of_batch)
"""Those of records, which belong to what a record says."""

WITHOUT_COLUMN: Final = tuple(name for name in OWN if name not in OWN_TYPES)
"""Fields that only the specification knows, and that no type of a column can hold."""

COLUMNS: Final = (
    *DEFAULT_COLUMNS,
    *(name for name in SIMPLE if name not in DEFAULT_COLUMNS),
    *OWN_TYPES,
)


def bytes_type(layout: ByteLayout) -> pa.DataType:
    """Return the type of keys and values."""
    return pa.binary_view() if layout == "view" else pa.binary()


def header_key_type(layout: ByteLayout, header_keys: HeaderKeys) -> pa.DataType:
    """Return the type of header keys."""
    if header_keys == "binary":
        return bytes_type(layout)
    return pa.string_view() if layout == "view" else pa.string()


def headers_type(layout: ByteLayout, header_keys: HeaderKeys) -> pa.DataType:
    """Return the type of the headers of a record."""
    key = pa.field("key", header_key_type(layout, header_keys), nullable=False)
    return pa.list_(
        pa.field("item", pa.struct([key, pa.field("value", bytes_type(layout))]), nullable=False)
    )


@dataclass(frozen=True)
class ColumnPlace:
    """Topic and partition of a log, from the name of its directory.

    Attributes:
        topic: name of the topic; None if not known.
        partition: number of the partition; None if not known.
        topics: all topics of a log directory, so that all record batches share one dictionary.
    """

    topic: str | None = None
    partition: int | None = None
    topics: tuple[str, ...] = ()


@checked
@dataclass(frozen=True)
class Request(Wanted):
    """Request for columns and rows; see ``Columnar.to_batches``.

    ``progress`` is called with the name of a file and the number of bytes just read from it.

    ``compact`` frees the unused part of buffers with copied bytes, at the cost of another copy of
    some of them. Use it for tables, which keep their record batches.

    ``on_unreadable`` says what happens with a partition or segment that cannot be read at all.

    ``unpacked`` is called with the position of each entry that was decompressed, and the bytes of
    its records before and after.

    ``jobs`` is the number of threads that work at the same time, that of the caller included.

    ``where`` is a condition on the records.
    """

    columns: tuple[str, ...]
    layout: ByteLayout = "view"
    header_keys: HeaderKeys = "string"
    compact: bool = False
    on_unreadable: OnError = "raise"
    progress: Callable[[str, int], None] | None = None
    unpacked: Unpacked | None = None
    jobs: int = 1
    where: Where | None = None

    def __post_init__(self) -> None:
        """Clamp bounds to 64 bits: a start above them selects nothing, an end is not a bound."""
        for what in ("offset", "timestamp"):
            low, high = getattr(self, f"start_{what}"), getattr(self, f"end_{what}")
            if high is not None and high > HIGHEST:
                high = None
                if low is None and what == "timestamp":
                    low = LOWEST  # any bound excludes records without a timestamp
            if low is not None and low > HIGHEST:
                high = LOWEST
            object.__setattr__(self, f"start_{what}", _clamped(low))
            object.__setattr__(self, f"end_{what}", _clamped(high))

    @property
    def by_timestamp(self) -> bool:
        """Whether records are chosen by their timestamps."""
        return self.start_timestamp is not None or self.end_timestamp is not None

    @property
    def by_offset(self) -> bool:
        """Whether records are chosen by their offsets."""
        return self.start_offset is not None or self.end_offset is not None

    @property
    def schema(self) -> pa.Schema:
        """The schema of the requested columns."""
        return pa.schema([self.field(name) for name in self.columns])

    def field(self, name: str) -> pa.Field:
        """Return the field of a column."""
        if name in ("key", "value"):
            return pa.field(name, bytes_type(self.layout))
        if name == "headers":
            return pa.field(name, headers_type(self.layout, self.header_keys), nullable=False)
        if name in OWN_TYPES:
            kind = OWN_TYPES[name]
            return pa.field(name, bytes_type(self.layout) if kind == pa.binary() else kind)
        kind, nullable = SIMPLE[name]
        return pa.field(name, kind, nullable=nullable)


class RequestOptions(ColumnOptions, total=False):
    """The attributes of a ``Request`` but for its columns and its condition."""

    compact: bool
    start_position: int
    end_position: int | None
    on_unreadable: OnError
    aborted: AbortedTransactions
    progress: Callable[[str, int], None] | None
    unpacked: Unpacked | None
    jobs: int


def request_of(
    default: Sequence[str],
    columns: Sequence[str] | None,
    *,
    where: Where | None = None,
    **options: Unpack[RequestOptions],
) -> Request:
    """Return a valid request.

    Args:
        default: names of the columns if ``columns`` is None.
        columns: names of the columns.
        where: a condition on the records.
        options: other attributes of the request.

    Raises:
        ValueError: a column or option is invalid, a column is named twice, or none is named.
    """
    if isinstance(columns, str):
        raise ValueError("columns is a list of names")
    wanted = tuple(default if columns is None else columns)
    unknown = [name for name in wanted if name not in COLUMNS]
    if unknown and unknown[0] in WITHOUT_COLUMN:
        raise ValueError(f"{unknown[0]} is an array or a choice, which no column can hold")
    if unknown:
        raise ValueError(f"no column {unknown[0]!r}; there are {', '.join(COLUMNS)}")
    if not wanted or len(set(wanted)) < len(wanted):
        raise ValueError("give at least one column, and none of them twice")
    request = Request(wanted, where=where, **with_milliseconds(options))
    if not 0 < request.max_bytes <= MAX_CHUNK:
        raise ValueError(f"max_bytes is between 1 and {MAX_CHUNK}")
    return request if where is None else suited(request, where)


def suited(request: Request, where: Where) -> Request:
    """Return a request with a condition that suits its columns, and no wider than the condition.

    Raises:
        ValueError: the condition does not suit the columns.
    """
    where.check(replace(request, columns=COLUMNS).schema)
    return where.narrowed(request)


def _clamped(bound: int | None) -> int | None:
    return None if bound is None else min(max(bound, LOWEST), HIGHEST)


MAX_CHUNK: Final = 1 << 30
"""Largest ``max_bytes``: 32-bit offsets and views can address 2 GiB of a buffer."""
