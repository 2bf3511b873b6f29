"""Write the Parquet files of a lake: in folders by partition, as large as is asked for, whole.

A file appears under its name when it is complete. A name has the increment, the run and a number
that no other attempt of a task has, so that nothing is ever replaced.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import IO, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from kafkaspec.io.remote import RemotePath, as_path
from kafkaspec.lake.manifest import LakeFile, Mark
from kafkaspec.lake.schema import folder
from kafkaspec.output.atomic import file_aside

GROUP_BYTES: Final = 32 << 20
"""Bytes of columns in a row group: with larger ones, a task takes more memory."""
HELD_BYTES: Final = 64 << 20
"""Most bytes of columns that wait for their row groups, in all open files."""
MOST_OPEN: Final = 64
"""Files that are open at a time; each has its own buffers."""

Values = tuple[Any, ...]


@dataclass(slots=True)
class _Open:
    """A file in the making, and the rows that wait for its next row group."""

    path: str
    file: IO[bytes]
    writer: parquet.ParquetWriter
    closing: ExitStack
    rows: int = 0
    waiting: list[pa.RecordBatch] = field(default_factory=list)
    held: int = 0

    def flush(self) -> int:
        """Write the rows that wait, as a row group, and return their bytes."""
        held, self.held = self.held, 0
        if self.waiting:
            self.writer.write_table(pa.Table.from_batches(self.waiting), 1 << 30)
            self.waiting.clear()
        return held


class LakeWriter:
    """Writes the rows of one attempt of a task; ``abort`` leaves none of its open files.

    Args:
        place: directory or URL of the lake.
        mark: the increment and the run.
        file_size: bytes after which a file ends.
    """

    def __init__(self, place: str, mark: Mark, file_size: int) -> None:
        self._place = place.rstrip("/")
        self._name = f"{mark.epoch}-{mark.run}-{uuid.uuid4().hex[:12]}"
        self._file_size = file_size
        self._open: dict[tuple[str, Values], _Open] = {}
        self._finished: list[LakeFile] = []
        self._folders: dict[str, Sequence[str]] = {}
        self._count = 0
        self._held = 0

    def write(
        self,
        table: str,
        folders: Sequence[str],
        batch: pa.RecordBatch,
        known: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Take rows of a table.

        Args:
            table: its name.
            folders: names of the columns that divide the rows.
            batch: the rows.
            known: values of columns that are the same in all of them, as far as that is known.
        """
        self._folders[table] = folders
        for values, rows in _divided(batch, folders, known):
            key = table, values
            opened = self._opened(key, batch.schema)
            opened.waiting.append(rows)
            opened.rows += rows.num_rows
            size = rows.nbytes
            opened.held += size
            self._held += size
            if opened.held >= GROUP_BYTES:
                self._held -= opened.flush()
                if opened.file.tell() >= self._file_size:
                    self._close(key)
        while self._held > HELD_BYTES:
            self._held -= max(self._open.values(), key=lambda each: each.held).flush()

    def finish(self) -> tuple[LakeFile, ...]:
        """Complete all files, and return those of this attempt."""
        while self._open:
            self._close(next(iter(self._open)))
        return tuple(self._finished)

    def abort(self) -> None:
        """Remove the open files; complete ones stay, as orphans that no manifest names."""
        error = RuntimeError("the task failed")
        while self._open:
            _, opened = self._open.popitem()
            with suppress(Exception):  # one is raised already
                opened.writer.close()
                opened.closing.__exit__(RuntimeError, error, None)

    def _opened(self, key: tuple[str, Values], schema: pa.Schema) -> _Open:
        found = self._open.pop(key, None)
        if found is None:
            if len(self._open) >= MOST_OPEN:
                self._close(next(iter(self._open)))
            table, values = key
            place = folder(dict(zip(self._folders[table], values, strict=True)))
            path = f"{table}/{place}{self._name}-{self._count}.parquet"
            self._count += 1
            with ExitStack() as closing:
                file = closing.enter_context(_created(self._place, path))
                leaves = [leaf for item in schema for leaf in _leaves(item.name, item.type)]
                writer = parquet.ParquetWriter(
                    file,
                    schema,
                    compression="zstd",
                    coerce_timestamps="us",
                    use_dictionary=[leaf for leaf in leaves if leaf not in _PLAIN],
                    dictionary_pagesize_limit=_DICTIONARY_BYTES,
                )
                found = _Open(path, file, writer, closing.pop_all())
        self._open[key] = found  # the last one used is the last one closed
        return found

    def _close(self, key: tuple[str, Values]) -> None:
        opened = self._open.pop(key)
        with opened.closing:
            self._held -= opened.flush()
            opened.writer.close()
            size = opened.file.tell()
        table, values = key
        folders: Mapping[str, object] = dict(zip(self._folders[table], values, strict=True))
        self._finished.append(LakeFile(table, opened.path, size, opened.rows, folders))


def _divided(
    batch: pa.RecordBatch, folders: Sequence[str], known: Mapping[str, Any]
) -> Iterator[tuple[Values, pa.RecordBatch]]:
    """Yield the rows of each folder, in their order."""
    if not batch.num_rows:
        return
    unknown = next((name for name in folders if name not in known), None)
    if unknown is None:
        yield tuple(known[name] for name in folders), batch
        return
    column = batch.column(unknown)
    found = column.unique()
    for scalar in found:
        rows = batch
        if len(found) > 1:
            same = pc.equal(column, scalar) if scalar.is_valid else column.is_null()
            rows = batch.filter(same)
        yield from _divided(rows, folders, {**known, unknown: scalar.as_py()})


_DICTIONARY_BYTES: Final = 64 << 10
"""Bytes of a dictionary after which the rest of a row group is written plain. Where values do not
repeat, a larger one takes time and room: with the default of PyArrow, 1 MiB, columns of orders take
1.6 times as long to write and 1.3 times as many bytes."""
_PLAIN: Final = frozenset(("offset", "timestamp", "own_timestamp", "position", "crc", "payload"))
"""Columns whose values do not repeat."""


def _leaves(path: str, kind: pa.DataType) -> Iterator[str]:
    """Yield the names in Parquet of what is in a column."""
    if pa.types.is_struct(kind):
        for item in kind:
            yield from _leaves(f"{path}.{item.name}", item.type)
    elif pa.types.is_map(kind):
        yield from _leaves(f"{path}.key_value.key", kind.key_type)
        yield from _leaves(f"{path}.key_value.value", kind.item_type)
    elif pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    else:
        yield path


def is_date(days: int) -> bool:
    """Return whether a number of days since the Unix epoch is a date that names a folder."""
    return _FIRST <= days <= _LAST


_UNIX: Final = date(1970, 1, 1).toordinal()
_FIRST: Final = date.min.toordinal() - _UNIX
_LAST: Final = date.max.toordinal() - _UNIX


@contextmanager
def _created(place: str, path: str) -> Iterator[IO[bytes]]:
    """Create a file of a lake, which appears when all is written, or not at all."""
    target = as_path(f"{place}/{path}")
    if isinstance(target, RemotePath):
        with target.created() as file:
            yield file
        return
    os.makedirs(target.parent, exist_ok=True)
    with file_aside(target, replace=False) as file:
        yield file
