"""The findings of ``verify``, each with a reason from a closed list and its consequences."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partialmethod
from typing import Any, ClassVar

from kafkaspec import results
from kafkaspec.analysis.consequences import consequence_of
from kafkaspec.analysis.reasons import Area, Consequence, FindingReason
from kafkaspec.broker.actions import BrokerAction
from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.remote import TIERED
from kafkaspec.results import OffsetRange

__all__ = ["Area", "BrokerAction", "Finding", "FindingReason", "Place", "Severity"]


class Severity(StrEnum):
    """How much a finding matters. Only the first two make a file unclean."""

    ERROR = "error"
    """Data is lost or damaged, or requests get wrong answers."""
    WARNING = "warning"
    """Kafka accepts it, but no Kafka writes it; or the log was not closed."""
    INFO = "info"
    """Legal and worth knowing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(results.Finding):
    """One thing that is wrong, or is worth knowing.

    Attributes:
        severity: how much it matters.
        area: kind of structure that it is about.
        reason: from the closed list ``FindingReason``.
        offset: log offset that it is about, None for none.
        path: path of the field in the data, ids of the specification joined by ``/``, or "".
        codec: name of the codec that found it, "" if that does not matter.
        entry: byte offset of the log entry (batch or message) that holds ``position``, None if it
            is in none.
        reader: what Kafka's reader (a consumer or follower) does with it.
        broker: what a broker does with it when it loads the log.
        action: the same as ``broker``, from a closed list.
        predicted: what the loader does about it in this log, if that is not what the table says.
    """

    file: str
    severity: Severity
    area: Area
    reason: FindingReason
    offset: int | None = None
    path: str = ""
    codec: str = ""
    entry: int | None = None
    predicted: Consequence | None = None
    ALSO: ClassVar = ("reader", "broker", "action")

    @property
    def reader(self) -> str:
        return self._consequence.reader

    @property
    def broker(self) -> str:
        return self._consequence.broker

    @property
    def action(self) -> BrokerAction:
        return self._consequence.action

    @property
    def _consequence(self) -> Consequence:
        return self.predicted or consequence_of(self.area, self.reason)

    @property
    def counts(self) -> bool:
        """Whether it makes the file unclean."""
        return self.severity is not Severity.INFO

    def as_dict(self) -> dict[str, Any]:
        """Return all values, ready for JSON."""
        content: dict[str, Any] = results.as_json(self, ("predicted",))
        return content


@dataclass(slots=True)
class Place:
    """A place in a file, which makes the findings about it.

    Attributes:
        file: path of the file.
        area: kind of structure there.
        position: byte offset of findings that have no other.
        offset: log offset of findings that have no other.
    """

    file: str
    area: Area
    position: int | None = None
    offset: int | None = None

    def found(
        self,
        severity: Severity,
        reason: FindingReason,
        message: str,
        position: int | None = None,
        offset: int | None = None,
        *,
        path: str = "",
        codec: str = "",
        offsets: OffsetRange | None = None,
        predicted: Consequence | None = None,
    ) -> Finding:
        """Return a finding; for arguments see ``Finding``."""
        return Finding(
            file=self.file,
            severity=severity,
            area=self.area,
            reason=reason,
            message=message,
            position=self.position if position is None else position,
            offset=self.offset if offset is None else offset,
            path=path,
            codec=codec,
            offsets=offsets,
            predicted=predicted,
        )

    error = partialmethod(found, Severity.ERROR)
    warning = partialmethod(found, Severity.WARNING)
    info = partialmethod(found, Severity.INFO)

    def refused(self, error: KafkaSpecError, severity: Severity = Severity.ERROR) -> Finding:
        """Return the finding for an error of the library, at its own position if it has one."""
        message = error.detail
        if error.inner_position is not None:
            message += f" (byte {error.inner_position} of the decompressed data)"
        reason = FindingReason(error.reason)
        if error.file not in (None, self.file) and self.file.startswith(f"{TIERED}://"):
            # About an object in remote storage, whose positions are not those of the file.
            at = "" if error.position is None else f" at byte {error.position}"
            at += f" {error.path}" if error.path else ""
            return self.found(severity, reason, f"{error.file}{at}: {message}")
        return self.found(severity, reason, message, error.position, path=error.path)
