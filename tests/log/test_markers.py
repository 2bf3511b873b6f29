"""Transactions of a log and their markers, read table by table, with NumPy and without."""

from __future__ import annotations

import random
import struct
import sys
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest

import kafkaspec as ks
from kafkaspec.log.headers import readable_headers
from kafkaspec.log.markers import Marker, markers
from kafkaspec.log.transactions import Markers, Outcome, Transactions


class Step(NamedTuple):
    """A batch: of data, or a marker (``commits``), with what is wrong with it."""

    producer: int
    commits: bool | None = None
    epoch: int = 0
    wrong: str = ""


def made(steps: list[Step]) -> bytes:
    parts = []
    for offset, step in enumerate(steps):
        if step.commits is None:
            record = ks.Record(offset, offset, b"k", b"v")
        else:
            key = struct.pack(">hh", 0, step.commits)
            value = struct.pack(">hi", 0, step.epoch)
            if step.wrong == "type":  # of a record that ends no transaction
                key = struct.pack(">hh", 0, 2)
            record = ks.Record(offset, offset, key, value[:3] if step.wrong == "short" else value)
        data = bytearray(
            ks.encode(
                [record],
                producer_id=step.producer,
                producer_epoch=0,
                transactional=True,
                control=step.commits is not None,
            )
        )
        if step.wrong == "crc":
            data[-2] ^= 1
        parts.append(bytes(data))
    return b"".join(parts)


def expected(steps: list[Step]) -> tuple[list[tuple[int, int, int]], dict[int, int], list[int]]:
    """By Kafka's rule: the aborted transactions, those that are open, and markers of no use."""
    begun: dict[int, int] = {}
    aborted, unread = [], []
    for offset, step in enumerate(steps):
        if step.commits is None:
            begun.setdefault(step.producer, offset)
            continue
        first = begun.pop(step.producer, None)
        if step.wrong:
            unread.append(offset)
        elif not step.commits and first is not None:
            aborted.append((step.producer, first, offset))
    return aborted, begun, unread


def steps_of(seed: int, kind: str) -> list[Step]:
    choose = random.Random(seed)
    producers = {"few": 3, "many": 400, "usual": 30}[kind]
    found = []
    for _ in range(900):
        producer = choose.randrange(producers) * choose.choice((1, 1 << 40))
        if choose.random() < 0.6:
            found.append(Step(producer))
        else:
            wrong = choose.choice(["type", "crc", "short"]) if choose.random() < 0.05 else ""
            epoch = choose.randrange(40) if choose.random() < 0.5 else 0
            found.append(Step(producer, choose.random() < 0.5, epoch, wrong))
    return found


@pytest.mark.core
@pytest.mark.parametrize("numpy", [True, False], ids=["columns", "rows"])
@pytest.mark.parametrize("most", [7, 64, 5000])
@pytest.mark.parametrize("kind", ["few", "usual", "many"])
def test_transactions_are_those_of_kafkas_rule(
    kind: str, most: int, numpy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = steps_of(most, kind)
    aborted, begun, unread = expected(steps)
    if not numpy:
        monkeypatch.delitem(sys.modules, "numpy")
    data = made(steps)
    starts = {batch.position: n for n, batch in enumerate(ks.Segment(data).batches())}
    for again in (False, True):
        followed = Transactions()
        for table in readable_headers(ks.Segment(data), most=most, again=again):
            assert not isinstance(table, ks.KafkaSpecError)
            followed.step(table)
        assert sorted(map(tuple, followed.aborted), key=lambda item: item[2]) == aborted
        assert {key: each.first_offset for key, each in followed.open.items()} == begun
        places = [error.position or 0 for error in followed.errors]
        found = [max(n for start, n in starts.items() if start <= place) for place in places]
        assert found == unread
        assert all(one < two for one, two in pairwise(places))


@pytest.mark.core
@pytest.mark.parametrize("numpy", [True, False], ids=["columns", "rows"])
def test_markers_of_each_row(numpy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = steps_of(1, "usual")
    ends = [(n, step) for n, step in enumerate(steps) if step.commits is not None]
    if not numpy:
        monkeypatch.delitem(sys.modules, "numpy")
    (table,) = readable_headers(ks.Segment(made(steps)))
    assert not isinstance(table, ks.KafkaSpecError)
    found = markers(table, [n for n, _ in ends])
    assert markers(table, []) == []
    for marker, (_, step) in zip(found, ends, strict=True):
        if step.wrong:
            assert isinstance(marker, ks.KafkaSpecError)
        else:
            assert marker == Marker(not step.commits, step.epoch)
    known = Markers([table])
    for n, step in ends:
        if not step.wrong:
            wanted = Outcome.COMMITTED if step.commits else Outcome.ABORTED
            assert known.outcome(step.producer, n - 1) is wanted


def test_numpy_is_loaded() -> None:
    """Otherwise the tests above compare one way with itself."""
    assert sys.modules["numpy"] is np
