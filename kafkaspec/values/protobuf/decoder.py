"""Decoders of Protobuf messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.options import checked
from kafkaspec.values.decoded import Code, Decoded, Failure
from kafkaspec.values.definition import Definition, SchemaError
from kafkaspec.values.options import Bounds, Options
from kafkaspec.values.protobuf.arrays import JsonTexts
from kafkaspec.values.protobuf.exact import Exact
from kafkaspec.values.protobuf.fast import Fast, SlowError
from kafkaspec.values.protobuf.plan import plan
from kafkaspec.values.protobuf.schema import Order, ProtobufSchema, read_schema
from kafkaspec.values.protobuf.wire import Rules

DecodingWay: TypeAlias = Literal["fast", "exact"]

PIECE = 4096
"""Rows that the exact way reads before it makes columns of them."""
_OPTIONS = Options()
_BOUNDS = Bounds()


class ProtobufDecoder:
    """Decodes messages of one type, which an index list chose by an order of messages."""

    def __init__(
        self, schema: ProtobufSchema, message: str, order: Order, options: Options, way: DecodingWay
    ) -> None:
        self.message = message
        self.order = order
        root = plan(schema, message, options)
        self._type = root.type
        self._bounds = options.bounds
        self._rules = Rules(schema, message, options.bounds)
        texts = JsonTexts(schema, options.bounds)
        self._exact = Exact(root, texts, options.bounds)
        self._fast: Fast | None = None
        if way == "fast":
            with suppress(SlowError):
                self._fast = Fast(root, texts)

    @property
    def type(self) -> pa.DataType:
        return self._type

    @property
    def is_fast(self) -> bool:
        """Whether messages of the type can be decoded all at once."""
        return self._fast is not None

    def decode(self, payloads: pa.Array) -> Decoded:
        """Decode messages without a frame and without an index list."""
        size = len(payloads)
        failures: dict[int, Failure] = {}
        right = self._readable(payloads, failures)
        left = right
        pieces = [pa.nulls(1, self._type)]
        places = np.zeros(size, np.int64)
        if self._fast is not None and size:
            whole = bool(right.all())
            # What cannot be read is read as a message of no bytes, and made a null.
            found = payloads if whole else pc.if_else(pa.array(right), payloads, b"")
            with suppress(SlowError):
                values, doubtful = self._fast.decode(found, None if whole else ~right)
                left = right & doubtful
                if not left.any():
                    return Decoded(values, failures)
                pieces, places = [values], np.arange(size)
        rows = np.flatnonzero(left)
        for begin in range(0, len(rows), PIECE):
            part = rows[begin : begin + PIECE]
            values, others = self._exact.decode(payloads.take(pa.array(part)).to_pylist())
            failures |= {int(part[row]): failure for row, failure in others.items()}
            places[part] = sum(map(len, pieces)) + np.arange(len(part))
            pieces.append(values)
        return Decoded(pa.concat_arrays(pieces).take(pa.array(places)), failures)

    def _readable(self, payloads: pa.Array, failures: dict[int, Failure]) -> Any:
        """Return which rows can be read; say in ``failures`` why others cannot."""
        valid = np.ones(len(payloads), np.bool_)
        if payloads.null_count:
            valid = payloads.is_valid().to_numpy(zero_copy_only=False)
        right, widths = self._rules.check(payloads)
        for row in np.flatnonzero(valid & ~right).tolist():
            failures[row] = self._rules.explain(payloads[row].as_py())
        most = self._bounds.output_bytes
        if not payloads.null_count and right.all() and int(widths.sum()) <= most:
            return right
        widths = np.where(valid & right, widths, self._rules.width)
        room = (widths <= most) & (np.cumsum(np.where(widths <= most, widths, 0)) <= most)
        for row in np.flatnonzero(valid & right & ~room).tolist():
            failures[row] = Failure(Code.BOUND, "the columns of the batch are too large")
        return valid & right & room


def messages(definition: Definition, bounds: Bounds = _BOUNDS) -> list[str]:
    """Return full names of the messages that a schema declares, in the order of its text."""
    return read_schema(definition, bounds).messages()


def resolve_indexes(
    definition: Definition, indexes: Sequence[int], sample: pa.Array, bounds: Bounds = _BOUNDS
) -> tuple[Order, str]:
    """Return which message a list of indexes means, and how it has to be understood.

    Programs count messages in two ways, and one release wrote lists in reverse. The first way
    counts for which there is a message that knows a field of the sample.
    """
    schema = read_schema(definition, bounds)
    found = schema.candidates(indexes)
    payloads = [payload for payload in sample.to_pylist() if payload]
    for order, name in found.items():
        if not payloads or any(map(Rules(schema, name, bounds).knows, payloads)):
            return order, name
    return _first(found, indexes)


def _first(found: Mapping[Order, str], indexes: Sequence[int]) -> tuple[Order, str]:
    for item in found.items():
        return item
    raise SchemaError(f"the schema has no message with the indexes {list(indexes)}")


@checked
def compile_protobuf(
    definition: Definition,
    message: Sequence[int] | str,
    reader: Definition | None = None,
    options: Options = _OPTIONS,
    way: DecodingWay = "fast",
) -> ProtobufDecoder:
    """Return a decoder of one type of messages.

    Args:
        definition: the schema that they were written with.
        message: their type: its name, full or without the package, or the list of indexes before
            them.
        reader: another version of the schema, whose message of that name they are read as: fields
            are the same that have one number.
        options: how they become columns.
        way: ``fast``: all rows at once, and the exact way where that cannot be. ``exact``: row by
            row, by Google's library. Both give the same.

    Raises:
        SchemaError: a schema cannot be read, or has no such message.
    """
    schema = read_schema(definition, options.bounds)
    order = Order.NAME
    if isinstance(message, str):
        name = schema.full_name(message)
    else:
        order, name = _first(schema.candidates(message), message)
    if reader is not None:
        schema = read_schema(reader, options.bounds)
    return ProtobufDecoder(schema, name, order, options, way)
