"""Entries of real logs, broken in ways that a checksum hides or shows."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Iterator

import crc32c

from kafkaspec import compression
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.recordbatch import CompressionType
from kafkaspec.layout.framing import ENTRY, FRAMING, LEGACY_MESSAGE, RECORD_BATCH, field_position
from kafkaspec.log.batch import Batch
from kafkaspec.log.segment import Segment

_BYTES = (0x00, 0x01, 0x02, 0x3F, 0x40, 0x7F, 0x80, 0x81, 0xFE, 0xFF)
_WORDS = (0, 1, -1, 2, -2, 14, 100, 2**15 - 1, -(2**15), 2**31 - 1, -(2**31))
_SIZE_POSITION = field_position(LAYOUTS[ENTRY], "len_message")
_CHECKSUMS = {"crc32": zlib.crc32, "crc32c": crc32c.crc32c}


def sized(entry: bytes) -> bytes:
    """The entry with a size field that says how long it is."""
    return entry[:_SIZE_POSITION] + struct.pack(">i", len(entry) - FRAMING) + entry[FRAMING:]


def signed(entry: bytes, magic: int, size: int | None = None) -> bytes:
    """The entry with the right checksum; over ``size`` bytes if its size field lies."""
    checksum = LAYOUTS[RECORD_BATCH if magic >= 2 else LEGACY_MESSAGE].checksum
    assert checksum is not None
    end = len(entry) if size is None else FRAMING + size
    place, start = FRAMING + checksum.position, FRAMING + checksum.start
    if end < start or len(entry) < start:
        return entry
    value = _CHECKSUMS[checksum.algorithm](entry[start:end])
    return entry[:place] + struct.pack(">I", value) + entry[place + 4 :]


def broken(chance: random.Random, data: bytes, most: int = 2) -> bytes:
    """The bytes with one or two accidents."""
    found = bytearray(data)
    for _ in range(chance.randint(1, most)):
        where = chance.randrange(len(found)) if found else 0
        match chance.randrange(9):
            case 0 | 1 if found:
                found[where] ^= 1 << chance.randrange(8)
            case 2 if found:
                found[where] = chance.choice(_BYTES)
            case 3:
                found.insert(where, chance.choice(_BYTES))
            case 4 if found:
                del found[where]
            case 5:
                del found[where:]
            case 6:
                found += bytes(chance.choice(_BYTES) for _ in range(chance.randint(1, 16)))
            case 7 if found:  # a longer code of the same number, or of another
                found[where] |= 0x80
                found.insert(where + 1, chance.choice((0x00, 0x00, 0x01, 0x80)))
            case _:
                word = struct.pack(">i", chance.choice(_WORDS))
                found[where : where + len(word)] = word
    return bytes(found)


def fields(entry: bytes, chance: random.Random) -> bytes:
    """One field of a record batch's header holds another number."""
    places = {}
    position = FRAMING
    for field in LAYOUTS[RECORD_BATCH].fields[:-1]:
        size = field.size or LAYOUTS[field.type].fixed_size or 0
        places[field.id] = (position, size)
        position += size
    position, size = places[chance.choice([name for name in places if name != "crc"])]
    old = int.from_bytes(entry[position : position + size], "big", signed=True)
    most = 1 << (8 * size - 1)
    new = chance.choice(
        (0, 1, -1, old + 1, old - 1, most - 1, -most, chance.randrange(-most, most))
    )
    value = max(-most, min(most - 1, new)).to_bytes(size, "big", signed=True)
    return entry[:position] + value + entry[position + size :]


def length_lie(entry: bytes, chance: random.Random) -> tuple[bytes, int]:
    """The entry with another size field, and what that says."""
    true = len(entry) - FRAMING
    lie = chance.choice((*_WORDS, 13, 48, 49, 50, true - 1, true + 1, true - 4, true + 100))
    return entry[:_SIZE_POSITION] + struct.pack(">i", lie) + entry[FRAMING:], lie


def with_payload(batch: Batch, payload: bytes) -> bytes:
    """The batch with other (uncompressed) records or inner messages in it, compressed as before."""
    kind = CompressionType(batch.compression)
    if kind is not CompressionType.NONE:
        payload = compression.compress(kind, payload, magic=batch.magic)
    start = batch.payload_position - batch.position
    head = bytes(batch.data[:start])
    if batch.magic < 2:  # the size of the value precedes it
        head = head[:-4] + struct.pack(">i", len(payload))
    return signed(sized(head + payload), batch.magic)


def damaged(batch: Batch, surplus: bytes, chance: random.Random, count: int) -> Iterator[bytes]:
    """``count`` logs that begin with this batch, broken, and go on with ``surplus``."""
    entry, magic = bytes(batch.data), batch.magic
    inner = bytes(batch.decompressed()) if batch.is_compressed or magic >= 2 else None
    for number in range(count):
        match number % 12:
            case 0:
                data = broken(chance, entry, 1)
            case 1 | 2 | 3:
                data = signed(broken(chance, entry), magic)
            case 4 | 5:
                start = LAYOUTS[RECORD_BATCH if magic >= 2 else LEGACY_MESSAGE].checksum
                assert start is not None
                at = FRAMING + start.start
                data = signed(sized(entry[:at] + broken(chance, entry[at:])), magic)
            case 6:
                data, size = length_lie(entry, chance)
                data = signed(data + surplus, magic, size)
            case 7 if magic >= 2:
                data = signed(fields(entry, chance), magic)
            case 8:
                whole = entry + surplus
                yield whole[: chance.randrange(len(whole))]
                continue
            case _ if inner is not None:
                data = with_payload(batch, broken(chance, inner))
            case _:
                data = signed(broken(chance, entry, 1), magic)
        yield data + surplus


def is_small(batch: Batch, most: int = 2000) -> bool:
    """Whether a batch is small enough to be broken many times."""
    return batch.size <= most


def kind_of(batch: Batch) -> tuple[object, ...]:
    """The properties by which kinds of batches differ."""
    count = batch.num_records
    return (
        batch.magic, batch.compression, batch.is_control, batch.is_transactional,
        batch.timestamp_type, batch.delete_horizon is not None, batch.producer_id >= 0,
        None if count is None else min(count, 2),
        batch.magic >= 2 and any(record.headers for record in batch.records()),
    )  # fmt: skip


def kinds(logs: list[bytes]) -> list[Batch]:
    """The first small batch of each kind in these logs."""
    found: dict[tuple[object, ...], Batch] = {}
    for log in logs:
        for batch in Segment(log).batches():
            if is_small(batch):
                found.setdefault(kind_of(batch), batch)
    return list(found.values())
