"""Record batches of magic 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.recordbatch import Record as SpecRecord
from kafkaspec._generated.python.model.recordbatch import RecordBatch, RecordSet
from kafkaspec.codecs import Buffer
from kafkaspec.layout.framing import RECORD_BATCH, RECORD_SET, RECORDS_PATH
from kafkaspec.log.batch import Batch
from kafkaspec.model import Record


class DefaultBatch(Batch):
    """A record batch of magic 2 (Kafka: ``DefaultRecordBatch``)."""

    __slots__ = ()

    type_key = RECORD_BATCH
    payload_path = RECORDS_PATH
    payload_field = LAYOUTS[RECORD_BATCH].fields[-1].id

    message: RecordBatch

    @property
    def base_offset(self) -> int:
        return self.message.base_offset

    @property
    def last_offset(self) -> int:
        return self.message.last_offset

    @property
    def num_records(self) -> int:
        return self.message.num_records

    @property
    def max_timestamp(self) -> int:
        return self.message.max_timestamp

    @property
    def base_timestamp(self) -> int:
        return self.message.base_timestamp

    @property
    def delete_horizon(self) -> int | None:
        return self.message.delete_horizon

    @property
    def partition_leader_epoch(self) -> int:
        return self.message.partition_leader_epoch

    @property
    def producer_id(self) -> int:
        return self.message.producer_id

    @property
    def producer_epoch(self) -> int:
        return self.message.producer_epoch

    @property
    def base_sequence(self) -> int:
        return self.message.base_sequence

    @property
    def last_sequence(self) -> int:
        return self.message.last_sequence

    @property
    def is_transactional(self) -> bool:
        return self.message.attributes.is_transactional

    @property
    def is_control(self) -> bool:
        return self.message.attributes.is_control

    def sequence(self, offset: int) -> int:
        record = SpecRecord(
            batch=self.message, timestamp_delta=0, offset_delta=offset - self.message.base_offset
        )
        return record.sequence

    @property
    def payload(self) -> Buffer:
        return self.message.records

    @property
    def payload_position(self) -> int:
        return self.position + self.size - len(self.message.records)

    def records(self, max_output: int | None = None) -> list[Record]:
        self._verify()
        if self.message.num_records == 0:  # Kafka does not look at the payload either (Q9)
            return []
        payload = self.decompressed(max_output)
        return self._context.codec.decode_records(self.message, payload, origin=self._origin)

    def record_set(self, max_output: int | None = None) -> RecordSet:
        """The records as the specification has them, with deltas and attributes.

        Raises:
            KafkaSpecError: the payload cannot be read. The CRC is not looked at.
        """
        if self.message.num_records == 0:
            return RecordSet(batch=self.message, records=[])
        payload = self.decompressed(max_output)
        parameters: Sequence[Any] = (self.message,)
        record_set: RecordSet
        record_set, _ = self._context.codec.parse(
            RECORD_SET, payload, parameters=parameters, complete=True, origin=self._origin
        )
        return record_set
