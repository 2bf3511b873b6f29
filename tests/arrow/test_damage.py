"""Damaged, changing and shared files: the errors of ``records``, after the same records."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.log.options import ByteLayout
from kafkaspec.policy import CrcPolicy, TailPolicy
from tests import goldens
from tests.arrow import forge
from tests.arrow.test_columns import CODECS, LAYOUTS, records
from tests.log.forge import batch, record, sized, zigzag
from tests.work import calls

pa = pytest.importorskip("pyarrow")

Error = tuple[Any, ...] | None


def by_records(segment: ks.Segment) -> tuple[list[ks.Record], Error]:
    found: list[ks.Record] = []
    try:
        for batch in segment.batches():
            if not batch.is_control:
                found += batch.records()
    except ks.KafkaSpecError as error:
        return found, described(error)
    return found, None


def by_columns(segment: ks.Segment, layout: ByteLayout) -> tuple[list[ks.Record], Error]:
    batches = []
    reader = segment.to_batches(layout=layout)
    try:
        for batch in reader:
            batches.append(batch)
    except ks.KafkaSpecError as error:
        return records(pa.Table.from_batches(batches, reader.schema)), described(error)
    return records(pa.Table.from_batches(batches, reader.schema)), None


def described(error: ks.KafkaSpecError) -> tuple[Any, ...]:
    return (
        type(error), error.reason, error.position, error.inner_position, error.path, error.file,
        error.detail,
    )  # fmt: skip


MUTATED = [
    "4.3.1/logs/plain-0/00000000000000000000.log",
    "4.3.1/logs/codec-mixed-0/00000000000000000000.log",
    "0.10.2.2/logs/codec-mixed-0/00000000000000000000.log",
    "0.10.2.2/logs/plain-0/00000000000000000000.log",
]


@pytest.mark.slow
@pytest.mark.parametrize("crc", ["raise", "ignore"])
@pytest.mark.parametrize("tail", ["skip", "raise"])
@pytest.mark.parametrize("name", MUTATED)
def test_mutated_segments(name: str, tail: TailPolicy, crc: CrcPolicy) -> None:
    whole = (goldens.GOLDEN / name).read_bytes()
    chance = random.Random(name)
    errors = 0
    for round_ in range(120):
        data = bytearray(whole)
        for _ in range(chance.choice([1, 10, 40])):
            data[chance.randrange(len(data))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
        if round_ % 4 == 0:
            del data[chance.randrange(len(data)) :]
        for codec in CODECS:
            segment = ks.Segment(
                bytes(data), codec=codec, tail=tail, crc=crc, name="x", max_output=1 << 20
            )
            expected = by_records(segment)
            errors += expected[1] is not None
            assert by_columns(segment, LAYOUTS[round_ % 2]) == expected
    assert errors > 10


def test_a_count_of_records_that_cannot_be(tmp_path: Path) -> None:
    good = ks.encode(forge.records(10))
    bad = bytearray(ks.encode(forge.records(10, 10)))
    bad[57:61] = (2**31 - 1).to_bytes(4, "big")
    for codec in CODECS:
        segment = ks.Segment(good + bytes(bad), codec=codec, crc="ignore")
        found, error = by_columns(segment, "view")
        assert [record.offset for record in found] == list(range(10))
        assert error is not None


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("codec", CODECS)
def test_a_file_that_grows(tmp_path: Path, codec: str, mapped: bool) -> None:
    parts = [ks.encode(forge.records(50, 50 * i), compression="none") for i in range(20)]
    path = forge.segment(tmp_path, parts[:10])
    with ks.Segment(path, codec=codec, mapped=mapped) as segment:
        reader = segment.to_batches(max_bytes=2000)
        rows = reader.read_next_batch().num_rows
        with path.open("ab") as file:
            file.write(b"".join(parts[10:]))
        rows += sum(batch.num_rows for batch in reader)
        assert rows == 500  # what was there when it was opened
        assert segment.to_arrow().num_rows == 500
    with ks.Segment(path, codec=codec, mapped=mapped) as segment:
        assert segment.to_arrow().num_rows == 1000


@pytest.mark.core
@pytest.mark.parametrize("compression", ["none", "zstd"])
@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("codec", CODECS)
def test_a_file_that_becomes_shorter(
    tmp_path: Path, codec: str, mapped: bool, compression: str
) -> None:
    parts = [
        ks.encode(forge.records(200, 200 * i, size=2000, seed=i), compression=compression)
        for i in range(20)
    ]
    path = forge.segment(tmp_path, parts)
    with ks.Segment(path, codec=codec, mapped=mapped) as segment:
        reader = segment.to_batches(max_bytes=100_000, layout="binary")
        first = reader.read_next_batch()
        os.truncate(path, 700_000 if mapped else 300_000)
        with pytest.raises(ks.KafkaSpecError) as caught:
            list(reader)
        assert caught.value.reason == ks.Reason.CHANGED
        assert caught.value.file == str(path)
        first.validate(full=True)
        with pytest.raises(ks.KafkaSpecError):
            segment.to_arrow()


_SHRINK = """
import os, sys, threading, time
import kafkaspec as ks
path, codec, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
segment = ks.open(path, codec=codec, mapped=False)
threading.Timer(0.02, lambda: os.truncate(path, 4096)).start()
stop = time.monotonic() + 5
try:
    while time.monotonic() < stop:
        for batch in segment.to_batches(max_bytes=300_000):
            batch.validate(full=True)
except ks.KafkaSpecError as error:
    print(error.reason)
