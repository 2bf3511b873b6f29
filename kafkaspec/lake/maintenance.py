"""Maintenance of a lake: files that are too small, that nothing names, and old snapshots.

Marks of increments stay: a new file has rows that its table had, and each commit is one of the
table's format that says nothing about an increment, or says the newest one again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from time import time
from typing import Final

import pyarrow.dataset as ds
import pyarrow.parquet as pq

from kafkaspec.lake.base import Lake, LakeTable
from kafkaspec.lake.epochs import EPOCHS, finish, folders
from kafkaspec.lake.manifest import LakeFile, Mark
from kafkaspec.lake.parquet import LakeWriter
from kafkaspec.lake.schema import SCHEMAS, typed_schema
from kafkaspec.lake.store import THREADS

__all__ = ["maintain"]

FILE_SIZE: Final = 512 << 20
"""Bytes of a file, about."""
AGE: Final = timedelta(days=7)
"""Files that nothing names are removed after it: a run that writes them must have ended."""
_MEMORY: Final = 1 << 30
"""Most bytes of rows in memory, before compression: rows of one new file are sorted in it."""
_FILES: Final = 64
"""New files in a commit."""
_ORDER: Final = (
    ("topic", "ascending"),
    ("partition", "ascending"),
    ("generation", "ascending"),
    ("epoch", "ascending"),
    ("file", "ascending"),
    ("position", "ascending"),
    ("offset", "ascending"),
)
"""The order of rows."""


@dataclass(frozen=True, slots=True)
class Maintained:
    """Says what maintenance did to a table.

    Attributes:
        table: its name.
        merged: number of small files whose rows are in others now ...
        made: ... and of those others.
        orphans: paths of files that were removed, since no snapshot that is kept names them.
        expired: number of snapshots, or files of the log, that were removed.
    """

    table: str
    merged: int = 0
    made: int = 0
    orphans: tuple[str, ...] = ()
    expired: int = 0


def maintain(
    lake: Lake, *, file_size: int = FILE_SIZE, age: timedelta = AGE
) -> tuple[Maintained, ...]:
    """Finish what is pending, merge small files, expire snapshots and remove files without use.

    Args:
        lake: that no other program maintains now; drivers may add to it.
        file_size: bytes of a file, about; files of less than half of it are merged.
        age: of snapshots that expire, and of files that are removed.

    Returns:
        What was done, table by table, and to manifests.

    Raises:
        KafkaSpecError: ``unreadable``.
    """
    mark = finish(lake)
    if mark is None:
        return ()
    before = time() - age.total_seconds()
    done = []
    for name in lake.tables():
        table = lake.table(name)
        merged, made = _merge(lake, table, mark, file_size)
        expired = table.expire(before)
        orphans = (*table.clean(before), *_leftovers(lake, name, before))
        done.append(Maintained(name, merged, made, orphans, expired))
    return (*done, Maintained(EPOCHS, orphans=tuple(_manifests(lake, mark, before))))


def _merge(lake: Lake, table: LakeTable, mark: Mark, file_size: int) -> tuple[int, int]:
    """Merge small files of a table; return how many, and how many there are instead."""
    merged = made = 0
    old: list[LakeFile] = []
    new: list[LakeFile] = []
    packs = list(_packs(lake, table.files(), file_size))
    for number, pack in enumerate(packs, 1):
        old += pack
        new += _rewritten(lake, table, pack, mark, file_size)
        if len(new) < _FILES and number < len(packs):
            continue
        if table.replace(old, new, mark):
            merged, made = merged + len(old), made + len(new)
        else:  # another program has replaced some
            for file in new:
                lake.store.remove(file.path)
        old, new = [], []
    return merged, made


def _packs(lake: Lake, files: Sequence[LakeFile], file_size: int) -> Iterator[list[LakeFile]]:
    """Yield the files to merge into one, in the order of their increments."""
    groups: dict[tuple[object, ...], list[LakeFile]] = {}
    for file in files:
        if file.size < file_size // 2:
            groups.setdefault(tuple(file.values.values()), []).append(file)
    for group in groups.values():
        if len(group) < 2:
            continue
        group.sort(key=_turn)
        pack: list[LakeFile] = []
        size = memory = 0
        for file, rows in zip(group, _memory(lake, group), strict=True):
            if pack and (size + file.size > file_size or memory + rows > _MEMORY):
                if len(pack) > 1:
                    yield pack
                pack, size, memory = [], 0, 0
            pack.append(file)
            size, memory = size + file.size, memory + rows
        if len(pack) > 1:
            yield pack


def _turn(file: LakeFile) -> tuple[int, str]:
    name = file.path.rpartition("/")[2]
    epoch = name.partition("-")[0]
    return (int(epoch) if epoch.isdecimal() else 0, name)


def _memory(lake: Lake, files: Sequence[LakeFile]) -> list[int]:
    """Return the bytes that rows of files take before compression, by their footers."""

    def measured(file: LakeFile) -> int:
        with lake.store.failing(file.path):
            found = pq.read_metadata(lake.store.within(file.path), filesystem=lake.store.filesystem)
        return sum(
            found.row_group(number).total_byte_size for number in range(found.num_row_groups)
        )

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(measured, files))


def _rewritten(
    lake: Lake, table: LakeTable, pack: Sequence[LakeFile], mark: Mark, file_size: int
) -> tuple[LakeFile, ...]:
    """Write the rows of files of one directory again."""
    schema = table.schema()
    assert schema is not None
    with lake.store.failing(table.name):
        rows = ds.dataset(
            [lake.store.within(file.path) for file in pack],
            schema=schema,
            format="parquet",
            filesystem=lake.store.filesystem,
        ).to_table()
        # A typed table may have columns of its topic with such names.
        known = SCHEMAS.get(table.name, typed_schema(())).names
        order = [item for item in _ORDER if item[0] in known]
        writer = LakeWriter(lake.place, Mark.new(mark.epoch), file_size)
        try:
            for batch in rows.sort_by(order).combine_chunks().to_batches():
                writer.write(table.name, folders(table.name), batch)
        except BaseException:
            writer.abort()
            raise
        return writer.finish()


def _leftovers(lake: Lake, name: str, before: float) -> Iterator[str]:
    """Remove files of tasks that died, which have not got their names yet."""
    for file in lake.store.files(name):
        base = file.path.rpartition("/")[2]
        if base.startswith(".") and base.endswith(".part") and file.modified < before:
            lake.store.remove(file.path)
            yield file.path


def _manifests(lake: Lake, mark: Mark, before: float) -> Iterator[str]:
    """Remove manifests of increments before the newest one."""
    for file in lake.store.files(EPOCHS):
        epoch = file.path.rpartition("/")[2].partition("-")[0]
        if file.modified < before and not (epoch.isdecimal() and int(epoch) >= mark.epoch):
            lake.store.remove(file.path)
            yield file.path
