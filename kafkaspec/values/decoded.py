"""The result of a decoder of values: a typed column, and why rows of it have no value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa


class Code(StrEnum):
    """Why a row has no value: the text of the column ``value_error``."""

    UNKNOWN_ID = "unknown_id"
    """No schema has the id or GUID of the row."""
    NOT_FRAMED = "not_framed"
    """The bytes do not begin as the format of the column does."""
    TRUNCATED = "truncated"
    """The bytes end within a value."""
    TRAILING = "trailing"
    """Bytes follow the value."""
    BAD_UTF8 = "bad_utf8"
    """A text is not UTF-8."""
    BOUND = "bound"
    """The value takes more than a limit allows; see ``Bounds``."""
    DEPTH = "depth"
    """The value is nested more deeply than a limit allows."""
    MESSAGE_INDEX = "message_index"
    """No message of the Protobuf schema has the index of the row."""
    MISSING_REQUIRED = "missing_required"
    """A field that has to be there is not."""
    RESOLUTION = "resolution"
    """The value cannot be read as the schema that was asked for."""
    MALFORMED = "malformed"
    """The bytes are none that the schema or format allows."""
    RANGE = "range"
    """The value has no place in the type of the column."""
    UNSUPPORTED = "unsupported"
    """The schema, or what it asks for (a key for encrypted fields), is not supported."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one row has no value.

    Attributes:
        code: short code, for the column of errors.
        reason: what is wrong, for people.
        position: byte position in the key or value as the record has it, None if there is no
            certain one. A decoder counts from the start of its payload.
        path: path of the field: ``address.street``; empty for the whole value.
    """

    code: Code
    reason: str
    position: int | None = None
    path: str = ""


class PayloadError(Exception):
    """A payload has no value.

    Attributes:
        path: names of the fields around what is wrong, innermost first: added on the way up.
    """

    def __init__(self, code: Code, reason: str, position: int | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.position = position
        self.path: list[str] = []

    @property
    def failure(self) -> Failure:
        """The same as the failure of a row."""
        path = ".".join(reversed(self.path)).replace(".[", "[")
        return Failure(self.code, str(self), self.position, path)


@dataclass(frozen=True, slots=True)
class Decoded:
    """Values of some rows.

    Attributes:
        values: an Arrow array of the decoder's ``type``, as long as the payloads: null for a null
            payload and for a row that failed.
        failures: why rows have no value, by number of the row.
    """

    values: pa.Array
    failures: Mapping[int, Failure] = field(default_factory=dict)


class Decoder(Protocol):
    """Decodes payloads of one schema or format to a column.

    A payload has no frame: what says the id of a schema is taken off before. Decoders can be used
    again and from several threads, and keep no data that they read.
    """

    @property
    def type(self) -> pa.DataType:
        """The type of the column."""

    def decode(self, payloads: pa.Array) -> Decoded:
        """Decode payloads.

        Args:
            payloads: ``binary``, without an offset or with one. A null is a null value and no
                failure.

        A payload never raises an error: what is wrong with it is its failure, and the other rows
        are decoded all the same.
        """


@runtime_checkable
class RecordDecoder(Protocol):
    """Decodes records of one format to a column.

    Whoever has records asks ``isinstance(decoder, RecordDecoder)``, and else uses a ``Decoder``.
    """

    @property
    def type(self) -> pa.DataType:
        """The type of the column."""

    def decode_records(self, values: pa.Array, headers: pa.Array) -> Decoded:
        """Decode records.

        A record never raises an error; see ``Decoder.decode``.
        """


def read_each(
    rows: Iterable[tuple[int, Any]], read: Callable[[Any], Any], failures: dict[int, Failure]
) -> list[Any]:
    """Return what is read of each row; None for a null, and where it fails, which is noted."""
    values: list[Any] = []
    for row, data in rows:
        value = None
        if data is not None and row not in failures:
            try:
                value = read(data)
            except PayloadError as error:
                failures[row] = error.failure
            except UnicodeDecodeError as error:
                failures[row] = Failure(Code.BAD_UTF8, error.reason)
        values.append(value)
    return values


@dataclass(frozen=True, slots=True)
class RowDecoder:
    """Decodes payloads one by one by a function, which may raise ``PayloadError``."""

    type: pa.DataType
    read: Callable[[bytes], Any]

    def decode(self, payloads: pa.Array) -> Decoded:
        failures: dict[int, Failure] = {}
        values = read_each(enumerate(payloads.to_pylist()), self.read, failures)
        return Decoded(pa.array(values, self.type), failures)
