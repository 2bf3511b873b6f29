"""Check rules S9 and S10 and the style guide: keys and their order, names, ``meta``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from tools.specgen.facts.ranges import value_range
from tools.specgen.lint.problem import Problem
from tools.specgen.model import (
    BitsType,
    DeriveFunction,
    Enum,
    Field,
    Model,
    PeekInstance,
    Spec,
    Type,
    ValueInstance,
)

_TOP_ORDER = ("meta", "doc", "doc-ref", "to-string", "params", "seq", "instances", "types", "enums")
_META_ORDER = (
    "id", "title", "application", "file-extension", "xref", "tags", "license", "ks-version",
    "imports", "encoding", "endian", "bit-endian",
)  # fmt: skip
_TYPE_ORDER = (
    "-orig-id", "-scalar", "-webide-representation", "doc", "doc-ref", "params", "seq", "instances",
)  # fmt: skip
_FIELD_ORDER = (
    "id", "-orig-id", "-derive", "-default", "size", "size-eos", "type", "enum", "process",
    "valid", "repeat", "repeat-expr", "repeat-until", "if", "doc", "doc-ref",
)  # fmt: skip
_INSTANCE_ORDER = (
    "-orig-id", "pos", "value", "size", "size-eos", "type", "enum", "valid", "if", "doc",
)  # fmt: skip
_PARAMETER_ORDER = ("id", "type", "doc")
_REQUIRED_META = ("title", "xref", "license", "ks-version", "endian")
_META_VALUES = {"license": "CC0-1.0", "endian": "be", "ks-version": "'0.11'"}
_FORBIDDEN = {"ks-opaque-types", "ks-debug"}
_ID = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with rules S9 and S10 and the rules ``order``, ``naming`` and ``meta``."""
    for spec in model.specs:
        yield from _meta(spec)
        yield from _top(spec)
        for enum in spec.enums:
            yield from _enum(enum)
        for type_ in spec.types:
            yield from _type(model, type_, is_root=type_ is spec.root)


def _meta(spec: Spec) -> Iterator[Problem]:
    location = f"{spec.file_name}#/meta"
    values = {
        "license": spec.license,
        "endian": spec.endian,
        "ks-version": f"'{spec.ks_version}'" if spec.ks_version else "a number",
    }
    for key in _REQUIRED_META:
        if key not in spec.meta_order:
            value = _META_VALUES.get(key, "...")
            yield Problem(location, "meta", f"{key} is missing; write {key}: {value}")
        elif key in values and values[key] != _META_VALUES[key]:
            yield Problem(
                location, "meta", f"{key} is {values[key]}; write {key}: {_META_VALUES[key]}"
            )
    if spec.bit_endian != "be" and any(
        isinstance(field.type, BitsType) for type_ in spec.types for field in type_.fields
    ):
        yield Problem(location, "meta", "there are bit fields; write bit-endian: be")
    yield from _order(location, spec.meta_order, _META_ORDER)


def _top(spec: Spec) -> Iterator[Problem]:
    for key in spec.unknown_keys:
        is_meta = key in spec.meta_order
        if key in _FORBIDDEN:
            yield Problem(
                f"{spec.file_name}#/meta", "S7", f"{key} hides missing types; describe every type"
            )
        else:
            location = f"{spec.file_name}#/meta" if is_meta else f"{spec.file_name}#/"
            yield _unknown(location, key, _META_ORDER if is_meta else _TOP_ORDER)


