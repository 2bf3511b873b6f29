"""Decode what the records of Kafka's own topics hold, in the layout of the writer's release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kafkaspec.codecs import NOWHERE, Codec, Origin, get_codec
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.layout import MessageLayout, Role
from kafkaspec.layout.names import UNUSED
from kafkaspec.messages.lookup import HEADS, by_name, in_topic, key_says, may_have_key, written_by
from kafkaspec.model import Buffer, Record


@dataclass(frozen=True, slots=True)
class Message:
    """A decoded message.

    Attributes:
        layout: what it is; ``layout.name`` is Kafka's name of it.
        value: the structure of the typed model.
    """

    layout: MessageLayout
    value: Any


def decode_messages(
    topic: str,
    record: Record,
    *,
    release: str | None = None,
    codec: Codec | str | None = None,
    origin: Origin = NOWHERE,
) -> tuple[Message | None, Message | None]:
    """Decode key and value of a record of one of Kafka's own topics.

    Args:
        topic: one of ``kafkaspec.messages.lookup.HEADS``; the record is not a control record.
        record: the record.
        release: release of the broker that wrote it, ``4.0.2``. Without it the newest layout that
            takes every byte is taken.
        codec: which codec decodes.
        origin: where the record is, for errors.

    Returns:
        Key and value, each None where the record has none; None for a key whose bytes are for
        compaction alone.

    Raises:
        KafkaSpecError: one of them is of no known type, or does not decode.
    """
    reader = codec if isinstance(codec, Codec) else get_codec(codec)
    keys, values = layouts_of(topic, record, reader, origin)
    key = value = None
    if record.key is not None and keys:
        key = decode_by(reader, keys, record.key, release, origin.under("/key"))
    if record.value is not None:
        value = decode_by(reader, values, record.value, release, origin.under("/value"))
    return key, value


def layouts_of(
    topic: str, record: Record, codec: Codec, origin: Origin = NOWHERE
) -> tuple[Sequence[MessageLayout], Sequence[MessageLayout]]:
    """Return what key and value of a record can be, the newest first; nothing for no message.

    Kafka: ``CoordinatorRecordSerde.deserialize``, ``RecordsIterator.decodeDataRecord``.

    Raises:
        KafkaSpecError: one is null that may not be, they do not say what they are, or it is not a
            known type.
    """
    inside, place = origin.under("/value"), origin.under("/key")
    if not key_says(topic):
        if record.key is not None and not may_have_key(topic):
            raise _error(f"a record of {topic} must not have a key", place)
        if record.value is None:
            if record.key is None:
                raise _error("the value is null, and there is no key either", inside)
            return (), ()
        number = record_type(topic, record.value, codec, inside)
        return (), _known(topic, Role.RECORD, number, inside)
    if record.key is None:
        raise _error(f"the key is null, but each record of {topic} needs one", place)
    number = record_type(topic, record.key, codec, place)
    keys = _known(topic, Role.KEY, number, place)
    return keys, () if record.value is None else _known(topic, Role.VALUE, number, inside)


def decode_message(
    name: str,
    data: Buffer,
    *,
    release: str | None = None,
    codec: Codec | str | None = None,
    origin: Origin = NOWHERE,
) -> Message:
    """Decode one message by Kafka's name of it, ``ConsumerProtocolSubscription`` for instance.

    Raises:
        KeyError: there is no such message.
        KafkaSpecError: it does not decode.
    """
    layouts = by_name(name)
    if not layouts:
        raise KeyError(f"the specification has no message {name}")
    reader = codec if isinstance(codec, Codec) else get_codec(codec)
    return decode_by(reader, layouts, data, release, origin)


def record_type(topic: str, data: Buffer, codec: Codec, origin: Origin = NOWHERE) -> int:
    """Return the type of a record, from its key, or from its value where its topic has no keys.

    Raises:
        KafkaSpecError: they end before it.
    """
    number = end = 0
    for field in HEADS[topic]:
        path = f"/{field.id}"
        if field.type:
            place = origin.under(path)
            number, end = codec.parse(field.type, data, end, complete=True, origin=place)
            continue
        found = bytes(data[end : end + field.size])
        if len(found) < field.size:
            detail = f"a key begins with {field.size} bytes that say what it is"
            raise _error(detail, origin.under(path), Reason.OVERRUN)
        number = int.from_bytes(found, "big", signed=field.signed)
        end += field.size
    return number


def _error(detail: str, at: Origin, reason: Reason = Reason.INVALID_VALUE) -> KafkaSpecError:
    return make_error(reason, detail, file=at.file, offset=at.position, path=at.path)


def _known(topic: str, role: Role, number: int, origin: Origin) -> Sequence[MessageLayout]:
    layouts = in_topic(topic, role, number)
    if not layouts:
        detail = f"{topic} has no {role} of type {number} that is described here"
        raise _error(detail, origin, Reason.UNSUPPORTED_VERSION)
    return layouts


def decode_by(
    reader: Codec,
    layouts: Sequence[MessageLayout],
    data: Buffer,
    release: str | None = None,
    origin: Origin = NOWHERE,
) -> Message:
    """Return the message in the first layout that takes every byte, else the newest that reads.

    Raises:
        KafkaSpecError: no layout does; that of the first one.
    """
    candidates = written_by(layouts, release) or layouts[-1:]
    found: Message | None = None
    failure: KafkaSpecError | None = None
    for layout in candidates:
        try:
            value, _ = reader.parse(layout.key, data, complete=True, origin=origin)
        except KafkaSpecError as error:
            failure = failure or error
            continue
        message = Message(layout, value)
        if len(candidates) == 1 or not len(getattr(value, UNUSED, b"")):
            return message
        found = found or message
    if found is not None:
        return found
    assert failure is not None
    raise failure
