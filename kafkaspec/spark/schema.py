"""The columns: those of Spark's own Kafka source, and further ones of segments.

Spark: ``KafkaRecordToRowConverter``. Spark takes exactly the Arrow types that belong to the types
of the schema: no views, no dictionaries, no other unit of time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import DataType, StructField, StructType

from kafkaspec.arrow.headers import PLACE_FIELDS, ROWS
from kafkaspec.arrow.messages.topics import kind_of_record, type_of_layouts
from kafkaspec.arrow.schema import OWN_TYPES, SIMPLE
from kafkaspec.layout.names import camel
from kafkaspec.spark.options import BATCHES, MessageChoice, ReadOptions, RecordContent
from kafkaspec.spark.parsing import OptionError
from kafkaspec.tables.engine_types import spark_nested, spark_value

TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
HEADERS: Final = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))


def spark_arrow(kind: pa.DataType) -> pa.DataType:
    """Return the type in which Spark takes a column of ``kafkaspec.arrow``."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_timestamp(kind):
        return TIMESTAMP
    return pa.int32() if kind in (pa.int8(), pa.int16()) else kind


def spark_schema(schema: pa.Schema) -> StructType:
    """Return the schema in Spark for one in Arrow."""
    return StructType(
        [StructField(field.name, from_arrow_type(field.type), field.nullable) for field in schema]
    )


@dataclass(frozen=True)
class SparkColumn:
    """A column: its type, and the column of ``kafkaspec.arrow`` that it is made of, if any."""

    source: str
    arrow: pa.DataType

    @cached_property
    def spark(self) -> DataType:
        """Its type in Spark."""
        return from_arrow_type(self.arrow)


def _of(source: str) -> SparkColumn:
    return SparkColumn(source, spark_arrow(SIMPLE[source][0]))


_RECORD: Final = {
    "key": SparkColumn("key", pa.binary()),
    "value": SparkColumn("value", pa.binary()),
    "topic": SparkColumn("", pa.string()),
    "partition": SparkColumn("", pa.int32()),
    "offset": _of("offset"),
    "timestamp": _of("timestamp"),
    "timestampType": SparkColumn("timestamp_type", pa.int32()),
}
_BATCH: Final = {
    "baseOffset": _of("batch_base_offset"),
    "ownTimestamp": _of("own_timestamp"),
    "leaderEpoch": _of("leader_epoch"),
    "producerId": _of("producer_id"),
    "producerEpoch": _of("producer_epoch"),
    "sequence": _of("sequence"),
    "isTransactional": _of("transactional"),
    "isControl": SparkColumn("control_type", pa.bool_()),
    "magic": _of("magic"),
    "compression": _of("compression"),
    "file": SparkColumn("", pa.string()),
    "position": _of("batch_position"),
}
OWN_COLUMNS: Final = {
    camel(name.replace(".", "_")): SparkColumn(name, spark_value(kind))
    for name, kind in OWN_TYPES.items()
}
"""Fields of records and of headers that only the specification knows."""
BATCH_COLUMNS: Final = (*_BATCH, *OWN_COLUMNS)
"""The columns that ``includeBatch`` adds."""

_SPARK_NAMES: Final = {"transactional": "isTransactional", "control": "isControl"}
_PLACES: Final = [item.name for item in PLACE_FIELDS]
ROW_COLUMNS: Final[dict[str, SparkColumn]] = {
    **{name: {**_RECORD, **_BATCH}[name] for name in _PLACES},
    **{
        _SPARK_NAMES.get(item.name, camel(item.name.replace(".", "_"))): SparkColumn(
            item.name,
            _RECORD["timestampType"].arrow
            if item.name == _RECORD["timestampType"].source
            else spark_value(spark_arrow(item.type)),
        )
        for item in ROWS
    },
}
"""Columns where a row is a batch."""

COLUMNS: Final[dict[str, SparkColumn]] = {
    **_RECORD,
    "headers": SparkColumn("headers", HEADERS),
    **_BATCH,
    **OWN_COLUMNS,
}
_SPELLED: Final = {name.lower(): name for name in COLUMNS}

CORRUPT: Final = SparkColumn("", pa.string())
"""The column that says what was found, in mode ``PERMISSIVE``."""


