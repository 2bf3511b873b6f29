"""``transactions``: committed, aborted, open, hanging, of several producers, with a coordinator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.enumeration import TransactionState
from kafkaspec._generated.python.model.transaction_log_key import TransactionLogKey
from kafkaspec._generated.python.model.transaction_log_value import (
    PartitionsSchemaRigid,
    RigidBody,
    TransactionLogValue,
)
from kafkaspec.codecs import get_codec
from kafkaspec.log.batch import NONE
from kafkaspec.model import Record
from kafkaspec.scenarios.partition import MadePartition
from kafkaspec.scenarios.scenario_plan import ScenarioPlan

_TIMEOUT_MS = 60_000
_FIRST_PRODUCER = 1000
_LAST = 16
"""Records at the end, besides those of the loop."""


@dataclass
class _Producer:
    """A producer: transactional with a name, idempotent without one.

    Attributes:
        second: whether it speaks version 2, in which the end of a transaction raises the epoch.
        known: whether the coordinator knows it.
        sequences: next sequence number by partition.
        begun: partitions of its transaction.
        started: time when that began.
    """

    producer_id: int
    name: str | None
    second: bool = False
    known: bool = True
    epoch: int = 0
    sequences: dict[str, int] = field(default_factory=dict)
    begun: list[MadePartition] = field(default_factory=list)
    started: int = NONE

    def raise_epoch(self) -> None:
        """Begin the next epoch, in which sequence numbers start again."""
        self.epoch += 1
        self.sequences.clear()


class _Transactions:
    """Producers that write into partitions, and the coordinator that notes it."""

    def __init__(self, plan: ScenarioPlan) -> None:
        self._plan = plan
        self.partitions = [plan.partition("payments", number) for number in range(2)]
        self._coordinator = plan.partition(Topic.TRANSACTION_STATE)

    def begin(self, producer: _Producer) -> None:
        """Give a producer its id."""
        self._note(producer, TransactionState.EMPTY)

    def send(self, producer: _Producer | None, partition: MadePartition, count: int) -> None:
        """Append a batch; None is a producer without an id."""
        options: dict[str, Any] = {"compression": self._plan.compression()}
        if producer is not None:
            if producer.name is not None and partition not in producer.begun:
                if not producer.begun:
                    producer.started = self._plan.tick()
                producer.begun.append(partition)
                self._note(producer, TransactionState.ONGOING)
            sequence = producer.sequences.get(partition.name, 0)
            options |= {
                "producer_id": producer.producer_id,
                "producer_epoch": producer.epoch,
                "base_sequence": sequence,
                "transactional": producer.name is not None,
            }
            producer.sequences[partition.name] = sequence + count
        partition.add(self._plan.records(partition.end, count), **options)

    def end(self, producer: _Producer, *, commit: bool, markers: int | None = None) -> None:
        """End its transaction.

        Args:
            markers: partitions that get their marker; None for all, which completes it.
        """
        states = TransactionState
        self._note(producer, states.PREPARE_COMMIT if commit else states.PREPARE_ABORT, raised=True)
        for partition in producer.begun[:markers]:
            epoch = producer.epoch + producer.second
            partition.marker(producer.producer_id, epoch, self._plan.tick(), commit=commit)
        if markers is None:
            producer.begun.clear()
            state = states.COMPLETE_COMMIT if commit else states.COMPLETE_ABORT
            self._note(producer, state, raised=True)
            if producer.second:
                producer.raise_epoch()

    def forget(self, producer: _Producer) -> None:
        """End its transaction at the coordinator, without any marker."""
        producer.begun.clear()
        self._note(producer, TransactionState.COMPLETE_ABORT)

    def _note(self, producer: _Producer, state: TransactionState, *, raised: bool = False) -> None:
        if producer.name is None or not producer.known:
            return
        time, log, codec = self._plan.tick(), self._coordinator, get_codec()
        topics: dict[str, list[int]] = {}
        for partition in producer.begun:
            topics.setdefault(partition.topic, []).append(partition.partition)
        body = RigidBody(
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch + (raised and producer.second),
            transaction_timeout_ms=_TIMEOUT_MS,
            transaction_status=state,
            transaction_partitions=[
                PartitionsSchemaRigid(topic=topic.encode(), partition_ids=ids)
                for topic, ids in topics.items()
            ],
            transaction_last_update_timestamp_ms=time,
            transaction_start_timestamp_ms=producer.started,
        )
        key = TransactionLogKey(transactional_id=producer.name.encode())
        value = TransactionLogValue(schema_version=0, body=body)
        record = Record(
            log.end, time, codec.serialize("transaction_log_key.transaction_log_key", key),
            codec.serialize("transaction_log_value.transaction_log_value", value),
        )  # fmt: skip
        log.add([record])
        log.facts.setdefault("transactional_ids", {})[producer.name] = {
            "producer_id": producer.producer_id,
            "producer_epoch": body.producer_epoch,
            "state": state.name,
        }


def transactions(plan: ScenarioPlan) -> None:
    """Plan the scenario."""
    chance, run = plan.chance, _Transactions(plan)
    ids = iter(range(_FIRST_PRODUCER, 2 * _FIRST_PRODUCER))
    named = [_Producer(next(ids), f"transfer-{number}", bool(number % 2)) for number in range(4)]
    plain: list[_Producer | None] = [None, _Producer(next(ids), None), _Producer(next(ids), None)]
    for producer in named:
        run.begin(producer)
    for producer, commit in zip(named, (True, False, False, True), strict=True):
        run.send(producer, chance.choice(run.partitions), 2)
        run.end(producer, commit=commit)
    while max(len(each.records) for each in run.partitions) < plan.most - _LAST:
        partition, dice = chance.choice(run.partitions), chance.randrange(8)
        producer = chance.choice(named)
        if dice < 2:
            run.send(chance.choice(plain), partition, chance.randint(1, 5))
        elif dice < 6 or not producer.begun:
            run.send(producer, partition, chance.randint(1, 4))
        else:
            run.end(producer, commit=bool(chance.randrange(3)))
            if not chance.randrange(4):
                producer.raise_epoch()
                run.begin(producer)
        if not chance.randrange(20):
            partition.roll()
    _leave_open(plan, run, named, ids)


def _leave_open(
    plan: ScenarioPlan, run: _Transactions, named: list[_Producer], ids: Iterator[int]
) -> None:
    """End what is open, and leave a transaction in each state that an open one can have."""
    for producer in named:
        if producer.begun:
            run.end(producer, commit=bool(plan.chance.randrange(2)))
    first, second = run.partitions
    verdicts = {}
    for name in ("open", "ending", "hanging", "forgotten"):
        producer = _Producer(next(ids), f"last-{name}", known=name != "forgotten")
        run.begin(producer)
        run.send(producer, first, 2)
        if name != "hanging":
            run.send(producer, second, 1)
        match name:
            case "ending":
                run.end(producer, commit=True, markers=1)
            case "hanging":
                run.forget(producer)
        verdicts[producer.producer_id] = name if producer.known else "hanging"
    run.send(None, first, 3)
    for partition in run.partitions:
        partition.facts["open"] = [
            {
                "producer_id": each.producer_id,
                "first_offset": each.first_offset,
                "verdict": verdicts[each.producer_id],
            }
            for each in partition.transactions
            if each.marker is None
        ]
