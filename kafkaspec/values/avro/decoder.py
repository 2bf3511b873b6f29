"""Decodes Avro payloads of one schema to a column of the same or another schema."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kafkaspec.arrow.messages.reference import varint
from kafkaspec.values.avro.buffers import GiveUpError, Numbers, Payloads
from kafkaspec.values.avro.bulk import BulkPlan, NoPlanError, Planner
from kafkaspec.values.avro.columns import AvroColumn, column_of, finish
from kafkaspec.values.avro.compiling import Compiler
from kafkaspec.values.avro.reading import Read, ReadingState, read_bytes, read_payload
from kafkaspec.values.avro.schema import AvroKind, AvroNode, parse
from kafkaspec.values.avro.targets import AvroTarget
from kafkaspec.values.decoded import Decoded, Decoder, Failure, PayloadError, read_each
from kafkaspec.values.definition import Definition, SchemaError
from kafkaspec.values.options import Bounds, Options

_FEW = 16
"""Payloads below which one by one is faster."""


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
        read = Compiler(wanted).reader(writer, AvroTarget(wanted, column))
    except RecursionError:
        raise SchemaError("the schema is nested too deeply") from None
    return AvroDecoder(writer, column, read, _plan(writer, wanted, column, chosen), chosen)


def _plan(
    writer: AvroNode, wanted: AvroNode, column: AvroColumn, options: Options
) -> BulkPlan | None:
    try:
        return Planner(wanted, options.bounds.depth).plan(writer, AvroTarget(wanted, column))
    except (NoPlanError, SchemaError, RecursionError):
        return None


def _root(definition: Definition, options: Options) -> AvroNode:
    try:
        return parse(definition, options.bounds)
    except RecursionError:
        raise SchemaError("the schema is nested too deeply") from None


class AvroDecoder:
    """Decodes payloads, all at once where the schema has a plan, and else one by one."""

    def __init__(
        self,
        writer: AvroNode,
        column: AvroColumn,
        read: Read,
        plan: BulkPlan | None,
        options: Options,
    ) -> None:
        self._column = column
        self._read = read
        self._plan = plan
        self._options = options
        self._bytes = writer.kind == AvroKind.BYTES
        self._output = ReadingState(options.bounds).output

    @property
    def type(self) -> pa.DataType:
        return self._column.type

    def decode(self, payloads: pa.Array) -> Decoded:
        if self._bytes:
            payloads = _with_lengths(payloads)
        if self._plan is not None and len(payloads) >= _FEW:
            try:
                return self._at_once(self._plan, payloads)
            except GiveUpError:
                pass
        rows = np.arange(len(payloads))
        values, failures = self._one_by_one(payloads, rows)
        return Decoded(finish(values, self._column), failures)

    def _at_once(self, plan: BulkPlan, array: pa.Array) -> Decoded:
        """Decode payloads by a plan, and those that are bad one by one."""
        null = np.asarray(array.is_null())
        given = np.flatnonzero(~null)
        rows = array.drop_null() if len(given) < len(array) else array
        payloads = Payloads(rows, self._output, self._options.bounds.items)
        values, ends = plan(payloads, payloads.rows, payloads.begins)
        payloads.finished(ends)
        bad = np.flatnonzero(payloads.bad)
        failures: dict[int, Failure] = {}
        if len(bad) or len(given) < len(array):
            again, failures = self._one_by_one(array.take(pa.array(given[bad])), given[bad])
            order = np.zeros(len(array), np.int64)
            order[given] = np.arange(len(given))
            order[given[bad]] = np.arange(len(bad)) + len(given)
            values = pa.concat_arrays([values, again]).take(pa.array(order, mask=null))
        return Decoded(finish(values, self._column), failures)

    def _one_by_one(self, payloads: pa.Array, rows: Numbers) -> tuple[pa.Array, dict[int, Failure]]:
        """Return stored values, and failures by the numbers of the rows."""
        failures: dict[int, Failure] = {}
        state = ReadingState(self._options.bounds)
        given = zip(rows.tolist(), payloads.to_pylist(), strict=True)
        values = read_each(given, lambda data: read_payload(self._read, data, state), failures)
        return pa.array(values, self._column.stored), failures


def _with_lengths(payloads: pa.Array) -> pa.Array:
    """Return payloads of the schema ``"bytes"`` so that all begin with their length.

    Confluent's serializer for Java writes such values as they are, others with their length. A
    single payload says little, as the byte 0 is both: if not most of them are exactly as long as
    they say, none has a length.
    """
    raw = payloads.to_pylist()
    state = ReadingState(Bounds())
    exact = [data is None or _is_exact(data, state) for data in raw]
    given = len(raw) - payloads.null_count
    few = 2 * (sum(exact) - payloads.null_count) <= given
    return pa.array(
        [
            data if data is None or (known and not few) else varint(len(data) << 1) + data
            for data, known in zip(raw, exact, strict=True)
        ],
        pa.binary(),
    )


def _is_exact(data: bytes, state: ReadingState) -> bool:
    try:
        return read_bytes(data, 0, state)[1] == len(data)
    except PayloadError:
        return False
