"""Laws of conversion: round trips, idempotence, offsets, ranges."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkaspec import encode
from kafkaspec.codecs import codec_names
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.losses import Loss
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.log.batch import Batch
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests.conversion.helpers import all_records, as_magic, converted, converted_bytes
from tests.extent import examples
from tests.log import forge
from tests.log.strategies import CODECS, records

FEW = settings(max_examples=examples(40), deadline=None)
OLD = ("none", "gzip", "snappy", "lz4")


@st.composite
def logs(draw: st.DrawFn, magic: int, codecs: tuple[str, ...] = CODECS) -> bytes:
    """Some entries with rising offsets that are not near the end of what offsets can be."""
    made = b""
    start = draw(st.integers(0, 1000))
    for _ in range(draw(st.integers(1, 4))):
        found: list[Record] = draw(records(magic, least=1))
        first = found[0].offset
        items = [item._replace(offset=item.offset - first + start) for item in found]
        compression = draw(st.sampled_from(codecs))
        options: dict[str, Any] = {"magic": magic, "compression": compression}
        if magic:
            options["timestamp_type"] = draw(st.sampled_from(["CreateTime", "LogAppendTime"]))
            options["max_timestamp"] = max(item.timestamp for item in items)
        if magic == 2:
            producer = draw(st.integers(-1, 2))
            options["producer_id"] = producer
            options["producer_epoch"] = min(producer, 0)
            options["base_sequence"] = -1 if producer < 0 else draw(st.integers(0, 2**31 - 1))
            options["partition_leader_epoch"] = draw(st.integers(-1, 5))
            options["last_offset"] = items[-1].offset + draw(st.integers(0, 3))
            start = options["last_offset"] + 1
        else:
            start = items[-1].offset + 1
        made += encode(items, **options)
    return made


def batches(data: bytes) -> list[Batch]:
    return list(Segment(data, tail="raise").batches())


def header(batch: Batch) -> tuple[Any, ...]:
    """All of a batch but its compression and what follows from that."""
    return (
        batch.base_offset, batch.last_offset, batch.num_records, batch.timestamp_type,
        batch.max_timestamp, batch.base_timestamp, batch.delete_horizon, batch.producer_id,
        batch.partition_leader_epoch, batch.producer_epoch, batch.base_sequence,
        batch.is_transactional, batch.is_control,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("target", CODECS)
@FEW
@given(data=logs(2))
def test_recompression_of_magic_2_keeps_everything_else(target: str, data: bytes) -> None:
    made = converted_bytes(data, compression=target)
    assert [header(item) for item in batches(made)] == [header(item) for item in batches(data)]
    assert [bytes(item.decompressed()) for item in batches(made)] == [
        bytes(item.decompressed()) for item in batches(data)
    ]
    assert all(item.crc_valid for item in batches(made))
    back = converted_bytes(made, compression="none")
    assert back == converted_bytes(data, compression="none")


@pytest.mark.parametrize("magic", [0, 1])
@FEW
@given(data=st.data())
def test_messages_that_are_not_compressed_come_back_from_magic_2_as_the_same_bytes(
    magic: int, data: st.DataObject
) -> None:
    log = data.draw(logs(magic, ("none",)))
    assert converted_bytes(converted_bytes(log, magic=2), magic=magic) == log


@pytest.mark.core
@pytest.mark.parametrize("name", codec_names())
@FEW
@given(data=st.data())
def test_all_codecs_convert_to_the_same_bytes(name: str, data: st.DataObject) -> None:
    magic = data.draw(st.integers(0, 2))
    log = data.draw(logs(magic, OLD))
    for choices in ({"magic": 2}, {"magic": 1, "compression": "gzip"}, {"magic": 0}):
        assert converted(log, codec=name, **choices)[0] == converted_bytes(log, **choices)


@pytest.mark.parametrize("source", [0, 1, 2])
@pytest.mark.parametrize("target", [0, 1, 2])
@FEW
@given(data=st.data(), compression=st.sampled_from([None, *OLD]))
def test_any_magic_becomes_any_other(
    source: int, target: int, data: st.DataObject, compression: str | None
) -> None:
    log = data.draw(logs(source, OLD))
    made = converted_bytes(log, magic=target, compression=compression)
    assert all_records(made) == [as_magic(item, target) for item in all_records(log)]
    assert {item.magic for item in batches(made)} == {target}


@FEW
@given(data=st.data())
def test_renumbering_is_dense_and_a_second_time_changes_nothing(data: st.DataObject) -> None:
    magic = data.draw(st.integers(0, 2))
    log = data.draw(logs(magic, OLD))
    base = data.draw(st.integers(0, 50))
    made = converted_bytes(log, offsets="renumber", base_offset=base)
    expected = [item._replace(offset=base + i) for i, item in enumerate(all_records(log))]
    assert all_records(made) == expected
    assert [item.base_offset for item in batches(made)[1:]] == [
        item.last_offset + 1 for item in batches(made)[:-1]
    ]
    assert converted_bytes(made, offsets="renumber", base_offset=base) == made


@FEW
@given(data=st.data())
def test_a_shift_moves_all_offsets_alike_and_back(data: st.DataObject) -> None:
    magic = data.draw(st.integers(0, 2))
    log = data.draw(logs(magic, OLD))
    base = data.draw(st.integers(0, 1 << 40))
    first = batches(log)[0].base_offset
    made = converted_bytes(log, offsets="shift", base_offset=base)
    expected = [item._replace(offset=item.offset - first + base) for item in all_records(log)]
    assert all_records(made) == expected
    assert all_records(converted_bytes(made, offsets="shift", base_offset=first)) == all_records(
        log
    )


@pytest.mark.core
@FEW
@given(data=logs(2), size=st.integers(1, 500), compression=st.sampled_from([None, "zstd"]))
def test_other_batches_hold_the_same_records_and_sequence_numbers(
    data: bytes, size: int, compression: str | None
) -> None:
    def everything(log: bytes) -> list[tuple[Any, ...]]:
        return [
            (record, batch.sequence(record.offset), batch.producer_id, batch.timestamp_type)
            for batch in batches(log)
            for record in batch.records()
        ]

    made = converted_bytes(data, batch_bytes=size, compression=compression)
    assert everything(made) == everything(data)
    assert batches(made)[0].base_offset == batches(data)[0].base_offset
    assert batches(made)[-1].last_offset == batches(data)[-1].last_offset


@FEW
@given(data=st.data())
def test_a_range_is_cut_out_exactly(data: st.DataObject) -> None:
    magic = data.draw(st.integers(0, 2))
    log = data.draw(logs(magic, OLD))
    items = all_records(log)
    low = data.draw(st.integers(items[0].offset - 1, items[-1].offset + 1))
    high = data.draw(st.integers(low, items[-1].offset + 2))
    deleted = data.draw(st.integers(items[0].offset, items[-1].offset))
    made, converter = converted(
        log, start_offset=max(low, 0), end_offset=max(low, high, 0), log_start_offset=deleted
    )
    kept = [item for item in items if max(low, deleted) <= item.offset < high]
    assert all_records(made) == kept
    if magic == 2:
        lost = sum(converter.losses[kind].records for kind in (Loss.DELETED, Loss.OUT_OF_RANGE))
        assert lost == len(items) - len(kept)
    sequences = {item.offset: b.sequence(item.offset) for b in batches(log) for item in b.records()}
    for batch in batches(made):
        for item in batch.records():
            assert batch.sequence(item.offset) == sequences[item.offset]


@pytest.mark.core
@FEW
@given(data=logs(2), epoch=st.integers(-1, 2**31 - 1))
def test_a_leader_epoch_is_written_and_nothing_else(data: bytes, epoch: int) -> None:
    made = converted_bytes(data, leader_epoch=epoch)
    assert len(made) == len(data)
    assert {item.partition_leader_epoch for item in batches(made)} == {epoch}
    assert [item.crc for item in batches(made)] == [item.crc for item in batches(data)]
    assert all_records(made) == all_records(data)


def test_an_offset_that_cannot_be_shifted_is_an_error() -> None:
    data = encode([Record(5, 1, None, b"a"), Record(2**31, 1, None, b"b")])
    with pytest.raises(KafkaSpecError) as caught:
        converted(data, offsets="shift", base_offset=2**63 - 1)
    assert caught.value.reason is Reason.UNENCODABLE


def test_wrappers_with_offset_0_and_absolute_offsets_inside_are_shifted_right() -> None:
    """Old librdkafka wrote offsets inside, and 0 outside, where Kafka's reader takes them."""
    log = forge.wrapper(0, [forge.legacy(3, b"a"), forge.legacy(4, b"b")])
    made = converted_bytes(log, offsets="shift", base_offset=10)
    assert [item.offset for item in all_records(made)] == [10, 11]
    one = forge.wrapper(9, [forge.legacy(4, b"a")])
    assert [r.offset for r in all_records(converted_bytes(one, offsets="shift"))] == [0]


@pytest.mark.parametrize(
    "choices",
    [
        {"magic": 3}, {"compression": "brotli"}, {"compression": "zstd", "magic": 1},
        {"level": 3}, {"level": 3, "compression": "snappy"}, {"offsets": "other"},
        {"base_offset": 5}, {"base_offset": -1, "offsets": "shift"}, {"leader_epoch": -2},
        {"batch_bytes": 0}, {"segment_bytes": 0}, {"start_offset": 5, "end_offset": 4},
        {"aborted": "hide"}, {"on_error": "ignore"},
    ],
)  # fmt: skip
def test_invalid_choices(choices: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(choices)).partition("_")[0]):
        Choices(**choices)
