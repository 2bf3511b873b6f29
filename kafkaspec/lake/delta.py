"""Tables of Delta, by deltalake: files that are there already are added in the driver."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from kafkaspec.lake.base import ATTEMPTS, EPOCH, RUN, Lake, LakeCondition, LakeTable
from kafkaspec.lake.manifest import RUN_DIGITS, LakeFile, Mark

_LOG: Final = "_delta_log"
_THREADS: Final = 16


class DeltaLake(Lake):
    """Tables of Delta in one place."""

    to = "delta"

    def table(self, name: str) -> LakeTable:
        """See ``Lake.table``."""
        return DeltaLakeTable(self.store, name)

    def tables(self) -> list[str]:
        """See ``Lake.tables``."""
        return [
            name
            for name in self.store.names()
            if name[0] not in "._" and self.store.exists(f"{name}/{_LOG}")
        ]


class DeltaLakeTable(LakeTable):
    """A table of Delta."""

    def mark(self) -> Mark | None:
        """See ``LakeTable.mark``."""
        table = self._open(without_files=True)
        return None if table is None else self._mark(table)

    def schema(self) -> pa.Schema | None:
        """See ``LakeTable.schema``."""
        table = self._open(without_files=True)
        return None if table is None else pa.schema(table.schema().to_arrow())

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
        raise NotImplementedError

    def scan(
        self, columns: Sequence[str] | None = None, where: Sequence[LakeCondition] = ()
    ) -> pa.RecordBatchReader:
        """See ``LakeTable.scan``."""
        with self._store.failing(self.name):
            table = self._open()
            if table is None:
                return pa.RecordBatchReader.from_batches(pa.schema([]), [])
            filters = pq.filters_to_expression([where]) if where else None
            dataset = table.to_pyarrow_dataset()
            return dataset.scanner(columns=columns, filter=filters).to_reader()

    def files(self) -> list[LakeFile]:
        """See ``LakeTable.files``."""
        raise NotImplementedError

    def _open(self, *, without_files: bool = False) -> DeltaTable | None:
        with self._store.failing(self.name):
            try:
                return DeltaTable(
                    self.place,
                    storage_options=self._store.delta_options(),
                    without_files=without_files,
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
            return None
        return Mark(epoch, "" if run is None else f"{run:0{RUN_DIGITS}x}")

    def _actions(
        self, files: Sequence[LakeFile], folders: Sequence[str]
    ) -> list[AddAction | RemoveAction]:
        now = int(datetime.now(UTC).timestamp() * 1000)

        def action(file: LakeFile) -> AddAction:
            return AddAction(
                file.path.removeprefix(f"{self.name}/"),
                file.size,
                {name: _text(file.values.get(name)) for name in folders},
                now,
                True,
                json.dumps({"numRecords": file.rows}),
            )

        return [action(file) for file in files]


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _properties(mark: Mark) -> CommitProperties:
    marks = [Transaction(EPOCH, mark.epoch), Transaction(RUN, int(mark.run, 16))]
    return CommitProperties(
        custom_metadata={EPOCH: mark.epoch, RUN: mark.run}, app_transactions=marks
    )
