"""Compile a JSON Schema to the type of a column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kafkaspec.values.definition import Definition, SchemaError
from kafkaspec.values.json_schema import references
from kafkaspec.values.json_schema.references import SchemaPlace
from kafkaspec.values.json_schema.shapes import (
    FORMATS,
    Array,
    BooleanShape,
    Dictionary,
    Formatted,
    Integer,
    JsonText,
    Null,
    NumberShape,
    Object,
    Shape,
    String,
    Tuple,
    WideInteger,
    merge_all,
    merge_any,
)
from kafkaspec.values.options import Options

MOST_TYPES: Final = 1 << 14
"""Types that the columns of one schema may have."""

_LONG: Final = 1 << 63
_OBJECT: Final = ("properties", "additionalProperties", "patternProperties")
_ARRAY: Final = ("items", "prefixItems")


def compile_schema(definition: Definition, options: Options) -> Shape:
    """Return the type that a JSON Schema describes."""
    place = references.load(definition, options.bounds)
    return _Compiler(options).shape(place, ())


class _Compiler:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._types = 0

    def shape(self, place: SchemaPlace, around: tuple[int, ...]) -> Shape:
        """Return the type of a schema within others, given by their identities."""
        if len(around) > self._options.bounds.depth:
            raise SchemaError(f"more than {self._options.bounds.depth} levels of nesting")
        self._types += 1
        if self._types > MOST_TYPES:
            raise SchemaError(f"more than {MOST_TYPES} types")
        node = place.node
        if isinstance(node, bool):
            return JsonText(is_free=True)
        if not isinstance(node, dict):
            raise SchemaError(f"{str(node)[:40]!r} is not a schema")
        levels = around.count(id(node))
        if levels > self._options.depth:
            if self._options.depth:
                return JsonText()
            raise SchemaError("the schema contains itself; ask for levels of recursion")
        inside = (*around, id(node))
        parts = [self._own(place, inside)]
        for keyword in ("$ref", "$recursiveRef", "$dynamicRef"):
            if isinstance(reference := node.get(keyword), str):
                parts.append(self.shape(references.resolve(reference, place), inside))
        parts.extend(self._branches(place, "allOf", inside))
        for keyword in ("anyOf", "oneOf"):
            if branches := list(self._branches(place, keyword, inside)):
                parts.append(merge_any(branches))
        return merge_all(parts)

    def _branches(
        self, place: SchemaPlace, keyword: str, inside: tuple[int, ...]
    ) -> Iterator[Shape]:
        branches = place.node.get(keyword, [])
        if not isinstance(branches, list):
            raise SchemaError(f"{keyword} is not an array")
        for branch in branches:
            yield self.shape(place.inner(branch), inside)

    def _own(self, place: SchemaPlace, inside: tuple[int, ...]) -> Shape:
        """Return the type that a schema asks for without those that it consists of."""
        node = place.node
        if "const" in node:
            return merge_any([_of_value(node["const"])])
        if isinstance(values := node.get("enum"), list) and values:
            return merge_any(
                [_of_value(each) for each in {type(each): each for each in values}.values()]
            )
        names = node.get("type")
        if names is None:
            if any(keyword in node for keyword in _OBJECT):
                names = "object"
            elif any(keyword in node for keyword in _ARRAY):
                names = "array"
            else:
                return JsonText(is_free=True)
        if isinstance(names, list):
            return merge_any(
                [self._of_name(name, place, inside) for name in dict.fromkeys(map(str, names))]
            )
        return self._of_name(str(names), place, inside)

    def _of_name(self, name: str, place: SchemaPlace, inside: tuple[int, ...]) -> Shape:
        node = place.node
        match name:
            case "null":
                return Null()
            case "boolean":
                return BooleanShape()
            case "integer":
                return WideInteger() if _is_wide(node) else Integer()
            case "number":
                return NumberShape()
            case "string":
                if self._options.formats and node.get("format") in FORMATS:
                    return Formatted(node["format"])
                return String()
            case "array":
                return self._array(place, inside)
            case "object":
                return self._object(place, inside)
        raise SchemaError(f"no type {name[:40]!r} in JSON Schema")

    def _array(self, place: SchemaPlace, inside: tuple[int, ...]) -> Shape:
        node = place.node
        items = node.get("prefixItems", node.get("items"))
        if isinstance(items, list) and items:
            return Tuple(self.shape(place.inner(item), inside) for item in items)
        items = node.get("items")
        if isinstance(items, dict | bool):
            return Array(self.shape(place.inner(items), inside))
        return Array(JsonText())

    def _object(self, place: SchemaPlace, inside: tuple[int, ...]) -> Shape:
        node = place.node
        properties = node.get("properties", {})
        if not isinstance(properties, dict):
            raise SchemaError("properties are not an object")
        if properties:
            return Object(
                {name: self.shape(place.inner(inner), inside) for name, inner in properties.items()}
            )
        others = node.get("additionalProperties")
        if patterns := node.get("patternProperties"):
            if not isinstance(patterns, dict) or len(patterns) != 1 or others is not False:
                return JsonText(is_object=True)
            (others,) = patterns.values()
        if isinstance(others, dict):
            return Dictionary(self.shape(place.inner(others), inside))
        return JsonText(is_object=True)


def _is_wide(node: dict[str, Any]) -> bool:
    """Return whether limits on an integer allow more than 64 bits."""
    bounds = [node.get(f"{name}imum") for name in ("max", "exclusiveMax", "min", "exclusiveMin")]
    return any(isinstance(bound, int | float) and not -_LONG <= bound < _LONG for bound in bounds)


def _of_value(value: Any) -> Shape:
    if value is None:
        return Null()
    if isinstance(value, bool):
        return BooleanShape()
    if isinstance(value, str):
        return String()
    if isinstance(value, int):
        return Integer()
    return NumberShape() if isinstance(value, float) else JsonText()
