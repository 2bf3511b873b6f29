"""A broker makes transactions that hang, duplicates, and gaps; it and its tools judge what we say.

With ``transaction.partition.verification.enable=false`` a broker takes data of a transaction that
its coordinator does not know of; with a short ``producer.id.expiration.ms`` it forgets producers,
and takes the same records twice.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kafkaspec.forensics.gaps import read_gaps
from kafkaspec.forensics.producers import by_producer, read_producers
from kafkaspec.forensics.timeline import read_timeline
from kafkaspec.forensics.transactions import open_transactions
from kafkaspec.log.partition import Partition
from kafkaspec.state.transactions import read_transactions
from tests.kafka.chosen import VERSIONS
from tests.log import forge
from tools.brokers.broker import Broker
from tools.brokers.client import Client, Record
from tools.brokers.maven import class_path
from tools.brokers.processes import java_command
from tools.brokers.programs import Program
from tools.brokers.versions import Version
from tools.kafka.producing import Produced, produce

pytestmark = pytest.mark.kafka

JUDGES = [v for v in VERSIONS if v.release >= (4, 1) and not v.missing][-1:]
"""A release with small segments, and with its tools: those of 4.4.0 are not published."""
EXPIRATION_MS = 1_500
SETTINGS = {
    "transaction.partition.verification.enable": "false",
    "producer.id.expiration.ms": str(EXPIRATION_MS),
    "producer.id.expiration.check.interval.ms": "100",
    "log.initial.task.delay.ms": "100",
}
LARGEST = 2**31 - 1
LATEST, EARLIEST = "-1", "-2"
SMALL = {"internal.segment.bytes": "600", "index.interval.bytes": "200"}
TOPICS: dict[str, dict[str, str]] = {
    "hang": {},
    "twice": {},
    "wraps": {},
    "ends": {},
    "deleted": SMALL,
    "retained": {**SMALL, "retention.ms": "-1"},
    "cut": SMALL,
    "cleaned": SMALL,
}
COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001"}
IN_TRANSACTION = 0x10


@dataclass
class Made:
    """What the broker made, and what it said before it was stopped."""

    logs: Path
    twice: list[int] = field(default_factory=list)
    """First offsets of the batches in the topic ``twice``."""
    stable: dict[str, int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    producers: dict[str, list[list[str]]] = field(default_factory=dict)
    consumed: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    hanging: str = ""
    lost: tuple[int, int] = (-1, -1)
    before: Path = Path()
    """The topic ``cleaned`` before the cleaner."""
    ongoing: str = ""

    def partition(self, topic: str) -> Partition:
        return Partition(self.logs / f"{topic}-0")


def _now() -> int:
    return time.time_ns() // 1_000_000


class _Raw:
    """Produce requests with ready batches of producers that nobody initialised."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def send(
        self,
        topic: str,
        producer: tuple[int, int, int],
        values: list[bytes],
        *,
        transactional_id: str | None = None,
    ) -> Produced:
        records = [forge.record(number, value) for number, value in enumerate(values)]
        now = _now()
        batch = forge.batch(
            0, records, producer=producer, base_timestamp=now, max_timestamp=now,
            attributes=IN_TRANSACTION if transactional_id else 0,
        )  # fmt: skip
        return produce(self._bootstrap, topic, batch, 7, transactional_id)


def _transactions(client: Client, topic: str, name: str, *ends: str) -> None:
    client.open(name, {"transactional.id": name})
    for number, end in enumerate(ends):
        client.call(name, "beginTransaction")
        client.send(name, topic, 0, [Record(None, b"%d" % number), Record(None, b"x")])
        if end:
            client.call(name, end)


def _hang(client: Client, raw: _Raw, broker: Broker, made: Made) -> None:
    """One transaction is known to its coordinator and open; the other one hangs."""
    _transactions(client, "hang", "old", "commitTransaction", "abortTransaction")
    _transactions(client, "hang", "live", "")
    timeline = read_timeline(Partition(broker.logs / "hang-0"))
    last = [row for row in timeline.transactions.to_pylist() if row["outcome"] == "aborted"][-1]
    producer = last["producer_id"], last["marker_epoch"], 0
    done = raw.send("hang", producer, [b"late", b"later"], transactional_id="old")
    assert done.error_code == 0, done
    client.open("plain", {})
    client.send("plain", "hang", 0, [Record(None, b"after")])


def _twice(raw: _Raw, made: Made) -> None:
    """Forgets a producer between the same records, and before a jump of its numbers."""
    five = [b"%d" % number for number in range(5)]
    for sequence, values, wait in (
        (0, five, False),
        (0, five, False),  # a repeat that it knows: acknowledged, and not written
        (5, [b"next"], False),
        (0, five, True),
        (35, [b"jump"], True),
    ):
        if wait:
            time.sleep(EXPIRATION_MS / 1000 + 1)
        done = raw.send("twice", (7_000, 0, sequence), values)
        assert done.error_code == 0, (sequence, done)
        made.twice.append(done.base_offset)
    refused = raw.send("twice", (7_000, 0, 99), [b"gap"])
    assert refused.error_code == 45  # OUT_OF_ORDER_SEQUENCE_NUMBER


