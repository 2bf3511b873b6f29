"""Outcomes of the transactions of a log, from the markers after their records."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from enum import Enum

from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.batch import Batch


class Outcome(Enum):
    """Outcome of a transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"


class Transactions:
    """The transactions of a partition, from one pass over its batches.

    A producer has one transaction at a time, so its next marker decides the outcome
    (Kafka: ``ProducerAppendInfo.appendEndTxnMarker``). The epoch does not matter: with transaction
    version 2 that of the marker is larger by one.
    """

    def __init__(self, batches: Iterable[Batch | KafkaSpecError]) -> None:
        """Read the headers of all batches and the markers.

        Args:
            batches: the batches in order. Those that cannot be read are skipped; the conversion
                reports them.
        """
        self._markers: dict[int, list[int]] = {}
        self._aborts: dict[int, list[bool]] = {}
        for batch in batches:
            if isinstance(batch, Batch) and batch.is_control:
                self._add(batch)

    def outcome(self, batch: Batch) -> Outcome:
        """Return the outcome of the transaction of a batch."""
        offsets = self._markers.get(batch.producer_id, [])
        number = bisect_right(offsets, batch.last_offset)
        if number == len(offsets):
            return Outcome.OPEN
        aborted = self._aborts[batch.producer_id][number]
        return Outcome.ABORTED if aborted else Outcome.COMMITTED

    def _add(self, batch: Batch) -> None:
        try:
            marker = batch.marker()
        except KafkaSpecError:
            return
        if marker is None:
            return
        aborted = marker.key.type == ControlRecordType.ABORT
        if aborted or marker.key.type == ControlRecordType.COMMIT:
            self._markers.setdefault(batch.producer_id, []).append(marker.record.offset)
            self._aborts.setdefault(batch.producer_id, []).append(aborted)
