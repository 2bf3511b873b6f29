"""Tables of Iceberg, by PyIceberg: files that are there already are added in the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
from pyiceberg import expressions
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression
from pyiceberg.io.pyarrow import parquet_files_to_data_files
from pyiceberg.table import Table, TableProperties
from pyiceberg.types import DateType
from sqlalchemy import URL

from kafkaspec.errors import unreadable
from kafkaspec.lake.base import ATTEMPTS, EPOCH, RUN, Lake, LakeCondition, LakeTable
from kafkaspec.lake.evolution import evolved
from kafkaspec.lake.manifest import LakeFile, Mark
from kafkaspec.lake.shapes import plain_rows, plain_schema
from kafkaspec.lake.store import Store

_NAMESPACE: Final = "kafka"
CATALOG: Final = "catalog.db"
"""The catalogue of a local lake, in SQLite."""
_FENCE: Final = {TableProperties.COMMIT_NUM_RETRIES: "0"}
"""A second try would commit on top of the run that won, since appends do not conflict."""
_PROPERTIES: Final = {
    **_FENCE,
    TableProperties.MANIFEST_MERGE_ENABLED: "true",
    TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED: "true",
}
_OPERATORS: Final = {
    "=": expressions.EqualTo,
    "!=": expressions.NotEqualTo,
    "<": expressions.LessThan,
    "<=": expressions.LessThanOrEqual,
    ">": expressions.GreaterThan,
    ">=": expressions.GreaterThanOrEqual,
    "in": expressions.In,
}


class IcebergLake(Lake):
    """Tables of Iceberg in one place, and in one namespace of a catalogue."""

    to = "iceberg"

    def __init__(self, store: Store, catalog: Mapping[str, str] | None = None) -> None:
        """Open nothing yet.

        Args:
            store: the files.
            catalog: properties of PyIceberg's catalogue, and ``namespace`` and ``name``.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        super().__init__(store)
        properties = dict(catalog or {})
        self.namespace = properties.pop("namespace", _NAMESPACE)
        self._name = properties.pop("name", None)
        self._is_own = not properties and self._name is None
        if self._is_own and not store.local:
            what = "an Iceberg lake in a store needs a catalogue, such as --catalog uri=URL"
            raise unreadable(self.place, what)
        if self._is_own:
            uri = URL.create("sqlite", database=store.within(CATALOG)).render_as_string()
            properties = {"type": "sql", "uri": uri}
        self._properties = properties

    @cached_property
    def catalog(self) -> Catalog:
        """The catalogue; one of its own is made, and with it the directory."""
        if self.store.local:
            self.store.make()
        with self.store.failing():
            properties = {**self.store.iceberg_properties(), **self._properties}
            return load_catalog(self._name or "kafkaspec", **properties)

    def has_none(self) -> bool:
        """Return whether the lake's own catalogue does not exist yet, so that there is no table."""
        return self._is_own and not self.store.exists(CATALOG)

    def table(self, name: str) -> LakeTable:
        """See ``Lake.table``."""
        return IcebergLakeTable(self, name)

    def tables(self) -> list[str]:
        """See ``Lake.tables``."""
        with self.store.failing():
            if self.has_none() or not self.catalog.namespace_exists(self.namespace):
                return []
            return sorted(found[-1] for found in self.catalog.list_tables(self.namespace))


