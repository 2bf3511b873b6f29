"""Accidents that happen to segments: what disks, file systems, copies and programs do to bytes.

Each one changes the bytes of a segment and nothing else. What is left intact follows from the
bytes: an entry that occurs in them as it was.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

SECTOR: Final = 512


@dataclass(frozen=True, slots=True)
class Scene:
    """A segment before an accident.

    Attributes:
        data: its bytes.
        places: byte offsets of its entries, and of the end.
        chance: where what is not said happens.
    """

    data: bytes
    places: Sequence[int]
    chance: random.Random

    def at(self, share: float) -> tuple[int, int]:
        """Return where the entry at a share of the entries begins and ends."""
        number = min(int(share * (len(self.places) - 1)), len(self.places) - 2)
        return self.places[number], self.places[number + 1]

    def entry(self, share: float) -> bytes:
        """Return the bytes of that entry."""
        start, end = self.at(share)
        return self.data[start:end]


Accident = Callable[[Scene], bytes]


def put(data: bytes, position: int, new: bytes) -> bytes:
    """Return the bytes with others in their place, and no more of them."""
    return (data[:position] + new)[: len(data)] + data[position + len(new) :]


def flip(data: bytes, position: int, bit: int) -> bytes:
    """Return the bytes with one bit changed."""
    return put(data, position, bytes([data[position] ^ 1 << bit]))


def _bit(share: float, at: float, bit: int = 3) -> Accident:
    """A bit of an entry, at a share of it."""

    def happen(scene: Scene) -> bytes:
        start, end = scene.at(share)
        return flip(scene.data, start + 27 + int(at * (end - start - 28)), bit)

    return happen


def _field(byte: int, bit: int, share: float = 0.5) -> Accident:
    """A bit of a header."""
    return lambda scene: flip(scene.data, scene.at(share)[0] + byte, bit)


def _size(change: Callable[[int], int]) -> Accident:
    """Another size in a header."""

    def happen(scene: Scene) -> bytes:
        start, end = scene.at(0.5)
        size = change(end - start - 12)
        return put(scene.data, start + 8, size.to_bytes(4, "big", signed=True))

    return happen


def _over(share: float, shift: int, size: int, fill: Callable[[Scene, int], bytes]) -> Accident:
    """Other bytes from a place near the beginning of an entry on."""

    def happen(scene: Scene) -> bytes:
        start = max(0, scene.at(share)[0] + shift)
        size_ = min(size, len(scene.data) - start)
        return put(scene.data, start, fill(scene, size_))

    return happen


def _zeros(_: Scene, size: int) -> bytes:
    return bytes(size)


def _noise(scene: Scene, size: int) -> bytes:
    return scene.chance.randbytes(size)


def _ones(_: Scene, size: int) -> bytes:
    return b"\xff" * size


def _whole(share: float) -> Accident:
    def happen(scene: Scene) -> bytes:
        start, end = scene.at(share)
        return put(scene.data, start, bytes(end - start))

    return happen


def _without(share: float, first: int, count: int) -> Accident:
    def happen(scene: Scene) -> bytes:
        start = scene.at(share)[0] + first
        return scene.data[:start] + scene.data[start + count :]

    return happen


def _with(share: float, first: int, new: Callable[[Scene], bytes]) -> Accident:
    def happen(scene: Scene) -> bytes:
        start = scene.at(share)[0] + first
        return scene.data[:start] + new(scene) + scene.data[start:]

    return happen


def _cut(share: float, left: int) -> Accident:
    return lambda scene: scene.data[: scene.at(share)[0] + left]


def _after(tail: Callable[[Scene], bytes]) -> Accident:
    return lambda scene: scene.data + tail(scene)


def _all(*accidents: Accident) -> Accident:
    """Accidents that keep the number of bytes, all together."""

    def happen(scene: Scene) -> bytes:
        data = scene.data
        for accident in accidents:
            data = accident(Scene(data, scene.places, scene.chance))
        return data

    return happen


def _each(step: int) -> Accident:
    def happen(scene: Scene) -> bytes:
        data = scene.data
        for end in scene.places[2::step]:
            data = flip(data, end - 1, 1)
        return data

    return happen


def _repeated(scene: Scene) -> bytes:
    start, end = scene.at(0.3)[0], scene.at(0.6)[1]
    return scene.data[:end] + scene.data[start:]


def _sectors(scene: Scene) -> bytes:
    count = len(scene.data) // SECTOR
    if count < 3:
        return put(scene.data, len(scene.data) // 2, bytes(20))
    one, two = sorted(scene.chance.sample(range(count), 2))
    first = scene.data[one * SECTOR : (one + 1) * SECTOR]
    second = scene.data[two * SECTOR : (two + 1) * SECTOR]
    return put(put(scene.data, one * SECTOR, second), two * SECTOR, first)


def _halves(share: float, shift: int) -> Accident:
    def happen(scene: Scene) -> bytes:
        place = scene.at(share)[0] + shift
        return scene.data[place:] + scene.data[:place]

    return happen


def _backwards(scene: Scene) -> bytes:
    start, end = scene.at(0.5)
    return put(scene.data, start, scene.data[start:end][::-1])


def _stale(scene: Scene) -> bytes:
    """A part of an earlier entry, as a block of an older file on the disk."""
    start, end = scene.at(0.5)
    old = scene.data[: (end - start) * 3 // 4]
    return put(scene.data, start + 5, old)


ACCIDENTS: Final[dict[str, Accident]] = {
    "a bit of the first entry": _bit(0, 0.5),
    "a bit in the middle": _bit(0.5, 0.2),
    "a bit near the end of an entry": _bit(0.4, 0.95),
    "a bit of the last entry": _bit(1, 0.5),
    "the last byte": lambda scene: flip(scene.data, len(scene.data) - 1, 0),
    "high bit of an offset": _field(2, 3),
    "low bit of an offset": _field(7, 4),
    "sign of an offset": _field(0, 7),
    "offset of the first entry": _field(4, 2, 0),
    "low bit of a size": _field(11, 0),
    "high bit of a size": _field(8, 4),
    "sign of a size": _field(8, 7),
    "byte 12": _field(12, 6),
    "byte 15": _field(15, 1),
    "byte 16": _field(16, 2),
    "byte 17": _field(17, 7),
    "byte 18": _field(18, 0),
    "byte 20": _field(20, 0),
    "byte 21": _field(21, 4),
    "byte 22": _field(22, 1),
    "byte 24": _field(24, 5),
    "size 0": _size(lambda _: 0),
    "size -1": _size(lambda _: -1),
    "largest size": _size(lambda _: (1 << 31) - 1),
    "size too large by 1": _size(lambda size: size + 1),
    "size too small by 1": _size(lambda size: size - 1),
    "half the size": _size(lambda size: size // 2),
    "twice the size": _size(lambda size: 2 * size),
    "a zero byte": _over(0.5, 26, 1, _ones),
    "zeros for the framing": _over(0.5, 0, 12, _zeros),
    "zeros for a header": _over(0.5, 0, 26, _zeros),
    "zeros across two entries": _over(0.5, -20, 60, _zeros),
    "a sector of zeros": _over(0.4, -30, SECTOR, _zeros),
    "zeros for the first entry": _whole(0),
    "zeros for an entry": _whole(0.5),
    "zeros for the last entry": _whole(1),
    "noise for a header": _over(0.5, 0, 26, _noise),
    "noise across two entries": _over(0.5, -20, 60, _noise),
    "a sector of noise": _over(0.3, 7, SECTOR, _noise),
    "noise at the beginning": _over(0, 0, 40, _noise),
    "ones across two entries": _over(0.6, -15, 50, _ones),
    "cut in the last entry": _cut(1, 30),
    "cut in the last header": _cut(1, 9),
    "cut in the middle": _cut(0.5, 28),
    "zeros at the end": _after(lambda _: bytes(4096)),
    "noise at the end": _after(lambda scene: scene.chance.randbytes(300)),
    "a few bytes at the end": _after(lambda scene: scene.chance.randbytes(5)),
    "the beginning of an entry at the end": _after(lambda scene: scene.entry(1)[:40]),
    "a byte is missing": _without(0.5, 30, 1),
    "a header is missing": _without(0.5, 0, 20),
    "bytes across two entries are missing": _without(0.5, -13, 40),
    "a byte too many": _with(0.5, 24, lambda _: b"\1"),
    "a few bytes between entries": _with(0.5, 0, lambda scene: scene.chance.randbytes(9)),
    "bytes between entries": _with(0.5, 0, lambda scene: scene.chance.randbytes(200)),
    "zeros between entries": _with(0.5, 0, lambda _: bytes(SECTOR)),
    "entries again": _repeated,
    "all of it again": lambda scene: scene.data * 2,
    "two sectors in each other's place": _sectors,
    "two halves in each other's place": _halves(0.6, 0),
    "two halves of which each has a part of an entry": _halves(0.6, 30),
    "an entry backwards": _backwards,
    "a block of an older file": _stale,
    "two bits": _all(_bit(0.2, 0.5), _bit(0.8, 0.3)),
    "a bit, zeros and noise": _all(
        _bit(0.1, 0.5), _over(0.5, -9, 30, _zeros), _over(0.9, 3, 30, _noise)
    ),
    "a header and the one after next": _all(_over(0.3, 0, 26, _zeros), _over(0.7, 0, 26, _noise)),
    "a bit of each third entry": _each(3),
    "a bit of each entry but one": _each(1),
}
"""Accidents by name."""

UNSEEN: Final = frozenset(
    {"low bit of an offset", "byte 12", "byte 15", "offset of the first entry"}
)
"""Those that change what no checksum covers: the entry may be taken as it is."""


AMBIGUOUS: Final = frozenset({"a bit, zeros and noise", "a header and the one after next"})
"""Those that leave entries with no evidence that they are not inside a value."""

MOVING: Final = frozenset({"two sectors in each other's place"})
"""Those that put entries into another order."""


def happen(name: str, data: bytes, places: Sequence[int]) -> bytes:
    """Return what an accident makes of a segment.

    Args:
        name: of the accident.
        data: bytes of the segment.
        places: byte offsets of its entries, and of the end.
    """
    return ACCIDENTS[name](Scene(data, places, random.Random(name)))
