"""Definitions as the codec writes with them.

A generated definition serves people: it fills in what they leave out. The codec writes objects
that have all of their fields and, for tests, broken ones.
"""

from __future__ import annotations

import io
from copy import copy
from functools import cache
from typing import Any

import construct  # type: ignore[import-untyped]

from kafkaspec.codecs.references.construct.runtime import ByteSpan, Valid


class _Stored(construct.Rebuild):  # type: ignore[misc]
    """``Rebuild`` where no value is given."""

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        build = super()._build if obj is None else self.subcon._build
        return build(obj, stream, context, path)


class _ByType(construct.Switch):  # type: ignore[misc]
    """``Switch`` by the type of the value, whatever the field says that should."""

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        for case in (*self.cases.values(), self.default):
            if getattr(_innermost(case), "key", None) == obj["_type"]:
                return case._build(obj, stream, context, path)
        raise construct.SwitchError(f"no case is {obj['_type']}", path=path)


class _Once(construct.Subconstruct):  # type: ignore[misc]
    """A field whose bytes both a ``ByteSpan`` and the structure ask for."""

    def __init__(self, field: str, subcon: Any) -> None:
        super().__init__(subcon)
        self.field = field

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        written = context.setdefault("_written", {})
        if self.field not in written:
            piece = io.BytesIO()
            built = self.subcon._build(obj, piece, context, path)
            written[self.field] = (piece.getvalue(), built)
        data, built = written[self.field]
        stream.write(data)
        return built


@cache
def writer(part: Any, raw: bool) -> Any:
    """Return a definition that fills nothing in: a value that is missing cannot be written.

    With ``raw`` it checks nothing either, and writes computed fields as they are given.
    """
    match part:
        case construct.Default() if not callable(part.value):
            return writer(part.subcon, raw)
        case Valid() | construct.Const() if raw:
            return writer(part.subcon, raw)
        case construct.Bytes() if raw:
            return construct.GreedyBytes
        case construct.Array() if raw:
            return construct.GreedyRange(writer(part.subcon, raw))
        case construct.Rebuild() if raw:
            return _Stored(writer(part.subcon, raw), part.func)
        case construct.Switch() if raw:
            part = _ByType(part.keyfunc, part.cases, part.default)
        case _ if hasattr(part, "__dict__"):
            part = copy(part)
        case _:
            return part
    for name, value in vars(part).items():
        setattr(part, name, _inside(value, raw))
    if isinstance(part, construct.Struct):
        if any(map(_has_span, part.subcons)):
            part.subcons = [field.name / _Once(field.name, field.subcon) for field in part.subcons]
        part._subcons = construct.Container((field.name, field) for field in part.subcons)
    return part


def _inside(value: Any, raw: bool) -> Any:
    if isinstance(value, construct.Construct):
        return writer(value, raw)
    if isinstance(value, list):
        return [_inside(item, raw) for item in value]
    if isinstance(value, dict):
        return {key: _inside(item, raw) for key, item in value.items()}
    return value


def _innermost(part: Any) -> Any:
    while isinstance(part, construct.Subconstruct) and not isinstance(part, construct.Rebuild):
        part = part.subcon
    return part


def _has_span(part: Any) -> bool:
    return isinstance(getattr(_innermost(part), "func", None), ByteSpan)
