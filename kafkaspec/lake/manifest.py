"""The files that one increment adds to the tables, before a table names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LakeFile:
    """A Parquet file for a table.

    Attributes:
        table: name of the table.
        path: of the file, relative to the lake.
        size: in bytes.
        rows: number of rows.
        values: values of the columns by which the table is partitioned: text, a date, or null.
    """

    table: str
    path: str
    size: int
    rows: int
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mark:
    """Says which increment a commit belongs to.

    Attributes:
        epoch: number of the increment, from 1.
        run: id of the driver's attempt, by which its manifest is named.
    """

    epoch: int
    run: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """All files of an increment, by table."""

    mark: Mark
    files: tuple[LakeFile, ...]
