"""Convert the batches of a log one by one.

Bytes are kept where possible. If only the offset or leader epoch changes, it is written into a
copy. If only the compression of a record set changes, the unchanged records are compressed again.
All else goes through records. Fields that no conversion knows (``conversion.fields``) are carried
over in each of these ways, or counted if the format has no place for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from kafkaspec import compression as compressions
from kafkaspec._generated.python.model.recordbatch import CompressionType, TimestampType
from kafkaspec.broker.settings import BATCH_BYTES
from kafkaspec.codecs import Codec, Origin, get_codec
from kafkaspec.codecs.edited import changed
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.drafts import Draft, Shared, Traits, Waiting, write
from kafkaspec.conversion.fields import (
    FieldValues,
    RecordValues,
    carried,
    carried_record,
    entry_names,
    header_values,
    message_values,
    record_values,
    refuse_entry_fields,
)
from kafkaspec.conversion.kept import KeptBatches
from kafkaspec.conversion.losses import Loss, Losses
from kafkaspec.conversion.messages import FromMessages, ToMessages, Wrappers
from kafkaspec.conversion.offsets import Offsets, check_rising
from kafkaspec.conversion.regrouped import Regrouped
from kafkaspec.errors import Reason, make_error
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.sequences import sequence_after
from kafkaspec.log.batch import (
    CREATE_TIME,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    NO_TIMESTAMP_TYPE,
    NONE,
    Batch,
    check_count,
    crc_error,
    held_payload,
    ignored_bytes,
    payload_path,
    shares_offset,
)
from kafkaspec.log.legacy import LegacyBatch, has_relative_offsets
from kafkaspec.log.transactions import Markers, Outcome
from kafkaspec.model import Buffer, Record
from kafkaspec.writing.editing import edited, with_payload

_HEADERS: Final = attrgetter(names.HEADERS)


class EntryConverter:
    """Converts the batches of one partition, which come in order.

    Attributes:
        took: whether any part of the last batch was taken.
        paths: the fast paths, one after the other.
    """

    def __init__(
        self,
        choices: Choices,
        codec: Codec,
        *,
        markers: Markers | None = None,
        log_start_offset: int | None = None,
    ) -> None:
        """Prepare to convert."""
        self._choices = choices
        self._codec = codec
        self._markers = markers
        self._log_start = log_start_offset
        bounds = [bound for bound in (choices.start_offset, log_start_offset) if bound is not None]
        self._low: int | None = max(bounds, default=None)
        self._high = choices.end_offset
        self._waiting = Waiting(codec, choices.level)
        self.losses = Losses()
        self.offsets = Offsets(choices)
        shared = Shared(
            choices=choices,
            codec=codec,
            offsets=self.offsets,
            losses=self.losses,
            waiting=self._waiting,
            low=self._low,
            high=self._high,
            outcomes=markers is not None,
        )
        self._wrappers = Wrappers(shared)
        self.paths = tuple(
            path(shared) for path in (KeptBatches, Regrouped, ToMessages, FromMessages)
        )
        self.took = False
        self._untimely = 0  # records of the batch that are out of the range of timestamps

    def convert(self, batch: Batch) -> Iterator[Buffer]:
        """Yield the entries that a batch becomes, perhaps combined with batches before or after it.

        Its segment is open with ``crc="raise"``.

        Raises:
            KafkaSpecError: the batch cannot be read, or cannot be written as requested. No part of
                it was taken, and the next one may follow.
        """
        self.took = False
        if not batch.crc_valid:
            raise crc_error(batch)
        kind = self._choices.kind or batch.kind
        if self._is_outside(batch) or self._is_left_out(batch, kind):
            return
        compression = self._compression(batch, kind)
        cut = self._is_cut(batch)
        self.offsets.begin(self._first_offset(batch))
        if kind is batch.kind and not cut and not self._is_regrouped(batch, kind, compression):
            data = self._as_bytes(batch, compression)
            if data is not None:
                yield from self.flush()
                yield data
                self.took = True
                return
        refuse_entry_fields(batch, self._codec)
        draft = None
        if not cut:
            draft = self._wrappers.draft(batch, kind, compression)
        if draft is None:
            draft = self._draft(batch, kind, compression, cut)
        if draft is not None:
            yield from self._put(batch, draft)
            self.took = True

    def flush(self) -> Iterator[Buffer]:
        """Yield the entries of records that wait for more."""
        yield from self._waiting.flush()

    # -- what is left out -------------------------------------------------------------------

    def _is_outside(self, batch: Batch) -> bool:
        """Return whether no record of the batch is in the ranges."""
        self._untimely = 0
        if self._low is not None and batch.last_offset < self._low:
            deleted = self._log_start is not None and batch.last_offset < self._log_start
            kind = Loss.DELETED if deleted else Loss.OUT_OF_RANGE
        elif (
            self._high is not None
            and batch.last_offset >= self._high
            and batch.base_offset >= self._high
        ) or self._is_untimely(batch):
            kind = Loss.OUT_OF_RANGE
        else:
            return False
        self.losses.add(kind, batches=1, records=batch.num_records or 0)
        return True

    def _is_untimely(self, batch: Batch) -> bool:
        """Return whether all records of a batch are outside the range of timestamps."""
        choices = self._choices
        if not choices.by_time or batch.is_control:
            return False
        earliest = choices.start_timestamp
        if earliest is not None and batch.kind.has_record_sets and batch.max_timestamp < earliest:
            return True
        records = batch.records(choices.max_output)
        self._untimely = sum(not choices.takes(batch, record) for record in records)
        return self._untimely == len(records)

    def _is_left_out(self, batch: Batch, kind: EntryKind) -> bool:
        records = batch.num_records or 0
        if not batch.kind.has_record_sets:
            return False
        if batch.is_control and not kind.has_transactions:
            self.losses.add(Loss.CONTROL_RECORDS, batches=1, records=records)
            return True
        if not records and (not kind.has_record_sets or self.offsets.renumbers):
            self.losses.add(Loss.EMPTY_BATCHES, batches=1)
            return True
        if not batch.is_transactional or batch.is_control or self._markers is None:
            return False
        outcome = self._markers.outcome(batch.producer_id, batch.last_offset)
        if outcome is Outcome.ABORTED and self._choices.drops_aborted:
            self.losses.add(Loss.ABORTED_DROPPED, batches=1, records=records)
            return True
        if not kind.has_transactions and outcome is not Outcome.COMMITTED:
            aborted = outcome is Outcome.ABORTED
            loss = Loss.ABORTED_KEPT if aborted else Loss.OPEN_KEPT
            self.losses.add(loss, batches=1, records=records)
        return False

    def _is_cut(self, batch: Batch) -> bool:
        """Return whether some records of the batch are outside the ranges."""
        if self._untimely:
            return True
        if self._low is not None and batch.base_offset < self._low:
            return True
        return self._high is not None and batch.last_offset >= self._high

    def _first_offset(self, batch: Batch) -> int:
        if self.offsets.renumbers or self._choices.offsets == "keep":
            return 0  # not used
        return batch.base_offset if self._low is None else max(batch.base_offset, self._low)

    def _compression(self, batch: Batch, kind: EntryKind) -> CompressionType:
        wanted = self._choices.codec_id
        if wanted is None or batch.is_control or batch.num_records == 0:
            # An unknown id is refused here, before anything is taken from the batch.
            compressions.name(batch.compression)
            wanted = CompressionType(batch.compression)
        if not compressions.is_allowed(wanted, kind.magic):
            raise make_error(
                Reason.UNSUPPORTED_COMPRESSION,
                f"{compressions.name(wanted)} is not allowed in magic {kind.magic}: choose another"
                " compression",
                file=batch.file,
                offset=batch.position,
            )
        return wanted

    def _is_regrouped(self, batch: Batch, kind: EntryKind, compression: CompressionType) -> bool:
        return (
            self._choices.batch_bytes is not None
            and (kind.has_record_sets or compression is not CompressionType.NONE)
            and not batch.is_control
            and batch.delete_horizon is None
            and batch.num_records != 0
        )

    # -- without decoding records -----------------------------------------------------------

    def _as_bytes(self, batch: Batch, compression: CompressionType) -> Buffer | None:
        """Return the entry with its records unchanged; None if they must be written again."""
        same = compression == batch.compression
        if self._choices.level is not None and compression and not batch.is_control:
            same = same and batch.num_records == 0
        if not batch.kind.has_record_sets:
            return self._message(batch) if same and not self._is_mixed(batch) else None
        records = batch.num_records or 0
        renumbers = self.offsets.renumbers
        if renumbers and batch.last_offset - batch.base_offset + 1 != records:
            return None
        if renumbers:
            base = self.offsets.take(records, batch)
        else:
            base = self.offsets.moved(batch.base_offset, batch)
            self.offsets.moved(batch.last_offset, batch)
        epoch = self._leader_epoch(batch)
        if same:
            data = edited(batch, base, epoch, self._codec)
        else:
            payload = batch.decompressed(self._choices.max_output)
            if compression:
                level = self._choices.level
                payload = compressions.compress(
                    compression, payload, magic=batch.magic, level=level
                )
            data = with_payload(
                self._codec, batch, payload, compression, base_offset=base, leader_epoch=epoch
            )
        return data

    def _is_mixed(self, batch: Batch) -> bool:
        """Return whether a wrapper has the chosen magic, but not all messages in it.

        Kafka: ``LogValidator`` writes such a wrapper again, since KAFKA-4298.
        """
        if self._choices.kind is None or not isinstance(batch, LegacyBatch) or not batch.is_wrapper:
            return False
        limit = self._choices.max_output
        regular = batch.regular(held_payload(batch, limit), limit)
        if regular is None:
            return any(inner.magic != batch.magic for inner in batch.inner_messages(limit))
        _, shift = regular
        return shift.untimed != (0 if batch.kind.has_timestamps else shift.count)

    def _message(self, batch: Batch) -> Buffer | None:
        """Return a message or wrapper with only its offset changed; None if more must change."""
        if batch.is_compressed:
            absolute = not has_relative_offsets(batch.kind)
            if self.offsets.renumbers or (self.offsets.shift and absolute):
                return None
            new = self.offsets.moved(batch.last_offset, batch)
            self.offsets.moved(batch.base_offset, batch)
            # In a wrapper with offset 0 inner offsets are not relative.
            if self.offsets.shift and (batch.last_offset == 0 or new == 0):
                return None
        elif self.offsets.renumbers:
            new = self.offsets.take(1, batch)
        else:
            new = self.offsets.moved(batch.last_offset, batch)
        return edited(batch, new, NONE, self._codec)

    def _leader_epoch(self, batch: Batch) -> int:
        chosen = self._choices.leader_epoch
        return batch.partition_leader_epoch if chosen is None else chosen

    # -- through records --------------------------------------------------------------------

    def _draft(
        self, batch: Batch, kind: EntryKind, compression: CompressionType, cut: bool
    ) -> Draft | None:
        """Return the records of a batch with new offsets; None if none is in the range."""
        old, own = self._records(batch, kind)
        if cut:
            old, own = self._in_range(batch, old, own)
        if not old and (not batch.kind.has_record_sets or (cut and not self._ends(batch, kind))):
            return None
        if not (shares_offset(batch) and self.offsets.renumbers):
            check_rising(batch, old)
        sets = batch.kind.has_record_sets and kind.has_record_sets
        appended = batch.timestamp_type == LOG_APPEND_TIME and kind.has_timestamps
        if appended and not batch.kind.has_record_sets:
            # A wrapper around messages of magic 0 (KAFKA-4298): they have no timestamps.
            appended = all(record.timestamp == batch.max_timestamp for record in old)
        new = self._moved(old, batch)
        base_timestamp = old[0].timestamp if old else NO_TIMESTAMP
        largest = None
        if sets:
            assert batch.base_timestamp is not None
            if not cut or batch.delete_horizon is not None:
                base_timestamp = batch.base_timestamp
                largest = None if cut else batch.max_timestamp
        if sets and not self.offsets.renumbers:
            # Compaction keeps first and last offset even if those records are gone.
            low, high = self._low, self._high
            first = batch.base_offset if low is None else max(low, batch.base_offset)
            final = batch.last_offset if high is None else min(high - 1, batch.last_offset)
            base, last = self.offsets.moved(first, batch), self.offsets.moved(final, batch)
        else:
            first, base, last = old[0].offset, new[0].offset, new[-1].offset
        sequence = sequence_after(batch.base_sequence, first - batch.base_offset)
        self._count(batch, old, kind, appended)
        others, carried_own = self._carried(batch, kind, compression, own)
        traits = Traits(
            kind=kind,
            compression=compression,
            append_time=batch.max_timestamp if appended else None,
            producer_id=batch.producer_id if kind.has_producers else NONE,
            producer_epoch=batch.producer_epoch if kind.has_producers else NONE,
            transactional=batch.is_transactional and kind.has_transactions,
            control=batch.is_control and kind.has_transactions,
            leader_epoch=self._leader_epoch(batch) if kind.has_leader_epochs else NONE,
            delete_horizon=batch.delete_horizon if kind.has_delete_horizons else None,
            others=others,
        )
        if self.offsets.renumbers:
            self._count_sequences(batch, old)
        if not kind.has_headers and any(map(_HEADERS, new)):
            new = [Record(*record[:-1]) for record in new]
        if not kind.has_timestamps:
            new = [Record(record.offset, NO_TIMESTAMP, *record[2:]) for record in new]
        return Draft(
            traits=traits,
            records=new,
            own=carried_own,
            base_offset=base,
            last_offset=last,
            base_sequence=sequence if kind.has_producers else NONE,
            base_timestamp=base_timestamp,
            max_timestamp=largest,
        )

    def _ends(self, batch: Batch, kind: EntryKind) -> bool:
        """Return whether a batch without records at or after the log start offset still counts.

        Compaction has removed those, and left the batch so that the log ends where it did.
        """
        start, high = self._log_start, self._high
        return (
            kind.has_record_sets
            and not self.offsets.renumbers
            and not self._choices.by_time
            and start is not None
            and start == self._low
            and (high is None or batch.last_offset < high)
        )

    def _records(
        self, batch: Batch, kind: EntryKind
    ) -> tuple[list[Record], list[RecordValues] | None]:
        """Return the records of a batch, and their unknown fields, None if there are none."""
        limit = self._choices.max_output
        if not batch.kind.has_record_sets:
            found = batch.records(limit)
            check_count(batch, len(found))
            return list(found), message_values(batch)
        if not batch.num_records:
            return [], None
        message = batch.message
        appended = batch.timestamp_type == LOG_APPEND_TIME
        if appended:  # records keep their own timestamps under it (KAFKA-5353)
            message = changed(message, {names.TIMESTAMP_TYPE: TimestampType.CREATE_TIME})
        payload = batch.decompressed(limit)
        check_count(batch, min(batch.num_records, len(payload)))
        origin = Origin(
            batch.file, batch.payload_position, batch.is_compressed, payload_path(batch)
        )
        records = self._codec.decode_records(message, payload, origin=origin)
        own = record_values(batch, message, payload, self._codec)
        if appended and not kind.has_record_sets:
            records = [record._replace(timestamp=batch.max_timestamp) for record in records]
        return records, own

    def _carried(
        self,
        batch: Batch,
        kind: EntryKind,
        compression: CompressionType,
        own: list[RecordValues] | None,
    ) -> tuple[FieldValues, list[RecordValues] | None]:
        """Return the unknown fields of an entry and its records to carry over; count the others.

        The header of a single message is that of its record.
        """
        found = header_values(batch.kind, batch.message)
        single = not batch.kind.has_record_sets and not batch.is_wrapper
        if single:  # the others are fields of the record
            found = tuple(item for item in found if item[0] in entry_names())
        others = carried(found, batch.kind, kind)
        if not kind.has_record_sets and not compression:  # each record has its own entry
            others = tuple(item for item in others if item[0] in entry_names())
        for name in dict(found).keys() - dict(others).keys():
            records = batch.num_records or 0
            self.losses.add_field(f"header.{name}", batches=1, records=records)
        if single and own is not None:
            own = [{n: value for n, value in own[0].items() if n not in entry_names()}]
        if own is None:
            return others, None
        kept = [carried_record(values, batch.kind, kind) for values in own]
        lost: Counter[str] = Counter()
        for values, some in zip(own, kept, strict=True):
            lost.update(values.keys() - some.keys())
        for name, records in lost.items():
            self.losses.add_field(f"record.{name}", batches=1, records=records)
        return others, kept if any(kept) else None

    def _in_range(
        self, batch: Batch, records: list[Record], own: list[RecordValues] | None
    ) -> tuple[list[Record], list[RecordValues] | None]:
        low, high, start = self._low, self._high, self._log_start
        kept: list[int] = []
        for row, record in enumerate(records):
            below = low is not None and record.offset < low
            inside = not below and (high is None or record.offset < high)
            if inside and self._choices.takes(batch, record):
                kept.append(row)
                continue
            deleted = start is not None and record.offset < start
            self.losses.add(Loss.DELETED if deleted else Loss.OUT_OF_RANGE, records=1)
        return [records[row] for row in kept], own and [own[row] for row in kept]

    def _moved(self, records: list[Record], batch: Batch) -> list[Record]:
        if self.offsets.renumbers:
            first = self.offsets.take(len(records), batch)
            return [Record(offset, *record[1:]) for offset, record in enumerate(records, first)]
        if not self.offsets.shift:
            return records
        return [
            record._replace(offset=self.offsets.moved(record.offset, batch)) for record in records
        ]

    def _count(self, batch: Batch, records: list[Record], kind: EntryKind, appended: bool) -> None:
        """Count the losses of this batch in another format."""
        number = len(records)
        add = self.losses.add
        if ignored_bytes(batch):
            add(Loss.UNUSED_BYTES, batches=1, records=number)
        if batch.timestamp_type not in (CREATE_TIME, NO_TIMESTAMP_TYPE) and not appended:
            add(Loss.TIMESTAMP_TYPES, batches=1, records=number)
        if not kind.has_timestamps:
            timed = sum(record.timestamp != NO_TIMESTAMP for record in records)
            if timed:
                add(Loss.TIMESTAMPS, batches=1, records=timed)
        if not kind.has_headers:
            with_headers = sum(map(bool, map(_HEADERS, records)))
            if with_headers:
                add(Loss.HEADERS, batches=1, records=with_headers)
        if batch.producer_id != NONE and not kind.has_producers:
            add(Loss.PRODUCERS, batches=1, records=number)
        if batch.is_transactional and not kind.has_transactions:
            add(Loss.TRANSACTIONS, batches=1, records=number)
        if batch.partition_leader_epoch != NONE and not kind.has_leader_epochs:
            add(Loss.LEADER_EPOCHS, batches=1, records=number)
        if batch.delete_horizon is not None and not kind.has_delete_horizons:
            add(Loss.DELETE_HORIZONS, batches=1, records=number)

    def _count_sequences(self, batch: Batch, records: list[Record]) -> None:
        if batch.base_sequence == NONE:
            return
        first = records[0].offset
        changed = sum(record.offset - first != i for i, record in enumerate(records))
        if changed:
            self.losses.add(Loss.SEQUENCES, batches=1, records=changed)

    def _put(self, batch: Batch, draft: Draft) -> Iterator[Buffer]:
        """Write a draft, or let it wait for more records."""
        traits = draft.traits
        limit = self._choices.batch_bytes
        divides = self._is_regrouped(batch, traits.kind, traits.compression)
        message = not batch.kind.has_record_sets and not batch.is_compressed
        single = message and traits.is_grouped
        if not divides and not single:
            yield from self.flush()
            yield write(draft, self._codec, self._choices.level)
            return
        limit = BATCH_BYTES if limit is None else limit
        for part in draft.divided(limit) if divides else [draft]:
            yield from self._waiting.put(part, limit)


def cut_entry(batch: Batch, log_start: int) -> bytes:
    """Return an entry that begins at an offset inside it, without the records below.

    All else of it stays. Where compaction has removed the other records, it is an empty batch, so
    that the log still ends where it did.
    """
    converter = EntryConverter(Choices(), get_codec(), log_start_offset=log_start)
    return b"".join([*converter.convert(batch), *converter.flush()])
