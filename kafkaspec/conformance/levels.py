"""Levels of cases: a decoder that passes all cases of one can do what it is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cache
from typing import Final

from kafkaspec import compression
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.layout.files import FILES
from kafkaspec.conformance.protocol import RequestKind
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.names import SEGMENTS, SIDECARS
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.control import KEY
from kafkaspec.log.segment import Segment


class CaseLevel(StrEnum):
    """A task of a decoder, which a case asks for; the list is closed."""

    FRAMING = "framing"
    """Entries and batches, their headers, their ends and their checksums."""
    RECORDS = "records"
    """Records and messages that are not compressed."""
    COMPRESSION = "compression"
    """Compressed batches and wrappers."""
    TRANSACTIONS = "transactions"
    """Control records, and what a consumer with ``read_committed`` gets."""
    INDEXES = "indexes"
    """Indexes, producer snapshots and the text files of a log directory."""
    MESSAGES = "messages"
    """Kafka's own messages, and other types of the contents of records."""
    WRITING = "writing"
    """Batches that the testee writes."""
    RESOURCE = "resource"
    """Hostile bytes, with a bound on time and memory."""


_BY_KIND: Final = {
    RequestKind.CONTROL_RECORDS: CaseLevel.TRANSACTIONS,
    RequestKind.COMMITTED_RECORDS: CaseLevel.TRANSACTIONS,
    RequestKind.ENCODE: CaseLevel.WRITING,
    RequestKind.OFFSET_INDEX: CaseLevel.INDEXES,
    RequestKind.TIME_INDEX: CaseLevel.INDEXES,
    RequestKind.TRANSACTION_INDEX: CaseLevel.INDEXES,
    RequestKind.PRODUCER_SNAPSHOT: CaseLevel.INDEXES,
    RequestKind.TEXT: CaseLevel.INDEXES,
}


def level_of(
    kind: RequestKind,
    codecs: Iterable[str] = (),
    *,
    type_key: str = "",
    framed: bool = False,
    bounded: bool = False,
) -> CaseLevel:
    """Return the level of a case.

    Args:
        kind: what its bytes are.
        codecs: the compressions of a log, by name.
        type_key: the type of the specification that the bytes are.
        framed: whether it is about entries and not about what is in them.
        bounded: whether it bounds the memory of the testee.
    """
    if bounded:
        return CaseLevel.RESOURCE
    if kind is RequestKind.TYPE:
        return _levels_of_types().get(type_key, CaseLevel.MESSAGES)
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    if framed:
        return CaseLevel.FRAMING
    return CaseLevel.COMPRESSION if codecs else CaseLevel.RECORDS


def codecs_in(data: bytes) -> frozenset[str]:
    """Return the names of the compressions of a log, up to where it cannot be read."""
    found = set()
    try:
        for batch in Segment(data, crc="ignore").batches():
            if batch.is_compressed:
                found.add(batch.compression_name)
    except KafkaSpecError:  # a case that must be refused anyway
        pass
    return frozenset(found & set(compression.NAMES))


@cache
def _levels_of_types() -> dict[str, CaseLevel]:
    """Return the level of each type that is not of a message or of another content of records."""
    files = {suffix: FILES[suffix].type.partition(".")[0] for suffix in FILES}
    segments = {files[suffix] for suffix in SEGMENTS}
    beside = {files[suffix] for suffix in SIDECARS}
    control = KEY.partition(".")[0]
    found: dict[str, CaseLevel] = {}
    for key in LAYOUTS:
        file = key.partition(".")[0]
        if file in segments:
            found[key] = CaseLevel.FRAMING
        elif file in beside:
            found[key] = CaseLevel.INDEXES
        elif file == control:
            found[key] = CaseLevel.TRANSACTIONS
    for kind in KINDS.values():
        for key in _below(kind.record_set if kind.has_record_sets else kind.key):
            found[key] = CaseLevel.RECORDS
    return found


def _below(key: str) -> Iterator[str]:
    """Yield a type and all types inside it."""
    yield key
    for field in LAYOUTS[key].fields:
        if field.type in LAYOUTS:
            yield from _below(field.type)
