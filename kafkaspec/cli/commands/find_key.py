"""Which records ``find --key`` looks for: keys as ``dump`` shows them."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import click

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model import model_class
from kafkaspec.codecs import Codec, get_codec
from kafkaspec.columns.keys import KeyTest, find_keys
from kafkaspec.columns.patterns import BytePattern
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.layout import FieldLayout, Kind, MessageLayout, Role
from kafkaspec.log.lookup import Found
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.messages.decoding import decode_by, layouts_of
from kafkaspec.messages.json_text import field_names, message_fields
from kafkaspec.messages.lookup import HEADS, MESSAGES
from kafkaspec.messages.topics import topic_of
from kafkaspec.model import Record

_TYPE, _BASE64 = "type", "base64"
_MALFORMED: Final = "\ufffd"
"""Stands for bytes that are not text."""
_KEPT: Final = 1 << 16
"""Keys of which is kept whether they are looked for."""


def find_key(log: Segment | Partition, text: str, codec: str, **options: Any) -> Iterator[Found]:
    """Yield the records that have a key, the newest first.

    Args:
        log: the log to search.
        text: the key; see ``wanted_keys``.
        codec: name of the codec that reads messages.
        options: of ``kafkaspec.columns.keys.find_keys``.

    Raises:
        KafkaSpecError: a file cannot be read.
        UsageError: no message in a key has the fields that are given.
    """
    if isinstance(log, Segment):
        topic = None if log.path is None else topic_of(log.path)
    else:
        topic = log.topic if log.topic in HEADS else None
    return find_keys(log, wanted_keys(text, topic, get_codec(codec)), **options)


def wanted_keys(text: str, topic: str | None, codec: Codec) -> Sequence[bytes] | KeyTest:
    """Return the keys that a text means in a log, or what says whether a key is one of them.

    Args:
        text: the key as text; ``{"base64": "..."}``; of an internal topic, an object with some
            fields of the message in the key, as ``dump`` shows it.
        topic: the internal topic that has the records, None for one of the user.
        codec: writes and reads messages.

    Raises:
        UsageError: no message in a key has these fields.
    """
    given = _object(text)
    if given is not None and given.keys() == {_BASE64} and isinstance(given[_BASE64], str):
        try:
            return [b64decode(given[_BASE64], validate=True)]
        except ValueError:
            raise click.UsageError(f"{given[_BASE64]!r} is not base64") from None
    if given is None or topic is None:
        return [text.encode("utf-8", "surrogateescape")]
    fitting = [each for each in MESSAGES if each.role is Role.KEY and _fits(each, given)]
    if not fitting:
        known = "; ".join(
            f"{each.name}: {', '.join(field_names(each.key))}"
            for each in MESSAGES
            if each.role is Role.KEY
        )
        raise click.UsageError(f"no key has these fields. There are {known}")
    chosen = [each for each in fitting if each.topic == topic]
    keys = [_written(layout, given, codec) for layout in chosen]
    whole = [key for key in keys if key is not None]
    if len(whole) == len(keys):
        return whole
    patterns = dict.fromkeys(_pattern(layout, given) for layout in chosen)
    return KeyTest(_Some(given, topic, codec), tuple(patterns))


def _object(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _fits(layout: MessageLayout, given: Mapping[str, Any]) -> bool:
    return given.keys() <= {_TYPE, *field_names(layout.key)} and given.get(_TYPE) in (
        None, layout.name,
    )  # fmt: skip


def _written(layout: MessageLayout, given: Mapping[str, Any], codec: Codec) -> bytes | None:
    """Return the bytes of a key of which all fields are given; None if some are not."""
    ids = field_names(layout.key)
    fields = {field.id: field for field in LAYOUTS[layout.key].fields}
    if not ids.keys() <= given.keys():
        return None
    try:
        values = {name: _value(fields[name], given[shown]) for shown, name in ids.items()}
        return codec.serialize(layout.key, model_class(layout.key)(**values))
    except (KafkaSpecError, TypeError, ValueError, AttributeError) as error:
        raise click.UsageError(f"this is no {layout.name}: {error}") from None


def _pattern(layout: MessageLayout, given: Mapping[str, Any]) -> BytePattern:
    """Return a pattern that each key of a message with some fields fits."""
    ids = field_names(layout.key)
    fields = {ids[shown]: item for shown, item in given.items() if shown in ids}
    parts = list[bytes]()
    for field in LAYOUTS[layout.key].fields:
        with suppress(TypeError, ValueError, AttributeError, OverflowError):
            if field.id in fields:
                parts += _parts(field, fields[field.id])
    return BytePattern.containing(parts)


def _parts(field: FieldLayout, given: Any) -> list[bytes]:
    """Return bytes that a field with a value has, in order."""
    if isinstance(given, str) and _MALFORMED in given:
        return [part.encode() for part in given.split(_MALFORMED)]
    value = _value(field, given)
    if isinstance(value, int):
        return [value.to_bytes(field.size, "big", signed=field.signed)]
    return [value]


def _value(field: FieldLayout, value: Any) -> Any:
    if field.kind is Kind.INTEGER:
        return int(value)
    if field.kind is Kind.BYTES:
        found = kafka_uuid.from_text(value)
        if found is None:
            raise ValueError(f"{value!r} is not a UUID")
        return found.bytes
    return value.encode()


class _Some:
    """Says whether a key has some fields, and remembers it: the same keys come again and again."""

    def __init__(self, given: Mapping[str, Any], topic: str, codec: Codec) -> None:
        self._given = given
        self._topic = topic
        self._codec = codec
        self._known: dict[bytes, bool] = {}

    def __call__(self, key: bytes) -> bool:
        found = self._known.get(key)
        if found is None:
            if len(self._known) == _KEPT:
                self._known.clear()
            found = self._known[key] = self._has(key)
        return found

    def _has(self, key: bytes) -> bool:
        try:
            layouts, _ = layouts_of(self._topic, Record(0, 0, key, None), self._codec)
            if not layouts:
                return False
            message = decode_by(self._codec, layouts, key)
        except KafkaSpecError:
            return False
        name = message.layout.name
        fields = {_TYPE: name} | message_fields(name, message.value)
        return all(part in fields and fields[part] == item for part, item in self._given.items())
