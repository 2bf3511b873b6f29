"""What the generated definitions need besides Construct's own ``this`` expressions.

All of it is deferred as ``this`` is: an expression is built when a definition is, and computed
when bytes are read or written. By the custom of Construct such names end in an underscore.
"""

from __future__ import annotations

from typing import Any

from construct import this  # type: ignore[import-untyped]
from construct.expr import ExprMixin, FuncPath  # type: ignore[import-untyped]

from kafkaspec._generated.python.runtime import signed64
from kafkaspec.codecs.references.construct.window import Window

_UNKNOWN = 1 << 63


def remaining(stream: object) -> int:
    """Bytes up to the end of the structure; while building more than any format can hold."""
    return stream.left if isinstance(stream, Window) else _UNKNOWN


def at_end(stream: object) -> bool:
    """Whether no byte is left; while building, when nothing follows yet, always true."""
    return stream.left == 0 if isinstance(stream, Window) else True


def size_of(stream: object) -> int:
    """Bytes of the structure; while building more than any format can hold."""
    return stream.end - stream.start if isinstance(stream, Window) else _UNKNOWN


def position_in(stream: object) -> int:
    """Position in the structure; while building 0."""
    return stream.position - stream.start if isinstance(stream, Window) else 0


class either_(ExprMixin):  # type: ignore[misc]  # noqa: N801
    """``then`` where ``condition`` holds, else ``otherwise``."""

    def __init__(self, condition: Any, then: Any, otherwise: Any) -> None:
        self.parts = (condition, then, otherwise)

    def __repr__(self) -> str:
        return "either_({!r}, {!r}, {!r})".format(*self.parts)

    def __call__(self, context: Any, *_: Any) -> Any:
        condition, then, otherwise = self.parts
        chosen = then if _compute(condition, context) else otherwise
        return _compute(chosen, context)


def _compute(part: Any, context: Any) -> Any:
    return part(context) if callable(part) else part


value_ = this._value
"""In ``valid`` of a ``Field``: the value of the field, or of one item of an array."""

remaining_ = FuncPath(remaining)(this._io)
"""Bytes between the position and the end of the structure."""

at_end_ = FuncPath(at_end)(this._io)
"""True where the structure ends."""

size_ = FuncPath(size_of)(this._io)
"""Bytes of the structure."""

position_ = FuncPath(position_in)(this._io)
"""Position in the structure, from its first byte."""

int64_ = FuncPath(signed64)
"""``int64_(x)``: x modulo 2**64 as a signed integer, which is how Java adds."""
