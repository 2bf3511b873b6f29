"""Write schemas as files with a list of them, which ``SchemaLog.open`` reads again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, Final
from urllib.parse import quote

import orjson

from kafkaspec.values.definition import SchemaError
from kafkaspec.values.registry.files import LIST, SUFFIXES
from kafkaspec.values.registry.log import SchemaLog
from kafkaspec.values.registry.schema import Schema

_LONGEST: Final = 120
"""Characters of a part of the name of a file."""

_SUFFIX: Final[dict[str, str]] = {kind: suffix for suffix, kind in SUFFIXES.items()}


def write_texts(
    log: SchemaLog, chosen: Iterable[Schema], write: Callable[[str, bytes], None]
) -> None:
    """Write schemas, and all that they import, as files, and the list ``schemas.json``.

    What is imported has the name by which it is, so that other tools find it; if that is taken, or
    by several schemas that were chosen, it has the name of its subject and version.
    """
    roots = list(dict.fromkeys(chosen))
    wanted: dict[Schema, str] = dict.fromkeys(roots, "")
    todo = list(roots)
    while todo:
        schema = todo.pop()
        for reference in schema.references:
            try:
                other = log.referred(schema, reference)
            except SchemaError:  # one of the problems of the log
                continue
            if other not in wanted:
                wanted[other] = reference.name if len(roots) == 1 else ""
                todo.append(other)
    taken = {LIST}
    entries = []
    for schema, name in wanted.items():
        path = _free(_name(schema, name), schema, taken)
        write(path, schema.text.encode())
        entries.append(_entry(schema, path))
    write(LIST, orjson.dumps(entries, option=orjson.OPT_INDENT_2))


def _free(path: str, schema: Schema, taken: set[str]) -> str:
    """Return a path that no other file has, also where names are equal but for their case."""
    stem, dot, suffix = _name(schema, "").rpartition(".")
    number = 0
    while _blocked(path.lower(), taken):
        number += 1
        path = f"{stem}{f'~{number}' if number > 1 else ''}{dot}{suffix}"
    taken.add(path.lower())
    return path


def _blocked(path: str, taken: set[str]) -> bool:
    parts = path.split("/")
    above = {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
    return not above.isdisjoint(taken) or any(other.startswith(f"{path}/") for other in taken)


def _name(schema: Schema, imported: str) -> str:
    suffix = _SUFFIX.get(schema.type, ".txt")
    if imported:
        text = imported.removesuffix(suffix)
        return "/".join(map(_safe, text.split("/"))) + suffix
    subject = schema.subject.removesuffix(suffix)
    return f"{_safe(subject)}.{schema.version}{suffix}"


def _safe(text: str) -> str:
    """Return a part of a path that means nothing to any system."""
    name = quote(text, safe="")
    if name.startswith(".") or not name:
        name = f"%2E{name[1:]}"
    if len(name) > _LONGEST:
        digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
        name = f"{name[:_LONGEST]}-{digest[:8]}"
    return name


def _entry(schema: Schema, path: str) -> dict[str, Any]:
    entry = {
        "file": path,
        "id": schema.id,
        "subject": schema.subject,
        "version": schema.version,
        "type": schema.type,
        "references": [each._asdict() for each in schema.references],
        "metadata": schema.metadata,
        "ruleSet": schema.rules,
        "md5": schema.md5,
        "deleted": schema.deleted,
    }
    return {name: item for name, item in entry.items() if item not in (None, [], False)}
