"""Typed columns of keys or values, as was planned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.nested import masked
from kafkaspec.values.avro.schema import full_name
from kafkaspec.values.decoded import Code, Decoded, Decoder, Failure
from kafkaspec.values.definition import Definition, SchemaError, SchemaType
from kafkaspec.values.fixed import CONNECT_CONFIG, RecordDecoder, fixed
from kafkaspec.values.fixed.debezium import unwrap, unwrapped_type
from kafkaspec.values.framing.frames import FRAMINGS, REF, SchemaKey, Split
from kafkaspec.values.options import DECODE, DEFAULT_OPTIONS, GIVEN, Options
from kafkaspec.values.plan import Plan, WriterSchema

if TYPE_CHECKING:
    from kafkaspec.values.rows import Integers

_SAMPLE: Final = 100
"""Messages that show how their indexes are to be understood."""


@dataclass(frozen=True, slots=True)
class ColumnOrigin:
    """The schema with which values were written: what frames say, its id, a message of Protobuf."""

    key: SchemaKey | None = None
    id: int | None = None
    message: str | None = None


@dataclass(slots=True)
class ColumnPart:
    """Rows of one schema, and their values; ``target`` is their type among those of the plan."""

    rows: Integers
    origin: ColumnOrigin
    target: int
    values: pa.Array


@dataclass(slots=True)
class ColumnParts:
    """The rows of a column by their schemas; rows without a value are in none.

    Attributes:
        count: number of all rows.
        parts: the rows of each schema.
        failures: why rows have no value, by number of the row.
        schema_ids: for each row the id of its schema, -1 for none.
        messages: for each row the number of its message in ``names``, -1 for none.
        names: full names of Protobuf messages.
    """

    count: int
    parts: list[ColumnPart] = field(default_factory=list)
    failures: dict[int, Failure] = field(default_factory=dict)
    schema_ids: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    messages: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    names: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Reading:
    """How rows of one schema are read, or why they are not."""

    origin: ColumnOrigin
    decoder: Decoder | None = None
    target: int = 0
    failure: Failure | None = None


class ValueColumn:
    """Makes a typed column as was planned."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._readings: dict[tuple[SchemaKey | None, SchemaHead | None], _Reading] = {}

    @cached_property
    def _fixed(self) -> Decoder | RecordDecoder | None:
        """The decoder of a format that has no schema."""
        plan = self.plan
        if plan.format in (DECODE, *GIVEN):
            return None
        wanted = plan.wanted
        return fixed(plan.format, wanted.options, sample=plan.sample, secrets=wanted.secrets)

    @property
    def hides(self) -> bool:
        """Whether values have secrets that the column does not show, so that nothing may."""
        return self.plan.format == CONNECT_CONFIG and not self.plan.wanted.secrets

    @cached_property
    def type(self) -> pa.DataType:
        """The type of the column; null with ``each``, where it depends on the schema."""
        return unwrapped_type(self._type) if self.plan.wanted.unwrap else self._type

    @cached_property
    def _type(self) -> pa.DataType:
        if self._fixed is not None:
            return self._fixed.type
        options = self.plan.wanted.options
        types = [
            compile_decoder(target.definition, message=target.message, options=options).type
            for target in self.plan.targets
        ]
        if len(types) < 2:
            return types[0] if types else pa.null()
        names = field_names([target.name for target in self.plan.targets])
        return pa.struct([pa.field(*pair) for pair in zip(names, types, strict=True)])

    def parts(self, values: pa.Array, headers: pa.Array | None) -> ColumnParts:
        """Decode keys or values (binary), each by its schema, which headers may name."""
        count = len(values)
        if self._fixed is not None:
            if isinstance(self._fixed, RecordDecoder):
                decoded = self._fixed.decode_records(values, headers)
            else:
                decoded = self._fixed.decode(values)
            rows = np.arange(count)
            nothing = np.full(count, -1, np.int64)
            part = ColumnPart(rows, ColumnOrigin(), 0, decoded.values)
            return ColumnParts(count, [part], dict(decoded.failures), nothing, nothing)
        if self.plan.framing is not None:
            split = FRAMINGS[self.plan.framing](values, headers, self.plan.side)
        else:
            codes = np.where(np.asarray(values.is_valid()), 0, -1)
            split = Split(values, [], codes, np.zeros(count, np.int64))
        found = ColumnParts(count, failures=dict(split.failures))
        found.schema_ids = np.full(count, -1, np.int64)
        found.messages = np.full(count, -1, np.int64)
        for rows, key in grouped(split):
            payloads = split.payloads if len(rows) == count else split.payloads.take(pa.array(rows))
            self._decode(key, rows, payloads, split.sizes, found)
        return found

    def _decode(
        self,
        key: SchemaKey | None,
        rows: Integers,
        payloads: pa.Array,
        sizes: Integers,
        found: ColumnParts,
    ) -> None:
        """Decode rows with one id; those of a Protobuf schema by the messages that they name."""
        writer = self._writer(key)
        definition = None if writer is None else writer.definition
        if key is None or definition is None or definition.type is not SchemaType.PROTOBUF:
            self._decode_as(key, None, rows, payloads, sizes[rows], found)
            return
        lists = split_messages(payloads, self.plan.framing or "")
        for place, failure in lists.failures.items():
            _add(found, int(rows[place]), failure, int(sizes[rows[place]]))
        heads = np.asarray(pc.binary_length(payloads)) - np.asarray(
            pc.binary_length(lists.payloads)
        )
        for number, indexes in enumerate(lists.values):
            chosen = np.flatnonzero(lists.groups == number)
            if not len(chosen):
                continue
            own = rows[chosen]
            rest = lists.payloads
            rest = rest if len(chosen) == len(rest) else rest.take(pa.array(chosen))
            before = sizes[own] + heads[chosen].astype(np.int64)
            self._decode_as(key, indexes, own, rest, before, found)

    def _writer(self, key: SchemaKey | None) -> WriterSchema | None:
        return self.plan.writer if key is None else self.plan.writers.get(key)

    def _decode_as(
        self,
        key: SchemaKey | None,
        indexes: SchemaHead | None,
        rows: Integers,
        payloads: pa.Array,
        before: Integers,
        found: ColumnParts,
    ) -> None:
        reading = self._reading(key, indexes, payloads)
        if reading.origin.id is not None:
            found.schema_ids[rows] = reading.origin.id
        if reading.origin.message is not None:
            if reading.origin.message not in found.names:
                found.names.append(reading.origin.message)
            found.messages[rows] = found.names.index(reading.origin.message)
        if reading.decoder is None:
            assert reading.failure is not None
            found.failures |= dict.fromkeys(rows.tolist(), reading.failure)
            return
        decoded: Decoded = reading.decoder.decode(payloads)
        for place, failure in decoded.failures.items():
            _add(found, int(rows[place]), failure, int(before[place]))
        found.parts.append(ColumnPart(rows, reading.origin, reading.target, decoded.values))

    def _reading(
        self, key: SchemaKey | None, indexes: SchemaHead | None, payloads: pa.Array
    ) -> _Reading:
        place = key, indexes
        if place not in self._readings:
            if len(self._readings) >= self.plan.wanted.options.bounds.decoders:
                del self._readings[next(iter(self._readings))]
            self._readings[place] = self._compiled(key, indexes, payloads)
        return self._readings[place]

    def _compiled(
        self, key: SchemaKey | None, indexes: SchemaHead | None, payloads: pa.Array
    ) -> _Reading:
        writer = self._writer(key)
        if writer is None:
            return _refused(ColumnOrigin(key), Code.UNKNOWN_ID, f"no schema has the {key}")
        origin = ColumnOrigin(key, writer.id)
        if writer.definition is None:
            return _refused(origin, Code.UNSUPPORTED, writer.problem)
        if writer.definition.type is SchemaType.PROTOBUF:
            try:
                message = self._message(writer.definition, indexes, payloads)
            except SchemaError as error:
                return _refused(origin, Code.MESSAGE_INDEX, str(error))
            origin = replace(origin, message=message)
        target = self._target_of(writer, origin)
        if target is None:
            reason = "it is of none of the types that the column has"
            return _refused(origin, Code.RESOLUTION, reason)
        try:
            decoder = self._decoder(writer.definition, origin.message, target)
        except SchemaError as error:
            return _refused(origin, Code.UNSUPPORTED, str(error))
        return _Reading(origin, decoder, max(target, 0))

    def _message(
        self, definition: Definition, indexes: SchemaHead | None, payloads: pa.Array
    ) -> str:
        """Return the full name of the message that indexes mean; of bare ones, the one planned."""
        if indexes is None:
            planned = self.plan.targets[0].message if self.plan.targets else None
            return first_message(definition) if planned is None else planned
        _, name = message_of(definition, indexes, payloads.slice(0, _SAMPLE))
        return name

    def _decoder(self, definition: Definition, message: str | None, target: int) -> Decoder:
        reader = self.plan.targets[target].definition if target >= 0 else definition
        return compile_decoder(
            definition,
            message=message,
            reader=None if reader == definition else reader,
            options=self.plan.wanted.options,
        )

    def _target_of(self, writer: WriterSchema, origin: ColumnOrigin) -> int | None:
        """Return the number of the type that a schema is read as, -1 for its own, None for none."""
        targets = self.plan.targets
        if not targets:
            return -1
        if origin.message is not None:
            names, name = [target.message for target in targets], origin.message
        elif len(targets) == 1:
            return 0
        else:
            names, name = [target.name for target in targets], writer.name
        return names.index(name) if name in names else None

    def array(self, found: ColumnParts) -> pa.Array:
        made = self._array(found)
        return unwrap(made) if self.plan.wanted.unwrap else made

    def _array(self, found: ColumnParts) -> pa.Array:
        if len(self.plan.targets) < 2:
            return _gathered(found.parts, found.count, self._type)
        children = []
        present = np.zeros(found.count, np.bool_)
        for number, kind in enumerate(self._type):
            own = [part for part in found.parts if part.target == number]
            child = _gathered(own, found.count, kind.type)
            present |= np.asarray(child.is_valid())
            children.append(child)
        mask = None if present.all() else pa.array(~present)
        return pa.StructArray.from_arrays(children, fields=list(self._type), mask=mask)


