"""Records to bytes and back: laws, what the formats cannot hold, and what the header says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkaspec import decode, encode
from kafkaspec.codecs import codec_names
from kafkaspec.errors import KafkaSpecError, Reason, UnsupportedError
from kafkaspec.log.batch import Batch
from kafkaspec.log.default import DefaultBatch
from kafkaspec.log.legacy import LegacyBatch
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests.extent import examples
from tests.goldens import GOLDEN
from tests.log.strategies import CODECS, int64, records

NAMES = codec_names()
FEW = settings(max_examples=examples(40), deadline=None)
RECORDS = [Record(5, 100, b"k", b"v", (("h", b"1"),)), Record(9, 90, None, b"w")]
LEGACY = [Record(5, 100, b"k", b"v"), Record(9, 90, None, b"w")]

CASES = [
    (magic, compression)
    for magic in (0, 1, 2)
    for compression in CODECS
    if magic == 2 or compression != "zstd"
]


def one(data: bytes) -> Batch:
    (batch,) = Segment(data).batches()
    return batch


def refusal(items: list[Record], **options: Any) -> str:
    with pytest.raises(KafkaSpecError) as caught:
        encode(items, **options)
    assert caught.value.reason is Reason.UNENCODABLE
    return f"{caught.value.path} {caught.value.detail}"


# -- laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("magic", "compression"), CASES)
@pytest.mark.parametrize("name", NAMES)
@FEW
@given(data=st.data())
def test_decode_gives_back_what_encode_was_given(
    name: str, magic: int, compression: str, data: st.DataObject
) -> None:
    items = data.draw(records(magic, least=1))
    written = encode(items, magic=magic, compression=compression, codec=name)
    assert decode(written, codec=name) == items


@pytest.mark.parametrize(
    ("magic", "compression"), [(0, "none"), (1, "gzip"), (2, "none"), (2, "lz4")]
)
@FEW
@given(data=st.data())
def test_all_codecs_write_the_same_bytes(magic: int, compression: str, data: st.DataObject) -> None:
    items = data.draw(records(magic, least=1))
    options: dict[str, Any] = {"magic": magic, "compression": compression}
    first, *others = [encode(items, codec=name, **options) for name in NAMES]
    assert all(other == first for other in others)


@FEW
@given(
    items=records(2),
    producer=st.tuples(
        st.integers(-1, 2**63 - 1), st.integers(-1, 2**15 - 1), st.integers(-1, 2**31 - 1)
    ),
    epoch=st.integers(-1, 2**31 - 1),
    flags=st.tuples(st.booleans(), st.booleans()),
    horizon=st.one_of(st.none(), int64),
    maximum=int64,
    gap=st.integers(0, 1000),
)
def test_the_header_says_what_encode_was_told(
    items: list[Record],
    producer: tuple[int, int, int],
    epoch: int,
    flags: tuple[bool, bool],
    horizon: int | None,
    maximum: int,
    gap: int,
) -> None:
    first = items[0].offset if items else 7
    last = (items[-1].offset if items else first) + gap
    data = encode(
        items,
        base_offset=first,
        last_offset=last,
        max_timestamp=maximum,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=producer[2],
        partition_leader_epoch=epoch,
        transactional=flags[0],
        control=flags[1],
        delete_horizon=horizon,
    )
    batch = one(data)
    assert (batch.base_offset, batch.last_offset) == (first, last)
    assert batch.num_records == len(items)
    assert batch.max_timestamp == maximum
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == producer
    assert batch.partition_leader_epoch == epoch
    assert (batch.is_transactional, batch.is_control) == flags
    assert batch.delete_horizon == horizon
    assert batch.timestamp_type == "CreateTime"
    assert batch.crc_valid
    assert batch.records() == items


# -- times ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("magic", [1, 2])
def test_log_append_time_replaces_all_timestamps(magic: int, compression: str) -> None:
    data = encode(
        LEGACY,
        magic=magic,
        compression=compression,
        timestamp_type="LogAppendTime",
        max_timestamp=777,
    )
    assert [record.timestamp for record in decode(data)] == [777, 777]
    assert all(
        (batch.timestamp_type, batch.max_timestamp) == ("LogAppendTime", 777)
        for batch in Segment(data).batches()
    )


def test_log_append_time_is_stamped_on_the_wrapper_only() -> None:
    """As a broker does it in place; so it is in the golden log of 0.10.2.2, too."""
    data = encode(
        LEGACY, magic=1, compression="gzip", timestamp_type="LogAppendTime", max_timestamp=777
    )
    golden = GOLDEN / "0.10.2.2" / "logs" / "log-append-time-gzip-0" / f"{0:020d}.log"
    for segment in (Segment(data), Segment(golden)):
        for batch in segment.batches():
            assert isinstance(batch, LegacyBatch)
            assert batch.message.attributes.timestamp_type == 1
            inner = batch.inner_messages()
            assert {item.message.attributes.timestamp_type for item in inner} == {0}


def test_log_append_time_needs_one_time() -> None:
    assert "max_timestamp" in refusal(LEGACY, timestamp_type="LogAppendTime")
    same = [record._replace(timestamp=5) for record in LEGACY]
    assert decode(encode(same, timestamp_type="LogAppendTime")) == same


def test_the_largest_timestamp_is_that_of_the_records() -> None:
    assert one(encode(RECORDS)).max_timestamp == 100
    assert one(encode(RECORDS)).base_timestamp == 100
    assert one(encode(LEGACY, magic=1, compression="gzip")).max_timestamp == 100


# -- batches without records ---------------------------------------------------------------------


def test_a_batch_without_records_is_a_bare_header() -> None:
    """As the cleaner writes it: no compression, no base timestamp."""
    data = encode([], base_offset=10, last_offset=19, compression="gzip", max_timestamp=5)
    batch = one(data)
    assert batch.size == 61
    assert (batch.compression, batch.num_records, batch.base_timestamp) == (0, 0, -1)
    assert (batch.base_offset, batch.last_offset, batch.max_timestamp) == (10, 19, 5)
    assert "base offset" in refusal([])


def test_no_messages_are_no_bytes() -> None:
    assert encode([], magic=1) == b""
    assert decode(b"") == []
    assert "at least one" in refusal([], magic=1, compression="gzip")


# -- wrappers ------------------------------------------------------------------------------------


def test_wrapper_offsets() -> None:
    """One wrapper with the last offset; inside relative offsets in magic 1, absolute in magic 0."""
    for magic, stored in ((0, [5, 9]), (1, [0, 4])):
        items = [record._replace(timestamp=-1) for record in LEGACY] if magic == 0 else LEGACY
        batch = one(encode(items, magic=magic, compression="snappy"))
        assert isinstance(batch, LegacyBatch)
        assert batch.last_offset == 9
        assert [inner.message.offset for inner in batch.inner_messages()] == stored
        assert [inner.offset for inner in batch.inner_messages()] == [5, 9]


@pytest.mark.parametrize("offsets", [(0,), (0, 1), (-1, 0), (3, 0)])
def test_a_wrapper_with_offset_0_keeps_the_law(offsets: tuple[int, ...]) -> None:
    items = [Record(offset, 1, None, b"") for offset in offsets]
    assert decode(encode(items, magic=1, compression="gzip")) == items


def test_own_timestamps_and_the_base_of_all() -> None:
    """As compaction leaves it: the first record is gone, and its timestamp is still the base."""
    items = [Record(5, 2000, None, b"b"), Record(7, 3000, None, b"c")]
    data = encode(
        items, base_offset=4, base_timestamp=1000,
        timestamp_type="LogAppendTime", max_timestamp=9000,
    )  # fmt: skip
    (batch,) = Segment(data).batches()
    assert isinstance(batch, DefaultBatch)
    assert batch.message.base_timestamp == 1000
    assert [item.timestamp_delta for item in batch.record_set().records] == [1000, 2000]
    assert [record.timestamp for record in batch.records()] == [9000, 9000]
    assert "delete_horizon" in refusal(items, base_timestamp=1000, delete_horizon=1001)
    assert encode(items, delete_horizon=7) == encode(items, delete_horizon=7, base_timestamp=7)


def test_a_batch_without_records_keeps_its_header() -> None:
    data = encode(
        [], base_offset=4, last_offset=9, base_timestamp=1000, max_timestamp=2000,
        producer_id=3, producer_epoch=1, base_sequence=7,
    )  # fmt: skip
    (batch,) = Segment(data).batches()
    assert isinstance(batch, DefaultBatch)
    header = batch.message
    assert (header.num_records, header.last_offset, header.last_sequence) == (0, 9, 12)
    assert (header.base_timestamp, header.max_timestamp) == (1000, 2000)


# -- what a format cannot hold -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("producer_id", 1),
        ("producer_epoch", 0),
        ("base_sequence", 0),
        ("transactional", True),
        ("control", True),
        ("partition_leader_epoch", 0),
        ("delete_horizon", 0),
        ("last_offset", 99),
        ("base_timestamp", 0),
    ],
)
@pytest.mark.parametrize("magic", [0, 1])
def test_magic_0_and_1_have_no_place_for(magic: int, option: str, value: Any) -> None:
    items = [Record(0, -1, None, b"")]
    assert option in refusal(items, magic=magic, **{option: value})


def test_refusals_name_the_record() -> None:
    with_headers = Record(77, -1, None, b"", (("h", None),))
    assert "record 77: magic 1 has no headers" in refusal([with_headers], magic=1)
    assert "record 78: magic 0 has no timestamps" in refusal([Record(78, 0, None, b"")], magic=0)
    assert "LogAppendTime" in refusal(
        [Record(0, -1, None, b"")], magic=0, timestamp_type="LogAppendTime", max_timestamp=1
    )
    assert "record 79" in refusal([Record(79, 2**63, None, b"")], magic=1)
    far = [Record(0, 0, None, b""), Record(2**31, 0, None, b"")]
    assert "/records/1/body/offset_delta" in refusal(far, last_offset=5)
    assert "record 3: header key" in refusal([Record(3, 0, None, b"", (("\ud800", None),))])
    assert "/message/content/producer_epoch" in refusal(LEGACY, producer_epoch=2**15)


def test_zstd_is_not_for_wrappers() -> None:
    with pytest.raises(UnsupportedError):
        encode(LEGACY, magic=1, compression="zstd")


@pytest.mark.parametrize(
    "options", [{"magic": 3}, {"compression": "brotli"}, {"timestamp_type": "x"}, {"codec": "x"}]
)
def test_missing_features_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"no |must be one of "):
        encode(LEGACY, **options)


@pytest.mark.parametrize("compression", ["gzip", "lz4", "zstd"])
def test_levels(compression: str) -> None:
    items = [Record(0, 0, None, b"the same and the same again " * 400)]
    data = encode(items, compression=compression, level=1)
    assert decode(data) == items
    with pytest.raises(KafkaSpecError) as caught:
        encode(items, compression=compression, level=99)
    assert caught.value.reason is Reason.UNENCODABLE
