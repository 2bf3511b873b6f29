"""Check rules S9 and S10 and the style guide: keys and their order, names, ``meta``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from tools.specgen.facts.ranges import value_range
from tools.specgen.house import House
from tools.specgen.lint.problem import Messages, Problem, found
from tools.specgen.model import (
    BitsType,
    DeriveFunction,
    Enum,
    EnumValue,
    Field,
    FloatType,
    IntegerType,
    Member,
    Model,
    Parameter,
    PeekInstance,
    Spec,
    Type,
    ValueInstance,
)

_META_KEYS = (
    "id", "title", "application", "file-extension", "xref", "tags", "license", "ks-version",
    "imports", "encoding", "endian", "bit-endian",
)  # fmt: skip
_TOP_KEYS = (
    "meta", "-orig-id", "-releases", "-since", "-identity", "doc", "doc-ref", "params", "seq",
    "instances", "types", "enums",
)  # fmt: skip
_TYPE_KEYS = (
    "-orig-id", "-scalar", "-suffix", "-webide-representation", "doc", "doc-ref", "params", "seq",
    "instances",
)  # fmt: skip
_KEYS = {
    Field: (
        "id", "-orig-id", "-derive", "-default", "-ascending", "-from", "-known", "-offsets",
        "size", "size-eos", "type", "enum", "process", "valid", "repeat", "repeat-expr",
        "repeat-until", "if", "doc", "doc-ref",
    ),
    PeekInstance: ("-orig-id", "pos", "type", "enum", "valid", "if", "doc"),
    ValueInstance: ("-orig-id", "value", "enum", "if", "doc"),
    Parameter: ("id", "type", "doc"),
    EnumValue: ("id", "-orig-id", "doc"),
}  # fmt: skip
"""The keys that a node may have, in the order of the official style guide."""

_PREFIXES = {
    DeriveFunction.LEN: "len_", DeriveFunction.COUNT: "num_", DeriveFunction.PRESENT: "has_",
}  # fmt: skip
_HIDING = {"ks-opaque-types", "ks-debug"}
_ID = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with rules S9 and S10 and the rules ``order``, ``naming`` and ``meta``."""
    house = model.house
    for spec in model.specs:
        meta = f"{spec.file_name}#/meta"
        yield from found("meta", meta, _meta(spec, house))
        yield from found("S7", meta, _hiding(spec))
        keys = [key for key in spec.meta_order if key not in _HIDING]
        yield from _keys(meta, keys, _META_KEYS, house)
        for enum in spec.enums:
            yield from found("S9", enum, _values(enum) if house.style else ())
            for value in enum.values:
                yield from _node(value, value.id, _KEYS[EnumValue], house)
    for type_ in model.all_types():
        is_root = type_ is model.spec(type_.spec_id).root
        yield from _node(type_, type_.name, _TOP_KEYS if is_root else _TYPE_KEYS, house)
        for node in (*type_.parameters, *type_.nodes):
            yield from _node(node, node.id, _KEYS[type(node)], house)
        for field in type_.fields:
            is_message = model.spec(type_.spec_id).is_message
            if house.style:
                yield from found("naming", field, _field_naming(field, is_message=is_message))
            yield from found("S9", field, _enum(model, type_, field))
            yield from found("meta", field, _order_of(model, type_, field))


def _meta(spec: Spec, house: House) -> Messages:
    version = f"'{spec.ks_version}'" if spec.ks_version else "a number"
    values = {"license": spec.license, "endian": spec.endian, "ks-version": version}
    for key, value in house.meta:
        wanted = f"'{value}'" if key == "ks-version" else value
        if key not in spec.meta_order:
            yield f"{key} is missing; write {key}: {wanted or '...'}"
        elif value and values.get(key) != wanted:
            yield f"{key} is {values.get(key)}; write {key}: {wanted}"
    if "endian" not in (*spec.meta_order, *dict(house.meta)) and _has_order(spec):
        yield "endian is missing; write endian: be or endian: le"
    fields = (field for type_ in spec.types for field in type_.fields)
    if spec.bit_endian != "be" and any(isinstance(field.type, BitsType) for field in fields):
        yield "there are bit fields; write bit-endian: be"
    if "\n" in spec.title or '"' in spec.title or "\\" in spec.title:
        yield "the title is a heading; write one line without quotation marks and backslashes"