def field_names(names: list[str]) -> list[str]:
    """Return names of fields for full names: the last parts, or all of them if those repeat."""
    short = [name.rpartition(".")[2] or f"schema_{place}" for place, name in enumerate(names)]
    folded = [name.casefold() for name in short]
    return [
        text if folded.count(text.casefold()) == 1 else (name or text)
        for name, text in zip(names, short, strict=True)
    ]


def grouped(split: Split) -> Iterator[tuple[Integers, SchemaKey | None]]:
    if not split.schemas:
        rows = np.flatnonzero(split.codes == 0)
        if len(rows):
            yield rows, None
        return
    order = np.argsort(split.codes, kind="stable")
    bounds = np.searchsorted(split.codes[order], np.arange(len(split.schemas) + 1))
    for number, key in enumerate(split.schemas):
        rows = order[bounds[number] : bounds[number + 1]]
        if len(rows):
            yield rows, key


def _gathered(parts: list[ColumnPart], count: int, kind: pa.DataType) -> pa.Array:
    """Return the values of parts, each in its row; null in the others."""
    if not parts:
        return masked(pa.nulls(count, kind))
    if len(parts) == 1 and len(parts[0].rows) == count:
        return parts[0].values
    places = np.full(count, -1, np.int64)
    start = 0
    for part in parts:
        places[part.rows] = np.arange(start, start + len(part.rows))
        start += len(part.rows)
    whole = pa.concat_arrays([part.values for part in parts])
    return masked(whole.take(pa.array(places, mask=places < 0)))


