"""Checks over segments, indexes and partitions. Names are imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkaspec.analysis.findings import Area, BrokerAction, Finding, FindingReason, Severity
    from kafkaspec.analysis.report import FileKind, FileResult, Report, Totals
    from kafkaspec.analysis.verification import verify, verify_events

_HOMES = {
    "Area": "findings",
    "BrokerAction": "findings",
    "FileKind": "report",
    "FileResult": "report",
    "Finding": "findings",
    "FindingReason": "findings",
    "Report": "report",
    "Severity": "findings",
    "Totals": "report",
    "verify": "verification",
    "verify_events": "verification",
}

__all__ = [
    "Area",
    "BrokerAction",
    "FileKind",
    "FileResult",
    "Finding",
    "FindingReason",
    "Report",
    "Severity",
    "Totals",
    "verify",
    "verify_events",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"kafkaspec.analysis.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
