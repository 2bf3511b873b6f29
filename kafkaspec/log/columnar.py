"""The columns of a log. The layer above makes them and is registered here.

``kafkaspec`` itself, which knows all layers, registers ``kafkaspec.arrow``. So this layer imports
nothing from above, and PyArrow is loaded when columns are first used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from kafkaspec.log.lookup import Isolation
from kafkaspec.log.selection import LogStart, SelectionOptions
from kafkaspec.options import checked
from kafkaspec.policy import ErrorPolicy, OnError, RaiseOrColumn
from kafkaspec.provider import provider, typed_provider
from kafkaspec.times import Time

if TYPE_CHECKING:
    import pyarrow as pa

ByteLayout = Literal["view", "binary"]
"""``view``: keys and values point into the file, or into memory that was decompressed, and are
never copied. ``binary``: they are copied into new memory, which all of Arrow's functions
take (``take``, ``filter`` and ``sort`` do not take views yet)."""

HeaderKeys = Literal["string", "strict", "binary"]
"""Header keys that are not UTF-8. ``string``: each malformed sequence becomes U+FFFD, as a
Java consumer shows it. ``strict``: they are an error. ``binary``: keys are bytes, as stored."""

CHUNK_BYTES = 8 << 20
"""Default number of bytes of a record batch."""


Evolve = Literal["latest", "each"] | int
"""Which schema a column has. ``latest``: the newest version of the subject that is not deleted;
values of older ones are read as it. ``each``: that with which each value was written, so that
record batches differ. A number: this version of the subject."""


class RangeOptions(SelectionOptions, total=False):
    """Options of ``to_batches`` that choose records."""

    start_offset: int | None
    max_bytes: int


class ColumnOptions(RangeOptions, total=False):
    """Options of ``to_batches`` that choose records, and say what their columns hold."""

    layout: ByteLayout
    include_control: bool
    header_keys: HeaderKeys


class BatchOptions(ColumnOptions, total=False):
    """Options of ``to_batches`` but for the columns."""

    where: str | None


class DecodingOptions(TypedDict, total=False):
    """Options of ``to_typed`` that say how keys and values are decoded, of any topic."""

    key: str
    value_schema: Any
    key_schema: Any
    evolve: Evolve
    on_value_error: ErrorPolicy
    raw: bool
    unwrap: bool
    secrets: bool
    values: Any


class TypedOptions(DecodingOptions, total=False):
    """Options of ``to_typed`` that say how keys and values are decoded."""

    value: str
    schemas: Any
    topic: str | None
    report: Any


class TableOptions(BatchOptions, TypedOptions, total=False):
    """Options of ``to_arrow`` but for the columns: those of ``to_batches`` and ``to_typed``."""


class SchemaOptions(TableOptions, total=False):
    """Options of ``value_schema``: those of ``to_typed``."""

    columns: Sequence[str] | None


_TYPED = frozenset({"value", "key", "schemas", "value_schema", "key_schema", "evolve", "topic"})
"""Options that ask for typed columns."""


class Columnar:
    """Columns of records.

    Columns:
        * by default ``offset``, ``timestamp``, ``timestamp_type``, ``key``, ``value``, ``headers``,
          after ``topic`` and ``partition`` if there may be several of them;
        * on request ``topic``, ``partition``, ``leader_epoch``, ``magic``, ``compression``,
          ``producer_id``, ``producer_epoch``, ``sequence``, ``transactional``, ``control_type``,
          ``batch_position``, ``batch_base_offset``.

    A timestamp is in UTC and null where Kafka has -1, no timestamp. Other values for none stay as
    Kafka has them: -1.
    """

    @property
    def schema(self) -> pa.Schema:
        """The schema of the default columns, in layout ``view``."""
        return provider().schema_of(self)

    @checked
    def to_batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        start_offset: int | None = None,
        end_offset: int | None = None,
        start_timestamp: Time | None = None,
        end_timestamp: Time | None = None,
        layout: ByteLayout = "view",
        max_bytes: int = CHUNK_BYTES,
        include_control: bool = False,
        header_keys: HeaderKeys = "string",
        isolation: Isolation = "read_uncommitted",
        log_start: LogStart = "ignore",
        on_error: OnError = "raise",
        where: str | None = None,
        **typed: Unpack[TypedOptions],
    ) -> pa.RecordBatchReader:
        """Return the records as a stream of record batches, which are made one at a time.

        Memory is bounded: a record batch holds whole Kafka batches of ``max_bytes`` together, after
        decompression; its columns come on top. A Kafka batch that is larger by itself comes in
        pieces, of 2 MiB each or of one larger record.

        Args:
            columns: names in the wanted order; only these are built.
            start_offset: smallest offset; found through the offset index.
            end_offset: first offset to leave out. Nothing is read after the batch that reaches
                it.
            start_timestamp: smallest timestamp, see ``kafkaspec.times.Time``. Batches whose header
                says that they end before are not read, as Kafka's own lookup does.
            end_timestamp: first timestamp to leave out. With a range of timestamps, records
                without a timestamp are left out.
            layout: layout of keys and values, see ``ByteLayout``.
            max_bytes: bytes of Kafka data in a record batch.
            include_control: whether to include control records, which no consumer sees.
                ``control_type`` distinguishes them from data.
            header_keys: see ``HeaderKeys``.
            isolation: ``read_committed`` leaves out aborted transactions, and ends at the last
                stable offset. For partitions and log directories.
            log_start: see ``kafkaspec.log.selection.LogStart``.
            on_error: see ``kafkaspec.policy.OnError``.
            where: a condition on the records: ``"key = 'a' and timestamp >= '2026-01-01'"``.
                Offsets, timestamps, topics and partitions that cannot fulfil it are not read.
            typed: how keys and values are decoded, as ``to_typed`` takes it: ``value``, ``key``,
                ``schemas`` ... With any of these it returns what ``to_typed`` returns.

        Raises:
            KafkaSpecError: while reading: as ``records`` raises it, after the same records.
            ValueError: no such column or option; a condition that is none; ``read_committed`` of
                a segment.
            ImportError: PyArrow is not installed.
        """
        options: dict[str, Any] = {
            "columns": columns,
            "start_offset": start_offset,
            "end_offset": end_offset,
            "start_timestamp": start_timestamp,
            "end_timestamp": end_timestamp,
            "max_bytes": max_bytes,
            "include_control": include_control,
            "header_keys": header_keys,
            "isolation": isolation,
            "log_start": log_start,
            "on_error": on_error,
            "where": where,
        }
        if typed:
            typed.setdefault("value", "bytes")
            return self.to_typed(**options, **typed)
        return provider().read(self, layout=layout, **options)

    @checked
    def to_typed(
        self,
        columns: Sequence[str] | None = None,
        *,
        value: str = "decode",
        key: str = "bytes",
        schemas: Any = None,
        value_schema: Any = None,
        key_schema: Any = None,
        evolve: Evolve = "latest",
        on_value_error: ErrorPolicy = "column",
        raw: bool = False,
        unwrap: bool = False,
        secrets: bool = False,
        values: Any = None,
        topic: str | None = None,
        report: Any = None,
        **options: Unpack[BatchOptions],
    ) -> pa.RecordBatchReader:
        """Return the records of one topic with typed keys and values.

        A column ``value`` has the type of its schema: a record is a struct. After it come
        ``value_schema_id`` (int32), ``value_message`` (of Protobuf: the full name), and with
        ``on_value_error="column"`` ``value_error``, a short code where a row has no value (see
        ``kafkaspec.values.decoded.Code``). Likewise for ``key``.

        Args:
            columns: names, as ``to_batches`` takes them, and ``value_schema_id``,
                ``value_message``, ``value_error``, ``value_raw``, or those of ``key``.
            value: what values are. ``bytes``: as they are. ``decode``: by the schemas that they
                name; how they do it is found out from a sample of the topic. ``auto``: as
                ``decode`` if all of the sample is so, else text if it is that, else bytes.
                ``avro``, ``protobuf``, ``json-schema``: with ``value_schema``. Or a format without
                a schema: ``text``, ``json``, ``long`` ..., see
                ``kafkaspec.values.fixed.FIXED_FORMATS``.
            key: what keys are, likewise.
            schemas: a ``SchemaLog``, or a path that ``SchemaLog.open`` takes; by default, that of
                the log, which finds ``_schemas`` beside it.
            value_schema: schema of values: ``FILE``, ``FILE#MESSAGE``, ``SUBJECT``,
                ``SUBJECT@VERSION``, one that a ``SchemaLog`` gives, or its definition. With
                ``decode``, that as which they are read.
            key_schema: schema of keys, likewise.
            evolve: schema of the columns. ``latest``: the newest one of the topic's subject; what
                was written with older ones is resolved. Of several types of records in a topic,
                each is a field of a struct. A number: this version. ``each``: that with which a
                row was written: the result is an iterator of record batches that differ, each of
                the rows of one schema.
            on_value_error: what happens with a row that has no key or value for another reason than
                that it is null. ``column``: it stays, with a column that says why. ``skip``: it is
                left out. ``raise``: ends with an error.
            raw: whether ``value_raw`` and ``key_raw`` have the bytes, among the default columns.
            unwrap: whether values that are envelopes of Debezium become the rows that they are
                about: ``row``, ``op``, ``ts_ms`` and ``source``.
            secrets: whether configurations of Connect show passwords and keys.
            values: ``kafkaspec.values.options.Options``: enumerations, unions, limits ...
            topic: which topic of a log directory to read, if it has several.
            report: a ``kafkaspec.values.reading.ValueReport``, which is filled: what was decided,
                and how many rows have no value.
            options: the other options of ``to_batches``.

        Raises:
            KafkaSpecError: while reading, as ``to_batches``; with ``raise``, for the first row
                without a value: it names file, byte position of the batch, and field.
            ValueError: no such column or option; the log is of several topics; there are no
                schemas, or a schema cannot be read.
            ImportError: the extra ``values`` is not installed.
        """
        return typed_provider().read(
            self,
            columns=columns,
            value=value,
            key=key,
            schemas=schemas,
            value_schema=value_schema,
            key_schema=key_schema,
            evolve=evolve,
            on_value_error=on_value_error,
            raw=raw,
            unwrap=unwrap,
            secrets=secrets,
            values=values,
            topic=topic,
            report=report,
            **options,
        )

    @checked
    def value_schema(self, **options: Unpack[SchemaOptions]) -> pa.Schema:
        """Return the schema of the record batches of ``to_typed``, which takes the same options.

        Rows are looked at to find out how they are framed, and of which types they are.
        """
        return typed_provider().schema_of(self, **options)

    @checked
    def to_arrow(
        self, columns: Sequence[str] | None = None, **options: Unpack[TableOptions]
    ) -> pa.Table:
        """Return the records as one table; takes what ``to_batches`` takes."""
        if _TYPED & options.keys():
            options.setdefault("value", "bytes")
            return self.to_typed(columns, **options).read_all()
        return provider().read(self, columns=columns, compact=True, **options).read_all()

    @checked
    def topic_messages(
        self,
        name: str,
        *,
        release: str | None = None,
        on_value_error: RaiseOrColumn = "raise",
        **options: Unpack[RangeOptions],
    ) -> pa.RecordBatchReader:
        """Return the records of one type of an internal topic, decoded, as record batches.

        The columns are ``partition`` (not of a single segment), ``offset``, ``timestamp``, ``key``
        and ``value``; the last two are structs with the fields of Kafka's schemas. A null value is
        a tombstone; records of ``__cluster_metadata`` and ``__remote_log_metadata`` have no key. A
        field is null where its version lacks it, or where a tagged field is not there.

        Of a log directory, the partitions of the type's topic are read.

        Args:
            name: ``OffsetCommit``, ``TransactionLog``, ``PartitionChange`` ...: the name of Kafka's
                schema, without Key, Value or Record at its end.
            release: release of the broker that wrote them, ``4.0.2``: some wrote other layouts of
                the same version. By default, the newest layout that takes every byte of a record,
                whose fields are in the columns of the newest one.
            on_value_error: ``raise`` ends at a record that does not decode. ``column`` adds a
                column ``error``: such a record has null for its key or value, and the text there.
            options: ``start_offset``, ``end_offset``, ``start_timestamp``, ``end_timestamp``,
                ``max_bytes``, ``isolation``, ``log_start``, ``on_error`` of ``to_batches``.

        Raises:
            KafkaSpecError: while reading: as ``to_batches``, and with ``raise`` that of a record.
            ValueError: no topic has records of that name.
            ImportError: PyArrow is not installed.
        """
        return provider().read_messages(
            self, name, release=release, on_value_error=on_value_error, **options
        )

    def batch_table(self) -> pa.Table:
        """Return the headers of all batches as a table with one row each, for planning.

        Raises:
            KafkaSpecError: an entry that cannot be parsed, as ``batches`` raises it.
            ImportError: PyArrow is not installed.
        """
        return provider().read_headers(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the default columns for DuckDB, Polars, pandas ...; a new stream each time."""
        return self.to_batches().__arrow_c_stream__(requested_schema)
