"""Decoders of Protobuf messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from kafkaspec.values.decoded import Code, Decoded, Failure
from kafkaspec.values.definition import Definition, SchemaError
from kafkaspec.values.options import Bounds, Options
from kafkaspec.values.protobuf.exact import Exact
from kafkaspec.values.protobuf.plan import plan
from kafkaspec.values.protobuf.schema import Order, Schema, read_schema
from kafkaspec.values.protobuf.wire import check, knows, layouts

_OPTIONS = Options()
_BOUNDS = Bounds()


class ProtobufDecoder:
    """Decodes messages of one type; see ``kafkaspec.values.decoded.Decoder``.

    Attributes:
        message: full name of the message.
        order: how the index list was understood that chose the message.
    """

    def __init__(self, schema: Schema, message: str, order: Order, options: Options) -> None:
        self.message = message
        self.order = order
        root = plan(schema, message, options)
        self._type = root.type
        self._bounds = options.bounds
        self._layouts = layouts(schema, message)
        self._exact = Exact(schema, root, options.bounds)

    @property
    def type(self) -> pa.DataType:
        """The type of the column."""
        return self._type

    def decode(self, payloads: pa.Array) -> Decoded:
        """Decode messages without a frame and without an index list."""
        found = payloads.to_pylist()
        failures = self._check(found)
        values, others = self._exact.decode(
            [None if row in failures else payload for row, payload in enumerate(found)]
        )
        return Decoded(values, {**failures, **others})

    def _check(self, payloads: Sequence[bytes | None]) -> dict[int, Failure]:
        """Return what is wrong with the bytes of messages."""
        failures: dict[int, Failure] = {}
        room = self._bounds.output_bytes
        for row, payload in enumerate(payloads):
            width: int | Failure = self._layouts.width
            if payload is not None:
                width = check(payload, self._layouts, self._bounds)
            if isinstance(width, Failure):
                failures[row] = width
            elif payload is not None and width > room:
                failures[row] = Failure(Code.BOUND, "the columns of the batch are too large")
            else:
                room -= width
        return failures


def messages(definition: Definition, bounds: Bounds = _BOUNDS) -> list[str]:
    """Return full names of the messages that a schema declares, in the order of its text.

    Raises:
        SchemaError: the schema cannot be read.
    """
    return read_schema(definition, bounds).messages()


def resolve_indexes(
    definition: Definition, indexes: Sequence[int], sample: pa.Array, bounds: Bounds = _BOUNDS
) -> tuple[Order, str]:
    """Return which message a list of indexes means, and how it has to be understood.

    Programs count messages in two ways, and one release wrote lists in reverse. The first way
    counts for which there is a message that knows a field of the sample.

    Args:
        definition: the schema.
        indexes: the list.
        sample: some messages that came after it.
        bounds: limits.

    Raises:
        SchemaError: the schema cannot be read, or has no such message.
    """
    schema = read_schema(definition, bounds)
    found = schema.candidates(indexes)
    payloads = [payload for payload in sample.to_pylist() if payload]
    for order, name in found.items():
        fields = layouts(schema, name)
        if not payloads or any(knows(payload, fields, bounds) for payload in payloads):
            return order, name
    return _first(found, indexes)


def _first(found: Mapping[Order, str], indexes: Sequence[int]) -> tuple[Order, str]:
    for item in found.items():
        return item
    raise SchemaError(f"the schema has no message with the indexes {list(indexes)}")


def compile_protobuf(
    definition: Definition,
    message: Sequence[int] | str,
    reader: Definition | None = None,
    options: Options = _OPTIONS,
) -> ProtobufDecoder:
    """Return a decoder of one type of messages.

    Args:
        definition: the schema that they were written with.
        message: their type: its name, full or without the package, or the list of indexes before
            them.
        reader: another version of the schema, whose message of that name they are read as: fields
            are the same that have one number.
        options: how they become columns.

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
    return ProtobufDecoder(schema, name, order, options)
