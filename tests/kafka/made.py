"""Logs that are not damaged: from ``encode``, and the vectors, each in its place."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kafkaspec as ks
from tests.kafka.damage import signed, sized
from tests.log import forge

VECTORS = Path(__file__).parents[2] / "generated" / "vectors" / "recordbatch.json"
_CODECS = {0: ("none", "gzip", "snappy", "lz4"), 2: ("none", "gzip", "snappy", "lz4", "zstd")}


def _bytes(chance: random.Random) -> bytes | None:
    size = chance.choice((None, 0, 1, 63, 64, 65, 200, 9000))
    if size is None:
        return None
    return chance.randbytes(size) if chance.random() < 0.5 else (b"kafka " * size)[:size]


def _records(chance: random.Random, magic: int, base: int) -> list[ks.Record]:
    found = []
    offset = base
    for _ in range(chance.choice((1, 1, 2, 3, 10, 40))):
        time = chance.choice((0, 1, 1_700_000_000_000 + chance.randrange(-(10**6), 10**6)))
        headers: tuple[tuple[str, bytes | None], ...] = ()
        if magic == 2:
            count = chance.choice((0, 0, 1, 3))
            headers = tuple(
                (chance.choice(("", "k", "schlüssel", "k" * 70)), _bytes(chance))
                for _ in range(count)
            )
        found.append(
            ks.Record(offset, -1 if magic == 0 else time, _bytes(chance), _bytes(chance), headers)
        )
        offset += chance.choice((1, 1, 1, 2, 70, 9000))
    return found


def written(seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Names and logs that ``encode`` wrote: all magics and compressions, one to three batches."""
    chance = random.Random(seed)
    for number in range(count):
        data, base = b"", chance.choice((0, 1, 100, 2**40))
        for _ in range(chance.randint(1, 3)):
            magic = chance.choice((0, 1, 2, 2))
            records = _records(chance, magic, base)
            options: dict[str, Any] = {"compression": chance.choice(_CODECS[magic & 2])}
            if magic and chance.random() < 0.3:
                options |= {"timestamp_type": "LogAppendTime", "max_timestamp": 1_700_000_000_500}
            if magic == 2:
                options["partition_leader_epoch"] = chance.choice((-1, 0, 7))
                if chance.random() < 0.3:
                    options |= {"producer_id": 4000, "producer_epoch": 2, "base_sequence": 5}
                    options["transactional"] = chance.random() < 0.5
                if chance.random() < 0.2:
                    options["delete_horizon"] = 1_700_000_001_000
            data += ks.encode(records, magic=magic, **options)
            base = records[-1].offset + 1
        yield f"written {number}", data


def vectors() -> Iterator[tuple[str, bytes]]:
    """The vectors of ``recordbatch``, as they are or inside of a log that is otherwise sound.

    A checksum follows the vector's bytes, as otherwise nothing else would ever be judged.
    """
    for vector in json.loads(VECTORS.read_text(encoding="utf-8"))["vectors"]:
        data = bytes.fromhex(vector["hex"])
        kind = vector["type"].removeprefix("recordbatch.")
        name = f"vector {kind} {vector['name']}"
        match kind:
            case "recordbatch" | "entry":
                yield name, data
                for magic in (0, 2):
                    yield f"{name}, signed as magic {magic}", signed(data, magic)
            case "message" | "legacy_message" | "record_batch":
                for magic in (0, 2):
                    yield f"{name}, signed as magic {magic}", signed(forge.framed(7, data), magic)
            case "framed_record":
                yield name, forge.batch(0, data, count=1, last_offset_delta=0)
            case "record_set":
                for count in range(4):
                    yield f"{name}, {count}", forge.batch(0, data, count=count, last_offset_delta=0)
            case "record":
                yield name, forge.batch(0, [forge.sized(data)])
            case "header":
                body = b"\0" + forge.zigzag(0) * 2 + forge.sized(b"k") + forge.sized(b"v")
                yield name, forge.batch(0, [forge.sized(body + forge.zigzag(1) + data)])
            case "nullable_bytes":
                body = b"\0" + forge.zigzag(0) * 2 + forge.sized(b"k") + data + forge.zigzag(0)
                yield name, forge.batch(0, [forge.sized(body)])
            case "nullable_bytes_s4":
                message = b"\0\0\0\0\0\0" + forge.nullable(b"k") + data
                yield name, signed(forge.framed(7, message), 0)


# A batch in which one bit of an lz4 block of a real one was flipped, so that a match has offset 0.
_LZ4_ODD_MATCH = bytes.fromhex(
    "0000000000000000000000c300000000022ff894e300130000000200000176bb3e700000000176bb3e77d000"
    "000000000003ee0000000000000000000304224d1860408283000000f90660000000046b305079616e6b6565"
    "20696e64ffff800000f20964656c74612074616e676f207175006200d00f02046b31501200f30c726f6d656f"
    "206d696b6520676f6c66206a756c69657474206c696d3b00a1006200a01f04046b32501400e36563686f207a"
    "756c7520706170617100f00078726179206f7363617220726f6d0000000000"
)


