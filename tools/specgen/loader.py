"""Read ``.ksy`` files into the model.

The loader is lenient about style, which is the linter's business, and strict about everything
that the model cannot express: that is a ``SpecError`` with file and path.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any, TypeVar

from tools.specgen import expression as ex
from tools.specgen.dead_letters import dead_letters_of
from tools.specgen.document import Node, SpecError, file_text, parsed
from tools.specgen.facts.fields import references
from tools.specgen.house import NONE, House, house_of
from tools.specgen.model import (
    MESSAGES,
    BitsType,
    BytesType,
    Default,
    Derive,
    DeriveFunction,
    Enum,
    EnumValue,
    Field,
    FieldType,
    FloatType,
    IntegerType,
    MadeFrom,
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
    reachable,
)
from tools.specgen.texts import texts_of

_Checked = TypeVar("_Checked", Field, PeekInstance)
_INTEGER = re.compile(r"([us])([1248])(be|le)?")
_FLOAT = re.compile(r"f([48])(be|le)?")
_BITS = re.compile(r"b([1-9][0-9]?)(be)?")
_DERIVE = re.compile(r"([a-z0-9]+)\(([a-z0-9_]+)(\.\.)?([a-z0-9_]+)?\)(?:\s*\+\s*(\d+))?")
_FROM = re.compile(r"largest\(([a-z0-9_.]+)\)|([a-z0-9_]+)")
_RELEASES = re.compile(r"(\d+\.\d+)\.\.(\d+\.\d+)")
_SPAN_OF_NUMBERS = re.compile(r"([0-9]{1,9})\.\.([0-9]{1,9})")
_RELEASE = re.compile(r"\d+\.\d+")
_NUMBER = re.compile(r"-?(0[xX][0-9a-fA-F]{1,20}|0|[1-9][0-9]{0,30})")
_ABSENT = {
    "contents": "write a type of integer and valid: with its value",
    "str": "text is bytes: leave type and encoding out",
    "strz": "write a size before it: a field with -derive: len(...), and bytes of that size",
    "terminator": "write a size before it: a field with -derive: len(...), and bytes of that size",
    "encoding": "text is bytes: leave it out",
}
"""Parts of Kaitai Struct that the language does not have, and what to write instead."""
_EMPTY = " and _.length == 0"
"""True of an empty field, so left out here; Go demands that ``valid: expr`` mentions the value."""
_REFERENCE = re.compile(r"(?:([a-z0-9_]+)::)?([a-z0-9_]+)(?:\((.*)\))?", re.DOTALL)


def spec_files(directory: Path) -> dict[str, Path]:
    """Return every ``.ksy`` file in a directory and its sub-folders, by its relative path.

    They are in the order of their ids, whatever folder each is in.
    """
    files = sorted(directory.rglob("*.ksy"), key=lambda path: (path.stem, path))
    return {path.relative_to(directory).as_posix(): path for path in files}


def load(directory: Path, house: House | None = None) -> Model:
    """Return the model of every ``.ksy`` file in ``directory`` and its sub-folders.

    Args:
        directory: the folder.
        house: options in place of those in the folder.

    Raises:
        SpecError: a file cannot be read, or refers to something that does not exist.
    """
    house = house_of(directory) if house is None else house
    files = spec_files(directory)
    specs = tuple(load_file(path, name, house.messages) for name, path in files.items())
    if not specs:
        raise SpecError(directory.name, "no .ksy file here; name the directory that has them")
    return replace(
        join(specs, house), texts=texts_of(directory), dead_letters=dead_letters_of(directory)
    )


def load_file(path: Path, name: str, messages: str = MESSAGES) -> Spec:
    """Return one specification whose references are not yet checked; ``name`` is its place."""
    return _read(name, file_text(path, name), messages)


@lru_cache(maxsize=1024)  # tests change one file of many, again and again
def _read(name: str, text: str, messages: str) -> Spec:
    return read_spec(name, parsed(name, text), messages)


def read_spec(file_name: str, document: object, messages: str = MESSAGES) -> Spec:
    """Return one specification from its loaded YAML; its references are not yet checked.

    Args:
        file_name: path from the directory of the specification, with slashes.
        document: what YAML makes of the file.
        messages: folder of the house whose files are messages in records.
    """
    if document is None:
        raise SpecError(file_name, "the file is empty; write meta, doc and seq, or remove it")
    top = Node(file_name, "", document)
    meta = top.child("meta")
    spec_id = PurePosixPath(file_name).stem
    if meta.content.get("id") != spec_id:
        raise meta.fail(f"must be {spec_id}, the name of the file", "id")
    endian = meta.text("endian")
    if endian not in ("", "be", "le"):
        raise meta.fail(f"{ex.shown(endian)} is not an order of bytes; write be or le", "endian")
    reader = _FileReader(file_name, spec_id, little=endian == "le")
    root = reader.type(spec_id, top)
    types = [reader.type(name, node) for name, node in top.named("types")]
    if spec_id in {type_.name for type_ in types}:
        raise top.fail(f"{spec_id} is the name of the file; rename the type", f"types/{spec_id}")
    version = meta.content.get("ks-version")
    return Spec(
        id=spec_id,
        file_name=file_name,
        title=meta.text("title") or spec_id,
        types=(root, *types),
        enums=tuple(reader.enum(name, node) for name, node in top.named("enums")),
        import_paths=meta.texts("imports"),
        doc=root.doc,
        doc_refs=root.doc_refs,
        file_extensions=meta.texts("file-extension"),
        license=meta.text("license"),
        endian=endian,
        bit_endian=meta.text("bit-endian"),
        ks_version=version if isinstance(version, str) else "",
        meta_order=meta.keys,
        releases=_releases_of(top),
        since=_since_of(top),
        messages=messages,
        identity=None if (text := top.optional_text("-identity")) is None else tuple(text.split()),
    )


def join(specs: tuple[Spec, ...], house: House | None = None) -> Model:
    """Return the model of several specifications.

    Raises:
        SpecError: one of them refers to something that does not exist, or imports itself.
    """
    specs = _with_members(specs)
    model = Model(specs, house or NONE)
    files: dict[str, str] = {}
    for spec in specs:
        other = files.setdefault(spec.id, spec.file_name)
        if other != spec.file_name:
            raise SpecError(spec.file_name, f"{other} has the same id; rename one of them")
    imports = {spec.id: spec.imports for spec in specs}
    for spec in specs:
        folder = PurePosixPath(spec.file_name).parent
        for path in spec.import_paths:
            file = normpath(folder / f"{path}.ksy")
            if file not in files.values():
                message = f"no file {file}; write the path from here to another file"
                raise SpecError(f"{spec.file_name}#/meta/imports", message)
    for spec in specs:
        if spec.id in reachable(spec.id, imports.__getitem__):
            raise SpecError(
                f"{spec.file_name}#/meta/imports",
                f"{spec.id} imports itself, perhaps through others; move the types that both need "
                "to a separate file",
            )
        for type_ in spec.types:
            for parameter in type_.parameters:
                if isinstance(parameter.type, TypeReference):
                    _check_reference(model, spec, type_.location, parameter.type, count=False)
            for field in type_.fields:
                for reference in references(field.type):
                    _check_reference(model, spec, field.location, reference)
    return model


def _with_members(specs: tuple[Spec, ...]) -> tuple[Spec, ...]:
    """Return the specifications with the values that each ``in-enum`` allows as ``any-of``."""
    enums = {enum.key: enum for spec in specs for enum in spec.enums}

    def listed(node: _Checked) -> _Checked:
        if node.valid is None or not node.valid.in_enum or node.enum not in enums:
            return node
        values = tuple(ex.Int(value.value) for value in enums[node.enum].values)
        return replace(node, valid=replace(node.valid, any_of=values))

    def of_type(type_: Type) -> Type:
        nodes: list[Field | PeekInstance] = [*type_.fields, *type_.peek_instances]
        if not any(node.valid and node.valid.in_enum for node in nodes):
            return type_
        return replace(
            type_,
            fields=tuple(map(listed, type_.fields)),
            peek_instances=tuple(map(listed, type_.peek_instances)),
        )

    return tuple(
        replace(spec, types=types)
        if (types := tuple(map(of_type, spec.types))) != spec.types
        else spec
        for spec in specs
    )


def _check_reference(
    model: Model, spec: Spec, location: str, reference: TypeReference, *, count: bool = True
) -> None:
    if reference.spec_id != spec.id and reference.spec_id not in spec.imports:
        raise SpecError(location, f"{reference.spec_id} is not in meta/imports; write it there")
    if not model.has_type(reference):
        known = "u1 to s8, b1 to b64, f4, f8 or an id"
        message = f"no type {reference.spec_id}::{reference.name}; write {known}"
        raise SpecError(location, message)
    expected = len(model.type(reference).parameters) if count else 0
    if len(reference.arguments) != expected:
        raise SpecError(
            location,
            f"{reference.name} takes {expected} parameters, not {len(reference.arguments)}; "
            "write one argument for each",
        )


class _FileReader:
    """Reader of the types of one file."""

    def __init__(self, file_name: str, spec_id: str, *, little: bool) -> None:
        self.file_name = file_name
        self.spec_id = spec_id
        self.little = little

    def type(self, name: str, node: Node) -> Type:
        scalar = node.optional_text("-scalar")
        if scalar is not None and scalar not in list(Scalar):
            raise node.fail(f"must be one of {', '.join(Scalar)}", "-scalar")
        instances = [self.instance(name, item) for name, item in node.named("instances")]
        return Type(
            name=name,
            spec_id=self.spec_id,
            fields=tuple(self.field(item) for item in node.nodes("seq")),
            doc_refs=node.texts("doc-ref"),
            scalar=Scalar(scalar) if scalar else None,
            representation=node.optional_text("-webide-representation"),
            suffix=node.optional_text("-suffix"),
            parameters=tuple(self.parameter(item) for item in node.nodes("params")),
            value_instances=tuple(i for i in instances if isinstance(i, ValueInstance)),
            peek_instances=tuple(i for i in instances if isinstance(i, PeekInstance)),
            **node.described(),
        )

    def parameter(self, node: Node) -> Parameter:
        kind = self.field_type(node)
        if not isinstance(kind, IntegerType | TypeReference):
            raise node.fail("a parameter is an integer or a structure; write its type")
        return Parameter(id=node.id("a parameter"), type=kind, **node.described())

    def field(self, node: Node) -> Field:
        return Field(
            id=node.id("a field"),
            type=self.field_type(node),
            enum=self.enum_key(node),
            valid=self.valid(node),
            repeat=self.repeat(node),
            condition=node.expression("if"),
            derive=_derive_of(node),
            default=_default_of(node),
            ascending=node.optional_text("-ascending"),
            known=_known_of(node),
            offsets=node.optional_text("-offsets"),
            made_from=_made_from(node),
            process=node.optional_text("process"),
            **node.described(),
        )

    def instance(self, instance_id: str, node: Node) -> ValueInstance | PeekInstance:
        common = {"id": instance_id, "enum": self.enum_key(node), **node.described()}
        condition = node.expression("if")
        if "value" in node.content:
            if misplaced := sorted({"pos", "type", "valid"} & set(node.keys)):
                raise node.fail(f"value and {misplaced[0]} exclude each other; leave one out")
            return ValueInstance(
                value=node.needed_expression("value"), condition=condition, **common
            )
        if "pos" not in node.content:
            raise node.fail("an instance needs value or pos; write one of them")
        if condition is not None:
            raise node.fail("a field that is read ahead is always present; leave it out", "if")
        return PeekInstance(
            position=node.needed_expression("pos"),
            type=self.field_type(node),
            valid=self.valid(node),
            **common,
        )

    def field_type(self, node: Node) -> FieldType:
        size = node.expression("size")
        size_eos = node.flag("size-eos")
        kind = node.content.get("type")
        if size is not None and size_eos:
            raise node.fail("size and size-eos exclude each other; leave one out")
        for key, remedy in _ABSENT.items():
            if key in node.content or (key in ("str", "strz") and kind == key):
                raise node.fail(f"the language has no {key}; {remedy}")
        if kind is None:
            if size is None and not size_eos:
                raise node.fail("a field without type needs size or size-eos; write one of them")
            return BytesType(size)
        if isinstance(kind, dict):
            return self.switch(node.child("type"), size, size_eos=size_eos)
        text = node.text("type")
        if match := _INTEGER.fullmatch(text):
            width = int(match[2])
            little = width > 1 and self._is_little(match[3])
            found: FieldType = IntegerType(width, signed=match[1] == "s", little=little)
        elif match := _FLOAT.fullmatch(text):
            found = FloatType(int(match[1]), little=self._is_little(match[2]))
        elif match := _BITS.fullmatch(text):
            found = BitsType(width=int(match[1]))
        else:
            return self.reference(node, text, size=size, size_eos=size_eos)
        if size is not None or size_eos:
            raise node.fail(f"{text} has a fixed size; leave size and size-eos out")
        return found

    def _is_little(self, suffix: str | None) -> bool:
        return suffix == "le" if suffix else self.little

    def switch(self, node: Node, size: ex.Expression | None, *, size_eos: bool) -> SwitchType:
        if unknown := sorted(set(node.keys) - {"switch-on", "cases"}):
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
        node: Node,
        text: object,
        *,
        size: ex.Expression | None = None,
        size_eos: bool = False,
    ) -> TypeReference:
        match = _REFERENCE.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is None:
            raise node.fail(f"cannot read the type {ex.shown(text)}; write its id", "type")
        arguments = match[3].split(",") if match[3] else ()
        return TypeReference(
            spec_id=match[1] or self.spec_id,
            name=match[2],
            arguments=tuple(node.parse(part.strip(), "type") for part in arguments),
            size=size,
            size_eos=size_eos,
        )

    def valid(self, node: Node) -> Valid | None:
        given = node.content.get("valid")
        if given is None:
            return None
        if not isinstance(given, dict):
            return Valid(equal=node.parse(given, "valid"))
        names = {"eq": "equal", "min": "minimum", "max": "maximum", "expr": "expression"}
        parts: dict[str, Any] = {}
        for key, value in given.items():
            if key == "expr" and node.content.get("size") == 0:
                value = str(value).removesuffix(_EMPTY)
            if key in names:
                parts[names[key]] = node.parse(value, "valid")
            elif key == "any-of" and isinstance(value, list) and value:
                parts["any_of"] = tuple(node.parse(item, "valid") for item in value)
            elif key == "in-enum" and value is True:
                parts["in_enum"] = True
            elif key in ("any-of", "in-enum"):
                raise node.fail(f"{key} must be a list of values, or true for in-enum", "valid")
            else:
                parts_of = "eq, min, max, any-of, expr and in-enum"
                raise node.fail(f"valid has no part {key}; the parts are {parts_of}", "valid")
        if {"any_of", "in_enum"} <= parts.keys():
            raise node.fail("any-of and in-enum exclude each other; leave one out", "valid")
        if not parts:
            raise node.fail("valid demands nothing; leave it out", "valid")
        return Valid(**parts)

    def repeat(self, node: Node) -> Repeat | None:
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
        raise node.fail(f"must be eos, expr or until, not {ex.shown(kind)}", "repeat")

    def enum_key(self, node: Node) -> str | None:
        """Return the key of the enumeration of a field: ``color`` or ``other_file::color``."""
        text = node.optional_text("enum")
        if text is None:
            return None
        file, inside, name = text.rpartition("::")
        return f"{file if inside else self.spec_id}.{name}"

    def enum(self, name: str, node: Node) -> Enum:
        values = []
        for value, given in node.content.items():
            node.number(value, "a value of an enum is an integer")
            content = given if isinstance(given, dict) else {"id": given}
            entry = Node(self.file_name, f"{node.path}/{value}", content)
            values.append(EnumValue(value, entry.id("a value of an enum"), **entry.described()))
        if not values:
            raise node.fail("an enum without values; leave it out")
        location = node.described()["location"]
        return Enum(id=name, values=tuple(values), spec_id=self.spec_id, location=location)


def _derive_of(node: Node) -> Derive | None:
    text = node.optional_text("-derive")
    if text is None:
        return None
    match = _DERIVE.fullmatch(text)
    if match is None or match[1] not in list(DeriveFunction) or (match[4] and not match[3]):
        functions = ", ".join(DeriveFunction)
        raise node.fail(
            f"cannot read {ex.shown(text)}; write f(x), f(x..) or f(x..y), + a number if need be, "
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


def _made_from(node: Node) -> MadeFrom | None:
    text = node.optional_text("-from")
    if text is None:
        return None
    match = _FROM.fullmatch(text)
    if match is None:
        message = f"cannot read {ex.shown(text)}; write position, or largest(x) for a header's x"
        raise node.fail(message, "-from")
    return MadeFrom(match[1] or match[2], largest=match[1] is not None)


def _releases_of(node: Node) -> tuple[str, str] | None:
    text = node.optional_text("-releases")
    if text is None:
        return None
    match = _RELEASES.fullmatch(text)
    if match is None:
        raise node.fail(f"cannot read {ex.shown(text)}; write 3.6..3.7", "-releases")
    return match[1], match[2]


def _since_of(node: Node) -> str | None:
    text = node.optional_text("-since")
    if text is not None and _RELEASE.fullmatch(text) is None:
        raise node.fail(f"cannot read {ex.shown(text)}; write '4.1'", "-since")
    return text


def _known_of(node: Node) -> tuple[int, int] | None:
    text = node.optional_text("-known")
    if text is None:
        return None
    match = _SPAN_OF_NUMBERS.fullmatch(text)
    if match is None:
        raise node.fail(f"cannot read {ex.shown(text)}; write 0..3", "-known")
    first, last = (node.number(int(part), "a number", "-known") for part in match.groups())
    return first, last


def _default_of(node: Node) -> Default | None:
    if "-default" not in node.content:
        return None
    text = node.content["-default"]
    if text == "null":
        return Default(None)
    if text == "[]":
        return Default(())
    if isinstance(text, str) and _NUMBER.fullmatch(text):
        return Default(node.number(int(text, 0), "a number", "-default"))
    message = f"must be a quoted integer, 'null' or '[]', not {ex.shown(text)}"
    raise node.fail(message, "-default")
