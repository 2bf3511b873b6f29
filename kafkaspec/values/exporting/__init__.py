"""Typed keys and values in files: Parquet, Arrow, JSON lines and CSV; one file, or folders."""

from __future__ import annotations

from kafkaspec.values.exporting.exports import export_typed

__all__ = ["export_typed"]
