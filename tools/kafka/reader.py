"""Ask Kafka's readers, and ours, about the same bytes."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kafkaspec.codecs import Codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record, java_text
from tools.brokers.programs import Program
from tools.brokers.versions import Version

MAX_OUTPUT = 16 << 20
"""Bytes that a batch of a case may decompress to; the JVM's heap is of that order too."""


@dataclass(frozen=True)
class Verdict:
    """The result of a reader for a case.

    Attributes:
        batches: read to their end before the error, or in all.
        records: in these batches.
        end: byte offset after the last of these batches.
        digest: over offsets, timestamps, keys, values and headers of these records.
        error: class of the error, or our reason; "" if the case was read to its end.
        message: of the error.
        cause: class and message of the root cause of an error of Kafka's.
    """

    batches: int
    records: int
    end: int
    digest: str
    error: str = ""
    message: str = ""
    cause: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the reader came to the end of the log without an error."""
        return not self.error

    @property
    def content(self) -> tuple[int, int, int, str]:
        """All but the error, for comparisons."""
        return self.batches, self.records, self.end, self.digest


def judge(version: Version, work: Path, cases: Iterable[bytes]) -> list[tuple[Verdict, Verdict]]:
    """Return the verdicts of the readers of that release: on each case as a file, and as a buffer.

    Raises:
        ToolError: the program cannot be compiled or ends early.
    """
    with Program(version, work, "ReaderJudge", flags=["-Xmx512m"]) as program:
        answers = [program.ask("ReaderJudge", case) for case in cases]
    return [(_verdict(*file), _verdict(*buffer)) for file, buffer in answers]


def _verdict(
    batches: str, records: str, end: str, digest: str, error: str, text: str, *root: str
) -> Verdict:
    cause = ": ".join(root) if error else ""
    return Verdict(int(batches), int(records), int(end), digest, error, text, cause)


def ours(data: bytes, codec: Codec | str) -> Verdict:
    """Return the verdict of kafkaspec on a case."""
    segment = Segment(data, codec=codec, max_output=MAX_OUTPUT)
    batches = count = end = 0
    digest = ""
    try:
        for batch in segment.batches():
            records = batch.records()
            chain = hashlib.sha256(digest.encode("ascii"))
            _add(chain, records)
            batches, count, end = batches + 1, count + len(records), batch.end
            digest = chain.hexdigest()
    except KafkaSpecError as error:
        return Verdict(batches, count, end, digest, error.reason.value, str(error))
    return Verdict(batches, count, end, digest)


def _add(chain: hashlib._Hash, records: Iterable[Record]) -> None:
    for record in records:
        chain.update(struct.pack(">qq", record.offset, record.timestamp))
        chain.update(_sized(record.key) + _sized(record.value))
        chain.update(struct.pack(">i", len(record.headers)))
        for key, value in record.headers:
            shown = java_text(key.encode("utf-8", "surrogateescape"))
            chain.update(_sized(shown.encode("utf-8")) + _sized(value))


def _sized(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
