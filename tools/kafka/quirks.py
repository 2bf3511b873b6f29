"""Where Kafka's readers and kafkaspec part: the whole list, each entry with its reason.

A difference that is in no entry is a defect of ours, and an entry that no case shows any more is
one too: ``tests/kafka/test_reader.py`` holds both.  ``docs/kafka-quirks.md`` is made from this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from kafkaspec.errors import Reason
from tools.golden.versions import Version
from tools.kafka.reader import Verdict

_NEVER = (99,)


class Reader(StrEnum):
    """Which of Kafka's readers."""

    FILE = "FileRecords"
    BUFFER = "MemoryRecords"


class Kind(StrEnum):
    """What Kafka found wrong, from the class of its exception and its text."""

    NOTHING = "nothing"
    CHECKSUM = "checksum"
    SIZE = "size of an entry"
    MAGIC = "magic"
    COMPRESSION = "compressed stream"
    COMPRESSION_ID = "compression id"
    WRAPPER = "wrapper"
    STRUCTURE = "structure"
    MEMORY = "out of memory"


_TEXTS = (
    (Kind.MEMORY, ("OutOfMemoryError", "exceeds the configured maximum record size")),
    (Kind.CHECKSUM, ("Record is corrupt (stored crc",)),
    (
        Kind.SIZE,
        (
            "smaller than minimum record overhead",
            "less than the minimum record overhead",
            "is smaller than the mini",
        ),
    ),
    (Kind.MAGIC, ("Invalid magic found",)),
    (Kind.COMPRESSION_ID, ("Unknown compression type id", "Invalid wrapper compressionType")),
    (
        Kind.WRAPPER,
        (
            "Inner messages must not be compressed",
            "no inner records",
            "with null value",
            "Found invalid wrapper offset",
            "Invalid wrapper magic",
        ),
    ),
    (Kind.COMPRESSION, ("KafkaException", "SnappyError", "NegativeArraySizeException")),
    (
        Kind.STRUCTURE,
        (
            "InvalidRecordException",
            "IllegalArgumentException",
            "IndexOutOfBounds",
            "Underflow",
            "NullPointerException",
        ),
    ),
)


def kind(verdict: Verdict) -> Kind:
    """What Kafka found wrong; raises :class:`ValueError` for an error that is in no group."""
    if verdict.accepted:
        return Kind.NOTHING
    text = f"{verdict.error} {verdict.message}"
    for found, texts in _TEXTS:
        if any(part in text for part in texts):
            return found
    raise ValueError(f"an error of Kafka that no group holds: {text} ({verdict.cause})")


SAME: dict[str, frozenset[Kind]] = {
    Reason.CHECKSUM_MISMATCH: frozenset({Kind.CHECKSUM}),
    Reason.DECOMPRESSION_FAILED: frozenset({Kind.COMPRESSION}),
    Reason.UNSUPPORTED_COMPRESSION: frozenset({Kind.COMPRESSION_ID}),
    Reason.EMPTY_WRAPPER: frozenset({Kind.WRAPPER}),
    Reason.NULL_WRAPPER_VALUE: frozenset({Kind.WRAPPER}),
    Reason.NESTED_COMPRESSION: frozenset({Kind.WRAPPER}),
    Reason.WRAPPER_OFFSET: frozenset({Kind.WRAPPER}),
    Reason.INVALID_VALUE: frozenset({Kind.STRUCTURE, Kind.SIZE, Kind.MAGIC}),
    Reason.OVERRUN: frozenset({Kind.STRUCTURE, Kind.SIZE}),
    Reason.TRAILING_BYTES: frozenset({Kind.STRUCTURE}),
    Reason.VARINT_TOO_LONG: frozenset({Kind.STRUCTURE}),
}
"""Our reason, and what Kafka calls the same."""

_HEADER = frozenset({Reason.INVALID_VALUE, Reason.OVERRUN})


