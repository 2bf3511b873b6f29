"""Tables of records in files and as JSON, and SQL over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal, TypedDict, get_args

from kafkaspec.options import Option

TableFormat = Literal["parquet", "arrow", "jsonl", "csv"]
FORMATS: Final[tuple[TableFormat, ...]] = get_args(TableFormat)
"""Formats of files, which are suffixes of their names too."""


class FolderOptions(TypedDict, total=False):
    """Options of ``export_typed`` about the form of its output."""

    split_by: Annotated[Sequence[str], Option("Folders by topic, partition, day and schema:"
        " topic=orders/day=2026-11-22/part-00000.", "--split-by", more="The outermost first; the"
        " day is of the timestamp, in UTC, and the schema an id.")]  # fmt: skip
    flatten: Annotated[str | None, Option("Make columns of the fields of structs, named value.a.b.",
        "--flatten", more="Its value stands between the names; None keeps structs.")]  # fmt: skip


class SessionOptions(TypedDict, total=False):
    """Options of a session of SQL about DuckDB."""

    threads: Annotated[
        int | None, Option("Threads of DuckDB.", "--threads", more="None for all cores.")
    ]
    memory: Annotated[str | None, Option("Maximum memory of DuckDB, such as 2GB.", "--memory",
        more="None for most of what there is.")]  # fmt: skip
    files: Annotated[bool, Option(
        "Let queries read and write files and load extensions.", "--files")]  # fmt: skip
