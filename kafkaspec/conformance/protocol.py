"""The messages between runner and testee: one JSON object in each line, described in
``docs/conformance-protocol.md``. Bytes are base64, everywhere."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

PROTOCOL: Final = 1
"""Version of the protocol."""

HELLO: Final = "hello"
"""Kind and id of the first request, which asks who the testee is and what it can do."""


class Kind(StrEnum):
    """The kind of the bytes of a request."""

    LOG = "log"
    """Log entries: a segment, or a part of one. The answer has the records of data."""
    CONTROL_RECORDS = "control_records"
    """The same; the answer has the control records."""
    OFFSET_INDEX = "offset_index"
    TIME_INDEX = "time_index"
    TRANSACTION_INDEX = "transaction_index"
    PRODUCER_SNAPSHOT = "producer_snapshot"
    TYPE = "type"
    """One type of the specification, without checksums and decompression."""


ANSWERS: Final = {
    Kind.LOG: "records",
    Kind.CONTROL_RECORDS: "control_records",
    Kind.OFFSET_INDEX: "entries",
    Kind.TIME_INDEX: "entries",
    Kind.TRANSACTION_INDEX: "entries",
    Kind.PRODUCER_SNAPSHOT: "entries",
    Kind.TYPE: "value",
}
"""The member of an answer that holds what was decoded."""


class Failure(StrEnum):
    """How a case failed. The list is closed: expected failures are told apart by it."""

    ACCEPTED = "accepted"
    """The testee decoded bytes that it had to refuse."""
    REFUSED = "refused"
    """The testee refused bytes that it had to decode."""
    WRONG = "wrong"
    """Decoded, and something else came out."""
    WRONG_REASON = "wrong_reason"
    """Refused as it had to be, and the reason that was given is another."""
    CRASHED = "crashed"
    """The testee ended."""
    TIMED_OUT = "timed_out"
    """No answer in time."""
    GARBAGE = "garbage"
    """The answer is none of this protocol."""
    OVERSIZED = "oversized"
    """The answer is longer than the runner accepts."""
    NOT_RUN = "not_run"
    """The testee had broken down too often before."""


@dataclass(frozen=True)
class Hello:
    """The description that a testee gives of itself.

    Attributes:
        name: of the decoder.
        version: its version, "" if it does not say.
        kinds: what it decodes; cases of other kinds are skipped.
        compression: codecs that it decompresses, ``none`` included; the runner gives the
            decompressed payload of all others along.
        checksums: whether it verifies checksums; if not, those cases are skipped.
    """

    name: str
    version: str
    kinds: frozenset[str]
    compression: frozenset[str]
    checksums: bool


class ProtocolError(Exception):
    """A line that is none of this protocol; the text says what is wrong with it."""


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
        raise ProtocolError(f"{text!r:.80} is no base64 text")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ProtocolError(f"{text!r:.80} is no base64 text") from None


def line(message: dict[str, Any]) -> bytes:
    """Return a message as it is sent."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def parse_line(data: bytes) -> dict[str, Any]:
    """Return a line as a message.

    Raises:
        ProtocolError: it is no JSON object.
    """
    try:
        message = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"no JSON: {type(error).__name__}: {data[:80]!r}") from None
    if not isinstance(message, dict):
        raise ProtocolError(f"no JSON object: {data[:80]!r}")
    return message


def parse_hello(message: dict[str, Any]) -> Hello:
    """Return the answer to the first request.

    Raises:
        ProtocolError: it is no such answer, or speaks another version.
    """
    if message.get("protocol") != PROTOCOL:
        raise ProtocolError(f"protocol is {message.get('protocol')!r:.40}, not {PROTOCOL}")
    name = message.get("name")
    if not isinstance(name, str) or not name:
        raise ProtocolError("name is missing")
    kinds = _texts(message, "kinds")
    if unknown := sorted(kinds - set(Kind)):
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
        raise ProtocolError(f"{member} is no list of texts")
    return frozenset(found)


def check_answer(message: dict[str, Any], kind: Kind) -> None:
    """See to it that an answer is one to a request of that kind.

    Raises:
        ProtocolError: it is not; the text says why.
    """
    members = [name for name in ("error", "skipped", ANSWERS[kind]) if name in message]
    if len(members) != 1:
        wanted = f"one of error, skipped, {ANSWERS[kind]}"
        raise ProtocolError(f"{wanted} was wanted, there is {', '.join(members) or 'none'}")
    if members[0] in ("error", "skipped"):
        if not isinstance(message[members[0]], str):
            raise ProtocolError(f"{members[0]} is no text")
        return
    if kind is not Kind.TYPE and not _objects(message[ANSWERS[kind]]):
        raise ProtocolError(f"{ANSWERS[kind]} is no list of objects")


def _objects(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(item, dict) for item in found)


def record(
    offset: int,
    timestamp: int | None,
    key: bytes | None,
    value: bytes | None,
    headers: Iterable[tuple[bytes, bytes | None]] = (),
) -> dict[str, Any]:
    """Return a record as an answer holds it."""
    return {
        "offset": offset,
        "timestamp": timestamp,
        "key": encode_bytes(key),
        "value": encode_bytes(value),
        "headers": [[encode_bytes(name), encode_bytes(content)] for name, content in headers],
    }
