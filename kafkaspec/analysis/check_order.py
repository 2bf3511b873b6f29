"""Check batches of a partition against earlier ones: offsets, sequences, epochs, transactions.

The checks work across segments. Memory is bounded: the check remembers the last batch of each
producer, and only the most recent producers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.analysis.findings import Area, Finding, Place, Severity
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.analysis.text_checks import EpochRun, add_to_runs
from kafkaspec.broker.profiles import PRODUCER_EXPIRATION_MS
from kafkaspec.columns.conditions import BEFORE, Compare, Condition
from kafkaspec.layout import names
from kafkaspec.layout.framing import field_of
from kafkaspec.layout.names import OFFSET_INDEX_ENTRY
from kafkaspec.layout.sequences import is_later, sequence_after
from kafkaspec.log.transactions import OpenTransaction, Transactions

if TYPE_CHECKING:
    from kafkaspec.layout import EntryKind

MAX_PRODUCERS = 100_000
"""Number of most recent producers that are remembered."""

_OFFSET_SPAN: Final = field_of(OFFSET_INDEX_ENTRY, "relative_offset").largest
"""Offsets that a segment may span: its indexes hold relative offsets."""

GROUP_OFFSETS = f"{Topic.CONSUMER_OFFSETS}-"
"""Prefix of the directories of the topic with the offsets of groups."""


class Header(Protocol):
    """The part of a ``Batch`` that the checks need. A row of a table of headers has it too."""

    @property
    def kind(self) -> EntryKind: ...
    @property
    def position(self) -> int: ...
    @property
    def base_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def partition_leader_epoch(self) -> int: ...
    @property
    def producer_id(self) -> int: ...
    @property
    def producer_epoch(self) -> int: ...
    @property
    def base_sequence(self) -> int: ...
    @property
    def last_sequence(self) -> int: ...
    @property
    def max_timestamp(self) -> int: ...
    @property
    def is_transactional(self) -> int: ...
    @property
    def is_control(self) -> int: ...
    @property
    def num_records(self) -> int | None: ...


@dataclass(slots=True)
class _Producer:
    epoch: int
    last_sequence: int = -1
    last_offset: int = -1
    """Last offset of its last batch with a sequence number."""
    max_timestamp: int = -1
    """Largest timestamp of that batch, -1 for none."""
    before_repeat: int = -1
    """Sequence number before those that came again, -1 for none."""
    open_records: int = 0
    """Records of the open transaction that are still in the log."""
    last_marker: int = -1
    """Offset of the marker that ended the previous transaction, -1 if none was seen."""
    first_epoch: int = -1
    """Epoch of the first batch that was seen."""
    epoch_changed: bool = False
    """Whether a later batch has another epoch."""

    @classmethod
    def of(cls, values: Sequence[int]) -> _Producer:
        """Return the producer that has these values."""
        made = cls(-1)
        for name, value in zip(cls.__slots__, values, strict=True):
            setattr(made, name, value)
        return made

    def values(self) -> list[int]:
        """Return the values of all attributes."""
        return [int(getattr(self, name)) for name in self.__slots__]

    def wrote(self, batch: Header | _Producer) -> None:
        """Note the last batch with a sequence number."""
        self.last_sequence = batch.last_sequence
        self.last_offset = batch.last_offset
        self.max_timestamp = batch.max_timestamp

    def follow(self, before: _Producer) -> None:
        """Take over the state before the first batch that this object saw."""
        same = self.first_epoch == before.epoch and not self.epoch_changed
        if same and self.last_sequence < 0:
            self.wrote(before)
        if self.last_marker < 0:
            self.open_records += before.open_records
            self.last_marker = before.last_marker
        self.epoch_changed |= before.epoch_changed or before.epoch != self.first_epoch
        self.first_epoch = before.first_epoch


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    """A transaction with records in the log that a marker aborts.

    Attributes:
        producer_id: id of its producer.
        first_offset: its first offset that is left.
        last_offset: offset of the marker.
        previous_marker: offset of the previous marker of the same producer, -1 for none.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    previous_marker: int = -1


