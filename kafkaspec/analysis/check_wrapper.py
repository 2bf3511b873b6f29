"""Check for bytes of magic 0 and 1 that Kafka's reader silently skips (quirk Q13)."""

from __future__ import annotations

from collections.abc import Iterator

from kafkaspec._generated.python.model.recordbatch import LegacyMessage
from kafkaspec.analysis.findings import Area, Finding, FindingReason, Severity
from kafkaspec.layout.framing import FRAMING, message_size
from kafkaspec.log.batch import Batch
from kafkaspec.log.legacy import has_relative_offsets


def check_slack(batch: Batch, file: str) -> Iterator[Finding]:
    """Report bytes of an entry after its value. The checksum covers them."""
    if isinstance(batch.message, LegacyMessage) and len(batch.message.unused):
        left = len(batch.message.unused)
        yield Finding(
            file,
            Severity.WARNING,
            Area.BATCH,
            FindingReason.TRAILING_BYTES,
            f"{left} bytes after the value are ignored",
            batch.end - left,
            batch.last_offset,
        )


def check_surplus(batch: Batch, file: str) -> Iterator[Finding]:
    """Report bytes after the last readable message of a wrapper.

    Kafka ignores fewer bytes than the framing of an entry. It drops a cut entry, and in magic 1
    the offsets of all other messages move up by one.
    """
    payload = memoryview(batch.decompressed())
    position = 0
    while len(payload) - position >= FRAMING:
        end = position + FRAMING + message_size(payload, position)
        if end > len(payload):
            break
        position = end
    left = len(payload) - position
    if not left:
        return
    if left < FRAMING:
        severity, message = Severity.WARNING, f"{left} bytes after the last message are ignored"
    else:
        severity, message = (
            Severity.ERROR,
            f"the last message is cut after {left} bytes and silently dropped"
            + (
                ", which moves the offsets of all others up by one"
                if has_relative_offsets(batch.kind)
                else ""
            ),
        )
    yield Finding(
        file,
        severity,
        Area.WRAPPER,
        FindingReason.TRAILING_BYTES,
        message,
        batch.position,
        batch.last_offset,
    )