def _segments(client: Client, topic: str) -> None:
    client.open(topic, {})
    for number in range(12):
        client.send(topic, topic, 0, [Record(b"%d" % (number % 3), b"v" * 60) for _ in range(3)])
    client.call(topic, "close")


def _until(condition: Callable[[], bool]) -> None:
    for _ in range(300):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen")


def _cut(broker: Broker) -> tuple[int, int]:
    """Damage a batch of a segment without index: recovery cuts that segment, and keeps later ones.

    Returns:
        The range of offsets that are lost.
    """
    log = broker.logs / "cut-0"
    path = sorted(log.glob("*.log"))[1]
    batches = [batch for batch in Partition(log).batches() if str(batch.file) == str(path)]
    data = bytearray(path.read_bytes())
    data[batches[-1].position + 70] ^= 1
    path.write_bytes(data)
    path.with_suffix(".index").unlink()
    return batches[-1].base_offset, batches[-1].last_offset


def _ask(broker: Broker, made: Made) -> None:
    with Program(
        broker.version, broker.work, "ListOffsets", "DescribeProducers",
        arguments=[broker.bootstrap],
    ) as program:  # fmt: skip
        for topic in TOPICS:

            def offset(isolation: str, what: str, topic: str = topic) -> int:
                return int(program.ask("ListOffsets", topic, isolation, what)[0][0])

            made.stable[topic] = offset("read_committed", LATEST)
            made.ends[topic] = offset("read_uncommitted", LATEST)
            made.starts[topic] = offset("read_uncommitted", EARLIEST)
            made.producers[topic] = program.ask("DescribeProducers", topic)


def _find_hanging(broker: Broker, *options: str) -> str:
    java, *flags = java_command(broker.work, class_path(broker.version), broker.version.jvm_flags)
    done = subprocess.run(
        [java, *flags, "org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server",
         broker.bootstrap, "find-hanging", "--broker-id", "0", *options],
        capture_output=True, text=True, timeout=120, cwd=broker.work,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=JUDGES, ids=lambda version: version.name)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    version: Version = request.param
    work = tmp_path_factory.mktemp(f"history-{version.name}")
    broker = Broker(version, work, SETTINGS)
    found = Made(broker.logs)
    with broker.running():
        raw = _Raw(broker.bootstrap)
        with Client(broker) as client:
            for topic, settings in TOPICS.items():
                client.create(topic, 1, settings)
            for topic in ("deleted", "retained", "cut", "cleaned"):
                _segments(client, topic)
            found.before = work / "before" / "cleaned-0"
            shutil.copytree(broker.logs / "cleaned-0", found.before)
            client.alter("cleaned", {**SMALL, **COMPACTED})
            _until(lambda: _is_cleaned(broker.logs / "cleaned-0"))
            client.ask("DeleteRecords", "deleted", 0, 17)
            client.alter("retained", {**TOPICS["retained"], "retention.ms": "1"})
            _until(lambda: len(list((broker.logs / "retained-0").glob("*.log"))) == 1)
            client.alter("retained", TOPICS["retained"])
            _segments(client, "retained")
            _transactions(client, "ends", "ends", *("commitTransaction", "abortTransaction") * 4)
        lost = _cut_when_stopped(broker)
        with Client(broker) as client:
            raw.send("wraps", (7_001, 0, LARGEST - 1), [b"a", b"b", b"c"])
            raw.send("wraps", (7_001, 0, 2), [b"d"])
            _twice(raw, found)
            _hang(client, raw, broker, found)
            _ask(broker, found)
            for topic in TOPICS:
                for isolation in ("read_committed", "read_uncommitted"):
                    records = client.consume(topic, isolation).records
                    found.consumed[topic, isolation] = {record.offset for record in records}
            found.hanging = _find_hanging(broker, "--max-transaction-timeout", "0")
            found.ongoing = _find_hanging(broker)
            copy = work / "copy"
            shutil.copytree(broker.logs, copy)
    found.logs = copy
    found.lost = lost
    return found


def _is_cleaned(path: Path) -> bool:
    log = Partition(path)
    return bool(log.cleaner_offset and log.cleaner_offset == log.last_base_offset)


def _cut_when_stopped(broker: Broker) -> tuple[int, int]:
    broker._kafka.stop()
    lost = _cut(broker)
    broker.start()
    return lost


def test_last_stable_offsets_and_what_is_delivered(made: Made) -> None:
    for topic in TOPICS:
        timeline = read_timeline(made.partition(topic))
        assert timeline.last_stable_offset == made.stable[topic], topic
        assert timeline.log_end_offset == made.ends[topic], topic
        assert timeline.index == []
        rows = timeline.transactions.to_pylist()
        withheld = {row["marker"] for row in rows}
        uncommitted = made.consumed[topic, "read_uncommitted"]
        for row in rows:
            if row["outcome"] == "aborted":
                span = range(row["first_offset"], row["last_offset"] + 1)
                withheld |= {
                    batch_offset
                    for batch in made.partition(topic).batches()
                    if batch.producer_id == row["producer_id"]
                    for batch_offset in range(batch.base_offset, batch.last_offset + 1)
                    if batch_offset in span
                }
        stable = timeline.last_stable_offset
        expected = {offset for offset in uncommitted - withheld if offset < stable}
        assert made.consumed[topic, "read_committed"] == expected, topic