def _has_order(spec: Spec) -> bool:
    """Return whether a number of the file has more than one byte."""
    kinds = [field.type for type_ in spec.types for field in type_.fields]
    kinds += [peek.type for type_ in spec.types for peek in type_.peek_instances]
    return any(isinstance(kind, IntegerType | FloatType) and kind.size > 1 for kind in kinds)


def _order_of(model: Model, type_: Type, field: Field) -> Messages:
    """Yield fields whose order of bytes is not that of the house."""
    wanted = dict(model.house.meta).get("endian")
    kind = field.type
    if wanted == "be" and isinstance(kind, IntegerType | FloatType) and kind.little:
        yield f"{field.id} has its low byte first; leave le out, as the house has endian: be"


def _hiding(spec: Spec) -> Messages:
    for key in spec.meta_order:
        if key in _HIDING:
            yield f"{key} hides missing types; describe every type"


def _node(
    node: Member | Type | EnumValue, name: str, known: Sequence[str], house: House
) -> Iterator[Problem]:
    yield from _keys(node.location, node.key_order, known, house)
    yield from found("naming", node, _name(name, node.original_id))


def _keys(
    location: str, actual: Sequence[str], known: Sequence[str], house: House
) -> Iterator[Problem]:
    for key in actual:
        if key not in known:
            close = get_close_matches(key, known, n=1)
            advice = f"write {close[0]}" if close else f"the keys here are {', '.join(known)}"
            yield Problem(location, "S10", f"unknown key {key}; {advice}")
    ordered = [key for key in actual if key in known]
    wanted = sorted(ordered, key=known.index)
    if house.style and ordered != wanted:
        yield Problem(location, "order", f"write the keys in the order {', '.join(wanted)}")


def _name(name: str, original: str | None) -> Messages:
    if not _ID.fullmatch(name):
        yield f"{name} is not an id; write lower_case words joined by _"
    if original == name:
        yield f"-orig-id repeats the id {name}; leave it out"


def _field_naming(field: Field, *, is_message: bool) -> Messages:
    """Yield names that hide what a field is; arrays of messages have Kafka's names."""
    derive = field.derive
    if derive is not None:
        prefix = _PREFIXES.get(derive.function, "")
        if prefix and field.id != prefix + derive.first:
            yield (
                f"{field.id} is the {derive.function} of {derive.first}; "
                f"call it {prefix}{derive.first}"
            )
    elif field.id.startswith(("len_", "num_")):
        yield f"{field.id} is named like a size or a count; write its -derive or another name"
    if field.repeat is not None and not field.id.endswith("s") and not is_message:
        yield f"{field.id} is an array; write the plural"


def _enum(model: Model, type_: Type, field: Field) -> Messages:
    if field.enum is not None:
        file, _, name = field.enum.partition(".")
        bounds = value_range(model, field)
        if file not in (type_.spec_id, *model.spec(type_.spec_id).imports):
            yield f"{file} is not in meta/imports; write it there"
        elif not model.has_enum(field.enum):
            where = "this file" if file == type_.spec_id else file
            yield f"there is no enum {name} in {where}; write the id of one"
        elif bounds is None:
            yield "only an integer can have an enum; leave it out"
        else:
            values = [value.value for value in model.enum(field.enum).values]
            if wide := [value for value in values if not bounds[0] <= value <= bounds[1]]:
                yield f"{wide[0]} of {name} does not fit the field; write a wider type"
            elif field.known is not None and not set(field.known) <= set(values):
                yield f"-known names numbers that {name} lacks; name the first and last"
    elif field.known is not None:
        yield "-known is for fields with an enum; leave it out"
    in_enum = field.valid is not None and field.valid.in_enum
    if in_enum and model.house.doc and "refuses" not in field.doc:
        name = model.house.name or "the owner"
        yield (
            f"in-enum is for values that {name} refuses; say in doc that {name} refuses others, "
            "or drop in-enum"
        )


def _values(enum: Enum) -> Messages:
    values = [value.value for value in enum.values]
    if values != sorted(values):
        yield "values of an enum ascend; write them in this order"
