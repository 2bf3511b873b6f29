"""Sections of ``explain`` for the messages in the records of Kafka's own topics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from kafkaspec.cli.commands.explain_section import Section
from kafkaspec.codecs import Origin
from kafkaspec.codecs.references.kaitai import FieldPosition, KaitaiCodec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import MessageLayout, names
from kafkaspec.messages.decoding import decode_by, layouts_of
from kafkaspec.messages.lookup import CONSUMER, EMBEDDED, by_name
from kafkaspec.model import Record

_PARTS: Final = (names.KEY, names.VALUE)
_HEADERS: Final = f"/{names.HEADERS}/"
_PROTOCOL: Final = "protocol_type"


def message_sections(
    codec: KaitaiCodec, topic: str, section: Section, origin: Origin
) -> Iterator[Section]:
    """Yield the messages in the keys and values of the records that a section has.

    Positions count as those of the section do.

    Args:
        codec: reads them.
        topic: the topic that has the records.
        section: some records, or one message of magic 0 or 1.
        origin: where the bytes of the section are.
    """
    records: dict[str, dict[str, FieldPosition]] = {}
    for field in section.fields:
        parent, _, name = field.path.rpartition("/")
        if name in _PARTS and _HEADERS not in field.path:
            records.setdefault(parent, {})[name] = field
    for found in records.values():
        if all(name in found for name in _PARTS):
            yield from _record(codec, topic, section, [found[name] for name in _PARTS], origin)


def _record(
    codec: KaitaiCodec,
    topic: str,
    section: Section,
    parts: Sequence[FieldPosition],
    origin: Origin,
) -> Iterator[Section]:
    key, value = (part.value for part in parts)
    try:
        known = layouts_of(topic, Record(0, 0, key, value), codec)
    except KafkaSpecError as error:
        yield Section("", b"", 0, [], f"{parts[0].path}: {error.detail}", is_wrong=True)
        return
    for part, layouts in zip(parts, known, strict=True):
        if layouts:
            yield from _message(codec, section, part, layouts, origin)


def _message(
    codec: KaitaiCodec,
    section: Section,
    part: FieldPosition,
    layouts: Sequence[MessageLayout],
    origin: Origin,
) -> Iterator[Section]:
    """Yield a message that a field holds, and those of consumers that are in it."""
    try:
        layout = decode_by(codec, layouts, part.value).layout
    except KafkaSpecError:
        layout = layouts[0]  # whose error it is
    start, end = part.end - len(part.value) - section.start, part.end - section.start
    place = replace(origin, path=part.path)
    fields = codec.positions(layout.key, section.data, start, end, complete=True, origin=place)
    yield Section(f"{layout.name} in {part.path}", section.data, section.start, fields)
    protocols = [field for field in fields if field.path.endswith(f"/{_PROTOCOL}")]
    if any(bytes(field.value or b"") == CONSUMER.encode() for field in protocols):
        for field in fields:
            name = EMBEDDED.get(field.path.rpartition("/")[2])
            if name is not None and field.value:
                yield from _message(codec, section, field, by_name(name), origin)
