"""What the tests of the readers share."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import kafkaspec as ks
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.conformance.cases import Case, Items
from kafkaspec.conformance.differential import LogComparison
from kafkaspec.conformance.process import Testee
from kafkaspec.conformance.protocol import RequestKind
from kafkaspec.files.names import INDEXES, LOG
from kafkaspec.layout.framing import LOG_FRAMING, field_position, fixed_size
from kafkaspec.layout.names import OFFSET_INDEX_ENTRY, POSITION
from tests import goldens
from tests.consumer import with_wrong_first_offsets

ROOT = Path(__file__).parents[2]


def agrees_on_changed_logs(testee: str, *, seed: int) -> None:
    """Assert that a testee reads and refuses the same of 3,000 changed logs, and ends in none."""
    command = [sys.executable, "-m", "kafkaspec", "conform", "--codec", "native"]
    command += ["--against", testee, "--logs", "3000", "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 skipped by one, 0 different" in done.stdout


def agrees_on_changed_batches_of_brokers(testee: str, *, seed: int) -> None:
    """Assert the same of 3,000 logs, most of them changed batches and messages of golden logs."""
    entries = [
        Case(
            f"{log}/{batch.position}", RequestKind.LOG, data[batch.position : batch.end], Items(())
        )
        for release in ("4.4.0", "0.10.2.2", "0.9.0.1")
        for log in sorted((goldens.GOLDEN / release / "logs").glob(f"*/*{LOG}"))
        for data in (log.read_bytes(),)
        for batch in islice(ks.Segment(data).batches(), 20)
    ]
    native = [sys.executable, "-m", "kafkaspec.conformance.testee", "native"]
    with Testee(native) as ours, Testee([testee]) as theirs:
        comparison = LogComparison(ours, theirs, seed, entries)
        assert list(comparison.run(3000)) == []
    assert comparison.sums["skipped"] == 0
    assert comparison.sums["accepted"] > 200
    assert comparison.sums["refused"] > 200


def number_in(line: str) -> int:
    """Return the offset that a line begins with, -1 for none, -2 for an error."""
    first = line.split()[0]
    return -1 if first == "-" else int(first) if first.isdigit() else -2


def looks_up_as_ours(folder: Path, ask: Callable[[Path, str, Sequence[int]], list[int]]) -> None:
    """Assert that a reader finds the same records as ours, with a sound index and wrong ones.

    Args:
        folder: where a partition is written to.
        ask: returns the offsets that the reader finds in a log, by ``offset`` or ``time``; -1 for
            none.
    """
    chance = random.Random(3)
    with ks.SegmentWriter(folder, base_offset=1000) as writer:
        offset = 1000
        for _ in range(400):
            count = chance.randrange(1, 9)
            records = [
                ks.Record(offset + i, 1_700_000_000_000 + 10 * offset + chance.randrange(-300, 300),
                          b"k", bytes(200))
                for i in range(count)
            ]  # fmt: skip
            writer.append(ks.encode(records))
            offset += count + chance.randrange(3)
    (log,) = folder.glob(f"*{LOG}")
    index = log.with_suffix(".index")
    assert index.stat().st_size > 50 * fixed_size(OFFSET_INDEX_ENTRY)
    asked = {
        "offset": [0, 999, *(chance.randrange(1000, offset + 5) for _ in range(200)), offset],
        "time": [0, *(1_700_000_000_000 + 10 * chance.randrange(900, offset + 100)
                      for _ in range(200))],
    }  # fmt: skip

    def answers() -> dict[str, list[int]]:
        return {how: ask(log, how, numbers) for how, numbers in asked.items()}

    def ours() -> dict[str, list[int]]:
        with ks.Segment(log) as segment:
            found = {
                "offset": [segment.find(offset=each).offset for each in asked["offset"]],
                "time": [segment.find(timestamp=each).offset for each in asked["time"]],
            }
        return {how: [-1 if each is None else each for each in items]
                for how, items in found.items()}  # fmt: skip

    wanted = ours()
    assert len(set(wanted["offset"])) > 100
    assert answers() == wanted
    sound, at = index.read_bytes(), field_position(LAYOUTS[OFFSET_INDEX_ENTRY], POSITION)
    for wrong in (bytes([0x7F]), bytes([0xFF]), b"\x00\x00\x01"):
        data = bytearray(sound)
        for entry in range(at, len(data), fixed_size(OFFSET_INDEX_ENTRY)):
            data[entry : entry + len(wrong)] = wrong
        index.write_bytes(data)
        assert answers() == wanted, wrong
        assert ours() == wanted, wrong


def answers_as_ours_over_damage(
    folder: Path, ask: Callable[[Path, str, Sequence[int]], list[int]]
) -> None:
    """Assert that a reader finds and refuses the same as ours, with damaged indexes and logs.

    Args:
        folder: where a partition is written to.
        ask: as in ``looks_up_as_ours``; -2 for an error.
    """
    chance = random.Random(5)
    with ks.SegmentWriter(folder, base_offset=1000) as writer:
        for offset in range(1000, 2000, 5):
            records = [ks.Record(offset + i, offset + i, b"k", bytes(200)) for i in range(5)]
            writer.append(ks.encode(records))
    (log,) = folder.glob(f"*{LOG}")
    sound = {path: path.read_bytes() for path in map(log.with_suffix, (LOG, *INDEXES))}
    entries = [batch.position for batch in ks.Segment(log).batches()]
    numbers = [0, 999, 1000, 1999, 2000, *(chance.randrange(1000, 2000) for _ in range(30))]

    def ours(how: str, number: int) -> int:
        with ks.Segment(log) as segment:
            try:
                wanted: Any = {"offset" if how == "offset" else "timestamp": number}
                found = segment.find(**wanted).offset
            except ks.KafkaSpecError:
                return -2
        return -1 if found is None else found

    seen: set[int] = set()
    for turn in range(40):
        for path, content in sound.items():
            path.write_bytes(content)
        path = chance.choice(list(sound))
        data = bytearray(sound[path])
        match turn % 4:
            case 0:  # cut, in an entry
                del data[-chance.randrange(1, len(data) // 2) :]
            case 1:  # bytes anywhere
                for _ in range(20):
                    data[chance.randrange(len(data))] = chance.randrange(256)
            case 2:  # zeros, amid others and at the end
                data[len(data) // 2 : len(data) // 2 + 40] = bytes(40)
                data += bytes(100)
            case 3:  # heads of entries
                path, data = log, bytearray(sound[log])
                for position in chance.sample(entries, 4):
                    at = LOG_FRAMING.up_to_magic - 1 if chance.random() < 0.7 else 0
                    data[position + at] ^= 0x41
        path.write_bytes(data)
        for how in ("offset", "time"):
            expected = [ours(how, number) for number in numbers]
            assert ask(log, how, numbers) == expected, (turn, path.suffix, how)
            seen |= set(expected)
    assert {-1, -2} < seen
    assert len(seen) > 30


def filters_as_kafkas_consumer(folder: Path, program: Path) -> None:
    """Assert what a program prints of logs whose transaction indexes say too much.

    Args:
        folder: an empty folder.
        program: prints a line of offsets for each log, those that ``read_committed`` delivers.
    """
    cases = [
        with_wrong_first_offsets(folder / f"{seed}-0", random.Random(seed)) for seed in range(300)
    ]
    command = [program, *(log for log, _ in cases)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [list(map(int, line.split())) for line in done.stdout.splitlines()]
    assert found == [expected for _, expected in cases]


def cargo(folder: Path, *arguments: str) -> None:
    """Run Cargo on the crate; libraries are compiled once for all runs."""
    environment = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "build" / "readers" / "rust")}
    command = ["cargo", arguments[0], "--quiet", "--locked", *arguments[1:]]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
