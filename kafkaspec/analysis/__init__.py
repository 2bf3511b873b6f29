"""Checks of segments, indexes and partitions. Names are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkaspec.lazy import attach

if TYPE_CHECKING:
    from kafkaspec.analysis.findings import Area as Area
    from kafkaspec.analysis.findings import BrokerAction as BrokerAction
    from kafkaspec.analysis.findings import Finding as Finding
    from kafkaspec.analysis.findings import FindingReason as FindingReason
    from kafkaspec.analysis.findings import Severity as Severity
    from kafkaspec.analysis.report import FileKind as FileKind
    from kafkaspec.analysis.report import FileResult as FileResult
    from kafkaspec.analysis.report import Report as Report
    from kafkaspec.analysis.report import Totals as Totals
    from kafkaspec.analysis.verification import verify as verify
    from kafkaspec.analysis.verification import verify_events as verify_events
else:
    __getattr__, __dir__, __all__ = attach(__name__)
