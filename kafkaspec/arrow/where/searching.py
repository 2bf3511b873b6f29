"""Which batches and records of a segment a condition is true for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from typing import Any, Final

import pyarrow as pa

from kafkaspec.arrow.arrays import control_type
from kafkaspec.arrow.record_batches import place_of, record_batches
from kafkaspec.arrow.schema import COLUMNS, CONTROL_TYPES, OWN_TYPES, ColumnPlace, Request, suited
from kafkaspec.arrow.where.condition import Where
from kafkaspec.codecs import Codec, get_codec
from kafkaspec.layout.names import OWN_TIMESTAMP
from kafkaspec.log.batch import NO_TIMESTAMP, NONE, Batch
from kafkaspec.log.lookup import Found
from kafkaspec.log.options import LOG_START, LogStart
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.log.selection import Selection
from kafkaspec.model import Record
from kafkaspec.policy import OnError

_OF_RECORD: Final[dict[str, Callable[[Record], Any]]] = {
    "offset": lambda record: record.offset,
    "timestamp": lambda record: None if record.timestamp == NO_TIMESTAMP else record.timestamp,
    "key": lambda record: record.key,
    "value": lambda record: record.value,
    "headers": lambda record: [
        {"key": key.encode("utf-8", "surrogateescape"), "value": value}
        for key, value in record.headers
    ],
}
_OF_BATCH: Final[dict[str, Callable[[Batch], Any]]] = {
    "timestamp_type": lambda batch: batch.timestamp_type,
    "leader_epoch": lambda batch: batch.partition_leader_epoch,
    "magic": lambda batch: batch.magic,
    "compression": lambda batch: batch.compression_name,
    "producer_id": lambda batch: batch.producer_id,
    "producer_epoch": lambda batch: batch.producer_epoch,
    "transactional": lambda batch: batch.is_transactional,
    "batch_position": lambda batch: batch.position,
    "batch_base_offset": lambda batch: batch.base_offset,
}


def _batch_of_records(
    batch: Batch,
    records: Sequence[Record],
    columns: Sequence[str],
    place: ColumnPlace,
    codec: Codec,
) -> pa.RecordBatch:
    """Return columns of some records of a batch; keys of headers are bytes."""
    request = Request(tuple(columns), layout="binary", header_keys="binary")

    def values(name: str) -> list[Any]:
        if name in _OF_RECORD:
            return list(map(_OF_RECORD[name], records))
        if name == "sequence":
            has = batch.base_sequence >= 0
            return [batch.sequence(record.offset) if has else NONE for record in records]
        if name == "control_type":
            return [
                CONTROL_TYPES[control_type(record, codec)] if batch.is_control else None
                for record in records
            ]
        shared = getattr(place, name) if name in ("topic", "partition") else _OF_BATCH[name](batch)
        return [shared] * len(records)

    made = [_array(values(name), request.field(name).type) for name in columns]
    return pa.RecordBatch.from_arrays(made, schema=request.schema)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(values, kind)


_POSITION: Final = "batch_position"


def condition(text: str, *, typed: bool = False) -> Where:
    """Return a condition on the columns of records.

    Args:
        text: the condition.
        typed: whether columns have other types, which their reader checks.

    Raises:
        ValueError: it is none, or not on these columns.
    """
    where = Where(text)
    if typed:
        return where
    suited(Request(COLUMNS), where)
    own = [name for name in where.columns if name in OWN_TYPES or name == OWN_TIMESTAMP]
    if own:
        raise ValueError(f"a search has no column {own[0]!r}; where of to_batches and export has")
    return where


def find_where(
    log: Segment | Partition,
    text: str,
    codec: str,
    *,
    log_start: LogStart = LOG_START,
    on_error: OnError = "raise",
) -> Iterator[Found]:
    """Yield the records for which a condition is true, the oldest first.

    Args:
        log: the log to search.
        text: the condition.
        codec: name of the codec that decodes control records.
        log_start: first offset of a partition that counts.
        on_error: see ``kafkaspec.policy.OnError``.

    Raises:
        KafkaSpecError: a file cannot be read.
        ValueError: the condition is none.
    """
    where = condition(text)
    matching = Matching(where, codec)
    wanted = where.narrowed(Selection(include_control=True, log_start=log_start, on_error=on_error))
    if isinstance(log, Segment):
        place = place_of(log)
        if where.may_be_in(place.topic, place.partition):
            yield from matching.records(log, wanted)
        return
    wanted = log.resolve(wanted)
    for path in log.paths_from(wanted.start_offset, wanted.end_offset):
        with log.open_segment(path) as segment:
            yield from matching.records(segment, wanted)


class Matching:
    """Finds records of segments by a condition.

    Args:
        where: the condition.
        codec: name of the codec that decodes control records.
    """

    def __init__(self, where: Where, codec: str) -> None:
        self._where = where
        self._codec = get_codec(codec)

    def batches(self, segment: Segment, wanted: Selection) -> Iterator[Batch]:
        """Yield the batches of a segment that have such records.

        Raises:
            KafkaSpecError: as ``record_batches``.
        """
        request = Request(
            (_POSITION,),
            start_offset=wanted.start_offset,
            end_offset=wanted.end_offset,
            start_timestamp=wanted.start_timestamp,
            end_timestamp=wanted.end_timestamp,
            include_control=wanted.include_control,
            header_keys="binary",
            on_error=wanted.on_error,
            aborted=wanted.aborted,
            where=self._where,
        )
        last = None
        for found in record_batches(segment, request):
            for position in found.column(0).unique().to_pylist():
                if position != last:
                    yield segment.batch_at(position)
                last = position

    def records(self, segment: Segment, wanted: Selection) -> Iterator[Found]:
        """Yield such records of a segment, in order."""
        for batch in self.batches(segment, wanted):
            records = [record for record in batch.records() if wanted.keeps(record)]
            for record in compress(records, self.keeps(segment, batch, records)):
                yield Found("where", record.offset, segment.path, batch, record)

    def keeps(self, segment: Segment, batch: Batch, records: Sequence[Record]) -> Iterable[bool]:
        """Return whether it is true for each of some records of a batch."""
        columns, place = self._where.columns, place_of(segment)
        made = _batch_of_records(batch, records, columns, place, self._codec)
        found: list[bool] = self._where.mask(made).to_pylist()
        return found
