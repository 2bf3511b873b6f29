"""Text files that Kafka and kafkaspec are asked about: real ones, broken ones, odd ones."""

from __future__ import annotations

import json
import random
from functools import cache

from kafkaspec.files import names
from tests.goldens import named

_SEED = 20261121
_BROKEN = 400
"""Broken files of each name."""

_PIECES = (
    *(b"", b" ", b"\t", b"\n", b"\r", b"\r\n", b"\x0b", b"\x0c", b"\0", b":", b"=", b"#", b"!"),
    *(b"0", b"1", b"-1", b"+", b"-", b"1.5", b"1e3", b"0" * 28 + b"7", b"\xd9\xa4"),
    *(b"2147483647", b"2147483648", b"-2147483648"),
    *(b"9223372036854775807", b"9223372036854775808"),
    *(b"\xff", b"\xc3\xa4", b"\xc2\xa0", b"\xe2\x80\x83", b"\xf0\x9f\x98\x80", b"\xef\xbb\xbf"),
    *(b"\\", b"\\u0041", b"\\n", b"\\:", b"null", b"true", b'"', b"{", b"}", b"[", b"]", b","),
    b"AAAAAAAAAAAAAAAAAAAAAA",
)
"""Pieces for files: line ends, blanks, digits, limits of numbers, escapes, invalid UTF-8."""


_NUMBERS = (0, 1, -1, 7, 2**31 - 1, -(2**31))
_ODD: tuple[object, ...] = (
    None,
    True,
    "1",
    "",
    1.0,
    1.5,
    2**31,
    2**63,
    [],
    {},
    [1],
    [{}],
    [{"voterId": "1"}],
    "x",
)


@cache
def all_cases() -> tuple[tuple[str, bytes], ...]:
    """Name and content of each file, the same in every run."""
    chance = random.Random(_SEED)
    cases = []
    for name in names.TEXT_FILES:
        sound = sorted({golden.path.read_bytes() for golden in named(name)})
        cases += [(name, data) for data in [*sound, *_PIECES]]
        for _ in range(_BROKEN):
            cases.append((name, _broken(chance, chance.choice(sound))))
    cases += [(names.QUORUM_STATE, _quorum_state(chance)) for _ in range(_BROKEN)]
    return tuple(cases)


def _quorum_state(chance: random.Random) -> bytes:
    """Half of them sound, of both versions; the others have a field too few or of another type."""
    version = chance.randrange(2)
    state: dict[str, object] = {
        "leaderId": chance.choice(_NUMBERS),
        "leaderEpoch": chance.choice(_NUMBERS),
        "votedId": chance.choice(_NUMBERS),
    }
    if version:
        state["votedDirectoryId"] = chance.choice(
            ("AAAAAAAAAAAAAAAAAAAAAA", "J8aAPcfLQt2bqs1JT_rMgQ")
        )
    else:
        voters = [{"voterId": chance.choice(_NUMBERS)} for _ in range(chance.randrange(3))]
        state |= {
            "clusterId": chance.choice(("", "c", "\u00e4")),
            "appliedOffset": chance.choice((*_NUMBERS, 2**63 - 1)),
            "currentVoters": chance.choice((voters, None)),
        }
    state["data_version"] = version
    if chance.randrange(2):
        name = chance.choice(list(state)[:-1])
        if chance.randrange(3):
            state[name] = chance.choice(_ODD)
        else:
            del state[name]
    items = list(state.items())
    chance.shuffle(items)
    return json.dumps(dict(items), ensure_ascii=chance.randrange(2) == 0).encode()


def _broken(chance: random.Random, data: bytes) -> bytes:
    content = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(content))
        kind = chance.randrange(5)
        if kind == 0:
            del content[at:]
        elif kind == 1:
            del content[at : at + chance.randint(1, 4)]
        elif kind == 2:
            content[at : at + 1] = bytes([chance.randrange(256)])
        else:
            content[at:at] = chance.choice(_PIECES)
    return bytes(content)
