"""A case of the conformance kit: bytes, what they are, and what a decoder must make of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from kafkaspec import compression
from kafkaspec.conformance.dump_text import shown
from kafkaspec.conformance.levels import CaseLevel, codecs_in, level_of
from kafkaspec.conformance.protocol import (
    ANSWERS,
    CaseFailure,
    Hello,
    ProtocolError,
    RequestKind,
    decode_bytes,
    encode_bytes,
)
from kafkaspec.conformance.written import WrittenRecords
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.log.segment import Segment

CATEGORIES: Final = {
    "structure": "types of the specification, by its vectors",
    "record": "the vectors of records and messages, each in a separate log",
    "segment": "segments that brokers wrote",
    "control": "control records in those",
    "index": "offset, time and transaction indexes that brokers wrote",
    "snapshot": "producer snapshots that brokers wrote",
    "checksum": "the same files with one bit changed",
}
"""Categories of cases by the first part of their ids. ``made``, ``text``,
``resource`` and, of generated ones, ``log`` and ``log_control`` are more."""

_LOGS: Final = frozenset(
    {RequestKind.LOG, RequestKind.CONTROL_RECORDS, RequestKind.COMMITTED_RECORDS}
)
"""Kinds of requests whose bytes are log entries."""

_SHORT: Final = frozenset({Reason.TRUNCATED, Reason.OVERRUN})
"""These two differ in where the input ends, which moves when a case is wrapped."""


@dataclass(frozen=True)
class Refusal:
    """The bytes must be refused.

    Attributes:
        reasons: any of these, if the testee gives one; empty for all.
        path: of the failing field, if the testee gives one; "" for any.
        position: byte offset of the failing field, likewise; None for any.
        or_nothing: no record or entry is right too.
    """

    reasons: frozenset[str] = frozenset()
    path: str = ""
    position: int | None = None
    or_nothing: bool = False

    def failure(self, answer: dict[str, Any], kind: RequestKind) -> tuple[CaseFailure, str] | None:
        """Return how the answer differs from the expected one, None if it does not."""
        if "error" not in answer:
            found = answer[ANSWERS[kind]]
            if self.or_nothing and found == []:
                return None
            return CaseFailure.ACCEPTED, f"decoded, to {str(found)[:200]}"
        reason = answer.get("reason")
        if self.reasons and reason is not None and str(reason) not in self.reasons:
            wanted = " or ".join(sorted(self.reasons))
            return CaseFailure.WRONG_REASON, f"refused for {reason!r:.80}, not for {wanted}"
        for name, wanted_place in (("path", self.path or None), ("position", self.position)):
            said = answer.get(name)
            if None not in (wanted_place, said) and said != wanted_place:
                return CaseFailure.WRONG_REASON, f"{name} is {said!r:.80}, not {wanted_place!r}"
        return None


@dataclass(frozen=True)
class Items:
    """The bytes must be decoded to these records or entries.

    Attributes:
        items: what is known of each, by the names of the protocol; None if it is only known that
            they are accepted.
    """

    items: Sequence[dict[str, Any]] | None

    def failure(self, answer: dict[str, Any], kind: RequestKind) -> tuple[CaseFailure, str] | None:
        """Return how the answer differs from the expected one, None if it does not."""
        if "error" in answer:
            return CaseFailure.REFUSED, answer["error"][:300]
        found = answer[ANSWERS[kind]]
        if self.items is None:
            return None
        what = ANSWERS[kind].replace("_", " ")
        if len(found) != len(self.items):
            return CaseFailure.WRONG, f"{len(found)} {what}, not {len(self.items)}"
        for index, (item, wanted) in enumerate(zip(found, self.items, strict=True)):
            for name, value in wanted.items():
                if not same(name, item.get(name), value):
                    text = f"{what}[{index}].{name} is {item.get(name)!r:.80}, not {value!r:.80}"
                    return CaseFailure.WRONG, text
        return None


@dataclass(frozen=True)
class CaseValue:
    """The bytes must be decoded to one value of a type.

    Attributes:
        end: the number of bytes that it takes.
        members: what is known of it: value by dotted name, "" for the value itself.
    """

    end: int
    members: dict[str, Any]

    def failure(self, answer: dict[str, Any], kind: RequestKind) -> tuple[CaseFailure, str] | None:
        """Return how the answer differs from the expected one, None if it does not."""
        if "error" in answer:
            return CaseFailure.REFUSED, answer["error"][:300]
        if answer.get("end") != self.end:
            return CaseFailure.WRONG, f"end is {answer.get('end')!r:.40}, not {self.end}"
        for name, value in self.members.items():
            found = answer["value"]
            for part in name.split(".") if name else ():
                found = found.get(part) if isinstance(found, dict) else None
            if not same(name, found, value):
                return CaseFailure.WRONG, f"{name or 'value'} is {found!r:.80}, not {value!r:.80}"
        return None


Expectation = Refusal | Items | CaseValue | WrittenRecords


@dataclass(frozen=True)
class Case:
    """One question to a decoder.

    Attributes:
        id: ``category/...``, unique.
        kind: what the bytes are.
        data: the bytes.
        expected: the expected answer.
        why: what it tests, for people.
        extra: further members of the request.
        checksum: only a decoder that verifies checksums can pass.
        most_memory: bytes of memory that the answer may take; None for any.
        needs: codec that the testee must decompress itself, "" for none.
        framed: it is about entries of a log, and not about their records.
        covers: what of the specification it is about, as ``kafkaspec.generation.goals`` names it.
        quirks: numbers of the quirks of Kafka that it shows, such as ``Q9``.
    """

    id: str
    kind: RequestKind
    data: bytes
    expected: Expectation
    why: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    checksum: bool = False
    most_memory: int | None = None
    needs: str = ""
    framed: bool = False
    covers: tuple[str, ...] = ()
    quirks: tuple[str, ...] = ()

    @property
    def category(self) -> str:
        """First part of the id, such as a key of ``CATEGORIES``."""
        return self.id.split("/", 1)[0]

    @cached_property
    def codecs(self) -> frozenset[str]:
        """Names of the compressions of a log; none for other bytes."""
        return codecs_in(self.data) if self.kind in _LOGS else frozenset()

    @cached_property
    def level(self) -> CaseLevel:
        """The level, which says what it asks of a decoder."""
        return level_of(
            self.kind,
            self.codecs,
            type_key=self.extra.get("type", ""),
            framed=self.checksum or self.framed,
            bounded=self.most_memory is not None,
        )

    def request(self, hello: Hello) -> dict[str, Any]:
        """Return the request to a testee with the abilities that it reported."""
        request: dict[str, Any] = {
            "id": self.id,
            "kind": self.kind.value,
            "data": encode_bytes(self.data),
        }
        if self.kind in _LOGS:
            given = decompressed(self.data, hello.compression)
            if any(item is not None for item in given):
                request["decompressed"] = given
        return request | self.extra


def decompressed(data: bytes, codecs: frozenset[str]) -> list[str | None]:
    """Return in base64 the payloads that a testee cannot decompress; None for other entries."""
    if codecs >= set(compression.NAMES):
        return []
    given: list[str | None] = []
    try:
        for batch in Segment(data, crc="ignore").batches():
            needed = batch.is_compressed and batch.compression_name not in codecs
            # A batch without records has no payload, whatever codec its attributes name.
            content = batch.decompressed() if needed and batch.payload else b""
            given.append(encode_bytes(content) if needed else None)
    except KafkaSpecError:  # a case that must be refused anyway
        pass
    return given


def reasons_of(reason: str) -> frozenset[str]:
    """Return all reasons that are right when the bytes lie inside others."""
    return frozenset(_SHORT) if reason in _SHORT else frozenset({reason})


def same(name: str, found: Any, wanted: Any) -> bool:
    """Return whether a value is the expected one.

    A missing timestamp is -1 or null. A header key may be the bytes, or the text that a Java
    consumer shows for bytes that are not UTF-8.
    """
    if name == "timestamp" and wanted == -1:
        return found in (None, -1) and not isinstance(found, bool)
    pairs = name == "headers" and isinstance(found, list) and isinstance(wanted, list)
    if pairs and len(found) == len(wanted):
        return all(map(_same_header, found, wanted))
    if isinstance(wanted, int) and not isinstance(found, int):
        return False
    return bool(found == wanted)


def _same_header(found: Any, wanted: Sequence[str | None]) -> bool:
    if not isinstance(found, list) or len(found) != len(wanted) or found[1] != wanted[1]:
        return False
    try:
        key, wanted_key = decode_bytes(found[0]), decode_bytes(wanted[0])
    except ProtocolError:
        return False
    if key is None or wanted_key is None:
        return False
    return shown(key) == shown(wanted_key)
