"""Entries of real brokers to other entries: the same records, and what brokers made themselves."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from kafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]

from kafkaspec.conversion.losses import Loss
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests.conversion.helpers import (
    all_records,
    as_magic,
    converted,
    converted_bytes,
    data_records,
)
from tests.goldens import GOLDEN, Golden, distinct, produced
from tests.log import forge
from tests.loops import each

VERSIONS = ("0.8.2.2", "0.10.2.2", "2.8.2", "4.3.1")
"""One for each way in which batches look; all of them would take long."""
LOGS = [item for item in distinct(".log", among=VERSIONS) if item.path.stat().st_size]
CODECS = {2: ("none", "gzip", "snappy", "lz4", "zstd"), 1: ("none", "lz4"), 0: ("none", "snappy")}
BY_BROKERS = [
    (version, codec)
    for version in ("0.11.0.3", "2.8.2")
    for codec in ("none", "gzip", "snappy", "lz4")
]


def one_log(version: str, partition: str) -> bytes:
    """All entries of a golden partition."""
    paths = sorted((GOLDEN / version / "logs" / partition).glob("*.log"))
    return b"".join(path.read_bytes() for path in paths)


@pytest.mark.slow
@each("golden", LOGS)
def test_every_golden_keeps_its_records_in_every_magic_and_compression(golden: Golden) -> None:
    data = golden.path.read_bytes()
    everything, plain = all_records(data), data_records(data)
    for magic, codecs in CODECS.items():
        expected = [as_magic(item, magic) for item in (everything if magic == 2 else plain)]
        for compression in codecs:
            made = converted_bytes(data, magic=magic, compression=compression)
            assert all_records(made) == expected
            batches = list(Segment(made).batches())
            assert {batch.magic for batch in batches} <= {magic}
            assert {
                batch.compression_name
                for batch in batches
                if not batch.is_control and batch.num_records != 0
            } <= {compression}


@pytest.mark.parametrize(("version", "codec"), BY_BROKERS)
def test_magic_0_is_what_a_broker_wrote_from_the_same_records(version: str, codec: str) -> None:
    """The brokers converted the same batches down to magic 1 in one topic, to 0 in the other."""
    ours = converted_bytes(one_log(version, f"format-1-{codec}-0"), magic=0)
    theirs = one_log(version, f"format-0-{codec}-0")
    if codec == "none":
        assert ours == theirs
    assert [_shape(batch) for batch in Segment(ours).batches()] == [
        _shape(batch) for batch in Segment(theirs).batches()
    ]


def _shape(batch: Any) -> tuple[Any, ...]:
    """A batch but for the size that its compressor came to."""
    inner = [bytes(item.data) for item in batch.inner_messages()]
    frame = bytes(batch.payload)[:7] if batch.compression_name == "lz4" else b""
    return (batch.magic, batch.message.attributes, batch.last_offset, inner, frame)


@pytest.mark.core
@each("golden", LOGS)
def test_nothing_asked_for_is_the_same_bytes(golden: Golden) -> None:
    data = golden.path.read_bytes()
    assert converted_bytes(data) == data


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("name", ["headers-0", "plain-0", "log-append-time-gzip-0"])
def test_kafka_python_reads_what_was_converted_down(name: str, magic: int) -> None:
    data = one_log("4.3.1", name)
    found = _by_kafka_python(converted_bytes(data, magic=magic))
    assert found == [as_magic(item, magic) for item in data_records(data)]


def _by_kafka_python(data: bytes) -> list[Record]:
    found = []
    for batch in MemoryRecords(data):
        assert batch.validate_crc()
        found += [
            Record(
                item.offset,
                -1 if item.timestamp is None else item.timestamp,
                item.key,
                item.value,
            )
            for item in batch
        ]
    return found


@pytest.mark.parametrize("codec", [None, "python"])
@pytest.mark.parametrize("surplus", [b"", bytes(11)])
def test_messages_in_a_wrapper_get_the_chosen_magic(codec: str | None, surplus: bytes) -> None:
    """KAFKA-4298: wrappers of magic 1 around magic 0; kafka-python takes all for the same magic."""
    read = all_records if surplus else _by_kafka_python  # which does not know surplus bytes (Q13)
    for outer, inner, chosen in product((0, 1), product((0, 1), repeat=2), (0, 1, 2)):
        values = [
            forge.legacy(place if outer else 6 + place, b"v", magic=magic, timestamp=111 + place)
            for place, magic in enumerate(inner)
        ]
        data = forge.wrapper(7, values, magic=outer, surplus=surplus)
        expected = [
            Record(6 + place, 111 + place if magic and chosen else -1, None, b"v")
            for place, magic in enumerate(inner)
        ]
        made, converter = converted(data, codec=codec, magic=chosen)
        assert read(made) == expected, (outer, inner, chosen)
        assert (made == data) == (outer == chosen and set(inner) == {chosen})
        lost = 0 if chosen else sum(inner)
        assert converter.losses[Loss.TIMESTAMPS].records == lost
        assert converted_bytes(data, codec=codec) == data


# -- what is lost is counted ---------------------------------------------------------------------


def test_down_conversion_counts_what_the_old_formats_lack() -> None:
    data = one_log("4.3.1", "transactions-0") + one_log("4.3.1", "headers-0")
    batches = list(Segment(data).batches())
    plain = [batch for batch in batches if not batch.is_control]
    _, converter = converted(data, magic=0)
    losses = converter.losses
    records = [record for batch in plain for record in batch.records()]
    assert losses[Loss.HEADERS].records == sum(bool(item.headers) for item in records)
    assert losses[Loss.TIMESTAMPS].records == sum(item.timestamp != -1 for item in records)
    assert losses[Loss.CONTROL_RECORDS].batches == len(batches) - len(plain)
    assert losses[Loss.TRANSACTIONS].records == sum(
        batch.num_records or 0 for batch in plain if batch.is_transactional
    )
    assert losses[Loss.PRODUCERS].records == sum(
        batch.num_records or 0 for batch in plain if batch.producer_id != -1
    )
    assert losses[Loss.LEADER_EPOCHS].batches == len(plain)


def test_emptied_batches_and_delete_horizons_are_counted_downward_and_kept_otherwise() -> None:
    data = one_log("4.3.1", "compacted-idempotent-0") + one_log("4.3.1", "compacted-0")
    batches = list(Segment(data).batches())
    empty = [batch for batch in batches if batch.num_records == 0]
    horizons = [batch for batch in batches if batch.delete_horizon is not None]
    assert empty
    assert horizons
    _, converter = converted(data, magic=1)
    assert converter.losses[Loss.EMPTY_BATCHES].batches == len(empty)
    assert converter.losses[Loss.DELETE_HORIZONS].batches == len(horizons)
    kept = list(Segment(converted_bytes(data, magic=2, compression="zstd")).batches())
    assert [item.delete_horizon for item in kept] == [item.delete_horizon for item in batches]
    assert [bytes(item.data) for item in kept if item.num_records == 0] == [
        bytes(item.data) for item in empty
    ]


def test_append_time_stays_a_type_up_and_down() -> None:
    data = one_log("2.8.2", "log-append-time-gzip-0")
    different: tuple[dict[str, Any], ...] = (
        {"magic": 1},
        {"magic": 1, "compression": "none"},
        {"batch_bytes": 200},
    )
    for choices in different:
        made = converted_bytes(data, **choices)
        assert {batch.timestamp_type for batch in Segment(made).batches()} == {"LogAppendTime"}
        assert all_records(made) == [
            as_magic(item, choices.get("magic", 2)) for item in all_records(data)
        ]
        back = converted_bytes(made, magic=2)
        assert {batch.timestamp_type for batch in Segment(back).batches()} == {"LogAppendTime"}


def test_the_times_of_records_stay_under_an_append_time() -> None:
    data = one_log("4.3.1", "log-append-time-0")
    made = converted_bytes(data, batch_bytes=100)

    def hidden(entries: bytes) -> list[int]:
        return [
            record.timestamp_delta + (batch.base_timestamp or 0)
            for batch in Segment(entries).batches()
            for record in batch.record_set().records  # type: ignore[attr-defined]
        ]

    assert len(list(Segment(made).batches())) > len(list(Segment(data).batches()))
    assert hidden(made) == hidden(data)


def test_a_wrapper_around_magic_0_becomes_a_batch_without_an_append_time() -> None:
    """KAFKA-4298: what the cleaner of 0.10.0 wrote, with a time in the wrapper."""
    inner = [forge.legacy(0, b"a", magic=0), forge.legacy(2, b"b", magic=0)]
    data = forge.wrapper(7, inner, attributes=forge.LOG_APPEND_TIME, timestamp=2000)
    made, converter = converted(data, magic=2)
    assert all_records(made) == [Record(5, -1, None, b"a"), Record(7, -1, None, b"b")]
    assert converter.losses[Loss.TIMESTAMP_TYPES].records == 2


@pytest.mark.core
def test_an_aborted_transaction_is_shown_to_old_consumers_unless_it_is_dropped() -> None:
    data = one_log("3.9.2", "transactions-0")
    made, converter = converted(data, magic=1)
    dropped, other = converted(data, magic=1, aborted="drop")
    count = converter.losses[Loss.ABORTED_KEPT].records
    assert count == other.losses[Loss.ABORTED_DROPPED].records > 0
    assert len(all_records(made)) - len(all_records(dropped)) == count
    # What the producer did with each record when the golden was made.
    aborted = {
        item["offset"]
        for item in produced("3.9.2")["transactions-0"]
        if item["transaction"] == "aborted"
    }
    offsets = {record.offset for record in all_records(made)}
    assert offsets - {record.offset for record in all_records(dropped)} == aborted


def test_zstd_is_refused_in_old_formats_unless_another_compression_is_chosen() -> None:
    data = one_log("4.3.1", "codec-zstd-0")
    with pytest.raises(KafkaSpecError) as caught:
        converted(data, magic=1)
    assert caught.value.reason is Reason.UNSUPPORTED_COMPRESSION
    assert all_records(converted_bytes(data, magic=1, compression="gzip")) == [
        as_magic(item, 1) for item in data_records(data)
    ]


def test_a_wrong_checksum_is_refused_whatever_is_done() -> None:
    data = bytearray(forge.batch(5, [forge.record(0, b"a")]) + forge.legacy(6, b"b"))
    data[-1] ^= 1
    for choices in ({}, {"magic": 1}, {"compression": "gzip"}, {"leader_epoch": 4}):
        with pytest.raises(KafkaSpecError) as caught:
            converted(bytes(data), **choices)
        assert caught.value.reason is Reason.CHECKSUM_MISMATCH