@dataclass(frozen=True)
class Quirk:
    """One way in which Kafka and kafkaspec differ.

    Attributes:
        name: short, for people.
        text: what each does, and why.
        source: Kafka's source that decides it.
        explains: whether the quirk is what parts these two verdicts, ours first.
        readers: of Kafka that have it.
        since: first release that has it.
        until: first release without it again.
        verdict: whether one accepts what the other refuses; otherwise only the reasons differ.
    """

    name: str
    text: str
    source: str
    explains: Callable[[Verdict, Kind, Verdict], bool]
    readers: tuple[Reader, ...] = (Reader.FILE, Reader.BUFFER)
    since: tuple[int, ...] = (0,)
    until: tuple[int, ...] = _NEVER
    verdict: bool = True

    def applies_to(self, version: Version, reader: Reader) -> bool:
        """Whether that reader of that release has it."""
        return reader in self.readers and self.since <= version.release < self.until


def _same_content(ours: Verdict, theirs: Verdict) -> bool:
    return ours.content == theirs.content


QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        "magic of a file is not checked (Q8)",
        "The reader of files takes any magic above 2 for 2 and a negative one for 1. The reader of "
        "buffers, which consumers use, refuses them, and so does kafkaspec.",
        "FileLogInputStream.nextBatch, ByteBufferLogInputStream.nextBatchSize",
        lambda ours, kind, theirs: (
            ours.error == Reason.INVALID_VALUE
            and "/message/magic" in ours.message
            and theirs.batches > ours.batches
        ),
        readers=(Reader.FILE,),
    ),
    Quirk(
        "a tail is looked at earlier in a buffer (Q8)",
        "The reader of buffers looks at the size with 12 bytes left and at the magic with 17, also "
        "of an entry that is cut. The reader of files takes both for the end of the log, and so "
        "does kafkaspec, whose input is files.",
        "ByteBufferLogInputStream.nextBatchSize, FileLogInputStream.nextBatch",
        lambda ours, kind, theirs: (
            ours.accepted and kind in (Kind.SIZE, Kind.MAGIC) and _same_content(ours, theirs)
        ),
        readers=(Reader.BUFFER,),
    ),
    Quirk(
        "a size near 2^31 overflows in a buffer",
        "12 is added to the size of an entry before it is compared with what is left, which makes "
        "a size above 2^31 - 13 negative; the reader fails with an IllegalArgumentException. "
        "Kafkaspec sees a cut entry, the end of the log.",
        "ByteBufferLogInputStream.nextBatchSize",
        lambda ours, kind, theirs: (
            ours.accepted and "newLimit < 0" in theirs.message and _same_content(ours, theirs)
        ),
        readers=(Reader.BUFFER,),
    ),
    Quirk(
        "a size near 2^31 overflows in a file, before 1.1",
        "The same sum in the reader of files.",
        "FileLogInputStream.nextBatch of 0.11 and 1.0",
        lambda ours, kind, theirs: (
            ours.accepted and "capacity < 0" in theirs.message and _same_content(ours, theirs)
        ),
        readers=(Reader.FILE,),
        until=(1, 1),
    ),
    Quirk(
        "sizes inside of compressed data are not bounded (Q5)",
        "Kafka allocates what a record, an inner message or a snappy chunk claims to be, and runs "
        "out of memory; with more of it most of these cases end as in kafkaspec, which looks "
        "before it allocates. From 4.4 on there is a bound, far above what any heap holds.",
        "DefaultRecord.readFrom, AbstractLegacyRecordBatch.DataLogInputStream, SnappyInputStream",
        lambda ours, kind, theirs: kind is Kind.MEMORY and theirs.batches <= ours.batches,
    ),
    Quirk(
        "an lz4 match with offset 0 gives other bytes in old releases",
        "No such match is valid, but no library refuses it; what it yields is not the same in the "
        "version of lz4-java that releases before 2.1 have, 1.4.1 or older.",
        "lz4-java",
        lambda ours, kind, theirs: (
            ours.accepted and theirs.accepted and ours.content[:3] == theirs.content[:3]
        ),
        until=(2, 1),
    ),
    Quirk(
        "no zstd before 2.1",
        "The id was given in 2.1 (KIP-110); older releases refuse it.",
        "CompressionType.forId",
        lambda ours, kind, theirs: (
            kind is Kind.COMPRESSION_ID
            and theirs.message.endswith("type id: 4")
            and theirs.batches <= ours.batches
        ),
        until=(2, 1),
    ),
    Quirk(
        "garbage behind a zstd frame passes in old releases",
        "Old releases ask for no byte behind the last record's buffer and never meet what is wrong "
        "there. Newer ones refuse it, and so does kafkaspec.",
        "ZstdFactory.wrapForInput",
        lambda ours, kind, theirs: (
            ours.error == Reason.DECOMPRESSION_FAILED
            and "zstd" in ours.message
            and theirs.batches > ours.batches
        ),
        since=(2, 1),
        until=(3, 9),
    ),
    Quirk(
        "headers are looked at before checksums",
        "Kafka compares the checksum of a whole entry first; kafkaspec reads the fields of its "
        "header first, and says what is wrong with them.",
        "DefaultRecordBatch.ensureValid, LegacyRecord.ensureValid",
        lambda ours, kind, theirs: (
            ours.error in _HEADER
            and kind in (Kind.CHECKSUM, Kind.COMPRESSION, Kind.COMPRESSION_ID, Kind.WRAPPER)
        ),
        verdict=False,
    ),
    Quirk(
        "a compressed payload is decompressed in one piece",
        "Kafka reads records while it decompresses, and meets a broken record before the place "
        "where the stream is broken; kafkaspec decompresses first, so that it can bound it.",
        "DefaultRecordBatch.compressedIterator, AbstractLegacyRecordBatch.DeepRecordsIterator",
        lambda ours, kind, theirs: (
            ours.error == Reason.DECOMPRESSION_FAILED
            and kind in (Kind.STRUCTURE, Kind.SIZE, Kind.WRAPPER, Kind.MAGIC)
        ),
        verdict=False,
    ),
    Quirk(
        "two faults of one wrapper",
        "A wrapper of an unknown compression without a value, or of one that its magic may not "
        "have: kafkaspec names the one, Kafka the other.",
        "AbstractLegacyRecordBatch.DeepRecordsIterator",
        lambda ours, kind, theirs: (
            ours.error == Reason.NULL_WRAPPER_VALUE and kind is Kind.COMPRESSION_ID
        ),
        verdict=False,
    ),
)


