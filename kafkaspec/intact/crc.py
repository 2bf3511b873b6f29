"""Arithmetic of CRCs: of a part from those of two others, and of one flipped bit.

A CRC is the remainder of a polynomial over GF(2). Numbers here have the highest power of x in their
lowest bit, as both CRCs of Kafka's files do, so that a shift to the right multiplies by x.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import isqrt
from typing import Final

from kafkaspec.checksum import CHECKSUMS
from kafkaspec.model import Buffer

_POLYNOMIALS: Final = {"crc32": 0xEDB88320, "crc32c": 0x82F63B78}
_ONE: Final = 1 << 31
_DIGIT: Final = 8
_MOST_BITS: Final = (1 << 31) - 1
"""x has at least this order modulo both polynomials: flips of fewer bits have different effects."""
_BLOCK: Final = 1 << 12


def _times(polynomial: int, a: int, b: int) -> int:
    product, bit = 0, _ONE
    while a:
        if a & bit:
            product ^= b
            a ^= bit
        bit >>= 1
        b = b >> 1 ^ polynomial if b & 1 else b >> 1
    return product


@cache
def _powers(algorithm: str, place: int) -> tuple[int, ...]:
    """Return x to the power of 8 d 256**place for each digit d."""
    polynomial = _POLYNOMIALS[algorithm]
    if place:
        step = _times(
            polynomial, _powers(algorithm, place - 1)[-1], _powers(algorithm, place - 1)[1]
        )
    else:
        step = _ONE >> 8
    found = [_ONE]
    for _ in range((1 << _DIGIT) - 1):
        found.append(_times(polynomial, found[-1], step))
    return tuple(found)


def shifted(algorithm: str, crc: int, size: int) -> int:
    """Return what a CRC contributes to that of the same bytes and ``size`` more."""
    place = 0
    while size:
        digit = size & 0xFF
        if digit:
            crc = _times(_POLYNOMIALS[algorithm], _powers(algorithm, place)[digit], crc)
        size >>= _DIGIT
        place += 1
    return crc


def joined(algorithm: str, first: int, second: int, size: int) -> int:
    """Return the CRC of two parts, given those of each and the size of the second one."""
    return shifted(algorithm, first, size) ^ second


def flipped_bit(algorithm: str, difference: int, size: int) -> tuple[int, int] | None:
    """Return the one bit whose flip changes the CRC of so many bytes by a difference.

    Takes as long as the square root of the size: the logarithm of the difference to the base x, by
    steps of one bit from one side and of many from the other.

    Args:
        difference: the CRC before, exclusive or the one after.

    Returns:
        The number of the byte and of its bit, the lowest being 0; None if there is no such bit.
    """
    polynomial, bits = _POLYNOMIALS[algorithm], 8 * size
    if not difference or not 0 < bits <= _MOST_BITS:
        return None
    step = isqrt(bits) + 1
    leap = _ONE
    for _ in range(step):
        leap = leap >> 1 ^ polynomial if leap & 1 else leap >> 1
    far: dict[int, int] = {}
    value = polynomial  # x**32: the flip of the last bit
    for number in range(step + 1):
        far.setdefault(value, number)
        value = _times(polynomial, leap, value)
    value = difference
    for back in range(step):
        number = far.get(value, -1)
        bit = number * step - back
        if number >= 0 and 0 <= bit < bits:
            return size - 1 - bit // 8, 7 - bit % 8
        value = value >> 1 ^ polynomial if value & 1 else value >> 1
    return None


class Sums:
    """CRCs of parts of a buffer, for which all of it is read once.

    Args:
        start: the first one that any part has.
    """

    def __init__(self, algorithm: str, buffer: memoryview, start: int) -> None:
        self._algorithm = algorithm
        self._buffer = buffer
        self._start = start
        self._compute: Callable[[Buffer], int] = CHECKSUMS[algorithm]
        self._sums = [0]
        for position in range(start, len(buffer) - _BLOCK + 1, _BLOCK):
            block = self._compute(buffer[position : position + _BLOCK])
            self._sums.append(joined(algorithm, self._sums[-1], block, _BLOCK))

    def of(self, first: int, stop: int) -> int:
        """Return the CRC of the bytes from ``first`` to before ``stop``."""
        before, whole = self._to(first), self._to(stop)
        return shifted(self._algorithm, before, stop - first) ^ whole

    def _to(self, position: int) -> int:
        number = (position - self._start) // _BLOCK
        place = self._start + number * _BLOCK
        rest = self._compute(self._buffer[place:position])
        return joined(self._algorithm, self._sums[number], rest, position - place)
