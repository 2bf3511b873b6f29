"""``dump --format json`` from columns says what it says of records, whatever is in the log."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkaspec.cli import dump_columns
from kafkaspec.codecs import codec_names
from kafkaspec.columns.json_lines import JsonLines
from kafkaspec.log.encoding import encode
from kafkaspec.model import Record
from tests.cli.helpers import lines, run
from tests.cli.test_mutations import damage
from tests.extent import examples
from tests.goldens import GOLDEN, VERSIONS, partitions
from tests.log import forge, strategies
from tests.loops import each

pytestmark = pytest.mark.skipif("native" not in codec_names(), reason="the extension was not built")

CHOICES: list[tuple[str, ...]] = [
    (),
    ("--bytes", "base64", "--from-offset", "7", "--until-offset", "90"),
    ("--log-start", "ignore", "--on-error", "fail", "--from-time", "1"),
]


@contextmanager
def from_records() -> Iterator[None]:
    """All lines come from records, as those of URLs do."""
    with mock.patch.object(dump_columns, "_is_plain", return_value=False):
        yield


@contextmanager
def rows_of_columns() -> Iterator[list[int]]:
    """The numbers of rows whose lines were made from columns."""
    found: list[int] = []
    of = JsonLines.of

    def counted(self: JsonLines, columns: Any, rows: int) -> Iterator[memoryview]:
        found.append(rows)
        return of(self, columns, rows)

    with mock.patch.object(JsonLines, "of", counted):
        yield found


def same(*arguments: str | Path, size: int = 1500) -> tuple[int, int]:
    """Compare both ways, in one thread and in three; the lines, and those from columns."""
    command = ("dump", "--format", "json", *arguments)
    with from_records():
        expected = run(*command)
    for jobs, most in (("1", dump_columns._RANGE), ("3", size)):
        with mock.patch.object(dump_columns, "_RANGE", most), rows_of_columns() as rows:
            found = run(*command, "--jobs", jobs)
        assert found.stdout_bytes == expected.stdout_bytes
        assert found.stderr == expected.stderr
        assert found.exit_code == expected.exit_code
    return expected.stdout_bytes.count(b"\n"), sum(rows)


@pytest.mark.parametrize("version", VERSIONS)
def test_releases(version: str) -> None:
    for choice in CHOICES:
        count, from_columns = same(GOLDEN / version / "logs", *choice)
        if "--from-time" not in choice:
            assert count > 100
            assert from_columns > count // 4


@each("seed", range(examples(80)))
def test_damaged_partitions(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    source = chance.choice(partitions(chance.choice(VERSIONS)))
    partition = Path(shutil.copytree(source, tmp_path / source.name))
    for victim in sorted(partition.glob("*.log")):
        if victim.stat().st_size:
            victim.write_bytes(damage(bytearray(victim.read_bytes()), chance))
    same(partition, *chance.choice(CHOICES[:2]), size=chance.choice([1, 200, 1500]))


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(
        st.sampled_from([0, 1, 2]).flatmap(
            lambda magic: st.tuples(
                st.just(magic),
                st.sampled_from(["none", "gzip", "snappy", "lz4"]),
                strategies.records(magic, least=1),
            )
        ),
        max_size=4,
    ),
    st.integers(1, 500),
)
def test_records(
    tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[int, str, Any]], size: int
) -> None:
    path = tmp_path_factory.mktemp("dump") / f"{0:020}.log"
    path.write_bytes(
        b"".join(
            encode(records, magic=magic, compression=compression)
            for magic, compression, records in parts
        )
    )
    count, _ = same(path, size=size)
    assert count == sum(len(records) for _, _, records in parts)


def test_negative_sequences_and_unknown_numbers(tmp_path: Path) -> None:
    made = [forge.record(0, b"v"), forge.record(1, b"v")]
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(
        b"".join(
            forge.batch(10 * number, made, producer=(7, 0, sequence), attributes=flags)
            for number, (sequence, flags) in enumerate(
                [(-1, 0), (-2, 0), (2**31 - 1, 0x10), (5, 0x08), (0, 0x05), (0, 0x20), (3, 0x40)]
            )
        )
    )
    same(path)
    found = lines(run("dump", "--format", "json", path))
    assert [item["sequence"] for item in found][:6] == [-1, -1, -1, -1, 2**31 - 1, 0]


def test_large_batches_and_long_strings(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.log"
    made = Record(0, 5, b"\xff" * 3_000_000, b'"\n' * 700_000, ())
    path.write_bytes(
        encode([made], compression="zstd")
        + encode([made._replace(offset=offset) for offset in range(1, 4)])
        + encode([made._replace(offset=5, key=None, value=b"")])
    )
    assert same(path) == (5, 2)


def test_reading_ends_at_an_offset(tmp_path: Path) -> None:
    """Nothing after the batch that reaches it is read, as nothing was."""
    sound = [forge.batch(10 * n, [forge.record(0, b"v")], last_offset_delta=9) for n in range(6)]
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(b"".join(sound) + b"\0" * 40 + b"broken")
    for until in range(0, 70, 5):
        same(path, "--until-offset", str(until), size=1)
        same(path, "--from-offset", str(until), size=1)


def test_limit_takes_records(tmp_path: Path) -> None:
    path = GOLDEN / VERSIONS[-1] / "logs"
    with rows_of_columns() as rows:
        some = run("dump", "--format", "json", "--limit", "10", path)
    assert not rows
    assert run("dump", "--format", "json", path).stdout_bytes.startswith(some.stdout_bytes)
