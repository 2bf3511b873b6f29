"""Make the structure of a file of the specification from one of Kafka's schemas.

Conventions, which ``check`` and the readers of the specification rely on:

* An id is Kafka's name in snake case, and ``-orig-id`` has Kafka's name where that is another.
* A file has all versions: fields are there ``if:`` the version says so. Where some versions are
  flexible and some are not, each kind has a separate body.
* A tagged field is a case of a switch over the tag, in bytes of the size before it; what it holds
  is a structure with one field, whose ``-default`` is what a reader takes where the tag is absent.
* What nobody can derive from a schema, the sentences, begin with ``TODO``, which the linter
  refuses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from tools.import_messages.schema import Schema, SchemaField, Versions

TODO = "TODO"
"""How a sentence begins that somebody has to write."""

Node = dict[str, Any]

INTEGERS = {
    "int8": "s1", "int16": "s2", "uint16": "u2", "int32": "s4", "uint32": "u4", "int64": "s8",
    "float64": "f8",
}  # fmt: skip
_FOLDERS = {
    "group-coordinator": "consumer_offsets", "transaction-coordinator": "transaction_state",
    "share-coordinator": "share_group_state", "metadata": "cluster_metadata",
    "storage": "remote_log_metadata", "clients": "consumer_protocol",
}  # fmt: skip
"""Folders of ``spec/messages`` by module of Kafka; a folder is named like its topic."""
_OF_CORE = {"Transaction": "transaction_state"}
"""Folders of what the core had before 3.5 and 3.9, by the start of the name."""
_SHARED = ("varint", "flexible", "primitive", "enumeration")
"""Files of types and enumerations that messages share."""
_FRAMED = ("cluster_metadata", "remote_log_metadata")
_PREVIEW = "2.8."
_CAMEL = (re.compile(r"(?<=[a-z0-9])(?=[A-Z])"), re.compile(r"(?<=[A-Z])(?=[A-Z][a-z])"))
_OTHER_IDS = {"num_partitions": "partition_count"}
"""Ids of names that would look like the count of an array."""
_VERSION = {"id": "version", "type": "s4", "doc": "Version of the message."}
_END = {"id": "end", "size": 0, "valid": {"expr": "_io.eof and _.length == 0"}}
_LEFT = "(_io.size - _io.pos).as<s8>"


def snake(name: str) -> str:
    """Return ``groupInstanceId`` as ``group_instance_id``."""
    for boundary in _CAMEL:
        name = boundary.sub("_", name)
    return name.lower()


def field_id(name: str) -> str:
    """Return the id of a field."""
    found = snake(name)
    return _OTHER_IDS.get(found, found)


def folder_of(schema: Schema) -> str:
    """Return the folder of a schema."""
    module = schema.source.partition("/")[0]
    if module == "core":
        begins = (folder for begin, folder in _OF_CORE.items() if schema.name.startswith(begin))
        return next(begins, "consumer_offsets")
    return _FOLDERS[module]


def make(schema: Schema, release: str, layout: tuple[str, str] | None = None) -> tuple[str, Node]:
    """Return the path of a file below ``spec`` without suffix, and what is in it.

    Args:
        schema: the schema.
        release: the release that has it, whose source the file refers to.
        layout: first and last minor release of a layout that a later one replaced.
    """
    name = snake(schema.name)
    if layout is not None:
        name += "_" + layout[1].replace(".", "_")
    folder = folder_of(schema)
    return f"messages/{folder}/{name}", _Maker(schema, release, folder).file(name, layout)


def name_imports(file: Node) -> None:
    """Name in a file the other files whose types and enumerations it uses."""
    text, meta = str(file), file["meta"]
    imports = [f"../../{used}" for used in _SHARED if f"'{used}::" in text]
    endian, _ = meta.pop("endian"), meta.pop("imports", None)
    meta |= ({"imports": imports} if imports else {}) | {"endian": endian}


def frame_version(release: str) -> int:
    """Return the version of the frames that a release writes; the preview of KRaft had another."""
    return 0 if release.startswith(_PREVIEW) else 1


@dataclass
class _Maker:
    """Maker of one file."""

    schema: Schema
    release: str
    folder: str
    types: dict[str, Node] = field(default_factory=dict)

    def file(self, name: str, layout: tuple[str, str] | None) -> Node:
        seq = self._head() + self._body()
        if self.folder in _FRAMED:
            seq.append(_END)
        else:
            rest = "Bytes after it are ignored."
            seq.append({"id": "unused", "-default": "[]", "size-eos": True, "doc": rest})
        meta = {
            "id": name,
            "title": f"{self.schema.name} of Apache Kafka",
            "application": "Apache Kafka",
            "xref": {"wikidata": "Q16235208"},
            "license": "CC0-1.0",
            "ks-version": "0.11",
            "endian": "be",
        }
        found: Node = {"meta": meta, "-orig-id": self.schema.name}
        if layout is not None:
            found["-releases"] = "..".join(layout)
        elif self.folder in _FRAMED or self.schema.name.endswith("Key"):
            found["-since"] = ".".join(self.release.split(".")[:2])
        found |= self._described(f"{TODO}: say what it is.") | {"seq": seq}
        if self.types:
            found["types"] = self.types
        name_imports(found)
        return found

    def _described(self, doc: str) -> Node:
        source = self.schema.source
        url = f"https://github.com/apache/kafka/blob/{self.release}/{source}"
        return {"doc": doc, "doc-ref": f"{url} {source.rpartition('/')[2]}"}

    def _head(self) -> list[Node]:
        """Return what stands before the fields of the schema."""
        latest = self.schema.latest
        if self.folder in _FRAMED:
            varint = {"type": "varint::unsigned_varint32"}
            frame = str(frame_version(self.release))
            return [
                {"id": "frame_version", "-default": frame} | varint
                | {"valid": {"expr": f"_.value == {frame}"},
                   "doc": "Version of the frame around it."},
                {"id": "api_key", "-default": str(self.schema.number)} | varint
                | {"valid": {"expr": f"_.value == {self.schema.number}"},
                   "doc": "Says what it is."},
                {"id": "schema_version", "-default": str(latest)} | varint
                | {"valid": {"expr": f"_.value >= 0 and _.value <= {latest}"},
                   "doc": "Version of the message."},
            ]  # fmt: skip
        if self.schema.name.endswith("Key"):
            doc = "Says what key and value are."
            return [{"id": "record_type", "type": "s2", "valid": self.schema.number, "doc": doc}]
        low, doc = self.schema.versions.low, "Version of the message."
        valid: Any = latest if low == latest else {"min": low, "max": latest}
        if self.folder == "consumer_protocol":
            # Whoever reads it takes a later version for the last one that he knows.
            valid = {"min": low}
            doc = f"Version of the message. Readers take any later one for {latest}."
        version = {"id": "schema_version", "type": "s2", "valid": valid, "doc": doc}
        return [version]

    @property
    def _version(self) -> str:
        return "schema_version.value" if self.folder in _FRAMED else "schema_version"

    def _body(self) -> list[Node]:
        schema, low, high = self.schema, self.schema.versions.low, self.schema.latest
        flexible = schema.flexible.low if schema.flexible is not None else high + 1
        if flexible <= low or flexible > high:
            part = _Part(self, flexible <= low, low, high, self._version)
            return part.fields(schema.fields, "message")
        bodies = {}
        for kind, first, last in (("rigid", low, flexible - 1), ("flexible", flexible, high)):
            part = _Part(self, kind == "flexible", first, last, "version", f"_{kind}")
            seq = part.fields(schema.fields, "message")
            name = f"{kind}_body"
            self.types[name] = self._described(
                f"Fields of versions {first} to {last}." if first < last else
                f"Fields of version {first}."
            )  # fmt: skip
            if _uses_version(seq):
                self.types[name]["params"] = [_VERSION]
                name += "(version)"
            self.types[f"{kind}_body"]["seq"] = seq
            bodies[kind] = name
        cases: dict[Any, str] = dict.fromkeys(range(low, flexible), bodies["rigid"])
        cases["_"] = bodies["flexible"]
        doc = f"The fields; from version {flexible} on in Kafka's flexible encoding."
        self.types["versioned_body"] = self._described(doc) | {
            "params": [_VERSION],
            "seq": [{"id": "body", "type": {"switch-on": "version", "cases": cases}}],
        }
        return [{"id": "body", "type": f"versioned_body({self._version}.as<s4>)"}]


@dataclass(frozen=True)
class _Part:
    """Maker of fields of the versions ``low`` to ``high``, which are all flexible or all not."""

    maker: _Maker
    flexible: bool
    low: int
    high: int
    version: str
    suffix: str = ""

    def fields(self, fields: tuple[SchemaField, ...], owner: str) -> list[Node]:
        """Return the fields of a structure."""
        found = [node for item in fields for node in self._versioned(item)]
        if self.flexible:
            found.append({"id": "tagged_fields", "type": self._tags(fields, owner)})
        return found

    def _versioned(self, item: SchemaField) -> list[Node]:
        if item.tagged is not None or item.versions is None:
            return []
        low = max(item.versions.low, self.low)
        high = self.high if item.versions.high is None else min(item.versions.high, self.high)
        if low > high:
            return []
        tests = [f"{self.version} >= {low}"] if low > self.low else []
        tests += [f"{self.version} <= {high}"] if high < self.high else []
        condition = (
            f"{self.version} == {low}" if len(tests) > 1 and low == high else " and ".join(tests)
        )
        return replace(self, low=low, high=high)._nodes(item, condition)

    def _nodes(
        self, item: SchemaField, condition: str = "", default: str | None = None
    ) -> list[Node]:
        """Return what stands for one field: itself, with its count or its mark before it."""
        name = field_id(item.name)
        base = {"id": name} | ({"-orig-id": item.name} if item.name != name else {})
        doc = {"doc": f"{TODO}: say what {item.name} is."}
        default = default if default is not None else given_default(item)
        given = {} if default is None else {"-default": default}
        when = {"if": condition} if condition else {}
        if item.is_array:
            return self._array(item, base | given, doc, condition)
        if item.type in INTEGERS:
            return [base | given | {"type": INTEGERS[item.type]} | when | doc]
        if item.type == "bool":
            return [base | given | {"type": "u1", "enum": "enumeration::truth"} | when | doc]
        if item.type == "uuid":
            return [base | given | {"size": 16} | when | doc]
        if item.type in ("string", "bytes"):
            return [base | given | {"type": self._text(item.type, item.nullable)} | when | doc]
        inner = self._structure(item)
        if item.nullable is None:
            return [base | {"type": inner} | when]
        # A tagged structure has a varint for a mark, any other one a byte.
        tagged = item.tagged is not None
        mark: Node = {"id": f"has_{name}"} | ({"-orig-id": item.name} if item.name else {})
        mark |= {"-derive": f"present({name})"}
        mark["type"] = "varint::unsigned_varint32" if tagged else "s1"
        mark["doc"] = "0 for null." if tagged else "Negative for null."
        test = f"has_{name}.value >= 1" if tagged else f"has_{name} >= 0"
        return [mark, base | given | {"type": inner, "if": test}]

    def _text(self, kind: str, nullable: Versions | None) -> str:
        prefix = "flexible::compact_" if self.flexible else "primitive::"
        if kind == "string" and not (self.flexible or nullable):
            return f"{prefix}plain_string"  # a class String would hide Java's own
        return prefix + ("nullable_" if nullable else "") + kind.replace("bytes", "byte_array")

    def _array(self, item: SchemaField, base: Node, doc: Node, condition: str) -> list[Node]:
        name, nullable = base["id"], item.nullable is not None
        count: Node = {"id": f"num_{name}", "-orig-id": item.name}
        if self.flexible:
            number, left, least = f"num_{name}.value - 1", "_.value - 1", "_.value >= 1"
            count |= {"-derive": f"count({name}) + 1", "type": "varint::unsigned_varint32"}
            text = (
                "Number of items plus one; 0 is null." if nullable else "Number of items plus one."
            )
        else:
            number, left, least = f"num_{name}", "_", "_ >= 0"
            count |= {"-derive": f"count({name})", "type": "s4"}
            text = "Number of items; a negative one is null." if nullable else "Number of items."
        bound = f"{left} <= {_LEFT}" if self.flexible else f"{left}.as<s8> <= {_LEFT}"
        count |= {"valid": {"expr": bound if nullable else f"{least} and {bound}"}, "doc": text}
        array = base | {"type": self._element(item), "repeat": "expr", "repeat-expr": number}
        if nullable:
            array["if"] = f"{number} >= 0"
        pair = [count, array | doc]
        if not condition:
            return pair
        wrapper = f"{name}_array"
        made = self.maker._described("The items, which not every version has.")
        inner = array["type"].partition("(")[0]
        reference = wrapper
        if inner != array["type"]:
            made["params"] = [_VERSION]
            pair[1]["type"] = f"{inner}(version)"
            reference = f"{wrapper}({self.version})"
        self.maker.types[wrapper] = made | {"seq": pair}
        outer = {"id": name} | ({"-orig-id": item.name} if item.name != name else {})
        return [outer | {"type": reference, "if": condition}]

    def _element(self, item: SchemaField) -> str:
        kind = item.element
        if kind == "uuid":
            return "primitive::uuid"
        if kind in INTEGERS:
            return INTEGERS[kind]
        return self._text(kind, None) if kind in ("string", "bytes") else self._structure(item)

    def _structure(self, item: SchemaField) -> str:
        """Return the reference to a structure, which is made where it is first used."""
        name, types = snake(item.element) + self.suffix, self.maker.types
        if name not in types:
            types[name] = {}
            inner = _Part(self.maker, self.flexible, self.low, self.high, "version", self.suffix)
            seq = inner.fields(self.maker.schema.fields_of(item), name)
            made: Node = {"-orig-id": item.element}
            made |= self.maker._described(f"{TODO}: say what {item.element} is.")
            if _uses_version(seq):
                made["params"] = [_VERSION]
            types[name] = made | {"seq": seq}
        return f"{name}({self.version})" if types[name].get("params") else name

    def _tags(self, fields: tuple[SchemaField, ...], owner: str) -> str:
        """Return the type of the tagged section of a structure."""
        tagged = sorted((item for item in fields if item.tag is not None), key=_tag)
        tagged = [item for item in tagged if item.tagged and item.tagged.low <= self.high]
        if not tagged:
            return "flexible::tagged_fields"
        types, described = self.maker.types, self.maker._described
        cases: dict[Any, str] = {}
        for item in tagged:
            name = f"{field_id(item.name)}_tag"
            name = name if name not in types else f"{owner}_{name}"
            default = given_default(item)
            seq = self._nodes(item, default=implied_default(item) if default is None else default)
            types[name] = described(f"Content of tag {item.tag}.") | {"seq": [*seq, _END]}
            cases[item.tag] = name
        types.setdefault(
            "unknown_tag",
            described("Content of a tag that is not known here.")
            | {"seq": [{"id": "data", "size-eos": True, "doc": "Bytes as they are."}]},
        )
        cases["_"] = "unknown_tag"
        unsigned = "varint::unsigned_varint32"
        number = "Number of the field in Kafka's schema."
        types[f"{owner}_tags"] = described(
            "Tagged fields, ascending by tag; one that is absent has its default."
        ) | {
            "seq": [
                {"id": "num_fields", "-derive": "count(fields)", "type": unsigned,
                 "valid": {"expr": f"_.value >= 0 and _.value <= {_LEFT}"},
                 "doc": "Number of tagged fields."},
                {"id": "fields", "-default": "[]", "-ascending": "tag", "type": f"{owner}_tag",
                 "repeat": "expr", "repeat-expr": "num_fields.value"},
            ],
        }  # fmt: skip
        types[f"{owner}_tag"] = described("One tagged field.") | {
            "seq": [
                {"id": "tag", "type": unsigned, "doc": number},
                {"id": "len_content", "-derive": "len(content)", "type": unsigned,
                 "valid": {"expr": "_.value >= 0"}, "doc": "Bytes of the field."},
                {"id": "content", "size": "len_content.value",
                 "type": f"{owner}_tag_content(tag.value.as<s4>)"},
            ],
        }  # fmt: skip
        types[f"{owner}_tag_content"] = described("What a tag has, by its number.") | {
            "params": [{"id": "tag", "type": "s4", "doc": number}],
            "seq": [{"id": "content", "type": {"switch-on": "tag", "cases": cases}}],
        }
        return f"{owner}_tags"


def _tag(item: SchemaField) -> int:
    assert item.tag is not None
    return item.tag


def given_default(item: SchemaField) -> str | None:
    """Return the default that a schema names, as the specification has it."""
    if item.default is None:
        return None
    if item.default in ("true", "false"):
        return str(int(item.default == "true"))
    if item.default == "null":
        return "null"
    if item.default == "":
        return "[]"
    return str(int(float(item.default)) if item.type == "float64" else int(item.default, 0))


def implied_default(item: SchemaField) -> str | None:
    """Return the default of a tagged field whose schema names none."""
    if item.is_array or item.type in ("string", "bytes"):
        return "[]"
    return "0" if item.type in (*INTEGERS, "bool", "uuid") else None


def _uses_version(seq: list[Node]) -> bool:
    return any(
        "version " in node.get("if", "") or str(node.get("type", "")).endswith("(version)")
        for node in seq
    )
