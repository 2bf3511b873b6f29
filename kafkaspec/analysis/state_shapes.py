"""The shapes of values in lines of a state, which are JSON; what has another one is refused."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from itertools import chain, count, repeat
from operator import itemgetter
from types import UnionType
from typing import Any, get_args

_LEAST, _MOST = -(1 << 63), (1 << 64) - 1
"""Numbers of the format: those of 64 bits, with a sign or without."""


class FieldError(Exception):
    """A value is not what its field has."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(detail)
        self.path, self.detail = path, detail


def _fit(values: Collection[Any], shape: Any) -> bool:
    """Return whether all values are as described.

    A type stands for its values, a union with null for these and null, a list for any number of its
    one item, a tuple for one value of each of its items, and a mapping for its members, or for any
    members where it has a type.
    """
    if not values:
        return True
    kind = type(shape)
    if kind is UnionType:
        return _fit([value for value in values if value is not None], get_args(shape)[0])
    given = set(map(type, values))
    if kind is type:
        return given == {shape} and (
            shape is not int or (min(values) >= _LEAST and max(values) <= _MOST)
        )
    if kind is list:
        return given == {list} and _fit(list(chain.from_iterable(values)), shape[0])
    if kind is tuple:
        return (
            given == {list}
            and set(map(len, values)) == {len(shape)}
            and all(map(_fit, zip(*values, strict=True), shape))
        )
    if given != {dict}:
        return False
    if str in shape:
        return _fit(list(chain.from_iterable(map(dict.values, values))), shape[str])
    if not all(map(shape.keys().__eq__, map(dict.keys, values))):
        return False
    return all(_fit(list(map(itemgetter(name), values)), each) for name, each in shape.items())


def check_shape(value: Any, shape: Any, path: str = "") -> None:
    """Refuse a value that is not as described, and name the field.

    Raises:
        FieldError: it is something else.
    """
    if _fit([value], shape):
        return
    kind = type(shape)
    if kind is UnionType:
        shape, kind = get_args(shape)[0], type
    items: Iterable[tuple[object, Any, Any]] = ()
    if kind is type:
        wide = type(value) is shape
        detail = "it has more than 64 bits" if wide else f"{shape.__name__} is due"
    elif kind is list or kind is tuple:
        detail = "a list is due" if kind is list else f"a list of {len(shape)} is due"
        if type(value) is list and (kind is list or len(value) == len(shape)):
            items = zip(count(), value, repeat(shape[0]) if kind is list else shape)
    else:
        detail = "an object is due"
        if type(value) is dict:
            members = dict.fromkeys(value, shape[str]) if str in shape else shape
            for name in (*members, *value):
                if name not in value or name not in members:
                    text = "it is missing" if name in members else "unknown field"
                    raise FieldError(f"{path}/{name}", text)
            items = ((name, value[name], each) for name, each in members.items())
    for at, item, each in items:
        check_shape(item, each, f"{path}/{at}")
    raise FieldError(path, f"{detail}, not {shown(value)}")


def shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def parsed(line: bytes) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FieldError("", f"it is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise FieldError("", f"an object is due, not {shown(values)}")
    return values


def state_line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode("ascii") + b"\n"
