"""The data source ``kafkasegment``.

Spark 4.3 gives the options of a table (``CREATE TABLE ... USING kafkasegment``) to a Python data
source once, when it asks for the schema, mixed with its properties (``owner``, ``provider`` ...)
and of the user. A reader of the table gets none. So they travel in the metadata of the columns,
which Spark keeps with the table. A writer cannot take them from there: after ``INSERT INTO b
SELECT * FROM a``, its columns have the metadata of ``a``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructField, StructType

from kafkaspec.spark.failing import plainly
from kafkaspec.spark.options import ReadOptions, read_options
from kafkaspec.spark.parsing import OptionError, lowered
from kafkaspec.spark.paths import check_there
from kafkaspec.spark.schema import default_schema, output_of
from kafkaspec.spark.write_options import parse_write_options

if TYPE_CHECKING:
    from kafkaspec.spark.writer import SegmentsStreamWriter, SegmentsWriter

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


NAME: Final = "kafkasegment"


class KafkaSegmentDataSource(DataSource):
    """Kafka's log segments, with the schema and the options of Spark's own Kafka source."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format``."""
        return NAME

    @plainly()
    def schema(self) -> StructType:
        """Return the schema where the user gives none."""
        table = table_options(self.options)
        if table is None:
            return default_schema(typed_options(self.options, streaming=None))
        options = typed_options(table, streaming=None)
        check_there(options.paths)
        return remember(default_schema(options), table)

    @plainly()
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch."""
        from kafkaspec.spark.batch_reader import FilteringReader, SegmentReader

        options = typed_options(recall(self.options, schema), schema)
        kind = FilteringReader if options.pushdown else SegmentReader
        return kind(options, output_of(schema, options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Return the reader of a stream, or one that refuses to begin and says why.

        Spark 4.3 replaces an error that is raised here with its own.
        """
        from kafkaspec.spark.stream_reader import RefusedStream, SegmentStreamReader

        try:
            options = typed_options(recall(self.options, schema), schema, streaming=True)
            return SegmentStreamReader(options, output_of(schema, options))
        except OptionError as error:
            return RefusedStream(error)

    @plainly()
    def writer(self, schema: StructType, overwrite: bool) -> SegmentsWriter:
        """Return the writer of a batch."""
        from kafkaspec.spark.writer import SegmentsWriter

        return SegmentsWriter(parse_write_options(self.options), schema, overwrite)

    @plainly()
    def streamWriter(self, schema: StructType, overwrite: bool) -> SegmentsStreamWriter:  # noqa: N802
        """Return the writer of the micro-batches of a streaming query."""
        from kafkaspec.spark.writer import SegmentsStreamWriter

        return SegmentsStreamWriter(parse_write_options(self.options), schema, overwrite)


def typed_options(
    options: Mapping[str, str],
    schema: StructType | None = None,
    *,
    streaming: bool | None = False,
) -> ReadOptions:
    """Return the options for reading, with the types of keys and values if they are decoded."""
    given = read_options(options, streaming=streaming)
    if given.value_decode is None and given.key_decode is None:
        return given
    try:
        from kafkaspec.spark.typed import with_types
    except ImportError as error:
        raise OptionError(f"options value.decode, key.decode: {error}") from None
    return with_types(given, schema)
