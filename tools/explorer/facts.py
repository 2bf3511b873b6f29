"""Collect what the explorer knows of the specification and of the rules that live in Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from kafkaspec import __version__
from kafkaspec._generated.layout import ENTRY_KINDS, ENUMS, LAYOUTS, SPECIFICATION
from kafkaspec._generated.layout.files import FILES
from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.headers import KINDS
from kafkaspec.analysis.consequences import CONSEQUENCES, consequence_of, of_message
from kafkaspec.analysis.reasons import Area, Consequence, FindingReason
from kafkaspec.assembly.values import DECIMAL, INTEGER
from kafkaspec.compression import DEFAULT_MAX_OUTPUT, NAMES
from kafkaspec.conversion.fields import has_values, own_fields
from kafkaspec.files import names as files
from kafkaspec.layout import EntryKind, FieldLayout, FileLayout, TypeLayout, names, varints
from kafkaspec.layout.framing import LOG_FRAMING, MESSAGE_PATH, checksum_of
from kafkaspec.log.batch import NO_TIMESTAMP_TYPE, TIMESTAMP_TYPES
from kafkaspec.log.legacy import has_relative_offsets
from kafkaspec.messages.json_text import SHOWN_BEFORE, UNKNOWN_TAGS
from kafkaspec.messages.lookup import CONSUMER, EMBEDDED, HEADS, MESSAGES
from kafkaspec.values.protobuf.known import imported_texts
from kafkaspec.values.registry.log import TOPIC as SCHEMAS_TOPIC
from tools.specgen import expression as ex
from tools.specgen.loader import load
from tools.specgen.model import Model, Type, camel

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "spec"
_UNSAID = ("", 0, False, None, ())
"""Values of a layout that are left out: the reader takes them for absent ones."""
_LEFT_OUT = re.compile(
    r"""("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/|^option (?!features)[^;]*;""",
    re.DOTALL | re.MULTILINE,
)
"""Comments and options that the explorer ignores; strings, which may contain either, are kept."""


def _short(text: str) -> str:
    """Return a Protobuf schema without comments, options that choose no features, and line ends."""
    text = _LEFT_OUT.sub(lambda found: found[1] or "", text)
    return " ".join(text.split())


def facts() -> dict[str, Any]:
    """Return everything, as values of JSON."""
    return {
        "version": __version__,
        "specification": SPECIFICATION,
        "types": {key: _type(LAYOUTS[key]) for key in sorted(LAYOUTS)},
        "enums": {key: {str(n): list(text) for n, text in e.items()} for key, e in ENUMS.items()},
        "framing": {
            "size": LOG_FRAMING.size,
            "minimum": LOG_FRAMING.minimum_message,
            "upToMagic": LOG_FRAMING.up_to_magic,
            "path": MESSAGE_PATH,
            "largestHeader": LOG_FRAMING.largest_header,
        },
        "kinds": {str(kind.magic): _kind(kind) for kind in ENTRY_KINDS[LOG_FRAMING.entry].values()},
        "headers": {
            header.key: {
                "size": header.size,
                "integers": {name: list(place) for name, place in header.integers.items()},
                "bits": {name: list(place) for name, place in header.bits.items()},
            }
            for header in KINDS
        },
        "readBy": [names.MAGIC, names.COMPRESSION],
        "varints": {name: [n, name in varints.SIGNED] for name, n in varints.BITS.items()},
        "numerals": {"integer": INTEGER, "decimal": DECIMAL},
        "numbered": [names.OFFSET_DELTA, names.LAST_OFFSET_DELTA],
        "codecs": list(NAMES),
        "timestampTypes": list(TIMESTAMP_TYPES),
        "noTimestampType": NO_TIMESTAMP_TYPE,
        "maxOutput": DEFAULT_MAX_OUTPUT,
        "topics": [str(topic) for topic in Topic],
        "snapshotTopic": str(Topic.CLUSTER_METADATA),
        "schemasTopic": SCHEMAS_TOPIC,
        "protos": {path: _short(text) for path, text in sorted(imported_texts().items())},
        "heads": {topic: [list(head) for head in heads] for topic, heads in HEADS.items()},
        "messages": [asdict(message) for message in MESSAGES],
        "embedded": {"protocol": CONSUMER, "fields": EMBEDDED},
        "shownBefore": {name: list(later) for name, later in SHOWN_BEFORE.items()},
        "unknownTags": UNKNOWN_TAGS,
        "frame": sorted(names.MESSAGE_FRAME),
        "consequences": _consequences(),
        "undecoded": {
            str(topic): {
                "known": _said(of_message(topic, known=True)),
                "unknown": _said(of_message(topic, known=False)),
            }
            for topic in Topic
        },
        "files": _files(),
    }


def _type(layout: TypeLayout) -> dict[str, Any]:
    shown = _said_of(
        layout, "class_name", "form", "scalar", "text", "minimum_size", "fixed_size", "doc"
    )
    if layout.parameters:
        shown["parameters"] = [list(parameter) for parameter in layout.parameters]
    if layout.checksum:
        shown["checksum"] = asdict(layout.checksum)
    if layout.peeks:
        shown["peeks"] = [[peek.id, peek.position] for peek in layout.peeks]
    if layout.instances:
        shown["instances"] = list(layout.instances)
    shown["fields"] = [_field(field) for field in layout.fields]
    return shown


def _field(field: FieldLayout) -> dict[str, Any]:
    said = (
        "id", "kind", "type", "cases", "size", "width", "signed", "boolean", "repeated", "optional",
        "since", "derive", "derive_from", "derive_plus", "ascending", "default", "constant", "enum",
        "original_id", "doc",
    )  # fmt: skip
    return _said_of(field, *said)


