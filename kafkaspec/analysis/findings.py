"""The findings of ``verify``, each with a reason from a closed list and its consequences."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kafkaspec.analysis.areas import Area, BrokerAction
from kafkaspec.analysis.consequences import consequence_of
from kafkaspec.analysis.reasons import FindingReason
from kafkaspec.errors import KafkaSpecError

__all__ = ["Area", "BrokerAction", "Finding", "FindingReason", "Severity", "finding_of_error"]


class Severity(StrEnum):
    """How much a finding matters. Only the first two make a file unclean."""

    ERROR = "error"
    """Data is lost or damaged, or requests get wrong answers."""
    WARNING = "warning"
    """Kafka accepts it, but no Kafka writes it; or the log was not closed."""
    INFO = "info"
    """Legal and worth knowing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, or is worth knowing.

    Attributes:
        file: path of the file that it is about.
        severity: how much it matters.
        area: kind of structure that it is about.
        reason: from the closed list ``FindingReason``.
        message: one sentence for people.
        position: absolute byte offset in the file, None if it is about the whole file.
        offset: log offset that it is about, None for none.
        path: path of the field in the data, ids of the specification joined by ``/``, or "".
        codec: name of the codec that found it, "" if that does not matter.
        reader: what Kafka's reader (a consumer or follower) does with it.
        broker: what a broker does with it when it loads the log.
        action: the same as ``broker``, from a closed list.
    """

    file: str
    severity: Severity
    area: Area
    reason: FindingReason
    message: str
    position: int | None = None
    offset: int | None = None
    path: str = ""
    codec: str = ""

    @property
    def reader(self) -> str:
        return consequence_of(self.area, self.reason).reader

    @property
    def broker(self) -> str:
        return consequence_of(self.area, self.reason).broker

    @property
    def action(self) -> BrokerAction:
        return consequence_of(self.area, self.reason).action

    @property
    def counts(self) -> bool:
        """Whether it makes the file unclean."""
        return self.severity is not Severity.INFO

    def as_dict(self) -> dict[str, Any]:
        """Return all values, ready for JSON."""
        return {
            "file": self.file,
            "severity": str(self.severity),
            "area": str(self.area),
            "reason": str(self.reason),
            "message": self.message,
            "position": self.position,
            "offset": self.offset,
            "path": self.path,
            "codec": self.codec,
            "reader": self.reader,
            "broker": self.broker,
            "action": str(self.action),
        }


def finding_of_error(
    error: KafkaSpecError,
    area: Area,
    *,
    file: str,
    offset: int | None = None,
    position: int | None = None,
    severity: Severity = Severity.ERROR,
    codec: str = "",
) -> Finding:
    """Return the finding for an error of the library.

    Args:
        error: error that was raised.
        area: kind of structure that was read.
        file: path of the file.
        offset: log offset of the batch, if it is known.
        position: byte offset to report if the error has none.
        severity: ``ERROR`` unless the data is legal.
        codec: name of the codec, if only that one refused the data.
    """
    message = error.detail
    if error.inner_offset is not None:
        message += f" (byte {error.inner_offset} of the decompressed data)"
    return Finding(
        file=file,
        severity=severity,
        area=area,
        reason=FindingReason(str(error.reason)),
        message=message,
        position=position if error.offset is None else error.offset,
        offset=offset,
        path=error.path,
        codec=codec,
    )