class IcebergLakeTable(LakeTable):
    """A table of Iceberg."""

    widens = True

    def __init__(self, lake: IcebergLake, name: str) -> None:
        """Look at nothing yet."""
        super().__init__(lake.store, name)
        self._lake = lake
        self._identifier = (lake.namespace, name)

    def mark(self) -> Mark | None:
        """See ``LakeTable.mark``."""
        table = self._open()
        return None if table is None else self._mark(table)

    def schema(self) -> pa.Schema | None:
        """See ``LakeTable.schema``."""
        table = self._open()
        return None if table is None else plain_schema(table.schema().as_arrow())

    def append(
        self, files: Sequence[LakeFile], mark: Mark, schema: pa.Schema, folders: Sequence[str]
    ) -> bool:
        """See ``LakeTable.append``."""
        paths = [self._url(file.path) for file in files]
        with self._store.failing(self.name):
            for attempt in range(ATTEMPTS):
                table = self._open() or self._create(schema, folders)
                # In the handle that commits: a commit after this look at it fails.
                if self._has(self._mark(table), mark):
                    return False
                try:
                    self._commit(table, paths, mark)
                    return True
                except CommitFailedException:
                    if attempt == ATTEMPTS - 1:
                        raise
        return False

    def _commit(self, table: Table, paths: list[str], mark: Mark) -> None:
        properties = {EPOCH: str(mark.epoch), RUN: mark.run}
        if any(table.properties.get(name) != value for name, value in _FENCE.items()):
            with table.transaction() as transaction:
                transaction.set_properties(_FENCE)
        with table.transaction() as transaction:
            transaction.set_properties(properties)  # they stay when the snapshot expires
            transaction.add_files(
                paths, snapshot_properties=properties, check_duplicate_files=False
            )

    def evolve(self, schema: pa.Schema) -> bool:
        """See ``LakeTable.evolve``."""
        old = self.schema()
        if old is None or evolved(self.place, old, schema, widen=self.widens) == old:
            return False
        with self._store.failing(self.name):
            table = self._lake.catalog.load_table(self._identifier)
            with table.update_schema() as update:
                update.union_by_name(evolved(self.place, old, schema, widen=self.widens))
        return True

    def scan(
        self, columns: Sequence[str] | None = None, where: Sequence[LakeCondition] = ()
    ) -> pa.RecordBatchReader:
        """See ``LakeTable.scan``."""
        with self._store.failing(self.name):
            table = self._open()
            if table is None:
                return pa.RecordBatchReader.from_batches(pa.schema([]), [])
            chosen = ("*",) if columns is None else tuple(columns)
            rows = table.scan(_expression(where), chosen).to_arrow_batch_reader()
            return plain_rows(rows, columns)

    def files(self) -> list[LakeFile]:
        """See ``LakeTable.files``."""
        with self._store.failing(self.name):
            table = self._open()
            if table is None:
                return []
            return [self._file(table, task.file) for task in table.scan().plan_files()]

    def replace(self, old: Sequence[LakeFile], new: Sequence[LakeFile], mark: Mark) -> bool:
        """See ``LakeTable.replace``; files to which another program added deletes stay."""
        with self._store.failing(self.name):
            for attempt in range(ATTEMPTS):
                table = self._open()
                if table is None:
                    return False
                tasks = {str(task.file.file_path): task for task in table.scan().plan_files()}
                found = [tasks.get(self._url(file.path)) for file in old]
                if any(task is None or task.delete_files for task in found):
                    return False
                urls = iter([self._url(file.path) for file in new])
                added = list(parquet_files_to_data_files(table.io, table.metadata, urls))
                known = self._mark(table)
                properties = {} if known is None else {EPOCH: str(known.epoch), RUN: known.run}
                try:
                    with (
                        table.transaction() as transaction,
                        transaction.update_snapshot(properties).overwrite() as change,
                    ):
                        for task in found:
                            if task is not None:
                                change.delete_data_file(task.file)
                        for file in added:
                            change.append_data_file(file)
                    return True
                except CommitFailedException:
                    if attempt == ATTEMPTS - 1:
                        raise
        return False

    def expire(self, before: float) -> int:
        """See ``LakeTable.expire``."""
        with self._store.failing(self.name):
            table = self._open()
            if table is None:
                return 0
            kept = {ref.snapshot_id for ref in table.refs().values()}
            old = [
                snapshot.snapshot_id
                for snapshot in table.snapshots()
                if snapshot.timestamp_ms < before * 1000 and snapshot.snapshot_id not in kept
            ]
            if old:
                table.maintenance.expire_snapshots().by_ids(old).commit()
            return len(old)

    def clean(self, before: float) -> list[str]:
        """See ``LakeTable.clean``."""
        with self._store.failing(self.name):
            files = self._store.files(self.name)  # before the table: what is added later is younger
            table = self._open()
            if table is None:
                return []
            named = self._named(table)
            places = {self._url(file.path): file for file in files}
            live = {str(task.file.file_path) for task in table.scan().plan_files()}
            if not live & places.keys() and live:
                what = f"its files are not below it, but at {min(live)}: nothing was removed"
                raise unreadable(self.place, what)
            orphans = [
                file.path
                for place, file in places.items()
                if place not in named and file.modified < before
            ]
            for path in orphans:
                self._store.remove(path)
            return orphans

    def _named(self, table: Table) -> set[str]:
        """Return the places of all files that the table names, of metadata too."""
        metadata = table.metadata
        inspect = table.inspect
        return {
            table.metadata_location,
            *(entry.metadata_file for entry in metadata.metadata_log),
            *(item.statistics_path for item in metadata.statistics),
            *(item.statistics_path for item in metadata.partition_statistics),
            *(snapshot.manifest_list for snapshot in table.snapshots()),
            *inspect.all_manifests()["path"].to_pylist(),
            *inspect.all_files()["file_path"].to_pylist(),
        }

    def _file(self, table: Table, file: Any) -> LakeFile:
        spec, schema = table.specs()[file.spec_id], table.schema()
        values: dict[str, object] = {}
        for number, field in enumerate(spec.fields):
            value = file.partition[number]
            if value is not None and isinstance(schema.find_type(field.source_id), DateType):
                value = date(1970, 1, 1) + timedelta(days=value)
            values[field.name] = value
        path = str(file.file_path).removeprefix(self._url(""))
        return LakeFile(self.name, path, file.file_size_in_bytes, file.record_count, values)

    def _url(self, path: str) -> str:
        """Return the location of a path, as the tables name it."""
        if not self._store.local or set("#?%") & set(self._store.place):
            return self._store.url() + "/" + path
        return f"file://{self._store.url()}/{path}"

    def _open(self) -> Table | None:
        if self._lake.has_none():
            return None
        with self._store.failing(self.name):
            try:
                return self._lake.catalog.load_table(self._identifier)
            except NoSuchTableError:
                return None

    def _create(self, schema: pa.Schema, folders: Sequence[str]) -> Table:
        catalog = self._lake.catalog
        catalog.create_namespace_if_not_exists(self._lake.namespace)
        try:
            with (
                catalog.create_table_transaction(
                    self._identifier, schema, location=self._url(self.name), properties=_PROPERTIES
                ) as transaction,
                transaction.update_spec() as spec,
            ):
                for name in folders:
                    spec.add_identity(name)
        except Exception:  # its kind differs; another run may have created it
            table = self._open()
            if table is None:
                raise
            return table
        return catalog.load_table(self._identifier)

    def _mark(self, table: Table) -> Mark | None:
        """Return the mark of the newest snapshot that has one, else what the table kept."""
        snapshot = table.current_snapshot()
        while snapshot is not None:
            summary = snapshot.summary
            if summary is not None and EPOCH in summary.additional_properties:
                return _parsed(summary.additional_properties)
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else table.snapshot_by_id(parent)
        known = _parsed(table.properties)
        return self._counted() if known is None and table.current_snapshot() else known


def _parsed(properties: Mapping[str, str]) -> Mark | None:
    epoch = properties.get(EPOCH)
    return None if epoch is None else Mark(int(epoch), properties.get(RUN, ""))


def _expression(where: Sequence[LakeCondition]) -> BooleanExpression:
    found: BooleanExpression = AlwaysTrue()
    for name, operator, value in where:
        found = And(found, _OPERATORS[operator](name, value))
    return found
