"""Reads ``.ksy`` files into the model; nothing else in the repository reads their YAML.

The loader is lenient about style, which is the linter's business, and strict about everything
that the model cannot express: that is a ``SpecError`` with file and path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tools.specgen import expression as ex
from tools.specgen.facts.fields import references
from tools.specgen.model import (
    BitsType,
    BytesType,
    Default,
    Derive,
    DeriveFunction,
    Enum,
    EnumValue,
    Field,
    FieldType,
    IntegerType,
    Model,
    Parameter,
    PeekInstance,
    Repeat,
    Scalar,
    Spec,
    SwitchType,
    Type,
    TypeReference,
    Valid,
    ValueInstance,
)

_INTEGER = re.compile(r"([us])([1248])(be)?")
_BITS = re.compile(r"b([1-9][0-9]?)(be)?")
_DERIVE = re.compile(r"([a-z0-9]+)\(([a-z0-9_]+)(\.\.)?([a-z0-9_]+)?\)(?:\s*\+\s*(\d+))?")
_REFERENCE = re.compile(r"(?:([a-z0-9_]+)::)?([a-z0-9_]+)(?:\((.*)\))?", re.DOTALL)

_SPEC_KEYS = {"meta", "doc", "doc-ref", "params", "seq", "instances", "types", "enums", "-orig-id"}
_META_KEYS = {
    "id", "title", "application", "file-extension", "xref", "tags", "license", "ks-version",
    "imports", "encoding", "endian", "bit-endian",
}  # fmt: skip
_TYPE_KEYS = {
    "doc", "doc-ref", "params", "seq", "instances",
    "-orig-id", "-scalar", "-webide-representation",
}  # fmt: skip
_FIELD_KEYS = {
    "id", "type", "size", "size-eos", "enum", "process", "valid", "repeat", "repeat-expr",
    "repeat-until", "if", "doc", "doc-ref", "-orig-id", "-derive", "-default",
}  # fmt: skip
_INSTANCE_KEYS = {"value", "pos", "type", "valid", "if", "enum", "doc", "-orig-id"}
_PARAMETER_KEYS = {"id", "type", "doc"}
_ENUM_VALUE_KEYS = {"id", "doc", "-orig-id"}


class SpecError(Exception):
    """The specification cannot be read: ``file: path: what is wrong and what to write instead``."""

    def __init__(self, location: str, message: str) -> None:
        super().__init__(f"{location}: {message}")
        self.location = location
        self.message = message


def load(directory: Path) -> Model:
    """The model of every ``.ksy`` file in ``directory``.

    Raises:
        SpecError: a file cannot be read, or refers to something that does not exist.
    """
    specs = tuple(load_file(path) for path in sorted(directory.glob("*.ksy")))
    if not specs:
        raise SpecError(directory.name, "no .ksy file here")
    model = Model(specs)
    known = {spec.id for spec in specs}
    for spec in specs:
        for name in spec.imports:
            if name not in known:
                raise SpecError(f"{spec.file_name}#/meta/imports", f"no file {name}.ksy")
        for type_ in spec.types:
            _check_references(model, spec, type_)
    return model


def load_file(path: Path) -> Spec:
    """One specification, references not yet checked."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise SpecError(path.name, f"not valid YAML: {error}") from None
    return _FileReader(path.name).spec(document)


def _check_references(model: Model, spec: Spec, type_: Type) -> None:
    for field in type_.fields:
        for reference in references(field.type):
            if reference.spec_id != spec.id and reference.spec_id not in spec.imports:
                raise SpecError(field.location, f"{reference.spec_id} is not in meta/imports")
            if not model.has_type(reference):
                raise SpecError(field.location, f"no type {reference.spec_id}::{reference.name}")
            expected = len(model.type(reference).parameters)
            if len(reference.arguments) != expected:
                raise SpecError(
                    field.location,
                    f"{reference.name} takes {expected} parameters, not {len(reference.arguments)}",
                )


