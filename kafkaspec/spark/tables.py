"""Keep the options of a table that a catalog has (``CREATE TABLE ... USING kafkasegment``).

Spark 4.3 gives them to a Python data source once, when it asks for the schema, mixed with
its own properties (``owner``, ``provider`` ...) and of the user. A reader of the table gets
none. So they travel in the metadata of the columns, which Spark keeps with the table.

A writer cannot take them from there: after ``INSERT INTO b SELECT * FROM a``, its columns have the
metadata of ``a``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql.types import StructField, StructType

from kafkaspec.spark.parsing import lowered

METADATA: Final = "__file_source_generated_metadata_col"
"""Key in the metadata of columns: one that Spark removes from the columns of a query's result.

A table that is made of such a result would otherwise read where the table of the query reads.
Spark: ``INTERNAL_METADATA_KEYS``; the value means nothing to it, as these are not metadata columns.
"""
_TABLE: Final = "provider"
"""A property of every table, and an option of nothing else."""
_OPTION: Final = "option."
"""Spark repeats with this prefix what stands in ``OPTIONS``, other than the path."""
_PLACES: Final = ("path", "paths")


def table_options(options: Mapping[str, str]) -> dict[str, str] | None:
    """Return the options of a table, without the properties; None if this is not a table."""
    given = lowered(options)
    if _TABLE not in given:
        return None
    return {
        name: value
        for name, value in given.items()
        if name in _PLACES or f"{_OPTION}{name}" in given
    }


def remember(schema: StructType, table: Mapping[str, str]) -> StructType:
    """Return a schema that holds the options of a table."""
    kept: dict[str, Any] = {METADATA: json.dumps(table, sort_keys=True)}
    return StructType(
        [StructField(item.name, item.dataType, item.nullable, kept) for item in schema.fields]
    )


def recall(options: Mapping[str, str], schema: StructType) -> dict[str, str]:
    """Return the options of a read; if they have no path, with those of the table of a schema."""
    given = lowered(options)
    if any(given.get(name) for name in _PLACES):
        return given
    for field in schema.fields:
        if METADATA in field.metadata:
            found: dict[str, str] = json.loads(field.metadata[METADATA])
            return found | given
    return given
