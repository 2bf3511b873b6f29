"""Names of headers that say which schema a key or value has."""

from __future__ import annotations

from typing import Final

CONFLUENT_HEADERS: Final = {"key": "__key_schema_id", "value": "__value_schema_id"}
"""``SchemaId.KEY_SCHEMA_ID_HEADER`` and ``VALUE_SCHEMA_ID_HEADER`` of Confluent's registry."""

APICURIO_HEADERS: Final = {
    side: (f"apicurio.{side}.globalId", f"apicurio.{side}.contentId") for side in ("key", "value")
}
"""Apicurio's ``KafkaSerdeHeaders``, the ones with an id."""

CONTENT_TYPE: Final = "content-type"
AZURE_AVRO: Final = "avro/binary"
"""What Azure's serializer writes there before ``+`` and the id of a schema."""
