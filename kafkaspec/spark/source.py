"""The data source ``kafkasegment``."""

from __future__ import annotations

from typing import Final

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from kafkaspec.spark.options import read_options
from kafkaspec.spark.schema import default_schema, output_of

NAME: Final = "kafkasegment"


class KafkaSegmentDataSource(DataSource):
    """Kafka's log segments, with the schema and the options of Spark's own Kafka source."""

    @classmethod
    def name(cls) -> str:
        """What ``format`` takes."""
        return NAME

    def schema(self) -> StructType:
        """The schema where the user gives none.

        Raises:
            OptionError: an option cannot be followed.
        """
        return default_schema(read_options(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads a batch.

        Raises:
            OptionError: an option cannot be followed, or there is no such column.
        """
        from kafkaspec.spark.batch_reader import SegmentReader

        options = read_options(self.options)
        return SegmentReader(options, output_of(schema, options))