class _FileReader:
    """Reads one file; holds its name and id, which every node needs."""

    def __init__(self, file_name: str) -> None:
        self.file_name = file_name
        self.spec_id = file_name.removesuffix(".ksy")

    def fail(self, path: str, message: str) -> SpecError:
        return SpecError(f"{self.file_name}#{path}", message)

    def mapping(self, node: object, path: str) -> Mapping[str, Any]:
        if not isinstance(node, dict):
            raise self.fail(path, "expected a mapping")
        return node

    def expression(self, node: object, path: str) -> ex.Expression:
        if isinstance(node, bool):
            return ex.Bool(node)
        try:
            return ex.parse(str(node))
        except ValueError as error:
            raise self.fail(path, str(error)) from None

    def optional(self, node: object, path: str) -> ex.Expression | None:
        return None if node is None else self.expression(node, path)

    def spec(self, document: object) -> Spec:
        top = self.mapping(document, "/")
        meta = self.mapping(top.get("meta"), "/meta")
        if meta.get("id") != self.spec_id:
            raise self.fail("/meta/id", f"must be {self.spec_id}, the name of the file")
        root = self.type(self.spec_id, top, "")
        types = [
            self.type(name, self.mapping(node, f"/types/{name}"), f"/types/{name}")
            for name, node in (top.get("types") or {}).items()
        ]
        enums = [self.enum(name, node) for name, node in (top.get("enums") or {}).items()]
        return Spec(
            id=self.spec_id,
            file_name=self.file_name,
            title=str(meta.get("title", "")),
            types=(root, *types),
            enums=tuple(enums),
            imports=tuple(meta.get("imports") or ()),
            doc=str(top.get("doc", "")).strip(),
            doc_refs=root.doc_refs,
            file_extensions=_strings(meta.get("file-extension")),
            license=str(meta.get("license", "")),
            endian=str(meta.get("endian", "")),
            bit_endian=str(meta.get("bit-endian", "")),
            ks_version=version if isinstance(version := meta.get("ks-version"), str) else "",
            unknown_keys=_unknown_keys(top, _SPEC_KEYS) + _unknown_keys(meta, _META_KEYS),
            meta_order=_key_order(meta),
        )

    def type(self, name: str, node: Mapping[str, Any], path: str) -> Type:
        fields = [
            self.field(self.mapping(item, f"{path}/seq/{i}"), f"{path}/seq/{i}")
            for i, item in enumerate(node.get("seq") or ())
        ]
        values: list[ValueInstance] = []
        peeks: list[PeekInstance] = []
        for instance_id, item in (node.get("instances") or {}).items():
            instance = self.instance(instance_id, item, f"{path}/instances/{instance_id}")
            if isinstance(instance, ValueInstance):
                values.append(instance)
            else:
                peeks.append(instance)
        scalar = node.get("-scalar")
        if scalar is not None and scalar not in list(Scalar):
            raise self.fail(f"{path}/-scalar", f"must be one of {', '.join(Scalar)}")
        parameters = [
            self.parameter(self.mapping(item, f"{path}/params/{i}"), f"{path}/params/{i}")
            for i, item in enumerate(node.get("params") or ())
        ]
        return Type(
            name=name,
            spec_id=self.spec_id,
            location=f"{self.file_name}#{path or '/'}",
            fields=tuple(fields),
            doc=str(node.get("doc", "")).strip(),
            doc_refs=_strings(node.get("doc-ref")),
            original_id=node.get("-orig-id"),
            scalar=Scalar(scalar) if scalar else None,
            representation=node.get("-webide-representation"),
            parameters=tuple(parameters),
            value_instances=tuple(values),
            peek_instances=tuple(peeks),
            unknown_keys=_unknown_keys(node, _TYPE_KEYS) if path else (),
            key_order=_key_order(node),
        )

    def parameter(self, node: Mapping[str, Any], path: str) -> Parameter:
        kind = self.field_type(node, path)
        if not isinstance(kind, IntegerType | TypeReference):
            raise self.fail(path, "a parameter is an integer or a structure")
        return Parameter(
            id=str(node.get("id")),
            type=kind,
            doc=str(node.get("doc", "")).strip(),
            unknown_keys=_unknown_keys(node, _PARAMETER_KEYS),
            key_order=_key_order(node),
        )

    def field(self, node: Mapping[str, Any], path: str) -> Field:
        if not isinstance(node.get("id"), str):
            raise self.fail(path, "a field needs an id")
        here = f"{self.file_name}#{path}"
        return Field(
            id=node["id"],
            type=self.field_type(node, path),
            location=here,
            doc=str(node.get("doc", "")).strip(),
            original_id=node.get("-orig-id"),
            enum=node.get("enum"),
            valid=self.valid(node.get("valid"), f"{path}/valid"),
            repeat=self.repeat(node, path),
            condition=self.optional(node.get("if"), f"{path}/if"),
            derive=_derive_of(node.get("-derive"), f"{here}/-derive"),
            default=_default_of(node, f"{here}/-default"),
            process=node.get("process"),
            unknown_keys=_unknown_keys(node, _FIELD_KEYS),
            key_order=_key_order(node),
        )

    def instance(self, instance_id: str, item: object, path: str) -> ValueInstance | PeekInstance:
        node = self.mapping(item, path)
        doc = str(node.get("doc", "")).strip()
        unknown = _unknown_keys(node, _INSTANCE_KEYS)
        location = f"{self.file_name}#{path}"
        if "value" in node:
            return ValueInstance(
                id=instance_id,
                value=self.expression(node["value"], f"{path}/value"),
                location=location,
                doc=doc,
                original_id=node.get("-orig-id"),
                condition=self.optional(node.get("if"), f"{path}/if"),
                enum=node.get("enum"),
                unknown_keys=unknown,
                key_order=_key_order(node),
            )
        if "pos" not in node:
            raise self.fail(path, "an instance needs value or pos")
        return PeekInstance(
            id=instance_id,
            position=self.expression(node["pos"], f"{path}/pos"),
            type=self.field_type(node, path),
            location=location,
            doc=doc,
            original_id=node.get("-orig-id"),
            valid=self.valid(node.get("valid"), f"{path}/valid"),
            enum=node.get("enum"),
            unknown_keys=unknown,
            key_order=_key_order(node),
        )

    def field_type(self, node: Mapping[str, Any], path: str) -> FieldType:
        size = self.optional(node.get("size"), f"{path}/size")
        size_eos = bool(node.get("size-eos", False))
        kind = node.get("type")
        if kind is None:
            if size is None and not size_eos:
                raise self.fail(path, "a field without type needs size or size-eos")
            return BytesType(size)
        if isinstance(kind, dict):
            return SwitchType(
                on=self.expression(kind.get("switch-on"), f"{path}/type/switch-on"),
                cases=tuple(
                    (self.case(key, path), self.reference(str(value), path))
                    for key, value in self.mapping(kind.get("cases"), f"{path}/type/cases").items()
                ),
                size=size,
                size_eos=size_eos,
            )
        if match := _INTEGER.fullmatch(str(kind)):
            return IntegerType(size=int(match[2]), signed=match[1] == "s")
        if match := _BITS.fullmatch(str(kind)):
            return BitsType(width=int(match[1]))
        return self.reference(str(kind), path, size=size, size_eos=size_eos)

    def case(self, key: object, path: str) -> int | None:
        if key == "_":
            return None
        if isinstance(key, int):
            return key
        raise self.fail(f"{path}/type/cases", f"a case is an integer or _, not {key!r}")

    def reference(
        self, text: str, path: str, *, size: ex.Expression | None = None, size_eos: bool = False
    ) -> TypeReference:
        match = _REFERENCE.fullmatch(text.strip())
        if match is None:
            raise self.fail(f"{path}/type", f"cannot read the type {text!r}")
        arguments = tuple(
            self.expression(part.strip(), f"{path}/type")
            for part in (match[3].split(",") if match[3] else ())
        )
        return TypeReference(
            spec_id=match[1] or self.spec_id,
            name=match[2],
            arguments=arguments,
            size=size,
            size_eos=size_eos,
        )

    def valid(self, node: object, path: str) -> Valid | None:
        if node is None:
            return None
        if not isinstance(node, dict):
            return Valid(equal=self.expression(node, path))
        readers: dict[str, Callable[[Any], dict[str, Any]]] = {
            "eq": lambda value: {"equal": self.expression(value, path)},
            "min": lambda value: {"minimum": self.expression(value, path)},
            "max": lambda value: {"maximum": self.expression(value, path)},
            "expr": lambda value: {"expression": self.expression(value, path)},
            "any-of": lambda value: {"any_of": tuple(self.expression(v, path) for v in value)},
            "in-enum": lambda value: {"in_enum": bool(value)},
        }
        parts: dict[str, Any] = {}
        for key, value in node.items():
            if key not in readers:
                raise self.fail(path, f"valid has no part {key}")
            parts |= readers[key](value)
        return Valid(**parts)

    def repeat(self, node: Mapping[str, Any], path: str) -> Repeat | None:
        match node.get("repeat"):
            case None:
                return None
            case "eos":
                return Repeat(eos=True)
            case "expr":
                return Repeat(count=self.expression(node.get("repeat-expr"), f"{path}/repeat-expr"))
            case "until":
                until = self.expression(node.get("repeat-until"), f"{path}/repeat-until")
                return Repeat(until=until)
            case other:
                raise self.fail(f"{path}/repeat", f"must be eos, expr or until, not {other!r}")

    def enum(self, name: str, item: object) -> Enum:
        path = f"/enums/{name}"
        values = []
        for value, node in self.mapping(item, path).items():
            entry = node if isinstance(node, dict) else {"id": node}
            doc = str(entry.get("doc", "")).strip()
            unknown = _unknown_keys(entry, _ENUM_VALUE_KEYS)
            values.append(EnumValue(int(value), str(entry["id"]), doc, unknown))
        return Enum(
            id=name,
            values=tuple(values),
            spec_id=self.spec_id,
            location=f"{self.file_name}#{path}",
        )


