"""Partition directories for the loader of a broker, damaged by class; the same in every run."""

from __future__ import annotations

import gzip
import random
import struct
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from kafkaspec.codecs import get_codec
from kafkaspec.files import names, snapshots
from kafkaspec.log.segment import Segment
from tests.goldens import GOLDEN
from tests.kafka import damage
from tests.log import forge
from tools.kafka.loader import crashed

MINIMUM = 8_000
_VERSIONS = ("4.3.1", "2.8.2", "0.11.0.3", "0.10.2.2")
_LARGEST = 25_000
_SEED = 20261122
_PRODUCER = 77


class Case(NamedTuple):
    """A partition directory, the stop before, and the kind of damage."""

    damage: str
    name: str
    files: dict[str, bytes]
    clean: bool


@cache
def partitions() -> tuple[tuple[str, dict[str, bytes]], ...]:
    """The small partitions of a few brokers: names and files."""
    found = []
    for version in _VERSIONS:
        for path in sorted((GOLDEN / version / "logs").iterdir()):
            if path.is_dir() and not path.name.startswith("__cluster"):
                files = {item.name: item.read_bytes() for item in sorted(path.iterdir())}
                files.pop(names.PARTITION_METADATA, None)
                if sum(map(len, _logs(files).values())) in range(1, _LARGEST):
                    found.append((f"{version}/{path.name}", files))
    random.Random(_SEED).shuffle(found)  # so that the first ones are of all kinds
    return tuple(found)


def _of(files: dict[str, bytes], kind: str) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name.endswith(kind)}


def _logs(files: dict[str, bytes]) -> dict[str, bytes]:
    return _of(files, names.LOG)


def _entries(data: bytes) -> list[bytes]:
    return [bytes(batch.data) for batch in Segment(data).batches()]


Change = Callable[[bytes, random.Random], bytes]


