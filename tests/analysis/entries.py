"""Entries that several tests of ``verify`` begin with."""

from __future__ import annotations

from tests.analysis.forge import (
    CONTROL,
    TRANSACTIONAL,
    marker,
)
from tests.log.forge import batch, record

GOOD = batch(0, [record(0, b"a"), record(1, b"b")])
NEXT = batch(2, [record(0, b"c")])
PRODUCER = (7, 0, 0)
DATA = TRANSACTIONAL


def marker_batch(offset: int, kind: int, epoch: int = 0, **more: object) -> bytes:
    key, value = marker(kind)
    return batch(
        offset,
        [record(0, value, key=key)],
        attributes=TRANSACTIONAL | CONTROL,
        producer=(7, epoch, -1),
        **more,  # type: ignore[arg-type]
    )


FLIPPED = bytearray(GOOD)
FLIPPED[-1] ^= 1
