"""Judge the bytes that a testee writes."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from kafkaspec.analysis.findings import Severity
from kafkaspec.analysis.verification import verify
from kafkaspec.codecs import codec_names
from kafkaspec.conformance.protocol import (
    CaseFailure,
    RequestKind,
    decode_bytes,
    record_of,
)
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.names import LOG, segment_name
from kafkaspec.log.segment import Segment

WRITTEN: Final = (
    "magic", "compression", "producer_id", "producer_epoch", "base_sequence", "transactional",
    "partition_leader_epoch",
)  # fmt: skip
"""Members of a request about the entries to write, named as in ``kafkaspec.encode``."""

_JUDGES: Final = ("native", "python")


@cache
def judges() -> tuple[str, ...]:
    """Return the names of the codecs that judge: those of two that are installed."""
    return tuple(name for name in _JUDGES if name in codec_names())


@dataclass(frozen=True)
class WrittenRecords:
    """The testee must write these records.

    Attributes:
        items: the records, by the names of the protocol.
        magic: of the entries.
        compression: name of their compression.
        canonical: the only right bytes, None if Kafka does not say them: compressors differ.
    """

    items: Sequence[dict[str, Any]]
    magic: int
    compression: str
    canonical: bytes | None = None

    def failure(self, answer: dict[str, Any], kind: RequestKind) -> tuple[CaseFailure, str] | None:
        """Return how the answer differs from the expected one, None if it does not."""
        if "error" in answer:
            return CaseFailure.REFUSED, answer["error"][:300]
        wrong = self._wrong(decode_bytes(answer["bytes"]) or b"")
        return None if wrong is None else (CaseFailure.WRONG, wrong)

    def _wrong(self, data: bytes) -> str | None:
        for codec in judges():
            try:
                batches = list(Segment(data, codec=codec).batches())
                found = [record_of(item) for batch in batches for item in batch.records()]
            except KafkaSpecError as error:
                return f"codec {codec} refuses what was written: {error}"
            others = {(batch.magic, batch.compression_name) for batch in batches}
            if others != {(self.magic, self.compression)}:
                return f"wrote {sorted(others)}, not {[(self.magic, self.compression)]}"
            if found != list(self.items):
                return f"the records are {str(found)[:120]}, not {str(list(self.items))[:120]}"
        if self.canonical is not None and data != self.canonical:
            place = next(
                (i for i, pair in enumerate(zip(data, self.canonical, strict=False)) if
                 pair[0] != pair[1]), min(len(data), len(self.canonical)),
            )  # fmt: skip
            return f"byte {place} is not as Kafka writes it, of {len(self.canonical)} bytes"
        return _finding(data)


def _finding(data: bytes) -> str | None:
    """Return the first error of ``verify`` about a segment of these bytes, None for none."""
    with tempfile.TemporaryDirectory(prefix="kafkaspec-") as folder:
        first = next(Segment(data).batches())
        path = Path(folder) / segment_name(first.base_offset, LOG)
        path.write_bytes(data)
        report = verify(path, codec=",".join(judges()))
    errors = (item for item in report.findings if item.severity is Severity.ERROR)
    return next((f"{item.reason}: {item.message}" for item in errors), None)
