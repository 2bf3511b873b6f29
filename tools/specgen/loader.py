"""Read ``.ksy`` files into the model; nothing else in the repository reads their YAML.

The loader is lenient about style, which is the linter's business, and strict about everything
that the model cannot express: that is a ``SpecError`` with file and path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

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
_NUMBER = re.compile(r"-?(0[xX][0-9a-fA-F]{1,20}|0|[1-9][0-9]{0,30})")
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
    """The specification cannot be read; the message has file, path, problem and remedy."""

    def __init__(self, location: str, message: str) -> None:
        super().__init__(f"{location}: {message}")
        self.location = location
        self.message = message


def load(directory: Path) -> Model:
    """Return the model of every ``.ksy`` file in ``directory``.

    Raises:
        SpecError: a file cannot be read, or refers to something that does not exist.
    """
    specs = tuple(load_file(path) for path in sorted(directory.glob("*.ksy")))
    if not specs:
        raise SpecError(directory.name, "no .ksy file here")
    return join(specs)


def load_file(path: Path) -> Spec:
    """Return one specification whose references are not yet checked."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise SpecError(
            path.name, f"byte {error.start} is not UTF-8; save the file as UTF-8"
        ) from None
    except OSError as error:
        raise SpecError(path.name, f"cannot be read: {error.strerror}") from None
    try:
        document = yaml.load(text, _Yaml)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        problem = error.problem or error.context
        raise SpecError(path.name, f"not valid YAML: {line}{problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        problem = str(error).splitlines()[0]
        raise SpecError(path.name, f"not valid YAML: {problem}") from None
    except RecursionError:
        raise SpecError(path.name, "nested too deeply; write fewer levels") from None
    return read_spec(path.name, document)


def read_spec(file_name: str, document: object) -> Spec:
    """Return one specification from its loaded YAML; its references are not yet checked."""
    top = _Node(file_name, "", document)
    meta = top.child("meta")
    spec_id = file_name.removesuffix(".ksy")
    if meta.content.get("id") != spec_id:
        raise meta.fail(f"must be {spec_id}, the name of the file", "id")
    reader = _FileReader(file_name, spec_id)
    root = reader.type(spec_id, top)
    types = [reader.type(name, node) for name, node in top.named("types")]
    if spec_id in {type_.name for type_ in types}:
        raise top.fail(f"{spec_id} is the name of the file; rename the type", f"types/{spec_id}")
    version = meta.content.get("ks-version")
    return Spec(
        id=spec_id,
        file_name=file_name,
        title=meta.text("title"),
        types=(root, *types),
        enums=tuple(reader.enum(name, node) for name, node in top.named("enums")),
        imports=meta.texts("imports"),
        doc=root.doc,
        doc_refs=root.doc_refs,
        file_extensions=meta.texts("file-extension"),
        license=meta.text("license"),
        endian=meta.text("endian"),
        bit_endian=meta.text("bit-endian"),
        ks_version=version if isinstance(version, str) else "",
        unknown_keys=top.unknown(_SPEC_KEYS) + meta.unknown(_META_KEYS),
        meta_order=meta.keys,
    )


def join(specs: tuple[Spec, ...]) -> Model:
    """Return the model of several specifications.

    Raises:
        SpecError: one of them refers to something that does not exist, or imports itself.
    """
    model = Model(specs)
    imports = {spec.id: spec.imports for spec in specs}
    for spec in specs:
        for name in spec.imports:
            if name not in imports:
                raise SpecError(f"{spec.file_name}#/meta/imports", f"no file {name}.ksy")
    for spec in specs:
        _check_circle(spec, imports)
        for type_ in spec.types:
            for parameter in type_.parameters:
                if isinstance(parameter.type, TypeReference):
                    _check_reference(model, spec, type_.location, parameter.type, count=False)
            for field in type_.fields:
                for reference in references(field.type):
                    _check_reference(model, spec, field.location, reference)
    return model


def _check_circle(spec: Spec, imports: Mapping[str, tuple[str, ...]]) -> None:
    seen: set[str] = set()
    pending = list(spec.imports)
    while pending:
        name = pending.pop()
        if name == spec.id:
            raise SpecError(
                f"{spec.file_name}#/meta/imports",
                f"{spec.id} imports itself, perhaps through others; move the types that both need "
                "to a file of their own",
            )
        if name not in seen:
            seen.add(name)
            pending += imports[name]


def _check_reference(
    model: Model, spec: Spec, location: str, reference: TypeReference, *, count: bool = True
) -> None:
    if reference.spec_id != spec.id and reference.spec_id not in spec.imports:
        raise SpecError(location, f"{reference.spec_id} is not in meta/imports")
    if not model.has_type(reference):
        raise SpecError(location, f"no type {reference.spec_id}::{reference.name}")
    expected = len(model.type(reference).parameters) if count else 0
    if len(reference.arguments) != expected:
        raise SpecError(
            location,
            f"{reference.name} takes {expected} parameters, not {len(reference.arguments)}",
        )


class _Yaml(yaml.SafeLoader):
    """YAML without features that the specification does not need or that hide mistakes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="no aliases; write it out", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int):
                raise yaml.MarkedYAMLError(
                    problem="a key is text or a number", problem_mark=key_node.start_mark
                )
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key} is here twice; leave one of them out",
                    problem_mark=key_node.start_mark,
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


class _Node:
    """A mapping of the file and its path; reading a value of another shape is a ``SpecError``."""

    def __init__(self, file_name: str, path: str, content: object) -> None:
        self.file_name, self.path = file_name, path
        if not isinstance(content, dict):
            raise self.fail("expected a mapping")
        self.content: Mapping[Any, Any] = content
        for key in content:
            if not isinstance(key, str | int):
                raise self.fail(f"{key!r} is not a key; write text or a number")

    @property
    def location(self) -> str:
        """Place of the node, ``recordbatch.ksy#/types/record/seq/3``."""
        return f"{self.file_name}#{self.path or '/'}"

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys, in the order of the file."""
        return tuple(str(key) for key in self.content)

    def fail(self, message: str, key: str = "") -> SpecError:
        """Return an error at the node, or at the value of a key."""
        below = f"{self.path}/{key}" if key else self.path or "/"
        return SpecError(f"{self.file_name}#{below}", message)

    def unknown(self, known: set[str]) -> tuple[str, ...]:
        """Return the unknown keys, in the order of the file."""
        return tuple(key for key in self.keys if key not in known)

    def child(self, key: str) -> Self:
        """Return the mapping under a key."""
        return type(self)(self.file_name, f"{self.path}/{key}", self.content.get(key))

    def named(self, key: str) -> list[tuple[str, _Node]]:
        """Yield the mappings under a key with their names; none if there is no such key."""
        if self.content.get(key) is None:
            return []
        found = self.child(key)
        for name in found.content:
            if not isinstance(name, str):
                raise found.fail(f"{name!r} is no id; write lower_case words joined by _")
        return [(name, found.child(name)) for name in found.content]

    def nodes(self, key: str) -> list[_Node]:
        """Return the list of mappings under a key, empty if there is no such key."""
        found = self.content.get(key)
        if not isinstance(found, list | None):
            raise self.fail("expected a list", key)
        return [
            _Node(self.file_name, f"{self.path}/{key}/{i}", item)
            for i, item in enumerate(found or ())
        ]

    def optional_text(self, key: str) -> str | None:
        """Return the text under a key, None if there is no such key."""
        found = self.content.get(key)
        if not isinstance(found, str | None):
            raise self.fail(f"expected text, not {found!r}", key)
        return found

    def text(self, key: str) -> str:
        """Return the text under a key, empty if there is no such key."""
        return (self.optional_text(key) or "").strip()

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the texts under a key: one, or a list of them."""
        found = self.content.get(key)
        items = found if isinstance(found, list) else [] if found is None else [found]
        for item in items:
            if not isinstance(item, str):
                raise self.fail(f"expected text or a list of it, not {item!r}", key)
        return tuple(items)

    def flag(self, key: str) -> bool:
        """Return the truth value under a key, False if there is no such key."""
        found = self.content.get(key, False)
        if not isinstance(found, bool):
            raise self.fail(f"expected true or false, not {found!r}", key)
        return found

    def parse(self, node: object, key: str) -> ex.Expression:
        """Return the expression of a node; errors name the key."""
        if isinstance(node, bool):
            return ex.Bool(node)
        if not isinstance(node, str | int):
            raise self.fail(f"expected an expression, not {node!r}", key)
        try:
            parsed = ex.parse(str(node))
        except ValueError as error:
            raise self.fail(str(error), key) from None
        for part in ex.walk(parsed):
            if isinstance(part, ex.Int) and part.value >= 1 << 64:
                raise self.fail(f"{part.value} does not fit 64 bits; write a smaller one", key)
        return parsed

    def expression(self, key: str) -> ex.Expression | None:
        """Return the expression under a key, None if there is no such key."""
        found = self.content.get(key)
        return None if found is None else self.parse(found, key)

    def needed_expression(self, key: str) -> ex.Expression:
        """Return the expression under a key."""
        return self.parse(self.content.get(key), key)

    def number(self, value: object, what: str, key: str = "") -> int:
        """Return a number that fits 64 bits."""
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.fail(f"{what}, not {value!r}", key)
        if not -(1 << 63) <= value < 1 << 64:
            raise self.fail(f"{value} does not fit 64 bits; write a smaller one", key)
        return value


class _FileReader:
    """Reader of the types of one file."""

    def __init__(self, file_name: str, spec_id: str) -> None:
        self.file_name = file_name
        self.spec_id = spec_id

    def type(self, name: str, node: _Node) -> Type:
        scalar = node.optional_text("-scalar")
        if scalar is not None and scalar not in list(Scalar):
            raise node.fail(f"must be one of {', '.join(Scalar)}", "-scalar")
        instances = [self.instance(name, item) for name, item in node.named("instances")]
        return Type(
            name=name,
            spec_id=self.spec_id,
            location=node.location,
            fields=tuple(self.field(item) for item in node.nodes("seq")),
            doc=node.text("doc"),
            doc_refs=node.texts("doc-ref"),
            original_id=node.optional_text("-orig-id"),
            scalar=Scalar(scalar) if scalar else None,
            representation=node.optional_text("-webide-representation"),
            parameters=tuple(self.parameter(item) for item in node.nodes("params")),
            value_instances=tuple(i for i in instances if isinstance(i, ValueInstance)),
            peek_instances=tuple(i for i in instances if isinstance(i, PeekInstance)),
            unknown_keys=node.unknown(_TYPE_KEYS) if node.path else (),
            key_order=node.keys,
        )

    def id_of(self, node: _Node, what: str) -> str:
        found = node.content.get("id")
        if not isinstance(found, str):
            raise node.fail(f"{what} needs an id")
        return found

    def parameter(self, node: _Node) -> Parameter:
        kind = self.field_type(node)
        if not isinstance(kind, IntegerType | TypeReference):
            raise node.fail("a parameter is an integer or a structure")
        return Parameter(
            id=self.id_of(node, "a parameter"),
            type=kind,
            doc=node.text("doc"),
            unknown_keys=node.unknown(_PARAMETER_KEYS),
            key_order=node.keys,
        )

    def field(self, node: _Node) -> Field:
        return Field(
            id=self.id_of(node, "a field"),
            type=self.field_type(node),
            location=node.location,
            doc=node.text("doc"),
            original_id=node.optional_text("-orig-id"),
            enum=node.optional_text("enum"),
            valid=self.valid(node),
            repeat=self.repeat(node),
            condition=node.expression("if"),
            derive=_derive_of(node),
            default=_default_of(node),
            process=node.optional_text("process"),
            unknown_keys=node.unknown(_FIELD_KEYS),
            key_order=node.keys,
        )

    def instance(self, instance_id: str, node: _Node) -> ValueInstance | PeekInstance:
        common: dict[str, Any] = {
            "id": instance_id,
            "location": node.location,
            "doc": node.text("doc"),
            "original_id": node.optional_text("-orig-id"),
            "enum": node.optional_text("enum"),
            "unknown_keys": node.unknown(_INSTANCE_KEYS),
            "key_order": node.keys,
        }
        condition = node.expression("if")
        if "value" in node.content:
            if misplaced := sorted({"pos", "type", "valid"} & set(node.keys)):
                raise node.fail(f"value and {misplaced[0]} exclude each other; leave one out")
            return ValueInstance(
                value=node.needed_expression("value"), condition=condition, **common
            )
        if "pos" not in node.content:
            raise node.fail("an instance needs value or pos")
        if condition is not None:
            raise node.fail("a field that is read ahead is always present; leave it out", "if")
        return PeekInstance(
            position=node.needed_expression("pos"),
            type=self.field_type(node),
            valid=self.valid(node),
            **common,
        )

    def field_type(self, node: _Node) -> FieldType:
        size = node.expression("size")
        size_eos = node.flag("size-eos")
        kind = node.content.get("type")
        if size is not None and size_eos:
            raise node.fail("size and size-eos exclude each other; leave one out")
        if kind is None:
            if size is None and not size_eos:
                raise node.fail("a field without type needs size or size-eos")
            return BytesType(size)
        if isinstance(kind, dict):
            return self.switch(node.child("type"), size, size_eos=size_eos)
        text = node.text("type")
        if match := _INTEGER.fullmatch(text):
            found: FieldType = IntegerType(size=int(match[2]), signed=match[1] == "s")
        elif match := _BITS.fullmatch(text):
            found = BitsType(width=int(match[1]))
        else:
            return self.reference(node, text, size=size, size_eos=size_eos)
        if size is not None or size_eos:
            raise node.fail(f"{text} has a fixed size; leave size and size-eos out")
        return found

    def switch(self, node: _Node, size: ex.Expression | None, *, size_eos: bool) -> SwitchType:
        if unknown := node.unknown({"switch-on", "cases"}):
            raise node.fail(f"unknown key {unknown[0]}; the keys are switch-on and cases")
        cases = node.child("cases")
        if not cases.content:
            raise cases.fail("there is no case; write one")
        for key in cases.content:
            if key != "_":
                cases.number(key, "a case is an integer or _")
        return SwitchType(
            on=node.needed_expression("switch-on"),
            cases=tuple(
                (None if key == "_" else key, self.reference(cases, value))
                for key, value in cases.content.items()
            ),
            size=size,
            size_eos=size_eos,
        )

    def reference(
        self,
        node: _Node,
        text: object,
        *,
        size: ex.Expression | None = None,
        size_eos: bool = False,
    ) -> TypeReference:
        match = _REFERENCE.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is None:
            raise node.fail(f"cannot read the type {text!r}", "type")
        arguments = match[3].split(",") if match[3] else ()
        return TypeReference(
            spec_id=match[1] or self.spec_id,
            name=match[2],
            arguments=tuple(node.parse(part.strip(), "type") for part in arguments),
            size=size,
            size_eos=size_eos,
        )

    def valid(self, node: _Node) -> Valid | None:
        given = node.content.get("valid")
        if given is None:
            return None
        if not isinstance(given, dict):
            return Valid(equal=node.parse(given, "valid"))
        names = {"eq": "equal", "min": "minimum", "max": "maximum", "expr": "expression"}
        parts: dict[str, Any] = {}
        for key, value in given.items():
            if key in names:
                parts[names[key]] = node.parse(value, "valid")
            elif key == "any-of" and isinstance(value, list) and value:
                parts["any_of"] = tuple(node.parse(item, "valid") for item in value)
            elif key == "in-enum" and value is True:
                parts["in_enum"] = True
            elif key in ("any-of", "in-enum"):
                raise node.fail(f"{key} must be a list of values, or true for in-enum", "valid")
            else:
                raise node.fail(f"valid has no part {key}", "valid")
        if not parts:
            raise node.fail("valid demands nothing; leave it out", "valid")
        return Valid(**parts)

    def repeat(self, node: _Node) -> Repeat | None:
        kind = node.optional_text("repeat")
        for key in ("expr", "until"):
            if kind != key and f"repeat-{key}" in node.content:
                raise node.fail(f"repeat-{key} belongs to repeat: {key}; leave it out")
        match kind:
            case None:
                return None
            case "eos":
                return Repeat(eos=True)
            case "expr":
                return Repeat(count=node.needed_expression("repeat-expr"))
            case "until":
                return Repeat(until=node.needed_expression("repeat-until"))
        raise node.fail(f"must be eos, expr or until, not {kind!r}", "repeat")

    def enum(self, name: str, node: _Node) -> Enum:
        values = []
        for value, given in node.content.items():
            node.number(value, "a value of an enum is an integer")
            content = given if isinstance(given, dict) else {"id": given}
            entry = _Node(self.file_name, f"{node.path}/{value}", content)
            entry_id = self.id_of(entry, "a value of an enum")
            values.append(
                EnumValue(value, entry_id, entry.text("doc"), entry.unknown(_ENUM_VALUE_KEYS))
            )
        if not values:
            raise node.fail("an enum without values; leave it out")
        return Enum(id=name, values=tuple(values), spec_id=self.spec_id, location=node.location)


def _derive_of(node: _Node) -> Derive | None:
    text = node.optional_text("-derive")
    if text is None:
        return None
    match = _DERIVE.fullmatch(text)
    if match is None or match[1] not in list(DeriveFunction) or (match[4] and not match[3]):
        functions = ", ".join(DeriveFunction)
        raise node.fail(
            f"cannot read {text!r}; write f(x), f(x..) or f(x..y), + a number if need be, "
            f"with f one of {functions}",
            "-derive",
        )
    return Derive(
        function=DeriveFunction(match[1]),
        first=match[2],
        last=match[4],
        open_end=bool(match[3]) and not match[4],
        plus=node.number(int(match[5] or 0), "a number", "-derive"),
    )


def _default_of(node: _Node) -> Default | None:
    if "-default" not in node.content:
        return None
    text = node.content["-default"]
    if text == "null":
        return Default(None)
    if text == "[]":
        return Default(())
    if isinstance(text, str) and _NUMBER.fullmatch(text):
        return Default(node.number(int(text, 0), "a number", "-default"))
    raise node.fail(f"must be a quoted integer, 'null' or '[]', not {text!r}", "-default")
