"""Every difference between Kafka's readers and kafkaspec, with the quirk that explains it.

A difference without an entry is a defect of ours, and so is an entry that no case shows any more:
``tests/kafka/test_reader.py`` checks both. ``docs/reader-differences.md`` is made from this, and
``docs/quirks.md`` says what each quirk is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from kafkaspec.errors import Reason
from tools.brokers.versions import NEVER, Version
from tools.kafka.reader import Verdict
from tools.quirks import link


class Reader(StrEnum):
    """One of Kafka's readers."""

    FILE = "FileRecords"
    BUFFER = "MemoryRecords"


class Kind(StrEnum):
    """The kind of an error of Kafka's, from the class of its exception and its text."""

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
    """Return the kind of an error, or raise :class:`ValueError` for one that is in no group."""
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
    Reason.NESTED_COMPRESSION: frozenset({Kind.WRAPPER, Kind.COMPRESSION_ID}),  # of any id
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
        number: of the entry in ``docs/quirks.md``.
        name: short, for people.
        explains: whether the quirk explains how these two verdicts differ, ours first.
        readers: of Kafka that have it.
        since: first release that has it.
        until: first release without it again.
        verdict: whether one accepts what the other refuses; otherwise only the reasons differ.
    """

    number: int
    name: str
    explains: Callable[[Verdict, Kind, Verdict], bool]
    readers: tuple[Reader, ...] = (Reader.FILE, Reader.BUFFER)
    since: tuple[int, ...] = (0,)
    until: tuple[int, ...] = NEVER
    verdict: bool = True

    def applies_to(self, version: Version, reader: Reader) -> bool:
        """Return whether that reader of that release has it."""
        return reader in self.readers and self.since <= version.release < self.until


def _same_content(ours: Verdict, theirs: Verdict) -> bool:
    return ours.content == theirs.content


QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        8,
        "the magic in a file is not checked",
        lambda ours, kind, theirs: (
            ours.error == Reason.INVALID_VALUE
            and "/message/magic" in ours.message
            and theirs.batches > ours.batches
        ),
        readers=(Reader.FILE,),
    ),
    Quirk(
        43,
        "zeros at the end are an error",
        lambda ours, kind, theirs: (
            ours.accepted and kind is Kind.SIZE and _same_content(ours, theirs)
        ),
        readers=(Reader.FILE,),
    ),
    Quirk(
        8,
        "a buffer's tail is looked at earlier",
        lambda ours, kind, theirs: (
            ours.accepted and kind in (Kind.SIZE, Kind.MAGIC) and _same_content(ours, theirs)
        ),
        readers=(Reader.BUFFER,),
    ),
    Quirk(
        14,
        "a size near 2^31 overflows in a buffer",
        lambda ours, kind, theirs: (
            ours.accepted and "newLimit < 0" in theirs.message and _same_content(ours, theirs)
        ),
        readers=(Reader.BUFFER,),
    ),
    Quirk(
        14,
        "a size near 2^31 overflows in a file",
        lambda ours, kind, theirs: (
            ours.accepted and "capacity < 0" in theirs.message and _same_content(ours, theirs)
        ),
        readers=(Reader.FILE,),
        until=(1, 1),
    ),
    Quirk(
        5,
        "sizes inside compressed data are not bounded",
        lambda ours, kind, theirs: kind is Kind.MEMORY and theirs.batches <= ours.batches,
    ),
    Quirk(
        15,
        "an lz4 match with offset 0 gives other bytes",
        lambda ours, kind, theirs: (
            ours.accepted and theirs.accepted and ours.content[:3] == theirs.content[:3]
        ),
        until=(2, 1),
    ),
    Quirk(
        16,
        "there is no zstd",
        lambda ours, kind, theirs: (
            kind is Kind.COMPRESSION_ID
            and theirs.message.endswith("type id: 4")
            and theirs.batches <= ours.batches
        ),
        until=(2, 1),
    ),
    Quirk(
        17,
        "garbage after a zstd frame passes",
        lambda ours, kind, theirs: (
            ours.error == Reason.DECOMPRESSION_FAILED
            and "zstd" in ours.message
            and theirs.batches > ours.batches
        ),
        since=(2, 1),
        until=(3, 9),
    ),
    Quirk(
        18,
        "the checksum comes before the header",
        lambda ours, kind, theirs: (
            ours.error in _HEADER
            and kind in (Kind.CHECKSUM, Kind.COMPRESSION, Kind.COMPRESSION_ID, Kind.WRAPPER)
        ),
        verdict=False,
    ),
    Quirk(
        19,
        "records are read while they are decompressed",
        lambda ours, kind, theirs: (
            ours.error == Reason.DECOMPRESSION_FAILED
            and kind in (Kind.STRUCTURE, Kind.SIZE, Kind.WRAPPER, Kind.MAGIC)
        ),
        verdict=False,
    ),
    Quirk(
        20,
        "of two faults in a wrapper, the other is named",
        lambda ours, kind, theirs: (
            ours.error == Reason.NULL_WRAPPER_VALUE and kind is Kind.COMPRESSION_ID
        ),
        verdict=False,
    ),
)


def agree(ours: Verdict, kind: Kind, theirs: Verdict) -> bool:
    """Return whether both agree: the same records, and no error or the same reason."""
    if not _same_content(ours, theirs) or ours.accepted != theirs.accepted:
        return False
    return ours.accepted or kind in SAME.get(ours.error, frozenset())


def explanation(version: Version, reader: Reader, ours: Verdict, theirs: Verdict) -> Quirk | None:
    """Return the quirk that explains how these verdicts differ, None for none: a defect."""
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


_HEAD = """\
<!-- Made from tools/kafka/quirks.py by `make compatibility`. DO NOT EDIT. -->

# Where Kafka's readers and kafkaspec differ

`make test-kafka` gives more than 10,000 logs to Kafka's own readers of several releases and to
kafkaspec: segments of brokers, what `encode` writes, the test vectors, and batches that were broken
in many ways. Both must read the same records, stop at the same place, and refuse for the same kind
of reason. The exceptions are listed here; anything else is a defect. [Quirks of Kafka](quirks.md)
explains each one.

"""


def page() -> str:
    """Return the page that lists them."""
    lines = _HEAD.splitlines()
    for title, wanted in (
        ("Only one of them accepts it", True),
        ("Both refuse it, for different reasons", False),
    ):
        lines += [
            f"## {title}",
            "",
            "| quirk | in Kafka | reader | releases |",
            "|---|---|---|---|",
        ]
        for quirk in QUIRKS:
            if quirk.verdict is not wanted:
                continue
            readers = "both" if len(quirk.readers) > 1 else f"`{quirk.readers[0].value}`"
            lines.append(
                link(f"| Q{quirk.number} | {quirk.name} | {readers} | {_releases(quirk)} |")
            )
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def _releases(quirk: Quirk) -> str:
    since = ".".join(map(str, quirk.since)) if quirk.since > (0,) else ""
    until = ".".join(map(str, quirk.until)) if quirk.until < NEVER else ""
    if since and until:
        return f"from {since}, before {until}"
    return f"before {until}" if until else f"from {since}" if since else "all"