def _refused(origin: ColumnOrigin, code: Code, reason: str) -> _Reading:
    return _Reading(origin, failure=Failure(code, reason))


def _add(found: ColumnParts, row: int, failure: Failure, before: int) -> None:
    """Add a failure; its position is counted from the start of the key or value."""
    if failure.position is not None:
        failure = replace(failure, position=failure.position + before)
    found.failures[row] = failure


SchemaHead = tuple[int, ...] | str
"""What says the message before a Protobuf payload: its indexes, or its name."""

if TYPE_CHECKING:
    from kafkaspec.values.protobuf.indexes import Heads
    from kafkaspec.values.protobuf.schema import Order


def compile_decoder(
    definition: Definition,
    *,
    message: str | None = None,
    reader: Definition | None = None,
    options: Options = DEFAULT_OPTIONS,
) -> Decoder:
    """Return a decoder of what was written with a schema.

    ``message`` is of a Protobuf schema, by default its first one. Values are read as ``reader``, by
    default as they were written.
    """
    # Each of them imports libraries that the others do not need.
    if definition.type is SchemaType.AVRO:
        from kafkaspec.values.avro.decoder import compile_avro

        return compile_avro(definition, reader, options)
    if definition.type is SchemaType.PROTOBUF:
        from kafkaspec.values.protobuf.decoder import compile_protobuf

        name = first_message(definition) if message is None else message
        return compile_protobuf(definition, name, reader, options)
    from kafkaspec.values.json_schema import compile_json

    return compile_json(definition, options, reader)


def record_name(definition: Definition) -> str:
    """Return the full name of an Avro type, or the title of a JSON Schema; nothing without one."""
    try:
        parsed = orjson.loads(definition.text)
    except ValueError:
        return ""
    if not isinstance(parsed, dict):
        return parsed if isinstance(parsed, str) else ""
    if definition.type is SchemaType.JSON:
        found = parsed.get("title")
    elif isinstance(parsed.get("name"), str):
        found = full_name(parsed, "")[0]
    else:
        found = parsed.get("type")
    return found if isinstance(found, str) else ""


def has_message(definition: Definition, name: str) -> bool:
    """Return whether a Protobuf schema declares a message of some full name."""
    from kafkaspec.values.protobuf.decoder import messages

    try:
        return name in messages(definition)
    except SchemaError:
        return False


def first_message(definition: Definition) -> str:
    """Return the full name of the first message of a Protobuf schema."""
    return message_of(definition, (0,), pa.array([], pa.binary()))[1]


def message_of(definition: Definition, head: SchemaHead, sample: pa.Array) -> tuple[Order, str]:
    """Return which message of a Protobuf schema indexes or a name mean, and how they do."""
    from kafkaspec.values.protobuf.decoder import messages, resolve_indexes
    from kafkaspec.values.protobuf.schema import Order

    if not isinstance(head, str):
        return resolve_indexes(definition, head, sample)
    known = messages(definition)
    for name in known:
        if head == name or name.endswith(f".{head}"):
            return Order.NAME, name
    raise SchemaError(f"the schema has no message {head[:80]!r}")


def split_messages(payloads: pa.Array, framing: str) -> Heads[Any]:
    """Take off what says the message before Protobuf's payloads: indexes, or a name."""
    from kafkaspec.values.protobuf.indexes import split_index_lists, split_names

    return split_names(payloads) if framing in REF else split_index_lists(payloads)
