"""The files that one increment adds to the tables, before a table names them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

DELTA_LOG: Final = "_delta_log"
"""Directory in a table of Delta, by which one is known."""
RUN_DIGITS: Final = 14
"""Hexadecimal digits of a run: Delta keeps it as a number of 64 bits."""


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
        run: id of the driver's attempt, by which its manifest is named: 14 lower hexadecimal
            digits; "" if a table does not know it any more.
    """

    epoch: int
    run: str

    @classmethod
    def new(cls, epoch: int) -> Mark:
        """Return the mark of a new run."""
        return cls(epoch, secrets.token_hex(RUN_DIGITS // 2))


@dataclass(frozen=True, slots=True)
class Manifest:
    """All files of an increment, by table."""

    mark: Mark
    files: tuple[LakeFile, ...]
