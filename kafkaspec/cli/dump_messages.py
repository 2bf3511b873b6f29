"""Show the messages in the records of Kafka's own topics, in place of their bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from kafkaspec.codecs import Codec, Origin, get_codec
from kafkaspec.dumplog.message_json import expanded_fields, json_text
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout.names import SCHEMA_VERSION
from kafkaspec.log.batch import Batch
from kafkaspec.log.messages import Message, decode_message, decode_messages
from kafkaspec.model import Record


class Shown(NamedTuple):
    """A record as it is shown.

    Attributes:
        key: JSON of the message in its key, None to show the bytes.
        value: the same of its value.
        problem: why one of them could not be decoded, "" if both could.
    """

    key: str | None
    value: str | None
    problem: str = ""


class Messages:
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

    def show(self, batch: Batch, records: Sequence[Record]) -> Iterator[Shown]:
        """Yield each record of a batch with its messages."""
        origin = Origin(batch.file, batch.position, path=batch.payload_path)
        for record in records:
            try:
                key, value = self._decode(record, origin)
            except KafkaSpecError as error:
                yield self._partly(record, error)
                continue
            yield Shown(self._json(key), self._json(value))

    def _decode(self, record: Record, origin: Origin) -> tuple[Message | None, Message | None]:
        return decode_messages(
            self._topic, record, release=self._release, codec=self._codec, origin=origin
        )

    def _partly(self, record: Record, error: KafkaSpecError) -> Shown:
        """Return what can be shown of a record that has an error in its key or value."""
        problem = f"{error.reason}: {error.detail}" + (f" ({error.path})" if error.path else "")
        if record.key is not None and record.value is not None:
            try:
                key, _ = self._decode(record._replace(value=None), Origin())
                return Shown(self._json(key), None, problem)
            except KafkaSpecError:
                pass
        return Shown(None, None, problem)

    def _json(self, message: Message | None) -> str | None:
        if message is None:
            return None
        name, value = message.layout.name, message.value
        shown: dict[str, Any] = {"type": name}
        version = getattr(value, SCHEMA_VERSION, None)
        if version is not None:
            shown["version"] = int(version)
        decode = partial(decode_message, codec=self._codec)
        return json_text(shown | expanded_fields(name, value, decode, unknown=True))
