"""Conversion of bytes that nobody should have written."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from kafkaspec.codecs import get_codec
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.entries import EntryConverter
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout.framing import FRAMING, HEADER_UP_TO_MAGIC
from kafkaspec.log.batch import computed_crc
from kafkaspec.log.headers import readable_headers
from kafkaspec.log.segment import Segment
from kafkaspec.log.transactions import Markers
from tests.goldens import GOLDEN
from tests.log import forge

SOURCES = [
    ("0.10.2.2", "codec-mixed-0"),
    ("0.8.2.2", "codec-gzip-0"),
    ("2.8.2", "transactions-0"),
    ("4.3.1", "headers-gzip-0"),
    ("4.3.1", "compacted-idempotent-0"),
]
PLANS: list[dict[str, Any]] = [
    {"magic": 0, "compression": "gzip"},
    {"magic": 1, "aborted": "drop"},
    {"magic": 2, "compression": "lz4", "offsets": "renumber"},
    {"offsets": "shift", "batch_bytes": 64},
    {"start_offset": 3, "end_offset": 9, "magic": 2},
]


def broken(data: bytes, chance: random.Random) -> bytes:
    """Some bytes changed, and the checksums of all batches made right again."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        made[chance.randrange(len(made))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
    position = 0
    while position + HEADER_UP_TO_MAGIC < len(made):
        try:
            batch = Segment(bytes(made)).batch_at(position)
        except KafkaSpecError:
            break
        body = computed_crc(batch).to_bytes(4, "big")
        at = bytes(batch.data).find(batch.crc.to_bytes(4, "big"), FRAMING)
        if at > 0:
            made[position + at : position + at + 4] = body
        position = batch.end
    return bytes(made)


def convert_what_can_be(data: bytes, codec: str | None, **choices: Any) -> Iterator[bytes]:
    """As ``on_error="skip"`` does it."""
    segment = Segment(data, codec=codec, max_output=1 << 20)
    converter = EntryConverter(
        Choices(max_output=1 << 20, **choices),
        get_codec(codec),
        markers=Markers(readable_headers(segment)),
    )
    for item in segment.scan():
        if isinstance(item, KafkaSpecError):
            continue
        try:
            yield b"".join(converter.convert(item))
        except KafkaSpecError:
            continue
    yield b"".join(converter.flush())


@pytest.mark.core
@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_broken_batches_are_our_errors_and_what_is_written_can_be_read(
    source: tuple[str, str], plan: dict[str, Any]
) -> None:
    chance = random.Random(f"{source}{plan}")
    paths = (GOLDEN / source[0] / "logs" / source[1]).glob("*.log")
    original = b"".join(path.read_bytes() for path in sorted(paths))
    for _ in range(25):
        data = broken(original, chance)
        made = b"".join(convert_what_can_be(data, None, **plan))
        for batch in Segment(made, tail="raise").batches():
            assert batch.crc_valid
            assert plan.get("magic", batch.magic) == batch.magic


def test_a_bomb_is_refused() -> None:
    bomb = forge.wrapper(0, [forge.legacy(0, bytes(4 << 20))])
    assert b"".join(convert_what_can_be(bomb, None, magic=2)) == b""


ENTRIES = {
    "batch after the last offset": forge.batch(
        2**63 - 1, [forge.record(0, b"a"), forge.record(1, b"b")]
    ),
    "batch before its base offset": forge.batch(0, [forge.record(-5, b"a")], last_offset_delta=-9),
    "batch at the first offset": forge.batch(-(2**63), [forge.record(0, b"a")]),
    "wrapper below zero": forge.wrapper(-7, [forge.legacy(0, b"a"), forge.legacy(1, b"b")]),
    "wrapper of magic 0 from end to end": forge.wrapper(
        5, [forge.legacy(-(2**63), b"a"), forge.legacy(2**63 - 1, b"b")], magic=0
    ),
    "wrapper at the last offset": forge.wrapper(
        2**63 - 1, [forge.legacy(-(2**62), b"a"), forge.legacy(3, b"b")]
    ),
    "wrapper whose offsets fall": forge.wrapper(
        5, [forge.legacy(2**63 - 1, b"a"), forge.legacy(3, b"b")]
    ),
    "message at the first offset and time": forge.legacy(-(2**63), None, timestamp=-(2**63)),
}


# The bytes themselves make no name of a test: gzip writes the time of day into them.
@pytest.mark.parametrize("entry", ENTRIES.values(), ids=list(ENTRIES))
@pytest.mark.parametrize("codec", ["python", None])
def test_offsets_at_the_ends_of_what_there_is(entry: bytes, codec: str | None) -> None:
    for choices in (*PLANS, {"offsets": "shift", "base_offset": 2**63 - 1}):
        made = b"".join(convert_what_can_be(entry, codec, **choices))
        for batch in Segment(made, tail="raise").batches():
            assert batch.crc_valid


@pytest.mark.parametrize("codec", ["python", None])
@pytest.mark.parametrize("offsets", [(3, 3), (4, 3), (2**63 - 1, 3)])
def test_records_whose_offsets_do_not_rise_are_not_rewritten(
    offsets: tuple[int, int], codec: str | None
) -> None:
    """Kafka: ``MemoryRecordsBuilder.appendWithOffset`` refuses them."""
    entry = forge.wrapper(5, [forge.legacy(offset, b"a") for offset in offsets])
    assert b"".join(convert_what_can_be(entry, codec, magic=2)) == b""
    assert b"".join(convert_what_can_be(entry, codec)) == entry
