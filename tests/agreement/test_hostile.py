"""All codecs agree on invalid bytes, and raise no errors but ours.

They agree when they give equal records, or an error with the same reason, offset and path.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafkaspec import encode
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs import Codec, codec_names, get_codec
from kafkaspec.errors import KafkaSpecError, TruncatedError
from kafkaspec.layout.framing import ENTRY, RECORD_SET
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests.extent import examples
from tests.goldens import FULL, Directory, directories, distinct
from tests.log import forge
from tests.loops import each

CODECS = [get_codec(name) for name in codec_names()]
MANY = settings(max_examples=examples(300), deadline=None)

PARAMETERS: dict[str, Any] = {"": 7, "recordbatch.record_batch": None}
TYPES = sorted(LAYOUTS)


def verdict(codec: Codec, type_key: str, data: bytes, complete: bool) -> Any:
    """The value and what it used up, or where and why it was refused."""
    parameters = [batch_of(codec) if key else 1 for _, key in LAYOUTS[type_key].parameters]
    try:
        return codec.parse(type_key, data, parameters=parameters, complete=complete)
    except KafkaSpecError as error:
        return error.reason, error.position, error.path, error.spec


@cache
def batch_of(codec: Codec) -> Any:
    data = forge.batch(5, [forge.record(0, b"a"), forge.record(1, b"b"), forge.record(2, b"c")])
    return codec.parse(ENTRY, data)[0].message


def log_verdict(codec: Codec, data: bytes) -> list[Any]:
    """Everything that a scan gives: records of each batch, or errors, and the tail."""
    found: list[Any] = []
    segment = Segment(data, codec=codec, crc="ignore", max_output=1 << 20)
    for item in segment.scan():
        if isinstance(item, KafkaSpecError):
            found.append((item.reason, item.position, item.path, item.spec))
            continue
        try:
            found.append((item.position, item.records()))
        except KafkaSpecError as error:
            found.append(
                (error.reason, error.position, error.inner_position, error.path, error.spec)
            )
    found.append(segment.tail)
    return found


def agree(data: bytes) -> list[Any]:
    first, *others = [log_verdict(codec, data) for codec in CODECS]
    for other in others:
        assert other == first
    return first


# -- any type, any bytes -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("type_key", TYPES)
@settings(max_examples=examples(60), deadline=None)
@given(data=st.binary(max_size=120), complete=st.booleans())
@example(data=b"", complete=True)
@example(data=bytes(120), complete=True)
@example(data=b"\xff" * 120, complete=False)
@example(data=b"\x80" * 120, complete=False)
@example(data=b"\x01" * 120, complete=True)
def test_random_bytes(type_key: str, data: bytes, complete: bool) -> None:
    first, *others = [verdict(codec, type_key, data, complete) for codec in CODECS]
    for other in others:
        assert other == first or repr(other) == repr(first)  # NaN is not equal to NaN


# -- logs that almost are logs -------------------------------------------------------------------


ITEMS = [
    Record(3, 1000, b"key", b"value", (("h", b"1"), ("", None))),
    Record(5, 999, None, b"x" * 70),
    Record(6, 2**40, b"", None),
]
LEGACY = [item._replace(headers=()) for item in ITEMS]
UNTIMED = [item._replace(timestamp=-1) for item in LEGACY]
SEEDS = [
    encode(ITEMS),
    encode(ITEMS, compression="lz4", transactional=True, producer_id=4, base_sequence=9),
    encode(LEGACY, magic=1),
    encode(LEGACY, magic=1, compression="gzip"),
    encode(UNTIMED, magic=0),
    encode(UNTIMED, magic=0, compression="snappy"),
    encode(ITEMS[:1]) + encode(LEGACY, magic=1) + encode(ITEMS, base_offset=3),
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A log with some bytes overwritten, taken out or put in."""
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        if not data:
            break
        position = draw(st.integers(0, len(data) - 1))
        match draw(st.integers(0, 3)):
            case 0:
                data[position] ^= 1 << draw(st.integers(0, 7))
            case 1:
                data[position] = draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
            case 2:
                del data[position : position + draw(st.integers(1, 9))]
            case _:
                data[position:position] = draw(st.binary(min_size=1, max_size=9))
    return bytes(data)


@pytest.mark.slow
@MANY
@given(data=mutated())
def test_mutated_logs(data: bytes) -> None:
    agree(data)


@pytest.mark.slow
@MANY
@given(payload=st.binary(max_size=60), count=st.integers(-1, 4), attributes=st.integers(0, 127))
def test_random_records_under_a_sound_header(payload: bytes, count: int, attributes: int) -> None:
    agree(forge.batch(9, payload, count=count, attributes=attributes))


