"""Increments of a lake: each is in all its tables or, until the next start, on its way there.

The manifest names all files of an increment. Then the tables get them, each in one commit that has
the mark of the increment: the table of progress first, which decides the run that owns it, and raw
rows last. A run that dies after the first commit leaves an increment that any later one finishes;
before it, files that nothing names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kafkaspec.errors import unreadable
from kafkaspec.lake.base import Lake, LakeConflictError
from kafkaspec.lake.manifest import LakeFile, Manifest, Mark
from kafkaspec.lake.schema import (
    BATCHES,
    DEAD,
    FOLDERS,
    PROGRESS,
    RAW,
    RAW_SCHEMA,
    SCHEMAS,
    TYPED,
    TYPED_FOLDERS,
)

EPOCHS: Final = "_epochs"
"""Directory of the manifests."""
_VERSION: Final = 1


def write_manifest(lake: Lake, manifest: Manifest) -> str:
    """Write the manifest of an increment, which commits nothing; return its path in the lake."""
    path = _path(manifest.mark)
    content = {
        "version": _VERSION,
        "epoch": manifest.mark.epoch,
        "run": manifest.mark.run,
        "files": [
            {
                "table": file.table,
                "path": file.path,
                "size": file.size,
                "rows": file.rows,
                "values": {
                    name: None if value is None else str(value)
                    for name, value in file.values.items()
                },
            }
            for file in manifest.files
        ],
    }
    lake.store.write(path, json.dumps(content).encode())
    return path


def read_manifest(lake: Lake, mark: Mark) -> Manifest:
    """Read the manifest of an increment.

    Raises:
        KafkaSpecError: ``unreadable``.
    """
    path = _path(mark)
    try:
        content = json.loads(lake.store.read(path))
        if content["version"] != _VERSION:
            what = f"its version is {content['version']}, and only {_VERSION} is known"
            raise unreadable(lake.store.url(path), what)
        if (content["epoch"], content["run"]) != (mark.epoch, mark.run):
            raise ValueError("it is of another increment")
        files = tuple(map(_file, content["files"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        what = f"it is not a manifest of an increment: {error!r}"
        raise unreadable(lake.store.url(path), what) from error
    return Manifest(mark, files)


def commit(lake: Lake, manifest: Manifest) -> list[str]:
    """Add the files of an increment to the tables that have not got it.

    Args:
        lake: where the files and the manifest are.
        manifest: of the increment.

    Returns:
        The tables that got files.

    Raises:
        LakeConflictError: another run owns the increment, or a later one; nothing was added.
        KafkaSpecError: ``unreadable``, or ``unencodable`` if a table cannot get the columns.
    """
    files: dict[str, list[LakeFile]] = {}
    for file in manifest.files:
        files.setdefault(file.table, []).append(file)
    if PROGRESS not in files:
        place = lake.store.url(_path(manifest.mark))
        raise unreadable(place, f"the increment has no file of {PROGRESS}")
    _check(lake, manifest)
    schemas = {name: SCHEMAS.get(name) or _schema(lake, files[name]) for name in files}
    for name, schema in schemas.items():
        if name not in SCHEMAS:
            lake.table(name).evolve(schema)  # before the first commit: it may be refused
    done = []
    for name in sorted(files, key=_turn):
        table = lake.table(name)
        if table.append(files[name], manifest.mark, schemas[name], folders(name)):
            done.append(name)
        elif name == PROGRESS:
            known = table.mark()
            if known is not None and known.epoch > manifest.mark.epoch:
                raise LakeConflictError(lake.place, manifest.mark, known)
    return done


def _check(lake: Lake, manifest: Manifest) -> None:
    """Check before the first commit that all files are there, since it cannot be taken back."""
    sizes = lake.store.sizes([file.path for file in manifest.files])
    for file, size in zip(manifest.files, sizes, strict=True):
        if size != file.size:
            found = "it is not there" if size is None else f"it has {size:,} bytes"
            what = f"{found}, and the manifest says {file.size:,} bytes"
            raise unreadable(lake.store.url(file.path), what)


def newest(lake: Lake) -> tuple[Mark | None, Manifest | None]:
    """Return the newest increment, and its files if one of its tables has not got it.

    The next increment must not be planned before it is in all of them: a table that has the next
    one does not take it any more.
    """
    mark = lake.table(PROGRESS).mark()
    if mark is None:
        return None, None
    manifest = read_manifest(lake, mark if mark.run else _owner(lake, mark))
    for name in {file.table for file in manifest.files}:
        known = lake.table(name).mark()
        if known is None or known.epoch < mark.epoch:
            return mark, manifest
    return mark, None


def _owner(lake: Lake, mark: Mark) -> Mark:
    """Return the mark of an increment with its run, for a table that knows the number alone."""
    names = [name for name in lake.store.names(EPOCHS) if name.startswith(f"{mark.epoch}-")]
    if len(names) != 1:
        what = f"increment {mark.epoch} has {len(names)} manifests, and no table knows its run"
        raise unreadable(lake.store.url(EPOCHS), what)
    return Mark(mark.epoch, names[0].partition("-")[2].removesuffix(".json"))


def finish(lake: Lake) -> Mark | None:
    """Finish the newest increment if it is not in all its tables.

    Returns:
        Its mark, None if there is none. Another run may have begun one since.
    """
    mark, left = newest(lake)
    if left is not None:
        commit(lake, left)
    return mark


def folders(table: str) -> tuple[str, ...]:
    """Return the columns by which a table is partitioned."""
    return FOLDERS.get(table, TYPED_FOLDERS)


def _turn(table: str) -> tuple[int, str]:
    """Return the turn of a table: the fence, what explains the rows, and the rows."""
    first = (PROGRESS, BATCHES, DEAD)
    return (first.index(table) if table in first else 3 + (table == RAW), table)


def _path(mark: Mark) -> str:
    return f"{EPOCHS}/{mark.epoch}-{mark.run}.json"


def _file(item: Mapping[str, Any]) -> LakeFile:
    """Return a file from its text in a manifest; a table has files in its own directory only."""
    table, path = str(item["table"]), str(item["path"])
    is_known = table in SCHEMAS or table.startswith(TYPED)
    if not is_known or "/" in table or ".." in path.split("/") or not path.startswith(f"{table}/"):
        raise ValueError(f"{path} is not a file of a table")
    return LakeFile(table, path, int(item["size"]), int(item["rows"]), _values(item["values"]))


def _values(values: Mapping[str, Any]) -> dict[str, object]:
    """Return values from text, by the types of the columns."""
    return {
        name: pa.scalar(text, pa.string()).cast(RAW_SCHEMA.field(name).type).as_py()
        for name, text in values.items()
    }


def _schema(lake: Lake, files: list[LakeFile]) -> pa.Schema:
    """Return the columns of all files."""
    schemas = []
    for file in files:
        with lake.store.failing(file.path):
            place = lake.store.within(file.path)
            schemas.append(pq.read_schema(place, filesystem=lake.store.filesystem))
    return pa.unify_schemas([schema.remove_metadata() for schema in schemas])
