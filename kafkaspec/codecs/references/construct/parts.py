"""Construct classes for what holds other structures: arrays, windows, choices, parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from construct import (  # type: ignore[import-untyped]
    ConstructError,
    Container,
    ListContainer,
    StreamError,
    Subconstruct,
    Switch,
    SwitchError,
)

from kafkaspec._generated.python.runtime import unencodable
from kafkaspec.codecs.references.construct.fields import (
    Field,
    compute,
    compute_to_build,
    invalid_size,
    is_raw,
)
from kafkaspec.codecs.references.construct.window import Window
from kafkaspec.errors import KafkaSpecError


class Sized(Subconstruct):  # type: ignore[misc]
    """A structure in a window of ``size`` bytes (all that is left without), by position.

    What the structure leaves over is skipped; a ``Guard`` forbids that.
    """

    def __init__(self, size: Any, subcon: Any) -> None:
        super().__init__(subcon)
        self.size = size

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        window = stream if isinstance(stream, Window) else Window.over(stream)
        size = None if self.size is None else compute(self.size, context)
        if size is not None and size < 0:
            raise invalid_size(size, path)
        if size is not None and size > window.left:
            raise StreamError("not so many bytes are left", path=path)
        inner = window.window(size)
        value = self.subcon._parsereport(inner, context, path)
        stream.seek(inner.end)
        return value


class Items(Subconstruct):  # type: ignore[misc]
    """An array: ``count`` items, or as many as there are up to the exact end.

    Nothing is allocated ahead, and no error ends the array early.
    """

    def __init__(self, subcon: Field, count: Any = None) -> None:
        super().__init__(subcon)
        self.count = count

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        items = ListContainer()
        count = None if self.count is None else compute(self.count, context)
        while stream.left if count is None else len(items) < count:
            context["_index"] = index = len(items)
            try:
                items.append(self.subcon._parsereport(stream, context, path))
            except KafkaSpecError as error:
                error.path = f"/{index}{error.path}"
                raise
        return items

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        count = None if self.count is None else compute_to_build(self.count, context)
        if not isinstance(obj, list | tuple) or (
            count is not None and len(obj) != count and not is_raw(context)
        ):
            raise unencodable(obj, "", self.subcon.location)
        for index, item in enumerate(obj):
            context["_index"] = index
            try:
                self.subcon._build(item, stream, context, path)
            except KafkaSpecError as error:
                error.path = f"/{index}{error.path}"
                raise
        return obj


class Ahead(Subconstruct):  # type: ignore[misc]
    """A field that is read before its turn, ``position`` bytes from the start of the structure.

    It takes no bytes, and none are written for it: it is a second view of a field elsewhere.
    """

    def __init__(self, position: int, subcon: Field) -> None:
        super().__init__(subcon)
        self.position = position

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        here = stream.tell()
        stream.seek(stream.start + self.position)
        value = self.subcon._parsereport(stream, context, path)
        stream.seek(here)
        return value


class Choice(Switch):  # type: ignore[misc]
    """One of several structures, by a value; a value without a case is an error.

    A container that says what it was parsed as is written as that. The value must agree, unless it
    depends on a parameter that was not given, or is told to be written raw.
    """

    def __init__(self, on: Any, cases: Mapping[int, Any], default: Any = None) -> None:
        super().__init__(on, dict(cases), default)
        self.subcons = [*cases.values(), *([default] if default is not None else [])]

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        on = compute(self.keyfunc, context)
        chosen = self.cases.get(on, self.default)
        if chosen is None:
            raise _no_case(on, path)
        return chosen._parsereport(stream, context, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        on = compute_to_build(self.keyfunc, context)
        known = obj.get("_type") if isinstance(obj, Mapping) else None
        chosen = self.cases.get(on, self.default)
        if known is not None:
            fitting = [case for case in self.subcons if type_key(case) == known]
            if not fitting or (on is not None and not is_raw(context) and chosen not in fitting):
                raise _no_case(on if fitting else obj, path)
            chosen = fitting[0]
        if chosen is None or not isinstance(obj, Mapping):
            raise _no_case(on if isinstance(obj, Mapping) else obj, path)
        return chosen._build(obj, stream, context, path)


def _no_case(on: object, path: str) -> ConstructError:
    error = SwitchError(f"no structure for {on!r}", path=path)
    error.value = on
    return error


def type_key(construct: Any) -> str | None:
    """Key of the structure inside of wrappers."""
    while not hasattr(construct, "key") and isinstance(construct, Subconstruct):
        construct = construct.subcon
    key: str | None = getattr(construct, "key", None)
    return key


class With(Subconstruct):  # type: ignore[misc]
    """A structure with its parameters: ``With(record, batch=this._params.batch)``."""

    def __init__(self, subcon: Any, **arguments: Any) -> None:
        super().__init__(subcon)
        self.arguments = arguments

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        values = {name: compute(value, context) for name, value in self.arguments.items()}
        return self.subcon._parsereport(stream, self._scope(context, values), path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        values = {name: compute_to_build(value, context) for name, value in self.arguments.items()}
        values = {name: value for name, value in values.items() if value is not None}
        return self.subcon._build(obj, stream, self._scope(context, values), path)

    @staticmethod
    def _scope(context: Any, values: dict[str, Any]) -> Any:
        scope = Container(values)
        for name in ("_parsing", "_building", "_sizing", "_root", "_io", "_index", "_raw"):
            scope[name] = context.get(name)
        scope["_"] = context
        scope["_params"] = scope
        return scope
