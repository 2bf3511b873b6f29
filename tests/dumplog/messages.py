"""Records of Kafka's own topics: of each type, of none, and with bytes that no reader takes."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Final

import kafkaspec as ks

Pair = tuple[bytes | None, bytes | None]
"""A key and a value."""

DECODERS: Final = (
    ("__consumer_offsets", "--offsets-decoder", (3, 8)),
    ("__transaction_state", "--transaction-log-decoder", (4, 1)),
    ("__share_group_state", "--share-group-state-decoder", (4, 0)),
    ("__cluster_metadata", "--cluster-metadata-decoder", (2, 8)),
    ("__remote_log_metadata", "--remote-log-metadata-decoder", (3, 9)),
)
"""Topics, the decoders of the tool, and the first release in which they print JSON."""

_TYPES: Final = range(-1, 32)
"""More than there are in any topic, so that each release meets types that came later."""
_ZEROS: Final = b"\0\0" + bytes(60)
_COMMIT: Final = b"\0\1" + b"\0\1g" + b"\0\1t" + bytes(4)
_FLEXIBLE: Final = b"\0\4" + bytes(12)
"""An offset of version 4, up to its metadata."""
_TAGGED: Final = _FLEXIBLE + b"\1" + bytes(8)
"""The same, up to its tagged fields."""
_NEGATIVE: Final = b"\xff\xff\xff\xff\x0f"
_NULL, _LONG = b"\xff\xff", b"\xff" * 5


def log_of(topic: str) -> bytes:
    """The log of a topic: one batch."""
    return _log(
        {
            "__consumer_offsets": _offsets,
            "__transaction_state": _transactions,
            "__share_group_state": _share_groups,
            "__cluster_metadata": _metadata,
            "__remote_log_metadata": _remote,
        }[topic]()
    )


def negative_tags() -> bytes:
    """A commit with a negative number of tagged fields, which readers before 4.4 take for none."""
    return _log([(_COMMIT, _TAGGED + _NEGATIVE)])


def _log(pairs: Iterable[Pair]) -> bytes:
    return ks.encode(
        [ks.Record(at, 1_700_000_000_000 + at, key, value) for at, (key, value) in enumerate(pairs)]
    )


def _text(text: bytes) -> bytes:
    return struct.pack(">h", len(text)) + text


def _key(number: int) -> bytes:
    """A key that takes the place of any type: more fields than it has are ignored."""
    return struct.pack(">h", number) + _text(b"g") + _text(b"topic") + bytes(4) + _text(b"x") * 3


def _offsets() -> Iterator[Pair]:
    for value in (None, _ZEROS):
        for number in _TYPES:
            yield _key(number), value
    commit = struct.pack(">h", 1)
    for rest in (b"", b"\0", _NULL, b"\0\5ab", b"\xff\xfbab", _text(b"g") + _text(b"t") + b"\0\0"):
        yield commit + rest, None
    yield b"", b""
    yield b"\0", b""
    yield struct.pack(">h", 3) + _NULL, None
    rigid = b"\0\1" + bytes(8)
    for value in (b"", b"\0", b"\0\1", rigid + _NULL, rigid + b"\0\x09ab", b"\0\3" + bytes(40)):
        yield _COMMIT, value
    for version in (5, -1, 32767):
        yield _COMMIT, struct.pack(">h", version) + bytes(40)
    for value in (_NEGATIVE, bytes(10), b"\5ab", b"\x81\x80\2ab", b"\x81\x80\4ab", _LONG):
        yield _COMMIT, _FLEXIBLE + value
    for tags in (b"\5ab", b"\2\5\1a", _LONG, b"\1", b"\1\5\x10ab", b"\1\5\2ab", b"\1\5\x90\1ab"):
        yield _COMMIT, _TAGGED + tags
    group = struct.pack(">h", 2) + _text(b"g")
    begin = b"\0\3" + _text(b"consumer") + b"\0\0\0\1" + _NULL * 2 + bytes(8)
    member = begin + b"\0\0\0\1" + _text(b"m") + _NULL + _text(b"c") + _text(b"h") + bytes(8)
    for value in (b"\0\0\0\7", _NULL * 2, b"\0\0\0\1" + _NULL):
        yield group, begin + value
    for value in (_NULL * 2, b"\0\0\0\x30ab", bytes(4) + b"\xff\xff\xff\xfe"):
        yield group, member + value


def _transactions() -> Iterator[Pair]:
    values = [None, b"", b"\0", *(struct.pack(">h", version) + bytes(30) for version in range(3))]
    values.append(bytes(17) + _NULL * 2 + bytes(16))
    values.append(bytes(16) + b"\0\0\0\1" + _NULL)
    values += [bytes(16) + bytes((state,)) + bytes(20) for state in (3, 8, 255)]
    for number in range(-1, 3):
        for value in values:
            yield struct.pack(">h", number) + _text(b"id"), value


def _share_groups() -> Iterator[Pair]:
    for number in range(-1, 3):
        for value in (None, b"", b"\0", bytes(3), _ZEROS, b"\0\1" + bytes(60)):
            yield struct.pack(">h", number) + _text(b"g") + bytes(20), value


def _framed(numbers: range, size: int) -> Iterator[Pair]:
    for frame in range(3):
        for number in numbers:
            for version in (0, 9):
                yield None, bytes((frame, number, version)) + bytes(size)
    for value in (b"", b"\1", b"\1\2", b"\1\2\0", b"\1\2\0\5ab", b"\1" + _LONG, _LONG):
        yield None, value
    for value in (b"\1\xc0\xb8\2\0", b"\1\2\xc0\xb8\2"):  # 40000
        yield None, value
    yield None, None


def _metadata() -> Iterator[Pair]:
    yield from _framed(range(32), 80)
    topic, partition = b"\1\2\0\2a" + bytes(17), b"\1\3\0" + bytes(20)
    for value in (topic, topic + b"junk", partition + b"\x40", partition + b"\2", b"\0\2\0\2a"):
        yield None, value
    yield b"k", None


def _remote() -> Iterator[Pair]:
    yield from _framed(range(6), 120)
