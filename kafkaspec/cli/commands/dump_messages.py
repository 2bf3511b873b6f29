"""Show the messages in the records of Kafka's own topics, in place of their bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from kafkaspec.codecs import Codec, Origin, get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import MessageLayout
from kafkaspec.layout.names import SCHEMA_VERSION
from kafkaspec.log.batch import Batch, payload_path
from kafkaspec.messages.decoding import decode_by, decode_message, layouts_of
from kafkaspec.messages.json_text import expanded_fields, json_text
from kafkaspec.model import Buffer, Record

_KEYS_KEPT: Final = 1 << 16
"""Texts of keys that are kept."""


class ShownMessage(NamedTuple):
    """A record as it is shown.

    Attributes:
        key: JSON of the message in its key, None to show the bytes.
        value: the same of its value.
        problem: why one of them could not be decoded, "" if both could.
    """

    key: str | None
    value: str | None
    problem: str = ""


class MessageLines:
    """Decodes the records of an internal topic for ``dump``.

    Args:
        topic: name of the topic.
        codec: reads the messages.
        release: that wrote them; None if it is not known.
    """

    def __init__(self, topic: str, codec: str, release: str | None = None) -> None:
        self._topic = topic
        self._codec: Codec = get_codec(codec)
        self._release = release
        self._keys: dict[bytes, str] = {}

    def show(self, batch: Batch, records: Sequence[Record]) -> Iterator[ShownMessage]:
        """Yield each record of a batch with its messages."""
        origin = Origin(batch.file, batch.position, path=payload_path(batch))
        of_key, of_value = origin.under("/key"), origin.under("/value")
        for record in records:
            key = value = None
            problem = ""
            try:
                keys, values = layouts_of(self._topic, record, self._codec, origin)
                if record.key is not None and keys:
                    key = self._key(keys, bytes(record.key), of_key)
                if record.value is not None:
                    value = self._json(values, record.value, of_value)
            except KafkaSpecError as error:
                where = f" ({error.path})" if error.path else ""
                problem = f"{error.reason}: {error.detail}{where}"
            yield ShownMessage(key, value, problem)

    def _key(self, layouts: Sequence[MessageLayout], key: bytes, origin: Origin) -> str:
        """Return the text of a key, of which many come again and again."""
        text = self._keys.get(key)
        if text is None:
            if len(self._keys) == _KEYS_KEPT:
                self._keys.clear()
            text = self._keys[key] = self._json(layouts, key, origin)
        return text

    def _json(self, layouts: Sequence[MessageLayout], data: Buffer, origin: Origin) -> str:
        message = decode_by(self._codec, layouts, data, self._release, origin)
        name, value = message.layout.name, message.value
        shown: dict[str, Any] = {"type": name}
        version = getattr(value, SCHEMA_VERSION, None)
        if version is not None:
            shown["version"] = int(version)
        decode = partial(decode_message, codec=self._codec)
        return json_text(shown | expanded_fields(name, value, decode, unknown=True))
