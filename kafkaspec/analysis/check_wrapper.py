"""Check for what Kafka's reader of magic 0 and 1 silently skips (quirk Q13) or accepts (Q21)."""

from __future__ import annotations

from collections.abc import Iterator

from kafkaspec.analysis.findings import Area, Finding, Place
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.layout.framing import FRAMING, HEADER_UP_TO_MAGIC, message_size
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import Batch
from kafkaspec.log.legacy import has_relative_offsets


def check_slack(batch: Batch, file: str) -> Iterator[Finding]:
    """Report bytes of an entry after its value. The checksum covers them."""
    left = batch.ignored_bytes
    if left:
        place = Place(file, Area.BATCH, batch.end - left, batch.last_offset)
        yield place.warning(R.TRAILING_BYTES, f"{left} bytes after the value are ignored")


def check_wrapper(batch: Batch, file: str) -> Iterator[Finding]:
    """Report bytes after the last readable message of a wrapper, and messages of no known magic.

    Kafka ignores fewer bytes than the framing of an entry. It drops a cut entry, and in magic 1
    the offsets of all other messages move up by one.
    """
    payload = memoryview(batch.decompressed())
    position = 0
    odd: int | None = None
    while len(payload) - position >= FRAMING:
        end = position + FRAMING + message_size(payload, position)
        if end > len(payload):
            break
        magic = payload[position + HEADER_UP_TO_MAGIC - 1]
        if odd is None and (magic not in KINDS or KINDS[magic].has_record_sets):
            odd = magic
        position = end
    left = len(payload) - position
    place = Place(file, Area.WRAPPER, batch.position, batch.last_offset)
    if odd is not None:
        yield place.warning(R.INNER_MAGIC, f"a message has magic {odd}, and is read as magic 1")
    if left >= FRAMING:
        message = f"the last message is cut after {left} bytes and silently dropped"
        if has_relative_offsets(batch.kind):
            message += ", which moves the offsets of all others up by one"
        yield place.error(R.TRAILING_BYTES, message)
    elif left:
        yield place.warning(R.TRAILING_BYTES, f"{left} bytes after the last message are ignored")
