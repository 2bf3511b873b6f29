"""The messages between runner and testee: one JSON object a line, as described in
``docs/guide/conform.md``. Bytes are always in base64."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from kafkaspec.conformance.dump_text import shown
from kafkaspec.model import Record

PROTOCOL: Final = 2
"""Version of the protocol. It adds kinds of requests to version 1, whose testees stay right."""

PROTOCOLS: Final = (1, PROTOCOL)
"""Versions that a testee may speak."""

HELLO: Final = "hello"
"""Kind and id of the first request, which asks for the testee's name and abilities."""


SKIPPED: Final = "skipped"
"""Member of an answer to what a testee does not support, and its digest."""

_DIGITS: Final = 16
"""Hexadecimal digits of a digest."""


class RequestKind(StrEnum):
    """The kind of the bytes of a request."""

    LOG = "log"
    """Log entries: a segment, or a part of one. The answer has its data records."""
    CONTROL_RECORDS = "control_records"
    """Log entries too; the answer has their control records."""
    COMMITTED_RECORDS = "committed_records"
    """The log entries of a partition; the answer has what a consumer with read_committed gets."""
    ENCODE = "encode"
    """Records to write; the answer has the bytes."""
    BATCH = "batch"
    """Many logs; the answer has a digest of what each is decoded to."""
    OFFSET_INDEX = "offset_index"
    TIME_INDEX = "time_index"
    TRANSACTION_INDEX = "transaction_index"
    PRODUCER_SNAPSHOT = "producer_snapshot"
    TEXT = "text"
    """A text file of a log directory; its name says which."""
    TYPE = "type"
    """One type of the specification, without checksums and decompression."""


ANSWERS: Final = {
    RequestKind.LOG: "records",
    RequestKind.CONTROL_RECORDS: "control_records",
    RequestKind.COMMITTED_RECORDS: "records",
    RequestKind.ENCODE: "bytes",
    RequestKind.BATCH: "digests",
    RequestKind.OFFSET_INDEX: "entries",
    RequestKind.TIME_INDEX: "entries",
    RequestKind.TRANSACTION_INDEX: "entries",
    RequestKind.PRODUCER_SNAPSHOT: "entries",
    RequestKind.TEXT: "entries",
    RequestKind.TYPE: "value",
}
"""The member of an answer that holds what was decoded."""


class CaseFailure(StrEnum):
    """How a case failed. The list is closed: an expected failure names one of them."""

    ACCEPTED = "accepted"
    """The testee decoded bytes that it must refuse."""
    REFUSED = "refused"
    """The testee refused bytes that it must decode."""
    WRONG = "wrong"
    """The testee decoded the bytes to something else."""
    WRONG_REASON = "wrong_reason"
    """The testee refused the bytes, as it must, but for another reason."""
    CRASHED = "crashed"
    """The testee ended."""
    TIMED_OUT = "timed_out"
    """No answer in time."""
    GARBAGE = "garbage"
    """The answer does not follow the protocol."""
    OVERSIZED = "oversized"
    """The answer is longer than the runner accepts."""
    MEMORY = "memory"
    """It took more memory than the case allows."""
    NOT_RUN = "not_run"
    """The testee had broken down too often."""


@dataclass(frozen=True)
class Hello:
    """A testee's description of itself.

    Attributes:
        name: of the decoder.
        version: its version, "" if it does not say.
        kinds: what it decodes; cases of other kinds are skipped.
        compression: codecs that it decompresses, ``none`` included; the runner adds the
            decompressed payload for all others.
        checksums: whether it verifies checksums; if not, those cases are skipped.
    """

    name: str
    version: str
    kinds: frozenset[str]
    compression: frozenset[str]
    checksums: bool


class ProtocolError(Exception):
    """A line does not follow the protocol; the text says why."""


def encode_bytes(data: bytes | bytearray | memoryview | None) -> str | None:
    """Return bytes in base64, None for null."""
    return None if data is None else base64.b64encode(data).decode("ascii")


def decode_bytes(text: object) -> bytes | None:
    """Return the reverse of ``encode_bytes``.

    Raises:
        ProtocolError: it is neither null nor base64.
    """
    if text is None:
        return None
    if not isinstance(text, str):
        raise ProtocolError(f"{text!r:.80} is not base64")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ProtocolError(f"{text!r:.80} is not base64") from None