def _said_of(layout: object, *attributes: str) -> dict[str, Any]:
    values = {name: getattr(layout, name) for name in attributes}
    return {
        name: value
        for name, value in values.items()
        if not any(
            value is nothing or (value == nothing and value is not False and name != "constant")
            for nothing in _UNSAID
        )
    }


def _kind(kind: EntryKind) -> dict[str, Any]:
    return {
        "key": kind.key,
        "recordSet": kind.record_set,
        "record": kind.record,
        "framed": next((i.type for i in LAYOUTS[kind.record_set].fields if i.repeated), "")
        if kind.has_record_sets
        else "",
        "own": [
            [field.name, field.default]
            for field in (own_fields(kind).record if has_values(kind) else ())
            if kind.has_record_sets and "." not in field.name and isinstance(field.default, int)
        ],
        "payload": kind.payload,
        "timestamps": kind.has_timestamps,
        "relativeOffsets": has_relative_offsets(kind),
        "checksum": asdict(checksum_of(kind.key)),
    }


def _said(consequence: Consequence) -> list[str]:
    return [consequence.reader, consequence.broker]


def _consequences() -> dict[str, dict[str, list[str]]]:
    """Return what readers and brokers do, by area and reason; the reason "" stands for others."""
    some = next(iter(FindingReason))
    found: dict[str, dict[str, list[str]]] = {}
    for area in Area:
        listed = {reason for owner, reason in CONSEQUENCES if owner is area}
        other = next((reason for reason in FindingReason if reason not in listed), some)
        found[area] = {"": _said(consequence_of(area, other))}
        found[area] |= {reason: _said(CONSEQUENCES[area, reason]) for reason in sorted(listed)}
    return found


def _files() -> dict[str, Any]:
    """Return names of files; the pattern of the names of segments is the reader's own."""
    by_suffix = {suffix: _file(layout) for suffix, layout in FILES.items()}
    by_suffix[files.CHECKPOINT] = by_suffix[files.LOG] | {"kind": "kraft_snapshot"}
    by_name = {
        files.LEADER_EPOCHS: "leader_epoch_checkpoint",
        files.PARTITION_METADATA: "partition_metadata",
        files.QUORUM_STATE: "quorum_state",
        files.META_PROPERTIES: "meta_properties",
        files.CLEAN_SHUTDOWN: "clean_shutdown",
        **dict.fromkeys(files.OFFSET_CHECKPOINTS, "offset_checkpoint"),
    }
    return {
        "suffixes": by_suffix,
        "names": by_name,
        "states": [*files.STATES, ".tmp"],
        "largestOffset": str((1 << 63) - 1),
    }


_KINDS: Final = {names.LOG_FILE: "segment", names.MESSAGE_SET_FILE: "segment_0_7"}
"""What the engine calls files that hold a log; all others have the name of their type."""


def _file(layout: FileLayout) -> dict[str, Any]:
    """Return what the engine needs to know of a kind of files."""
    spec, _, name = layout.type.partition(".")
    is_array = bool(layout.entry) and LAYOUTS[layout.entry].fixed_size is not None
    return {
        "kind": _KINDS.get(layout.type, name),
        "page": f"{spec}.md",
        "type": layout.type,
        "entry": layout.entry if is_array else None,
        "preallocated": bool(layout.sources),
        "largest": layout.largest and [layout.largest.field, layout.largest.name],
    }


# -- values that follow from fields ----------------------------------------------------------------


def value_functions() -> str:
    """Return TypeScript that computes the value instances of the specification, exactly.

    The classes of the official compiler compute with the numbers of JavaScript, which have 53 bits.
    """
    model = load(SPEC)
    lines = ["import type { Made } from '../src/engine/specification/runtime';", ""]
    lines += [
        "/* eslint-disable */",
        "export const VALUES: Record<string, (o: Made) => bigint | null> = {",
    ]
    for type_ in model.all_types():
        if type_.scalar is not None:
            continue
        for instance in type_.value_instances:
            text = f"BigInt.asIntN(64, {_script(instance.value, type_, model)})"
            if instance.condition is not None:
                text = f"({_script(instance.condition, type_, model)}) ? {text} : null"
            lines.append(f"  '{type_.key}.{instance.id}': (o) => {text},")
    return "\n".join([*lines, "};", ""])


_OPERATORS: Mapping[str, str] = {"==": "===", "!=": "!=="}


def _script(node: ex.Expression, type_: Type, model: Model) -> str:
    """Return an expression of the specification as TypeScript that computes with BigInt."""
    again: Callable[[ex.Expression], str] = lambda part: _script(part, type_, model)  # noqa: E731
    match node:
        case ex.Int(value):
            return f"{value}n"
        case ex.Name() | ex.Attribute():
            return f"BigInt({_path(node)})"
        case ex.EnumMember(enum, member):
            values = model.enum(f"{type_.spec_id}.{enum}").values
            return f"{next(value.value for value in values if value.id == member)}n"
        case ex.Unary("-", operand):
            return f"(-{again(operand)})"
        case ex.Binary(operator, left, right):
            return f"({again(left)} {_OPERATORS.get(operator, operator)} {again(right)})"
        case ex.Ternary(condition, then, otherwise):
            return f"({again(condition)} ? {again(then)} : {again(otherwise)})"
    raise TypeError(f"{type_.location}: the explorer cannot compute {node}")


def _path(node: ex.Expression) -> str:
    match node:
        case ex.Name(name):
            return f"o.{_member(name)}"
        case ex.Attribute(value, name):
            return f"{_path(value)}.{_member(name)}"
    raise TypeError(f"the explorer cannot name {node}")


def _member(name: str) -> str:
    made = camel(name)
    return made[0].lower() + made[1:]
