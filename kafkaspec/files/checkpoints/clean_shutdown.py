"""``.kafka_cleanshutdown``: it exists if the broker was stopped cleanly.

Kafka: ``CleanShutdownFileHandler``; KIP-966. Empty up to 3.6; since 3.7 it holds the epoch of the
broker. A broker deletes it when it starts, so a running one has none.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafkaspec.files.checkpoints import text as texts

VERSION = 0
_VERSION_FIELD = "version"
_EPOCH_FIELD = "brokerEpoch"


@dataclass(frozen=True, slots=True)
class CleanShutdown:
    """The content of the file.

    Attributes:
        broker_epoch: last epoch of the broker, None in an empty file.
        version: version of the content; Kafka ignores it.
    """

    broker_epoch: int | None = None
    version: int = VERSION


def parse(data: bytes, *, file: str | None = None) -> CleanShutdown:
    """Parse the file.

    Kafka never refuses it: where this function raises, Kafka assumes a clean stop without an epoch.

    Args:
        data: all bytes of the file.
        file: its name in errors.

    Raises:
        CorruptError: the file is not empty, and not the JSON that Kafka writes.
    """
    text = texts.Text(data, file)
    if not data:
        return CleanShutdown()
    # Kafka replaces invalid UTF-8 (Utils.readFileAsString), so a name may contain it.
    content = texts.TextPiece(data.decode("utf-8", "replace"), 0, 1)
    found = texts.JsonObject(text, content)
    version = (
        found.number(_VERSION_FIELD, texts.INT_BITS) if _VERSION_FIELD in found.fields else VERSION
    )
    return CleanShutdown(found.number(_EPOCH_FIELD, texts.LONG_BITS), version)


read = texts.reader(parse)


def serialize(shutdown: CleanShutdown) -> bytes:
    """Serialize the file as Kafka does: no bytes without an epoch, as up to 3.6.

    Raises:
        KafkaSpecError: ``unencodable``: a number does not fit.
    """
    if shutdown.broker_epoch is None:
        return b""
    texts.writable(shutdown.version, texts.INT_BITS, _VERSION_FIELD)
    texts.writable(shutdown.broker_epoch, texts.LONG_BITS, _EPOCH_FIELD)
    return texts.written({_VERSION_FIELD: shutdown.version, _EPOCH_FIELD: shutdown.broker_epoch})
