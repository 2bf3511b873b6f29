"""Tables of Delta, by deltalake: files that are there already are added in the driver."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import reduce
from operator import and_
from time import time
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from kafkaspec.errors import unreadable
from kafkaspec.lake.base import ATTEMPTS, EPOCH, RUN, Lake, LakeCondition, LakeScan, LakeTable
from kafkaspec.lake.evolution import evolved
from kafkaspec.lake.manifest import DELTA_LOG, RUN_DIGITS, LakeFile, Mark
from kafkaspec.lake.shapes import plain_rows, plain_schema
from kafkaspec.lake.store import THREADS, Store

_ESCAPE: Final = re.compile("%[0-9A-Fa-f]{2}")
_BOUNDED: Final = frozenset(
    {"partition", "generation", "epoch", "offset", "timestamp", "base_offset"}
)
"""Columns by whose bounds readers skip files."""


class DeltaLake(Lake):
    """Tables of Delta in one place."""

    to = "delta"

    def __init__(self, store: Store) -> None:
        """Refuse a place whose name deltalake takes for another.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        super().__init__(store)
        escape = _ESCAPE.search(self.place)
        if escape:
            what = f"deltalake does not find tables below a name with {escape[0]}; choose another"
            raise unreadable(self.place, what)

    def table(self, name: str) -> LakeTable:
        """See ``Lake.table``."""
        return DeltaLakeTable(self.store, name)

    def tables(self) -> list[str]:
        """See ``Lake.tables``."""
        return [
            name
            for name in self.store.names()
            if name[0] not in "._" and self.store.exists(f"{name}/{DELTA_LOG}")
        ]


