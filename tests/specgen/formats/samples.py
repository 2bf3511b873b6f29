"""Files of the formats that are not Kafka's, written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.specgen.formats import by_hand

FORMATS = Path(__file__).parent
NAMES = ("telemetry", "chat", "atlas")


def _sample(delta: int, remark: bytes | None, codes: list[int]) -> dict[str, Any]:
    return {
        "delta": delta, "celsius": -1.5, "wind": -300, "sensor": b"roof", "remark": remark,
        "codes": codes,
    }  # fmt: skip


_BLOCKS = [
    {"sequence": -7, "start": 1 << 63, "samples": [_sample(-200_000, None, [])]},
    {"sequence": 1 << 20, "start": 5, "samples": []},
    {
        "sequence": 0,
        "start": (1 << 64) - 1,
        "samples": [_sample(i, b"wet" * i, [i, 65535]) for i in range(3)],
    },
]
_FLAGS = {"is_admin": True, "level": 9, "reserved": 0}
_MENTIONS = [{"user": 3, "ranges": [{"first": 1, "last": 2}] * n} for n in (2, 0, 1)]
_MESSAGES = [
    (1, {"version": 1, "user": 1 << 63, "port": None, "flags": _FLAGS}),
    (1, {"version": 2, "user": 8, "port": 9000, "flags": _FLAGS}),
    (2, {"user": 8, "mentions": None, "text": b"hello"}),
    (2, {"user": 9, "mentions": [], "text": b""}),
    (2, {"user": 9, "mentions": _MENTIONS, "text": b"\xff"}),
    (3, {"user": 8, "reason": None}),
    (3, {"user": 9, "reason": {"code": 4, "text": b"bye"}}),
    (77, {"data": b"later"}),
]
TILES = [
    {
        "x": i, "y": (1 << 32) - 1 - i, "position": i << 40, "size": i, "compression": c,
        "marks": {"is_empty": not i, "checked": 0x1234 + i}, "pad": bytes([i]),
        "height": -1.5 * i,
    }
    for i, c in enumerate((0, 1, 7, 7))
]  # fmt: skip
FILES = {
    "telemetry": [by_hand.telemetry(2, -5, _BLOCKS), by_hand.telemetry(1, 0, [])],
    "chat": [
        by_hand.CHAT.build(
            [{"time": i, "kind": k, "message": m} for i, (k, m) in enumerate(_MESSAGES)]
        ),
        b"",
    ],
    "atlas": [
        by_hand.ATLAS.build({"header": {"zoom": 3, "scale": 0.5}, "tiles": tiles})
        for tiles in (TILES, [])
    ],
}  # fmt: skip
CASES = [(name, number) for name in NAMES for number in range(2)]
