"""The data source ``kafkasegment``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from kafkaspec.spark.failing import plainly
from kafkaspec.spark.options import ReadOptions, read_options
from kafkaspec.spark.parsing import OptionError
from kafkaspec.spark.paths import check_there
from kafkaspec.spark.schema import default_schema, output_of
from kafkaspec.spark.tables import recall, remember, table_options
from kafkaspec.spark.write_options import parse_write_options

if TYPE_CHECKING:
    from kafkaspec.spark.writer import SegmentsStreamWriter, SegmentsWriter

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
