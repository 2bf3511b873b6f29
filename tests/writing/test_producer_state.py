"""The state of producers, by hand-made logs whose outcome Kafka's source decides."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec._generated.python.model.producer_snapshot import ProducerEntry
from kafkaspec._generated.python.model.transaction_index import AbortedTransaction
from kafkaspec.broker.index_rules import Rule
from kafkaspec.broker.producer_state import (
    ProducerState,
    marker_of,
    read_marker,
    transaction_index,
)
from kafkaspec.broker.profiles import get_profile
from kafkaspec.codecs import NOWHERE, codec_names, get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import snapshots
from kafkaspec.layout.framing import ENTRY
from kafkaspec.log.control import ControlRecord
from kafkaspec.log.headers import read_headers

ABORT, COMMIT = 0, 1
TIME = 1_700_000_000_000


class Log:
    """Batches one after another."""

    def __init__(self) -> None:
        self.data = b""
        self.offset = 0

    def batch(self, producer: int, count: int = 1, **options: Any) -> Log:
        records = [
            ks.Record(self.offset + number, TIME + self.offset + number, b"k", b"v")
            for number in range(count)
        ]
        options.setdefault("producer_epoch", 0)
        self.data += ks.encode(records, producer_id=producer, **options)
        self.offset += count
        return self

    def marker(self, producer: int, kind: int, *, epoch: int = 0, coordinator: int = 5) -> Log:
        key, value = struct.pack(">hh", 0, kind), struct.pack(">hi", 0, coordinator)
        record = ks.Record(self.offset, TIME + 1000, key, value)
        self.data += ks.encode(
            [record], producer_id=producer, producer_epoch=epoch, transactional=True, control=True
        )
        self.offset += 1
        return self

    def state(self, version: str = "4.3") -> tuple[ProducerState, list[AbortedTransaction]]:
        state = ProducerState(get_profile(version))
        found = []
        for headers in read_headers(ks.Segment(self.data)):
            found += state.append(headers, 0, len(headers))
        return state, found


def entry(**fields: int) -> ProducerEntry:
    values = {
        "producer_id": 7,
        "producer_epoch": 0,
        "last_sequence": -1,
        "last_offset": -1,
        "offset_delta": 0,
        "timestamp": -1,
        "coordinator_epoch": -1,
        "current_txn_first_offset": -1,
    }
    return ProducerEntry(**{**values, **fields})


def test_only_the_last_batch_counts() -> None:
    log = Log().batch(7, 3, base_sequence=0).batch(-1, 2).batch(7, 2, base_sequence=3)
    state, aborted = log.state()
    assert aborted == []
    assert state.entries == [
        entry(last_sequence=4, last_offset=6, offset_delta=1, timestamp=TIME + 6)
    ]


def test_a_sequence_number_goes_on_with_zero() -> None:
    state, _ = Log().batch(7, 4, base_sequence=(1 << 31) - 2).state()
    assert state.entries[0].last_sequence == 1


def test_an_open_transaction_keeps_its_first_offset() -> None:
    log = Log().batch(-1, 4)
    log.batch(7, 2, base_sequence=0, transactional=True)
    log.batch(7, 2, base_sequence=2, transactional=True)
    state, _ = log.state()
    assert state.entries[0].current_txn_first_offset == 4
    assert state.first_open_offset == 4


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        # As if the marker were a batch of one record.
        ("0.11", {"last_sequence": 1, "last_offset": 2, "timestamp": TIME + 1000}),
        ("1.0", {"last_sequence": 1, "last_offset": 1, "offset_delta": 1, "timestamp": TIME + 1}),
        ("2.3", {"last_sequence": 1, "last_offset": 1, "offset_delta": 1, "timestamp": TIME + 1}),
        # KAFKA-9144: the time of the marker.
        (
            "2.4",
            {"last_sequence": 1, "last_offset": 1, "offset_delta": 1, "timestamp": TIME + 1000},
        ),
        (
            "4.3",
            {"last_sequence": 1, "last_offset": 1, "offset_delta": 1, "timestamp": TIME + 1000},
        ),
    ],
)
def test_the_state_after_a_marker(version: str, expected: dict[str, int]) -> None:
    log = Log().batch(7, 2, base_sequence=0, transactional=True).marker(7, COMMIT)
    state, aborted = log.state(version)
    assert aborted == []
    assert state.entries == [entry(coordinator_epoch=5, **expected)]
    assert state.first_open_offset is None


def test_transaction_version_2_forgets_the_last_batch() -> None:
    """The marker has the next epoch, so that a snapshot holds no batch of the producer."""
    log = Log().batch(7, 2, base_sequence=0, transactional=True).marker(7, ABORT, epoch=1)
    state, aborted = log.state()
    assert state.entries == [entry(producer_epoch=1, coordinator_epoch=5, timestamp=TIME + 1000)]
    assert aborted == [
        AbortedTransaction(producer_id=7, first_offset=0, last_offset=2, last_stable_offset=3)
    ]


def test_the_last_stable_offset_is_the_first_of_the_earliest_open_transaction() -> None:
    log = Log()
    for producer in (7, 8, 9):
        log.batch(producer, 2, base_sequence=0, transactional=True)
    log.marker(8, ABORT).marker(7, ABORT).batch(8, 1, base_sequence=2, transactional=True)
    log.marker(9, ABORT).marker(8, ABORT)
    _, aborted = log.state()
    found = [(a.producer_id, a.first_offset, a.last_offset, a.last_stable_offset) for a in aborted]
    assert found == [(8, 2, 6, 0), (7, 0, 7, 4), (9, 4, 9, 8), (8, 8, 10, 11)]


@pytest.mark.parametrize(("version", "listed"), [("2.8", [(0, 0)]), ("3.0", []), ("4.3", [])])
def test_an_aborted_transaction_without_data(version: str, listed: list[tuple[int, int]]) -> None:
    _, aborted = Log().marker(7, ABORT).state(version)
    assert [(item.first_offset, item.last_offset) for item in aborted] == listed


def test_a_control_batch_without_a_record_makes_an_empty_entry() -> None:
    """As in the snapshots that the loader of 4.3.1 writes."""
    data = ks.encode(
        [], base_offset=0, producer_id=7, producer_epoch=0, transactional=True, control=True
    )
    log = Log()
    log.data = data
    state, aborted = log.state()
    (entry,) = state.entries
    assert (entry.producer_id, entry.producer_epoch, entry.last_offset) == (7, -1, -1)
    assert (entry.timestamp, entry.coordinator_epoch, aborted) == (-1, -1, [])


def test_a_control_batch_of_a_producer_that_ends_nothing() -> None:
    with pytest.raises(KafkaSpecError) as caught:
        Log().marker(7, 99).state()
    assert caught.value.reason == "invalid_value"
    assert caught.value.position is not None


@pytest.mark.parametrize("codec", codec_names())
def test_markers_with_the_same_bytes_have_their_own_times(codec: str) -> None:
    """They are read once, and what each says is what its own batch says."""
    log, edited = Log(), b""
    for number in range(40):
        log.marker(number, number % 2, coordinator=number % 3)
    times = TIME, 0, -5, (1 << 62) - 1, (1 << 62) + 7, (1 << 63) - 1, -(1 << 63)
    for number, batch in enumerate(ks.Segment(log.data).batches()):
        entry, _ = get_codec("python").parse(ENTRY, batch.data)
        entry.message.base_timestamp = times[number % len(times)]
        entry.message.attributes.timestamp_type = int(number % 5 == 0)
        data = bytearray(get_codec("python").serialize(ENTRY, entry))
        if number % 11 == 0:
            data[-2] ^= 1  # what cannot be read is an error at its own place
        edited += data
    told = 0
    for headers in read_headers(ks.Segment(edited, codec=codec)):
        for number in range(len(headers)):
            said: list[Any] = []
            for read in (partial(read_marker, headers, number), headers.batch(number).marker):
                try:
                    said.append(read())
                except KafkaSpecError as error:
                    said.append(str(error))
            if isinstance(said[1], ControlRecord):
                said[1] = marker_of(said[1], NOWHERE)
                told += 1
            assert said[0] == said[1]
    assert told == 40 - 4


def test_a_state_goes_on_from_its_snapshot() -> None:
    first = Log().batch(7, 2, base_sequence=0, transactional=True)
    before, _ = first.state()
    data = before.snapshot(get_codec())
    again = ProducerState(
        get_profile("4.3"), get_codec().parse(snapshots.SNAPSHOT, data)[0].entries
    )
    assert again.entries == before.entries
    rest = Log()
    rest.offset = first.offset
    rest.marker(7, ABORT)
    (headers,) = read_headers(ks.Segment(rest.data))
    (aborted,) = again.append(headers, 0, 1)
    assert (aborted.first_offset, aborted.last_offset) == (0, 2)


def test_an_entry_is_written_again_only_when_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With P producers, S snapshots have P * S entries, but few of them are new."""
    producers, segments = 40, 12
    written: list[int] = []
    serialize = snapshots.serialize_entry

    def counted(entry: ProducerEntry, codec: Any) -> bytes:
        written.append(entry.producer_id)
        return serialize(entry, codec)

    monkeypatch.setattr(snapshots, "serialize_entry", counted)
    state, log = ProducerState(get_profile("4.3")), Log()
    for segment in range(segments):
        log.data = b""
        for producer in range(producers if segment == 0 else 1):
            log.batch(producer, base_sequence=segment)
        for headers in read_headers(ks.Segment(log.data)):
            state.append(headers, 0, len(headers))
        data = state.snapshot(get_codec())
        assert data == snapshots.serialize_snapshot(state.entries, get_codec("python"))
    assert len(written) == producers + segments - 1


