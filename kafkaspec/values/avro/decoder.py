"""Decodes Avro payloads of one schema to a column of the same or another schema."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from kafkaspec.values.avro.columns import Column, column_of, finish
from kafkaspec.values.avro.compiling import Compiler
from kafkaspec.values.avro.reading import PayloadError, Read, State, read_bytes, read_payload
from kafkaspec.values.avro.schema import Kind, Node, parse
from kafkaspec.values.avro.targets import Target
from kafkaspec.values.decoded import Decoded, Decoder, Failure
from kafkaspec.values.definition import Definition, SchemaError
from kafkaspec.values.options import Options


def compile_avro(
    definition: Definition, reader: Definition | None = None, options: Options | None = None
) -> Decoder:
    """Return a decoder of payloads that were written with an Avro schema.

    Args:
        definition: the schema that payloads were written with.
        reader: the schema that they are read as, by Avro's rules for resolution; None for the
            writer's own. A payload that cannot be read so fails with ``Code.RESOLUTION``.
        options: how values become columns.

    Raises:
        SchemaError: a schema cannot be read, or takes more than a limit allows.
    """
    chosen = options or Options()
    writer = _root(definition, chosen)
    wanted = writer if reader is None else _root(reader, chosen)
    try:
        column = column_of(wanted, chosen)
        read = Compiler(wanted).reader(writer, Target(wanted, column))
    except RecursionError:
        raise SchemaError("the schema is nested too deeply") from None
    return AvroDecoder(writer, column, read, chosen)


def arrow_type(definition: Definition, options: Options | None = None) -> pa.DataType:
    """Return the type of the column that a schema's values become.

    Args:
        definition: an Avro schema.
        options: how values become columns.

    Raises:
        SchemaError: it cannot be read, or takes more than a limit allows.
    """
    chosen = options or Options()
    return column_of(_root(definition, chosen), chosen).type


def _root(definition: Definition, options: Options) -> Node:
    try:
        return parse(definition, options.bounds)
    except RecursionError:
        raise SchemaError("the schema is nested too deeply") from None


class AvroDecoder:
    """Decodes payloads row by row.

    Args:
        writer: schema of the payloads.
        column: the column.
        read: reads one payload as a value of the column.
        options: how values become columns.
    """

    def __init__(self, writer: Node, column: Column, read: Read, options: Options) -> None:
        self._column = column
        self._read = read
        self._options = options
        self._bytes = writer.kind == Kind.BYTES

    @property
    def type(self) -> pa.DataType:
        """The type of the column."""
        return self._column.type

    def decode(self, payloads: pa.Array) -> Decoded:
        """Decode payloads; see ``Decoder``."""
        if self._bytes and not _have_lengths(payloads):
            payloads = _with_lengths(payloads)
        return self._exact(payloads)

    def _exact(self, payloads: pa.Array) -> Decoded:
        """Decode payloads one by one."""
        failures: dict[int, Failure] = {}
        state = State(self._options.bounds)
        values: list[Any] = []
        for row, payload in enumerate(payloads):
            data = payload.as_py()
            value = None
            if data is not None:
                try:
                    value = read_payload(self._read, data, state)
                except PayloadError as bad:
                    failures[row] = bad.failure()
            values.append(value)
        return Decoded(finish(pa.array(values, self._column.stored), self._column), failures)


def _have_lengths(payloads: Iterable[Any]) -> bool:
    """Return whether all payloads of the schema ``"bytes"`` begin with their length.

    Confluent's serializer for Java writes such values as they are, others with their length. What
    a single payload looks like says little: the byte 0 is both.
    """
    state = State(Options().bounds)
    for payload in payloads:
        data = payload.as_py()
        if data is not None:
            try:
                _, end = read_bytes(data, 0, state)
            except PayloadError:
                return False
            if end != len(data):
                return False
    return True


def _varint(number: int) -> bytes:
    number <<= 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _with_lengths(payloads: pa.Array) -> pa.Array:
    raw = payloads.to_pylist()
    return pa.array(
        [None if data is None else _varint(len(data)) + data for data in raw], pa.binary()
    )