"""


@pytest.mark.slow
@pytest.mark.parametrize("codec", CODECS)
def test_shrinking_at_any_moment_is_no_fault_where_nothing_is_mapped(
    tmp_path: Path, codec: str
) -> None:
    path = tmp_path / f"{0:020d}.log"
    forge.repeated(path, ks.encode(forge.records(1000, size=500)), 40, 1000)
    for _ in range(2):
        forge.repeated(path, ks.encode(forge.records(1000, size=500)), 40, 1000)
        done = subprocess.run(
            [sys.executable, "-c", _SHRINK, str(path), codec, "0"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == "changed"


@pytest.mark.slow
@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("codec", CODECS)
def test_many_threads_over_one_segment(tmp_path: Path, codec: str, mapped: bool) -> None:
    made = forge.records(2000)
    kinds = ["none", "zstd", "lz4", "gzip"]
    parts = [
        ks.encode(made[i : i + 100], compression=kinds[i // 100 % 4]) for i in range(0, 2000, 100)
    ]
    path = forge.segment(tmp_path, parts)
    with ks.Segment(path, codec=codec, mapped=mapped) as segment:

        def read(number: int) -> list[ks.Record]:
            low, high = number * 37, 2000 - number * 41
            table = segment.to_arrow(
                start_offset=low,
                end_offset=high,
                layout=LAYOUTS[number % 2],
                max_bytes=1000 * (1 + number),
            )
            return records(table)

        with ThreadPoolExecutor(8) as pool:
            for number, found in enumerate(pool.map(read, list(range(12)) * 2)):
                number %= 12
                assert found == made[number * 37 : 2000 - number * 41]


def test_closing_while_reading(tmp_path: Path) -> None:
    path = forge.segment(tmp_path, [ks.encode(forge.records(100, 100 * i)) for i in range(9)])
    for codec in CODECS:
        segment = ks.Segment(path, codec=codec)
        reader = segment.to_batches(max_bytes=1000)
        rows = reader.read_next_batch().num_rows
        segment.close()
        assert rows + sum(batch.num_rows for batch in reader) == 900


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("layout", ["binary", "view"])
def test_many_broken_batches_are_left_out_in_order(
    tmp_path: Path, compression: Any, layout: Any
) -> None:
    """The records are those of the intact batches; each broken one is told once, in order."""
    made = [
        ks.encode(
            [ks.Record(2 * at + n, at, b"k%d" % at, b"v" * n, (("h", b"x"),)) for n in (0, 1)],
            compression=compression,
        )
        for at in range(300)
    ]
    broken = {at for at in range(300) if at % 3 == 1 or 100 <= at < 110}
    log, starts = bytearray(), dict[int, int]()
    for at, data in enumerate(made):
        starts[len(log)] = at
        log += data
        if at in broken:
            log[-1] ^= 1
    intact = b"".join(data for at, data in enumerate(made) if at not in broken)
    path, clean = tmp_path / f"{0:020}.log", tmp_path / "clean" / f"{0:020}.log"
    clean.parent.mkdir()
    path.write_bytes(log)
    clean.write_bytes(intact)
    told: list[ks.KafkaSpecError] = []
    table = ks.Segment(path).to_arrow(on_error=told.append, layout=layout)
    assert table.equals(ks.Segment(clean).to_arrow(layout=layout))
    bounds = sorted(starts)
    at_fault = [starts[bounds[bisect_right(bounds, error.position or 0) - 1]] for error in told]
    assert at_fault == sorted(broken)
    before, error = by_columns(ks.Segment(path), layout)
    assert error is not None
    assert len(before) == 2 * min(broken), "the records before the first error"


@pytest.mark.slow
def test_a_broken_batch_is_left_out_with_little_work(tmp_path: Path) -> None:
    """Reading began again after each of them."""
    work = []
    for number in (200, 400):
        path = tmp_path / str(number) / f"{0:020}.log"
        path.parent.mkdir()
        entry = ks.encode([ks.Record(0, 1, b"k", b"v")])
        path.write_bytes((entry + entry[:-1] + b"?") * number)
        read = partial(ks.Segment(path).to_arrow, on_error=list[ks.KafkaSpecError]().append)
        assert read().num_rows == number
        work.append(calls(read))
    assert work[1] - work[0] < 200 * 160, work


@pytest.mark.parametrize("codec", CODECS)
def test_a_broken_batch_before_bytes_that_are_no_entry_is_told(tmp_path: Path, codec: str) -> None:
    entry = ks.encode([ks.Record(0, 1, b"k", b"v")])
    broken = entry[:-1] + b"?"
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(broken * 2 + b"?" * len(entry))
    told: list[ks.KafkaSpecError] = []
    table = ks.Segment(path, codec=codec, tail="raise").to_arrow(on_error=told.append)
    assert table.num_rows == 0
    places = [None if error.position is None else error.position // len(entry) for error in told]
    assert places == [0, 1, 2]


@pytest.mark.parametrize("codec", CODECS)
def test_an_entry_after_one_that_ends_too_early_is_read(tmp_path: Path, codec: str) -> None:
    """The field that is missing would be where the next entry begins."""
    name = b"a name"
    made = record(0, b"v", headers=[(name, name)])
    entry = batch(0, [made.replace(zigzag(1) + sized(name), zigzag(2) + sized(name), 1)])
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(entry + batch(1, [record(0, b"v")]))
    told: list[ks.KafkaSpecError] = []
    table = ks.Segment(path, codec=codec).to_arrow(["offset"], on_error=told.append)
    assert [error.position for error in told] == [len(entry)]
    assert table["offset"].to_pylist() == [1]