def test_one_transaction_hangs_and_one_is_open(made: Made) -> None:
    states = [read_transactions(Partition(path)).ids
              for path in made.logs.glob("__transaction_state-*")]  # fmt: skip
    (ids,) = states
    rows = open_transactions([made.partition("hang")], ids, complete=True).to_pylist()
    verdicts = {row["transactional_id"]: row["verdict"] for row in rows}
    assert verdicts == {"old": "hanging", "live": "open"}
    (hanging,) = [row for row in rows if row["hanging"]]
    lines = [line.split() for line in made.hanging.splitlines()[1:] if line.strip()]
    assert [(line[0], int(line[2])) for line in lines] == [("hang", hanging["producer_id"])]
    assert str(hanging["first_offset"]) in lines[0]
    # By default the tool takes none that is younger than 15 minutes for one.
    assert [line for line in made.ongoing.splitlines()[1:] if line.strip()] == []


def test_the_broker_knows_the_same_producers(made: Made) -> None:
    """Those that it has not forgotten: same epoch, last sequence and open transaction."""
    compared = 0
    for topic in TOPICS:
        found = read_producers(made.partition(topic))
        known = {row["producer_id"]: row for row in by_producer(found)}
        opened = {
            each.producer_id: each.first_offset
            for each in read_timeline(made.partition(topic)).open_transactions
        }
        for answer in made.producers[topic]:
            producer, epoch, sequence, _, first = map(int, answer)
            assert opened.get(producer, -1) == first, (topic, producer)
            row: dict[str, Any] = dict(known[producer])
            if sequence >= 0:
                assert (row["last_epoch"], row["last_sequence"]) == (epoch, sequence), topic
                compared += 1
            else:  # a marker of transaction version 2 has begun the next epoch
                assert row["last_epoch"] == epoch - 1
    assert compared >= 2


def test_what_was_written_twice_is_proved(made: Made) -> None:
    first, repeat, _, again, jump = made.twice
    assert repeat == first
    found = read_producers(made.partition("twice"), expiration_ms=EXPIRATION_MS)
    assert [(item.verdict, item.first_offset, item.count, item.legal) for item in found.breaks] == [
        ("duplicate", again, 5, True),
        ("never_here", jump, 29, True),
    ]
    assert found.breaks[0].strength == "proof"
    assert [item.legal for item in read_producers(made.partition("twice")).breaks] == [False] * 2
    assert read_producers(made.partition("wraps")).breaks == []


def test_gaps_are_what_a_consumer_does_not_get(made: Made) -> None:
    for topic in TOPICS:
        result = read_gaps(made.partition(topic))
        start, end = made.starts[topic], made.ends[topic]
        assert (result.log_start_offset, result.log_end_offset) == (start, end), topic
        rows = [row for row in result.ranges.to_pylist() if row["why"] != "aborted"]
        delivered = made.consumed[topic, "read_uncommitted"]
        assert end - len(delivered) == sum(row["missing"] for row in rows), topic
        missing = {
            offset
            for row in rows
            if row["kind"] != "inside"
            for offset in range(row["first_offset"], row["last_offset"] + 1)
        }
        assert not missing & delivered, topic


def test_each_gap_has_its_reason(made: Made) -> None:
    def reasons(topic: str) -> list[tuple[str, str, str]]:
        rows = read_gaps(made.partition(topic)).ranges.to_pylist()
        return sorted({(row["kind"], row["why"], row["strength"]) for row in rows})

    below, kept = ("before", "retention", "likely"), ("withheld", "delete_records", "proof")
    assert set(reasons("deleted")) <= {below, kept}
    assert kept in reasons("deleted")
    assert reasons("retained") == [below]
    (row,) = read_gaps(made.partition("cut")).ranges.to_pylist()
    assert (row["first_offset"], row["last_offset"]) == made.lost
    assert (row["why"], row["strength"]) == ("cut", "likely")


def test_another_copy_proves_what_the_cleaner_removed(made: Made) -> None:
    log, before = made.partition("cleaned"), Partition(made.before)
    alone = read_gaps(log).ranges.to_pylist()
    assert {row["why"] for row in alone} == {"compaction"}
    between = [row for row in alone if row["kind"] == "between"]
    assert between
    assert {row["strength"] for row in between} == {"consistent"}
    rows = [row for row in read_gaps(log, before).ranges.to_pylist() if row["kind"] == "between"]
    assert {(row["why"], row["strength"]) for row in rows} == {("superseded", "proof")}
    # The other way round nothing is missing.
    assert read_gaps(before, log).ranges.to_pylist() == []