def agree(ours: Verdict, kind: Kind, theirs: Verdict) -> bool:
    """Whether both say the same: the same records, and no error or the same reason for it."""
    if not _same_content(ours, theirs) or ours.accepted != theirs.accepted:
        return False
    return ours.accepted or kind in SAME.get(ours.error, frozenset())


def explanation(version: Version, reader: Reader, ours: Verdict, theirs: Verdict) -> Quirk | None:
    """The quirk that explains how these verdicts differ, None for none: a defect."""
    found = kind(theirs)
    same = _same_content(ours, theirs) and ours.accepted == theirs.accepted
    for quirk in QUIRKS:
        if (
            quirk.applies_to(version, reader)
            and (quirk.verdict or same)
            and quirk.explains(ours, found, theirs)
        ):
            return quirk
    return None


def page() -> str:
    """The page that lists them."""
    lines = [
        "<!-- Made from tools/kafka/quirks.py by `make compatibility`. -->",
        "",
        "# Where Kafka's readers and kafkaspec part",
        "",
        "`make test-kafka` gives more than 10,000 logs (segments of brokers, what `encode` writes,",
        "the vectors, and batches broken in many ways) to Kafka's own readers of several releases",
        "and to kafkaspec. Both must read the same records, stop at the same place, and refuse for",
        "the same kind of reason, but for what stands here. Anything else is a defect.",
        "",
    ]
    for title, wanted in (("Accepted by one only", True), ("Refused for other reasons", False)):
        lines += [
            f"## {title}",
            "",
            "| what | reader | releases | Kafka's source |",
            "|---|---|---|---|",
        ]
        for quirk in QUIRKS:
            if quirk.verdict is not wanted:
                continue
            readers = "both" if len(quirk.readers) > 1 else quirk.readers[0].value
            lines.append(
                f"| **{quirk.name}**. {quirk.text} | {readers} | {_releases(quirk)} "
                f"| {quirk.source} |"
            )
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def _releases(quirk: Quirk) -> str:
    since = ".".join(map(str, quirk.since)) if quirk.since > (0,) else ""
    until = ".".join(map(str, quirk.until)) if quirk.until < _NEVER else ""
    if since and until:
        return f"from {since}, before {until}"
    return f"before {until}" if until else f"from {since}" if since else "all"