def line(message: dict[str, Any]) -> bytes:
    """Return a message as a line to send."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def parse_line(data: bytes) -> dict[str, Any]:
    """Return a line as a message.

    Raises:
        ProtocolError: it is not a JSON object.
    """
    try:
        message = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"not JSON: {type(error).__name__}: {data[:80]!r}") from None
    if not isinstance(message, dict):
        raise ProtocolError(f"not a JSON object: {data[:80]!r}")
    return message


def parse_hello(message: dict[str, Any]) -> Hello:
    """Return the answer to the first request.

    Raises:
        ProtocolError: it is not such an answer, or of another version of the protocol.
    """
    if message.get("protocol") not in PROTOCOLS:
        known = " or ".join(map(str, PROTOCOLS))
        raise ProtocolError(f"protocol is {message.get('protocol')!r:.40}, not {known}")
    name = message.get("name")
    if not isinstance(name, str) or not name:
        raise ProtocolError("name is missing")
    kinds = _texts(message, "kinds")
    if unknown := sorted(kinds - set(RequestKind)):
        raise ProtocolError(f"unknown kinds: {', '.join(unknown)}")
    return Hello(
        name=name,
        version=str(message.get("version", "")),
        kinds=kinds,
        compression=_texts(message, "compression") | {"none"},
        checksums=message.get("checksums") is True,
    )


def _texts(message: dict[str, Any], member: str) -> frozenset[str]:
    found = message.get(member, [])
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise ProtocolError(f"{member} is not a list of strings")
    return frozenset(found)


def check_answer(message: dict[str, Any], kind: RequestKind) -> None:
    """Check that an answer fits a request of that kind.

    Raises:
        ProtocolError: it does not; the text says why.
    """
    members = [name for name in ("error", SKIPPED, ANSWERS[kind]) if name in message]
    if len(members) != 1:
        wanted = f"one of error, skipped, {ANSWERS[kind]}"
        raise ProtocolError(f"expected {wanted}, found {', '.join(members) or 'none'}")
    if members[0] in ("error", SKIPPED):
        if not isinstance(message[members[0]], str):
            raise ProtocolError(f"{members[0]} is not a string")
        return
    found = message[ANSWERS[kind]]
    if kind is RequestKind.ENCODE:
        decode_bytes(found)
        return
    if kind is RequestKind.BATCH:
        if not isinstance(found, list) or not all(isinstance(i, str | None) for i in found):
            raise ProtocolError("digests is not a list of strings and nulls")
        return
    objects = isinstance(found, list) and all(isinstance(item, dict) for item in found)
    if kind is not RequestKind.TYPE and not objects:
        raise ProtocolError(f"{ANSWERS[kind]} is not a list of objects")


def record_of(item: Record) -> dict[str, Any]:
    """Return a record of a log in the form of an answer."""
    headers = ((key.encode("utf-8", "surrogateescape"), value) for key, value in item.headers)
    return record(item.offset, item.timestamp, item.key, item.value, headers)


def record(
    offset: int,
    timestamp: int | None,
    key: bytes | None,
    value: bytes | None,
    headers: Iterable[tuple[bytes, bytes | None]] = (),
) -> dict[str, Any]:
    """Return a record in the form of an answer."""
    return {
        "offset": offset,
        "timestamp": timestamp,
        "key": encode_bytes(key),
        "value": encode_bytes(value),
        "headers": [[encode_bytes(name), encode_bytes(content)] for name, content in headers],
    }


def digest(answer: dict[str, Any]) -> str | None:
    """Return the digest of the records of an answer, None for an error, or ``SKIPPED``.

    ``docs/guide/conform.md`` says how it is made. Bytes of a header's key that are not UTF-8 are
    one U+FFFD, as clients have texts there.
    """
    if ANSWERS[RequestKind.LOG] not in answer:
        return SKIPPED if SKIPPED in answer else None
    made = hashlib.sha256()
    for item in answer[ANSWERS[RequestKind.LOG]]:
        time = -1 if item["timestamp"] is None else item["timestamp"]
        parts = [str(item["offset"]), str(time), item["key"], item["value"]]
        for key, value in item["headers"]:
            parts += [encode_bytes(shown(decode_bytes(key) or b"").encode()), value]
        made.update(("\t".join("-" if part is None else part for part in parts) + "\n").encode())
    return made.hexdigest()[:_DIGITS]
