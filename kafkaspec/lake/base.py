"""Tables of a lake, whichever format they have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.lake.manifest import LakeFile, Mark
from kafkaspec.lake.store import Store

LakeCondition = tuple[str, str, object]
"""A column, one of ``= != < <= > >= in``, and a value."""

LakeScan = Callable[[Sequence[str] | None, Sequence[LakeCondition]], pa.RecordBatchReader]
"""``LakeTable.scan``."""

EPOCH: Final = "kafkaspec.epoch"
RUN: Final = "kafkaspec.run"
"""Names of a mark's parts in commits."""
ATTEMPTS: Final = 20
"""How often a commit is tried when commits of others, such as compactions, come between."""


class LakeConflictError(KafkaSpecError):
    """Another run took the increment."""

    def __init__(self, place: str, mark: Mark, known: Mark) -> None:
        """Say which run owns which increment."""
        detail = (
            f"increment {mark.epoch} belongs to another run: this is run {mark.run}, and the table "
            f"has increment {known.epoch} of run {known.run}; start again to go on after it"
        )
        super().__init__(detail, reason=Reason.CHANGED, file=place)


class LakeTable(ABC):
    """A table of a lake, which may not be there yet.

    Attributes:
        name: of the table.
        place: its directory or URL.
        widens: whether its format widens types of columns.
    """

    widens: ClassVar[bool]

    def __init__(self, store: Store, name: str) -> None:
        """Look at nothing yet."""
        self._store = store
        self.name = name
        self.place = store.url(name)

    @abstractmethod
    def mark(self) -> Mark | None:
        """Return the newest increment that it has, None without one."""

    @abstractmethod
    def schema(self) -> pa.Schema | None:
        """Return its columns, None if it is not there."""

    @abstractmethod
    def append(
        self, files: Sequence[LakeFile], mark: Mark, schema: pa.Schema, folders: Sequence[str]
    ) -> bool:
        """Add the files of an increment in one commit that has its mark, and create the table.

        Args:
            files: to add.
            mark: of the increment.
            schema: of the table, if it has to be created.
            folders: columns by which it is partitioned then.

        Returns:
            False if it has the increment already.

        Raises:
            LakeConflictError: it has the increment of another run.
            KafkaSpecError: ``unreadable``.
        """

    @abstractmethod
    def evolve(self, schema: pa.Schema) -> bool:
        """Add columns and widen types, so that files of a schema fit; return whether it did."""

    @abstractmethod
    def scan(
        self, columns: Sequence[str] | None = None, where: Sequence[LakeCondition] = ()
    ) -> pa.RecordBatchReader:
        """Read the rows for which all conditions hold; no rows if the table is not there."""

    def scanner(self) -> LakeScan:
        """Return what scans the rows that there are now, for many scans."""
        return self.scan

    @abstractmethod
    def files(self) -> list[LakeFile]:
        """Return the files that it has now."""

    @abstractmethod
    def replace(self, old: Sequence[LakeFile], new: Sequence[LakeFile], mark: Mark) -> bool:
        """Put files in the place of others that have the same rows, in one commit.

        Args:
            old: files of the table.
            new: files that are there already.
            mark: the newest increment of the lake.

        Returns:
            False, and nothing changed, if the table has not got all of the old files any more.
        """

    @abstractmethod
    def expire(self, before: float) -> int:
        """Remove snapshots or files of the log that are older; return how many."""

    @abstractmethod
    def clean(self, before: float) -> list[str]:
        """Remove files that are older and that no kept snapshot names; return their paths."""

    def _counted(self) -> Mark | None:
        """Return the mark by the rows, for a table that a program made again without its marks."""
        epochs = self.scan(["epoch"]).read_all()["epoch"]
        newest = pc.max(epochs).as_py()
        return None if newest is None else Mark(newest, "")

    def _has(self, known: Mark | None, mark: Mark) -> bool:
        """Return whether a table with a mark has an increment, and check that the run is the same.

        A table without rows of an increment is not committed to, so a later one stands for it.
        Only the progress table has all.
        """
        if known is None or known.epoch < mark.epoch:
            return False
        if known.epoch == mark.epoch and known.run not in ("", mark.run):
            raise LakeConflictError(self.place, mark, known)
        return True


class Lake(ABC):
    """Tables in one place.

    Attributes:
        place: directory or URL.
        to: the format, ``delta`` or ``iceberg``.
        store: its files.
    """

    to: str

    def __init__(self, store: Store) -> None:
        """Look at nothing yet."""
        self.store = store
        self.place = store.place

    @abstractmethod
    def table(self, name: str) -> LakeTable:
        """Return a table, which may not be there yet."""

    @abstractmethod
    def tables(self) -> list[str]:
        """Return the names of the tables that are there."""
