"""The columns: those of Spark's own Kafka source, and further ones of segments.

Spark: ``KafkaRecordToRowConverter``. Spark takes exactly the Arrow types that belong to the types
of the schema: no views, no dictionaries, no other unit of time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafkaspec.spark.options import OptionError, ReadOptions

TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
HEADERS: Final = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
_HEADERS = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        spark: its type in Spark.
        arrow: its type in Arrow, as Spark wants it.
        source: column of ``kafkaspec.arrow`` that it is made of, "" for none.
    """

    spark: DataType
    arrow: pa.DataType
    source: str


RECORD_COLUMNS: Final = ("key", "value", "topic", "partition", "offset", "timestamp")
"""The first columns of the default schema; ``timestampType`` and ``headers`` follow."""

BATCH_COLUMNS: Final = (
    "baseOffset",
    "leaderEpoch",
    "producerId",
    "producerEpoch",
    "sequence",
    "isTransactional",
    "isControl",
    "magic",
    "compression",
    "file",
    "position",
)
"""The columns that ``includeBatch`` adds."""

COLUMNS: Final[dict[str, Column]] = {
    "key": Column(BinaryType(), pa.binary(), "key"),
    "value": Column(BinaryType(), pa.binary(), "value"),
    "topic": Column(StringType(), pa.string(), ""),
    "partition": Column(IntegerType(), pa.int32(), ""),
    "offset": Column(LongType(), pa.int64(), "offset"),
    "timestamp": Column(TimestampType(), TIMESTAMP, "timestamp"),
    "timestampType": Column(IntegerType(), pa.int32(), "timestamp_type"),
    "headers": Column(_HEADERS, HEADERS, "headers"),
    "baseOffset": Column(LongType(), pa.int64(), "batch_base_offset"),
    "leaderEpoch": Column(IntegerType(), pa.int32(), "leader_epoch"),
    "producerId": Column(LongType(), pa.int64(), "producer_id"),
    "producerEpoch": Column(IntegerType(), pa.int32(), "producer_epoch"),
    "sequence": Column(IntegerType(), pa.int32(), "sequence"),
    "isTransactional": Column(BooleanType(), pa.bool_(), "transactional"),
    "isControl": Column(BooleanType(), pa.bool_(), "control_type"),
    "magic": Column(IntegerType(), pa.int32(), "magic"),
    "compression": Column(StringType(), pa.string(), "compression"),
    "file": Column(StringType(), pa.string(), ""),
    "position": Column(LongType(), pa.int64(), "batch_position"),
}

CORRUPT: Final = Column(StringType(), pa.string(), "")
"""The column that says what was found, in mode ``PERMISSIVE``."""


@dataclass(frozen=True)
class Output:
    """The columns that a query asks for, in their order; it is sent with the reader.

    Attributes:
        names: of the columns.
        required: of each, whether the schema says NOT NULL.
        corrupt: name of the column for what was found, None without such a column.
    """

    names: tuple[str, ...]
    required: tuple[bool, ...]
    corrupt: str | None

    @property
    def sources(self) -> list[str]:
        """Columns of ``kafkaspec.arrow`` that are to be decoded."""
        found = (COLUMNS[name].source for name in self.names if name != self.corrupt)
        return list(dict.fromkeys(name for name in found if name))

    @property
    def schema(self) -> pa.Schema:
        """The schema that Spark expects of each record batch."""
        return pa.schema(
            [
                pa.field(name, self.column(name).arrow, nullable=not required)
                for name, required in zip(self.names, self.required, strict=True)
            ]
        )

    def column(self, name: str) -> Column:
        """Return the column of that name."""
        return CORRUPT if name == self.corrupt else COLUMNS[name]


def default_schema(options: ReadOptions) -> StructType:
    """Return the schema where the user gives none."""
    names = [*RECORD_COLUMNS, "timestampType"]
    if options.headers:
        names.append("headers")
    if options.batch:
        names.extend(BATCH_COLUMNS)
    fields = [StructField(name, COLUMNS[name].spark) for name in names]
    if options.mode == "PERMISSIVE":
        fields.append(StructField(options.corrupt_column, CORRUPT.spark))
    return StructType(fields)


def schema_of(names: list[str], options: ReadOptions | None = None) -> StructType:
    """Return the schema with these columns.

    Raises:
        OptionError: there is no such column.
    """
    corrupt = options.corrupt_column if options and options.mode == "PERMISSIVE" else None
    return StructType([StructField(name, _column(name, corrupt).spark) for name in names])


def output_of(schema: StructType, options: ReadOptions) -> Output:
    """Return the output for a schema.

    Raises:
        OptionError: there is no such column, it has another type, or ``PERMISSIVE`` has no column
            to say what it found.
    """
    corrupt = options.corrupt_column if options.mode == "PERMISSIVE" else None
    if corrupt in COLUMNS:
        raise OptionError(f"option columnNameOfCorruptRecord: {corrupt} is a column of records")
    for field in schema.fields:
        column = _column(field.name, corrupt)
        if _plain(field.dataType) != _plain(column.spark):
            raise OptionError(
                f"column {field.name} is {column.spark.simpleString()},"
                f" not {field.dataType.simpleString()}"
            )
    names = tuple(field.name for field in schema.fields)
    if corrupt is not None and corrupt not in names:
        raise OptionError(
            f"mode PERMISSIVE needs a column to say what is damaged: add {corrupt} STRING to the"
            " schema, or name it with columnNameOfCorruptRecord"
        )
    if not names or len(set(names)) < len(names):
        raise OptionError("name at least one column, and none of them twice")
    return Output(names, tuple(not field.nullable for field in schema.fields), corrupt)


def _plain(kind: DataType) -> str:
    return str(kind.simpleString())


def _column(name: str, corrupt: str | None) -> Column:
    if name == corrupt:
        return CORRUPT
    if name not in COLUMNS:
        raise OptionError(f"there is no column {name!r}; there are {', '.join(COLUMNS)}")
    return COLUMNS[name]
