"""Serve the protocol, for testees in Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any

from kafkaspec.conformance.protocol import (
    ANSWERS,
    HELLO,
    PROTOCOL,
    RequestKind,
    decode_bytes,
    digest,
    encode_bytes,
    line,
    parse_line,
)

Handler = Callable[[bytes, dict[str, Any]], Any]
"""Takes the bytes and the whole request; returns what it decoded, or raises."""


class SkippedError(Exception):
    """A handler does not support the request; the text says why."""


def serve(
    name: str,
    version: str,
    handlers: Mapping[RequestKind, Handler],
    *,
    compression: Iterable[str] = ("none",),
    checksums: bool = False,
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | None = None,
) -> None:
    """Answer requests until the input ends. Any exception of a handler means that it refuses.

    A handler of kind ``type`` returns a pair of value and end, one of ``encode`` bytes, and all
    others a list.

    Args:
        name: of the decoder.
        version: of the decoder.
        handlers: one for each kind that it decodes.
        compression: what it decompresses.
        checksums: whether it verifies checksums.
        stdin: requests; the standard input by default.
        stdout: answers; the standard output by default. Nothing else may be written there.
    """
    requests = stdin or sys.stdin.buffer
    answers = stdout or sys.stdout.buffer
    hello = {
        "id": HELLO,
        "protocol": PROTOCOL,
        "name": name,
        "version": version,
        "kinds": [kind.value for kind in handlers]
        + [RequestKind.BATCH.value] * (RequestKind.LOG in handlers),
        "compression": list(compression),
        "checksums": checksums,
    }
    for data in requests:
        request = parse_line(data)
        if request["kind"] == HELLO:
            answer = hello | {"protocol": min(PROTOCOL, request["protocol"])}
        else:
            answer = answered(request, handlers)
        answers.write(line(answer))
        answers.flush()


def answered(
    request: dict[str, Any], handlers: Mapping[RequestKind, Handler], data: bytes | None = None
) -> dict[str, Any]:
    """Return the answer to a request, whose bytes may be given as they are."""
    answer: dict[str, Any] = {"id": request["id"]}
    kind = RequestKind(request["kind"])
    if kind is RequestKind.BATCH:
        asked = {"id": "", "kind": request["of"]}
        return answer | {
            ANSWERS[kind]: [
                digest(answered(asked | {"data": item}, handlers)) for item in request["items"]
            ]
        }
    try:
        if data is None:
            data = decode_bytes(request.get("data")) or b""
        decoded = handlers[kind](data, request)
    except SkippedError as skipped:
        return answer | {"skipped": str(skipped)}
    except Exception as error:
        return answer | _refusal(error)
    if kind is RequestKind.TYPE:
        value, end = decoded
        return answer | {"value": value, "end": end}
    if kind is RequestKind.ENCODE:
        decoded = encode_bytes(decoded)
    return answer | {ANSWERS[kind]: decoded}


def _refusal(error: Exception) -> dict[str, Any]:
    """Return the error; one of ours has a reason and a place."""
    found: dict[str, Any] = {"error": f"{type(error).__name__}: {error}"}
    for member, attribute in (("reason", "reason"), ("path", "path"), ("position", "position")):
        value = getattr(error, attribute, None)
        if isinstance(value, str) or (member == "position" and isinstance(value, int)):
            found[member] = str(value) if isinstance(value, str) else value
    return found
