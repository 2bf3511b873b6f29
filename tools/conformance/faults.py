"""The faults and the choices of a decoder: where it differs from Kafka.

``faults.toml`` of a decoder has one table for each reason in the ``expected.txt`` beside it. The
bytes are those of a case, so that nobody types them twice; where all its cases are long, the table
has a separate short log.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from kafkaspec.conformance.cases import Case, Items, Refusal
from kafkaspec.conformance.protocol import RequestKind

MOST_BYTES: Final = 100
"""Bytes that a fault is shown with, at most."""
REPORTED: Final = "reported"
"""Category of bytes that are not a case of the kit."""


class FaultKind(StrEnum):
    """Whether it has to be repaired."""

    FAULT = "fault"
    CHOICE = "choice"
    """They decided so, or their language did; no data of Kafka's own clients is misread."""


@dataclass(frozen=True)
class Fault:
    """One way in which a decoder differs from Kafka.

    Attributes:
        title: the reason, as in the list of expected failures.
        kind: fault or choice.
        kafka: what Kafka does.
        source: where, in Kafka's source.
        case: id of the case that shows it best.
        own: the bytes and the answer of Kafka instead of a case of the kit.
    """

    title: str
    kind: FaultKind
    kafka: str
    source: str
    case: str
    own: Case | None = None


def read_faults(path: Path) -> list[Fault]:
    """Return the faults in a file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it does not have the form.
    """
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    found = []
    for kind, of in tables.items():
        for table in of:
            own = None
            if "hex" in table:
                table["case"] = f"{REPORTED}/{path.parent.name}/{table['case']}"
                data = bytes.fromhex(table.pop("hex"))
                own = Case(table["case"], RequestKind.LOG, data, _expected(table))
            found.append(Fault(kind=FaultKind(kind), own=own, **table))
    return found


def own_cases(faults: Iterable[Fault]) -> list[Case]:
    """Return the cases that are not of the kit."""
    return [fault.own for fault in faults if fault.own is not None]


def shown(case: Case) -> str:
    """Return the bytes of a case as the page shows them, "" if there are too many."""
    return case.data.hex() if len(case.data) <= MOST_BYTES else ""


def _expected(table: dict[str, Any]) -> Items | Refusal:
    records: list[Mapping[str, Any]] | None = table.pop("records", None)
    return Refusal() if records is None else Items([dict(item) for item in records])
