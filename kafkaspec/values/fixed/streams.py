"""Keys and values in the internal topics of Kafka Streams, around those of the application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.values.decoded import Code, Decoded, Decoder, Failure, PayloadError, read_each
from kafkaspec.values.fixed.layouts import (
    MOMENT,
    Suffix,
    inner,
    of_other_size,
    parse,
    split,
    structs,
)

VERSION_HEADER: Final = "v"
"""Header with the version of the layout of buffered values."""
VERSION: Final = b"\x03"
"""The version that is read: all since Kafka 2.4.1."""

_MOMENTS: Final = frozenset({"start", "end", "timestamp", "time"})
_KINDS: Final = {4: pa.int32(), 8: pa.int64()}


@dataclass(frozen=True, slots=True)
class SuffixedKeyDecoder:
    """Decodes keys of an application with numbers after them.

    Attributes:
        inner: decoder of the key.
        suffix: the numbers.
    """

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
class JoinSideKeyDecoder:
    """Decodes keys of the store that both sides of an outer join share.

    Attributes:
        inner: decoder of the key.
    """

    inner: Decoder

    @property
    def type(self) -> pa.DataType:
        return pa.struct([("timestamp", MOMENT), ("is_left", pa.bool_()), ("key", self.inner.type)])

    def decode(self, payloads: pa.Array) -> Decoded:
        parsed, failures = _parsed("streams.join_side_key", payloads)
        keys = _part(self.inner, [each and each.key for each in parsed], "key", failures)
        times = [each and each.timestamp for each in parsed]
        columns = [pa.array(times, MOMENT), _sides(parsed), keys]
        return Decoded(structs(columns, self.type, failures), failures)


@dataclass(frozen=True, slots=True)
class JoinSideValueDecoder:
    """Decodes values of the store that both sides of an outer join share.

    Attributes:
        left: decoder of values of the left side.
        right: of the right side.
    """

    left: Decoder
    right: Decoder

    @property
    def type(self) -> pa.DataType:
        return pa.struct(
            [("is_left", pa.bool_()), ("left", self.left.type), ("right", self.right.type)]
        )

    def decode(self, payloads: pa.Array) -> Decoded:
        parsed, failures = _parsed("streams.join_side_value", payloads)
        columns = [_sides(parsed)]
        for decoder, side, name in ((self.left, True, "left"), (self.right, False, "right")):
            found = [
                each and (each.value if bool(each.is_left) is side else None) for each in parsed
            ]
            columns.append(_part(decoder, found, name, failures))
        return Decoded(structs(columns, self.type, failures), failures)


@dataclass(frozen=True, slots=True)
class SuppressedDecoder:
    """Decodes values in the changelog of ``suppress``: a change, and the record that made it.

    Attributes:
        inner: decoder of values of the application.
    """

    inner: Decoder

    @property
    def type(self) -> pa.DataType:
        header = pa.struct([("key", pa.string()), ("value", pa.binary())])
        return pa.struct(
            [
                ("time", MOMENT), ("timestamp", MOMENT), ("offset", pa.int64()),
                ("topic", pa.string()), ("partition", pa.int32()), ("headers", pa.list_(header)),
                ("prior", self.inner.type), ("old", self.inner.type), ("new", self.inner.type),
            ]
        )  # fmt: skip

    def decode_records(self, values: pa.Array, headers: pa.Array) -> Decoded:
        """Decode values, by the version of their layout in a header."""
        found = values.to_pylist()
        failures: dict[int, Failure] = {}
        for row, data in enumerate(found):
            if data is not None and (version := _version(headers[row].as_py())) != VERSION:
                reason = f"the header {VERSION_HEADER} is {version!r}, and {VERSION!r} is read"
                failures[row] = Failure(Code.UNSUPPORTED, reason)
        rows = read_each(enumerate(found), _buffered, failures)
        kinds = self.type
        columns = []
        for name in ("time", "timestamp", "offset", "topic", "partition", "headers"):
            column = [each and each[0][name] for each in rows]
            columns.append(pa.array(column, kinds.field(name).type))
        for place, name in enumerate(("prior_value", "old_value", "new_value")):
            part = [each and each[1][place] for each in rows]
            columns.append(_part(self.inner, part, name, failures))
        return Decoded(structs(columns, kinds, failures), failures)


def _buffered(data: bytes) -> Any:
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
    context = {
        "time": last.time,
        "timestamp": value.timestamp,
        "offset": value.offset,
        "topic": bytes(value.topic).decode(),
        "partition": value.partition,
        "headers": None
        if value.headers is None
        else [
            {"key": bytes(each.key).decode(), "value": _bytes(each.value)} for each in value.headers
        ],
    }
    return context, (prior, old, _bytes(last.new_value))


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


def _parsed(key: str, payloads: pa.Array) -> tuple[list[Any], dict[int, Failure]]:
    failures: dict[int, Failure] = {}
    rows = enumerate(payloads.to_pylist())
    return read_each(rows, lambda data: parse(key, data), failures), failures


def _sides(parsed: list[Any]) -> pa.Array:
    return pa.array([each and bool(each.is_left) for each in parsed], pa.bool_())


def _part(decoder: Decoder, parts: list[Any], path: str, failures: dict[int, Failure]) -> pa.Array:
    """Return a decoded part of each row, which may be None."""
    payloads = pa.array([None if part is None else bytes(part) for part in parts], pa.binary())
    return inner(decoder, payloads, path, failures)
