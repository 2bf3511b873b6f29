"""Cases of hostile bytes: few of them, that ask for much memory, time or depth.

A decoder must refuse them, and take little: a bound on its memory goes with each case. The bytes
are the vectors of counts and lengths, and batches whose payloads are bombs or never end.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kafkaspec import compression
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.conformance.cases import Case, Refusal
from kafkaspec.conformance.payloads import changed, entry_of, seal
from kafkaspec.conformance.protocol import RequestKind
from kafkaspec.conformance.vectors import vector_cases
from kafkaspec.layout import FieldLayout, names
from kafkaspec.layout.framing import LOG_FRAMING
from kafkaspec.layout.kinds import CURRENT, KINDS
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.log.encoding import encode
from kafkaspec.model import Record

RESOURCE: Final = "resource/"
"""Ids of these cases begin so."""
ROOM: Final = 64 << 20
"""Bytes of memory that a case may take beyond what the testee has before it ..."""
ROOM_A_BYTE: Final = 24
"""... and for each byte of the case, which is sent as text and decoded."""

_MOST: Final = 2**31 - 1
_BOMB: Final = 256 << 20
"""Bytes after decompression."""
_DEPTH: Final = 300
"""Wrappers inside wrappers."""
_NESTED: Final = "gzip"
_LENGTHS: Final = ("len", "count")


def resource_cases() -> Iterator[Case]:
    """Yield the cases, in order."""
    yield from _hostile_vectors()
    yield from _hostile_sizes()
    yield from _hostile_counts()
    yield from _bombs()
    yield from _nested()


def bound_of(data: bytes) -> int:
    """Return how much memory a case may take, in bytes."""
    return ROOM + ROOM_A_BYTE * len(data)


def _case(name: str, data: bytes, why: str, needs: str = "") -> Case:
    return Case(
        f"{RESOURCE}{name}", RequestKind.LOG, data, Refusal(), why,
        most_memory=bound_of(data), needs=needs,
    )  # fmt: skip


def _hostile_vectors() -> Iterator[Case]:
    """Yield the vectors whose counts and lengths are larger than what follows them, as their types
    and, where they can be in one, in a log."""
    hostile = set()
    for case in vector_cases():
        category, _, of = case.id.partition("/")
        if category == "structure" and isinstance(case.expected, Refusal):
            layout = LAYOUTS[case.extra["type"]]
            field = case.expected.path.rpartition("/")[2]
            if any(each.id == field and _has_length(each) for each in layout.fields):
                hostile.add(of)
        if of in hostile and isinstance(case.expected, Refusal):
            name = of if category == "structure" else f"log/{of}"
            case = replace(
                case, id=RESOURCE + name, expected=Refusal(), most_memory=bound_of(case.data)
            )
            yield case
            if case.extra.get("type") == names.PRODUCER_SNAPSHOT_FILE:
                data = bytearray(case.data)
                seal(data, names.PRODUCER_SNAPSHOT_FILE)
                yield replace(
                    case, id=f"{RESOURCE}snapshot/{of.rpartition('/')[2]}", data=bytes(data),
                    kind=RequestKind.PRODUCER_SNAPSHOT, extra={}, covers=(),
                )  # fmt: skip


def _has_length(field: FieldLayout) -> bool:
    """Return whether a field is a count or length, or begins with one, as a nullable value does."""
    inner = LAYOUTS[field.type].fields if field.type in LAYOUTS else ()
    return any(each.derive in _LENGTHS for each in (field, *inner[:1]))


def _hostile_sizes() -> Iterator[Case]:
    """Yield entries whose sizes are negative, or larger than what follows."""
    for magic in KINDS:
        for name, size in (("-1", -1), ("minimum", -_MOST - 1), ("maximum", _MOST)):
            data = bytearray(encode([Record(0, NO_TIMESTAMP, None, b"x")], magic=magic))
            LOG_FRAMING.set_message_size(data, size)
            why = f"An entry of magic {magic} whose size is {size}."
            case = _case(f"size/{magic}.{name}", bytes(data), why)
            # A broker's answer may end inside an entry, which a client then takes for the end.
            yield replace(case, expected=Refusal(or_nothing=size > 0))


def _hostile_counts() -> Iterator[Case]:
    """Yield batches of one record whose headers say that there are many."""
    count = KINDS[CURRENT].count
    for codec, name in enumerate(compression.NAMES):
        if not codec or compression.is_coded(codec, CURRENT):
            record = Record(0, NO_TIMESTAMP, None, b"x")
            data = changed(encode([record], magic=CURRENT, compression=name), {count: _MOST})
            why = f"{_MOST} records, says a batch of one, compressed with {name}."
            yield _case(f"count/{name}", data, why, needs=name)


def _bombs() -> Iterator[Case]:
    """Yield batches that decompress to zeros, of which the first is not a record."""
    for codec, name in enumerate(compression.NAMES):
        if codec and compression.is_coded(codec, CURRENT):
            data = entry_of(CURRENT, codec, _zeros(codec))
            why = f"{_BOMB} zeros, compressed with {name}: the first is not a record."
            yield _case(f"bomb/{name}", data, why, needs=name)


def _zeros(codec: int) -> bytes:
    """Return zeros after compression: gzip in parts, others as one, where they take little."""
    if compression.NAMES[codec] == "gzip":
        made = zlib.compressobj(9, zlib.DEFLATED, 31)
        part = bytes(1 << 20)
        return b"".join([*(made.compress(part) for _ in range(_BOMB >> 20)), made.flush()])
    return compression.compress(codec, bytes(_BOMB), magic=CURRENT)


def _nested() -> Iterator[Case]:
    """Yield messages that hold a compressed message, and so on."""
    codec = compression.NAMES.index(_NESTED)
    for magic, kind in KINDS.items():
        if not kind.has_record_sets:
            data = encode([Record(0, NO_TIMESTAMP, None, b"x")], magic=magic)
            for _ in range(_DEPTH):
                data = entry_of(magic, codec, compression.compress(codec, data, magic=magic))
            why = f"{_DEPTH} compressed messages of magic {magic}, each in the next."
            yield _case(f"nested/{magic}", data, why, needs=_NESTED)
