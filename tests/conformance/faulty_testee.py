"""Our codec as a testee with one fault, which the argument names; ``none`` has none."""

import base64
import os
import sys
from typing import Any

from kafkaspec.codecs import get_codec
from kafkaspec.conformance import protocol, serving, testee
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout.framing import LOG_FRAMING
from kafkaspec.log.segment import Segment

FAULT = sys.argv.pop(1)
CODEC = get_codec()
KEPT: list[bytearray] = []


def spoil(request: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer with the fault."""
    match FAULT:
        case "checksum" if answer.get("reason") == "checksum_mismatch":
            return {"id": answer["id"], protocol.ANSWERS[request["kind"]]: []}
        case "key":
            for item in answer.get("records", ()):
                item["key"] = None
        case "gzip" if "codec-" in request["id"]:
            answer.get("records", [{}])[0]["value"] = None
        case "uncommitted" if request["kind"] == "committed_records":
            answer["records"] = testee._log(CODEC, base64.b64decode(request["data"]), request)
        case "byte" if answer.get("bytes"):
            data = bytearray(base64.b64decode(answer["bytes"]))
            data[-1] ^= 1
            answer["bytes"] = base64.b64encode(data).decode()
        case "batches" if answer.get("bytes"):  # right records, but not one batch
            items = request["records"]
            parts = [testee._encode(CODEC, b"", request | {"records": [item]}) for item in items]
            answer["bytes"] = base64.b64encode(b"".join(parts)).decode()
        case "coordinator":
            for item in answer.get("control_records", ()):
                item["coordinator_epoch"] = 77
        case "position":
            for item in answer.get("entries", ()):
                item["position"] = 77
        case "version" if "value" in answer:
            answer["end"] += 1
        case "skips" if request["kind"] == "log":
            if base64.b64decode(request["data"])[LOG_FRAMING.up_to_magic - 1] == 0:
                return {"id": answer["id"], "skipped": "magic 0"}
        case "opens" if request["kind"] == "log":  # payloads of batches without records, as Kafka's
            return opened(request, answer)
        case "dies_in_batch" if request["kind"] == "batch":
            os._exit(3)
        case "swallow":
            KEPT.append(bytearray(b"x") * (128 << 20))
    return answer


def opened(request: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Return a refusal of a compressed batch whose payload cannot be decompressed."""
    if "records" not in answer:
        return answer
    log = base64.b64decode(request["data"])
    try:
        for batch in Segment(log).batches():
            if batch.is_compressed:
                batch.decompressed()
    except KafkaSpecError as error:
        return {"id": answer["id"], "error": str(error)}
    return answer


def main() -> None:
    """Serve."""
    answer, serve = serving.answered, serving.serve

    def faulty(request: dict[str, Any], handlers: Any, data: bytes | None = None) -> dict[str, Any]:
        return spoil(request, answer(request, handlers, data))

    def able(name: str, version: str, handlers: Any, **abilities: Any) -> None:
        if FAULT in ("plain", "gzip_only"):
            abilities["compression"] = ["gzip"] if FAULT == "gzip_only" else []
            handlers = {protocol.RequestKind.LOG: handlers[protocol.RequestKind.LOG]}
        serve(name, version, handlers, **abilities)

    serving.answered = faulty  # every answer comes from it
    vars(testee)["serve"] = able
    sys.argv[1:] = ["native"]
    testee.main()


main()
