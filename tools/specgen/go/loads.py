"""Source text that loads numbers from bytes, and runs of bits."""

from __future__ import annotations

from collections.abc import Sequence

from tools.specgen.model import BitsType, Field, FloatType, IntegerType


def number_type(kind: IntegerType | FloatType | BitsType) -> str:
    """Return the Go type of a number."""
    match kind:
        case FloatType(size=size):
            return f"float{8 * size}"
        case BitsType(width=width):
            return f"uint{next(n for n in (8, 16, 32, 64) if n >= width)}"
        case IntegerType(size=size, signed=signed):
            return f"{'' if signed else 'u'}int{8 * size}"


def load(kind: IntegerType | FloatType, at: str) -> str:
    """Return the number at a position, in its type."""
    order = "le" if kind.little else "be"
    if isinstance(kind, FloatType):
        return f"math.Float{8 * kind.size}frombits({order}{8 * kind.size}(data, {at}))"
    raw = f"data[{at}]" if kind.size == 1 else f"{order}{8 * kind.size}(data, {at})"
    return f"{number_type(kind)}({raw})" if kind.signed else raw


def load_bits(size: int, at: str) -> str:
    """Return so many bytes as ``uint64``, the high one first."""
    if size in (2, 4, 8):
        return f"uint64(be{8 * size}(data, {at}))"
    return f"uint64(data[{at}])" if size == 1 else f"beBytes(data, {at}, {size})"


def bits_run(fields: Sequence[Field]) -> list[Field]:
    """Return the bit fields at the start that fill whole bytes."""
    found, width = [], 0
    for field in fields:
        if not isinstance(field.type, BitsType):
            break
        found.append(field)
        width += field.type.width
        if width % 8 == 0 and width // 8 in (1, 2, 4, 8):
            rest = fields[len(found) :]
            if not rest or not isinstance(rest[0].type, BitsType) or width == 64:
                break
    return found


def shifts(run: Sequence[Field]) -> list[tuple[Field, int, int]]:
    """Return each bit field with the bits after it and its mask."""
    left = sum(field.type.width for field in run if isinstance(field.type, BitsType))
    found = []
    for field in run:
        assert isinstance(field.type, BitsType)
        left -= field.type.width
        found.append((field, left, (1 << field.type.width) - 1))
    return found
