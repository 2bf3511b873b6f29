"""Check for bytes of magic 0 and 1 that Kafka's reader silently skips (quirk Q13)."""

from __future__ import annotations

from collections.abc import Iterator

from kafkaspec.analysis.findings import Area, Finding, Place
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.layout.framing import FRAMING, message_size
from kafkaspec.log.batch import Batch
from kafkaspec.log.legacy import has_relative_offsets


def check_slack(batch: Batch, file: str) -> Iterator[Finding]:
    """Report bytes of an entry after its value. The checksum covers them."""
    left = batch.ignored_bytes
    if left:
        place = Place(file, Area.BATCH, batch.end - left, batch.last_offset)
        yield place.warning(R.TRAILING_BYTES, f"{left} bytes after the value are ignored")


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
    place = Place(file, Area.WRAPPER, batch.position, batch.last_offset)
    if left >= FRAMING:
        message = f"the last message is cut after {left} bytes and silently dropped"
        if has_relative_offsets(batch.kind):
            message += ", which moves the offsets of all others up by one"
        yield place.error(R.TRAILING_BYTES, message)
    elif left:
        yield place.warning(R.TRAILING_BYTES, f"{left} bytes after the last message are ignored")