class DeltaLakeTable(LakeTable):
    """A table of Delta."""

    widens = False

    def mark(self) -> Mark | None:
        """See ``LakeTable.mark``."""
        table = self._open()
        return None if table is None else self._mark(table)

    def schema(self) -> pa.Schema | None:
        """See ``LakeTable.schema``."""
        table = self._open()
        return None if table is None else plain_schema(pa.schema(table.schema().to_arrow()))

    def append(
        self, files: Sequence[LakeFile], mark: Mark, schema: pa.Schema, folders: Sequence[str]
    ) -> bool:
        """See ``LakeTable.append``."""
        with self._store.failing(self.name):
            actions = self._actions(files, folders)
            for attempt in range(ATTEMPTS):
                table = self._open() or self._create(schema, folders)
                # On the handle that commits: a commit after this look at it fails.
                if self._has(self._mark(table), mark):
                    return False
                try:
                    table.create_write_transaction(
                        actions,
                        "append",
                        table.schema(),
                        partition_by=list(folders),
                        commit_properties=_properties(mark),
                    )
                    return True
                except CommitFailedError:
                    if attempt == ATTEMPTS - 1:
                        raise
        return False

    def evolve(self, schema: pa.Schema) -> bool:
        """See ``LakeTable.evolve``."""
        old = self.schema()
        if old is None or evolved(self.place, old, schema, widen=self.widens) == old:
            return False
        with self._store.failing(self.name):
            write_deltalake(
                self.place,
                evolved(self.place, old, schema, widen=self.widens).empty_table(),
                mode="append",
                schema_mode="merge",
                storage_options=self._store.delta_options(),
            )
        return True

    def scan(
        self, columns: Sequence[str] | None = None, where: Sequence[LakeCondition] = ()
    ) -> pa.RecordBatchReader:
        """See ``LakeTable.scan``."""
        return self.scanner()(columns, where)

    def scanner(self) -> LakeScan:
        """See ``LakeTable.scanner``."""
        with self._store.failing(self.name):
            table = self._open()
            dataset = None if table is None else table.to_pyarrow_dataset()
            folders = () if table is None else table.metadata().partition_columns

        def scan(
            columns: Sequence[str] | None = None, where: Sequence[LakeCondition] = ()
        ) -> pa.RecordBatchReader:
            if dataset is None:
                return pa.RecordBatchReader.from_batches(pa.schema([]), [])
            parts = [_condition(item, _BOUNDED.union(folders)) for item in where]
            names = None if columns is None else list(columns)
            with self._store.failing(self.name):
                filters = reduce(and_, parts) if parts else None
                return plain_rows(dataset.scanner(names, filter=filters).to_reader(), columns)

        return scan

    def files(self) -> list[LakeFile]:
        """See ``LakeTable.files``."""
        with self._store.failing(self.name):
            table = self._open()
            if table is None:
                return []
            return [
                LakeFile(
                    self.name,
                    f"{self.name}/{item['path']}",
                    item["size_bytes"],
                    item["num_records"],
                    item.get("partition", {}),
                )
                for item in pa.table(table.get_add_actions()).to_pylist()
            ]

    def replace(self, old: Sequence[LakeFile], new: Sequence[LakeFile], mark: Mark) -> bool:
        """See ``LakeTable.replace``."""
        now = int(time() * 1000)
        with self._store.failing(self.name):
            for attempt in range(ATTEMPTS):
                table = self._open()
                if table is None:
                    return False
                names = list(table.metadata().partition_columns)
                known = set(pa.table(table.get_add_actions())["path"].to_pylist())
                paths = [file.path.removeprefix(f"{self.name}/") for file in old]
                if not known.issuperset(paths):
                    return False
                removed = [
                    RemoveAction(path, False, now, file.size, _texts(file, names))
                    for path, file in zip(paths, old, strict=True)
                ]
                try:
                    table.create_write_transaction(
                        [*self._actions(new, names, change=False), *removed],
                        "append",
                        table.schema(),
                        partition_by=names,
                    )
                    return True
                except CommitFailedError:
                    if attempt == ATTEMPTS - 1:
                        raise
        return False

    def overwrite(self, rows: pa.Table) -> None:
        """Put rows in the place of all that are there, in one commit; create the table."""
        with self._store.failing(self.name):
            write_deltalake(
                self.place, rows, mode="overwrite", storage_options=self._store.delta_options()
            )

    def expire(self, before: float) -> int:
        """See ``LakeTable.expire``: Delta keeps its log as long as the table's properties say."""
        with self._store.failing(self.name):
            log = self._store.files(f"{self.name}/{DELTA_LOG}")
            table = self._open()
            if table is None or not any(file.modified < before for file in log):
                return 0
            table.cleanup_metadata()
            return len(log) - len(self._store.files(f"{self.name}/{DELTA_LOG}"))

    def clean(self, before: float) -> list[str]:
        """See ``LakeTable.clean``."""
        with self._store.failing(self.name):
            table = self._open()
            if table is None:
                return []
            hours = int((time() - before) // 3600)

            def vacuum(*, dry_run: bool) -> list[str]:
                return table.vacuum(hours, dry_run, enforce_retention_duration=False, full=True)

            # A vacuum is two commits, so that it waits until there is something.
            found = vacuum(dry_run=False) if vacuum(dry_run=True) else []
            return [f"{self.name}/{path}" for path in found]

    def _open(self) -> DeltaTable | None:
        with self._store.failing(self.name):
            try:
                return DeltaTable(
                    self.place,
                    storage_options=self._store.delta_options(),
                )
            except TableNotFoundError:
                return None

    def _create(self, schema: pa.Schema, folders: Sequence[str]) -> DeltaTable:
        try:
            return DeltaTable.create(
                self.place,
                schema,
                mode="error",
                partition_by=list(folders),
                storage_options=self._store.delta_options(),
            )
        except Exception:  # its kind differs; another run may have created it
            table = self._open()
            if table is None:
                raise
            return table

    def _mark(self, table: DeltaTable) -> Mark | None:
        epoch, run = (table.transaction_version(name) for name in (EPOCH, RUN))
        if epoch is None:
            return self._counted()
        return Mark(epoch, "" if run is None else f"{run:0{RUN_DIGITS}x}")

    def _actions(
        self, files: Sequence[LakeFile], folders: Sequence[str], *, change: bool = True
    ) -> list[AddAction | RemoveAction]:
        now = int(time() * 1000)

        def action(file: LakeFile) -> AddAction:
            return AddAction(
                file.path.removeprefix(f"{self.name}/"),
                file.size,
                _texts(file, folders),
                now,
                change,
                json.dumps({"numRecords": file.rows, **self._bounds(file, folders)}),
            )

        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(action, files))

    def _bounds(self, file: LakeFile, folders: Sequence[str]) -> dict[str, dict[str, object]]:
        """Return the bounds of a file's columns from its footer, by which readers skip it."""
        place = self._store.within(file.path)
        with self._store.failing(file.path):
            found = pq.read_metadata(place, filesystem=self._store.filesystem)
        least: dict[str, object] = {}
        most: dict[str, object] = {}
        nulls: dict[str, object] = {}
        groups = [found.row_group(number) for number in range(found.num_row_groups)]
        for number in range(found.num_columns if groups else 0):
            name = groups[0].column(number).path_in_schema
            if name not in _BOUNDED or name in folders:
                continue
            chunks = [group.column(number) for group in groups]
            columns = [chunk.statistics for chunk in chunks]
            if any(column is None for column in columns):
                continue
            nulls[name] = sum(column.null_count for column in columns)
            bounds = [column for column in columns if column.has_min_max]
            if bounds:
                least[name] = _bound(min(column.min for column in bounds))
                most[name] = _bound(max(column.max for column in bounds), up=True)
        return {"minValues": least, "maxValues": most, "nullCount": nulls}


def _texts(file: LakeFile, folders: Sequence[str]) -> dict[str, str | None]:
    values = {name: file.values.get(name) for name in folders}
    return {name: None if value is None else str(value) for name, value in values.items()}


def _bound(value: object, *, up: bool = False) -> object:
    """Return a bound as JSON: times in ms, as Delta says, and not above or below the value."""
    if isinstance(value, datetime):
        more = timedelta(microseconds=-value.microsecond % 1000 if up else 0)
        return (value + more).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value


_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "in": lambda field, values: field.isin(values),
}  # fmt: skip


def _condition(item: LakeCondition, bounded: Collection[str]) -> pc.Expression:
    """Return a condition; one on a column without bounds must not look at them.

    deltalake takes bounds that are not there for null, so that PyArrow would skip every file.
    """
    name, how, value = item
    field = pc.field(name)
    return _OPERATORS[how](field if name in bounded else pc.coalesce(field), value)


def _properties(mark: Mark) -> CommitProperties:
    marks = [Transaction(EPOCH, mark.epoch), Transaction(RUN, int(mark.run, 16))]
    return CommitProperties(
        custom_metadata={EPOCH: mark.epoch, RUN: mark.run}, app_transactions=marks
    )
