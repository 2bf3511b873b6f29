"""JSON texts of messages that have no columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
from google.protobuf import json_format

from kafkaspec.values.decoded import Code, PayloadError
from kafkaspec.values.options import Bounds
from kafkaspec.values.protobuf.plan import Deeper, Json
from kafkaspec.values.protobuf.schema import Schema, member, message_class

KEY, VALUE = member(1), member(2)
"""Names of the fields of a map's entry."""


class JsonTexts:
    """JSON texts of messages."""

    def __init__(self, schema: Schema, bounds: Bounds) -> None:
        self._schema = schema
        self._pool: Any = None
        self._depth = bounds.depth

    def text(self, node: Json | Deeper, message: Any) -> str:
        """Return the JSON text of a message."""
        if isinstance(node, Json):
            return orjson.dumps(self._value(node.name, message, 1)).decode()
        if self._pool is None:
            self._pool = self._schema.original()
        name = node.descriptor.full_name
        original = message_class(self._pool.FindMessageTypeByName(name))
        try:
            text: str = json_format.MessageToJson(
                original.FromString(message.SerializeToString()),
                preserving_proto_field_name=True,
                indent=None,
                ensure_ascii=False,
                descriptor_pool=self._pool,
            )
            return text
        except (ValueError, TypeError, OverflowError, RecursionError, json_format.Error) as error:
            raise PayloadError(Code.UNSUPPORTED, f"no JSON text of {name}: {error}") from error

    def _value(self, name: str, message: Any, depth: int) -> Any:
        if depth > self._depth:
            raise PayloadError(Code.DEPTH, f"messages are nested more than {self._depth} levels")
        if name == "Struct":
            return {
                getattr(entry, KEY): self._value("Value", getattr(entry, VALUE), depth + 1)
                for entry in getattr(message, member(1))
            }
        if name == "ListValue":
            return [self._value("Value", one, depth + 1) for one in getattr(message, member(1))]
        case = message.WhichOneof("oneof_0")
        if case is None or case == member(1):
            return None
        value = getattr(message, case)
        if case == member(2) and not np.isfinite(value):
            return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        if case == member(5):
            return self._value("Struct", value, depth + 1)
        if case == member(6):
            return self._value("ListValue", value, depth + 1)
        return value
