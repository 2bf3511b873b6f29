"""Schemas in files: each is version 1 of the subject of its name, unless a list says more.

The list is ``schemas.json`` in a folder: an array of objects, each with ``file`` (a path below the
folder), and on request ``id``, ``subject``, ``version``, ``type``, ``references`` (objects with
``name``, ``subject``, ``version``) and ``deleted``. ``kafkaspec schemas -o`` writes it.

Files that no list names import each other as their texts say: Avro's by the full name of the type,
Protobuf's by path, JSON Schemas by ``$id`` or path.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

import orjson

from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.io.local import Source
from kafkaspec.values.avro.schema import NAMED, full_name
from kafkaspec.values.definition import SchemaType
from kafkaspec.values.registry.layout import SCHEMA, LayoutError, Member, fields
from kafkaspec.values.registry.problems import Fault, Problem, problem_in
from kafkaspec.values.registry.replay import Replay
from kafkaspec.values.registry.schema import Reference, RegistryState, Schema

LIST: Final = "schemas.json"
"""Name of the list of the files of a folder."""

SUFFIXES: Final[Mapping[str, SchemaType]] = {
    ".avsc": SchemaType.AVRO,
    ".proto": SchemaType.PROTOBUF,
    ".json": SchemaType.JSON,
}
"""Types of schemas by the ends of the names of their files."""

_SETS: Final = frozenset({".desc", ".pb", ".binpb", ".protoset"})
"""Ends of the names of descriptor sets."""

_MOST_FILES: Final = 100_000
"""Number of files of a folder that are looked at."""

_MOST_PARENTS: Final = 8
"""Folders around a file from which its imports are looked for."""

_NAMED: Final = {*NAMED, "error"}
"""Types of Avro that have names."""

_IMPORT: Final = re.compile(r'^\s*import\s+(?:public\s+|weak\s+)?"([^"\n]+)"\s*;', re.MULTILINE)
_ENTRY: Final = (
    Member("file", str, required=True),
    *(replace(each, required=False) for each in SCHEMA if each.name != "schemaType"),
    Member("type", str),
)


def is_schema_file(path: Path) -> bool:
    """Return whether a file has the name of a schema, or of a descriptor set."""
    return path.suffix in SUFFIXES or path.suffix in _SETS


def schema_files(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and below that have such names; links to folders lead nowhere."""
    looked = 0
    for home, below, files in os.walk(folder):
        below.sort()
        for name in sorted(files):
            looked += 1
            if looked > _MOST_FILES:
                return
            path = Path(home, name)
            if is_schema_file(path) and path.is_file():
                yield path


def read_files(place: Path, replay: Replay) -> None:
    """Add the schemas of a file, or of the files in a folder and below."""
    if not place.is_dir():
        texts = list(_texts(place, place.name, replay))
        _add([*texts, *_imported(place, texts, replay)], replay)
        return
    if (place / LIST).is_file():
        _listed(place, replay)
        return
    found: list[_Text] = []
    for path in schema_files(place):
        name = path.relative_to(place).as_posix()
        try:
            found += _texts(path, name, replay)
        except KafkaSpecError as error:
            replay.problems.append(problem_in(Fault.DAMAGED, error))
    _add(found, replay)


@dataclass(frozen=True, slots=True)
class _Text:
    """A schema in a file, the names by which others import it, and what it may import."""

    name: str
    type: SchemaType
    text: str
    names: frozenset[str]
    imports: tuple[str, ...]


def _imported(place: Path, texts: list[_Text], replay: Replay) -> Iterator[_Text]:
    """Yield the files that a ``.proto`` file imports, found from a folder that it is in."""
    homes = place.absolute().parents[:_MOST_PARENTS]
    seen = {each.name for each in texts}
    todo = [name for each in texts if each.type is SchemaType.PROTOBUF for name in each.imports]
    while todo and len(seen) <= replay.bounds.schemas:
        name = todo.pop()
        if name in seen or PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            continue
        seen.add(name)
        files = (home / name for home in homes)
        path = next((file for file in files if file.is_file()), None)
        if path is not None and path.suffix in SUFFIXES:
            for text in _texts(path, name, replay):
                todo += text.imports
                yield text


def _add(found: list[_Text], replay: Replay) -> None:
    homes = {(each.type, name): each for each in found for name in each.names}
    for each in found:
        others = {name: homes.get((each.type, name)) for name in each.imports}
        references = tuple(
            Reference(name, _subject(other), 1)
            for name, other in others.items()
            if other is not None and other is not each
        )
        replay.schemas.append(
            Schema(
                id=None,
                subject=_subject(each),
                version=1,
                type=each.type,
                text=each.text,
                references=references,
            )
        )


def _subject(text: _Text) -> str:
    """Return the subject of a file: its path; without ``.avsc`` or ``.json`` at its end."""
    if text.type is SchemaType.PROTOBUF:
        return text.name
    return text.name.rpartition(".")[0] or text.name


