"""Decoders for schemas of any type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa

from kafkaspec.values.avro.schema import full_name
from kafkaspec.values.decoded import Decoder
from kafkaspec.values.definition import Definition, SchemaError, SchemaType
from kafkaspec.values.framing.frames import REF
from kafkaspec.values.options import DEFAULT_OPTIONS, Options

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
        from kafkaspec.values.avro import compile_avro

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