def special() -> Iterator[tuple[str, bytes]]:
    """For each rare quirk a log that shows it, whatever the others happen to be."""
    yield "lz4 odd match", _LZ4_ODD_MATCH
    unknown = 5
    yield "no value, unknown compression", forge.legacy(7, None, attributes=unknown)
    largest = forge.zigzag(2**31 - 1)
    packed = gzip.compress(largest + b"x" * 50)
    yield "size in gzip", forge.batch(0, packed, count=1, last_offset_delta=0, attributes=1)
    huge = b"\0" * 8 + (2**31 - 1).to_bytes(4, "big") + b"x" * 50
    yield "size in a wrapper", forge.legacy(7, gzip.compress(huge), attributes=1)
    cut = gzip.compress(forge.record(0, b"v") + forge.sized(b"\0" * 3) + b"x" * 999)[:-6]
    yield "cut gzip", forge.batch(0, cut, count=2, attributes=1)
    one = ks.encode([ks.Record(0, 1000, b"k", b"v" * 99)], compression="zstd")
    for surplus in (b"\0" * 4, b"garbage", b"\xff" * 40):
        yield f"zstd and {len(surplus)}", signed(sized(one + surplus), 2)
    for size in (18, 5000):
        yield f"{size} zeros", forge.batch(0, [forge.record(0, b"v")]) + bytes(size)
    for key in (
        b"a\xed\xa0\x80b",
        b"\xed\xb0\x80\xed\xa0",
        b"\xed\xa0\xe0\x80\x80",
        b"\xf4\x90\x80\x80",
    ):
        yield f"header key {key!r}", forge.batch(0, [forge.record(0, b"v", headers=[(key, b"")])])


def odd_records(seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Batches whose records have wide varints, wrong sizes and wrong counts."""
    chance = random.Random(seed)
    for number in range(count):
        records = [_odd_record(chance, delta) for delta in range(chance.randint(1, 3))]
        lie = chance.choice((0, 0, 0, 0, -1, 1, 2, -len(records), 2**31 - 1))
        count_field = min(len(records) + lie, 2**31 - 1)
        data = forge.batch(50, records, count=count_field)
        yield f"odd records {number}", data + forge.batch(90, [forge.record(0, b"v")])


def _wide(chance: random.Random, value: int, most: int) -> bytes:
    """A signed varint, sometimes longer than needed, sometimes too long."""
    code = bytearray(forge.zigzag(value))
    if chance.random() < 0.15:
        code[-1] |= 0x80
        code += b"\x80" * chance.randint(0, most - len(code) if most > len(code) else 0)
        code.append(chance.choice((0, 0, 0, 1, 0x0F, 0x10, 0x7F)))
    return bytes(code)


def _odd_bytes(chance: random.Random, *, key: bool = False) -> bytes:
    size = chance.choice((0, 1, 3, 70) if key else (-1, 0, 1, 3, 70))
    lie = chance.choice((0,) * 12 + (1, -1, 2**31 - 1, -(2**31)))
    shown = lie if abs(lie) > 1 else size + lie
    return _wide(chance, shown, 5) + b"x" * max(size, 0)


def _odd_record(chance: random.Random, delta: int) -> bytes:
    count = chance.choice((0, 0, 1, 2))
    shown = count + chance.choice((0,) * 10 + (1, -1, 1000, 2**31 - 1, -(2**31)))
    shown = min(shown, 2**31 - 1)
    body = bytes((chance.choice((0, 0, 0, 0xFF)),))
    body += _wide(chance, chance.choice((0, 5, -5, 2**40, -(2**63), 2**63 - 1)), 10)
    body += _wide(chance, chance.choice((delta, delta, -1, 2**31 - 1, -(2**31))), 5)
    body += _odd_bytes(chance) + _odd_bytes(chance) + _wide(chance, max(shown, -(2**31)), 5)
    for _ in range(count):
        body += _odd_bytes(chance, key=True) + _odd_bytes(chance)
    size = len(body) + chance.choice((0,) * 12 + (1, -1, -len(body), 2**31 - 1 - len(body)))
    return _wide(chance, size, 5) + body


def wrappers(seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Gzip wrappers of magic 0 and 1 with odd inner entries."""
    chance = random.Random(seed)
    for number in range(count):
        magic = chance.choice((0, 1))
        inner = []
        for at in range(chance.choice((0, 1, 2, 3))):
            attributes = chance.choice((0,) * 10 + (1, 8, 0xF8 - 256))
            crc = chance.choice((None,) * 12 + (7,))
            inner.append(
                forge.legacy(
                    chance.choice((at, at, at, 0, -1, 900)), b"v" * at,
                    magic=chance.choice((magic,) * 9 + (1 - magic, 2, 127, -1)),
                    attributes=attributes,
                    crc=crc, slack=b"s" * chance.choice((0,) * 9 + (3,)),
                )
            )  # fmt: skip
        data = forge.wrapper(
            chance.choice((0, 2, 100, 2**40)), inner, magic=magic,
            attributes=chance.choice((0, 0, 0, 8, 0x70)), key=chance.choice((None, b"k")),
            cut=chance.choice((0,) * 6 + (1, 11, 12, 20)),
            surplus=chance.choice((b"",) * 6 + (b"\0" * 11, b"\0" * 12, b"\xff" * 30, b"\0" * 17)),
        )  # fmt: skip
        yield f"wrapper {number}", data + forge.legacy(2**41, b"behind", magic=magic)