CONTINUING: Final[tuple[Condition, ...]] = (
    (Compare(names.MAGIC, "==", BEFORE + names.MAGIC),),
    (Compare(names.LEADER_EPOCH, "==", BEFORE + names.LEADER_EPOCH),),
    (Compare(names.BASE_OFFSET, ">", BEFORE + names.LAST_OFFSET),),
)
"""Conditions under which a batch of data continues a run; see ``LogOrder.extend``. They are
stricter than the checks: a batch that breaks one begins another run."""

SAME_PRODUCER: Final[tuple[Condition, ...]] = (
    (Compare(names.PRODUCER_ID, "==", BEFORE + names.PRODUCER_ID),),
    (Compare(names.PRODUCER_EPOCH, "==", BEFORE + names.PRODUCER_EPOCH),),
    (Compare(names.IS_TRANSACTIONAL, "==", BEFORE + names.IS_TRANSACTIONAL),),
    (
        Compare(names.PRODUCER_ID, "<", 0),
        Compare(names.BASE_SEQUENCE, "==", BEFORE + names.LAST_SEQUENCE, 1),
    ),
)
"""The same for runs of one producer; see ``LogOrder.extend_data``."""


def within(segment_base: int) -> tuple[Condition, ...]:
    """Return more of them, for a segment with this offset in its name."""
    return (
        (Compare(names.BASE_OFFSET, ">=", segment_base),),
        (Compare(names.LAST_OFFSET, "<=", segment_base, _OFFSET_SPAN),),
    )


@dataclass(slots=True)
class OrderState:
    """The state of a ``LogOrder`` after a batch, as plain values.

    Attributes:
        last_offset: see ``LogOrder``.
        leader_epoch: the last one, -1 for none.
        producers: their ids, each with the values of a ``_Producer``; the last one wrote last.
        open: the values of each open transaction.
    """

    PRODUCER: ClassVar = 1 + len(_Producer.__slots__)
    """Number of values of a producer."""
    OPEN: ClassVar = len(OpenTransaction._fields)
    """The same for an open transaction."""

    last_offset: int | None = None
    leader_epoch: int = -1
    producers: list[list[int]] = field(default_factory=list)
    open: list[list[int]] = field(default_factory=list)

    def without_before(self, start: int) -> OrderState | None:
        """Return the state that a log leaves which has lost its batches before an offset.

        None if it cannot be known: a transaction that is open began there.
        """
        if any(first < start for _, _, first, _ in self.open):
            return None
        kept = []
        for producer_id, *values in self.producers:
            producer = _Producer.of(values)
            if max(producer.last_offset, producer.last_marker) < start:
                continue
            if producer.last_offset < start:
                producer.last_sequence = producer.last_offset = producer.max_timestamp = -1
            if producer.last_marker < start:
                producer.last_marker = -1
            kept.append([producer_id, *producer.values()])
        return OrderState(self.last_offset, self.leader_epoch, kept, self.open)


