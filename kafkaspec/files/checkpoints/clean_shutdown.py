"""``.kafka_cleanshutdown``: its existence says that the broker was stopped cleanly.

Kafka: ``CleanShutdownFileHandler``; KIP-966. Empty up to 3.6; since 3.7 it holds the epoch of the
broker. A broker deletes it when it starts, so that a running one has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

from kafkaspec.files.checkpoints.json_text import JsonObject, written
from kafkaspec.files.checkpoints.text import INT_BITS, LONG_BITS, Piece, Text, writable

VERSION = 0
_VERSION_FIELD = "version"
_EPOCH_FIELD = "brokerEpoch"


@dataclass(frozen=True, slots=True)
class CleanShutdown:
    """What the file says.

    Attributes:
        broker_epoch: that the broker had last, None in an empty file.
        version: of the content; Kafka does not look at it.
    """

    broker_epoch: int | None = None
    version: int = VERSION


def parse(data: bytes, *, file: str | None = None) -> CleanShutdown:
    """What is in the file.

    Kafka never refuses it: what raises here means "clean, and no epoch" there.

    Args:
        data: all bytes of the file.
        file: its name in errors.

    Raises:
        CorruptError: there is something in it, and not the JSON that Kafka writes.
    """
    text = Text(data, file)
    if not data:
        return CleanShutdown()
    # Kafka replaces what is not UTF-8 (Utils.readFileAsString), so that it may stand in a name.
    content = Piece(data.decode("utf-8", "replace"), 0, 1)
    found = JsonObject(text, content)
    version = found.number(_VERSION_FIELD, INT_BITS) if _VERSION_FIELD in found.fields else VERSION
    return CleanShutdown(found.number(_EPOCH_FIELD, LONG_BITS), version)


def read(path: str | PathLike[str]) -> CleanShutdown:
    """What the file at ``path`` says.

    Raises:
        KafkaSpecError: ``unreadable``, and as ``parse``.
    """
    text = Text.load(path)
    return parse(text.data, file=text.file)


def serialize(shutdown: CleanShutdown) -> bytes:
    """The bytes that Kafka writes: none without an epoch, as up to 3.6.

    Raises:
        KafkaSpecError: ``unencodable``: a number does not fit.
    """
    if shutdown.broker_epoch is None:
        return b""
    writable(shutdown.version, INT_BITS, _VERSION_FIELD)
    writable(shutdown.broker_epoch, LONG_BITS, _EPOCH_FIELD)
    return written({_VERSION_FIELD: shutdown.version, _EPOCH_FIELD: shutdown.broker_epoch})
