"""The columns of a log. An upper layer makes them, and PyArrow is loaded on first use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from kafkaspec.log.options import RangeOptions, SchemaOptions, TableOptions, TypedOptions
from kafkaspec.options import checked
from kafkaspec.policy import RaiseOrColumn
from kafkaspec.provider import provider

if TYPE_CHECKING:
    import pyarrow as pa

_TYPED = TypedOptions.__annotations__.keys()
"""Options that ask for typed columns."""


class Columnar:
    """Columns of records.

    Columns:
        * by default ``offset``, ``timestamp``, ``timestamp_type``, ``key``, ``value``, ``headers``,
          after ``topic`` and ``partition`` if there may be several of them;
        * on request ``topic``, ``partition``, ``leader_epoch``, ``magic``, ``compression``,
          ``producer_id``, ``producer_epoch``, ``sequence``, ``transactional``, ``control_type``,
          ``batch_position``, ``batch_base_offset``, and ``own_timestamp``, which is stored for the
          record also where ``LogAppendTime`` replaces it.

    A timestamp is in UTC and null where Kafka has -1, no timestamp. Other values for none stay as
    Kafka has them: -1.
    """

    @property
    def schema(self) -> pa.Schema:
        """The schema of the default columns, in layout ``view``."""
        return provider().schema_of(self)

    @checked
    def to_batches(
        self, columns: Sequence[str] | None = None, **options: Unpack[TableOptions]
    ) -> pa.RecordBatchReader:
        """Return the records as a stream of record batches, which are made one at a time.

        Memory is bounded: a record batch holds whole Kafka batches of ``max_bytes`` together, after
        decompression; its columns come on top. A Kafka batch that is larger by itself comes in
        pieces, of 2 MiB each or of one larger record.

        Args:
            columns: names in the wanted order; only these are built.
            options: which records, and how they become columns. With one that says how keys and
                values are decoded, ``value``, ``key``, ``schemas`` ..., the result is that of
                ``to_typed``.

        Raises:
            KafkaSpecError: while reading: as ``records`` raises it, after the same records.
            ValueError: no such column or option; a condition that is none; ``read_committed`` of
                a segment.
            ImportError: PyArrow is not installed.
        """
        if _TYPED & options.keys():
            options.setdefault("value", "bytes")
            return self.to_typed(columns, **options)
        return provider().read(self, columns=columns, **options)

    @checked
    def to_typed(
        self, columns: Sequence[str] | None = None, **options: Unpack[TableOptions]
    ) -> pa.RecordBatchReader:
        """Return the records of one topic with typed keys and values.

        A column ``value`` has the type of its schema: a record is a struct. After it come
        ``value_schema_id`` (int32), ``value_message`` (of Protobuf: the full name), and with
        ``on_value_error="column"`` ``value_error``, a short code where a row has no value (see
        ``kafkaspec.values.decoded.Code``). Likewise for ``key``.

        Args:
            columns: names, as ``to_batches`` takes them, and ``value_schema_id``,
                ``value_message``, ``value_error``, ``value_raw``, or those of ``key``.
            options: as ``to_batches`` takes them. ``value`` is ``decode`` by default.

        Raises:
            KafkaSpecError: while reading, as ``to_batches``; with ``raise``, for the first row
                without a value: it names file, byte position of the batch, and field.
            ValueError: no such column or option; the log is of several topics; there are no
                schemas, or a schema cannot be read.
            ImportError: the extra ``values`` is not installed.
        """
        return provider("typed").read(self, columns=columns, **options)

    @checked
    def value_schema(self, **options: Unpack[SchemaOptions]) -> pa.Schema:
        """Return the schema of the record batches of ``to_typed``, which takes the same options.

        Rows are looked at to find out how they are framed, and of which types they are.
        """
        return provider("typed").schema_of(self, **options)

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
        return provider("messages").read_messages(
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