def _type(model: Model, type_: Type, *, is_root: bool) -> Iterator[Problem]:
    yield from _keys(
        type_.location,
        type_.unknown_keys,
        type_.key_order,
        _TOP_ORDER if is_root else _TYPE_ORDER,
    )
    yield from _name(type_.location, type_.name, type_.original_id)
    for i, parameter in enumerate(type_.parameters):
        location = f"{type_.location}/params/{i}"
        yield from _keys(location, parameter.unknown_keys, parameter.key_order, _PARAMETER_ORDER)
        yield from _name(location, parameter.id, None)
    for field in type_.fields:
        yield from _keys(field.location, field.unknown_keys, field.key_order, _FIELD_ORDER)
        yield from _name(field.location, field.id, field.original_id)
        yield from _field_naming(field)
        yield from _s9_enum(model, type_, field)
    instances: list[PeekInstance | ValueInstance] = [*type_.peek_instances, *type_.value_instances]
    for instance in instances:
        location = instance.location
        yield from _keys(location, instance.unknown_keys, instance.key_order, _INSTANCE_ORDER)
        yield from _name(location, instance.id, instance.original_id)


def _keys(
    location: str, unknown: Sequence[str], actual: Sequence[str], order: Sequence[str]
) -> Iterator[Problem]:
    for key in unknown:
        yield _unknown(location, key, order)
    yield from _order(location, actual, order)


def _unknown(location: str, key: str, known: Sequence[str]) -> Problem:
    close = get_close_matches(key, known, n=1)
    advice = f"write {close[0]}" if close else f"the keys here are {', '.join(known)}"
    return Problem(location, "S10", f"unknown key {key}; {advice}")


def _order(location: str, actual: Sequence[str], order: Sequence[str]) -> Iterator[Problem]:
    known = [key for key in actual if key in order]
    wanted = sorted(known, key=order.index)
    if known != wanted:
        yield Problem(location, "order", f"write the keys in the order {', '.join(wanted)}")


def _name(location: str, name: str, original: str | None) -> Iterator[Problem]:
    if not _ID.fullmatch(name):
        yield Problem(location, "naming", f"{name} is no id; write lower_case words joined by _")
    if original == name:
        yield Problem(location, "naming", f"-orig-id repeats the id {name}; leave it out")


def _field_naming(field: Field) -> Iterator[Problem]:
    derive = field.derive
    if derive is not None:
        prefix = {DeriveFunction.LEN: "len_", DeriveFunction.COUNT: "num_"}.get(derive.function, "")
        if prefix and field.id != prefix + derive.first:
            yield Problem(
                field.location,
                "naming",
                f"{field.id} is the {derive.function} of {derive.first}; "
                f"call it {prefix}{derive.first}",
            )
    elif field.id.startswith(("len_", "num_")):
        yield Problem(
            field.location,
            "naming",
            f"{field.id} is named like a size or a count; write its -derive or another name",
        )
    if field.repeat is not None and not field.id.endswith("s"):
        yield Problem(field.location, "naming", f"{field.id} is an array; write the plural")


def _s9_enum(model: Model, type_: Type, field: Field) -> Iterator[Problem]:
    if field.enum is not None:
        enums = {enum.id: enum for enum in model.spec(type_.spec_id).enums}
        bounds = value_range(model, field)
        if field.enum not in enums:
            yield Problem(field.location, "S9", f"there is no enum {field.enum} in this file")
        elif bounds is None:
            yield Problem(field.location, "S9", "only an integer can have an enum")
        else:
            wide = [v.value for v in enums[field.enum].values if v.value > bounds[1]]
            if wide:
                yield Problem(
                    field.location,
                    "S9",
                    f"{wide[0]} of {field.enum} does not fit the field; write a wider type",
                )
    if field.valid is not None and field.valid.in_enum and "refuses" not in field.doc:
        yield Problem(
            field.location,
            "S9",
            "in-enum is for values that Kafka refuses; say in doc that Kafka refuses others, "
            "or drop in-enum",
        )


def _enum(enum: Enum) -> Iterator[Problem]:
    values = [value.value for value in enum.values]
    if values != list(range(len(values))):
        yield Problem(
            enum.location,
            "S9",
            "values of an enum count from 0 without a gap; write the others as plain integers",
        )
    for value in enum.values:
        location = f"{enum.location}/{value.value}"
        for key in value.unknown_keys:
            yield _unknown(location, key, ("id", "-orig-id", "doc"))
        yield from _name(location, value.id, None)
