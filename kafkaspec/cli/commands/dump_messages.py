"""Show the messages in the records of Kafka's own topics, in place of their bytes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkaspec.cli.commands.dump_json import WRITERS, ShownMessage, _Key, problem_json
from kafkaspec.codecs import Codec, Origin, get_codec
from kafkaspec.columns.json_lines import LineColumn
from kafkaspec.columns.memory import Columns
from kafkaspec.columns.messages import MessageTexts, TextColumn, bytes_of
from kafkaspec.columns.wanted import BATCH_POSITION
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import MessageLayout, names
from kafkaspec.layout.names import SCHEMA_VERSION
from kafkaspec.log.batch import Batch, payload_path
from kafkaspec.log.segment import Segment
from kafkaspec.messages.decoding import decode_by, decode_message, layouts_of
from kafkaspec.messages.json_text import expanded_fields, json_text
from kafkaspec.messages.text_plans import VERSION, TextStyle
from kafkaspec.model import Buffer, Record

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core

_KEYS_KEPT: Final = 1 << 16
"""TextColumn of keys that are kept."""


def style_of(layout: MessageLayout) -> TextStyle:
    """Return how a message is shown, with its type and version before Kafka's fields."""
    return TextStyle((f'{{"type":{json_text(layout.name)}',), "}", versioned=True, unknown=True)


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

    def rows(self, core: Core, segment: Segment, *, base64: bool) -> MessageRows:
        """Return what shows the records of a segment in columns; see ``MessageRows``."""
        return MessageRows(core, segment, self, self._topic, base64=base64)

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
            shown[VERSION] = int(version)
        decode = partial(decode_message, codec=self._codec)
        return json_text(shown | expanded_fields(name, value, decode, unknown=True))


class MessageRows:
    """Makes columns of JSON of the keys and values of records, and of what is wrong with them.

    Args:
        core: the extension.
        segment: the segment that has the records.
        messages: shows the messages that the core does not.
        topic: name of the topic.
        base64: whether bytes that are UTF-8 are base64 too.
    """

    def __init__(
        self, core: Core, segment: Segment, messages: MessageLines, topic: str, *, base64: bool
    ) -> None:
        self._segment = segment
        self._messages = messages
        self._texts = MessageTexts(core, topic, style_of)
        self._write = WRITERS["base64" if base64 else "text"]

    def of(self, columns: Columns, controls: Collection[int]) -> dict[_Key, LineColumn]:
        """Return the columns of JSON that take the place of others.

        Args:
            columns: the records.
            controls: rows of control records, which have no messages.
        """
        rows = columns.rows
        key, value = (columns.bytes_column(name) for name in (names.KEY, names.VALUE))
        keys, values, others = self._texts.write(rows, key, value, columns.sources)
        left = [row for row in others if row not in controls]
        problems = TextColumn(rows) if left else None
        position, offset, time = (
            columns.integer_column(name).integers
            for name in (BATCH_POSITION, names.OFFSET, names.TIMESTAMP)
        )
        batch: Batch | None = None
        for row in left:
            if batch is None or batch.position != position[row]:
                batch = self._segment.batch_at(position[row])
            stored = [bytes_of(each, row, columns.sources) for each in (key, value)]
            record = Record(offset[row], time[row], stored[0], stored[1])
            (shown,) = self._messages.show(batch, [record])
            if keys is not None:
                keys.put(row, (shown.key or self._write(record.key)).encode())
            values.put(row, (shown.value or self._write(record.value)).encode())
            if shown.problem:
                assert problems is not None
                problems.put(row, problem_json(shown).encode())
        for row in controls:
            for texts, column in ((keys, key), (values, value)):
                if texts is not None:
                    texts.put(row, self._write(bytes_of(column, row, columns.sources)).encode())
        found = {_Key.VALUE: values.column()}
        if keys is not None:
            found[_Key.KEY] = keys.column()
        if problems is not None:
            found[_Key.PROBLEM] = problems.column()
        return found
