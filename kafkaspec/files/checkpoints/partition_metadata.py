"""``partition.metadata``: the id of the topic that a partition belongs to.

Kafka: ``PartitionMetadata``, ``PartitionMetadataReadBuffer``; KIP-516. Since 2.8. Two lines, and no
line end after the second one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from kafkaspec._generated.layout.texts import TEXTS
from kafkaspec.errors import Reason
from kafkaspec.files import names
from kafkaspec.files.checkpoints.text import Text, TextPiece, fields, reader, shown, value_text

LAYOUT: Final = TEXTS[names.PARTITION_METADATA]
VERSION: Final = LAYOUT.versions[-1]
"""The version that Kafka writes. 2.8 to 3.6 read no other, later releases all but negative ones."""

_VERSION, _TOPIC_ID = LAYOUT.keys
_SEPARATOR = re.compile(r":[ \t\n\x0b\f\r]+")


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """The content of the file.

    Attributes:
        topic_id: id of the topic, never zero.
        version: version of the file.
        position: byte offset of the topic id in the file, None if it was not read.
    """

    topic_id: UUID
    version: int = VERSION
    position: int | None = field(default=None, compare=False)


def parse(data: bytes, *, file: str | None = None) -> PartitionMetadata:
    """Parse the file. The two names, and lines after the second one, are ignored.

    Args:
        data: all bytes of the file.
        file: its name in errors.

    Raises:
        TruncatedError: there are fewer than two lines.
        CorruptError: a line is malformed, or the topic id is not a UUID or zero.
        UnsupportedError: the version is negative.
    """
    text = Text(data, file)
    version, second = _values(text)
    topic_id = text.value(_TOPIC_ID, second, f"/{_TOPIC_ID.attribute}")
    return PartitionMetadata(topic_id, version, second.position)


read = reader(parse)


def serialize(topic_id: UUID) -> bytes:
    """Serialize the file as Kafka does.

    Raises:
        KafkaSpecError: ``unencodable``: Kafka refuses a topic id of zero when it reads the file.
    """
    lines = ((_VERSION, VERSION), (_TOPIC_ID, topic_id))
    return "\n".join(f"{key.key}: {value_text(key, value)}" for key, value in lines).encode()


def topic_id_text(text: Text) -> TextPiece:
    """Return the text of the topic id, whatever it is.

    Raises:
        KafkaSpecError: as ``parse``, for what comes before it.
    """
    return _values(text)[1]


def _values(text: Text) -> tuple[int, TextPiece]:
    """Return the version, and the text of the topic id."""
    lines = text.lines()
    first = _value(text, next(lines, None), "/version")
    version = text.value(_VERSION, first, "/version")
    if not LAYOUT.knows(version):
        detail = f"version {version} is negative"
        raise text.error(Reason.UNSUPPORTED_VERSION, detail, first, "/version")
    return version, _value(text, next(lines, None), "/topic_id")


def _value(text: Text, line: TextPiece | None, path: str) -> TextPiece:
    if line is None:
        raise text.error(Reason.TRUNCATED, "the file ends before this line", path=path)
    found = fields(line, _SEPARATOR)
    if len(found) != 2:
        detail = f"{shown(line.text)} is not a name and a value"
        raise text.error(Reason.INVALID_VALUE, detail, line, path)
    return found[1]
