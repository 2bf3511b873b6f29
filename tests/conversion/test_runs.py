"""The fast way for messages of magic 0 and 1 gives what the way through records gives."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from kafkaspec import encode
from kafkaspec.codecs import codec_names, get_codec
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.partition import PartitionConversion
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests.conversion.helpers import all_records, as_magic
from tests.log import forge

pytestmark = pytest.mark.skipif("native" not in codec_names(), reason="there is no fast way")

PLANS: list[dict[str, Any]] = [
    {},
    {"magic": 0},
    {"magic": 1},
    {"magic": 2},
    {"magic": 2, "compression": "zstd", "leader_epoch": 4},
    {"magic": 1, "compression": "gzip"},
    {"magic": 2, "batch_bytes": 700},
    {"magic": 0, "compression": "lz4", "batch_bytes": 3000},
    {"offsets": "renumber", "base_offset": 3},
    {"magic": 2, "offsets": "renumber"},
    {"offsets": "shift", "base_offset": 1 << 35, "magic": 1},
    {"offsets": "shift", "base_offset": 5},
    {"start_offset": 300, "end_offset": 900, "magic": 2},
]


def log(seed: int) -> bytes:
    """Long runs of messages with gaps, between wrappers and batches, of changing magic."""
    chance = random.Random(seed)
    made, offset = [], chance.choice([0, 7])
    for _ in range(12):
        magic = chance.choice([0, 1, 1, 2])
        compression = chance.choice(["none", "none", "snappy"])
        records = []
        for _ in range(chance.choice([1, 5, 31, 40, 400])):
            key, value = (
                chance.choice([None, b"", chance.randbytes(chance.randint(1, 90))])
                for _ in range(2)
            )
            timestamp = chance.choice([-1, 5, 1 << 40]) if magic else -1
            records.append(Record(offset, timestamp, key, value))
            offset += chance.choice([1, 1, 1, 5])
        options: dict[str, Any] = {"magic": magic, "compression": compression}
        if magic and chance.random() < 0.3:
            options |= {"timestamp_type": "LogAppendTime", "max_timestamp": 1 << 41}
        made.append(encode(records, **options))
    made.append(forge.legacy(offset, b"v", slack=b"more"))
    return b"".join(made)


def converted(
    data: bytes, directory: Path, codec: str, **choices: Any
) -> tuple[bytes, PartitionConversion]:
    path = directory / f"{0:020d}.log"
    path.write_bytes(data)
    target = directory / f"{codec}-0"
    conversion = PartitionConversion(
        str(directory), [path], target, Choices(**choices), get_codec(codec)
    )
    conversion.run()
    return b"".join(item.read_bytes() for item in sorted(target.glob("*.log"))), conversion


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_both_ways_write_the_same_and_count_the_same(
    plan: dict[str, Any], seed: int, tmp_path: Path
) -> None:
    data = log(seed)
    fast, native = converted(data, tmp_path, "native", **plan)
    slow, python = converted(data, tmp_path, "python", **plan)
    assert _shapes(fast) == _shapes(slow)
    assert all_records(fast) == all_records(slow)
    assert native.result.losses.as_dict() == python.result.losses.as_dict()
    assert native.result.taken == python.result.taken
    assert list(_spans(native)) == list(_spans(python))
    if plan.get("offsets", "keep") == "keep" and "start_offset" not in plan:
        magic = plan.get("magic", 2)
        assert all_records(fast) == [as_magic(item, magic) for item in all_records(data)]


def _shapes(data: bytes) -> list[tuple[Any, ...]]:
    """Entries as bytes, and compressed ones before compression."""
    return [
        (batch.position if not batch.is_compressed else 0, batch.magic, batch.last_offset,
         batch.timestamp_type, bytes(batch.decompressed()) if batch.payload is not None else None)
        for batch in Segment(data, tail="raise").batches()
    ]  # fmt: skip


def _spans(conversion: PartitionConversion) -> list[int]:
    """Every byte offset where something taken begins or ends."""
    return [
        edge
        for _, spans in conversion.spans
        for start, stop in _merged(list(spans))
        for edge in (start, stop)
    ]


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    made: list[tuple[int, int]] = []
    for start, stop in spans:
        if made and made[-1][1] == start:
            start = made.pop()[0]
        made.append((start, stop))
    return made


@pytest.mark.parametrize("plan", [{}, {"magic": 0}, {"magic": 2}], ids=str)
def test_a_wrong_checksum_within_a_run_is_found_at_its_byte(
    plan: dict[str, Any], tmp_path: Path
) -> None:
    messages = [forge.legacy(offset, b"value") for offset in range(200)]
    messages[150] = forge.legacy(150, b"value", crc=1)
    place = sum(map(len, messages[:150]))
    with pytest.raises(KafkaSpecError) as caught:
        converted(b"".join(messages), tmp_path, "native", **plan)
    assert caught.value.reason is Reason.CHECKSUM_MISMATCH
    assert place <= (caught.value.position or 0) < place + len(messages[150])
    made, conversion = converted(b"".join(messages), tmp_path, "native", on_error="skip", **plan)
    assert [item.offset for item in all_records(made)] == [*range(150), *range(151, 200)]
    assert conversion.result.damaged == 1


def test_long_runs_do_not_go_through_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a message was converted by itself")

    monkeypatch.setattr("kafkaspec.conversion.entries.EntryConverter.convert", refuse)
    data = b"".join(forge.legacy(offset, b"value") for offset in range(500))
    made, _ = converted(data, tmp_path, "native", magic=2)
    assert len(all_records(made)) == 500