def _derive_of(node: object, location: str) -> Derive | None:
    """What ``-derive`` says, None where it is not there."""
    if node is None:
        return None
    match = _DERIVE.fullmatch(str(node))
    if match is None or match[1] not in list(DeriveFunction) or (match[4] and not match[3]):
        functions = ", ".join(DeriveFunction)
        raise SpecError(
            location,
            f"cannot read {node!r}; write f(x), f(x..) or f(x..y), + a number if need be, "
            f"with f one of {functions}",
        )
    return Derive(
        function=DeriveFunction(match[1]),
        first=match[2],
        last=match[4],
        open_end=bool(match[3]) and not match[4],
        plus=int(match[5] or 0),
    )


def _default_of(node: Mapping[str, Any], location: str) -> Default | None:
    """What ``-default`` says, None where it is not there."""
    if "-default" not in node:
        return None
    text = node["-default"]
    if text == "null":
        return Default(None)
    if text == "[]":
        return Default(())
    try:
        return Default(int(str(text), 0))
    except ValueError:
        raise SpecError(
            location, f"must be a quoted integer, 'null' or '[]', not {text!r}"
        ) from None


def _strings(node: object) -> tuple[str, ...]:
    """One string or a list of them."""
    if node is None:
        return ()
    return tuple(str(item) for item in node) if isinstance(node, list) else (str(node),)


def _unknown_keys(node: Iterable[str], known: set[str]) -> tuple[str, ...]:
    """Keys that are not known, in the order of the file."""
    return tuple(str(key) for key in node if key not in known)


def _key_order(node: Iterable[str]) -> tuple[str, ...]:
    """All keys, in the order of the file."""
    return tuple(str(key) for key in node)
