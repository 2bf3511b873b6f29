"""The golden segments of Kafka 0.7, and what its own classes said of them."""

from __future__ import annotations

import base64
import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden"
LOGS = GOLDEN / "logs"
FILES = sorted(LOGS.rglob("*.kafka"))


@cache
def _json(name: str) -> Any:
    return json.loads(lzma.decompress((GOLDEN / f"{name}.json.xz").read_bytes()))


def said(path: Path) -> dict[str, Any]:
    """The contents of a golden file, by Kafka 0.7."""
    found: dict[str, Any] = _json("said")[path.relative_to(LOGS).as_posix()]
    return found


def damaged() -> list[dict[str, Any]]:
    """Damaged files, and what Kafka 0.7 says of them."""
    found: list[dict[str, Any]] = _json("damage")
    return found


def payload(message: dict[str, Any]) -> bytes:
    """The payload of a message that Kafka 0.7 reports."""
    return base64.b64decode(message["payload"])