class LogOrder:
    """The state of a partition while its batches are read in order.

    Args:
        group_offsets: whether it is a partition of ``__consumer_offsets``. Brokers up to 3.9 write
            every batch of offsets in a transaction with sequence 0 (quirk Q34).

    Attributes:
        last_offset: last offset seen, None before the first batch.
        epochs: leader epochs of the batches in order.
    """

    has_offsets = True
    """Whether the offsets of the batches are those of a log."""

    def __init__(self, *, group_offsets: bool = False) -> None:
        self.last_offset: int | None = None
        self._group_offsets = group_offsets
        self.epochs: list[EpochRun] = []
        self._leader_epoch = -1
        self._producers: OrderedDict[int, _Producer] = OrderedDict()
        self._transactions = Transactions()

    @property
    def has_producers(self) -> bool:
        """Whether a batch so far has a producer."""
        return bool(self._producers)

    def state(self) -> OrderState:
        """Return the state without ``epochs``, of which each segment keeps its own."""
        producers = [[key, *value.values()] for key, value in self._producers.items()]
        opened = [[int(value) for value in each] for each in self._transactions.open.values()]
        return OrderState(self.last_offset, self._leader_epoch, producers, opened)

    def restore(self, state: OrderState) -> None:
        """Take over such a state, and keep ``epochs``."""
        self.last_offset, self._leader_epoch = state.last_offset, state.leader_epoch
        self._producers = OrderedDict()
        for producer_id, *values in state.producers:
            self._producers[producer_id] = _Producer.of(values)
        self._transactions = Transactions(OpenTransaction(*values) for values in state.open)

    def follow(self, before: LogOrder) -> None:
        """Take over the state before the first batch that this object saw.

        For logs whose parts are read at the same time: the states of the parts, joined in order,
        are the state after one pass over all of them. ``before`` cannot be used afterwards.
        """
        if self.last_offset is None:
            self.last_offset = before.last_offset
        if self._leader_epoch < 0:
            self._leader_epoch = before._leader_epoch
        for run in self.epochs:
            add_to_runs(before.epochs, run.epoch, run.base_offset, run.last_offset)
        self.epochs = before.epochs
        producers = before._producers
        for producer_id, producer in self._producers.items():
            earlier = producers.pop(producer_id, None)
            if earlier is not None:
                if producer.last_marker >= 0:
                    before._transactions.end(producer_id)
                producer.follow(earlier)
            producers[producer_id] = producer
        self._producers = producers
        self._transactions.open |= before._transactions.open
        while len(producers) > MAX_PRODUCERS:
            self._forget()

    def check(
        self, batch: Header, first_offset: int, segment_base: int | None, file: str
    ) -> Iterator[Finding]:
        """Check a batch against the earlier ones.

        Args:
            first_offset: its base offset; for a legacy batch, the offset of its first message.
            segment_base: offset in the name of the segment, None if there is none.
        """

        at = Place(file, Area.BATCH, batch.position, batch.last_offset)
        last = batch.last_offset
        if segment_base is not None:
            if last < segment_base:
                text = f"offset {last} is below the {segment_base} of the file name"
                yield at.error(R.OFFSET_BELOW_BASE, text)
            elif first_offset < segment_base:
                # A follower that begins to fetch inside a batch gets the whole batch (KAFKA-6975).
                text = f"the batch begins with offset {first_offset}, below the {segment_base} of "
                text += "the file name"
                yield Place(file, Area.FILES, batch.position, first_offset).info(R.FILE_NAME, text)
            elif last - segment_base > _OFFSET_SPAN:
                text = f"offset {last} is more than 2^{_OFFSET_SPAN.bit_length()}-1 above the "
                text += f"{segment_base} of the file name"
                yield at.error(R.OFFSET_ABOVE_RANGE, text)
        if self.last_offset is not None and first_offset <= self.last_offset:
            text = f"offset {self.last_offset} is followed by {first_offset}"
            yield at.error(R.OFFSET_ORDER, text)
        self.last_offset = max(last, first_offset)
        if not batch.kind.has_record_sets:
            return
        epoch = batch.partition_leader_epoch
        if 0 <= epoch < self._leader_epoch:
            text = f"leader epoch {self._leader_epoch} is followed by {epoch}"
            yield at.warning(R.LEADER_EPOCH_ORDER, text)
        if epoch >= 0:
            self._leader_epoch = epoch
            add_to_runs(self.epochs, epoch, batch.base_offset, last)
        if batch.producer_id >= 0 and not batch.is_control:
            yield from self.check_data(batch, file)

    def extend(self, last: Header) -> None:
        """Take offsets and leader epochs of sound batches that continue the one checked last."""
        self.last_offset = last.last_offset
        if last.partition_leader_epoch >= 0:
            add_to_runs(
                self.epochs, last.partition_leader_epoch, last.base_offset, last.last_offset
            )

    def extends(self, batch: Header) -> bool:
        """Return whether more data of the producer, after this batch, gives no finding."""
        return bool(batch.is_transactional) or batch.producer_id not in self._transactions.open

    def extend_data(self, last: Header, records: int) -> None:
        """Take sound batches of data of the producer whose batch was checked last."""
        producer = self._producers[last.producer_id]
        producer.wrote(last)
        if last.is_transactional:
            producer.open_records += records

    def check_data(self, batch: Header, file: str) -> Iterator[Finding]:
        """Check a batch of data of a producer against the earlier ones of the producer."""
        at = Place(file, Area.BATCH, batch.position, batch.last_offset)
        producer, findings = self._producer(batch, at)
        yield from findings
        known, first = producer.last_sequence, batch.base_sequence
        ordered = not self._group_offsets and known >= 0 and first >= 0
        if ordered and not is_later(first, known):
            yield at.found(
                # A producer that its broker has forgotten starts again at 0.
                Severity.INFO if first == 0 else Severity.WARNING,
                R.SEQUENCE_ORDER,
                f"producer {batch.producer_id}, epoch {batch.producer_epoch}: "
                f"sequence {known} is followed by {first}",
            )
            if producer.before_repeat < 0:
                producer.before_repeat = known
        elif ordered and first != sequence_after(known, 1):
            if first != sequence_after(producer.before_repeat, 1):
                yield from self._gap(batch, producer, at)
            producer.before_repeat = -1
        if first >= 0:
            producer.wrote(batch)
        if batch.is_transactional:
            own = batch.producer_id, batch.producer_epoch, batch.base_offset, batch.max_timestamp
            self._transactions.data(*own)
            producer.open_records += batch.num_records or 0
        elif (ongoing := self._transactions.open.get(batch.producer_id)) is not None:
            text = f"producer {batch.producer_id} writes outside a transaction while its "
            text += f"transaction from offset {ongoing.first_offset} is open"
            yield at.error(R.TRANSACTION_STATE, text)

    def _gap(self, batch: Header, producer: _Producer, at: Place) -> Iterator[Finding]:
        """Report sequence numbers that are left out, and more of them than offsets."""
        # Compaction removes them with their offsets. A broker takes any number of a producer that
        # has expired, and after it has lost its state.
        known, first = producer.last_sequence, batch.base_sequence
        missing = sequence_after(0, first - known - 1)
        if missing <= batch.base_offset - producer.last_offset - 1:
            return
        since, now = producer.max_timestamp, batch.max_timestamp
        expired = since >= 0 and now - since >= PRODUCER_EXPIRATION_MS
        text = f"producer {batch.producer_id}, epoch {batch.producer_epoch}: sequence {known} is "
        text += f"followed by {first}: {missing} left out"
        yield at.found(Severity.INFO if expired else Severity.WARNING, R.SEQUENCE_GAP, text)

    def _producer(self, batch: Header, at: Place) -> tuple[_Producer, list[Finding]]:
        findings = []
        producer, epoch = self._producers.get(batch.producer_id), batch.producer_epoch
        if producer is None:
            producer = self._producers[batch.producer_id] = _Producer(epoch, first_epoch=epoch)
            if len(self._producers) > MAX_PRODUCERS:
                self._forget()
        else:
            self._producers.move_to_end(batch.producer_id)
        if epoch < producer.epoch:
            text = f"producer {batch.producer_id}: epoch {producer.epoch} is followed by {epoch}"
            findings.append(at.warning(R.PRODUCER_EPOCH_ORDER, text))
        if epoch != producer.epoch:
            producer.epoch = epoch
            producer.epoch_changed = True
            producer.last_sequence = producer.before_repeat = -1
        return producer, findings

    def _forget(self) -> None:
        """Forget the producer that has written last before all others."""
        self._transactions.end(self._producers.popitem(last=False)[0])

    def end_transaction(
        self, batch: Header, aborts: bool, file: str
    ) -> tuple[AbortedTransaction | None, list[Finding]]:
        """Note a transaction marker, whose producer epoch may differ from the data (quirk Q33).

        Returns:
            The transaction if it was aborted and records of it were seen, and findings.
        """
        at = Place(file, Area.BATCH, batch.position, batch.last_offset)
        producer, findings = self._producer(batch, at)
        aborted, ended = None, self._transactions.end(batch.producer_id)
        if aborts and ended is not None and producer.open_records:
            aborted = AbortedTransaction(
                batch.producer_id, ended.first_offset, batch.last_offset, producer.last_marker
            )
        producer.open_records = 0
        producer.last_marker = batch.last_offset
        return aborted, findings


class NoLogOrder(LogOrder):
    """Batches of many partitions, as producers sent them: none of them follows another."""

    has_offsets = False

    def check(
        self, batch: Header, first_offset: int, segment_base: int | None, file: str
    ) -> Iterator[Finding]:
        yield from ()

    def check_data(self, batch: Header, file: str) -> Iterator[Finding]:
        yield from ()

    def extend(self, last: Header) -> None:
        pass

    def extends(self, batch: Header) -> bool:
        return True

    def extend_data(self, last: Header, records: int) -> None:
        pass

    def end_transaction(
        self, batch: Header, aborts: bool, file: str
    ) -> tuple[AbortedTransaction | None, list[Finding]]:
        return None, []
