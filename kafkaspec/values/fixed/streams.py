"""Keys and values in the internal topics of Kafka Streams, around those of the application."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.values.decoded import Code, Decoded, Decoder, Failure, PayloadError, read_each
from kafkaspec.values.fixed.layouts import MOMENT, Suffix, inner, of_other_size, parse, split

VERSION_HEADER: Final = "v"
"""Header with the version of the layout of buffered values."""
VERSION: Final = b"\x03"
"""The version that is read: all since Kafka 2.4.1."""

_MOMENTS: Final = frozenset({"start", "end", "timestamp", "time"})
_KINDS: Final = {4: pa.int32(), 8: pa.int64()}


@dataclass(frozen=True, slots=True)
class SuffixedKeyDecoder:
    """Decodes keys of an application with numbers after them."""

    inner: Decoder
    suffix: Suffix

    @property
    def type(self) -> pa.DataType:
        return pa.struct([("key", self.inner.type), *self._columns()])

    def decode(self, payloads: pa.Array) -> Decoded:
        failures = of_other_size(payloads, self.suffix.size, "what follows the key", longer=False)
        rows, places = split(payloads, failures)
        owners = np.flatnonzero(np.asarray(places.is_valid()))
        bare = pc.binary_slice(rows, 0, -self.suffix.size).cast(pa.binary())
        keys = inner(self.inner, bare, "key", failures, owners)
        numbers = self.suffix.columns(rows)
        columns = [
            pa.array(numbers[name]).cast(kind).take(places) for name, kind in self._columns()
        ]
        mask = np.asarray(columns[0].is_null()).copy()
        mask[list(failures)] = True
        values = pa.StructArray.from_arrays(
            [keys.take(places), *columns], fields=list(self.type), mask=pa.array(mask)
        )
        return Decoded(values, failures)

    def _columns(self) -> list[tuple[str, pa.DataType]]:
        return [
            (each.id, MOMENT if each.id in _MOMENTS else _KINDS[each.size])
            for each in LAYOUTS[self.suffix.key].fields
        ]


@dataclass(frozen=True, slots=True)
class _PartsDecoder:
    """Decodes rows to structs of their parts.

    ``parts`` are types, or the decoders of bytes, whose place in a payload ``path`` names.
    """

    read: Callable[[bytes], dict[str, Any]]
    parts: dict[str, pa.DataType | Decoder]
    path: str = "{}"

    @property
    def type(self) -> pa.DataType:
        return pa.struct(
            [
                (name, kind if isinstance(kind, pa.DataType) else kind.type)
                for name, kind in self.parts.items()
            ]
        )

    def decode(self, payloads: pa.Array) -> Decoded:
        return self.decode_others(payloads, {})

    def decode_others(self, payloads: pa.Array, failures: dict[int, Failure]) -> Decoded:
        """Decode payloads but those that have failed already."""
        rows = read_each(enumerate(payloads.to_pylist()), self.read, failures)
        columns = []
        for name, kind in self.parts.items():
            values = [each and each[name] for each in rows]
            if isinstance(kind, pa.DataType):
                columns.append(pa.array(values, kind))
                continue
            octets = pa.array(
                [None if each is None else bytes(each) for each in values], pa.binary()
            )
            columns.append(inner(kind, octets, self.path.format(name), failures))
        mask = pa.array(
            [each is None or row in failures for row, each in enumerate(rows)], pa.bool_()
        )
        values = pa.StructArray.from_arrays(columns, fields=list(self.type), mask=mask)
        return Decoded(values, failures)


def join_side_key(key: Decoder) -> Decoder:
    """Return the decoder of keys of the store that both sides of an outer join share."""

    def read(data: bytes) -> dict[str, Any]:
        found = parse("streams.join_side_key", data)
        return {
            "timestamp": found.timestamp, "is_left": bool(found.is_left), "key": found.key,
        }  # fmt: skip

    return _PartsDecoder(read, {"timestamp": MOMENT, "is_left": pa.bool_(), "key": key})


def join_side_value(left: Decoder, right: Decoder) -> Decoder:
    """Return the decoder of values of that store, of which each is of one side."""

    def read(data: bytes) -> dict[str, Any]:
        found = parse("streams.join_side_value", data)
        sides = (found.value, None) if found.is_left else (None, found.value)
        return {"is_left": bool(found.is_left), "left": sides[0], "right": sides[1]}

    return _PartsDecoder(read, {"is_left": pa.bool_(), "left": left, "right": right})


@dataclass(frozen=True, slots=True)
class SuppressedDecoder:
    """Decodes values in the changelog of ``suppress``: a change, and the record that made it."""

    inner: Decoder

    @property
    def _parts(self) -> _PartsDecoder:
        header = pa.struct([("key", pa.string()), ("value", pa.binary())])
        parts = {
            "time": MOMENT, "timestamp": MOMENT, "offset": pa.int64(), "topic": pa.string(),
            "partition": pa.int32(), "headers": pa.list_(header),
            "prior": self.inner, "old": self.inner, "new": self.inner,
        }  # fmt: skip
        return _PartsDecoder(_buffered, parts, "{}_value")

    @property
    def type(self) -> pa.DataType:
        return self._parts.type

    def decode_records(self, values: pa.Array, headers: pa.Array) -> Decoded:
        """Decode values, by the version of their layout in a header."""
        failures: dict[int, Failure] = {}
        for row, present in enumerate(values.is_valid().to_pylist()):
            if present and (version := _version(headers[row].as_py())) != VERSION:
                reason = f"the header {VERSION_HEADER} is {version!r}, and {VERSION!r} is read"
                failures[row] = Failure(Code.UNSUPPORTED, reason)
        return self._parts.decode_others(values, failures)


def _buffered(data: bytes) -> dict[str, Any]:
    value = parse("streams.buffered_value", data)
    prior = _bytes(value.prior_value)
    base = len(data) - len(value.change)
    change = bytes(value.change)
    try:
        last, old = parse("streams.change_since_prior", change), prior
    except PayloadError as error:
        if not _has_other_mark(error):
            raise _within(error, base) from None
        try:
            last = parse("streams.change_of_old", change)
        except PayloadError as other:
            raise _within(other, base) from None
        old = _bytes(last.old_value)
    return {
        "time": last.time,
        "timestamp": value.timestamp,
        "offset": value.offset,
        "topic": bytes(value.topic).decode(),
        "partition": value.partition,
        "headers": value.headers
        and [
            {"key": bytes(each.key).decode(), "value": _bytes(each.value)} for each in value.headers
        ],
        "prior": prior,
        "old": old,
        "new": _bytes(last.new_value),
    }


def _has_other_mark(error: PayloadError) -> bool:
    """Return whether the first field, which says how a change is written, has another value."""
    cause = error.__cause__
    return isinstance(cause, KafkaSpecError) and cause.reason is Reason.INVALID_VALUE


def _within(error: PayloadError, base: int) -> PayloadError:
    error.position = None if error.position is None else error.position + base
    return error


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def _version(headers: list[dict[str, Any]] | None) -> bytes | None:
    """Return the last header with the version."""
    found = [each["value"] for each in headers or () if each["key"] == VERSION_HEADER]
    return found[-1] if found else None