@pytest.mark.parametrize("codec", codec_names())
def test_a_transaction_index_is_what_codecs_write(codec: str) -> None:
    items = [
        AbortedTransaction(
            producer_id=n, first_offset=n, last_offset=2 * n, last_stable_offset=1 << 40
        )
        for n in range(5)
    ]
    one = get_codec(codec)
    expected = b"".join(one.serialize(snapshots.ABORTED_TRANSACTION, item) for item in items)
    assert transaction_index(items) == expected


def written(directory: Path, segments: int, producers: int) -> Path:
    """A partition with all producers in its first segment, and one in each of the others."""
    with ks.SegmentWriter(directory, segment_ms=10, sync=False) as writer:
        for number in range(producers + segments - 1):
            later = max(0, number - producers + 1)
            record = ks.Record(number, 1000 * later, b"k", b"v")
            producer_id = 0 if later else number
            batch = ks.encode(
                [record], producer_id=producer_id, producer_epoch=0, base_sequence=later
            )
            writer.append(batch)
    return directory


def peak_of(run: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_does_not_grow_with_producers_times_segments(tmp_path: Path) -> None:
    """Each segment has a snapshot, and each snapshot lists every producer."""
    peaks = []
    for name, segments in (("first", 2), ("few", 2), ("many", 18)):
        path = written(tmp_path / name, segments, producers=150)
        runs = [partial(ks.rebuild_indexes, path, rule=rule) for rule in Rule]
        found = [peak_of(run) for run in runs]
        *_, last = sorted(path.glob("*.log"))
        last.write_bytes(last.read_bytes()[:-1])  # verify predicts what a broker does about it
        peaks.append([*found, peak_of(partial(ks.verify, path))])
    _, few, many = peaks  # what is imported and cached counts in the first runs
    assert all(more < 2 * less for less, more in zip(few, many, strict=True)), peaks
