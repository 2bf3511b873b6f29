"""Check for what Kafka's reader of magic 0 and 1 silently skips (quirk Q13) or accepts (Q21)."""

from __future__ import annotations

from collections.abc import Iterator

from kafkaspec.analysis.findings import Area, Finding, Place
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.layout.framing import FRAMING
from kafkaspec.log.batch import Batch, ignored_bytes
from kafkaspec.log.legacy import LegacyBatch, has_relative_offsets


def check_slack(batch: Batch, file: str) -> Iterator[Finding]:
    """Report bytes of an entry after its value. The checksum covers them."""
    left = ignored_bytes(batch)
    if left:
        place = Place(file, Area.BATCH, batch.end - left, batch.last_offset)
        yield place.warning(R.TRAILING_BYTES, f"{left} bytes after the value are ignored")


def check_wrapper(batch: LegacyBatch, file: str) -> Iterator[Finding]:
    """Report bytes after the last message of a wrapper that was read, and a message of no magic.

    Kafka ignores fewer bytes than the framing of an entry. It drops a cut entry, and in magic 1
    the offsets of all other messages move up by one.
    """
    left, magic = batch.dropped_bytes, batch.unknown_magic
    place = Place(file, Area.WRAPPER, batch.position, batch.last_offset)
    if magic is not None:
        yield place.warning(R.INNER_MAGIC, f"a message has magic {magic}, and is read as magic 1")
    if left >= FRAMING:
        message = f"the last message is cut after {left} bytes and silently dropped"
        if has_relative_offsets(batch.kind):
            message += ", which moves the offsets of all others up by one"
        yield place.error(R.TRAILING_BYTES, message)
    elif left:
        yield place.warning(R.TRAILING_BYTES, f"{left} bytes after the last message are ignored")