def _texts(path: Path, name: str, replay: Replay) -> Iterator[_Text]:
    data = _data(path, replay)
    if path.suffix in _SETS:
        yield from _descriptors(data, path)
        return
    kind = SUFFIXES[path.suffix]
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise unreadable(str(path), f"it is not UTF-8: {error.reason}") from None
    if kind is SchemaType.PROTOBUF:
        yield _Text(name, kind, text, frozenset({name}), tuple(_IMPORT.findall(text)))
        return
    try:
        parsed = orjson.loads(data)
    except ValueError as error:
        raise unreadable(str(path), f"it is not JSON: {error}") from None
    if kind is SchemaType.AVRO:
        own, used = _avro_names(parsed)
    else:
        own, used = _json_names(parsed, name)
    yield _Text(name, kind, text, frozenset(own), tuple(used))


def _data(path: Path, replay: Replay) -> bytes:
    with Source.of(path, replay.bounds.schema_bytes) as source:
        return bytes(source.buffer)


def _descriptors(data: bytes, path: Path) -> Iterator[_Text]:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    try:
        files = FileDescriptorSet.FromString(data).file
    except Exception as error:  # of the library, for any bytes
        raise unreadable(str(path), f"it is not a descriptor set: {error}") from None
    for file in files:
        text = b64encode(file.SerializeToString()).decode()
        names = frozenset({file.name})
        yield _Text(file.name, SchemaType.PROTOBUF, text, names, tuple(file.dependency))


def _avro_names(parsed: Any) -> tuple[set[str], dict[str, None]]:
    """Return the full names of the types that an Avro schema defines at its top, and uses."""
    own: set[str] = set()
    used: dict[str, None] = {}
    todo: list[tuple[Any, str, bool]] = [(parsed, "", True)]
    while todo:
        schema, space, top = todo.pop()
        if isinstance(schema, str):
            used |= {f"{space}.{schema}": None} if space and "." not in schema else {}
            used[schema] = None
        elif isinstance(schema, list):
            todo += [(branch, space, top) for branch in schema]
        elif isinstance(schema, dict):
            if schema.get("type") in _NAMED and isinstance(schema.get("name"), str):
                name, space = full_name(schema, space)
                own |= {name} if top else set()
            parts = [schema.get(part) for part in ("items", "values", "type")]
            listed = schema.get("fields")
            parts += [
                field.get("type")
                for field in (listed if isinstance(listed, list) else ())
                if isinstance(field, dict)
            ]
            todo += [(part, space, False) for part in parts if part is not None]
    return own, used


def _json_names(parsed: Any, name: str) -> tuple[set[str], dict[str, None]]:
    own = {name}
    if isinstance(parsed, dict) and isinstance(parsed.get("$id"), str):
        own.add(parsed["$id"])
    used: dict[str, None] = {}
    todo = [parsed]
    while todo:
        item = todo.pop()
        if isinstance(item, list):
            todo += item
        elif isinstance(item, dict):
            target = item.get("$ref")
            if isinstance(target, str):
                used[target.partition("#")[0]] = None
            todo += item.values()
    return own, used


def _listed(place: Path, replay: Replay) -> None:
    path = place / LIST
    try:
        with Source.of(path) as source:
            entries = orjson.loads(bytes(source.buffer))
    except ValueError as error:
        if isinstance(error, KafkaSpecError):
            raise
        raise unreadable(str(path), f"it is not JSON: {error}") from None
    if not isinstance(entries, list):
        raise unreadable(str(path), "it is not an array")
    for number, entry in enumerate(entries):
        try:
            replay.schemas.append(
                _entry(place, number, fields(_ENTRY, entry, f"[{number}]"), replay)
            )
        except LayoutError as error:
            replay.problems.append(
                Problem(reason=Fault.UNPARSED, message=f"{path}: {error}", file=str(path))
            )
        except KafkaSpecError as error:
            replay.problems.append(problem_in(Fault.DAMAGED, error))


def _entry(place: Path, number: int, entry: Mapping[str, Any], replay: Replay) -> Schema:
    file = (place / entry["file"]).resolve()
    if not file.is_relative_to(place.resolve()):
        raise LayoutError(f"[{number}].file: it is not in the folder")
    kind = entry["type"] or SUFFIXES.get(file.suffix)
    if kind is None:
        raise LayoutError(f"[{number}].type: absent, and the name of the file does not say it")
    try:
        text = _data(file, replay).decode()
    except UnicodeDecodeError as error:
        raise unreadable(str(file), f"it is not UTF-8: {error.reason}") from None
    return Schema(
        id=entry["id"],
        subject=entry["file"] if entry["subject"] is None else entry["subject"],
        version=1 if entry["version"] is None else entry["version"],
        type=kind,
        text=text,
        references=tuple(Reference(**each) for each in entry["references"]),
        metadata=entry["metadata"],
        rules=entry["ruleSet"],
        state=RegistryState.DELETED if entry["deleted"] else RegistryState.LIVE,
        md5=entry["md5"],
    )