def _flipped(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes((data[at] ^ 1 << chance.randrange(8),)) + data[at + 1 :]


def _zeroed(data: bytes, chance: random.Random) -> bytes:
    at, size = chance.randrange(len(data)), chance.choice((16, 512, 4096))
    return data[:at] + bytes(min(size, len(data) - at)) + data[at + size :]


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def _padded(data: bytes, chance: random.Random) -> bytes:
    return data + chance.choice(
        (bytes(chance.choice((1, 12, 17, 18, 300))), data[:40], b"\xff" * 60)
    )


def _moved(data: bytes, chance: random.Random) -> bytes:
    """One entry is repeated, removed, or in the place of another."""
    entries = _entries(data)
    one, other = chance.randrange(len(entries)), chance.randrange(len(entries))
    match chance.randrange(3):
        case 0:
            entries.insert(other, entries[one])
        case 1:
            del entries[one]
        case _:
            entries[one], entries[other] = entries[other], entries[one]
    return b"".join(entries)


def _edited(data: bytes, chance: random.Random, edit: Callable[[bytes], bytes]) -> bytes:
    """One entry is edited, and its checksum mended."""
    entries = _entries(data)
    number = chance.randrange(len(entries))
    magic = entries[number][16]
    entries[number] = damage.signed(edit(entries[number]), magic)
    return b"".join(entries)


def _field(data: bytes, chance: random.Random) -> bytes:
    def edit(entry: bytes) -> bytes:
        if entry[16] == 2:
            return damage.fields(entry, chance)
        at = chance.randrange(16, len(entry))
        return entry[:at] + bytes((chance.randrange(256),)) + entry[at + 1 :]

    return _edited(data, chance, edit)


def _count(data: bytes, chance: random.Random) -> bytes:
    def edit(entry: bytes) -> bytes:
        if entry[16] != 2:
            return entry
        value = chance.choice((-1, -2, -(2**31), 0, 1, 2**31 - 1))
        return entry[:57] + struct.pack(">i", value) + entry[61:]

    return _edited(data, chance, edit)


def _magic(data: bytes, chance: random.Random) -> bytes:
    magic = chance.choice((0, 1, 2, 3, 5, 127, -1, -128))
    mend = chance.random() < 0.5

    def edit(entry: bytes) -> bytes:
        return entry[:16] + struct.pack(">b", magic) + entry[17:]

    if mend:
        return _edited(data, chance, edit)
    entries = _entries(data)
    number = chance.randrange(len(entries))
    entries[number] = edit(entries[number])
    if chance.random() < 0.5:  # the checksum of what it now claims to be
        entries[number] = damage.signed(entries[number], 2 if magic >= 2 else 0)
    return b"".join(entries)


def _offset(data: bytes, chance: random.Random) -> bytes:
    """One base offset is far away, or the offsets from one entry on."""
    entries = _entries(data)
    number = chance.randrange(len(entries))
    last = number + 1 if chance.random() < 0.4 else len(entries)
    by = chance.choice((2**31 - 1, 2**31, 2**32, 2**40, -5, 2**62, -(2**31)))
    for at in range(number, last):
        offset = struct.unpack(">q", entries[at][:8])[0] + by
        entries[at] = struct.pack(">q", max(-(2**63), min(offset, 2**63 - 1))) + entries[at][8:]
    return b"".join(entries)


def _control_bit(data: bytes, chance: random.Random) -> bytes:
    def edit(entry: bytes) -> bytes:
        flip = chance.choice((0x20, 0x20, 0x10, 0x30))
        return entry[:22] + bytes((entry[22] ^ flip,)) + entry[23:] if entry[16] == 2 else entry

    return _edited(data, chance, edit)


_ON_LOGS: dict[str, tuple[Change, int]] = {
    "bit flips": (_flipped, 3),
    "zeroed pages": (_zeroed, 2),
    "truncations": (_cut, 2),
    "surplus at the end": (_padded, 1),
    "batches moved": (_moved, 3),
    "fields": (_field, 4),
    "record count": (_count, 2),
    "outer magic": (_magic, 3),
    "offsets": (_offset, 3),
    "control bit": (_control_bit, 2),
}


def _on_logs(chance: random.Random) -> Iterator[Case]:
    for name, files in partitions():
        logs = _logs(files)
        filled = [log for log, data in logs.items() if data]
        for kind, (change, times) in _ON_LOGS.items():
            for number in range(times):
                log = chance.choice(filled)
                changed = {**files, log: change(files[log], chance)}
                clean = number == 2
                if not clean and chance.random() < 0.15:
                    del changed[log.replace(names.LOG, names.OFFSET_INDEX)]
                yield Case(kind, f"{name} {log} {number}", changed, clean)


# -- the files beside the log ---------------------------------------------------------------


def _on_indexes(chance: random.Random) -> Iterator[Case]:
    for name, files in partitions():
        for kind in (names.OFFSET_INDEX, names.TIME_INDEX, names.TRANSACTION_INDEX):
            indexes = [index for index, data in _of(files, kind).items() if data]
            for number in range(4 if indexes else 0):
                index = indexes[-1] if number % 2 else chance.choice(indexes)
                change = (_flipped, _flipped, _flipped, _cut, _zeroed, _padded)[chance.randrange(6)]
                changed = {**files, index: change(files[index], chance)}
                yield Case(f"{kind} after a clean stop", f"{name} {index}", changed, clean=True)
                if not number:
                    yield Case(f"{kind} after a crash", f"{name} {index}", changed, clean=False)


def _on_snapshots(chance: random.Random) -> Iterator[Case]:
    for name, files in partitions():
        there = sorted(_of(files, names.PRODUCER_SNAPSHOT))
        if not there:
            continue
        logs = {kind: data for kind, data in files.items() if kind not in there}
        for clean in (True, False):
            yield Case("snapshots missing", f"{name} all", logs, clean)
            one = chance.choice(there)
            less = {kind: data for kind, data in files.items() if kind != one}
            yield Case("snapshots missing", f"{name} {one}", less, clean)
            for change in (_flipped, _cut, _padded, _zeroed):
                one = chance.choice(there)
                changed = {**files, one: change(files[one], chance)}
                yield Case("snapshots damaged", f"{name} {one}", changed, clean)
            for _ in range(2):
                one = chance.choice(there)
                changed = {**files, one: _false(files[one], chance)}
                yield Case("snapshots inconsistent", f"{name} {one}", changed, clean)
            other = names.SegmentName(chance.randrange(60), names.PRODUCER_SNAPSHOT)
            changed = {**files, other.sibling(names.PRODUCER_SNAPSHOT): files[one]}
            yield Case(
                "snapshots inconsistent", f"{name} {one} as {other.base_offset}", changed, clean
            )


def _false(data: bytes, chance: random.Random) -> bytes:
    """The snapshot with something wrong in it, and the right checksum."""
    codec = get_codec()
    entries = codec.parse(snapshots.SNAPSHOT, data, complete=True)[0].entries
    match chance.randrange(4):
        case 0:
            entries.append(
                snapshots.new_producer_entry(
                    producer_id=_PRODUCER, producer_epoch=0, last_sequence=0, last_offset=3,
                    offset_delta=0, timestamp=0, coordinator_epoch=-1,
                    current_txn_first_offset=chance.choice((0, 2, 5, 2**40)),
                )
            )  # fmt: skip
        case 1:
            entries = entries[1:]
        case _ if entries:
            entries[0].current_txn_first_offset = chance.choice((-1, 0, 1, 3, 2**33))
        case _:
            pass
    return snapshots.serialize_snapshot(entries, codec)


def _missing(chance: random.Random) -> Iterator[Case]:
    for name, files in partitions():
        for clean in (True, False):
            one = chance.choice([kind for kind in files if not kind.endswith(names.LOG)])
            less = {kind: data for kind, data in files.items() if kind != one}
            yield Case("files missing", f"{name} {one}", less, clean)
            log = chance.choice(sorted(_logs(files)))
            stem = Path(log).stem
            less = {kind: data for kind, data in files.items() if Path(kind).stem != stem}
            if _logs(less):
                yield Case("segments missing", f"{name} {log}", less, clean)
            yield Case("only logs", name, _logs(files), clean)
            base = int(stem)
            other = max(0, base + chance.choice((-1, 1, 2, 10, -5, 2**33)))
            renamed = {
                names.SegmentName(other, "").sibling(Path(kind).suffix)
                if Path(kind).stem == stem and not kind.endswith(names.PRODUCER_SNAPSHOT)
                else kind: data
                for kind, data in files.items()
            }
            yield Case("names", f"{name} {log} as {other}", renamed, clean)


# -- transactions ---------------------------------------------------------------------------


def _marker_key(chance: random.Random) -> bytes | None:
    usual = struct.pack(">hh", 0, chance.choice((0, 1)))
    return chance.choice(
        (
            usual, usual, usual, usual + b"more", b"", None, b"\0\0\0", struct.pack(">hh", -1, 0),
            struct.pack(">hh", 5, 1), struct.pack(">hh", 0, chance.choice((2, 3, 4, 6, 9, -1))),
        )
    )  # fmt: skip


def _marker_value(chance: random.Random) -> bytes | None:
    usual = struct.pack(">hi", 0, 3)
    return chance.choice(
        (
            usual, usual, usual, usual + b"more", b"", None, usual[:3], b"\0",
            struct.pack(">hi", -1, 3), struct.pack(">hi", 1, 3), struct.pack(">hi", 9, 3),
            struct.pack(">hi", 1, 3) + b"\0", struct.pack(">hi", 0, -7),
        )
    )  # fmt: skip


def _markers(chance: random.Random) -> Iterator[Case]:
    """Control batches of all kinds after data in a transaction."""
    for number in range(900):
        log = _data(0, transactional=True)
        records = [
            forge.record(
                delta, _marker_value(chance), key=_marker_key(chance),
                headers=chance.choice(((), (), ((b"k", b"v"),))),
            )
            for delta in range(chance.choice((0, 1, 1, 1, 1, 2)))
        ]  # fmt: skip
        payload = b"".join(records)
        if chance.random() < 0.25:
            payload = damage.broken(chance, payload, 1)
        payload += chance.choice((b"",) * 6 + (b"x", b"\0" * 20))
        compression = chance.choice((0,) * 8 + (1, 4, 5, 7))
        if compression == 1:
            payload = gzip.compress(payload, mtime=0)
        count = chance.choice((len(records),) * 8 + (0, -1, 2, 1))
        log += forge.batch(
            3, payload, count=count, last_offset_delta=max(0, len(records) - 1),
            attributes=0x20 | chance.choice((0x10, 0x10, 0)) | compression,
            producer=(chance.choice((_PRODUCER, _PRODUCER, 5, -1)), chance.choice((0, 1)), -1),
        )  # fmt: skip
        log += _data(9, transactional=chance.random() < 0.5)
        yield Case("control batches", str(number), crashed(log), clean=False)


def _data(base: int, producer: int = _PRODUCER, *, transactional: bool = False) -> bytes:
    return forge.batch(
        base, [forge.record(delta, b"v" * 9) for delta in range(3)],
        attributes=0x10 if transactional else 0, producer=(producer, 0, 3 * base),
    )  # fmt: skip


def _marker(offset: int, producer: int = _PRODUCER, *, abort: bool = True) -> bytes:
    record = forge.record(0, struct.pack(">hi", 0, 3), key=struct.pack(">hh", 0, int(not abort)))
    return forge.batch(offset, [record], attributes=0x30, producer=(producer, 0, -1))


def _transactions(chance: random.Random) -> Iterator[Case]:
    """Data and markers of two producers in any order, with offsets that rise, repeat or fall."""
    for number in range(900):
        log, offset = b"", 0
        for _ in range(chance.randint(2, 9)):
            offset = max(0, offset + chance.choice((0,) * 12 + (-1, -3, -4, 2)))
            producer = chance.choice((_PRODUCER, _PRODUCER + 1))
            if chance.random() < 0.55:
                log += _data(offset, producer, transactional=chance.random() < 0.9)
                offset += 3
            else:
                log += _marker(offset, producer, abort=chance.random() < 0.75)
                offset += 1
        yield Case("markers out of order", str(number), crashed(log), clean=False)


# -- messages of magic 0 and 1 --------------------------------------------------------------


def _strings(chance: random.Random) -> bytes:
    """Key and value with sizes that may lie."""
    found = b""
    for size in (chance.choice((-1, 0, 3)), chance.choice((-1, 0, 9))):
        lie = chance.choice((size,) * 4 + (size + 1, -1, -2, 100, 2**31 - 1, -(2**31)))
        found += struct.pack(">i", lie) + b"x" * max(size, 0)
    return found


def _message(chance: random.Random, offset: int, magic: int, attributes: int = 0) -> bytes:
    body = struct.pack(">bb", magic, attributes)
    if magic == 1:
        body += struct.pack(">q", 1000)
    body += _strings(chance)
    return damage.signed(forge.framed(offset, bytes(4) + body), 0)


def _messages(chance: random.Random) -> Iterator[Case]:
    for number in range(600):
        magic = chance.choice((0, 1))
        log = forge.legacy(0, b"v", magic=magic) + _message(
            chance, 1, magic, chance.choice((0, 0, 8, 1))
        )
        log += forge.legacy(2, b"after", magic=magic)
        yield Case("keys and values", str(number), crashed(log), clean=False)


def _wrappers(chance: random.Random) -> Iterator[Case]:
    """Wrappers whose messages have another magic, compression, checksum or size; near the end."""
    for number in range(900):
        magic = chance.choice((0, 1))
        kind = chance.choice(
            ("inner magic", "nested compression", "inner checksums", "inner sizes")
        )
        inner = [
            forge.legacy(at, b"v" * 9, magic=magic, attributes=chance.choice((0, 8)) * magic)
            for at in range(chance.randint(1, 3))
        ]
        at = chance.randrange(len(inner))
        match kind:
            case "inner magic":
                other = chance.choice((0, 1, 2, 3, 127, 255))
                inner[at] = damage.signed(inner[at][:16] + bytes((other,)) + inner[at][17:], 0)
            case "nested compression":
                inner[at] = forge.legacy(
                    at,
                    gzip.compress(inner[at], mtime=0),
                    magic=magic,
                    attributes=chance.randint(1, 7),
                )
            case "inner checksums":
                inner[at] = _flipped(inner[at], chance)
            case _:
                if chance.random() < 0.5:
                    inner[at] = _message(chance, at, magic)
                else:
                    inner[at] = damage.length_lie(inner[at], chance)[0]
        log = b"".join(
            forge.legacy(at, b"v" * 30, magic=magic) for at in range(chance.choice((0, 9)))
        )
        log += forge.wrapper(20 + len(inner) - 1, inner, magic=magic)
        log += b"".join(
            forge.legacy(30 + at, b"v" * 99, magic=magic) for at in range(chance.choice((0, 1, 9)))
        )
        yield Case(kind, str(number), crashed(log), clean=chance.random() < 0.2)


MAKERS = (
    _on_logs, _on_indexes, _on_snapshots, _missing, _markers, _transactions, _messages, _wrappers,
)  # fmt: skip


def damaged_snapshots() -> Iterator[Case]:
    """Yield the cases of damaged snapshots."""
    yield from _on_snapshots(_chance_of(_on_snapshots))


def _chance_of(maker: Callable[[random.Random], Iterator[Case]]) -> random.Random:
    return random.Random(f"{_SEED} {maker.__name__}")


def generate(most: int | None = None) -> Iterator[Case]:
    """Yield every case, or so many of each maker."""
    for maker in MAKERS:
        yield from islice(maker(_chance_of(maker)), most)
