"""UUIDs in Kafka's text format: 16 bytes in URL-safe base64 without padding.

Kafka: ``org.apache.kafka.common.Uuid``.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final
from uuid import UUID

from kafkaspec.model import Buffer

SIZE: Final = 16
"""Bytes of a UUID; a field of a message with so many is one."""

CHARACTERS: Final = 22
"""Characters of its text."""

ZERO = UUID(int=0)
"""Kafka's "none"."""

_TEXT = re.compile(r"([A-Za-z0-9_-]{22})(==)?")


def to_text(value: UUID) -> str:
    """Return the 22 characters of a UUID. Kafka: ``Uuid.toString``."""
    return bytes_to_text(value.bytes)


def bytes_to_text(data: Buffer) -> str:
    """Return the 22 characters of the ``SIZE`` bytes of a UUID."""
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def from_text(text: str) -> UUID | None:
    """Parse the text of a UUID, with or without padding; return None for any other text.

    As in Kafka, the four unused bits of the last character may be anything.
    Kafka: ``Uuid.fromString``.
    """
    match = _TEXT.fullmatch(text)
    return UUID(bytes=urlsafe_b64decode(match[1] + "==")) if match else None