@dataclass(frozen=True)
class WantedColumns:
    """The columns that a query asks for, in their order; it is sent with the reader.

    ``given`` are their names in the letter case of the query, ``required`` those that are NOT NULL,
    ``corrupt`` is the name of the column for what was found.
    """

    names: tuple[str, ...]
    given: tuple[str, ...]
    required: tuple[bool, ...]
    corrupt: str | None
    content: RecordContent = None

    @property
    def sources(self) -> list[str]:
        """Columns of ``kafkaspec.arrow`` that are to be decoded."""
        found = (self.column(name).source for name in self.names)
        return list(dict.fromkeys(name for name in found if name))

    @property
    def schema(self) -> pa.Schema:
        """The schema of each record batch, with the names of ``COLUMNS``."""
        return pa.schema(
            [
                pa.field(name, self.column(name).arrow, nullable=not required)
                for name, required in zip(self.names, self.required, strict=True)
            ]
        )

    def renamed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a record batch with the names that Spark expects."""
        return batch if self.given == self.names else batch.rename_columns(list(self.given))

    def column(self, name: str) -> SparkColumn:
        """Return the column of that name."""
        return column(name, self.corrupt, self.content)


def columns_of(content: RecordContent) -> dict[str, SparkColumn]:
    """Return all columns: with typed keys and values, if they are decoded."""
    if content is None:
        return COLUMNS
    if content == BATCHES:
        return ROW_COLUMNS
    if isinstance(content, tuple):
        return _of_messages(content)
    found: dict[str, SparkColumn] = {}
    for name, item in COLUMNS.items():
        own = {key: each for key, each in content.columns.items() if key.startswith(f"{name}_")}
        found |= {name: content.columns.get(name, item)} | own
    return found


@cache
def _of_messages(messages: MessageChoice) -> dict[str, SparkColumn]:
    kind = kind_of_record(*messages)
    typed = {"key": kind.key, "value": kind.value}
    return {
        name: SparkColumn(name, spark_nested(type_of_layouts(typed[name])))
        if name in typed
        else item
        for name, item in COLUMNS.items()
        if typed.get(name, True)
    }


def column(name: str, corrupt: str | None = None, content: RecordContent = None) -> SparkColumn:
    """Return a column."""
    known = columns_of(content)
    name = spelled(name, corrupt, known)
    if name != corrupt and name not in known:
        what = "batches" if content == BATCHES else "records of this type"
        raise OptionError(f"{what} have no {name}; there are {', '.join(known)}")
    return CORRUPT if name == corrupt else known[name]


def spelled(
    name: str, corrupt: str | None = None, columns: Mapping[str, SparkColumn] | None = None
) -> str:
    """Return the name of a column as it is documented; Spark ignores letter case."""
    known = COLUMNS if columns is None else columns
    found = {each.lower(): each for each in (*COLUMNS, *known)}.get(name.lower())
    if corrupt is not None and name.lower() == corrupt.lower():
        found = corrupt
    if found is None:
        raise OptionError(f"there is no column {name!r}; there are {', '.join(known)}")
    return found


def schema_of(
    names: Iterable[str], corrupt: str | None = None, content: RecordContent = None
) -> StructType:
    """Return the schema with these columns."""
    return StructType([StructField(name, column(name, corrupt, content).spark) for name in names])


def default_schema(options: ReadOptions) -> StructType:
    """Return the schema where the user gives none."""
    known = columns_of(options.content)
    corrupt = options.corrupt
    if options.columns is not None:
        return schema_of(options.columns, corrupt, options.content)
    names = [name for name in known if options.batch_rows or name in _RECORD or name not in COLUMNS]
    names += ["headers"] if options.headers else []
    names += BATCH_COLUMNS if options.batch else ()
    names += [] if corrupt is None else [corrupt]
    return schema_of(names, corrupt, options.content)


def output_of(schema: StructType, options: ReadOptions) -> WantedColumns:
    """Return the output for a schema."""
    corrupt = options.corrupt
    if corrupt is not None and corrupt.lower() in _SPELLED:
        raise OptionError(f"option columnNameOfCorruptRecord: {corrupt} is a column of records")
    for field in schema.fields:
        given = field.dataType.simpleString()
        wanted = column(field.name, corrupt, options.content).spark
        if given != wanted.simpleString():  # which says nothing about nulls
            raise OptionError(f"column {field.name} is {wanted.simpleString()}, not {given}")
    given = tuple(field.name for field in schema.fields)
    if options.columns is not None and {*map(str.lower, given)} != {
        *map(str.lower, options.columns)
    }:
        raise OptionError(f"option columns lists others than the schema: {', '.join(given)}")
    names = tuple(spelled(name, corrupt, columns_of(options.content)) for name in given)
    if corrupt is not None and corrupt not in names:
        raise OptionError(
            f"mode PERMISSIVE needs a column to say what is damaged: add {corrupt} STRING to the"
            " schema, or name it with columnNameOfCorruptRecord"
        )
    if not names or len(set(names)) < len(names):
        raise OptionError("name at least one column, and none of them twice")
    required = tuple(not field.nullable for field in schema.fields)
    return WantedColumns(names, given, required, corrupt, options.content)
