"""All that the judges are asked about, the same in every run."""

from __future__ import annotations

import random
from functools import cache
from typing import NamedTuple

from tests import goldens
from tests.kafka import damage, made

MINIMUM = 10_000
_LARGEST_LOG = 100_000
_BROKEN = 9_000


class Case(NamedTuple):
    """A log and where it comes from."""

    name: str
    data: bytes


@cache
def golden_logs() -> tuple[Case, ...]:
    """Whole segments of real brokers, as they are."""
    files = [
        golden for golden in goldens.files(".log") if golden.path.stat().st_size <= _LARGEST_LOG
    ]
    return tuple(Case(str(golden), golden.path.read_bytes()) for golden in files)


@cache
def broken() -> tuple[Case, ...]:
    """One batch of each kind that brokers wrote, broken in many ways; a sound batch follows."""
    chance = random.Random(20261121)
    batches = damage.kinds([case.data for case in golden_logs()])
    found = []
    for number, batch in enumerate(batches):
        surplus = bytes(batches[(number + 1) % len(batches)].data)
        count = _BROKEN // len(batches) + 1
        for at, data in enumerate(damage.damaged(batch, surplus, chance, count)):
            name = f"broken {number}.{at}, magic {batch.magic}, {batch.compression_name}"
            found.append(Case(name, data))
    return tuple(found)


@cache
def written() -> tuple[Case, ...]:
    """The output of ``encode``: a judge that refuses any of it has found a defect."""
    return tuple(Case(*item) for item in made.written(7, 600))


@cache
def all_cases() -> tuple[Case, ...]:
    """Every case of every kind."""
    vectors = tuple(Case(*item) for item in made.vectors())
    special = tuple(Case(*item) for item in made.special())
    odd = tuple(Case(*item) for item in made.odd_records(11, 1200))
    wrappers = tuple(Case(*item) for item in made.wrappers(13, 900))
    return golden_logs() + written() + vectors + special + odd + wrappers + broken()
