"""Entries that hold records themselves: record batches of magic 2 and later formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafkaspec._generated.python.model.recordbatch import RecordBatch
from kafkaspec.codecs import Codec
from kafkaspec.layout import names
from kafkaspec.layout.kinds import record_classes
from kafkaspec.log.batch import NONE, Batch, check_count, held_payload, memory_error, payload_chunks
from kafkaspec.log.pieces import PIECE_BYTES, Pieces, header_of
from kafkaspec.model import Buffer, Record


class DefaultBatch(Batch):
    """A record batch (Kafka: ``DefaultRecordBatch``)."""

    __slots__ = ()

    message: RecordBatch
    """A later format has its own class, with the same fields as far as it has them."""

    @property
    def base_offset(self) -> int:
        return self.message.base_offset

    _stored_offset = base_offset

    @property
    def last_offset(self) -> int:
        return self.message.last_offset

    @property
    def num_records(self) -> int:
        return self.message.num_records

    @property
    def max_timestamp(self) -> int:
        return self.message.max_timestamp

    def sequence(self, offset: int) -> int:
        if not self.kind.has_producers:
            return NONE
        classes = record_classes(self.message)
        record: Any = object.__new__(classes.record)  # fields without default do not matter
        setattr(record, classes.parameter, self.message)
        setattr(record, names.OFFSET_DELTA, offset - self.base_offset)
        sequence: int = getattr(record, names.SEQUENCE)
        return sequence

    @property
    def _payload_field(self) -> str:
        return self.kind.payload

    @property
    def payload(self) -> Buffer:
        return self.message.records

    @property
    def payload_position(self) -> int:
        return self.position + self.size - len(self.message.records)

    def records(self, max_output: int | None = None) -> Sequence[Record]:
        self._verify()
        if self.message.num_records == 0:  # Kafka does not look at the payload either (Q9)
            return []
        payload = held_payload(self, max_output)
        if payload is None or len(payload) > PIECE_BYTES:
            return self.pieces(payload, max_output).records()
        try:
            return self._context.codec.decode_records(self.message, payload, origin=self._origin)
        except MemoryError:
            raise memory_error(self) from None

    def pieces(
        self, payload: Buffer | None, max_output: int | None = None, *, codec: Codec | None = None
    ) -> Pieces:
        """Return the records in pieces.

        Args:
            payload: what ``held_payload`` returns.
            codec: reads them; that of the segment by default.

        Raises:
            KafkaSpecError: as ``records``. The CRC is not checked.
        """
        chunks = payload_chunks(self, payload, max_output)
        codec = codec or self._context.codec
        return Pieces(codec, self.message, self._origin, chunks, lambda: memory_error(self))

    def header_of(self, count: int) -> Any:
        """Return the header of a batch with so many of its records."""
        return header_of(self.message, count)

    def record_set(self, max_output: int | None = None) -> Any:
        """Return the records as objects of the typed model, with deltas and attributes.

        Returns:
            A ``RecordSet`` of the typed model, or that of a later format.

        Raises:
            KafkaSpecError: the payload cannot be read, or it has more than ``MOST_RECORDS``
                records. The CRC is not checked.
        """
        if self.message.num_records == 0:
            classes = record_classes(self.message)
            return classes.record_set(**{classes.parameter: self.message, "records": []})
        payload = self.decompressed(max_output)
        check_count(self, min(self.message.num_records, len(payload)))
        record_set, _ = self._context.codec.parse(
            self.kind.record_set,
            payload,
            parameters=(self.message,),
            complete=True,
            origin=self._origin,
        )
        return record_set
