"""The faults and the choices of a decoder: where it differs from Kafka.

``faults.toml`` of a decoder has one table for each reason in the ``expected.txt`` beside it. The
bytes are those of a case, so that nobody types them twice; where all its cases are long, the table
has a separate short log. Each is of a kind of ``kinds.toml``, and the rule of the kind says for all
decoders whether it is a fault.
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


class Verdict(StrEnum):
    """Whether it has to be repaired."""

    FAULT = "fault"
    CHOICE = "choice"


class Rule(StrEnum):
    """Why a difference is a fault, or is none; the page prints ``RULES``."""

    MISREAD = "misread"
    MADE_UP = "made-up"
    RESOURCES = "resources"
    NOT_OFFERED = "not-offered"
    STRICTER = "stricter"
    LENIENT = "lenient"
    IN_PROPORTION = "in-proportion"


RULES: Final = {
    Rule.MISREAD: (
        Verdict.FAULT,
        "Data that a client or a broker of any release writes is lost, refused or read as other"
        " data, and the decoder offers its format.",
    ),
    Rule.MADE_UP: (
        Verdict.FAULT,
        "Of bytes that no one writes, the decoder gives out what they do not hold, or leaves out"
        " what they hold without an error.",
    ),
    Rule.RESOURCES: (
        Verdict.FAULT,
        "The decoder ends, does not answer, or takes time or memory that neither the bytes nor what"
        " they decompress to bound.",
    ),
    Rule.NOT_OFFERED: (Verdict.CHOICE, "It refuses a format that it does not offer."),
    Rule.STRICTER: (Verdict.CHOICE, "It refuses bytes that Kafka takes, and that no one writes."),
    Rule.LENIENT: (
        Verdict.CHOICE,
        "It takes bytes that Kafka refuses, or bits that Kafka drops, that no one writes, and gives"
        " out what they hold.",
    ),
    Rule.IN_PROPORTION: (
        Verdict.CHOICE,
        "It takes memory for what the bytes decompress to, where Kafka reads piece by piece.",
    ),
}
"""The verdict by each rule, and what it says. The rules are in this order: the first that holds
counts."""


@dataclass(frozen=True)
class Kind:
    """A kind of difference, of which any decoder can have some.

    Attributes:
        name: its name.
        rule: why it is a fault or a choice.
        title: what such decoders do.
    """

    name: str
    rule: Rule
    title: str

    @property
    def verdict(self) -> Verdict:
        """Whether it has to be repaired."""
        return RULES[self.rule][0]


def _kinds() -> dict[str, Kind]:
    tables = tomllib.loads((Path(__file__).parent / "kinds.toml").read_text(encoding="utf-8"))
    return {name: Kind(name, Rule(of["rule"]), of["title"]) for name, of in tables.items()}


KINDS: Final = _kinds()
"""The kinds by their names."""


@dataclass(frozen=True)
class Fault:
    """One way in which a decoder differs from Kafka.

    Attributes:
        title: the reason, as in the list of expected failures.
        kind: what it is, for any decoder.
        kafka: what Kafka does.
        source: where, in Kafka's source.
        case: id of the case that shows it best.
        own: the bytes and the answer of Kafka instead of a case of the kit.
    """

    title: str
    kind: Kind
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
    found = []
    for table in tomllib.loads(path.read_text(encoding="utf-8"))["difference"]:
        own = None
        if (kind := KINDS.get(table.pop("kind"))) is None:
            raise ValueError(f"{path}: {table['title']}: no such kind")
        if "hex" in table:
            table["case"] = f"{REPORTED}/{path.parent.name}/{table['case']}"
            data = bytes.fromhex(table.pop("hex"))
            own = Case(table["case"], RequestKind.LOG, data, _expected(table))
        found.append(Fault(kind=kind, own=own, **table))
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
