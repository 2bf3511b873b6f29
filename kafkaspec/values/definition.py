"""The source of a decoder: a schema with everything that it refers to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SchemaType(StrEnum):
    """Types of schemas, by their names in a registry."""

    AVRO = "AVRO"
    PROTOBUF = "PROTOBUF"
    JSON = "JSON"


@dataclass(frozen=True, slots=True)
class Definition:
    """A schema with everything that it refers to.

    Attributes:
        type: type of the schema.
        text: its text: JSON; or the text of a ``.proto`` file, or a ``FileDescriptorProto`` in
            base64.
        imports: what it refers to directly, by the names that it uses: full names of Avro types,
            paths of ``.proto`` files, ids of JSON Schemas.
    """

    type: SchemaType
    text: str
    imports: tuple[tuple[str, Definition], ...] = ()


class SchemaError(ValueError):
    """A schema cannot be read, or its references cannot be resolved."""
