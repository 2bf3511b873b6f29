"""Made increments of a lake: the rows of each are known by its number."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kafkaspec.lake.base import Lake
from kafkaspec.lake.epochs import commit, finish, folders, write_manifest
from kafkaspec.lake.manifest import LakeFile, Manifest, Mark
from kafkaspec.lake.schema import BATCHES, DEAD, PROGRESS, RAW, SCHEMAS, folder, typed_schema

ROWS: Final = 6
"""Rows of a partition in an increment."""
LOGS: Final = (("a", 0), ("a", 1), ("b.c_d-e", 0))
TYPED: Final = "typed_a"
TYPED_SCHEMA: Final = typed_schema(
    [
        pa.field("name", pa.string()),
        pa.field("amount", pa.int32()),
        pa.field("offset", pa.int64()),
    ]
)
START: Final = datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)


def columns(table: str) -> pa.Schema:
    return SCHEMAS.get(table, TYPED_SCHEMA)


def rows(table: str, epoch: int) -> list[dict[str, Any]]:
    """The rows of a table that an increment adds."""
    return list(_rows(table, epoch))


def _rows(table: str, epoch: int) -> Iterator[dict[str, Any]]:
    for topic, partition in LOGS:
        log = {"topic": topic, "topic_id": None, "partition": partition, "generation": 0}
        log["epoch"] = epoch
        first = (epoch - 1) * ROWS
        if table == PROGRESS:
            yield {**log, "next_offset": first + ROWS, "leader_epoch": -1, "rows": ROWS}
        if table == BATCHES:
            yield {**log, "base_offset": first, "last_offset": first + ROWS - 1, "records": ROWS}
        if table == DEAD and epoch % 2:  # so that some increments add nothing to a table
            yield {**log, "offset": first, "reason": "invalid_value", "value": b"\xff"}
        if table not in (RAW, TYPED) or (table == TYPED and topic != "a"):
            continue
        for offset in range(first, first + ROWS):
            time = None if offset % 3 == 2 else START + timedelta(hours=offset % 5)
            day = None if time is None else time.date()
            if table == TYPED:
                yield {**log, "day": day, "offset": offset, "name": f"n{offset}", "amount": offset}
                continue
            yield {
                **log,
                "day": day,
                "offset": offset,
                "timestamp": time,
                "key": b"k" if offset % 2 else None,
                "value": bytes([offset % 256]) * 3,
                "headers": [{"key": "h", "value": None}] if offset % 4 == 0 else [],
                "transactional": False,
                "batch_base_offset": first,
            }


def expected(table: str, epochs: int, first: int = 1) -> list[dict[str, Any]]:
    """All rows of a table after so many increments, as ``read`` returns them."""
    schema = columns(table)
    found = [row for epoch in range(first, epochs + 1) for row in rows(table, epoch)]
    return ordered(pa.Table.from_pylist(found, schema=schema))


def ordered(table: pa.Table) -> list[dict[str, Any]]:
    names = sorted(table.column_names)
    return sorted(table.select(names).to_pylist(), key=repr)


def read(lake: Lake, table: str) -> list[dict[str, Any]]:
    return ordered(lake.table(table).scan().read_all())


def write(lake: Lake, mark: Mark, tables: tuple[str, ...] = (*SCHEMAS, TYPED)) -> Manifest:
    """Write the files of an increment and its manifest, and commit nothing."""
    files = [file for table in tables for file in written(lake, mark, table)]
    manifest = Manifest(mark, tuple(files))
    write_manifest(lake, manifest)
    return manifest


def written(
    lake: Lake, mark: Mark, table: str, schema: pa.Schema | None = None
) -> Iterator[LakeFile]:
    """Write the files of a table, one for each folder, as tasks do."""

    def values(row: dict[str, Any]) -> list[Any]:
        return [row[name] for name in folders(table)]

    found = sorted(rows(table, mark.epoch), key=lambda row: repr(values(row)))
    for number, (parts, group) in enumerate(groupby(found, values)):
        named = dict(zip(folders(table), parts, strict=True))
        path = f"{table}/{folder(named)}{mark.epoch}-{mark.run}-{number}.parquet"
        content = pa.Table.from_pylist(list(group), schema=schema or columns(table))
        sink = pa.BufferOutputStream()
        pq.write_table(content, sink, compression="zstd")
        data = sink.getvalue().to_pybytes()
        lake.store.write(path, data)
        yield LakeFile(table, path, len(data), content.num_rows, named)


def drive(lake: Lake) -> Mark:
    """Do what a driver does: finish what is pending, then add the next increment."""
    known = finish(lake)
    mark = Mark.new(1 if known is None else known.epoch + 1)
    commit(lake, write(lake, mark))
    return mark
