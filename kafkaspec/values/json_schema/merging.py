"""Merge types: of all schemas that hold at once, or of any of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafkaspec.values.json_schema.shapes import (
    Array,
    Dictionary,
    Integer,
    JsonText,
    Null,
    Number,
    Object,
    Shape,
    WideInteger,
)


def merge_all(shapes: Sequence[Shape]) -> Shape:
    """Return the type of values that have all of these types."""
    said = [shape for shape in shapes if not (isinstance(shape, JsonText) and shape.is_free)]
    if not said:
        return shapes[0]
    values = [shape for shape in said if not isinstance(shape, Null)]
    if not values:
        return said[0]
    merged = values[0]
    for shape in values[1:]:
        merged = _pair(merged, shape, all_of=True)
    return merged


def merge_any(shapes: Sequence[Shape]) -> Shape:
    """Return the type of values that have any of these types."""
    for shape in shapes:
        if isinstance(shape, JsonText) and shape.is_free:
            return shape
    values = [shape for shape in shapes if not isinstance(shape, Null)]
    if not values:
        return shapes[0]
    merged = values[0]
    for shape in values[1:]:
        merged = _pair(merged, shape, all_of=False)
    return merged


def _pair(one: Shape, two: Shape, *, all_of: bool) -> Shape:
    if isinstance(one, JsonText) or isinstance(two, JsonText):
        return _with_text(one, two, all_of=all_of)
    if isinstance(one, Object) and isinstance(two, Object):
        return _objects(one, two, all_of=all_of)
    if isinstance(one, Object) and isinstance(two, Dictionary):
        return one if all_of else JsonText(is_object=True)
    if isinstance(one, Dictionary) and isinstance(two, Object):
        return two if all_of else JsonText(is_object=True)
    if isinstance(one, Array) and isinstance(two, Array):
        return Array(_merge(all_of)([one.item, two.item]))
    if isinstance(one, Dictionary) and isinstance(two, Dictionary):
        return Dictionary(_merge(all_of)([one.value, two.value]))
    if type(one) is type(two) and one.type == two.type:
        return one
    numbers = (Integer, WideInteger, Number)
    if isinstance(one, numbers) and isinstance(two, numbers):
        narrow, wide = sorted((one, two), key=lambda shape: numbers.index(type(shape)))
        return narrow if all_of else wide
    return JsonText()


def _with_text(one: Shape, two: Shape, *, all_of: bool) -> Shape:
    """Merge with values of any type, or with objects of which nothing more is known."""
    for text, other in ((one, two), (two, one)):
        if isinstance(text, JsonText) and text.is_object:
            if isinstance(other, Object):
                return other
            if isinstance(other, Dictionary):
                return other if all_of else text
            if isinstance(other, JsonText) and other.is_object:
                return text
    return JsonText()


def _objects(one: Object, two: Object, *, all_of: bool) -> Object:
    fields = dict(one.fields)
    for name, shape in two.fields.items():
        fields[name] = _merge(all_of)([fields[name], shape]) if name in fields else shape
    return Object(fields)


def _merge(all_of: bool) -> Callable[[Sequence[Shape]], Shape]:
    return merge_all if all_of else merge_any
