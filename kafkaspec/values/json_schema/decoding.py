"""Decoders of JSON: of a schema, of what a sample looks like, or of any text."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from kafkaspec.values.decoded import Decoder, PayloadError
from kafkaspec.values.definition import Definition
from kafkaspec.values.json_schema.reading import JsonDecoder, JsonRowDecoder
from kafkaspec.values.json_schema.schema import compile_schema
from kafkaspec.values.json_schema.shapes import (
    Array,
    Boolean,
    Integer,
    JsonText,
    Number,
    Object,
    Shape,
    String,
)
from kafkaspec.values.json_schema.text import parse
from kafkaspec.values.options import Bounds, Options

_SAMPLE: Final = 1000
"""Payloads that a type is inferred from."""
_MOST_NAMES: Final = 256
"""Properties that objects of one type have; those of more are not names but data."""


def text_decoder(bounds: Bounds) -> Decoder:
    """Return the decoder of any JSON, which stays text, and is checked."""

    def read(data: bytes) -> str:
        parse(data, bounds, exact=False)
        return data.decode()

    return JsonRowDecoder(pa.string(), read, bounds)


def compile_json(
    definition: Definition | None, options: Options, reader: Definition | None = None
) -> Decoder:
    """Return the decoder of JSON of a schema.

    Args:
        definition: the schema that the values were written with; None for any JSON, which stays
            text.
        options: how values become columns.
        reader: the schema whose columns are wanted. Properties are found by their names, so that
            values need not be of that schema.

    Raises:
        SchemaError: the schema cannot be read, or takes more than a limit allows.
    """
    wanted = reader or definition
    if wanted is None:
        return text_decoder(options.bounds)
    return JsonDecoder(compile_schema(wanted, options), options.bounds)


def infer_json(sample: pa.Array, options: Options) -> Decoder:
    """Return the decoder of JSON that looks like a sample.

    What differs within the sample, and objects without properties, stays JSON text, and so do
    properties that the sample does not have.
    """
    shape = shape_of(sample_values(sample, options.bounds))
    if isinstance(shape, JsonText):
        return text_decoder(options.bounds)
    return JsonDecoder(shape, options.bounds)


def sample_values(sample: pa.Array, bounds: Bounds) -> list[Any]:
    """Return the JSON values in a sample of payloads, without those that are none."""
    values = []
    for data in sample.drop_null().slice(0, _SAMPLE).to_pylist():
        try:
            values.append(parse(data, bounds, exact=False))
        except PayloadError:
            continue
    return values


def shape_of(values: list[Any]) -> Shape:
    """Return the type of some JSON values."""
    found = [value for value in values if value is not None]
    kinds = {type(value) for value in found}
    if kinds == {dict}:
        names = list(dict.fromkeys(name for value in found for name in value))
        if not names or len(names) > _MOST_NAMES:
            return JsonText(is_object=True)
        return Object(
            {name: shape_of([value[name] for value in found if name in value]) for name in names}
        )
    if kinds == {list}:
        return Array(shape_of([item for value in found for item in value]))
    if kinds == {int, float} or kinds == {float}:
        return Number()
    scalars = {bool: Boolean, int: Integer, str: String}
    return scalars[kinds.pop()]() if len(kinds) == 1 and kinds <= set(scalars) else JsonText()
