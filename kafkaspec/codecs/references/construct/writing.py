"""Definitions as the codec writes with them.

A generated definition serves people: what they leave out it fills in. The codec writes objects
that have all of their fields, and for tests also broken ones.
"""

from __future__ import annotations

import io
from copy import copy
from typing import Any

from construct import (  # type: ignore[import-untyped]
    Array,
    Bytes,
    Const,
    Construct,
    Container,
    Default,
    GreedyBytes,
    GreedyRange,
    Rebuild,
    Struct,
    Subconstruct,
    Switch,
)

from kafkaspec.codecs.references.construct.runtime import Span, Valid


class _Stored(Rebuild):  # type: ignore[misc]
    """``Rebuild`` where no value is given."""

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        build = self.subcon._build if obj is not None else super()._build
        return build(obj, stream, context, path)


class _ByType(Switch):  # type: ignore[misc]
    """``Switch`` by the type of the value, whatever the field says that should."""

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        cases = [*self.cases.values(), self.default]
        chosen = next(case for case in cases if _key(case) == obj["_type"])
        return chosen._build(obj, stream, context, path)


def _key(construct: Any) -> str | None:
    """Return the key of the structure inside of wrappers."""
    while not hasattr(construct, "key") and hasattr(construct, "subcon"):
        construct = construct.subcon
    key: str | None = getattr(construct, "key", None)
    return key


class _Once(Subconstruct):  # type: ignore[misc]
    """A field of which a ``Span`` and the structure both want the bytes."""

    def __init__(self, name: str, subcon: Any) -> None:
        super().__init__(subcon)
        self.field = name

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        written = context.setdefault("_written", {})
        if self.field not in written:
            piece = io.BytesIO()
            built = self.subcon._build(obj, piece, context, path)
            written[self.field] = (piece.getvalue(), built)
        data, built = written[self.field]
        stream.write(data)
        return built


def complete(part: Any) -> Any:
    """Return a definition that fills nothing in: a value that is missing cannot be written."""
    if isinstance(part, Default) and not callable(part.value):
        return complete(part.subcon)
    return _rewritten(part, complete)


def raw(part: Any) -> Any:
    """Return a definition that checks nothing and writes computed fields as they are given."""
    match part:
        case Bytes():
            return GreedyBytes
        case Array():
            return GreedyRange(raw(part.subcon))
        case Valid() | Const():
            return raw(part.subcon)
        case Default() if not callable(part.value):
            return raw(part.subcon)
        case Rebuild():
            return _Stored(raw(part.subcon), part.func)
        case Switch():
            return _rewritten(_ByType(part.keyfunc, part.cases, part.default), raw)
    return _rewritten(part, raw)


def _rewritten(part: Any, again: Any) -> Any:
    if isinstance(part, list):
        return [again(item) for item in part]
    if isinstance(part, dict):
        return type(part)((key, again(item)) for key, item in part.items())
    if not isinstance(part, Construct) or not hasattr(part, "__dict__"):
        return part
    part = copy(part)
    for name, value in vars(part).items():
        setattr(part, name, again(value))
    if isinstance(part, Struct) and any(map(_has_span, part.subcons)):
        part.subcons = [member.name / _Once(member.name, member.subcon) for member in part.subcons]
        part._subcons = Container((member.name, member) for member in part.subcons)
    return part


def _has_span(part: Any) -> bool:
    while isinstance(part, Subconstruct) and not isinstance(part, Rebuild):
        part = part.subcon
    return isinstance(getattr(part, "func", None), Span)
