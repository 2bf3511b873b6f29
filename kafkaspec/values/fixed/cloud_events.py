"""CloudEvents: attributes in headers, or in a JSON body with the data.

CloudEvents: Kafka Protocol Binding 1.0.2.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import pyarrow as pa

from kafkaspec.values.decoded import Code, Decoded, Failure, PayloadError, read_each
from kafkaspec.values.json_schema.text import parse, to_text
from kafkaspec.values.options import Bounds

PREFIX: Final = "ce_"
"""Begin of the names of headers with attributes."""
CONTENT_TYPE: Final = "content-type"
STRUCTURED: Final = "application/cloudevents"
"""Begin of the content type of an event that is all in the value."""
STRUCTURED_JSON: Final = "application/cloudevents+json"

REQUIRED: Final = ("specversion", "id", "source", "type")
OPTIONAL: Final = ("subject", "time", "datacontenttype", "dataschema")
_DATA: Final = "data"
_DATA_BASE64: Final = "data_base64"


@dataclass(frozen=True, slots=True)
class CloudEventsDecoder:
    """Decodes events of both modes to one type.

    JSON data is JSON text in ``data``, other data are in ``data_bytes``; attributes that are none
    of the specification are in ``extensions``.
    """

    bounds: Bounds
    type: ClassVar = pa.struct(
        [
            *((name, pa.string()) for name in (*REQUIRED, *OPTIONAL)),
            ("extensions", pa.map_(pa.string(), pa.string())),
            (_DATA, pa.string()),
            ("data_bytes", pa.binary()),
        ]
    )

    def decode_records(self, values: pa.Array, headers: pa.Array) -> Decoded:
        """Decode records; one without a value is an event without data, or null."""
        failures: dict[int, Failure] = {}
        records = enumerate(zip(values.to_pylist(), headers.to_pylist(), strict=True))
        events = read_each(records, self._event, failures)
        return Decoded(pa.array(events, self.type), failures)

    def _event(self, record: tuple[bytes | None, Any]) -> dict[str, Any] | None:
        data, headers = record[0], _texts(record[1])
        content = headers.get(CONTENT_TYPE, "")
        if content.lower().startswith(STRUCTURED):
            if data is None:
                return None
            if content.partition(";")[0].strip().lower() != STRUCTURED_JSON:
                raise PayloadError(Code.UNSUPPORTED, f"events as {content}")
            return self._structured(data)
        if f"{PREFIX}specversion" not in headers:
            if data is None:
                return None
            raise PayloadError(Code.NOT_FRAMED, "no headers of an event")
        attributes = {
            name.removeprefix(PREFIX): value
            for name, value in headers.items()
            if name.startswith(PREFIX)
        }
        if content:
            attributes.setdefault("datacontenttype", content)
        event = _attributes(attributes)
        if data is not None:
            if _is_json(content):
                parse(data, self.bounds, exact=False)
                event[_DATA] = data.decode()
            else:
                event["data_bytes"] = data
        return event

    def _structured(self, data: bytes) -> dict[str, Any]:
        body = parse(data, self.bounds)
        if not isinstance(body, dict):
            raise PayloadError(Code.MALFORMED, "an event is not an object")
        content, encoded = body.pop(_DATA, None), body.pop(_DATA_BASE64, None)
        event = _attributes(body)
        if isinstance(encoded, str):
            try:
                event["data_bytes"] = b64decode(encoded, validate=True)
            except (binascii.Error, ValueError):
                raise PayloadError(Code.MALFORMED, f"{_DATA_BASE64} is not base64") from None
        elif isinstance(content, str) and not _is_json(event["datacontenttype"] or ""):
            event["data_bytes"] = content.encode()
        elif content is not None:
            event[_DATA] = to_text(content)
        return event


def _texts(headers: list[dict[str, Any]] | None) -> dict[str, str]:
    """Return the headers of attributes; of those that are there twice the last one counts."""
    try:
        return {
            each["key"].lower(): bytes(each["value"]).decode()
            for each in headers or ()
            if each["value"] is not None and each["key"].lower().startswith((PREFIX, CONTENT_TYPE))
        }
    except UnicodeDecodeError as error:
        raise PayloadError(Code.BAD_UTF8, f"a header: {error.reason}") from None


def _attributes(given: dict[str, Any]) -> dict[str, Any]:
    texts = {
        name: value if isinstance(value, str) else to_text(value)
        for name, value in given.items()
        if value is not None
    }
    for name in REQUIRED:
        if name not in texts:
            raise PayloadError(Code.MISSING_REQUIRED, f"an event has no {name}")
    event: dict[str, Any] = {name: texts.pop(name, None) for name in (*REQUIRED, *OPTIONAL)}
    event["extensions"] = list(texts.items())
    return event


def _is_json(content: str) -> bool:
    """Return whether a content type is JSON, which it is where none is given."""
    kind = content.partition(";")[0].strip().lower()
    return not kind or kind.endswith(("/json", "+json"))