@pytest.mark.slow
@MANY
@given(data=st.data())
def test_mutated_records_under_a_sound_header(data: st.DataObject) -> None:
    """Nothing ends at the size field or the checksum: mutations reach the innermost fields."""
    payload = bytearray(
        forge.record(0, b"value", key=b"key", headers=[(b"a", b"b"), (b"c", None)])
        + forge.record(1, None, timestamp_delta=-5)
    )
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(payload) - 1))
        payload[position] = data.draw(st.integers(0, 255))
    agree(forge.batch(9, bytes(payload), count=data.draw(st.integers(1, 3))))


@pytest.mark.slow
@MANY
@given(inner=st.binary(max_size=80), offset=st.integers(-1, 5), magic=st.integers(0, 1))
def test_random_bytes_in_a_wrapper(inner: bytes, offset: int, magic: int) -> None:
    agree(forge.wrapper(offset, [forge.legacy(0, b"x", magic=magic)], magic=magic, surplus=inner))
    agree(forge.wrapper(offset, [], magic=magic, surplus=inner))


@pytest.mark.slow
def test_every_single_bit_of_a_batch() -> None:
    """All codecs agree on each flipped bit; so small a batch can be tried completely."""
    whole = forge.batch(1, [forge.record(0, b"v", key=b"k", headers=[(b"h", b"x")])])
    for position in range(len(whole)):
        for bit in range(8):
            data = bytearray(whole)
            data[position] ^= 1 << bit
            agree(bytes(data))


# -- truncation ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_every_truncation_point_is_a_truncated_error(seed: int, codec: Codec) -> None:
    entry = bytes(next(Segment(SEEDS[seed]).batches()).data)
    for length in range(len(entry)):
        with pytest.raises(TruncatedError):
            codec.parse(ENTRY, entry[:length])
    codec.parse(ENTRY, entry)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(len(SEEDS)))
def test_every_truncation_point_of_a_log_is_the_same_everywhere(seed: int) -> None:
    data = SEEDS[seed]
    for length in range(len(data)):
        found = agree(data[:length])
        tail = found[-1]
        assert (tail is None) == (length == sum(batch_sizes(found, data[:length])))


def batch_sizes(found: list[Any], data: bytes) -> list[int]:
    return [batch.size for batch in Segment(data).batches()]


@pytest.mark.parametrize("length", range(1, 20))
def test_every_truncation_point_of_a_record_set(length: int) -> None:
    payload = forge.record(0, b"value", key=b"key", headers=[(b"a", b"b")])
    agree(forge.batch(0, payload[:-length], count=1))


# -- the header and its records ------------------------------------------------------------------


@pytest.mark.parametrize("count", [-(2**31), -1, 0, 1, 2, 3, 2**31 - 1])
def test_counts_that_are_not_that_of_the_records(count: int) -> None:
    """A huge one is refused before anything of that size is allocated."""
    records = [forge.record(0, b"a"), forge.record(1, b"b")]
    found = agree(forge.batch(0, records, count=count, last_offset_delta=1))
    accepted = len(found[0]) == 2
    assert accepted == (count in (0, 2))


# -- golden logs ---------------------------------------------------------------------------------


SMALL = [golden for golden in distinct(".log") if golden.path.stat().st_size < 4000]
SOME = SMALL[:: max(1, len(SMALL) // 25)]


@pytest.mark.slow
@each("golden", SOME)
def test_golden_logs_with_flipped_bits(golden: Any) -> None:
    data = golden.path.read_bytes()
    step = max(1, len(data) // 40)
    for position in range(0, len(data), step):
        broken = bytearray(data)
        broken[position] ^= 1 << (position // step % 8)
        agree(bytes(broken))


@pytest.mark.slow
@each("directory", directories(of=distinct(".log", ".checkpoint", among=FULL)))
def test_golden_logs_are_the_same_to_all_codecs(directory: Directory) -> None:
    """Batches field by field, record sets and control records, not only what users see.

    ``make run`` compares the codecs on what users see of all versions.
    """
    for golden in directory.files:
        first, *others = [everything(codec, golden) for codec in CODECS]
        for other in others:
            assert other == first, golden


def everything(codec: Codec, golden: Any) -> list[Any]:
    found = []
    for batch in Segment(golden.path, codec=codec).batches():
        record_set = None
        if batch.magic == 2 and batch.num_records:
            record_set, _ = codec.parse(
                RECORD_SET, batch.decompressed(), parameters=(batch.message,), complete=True
            )
        found.append(
            (
                batch.message,
                batch.crc,
                batch.crc_valid,
                batch.records(),
                record_set,
                [(item.key, item.body) for item in batch.control_records()],
            )
        )
    return found
