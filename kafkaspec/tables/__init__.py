"""Tables of records in files and as JSON, and SQL over them."""

from __future__ import annotations

from typing import Final, Literal, get_args

TableFormat = Literal["parquet", "arrow", "jsonl", "csv"]
FORMATS: Final[tuple[TableFormat, ...]] = get_args(TableFormat)
"""Formats of files, which are suffixes of their names too."""
