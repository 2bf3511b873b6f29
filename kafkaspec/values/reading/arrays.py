"""Typed values of an array, wherever it comes from."""

from __future__ import annotations

import os
from dataclasses import replace
from os import PathLike

import pyarrow as pa

from kafkaspec.values.decoded import Decoded
from kafkaspec.values.decoding.column import ValueColumn
from kafkaspec.values.definition import Definition
from kafkaspec.values.framing.frames import FRAMINGS
from kafkaspec.values.options import DECODE, DEFAULT_OPTIONS, Options, WantedSide
from kafkaspec.values.planning.catalog import plan_given
from kafkaspec.values.planning.deciding import plan_fixed, plan_named
from kafkaspec.values.registry.log import SchemaLog, Schemas
from kafkaspec.values.registry.schema import Schema


def decode_values(
    array: pa.Array,
    schema: Schema | Definition | str | PathLike[str] | None = None,
    *,
    format: str = DECODE,  # noqa: A002
    framing: str | None = None,
    schemas: Schemas = None,
    options: Options = DEFAULT_OPTIONS,
) -> Decoded:
    """Decode values that are in an array, wherever they come from.

    Args:
        array: keys or values: ``binary``, ``large_binary`` or ``binary_view``.
        schema: their schema: one that a ``SchemaLog`` gives, with what it imports in ``schemas``;
            its definition; a file (``FILE``, ``FILE#MESSAGE``); or a subject of ``schemas``.
            Without it, each names its own of ``schemas``.
        format: with neither of them, a format without a schema: ``long``, ``json`` ...
        framing: what stands before values: ``confluent``, ``apicurio``, ``glue``,
            ``single-object``; None for nothing, or for Confluent's where each names its schema.
        schemas: a ``SchemaLog``, or a path that ``SchemaLog.open`` takes.
        options: how values become columns.

    Returns:
        Values as long as the array, of the type of the schema, and why rows have none. Where each
        names its schema, the values are read as the newest of these that is named in the array.

    Raises:
        ValueError: there is neither a schema nor a format; a schema cannot be read, or the schemas
            are of several types of records.
        KafkaSpecError: ``schemas`` cannot be read.
    """
    if not pa.types.is_binary(array.type):
        array = array.cast(pa.binary())
    registry = schemas if isinstance(schemas, SchemaLog | None) else SchemaLog.open(schemas)
    wanted = WantedSide(format=format, options=options)
    if schema is not None:
        named = schema if isinstance(schema, Schema | Definition) else os.fspath(schema)
        plan = plan_given(replace(wanted, schema=named), registry, framing)
    elif format != DECODE:
        plan = plan_fixed([array], "value", wanted)
    elif registry is None:
        raise ValueError("give a schema, schemas that values name, or a format")
    else:
        plan = plan_named(array, wanted, registry, framing or next(iter(FRAMINGS)))
    column = ValueColumn(plan)
    parts = column.parts(array, None)
    return Decoded(column.array(parts), parts.failures)
