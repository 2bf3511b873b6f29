"""``dump --format json`` from columns says what it says of records, whatever is in the log."""

from __future__ import annotations

import random
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkaspec.cli.commands import dump, dump_columns
from kafkaspec.codecs import codec_names
from kafkaspec.columns import reader
from kafkaspec.columns.json_lines import RANGE_BYTES, JsonLines
from kafkaspec.log import pieces
from kafkaspec.log.encoding import encode
from kafkaspec.model import Record
from tests.analysis.entries import marker_batch
from tests.analysis.forge import ABORT, COMMIT
from tests.cli.helpers import lines, run
from tests.cli.test_mutations import damage
from tests.extent import examples
from tests.goldens import GOLDEN, VERSIONS, distinct_partitions, partitions
from tests.log import forge, strategies
from tests.loops import each

pytestmark = pytest.mark.skipif("native" not in codec_names(), reason="the extension was not built")

TIME = 1_609_459_200_000
"""Of the first record of most golden segments."""
CHOICES: list[tuple[str, ...]] = [
    (),
    ("--bytes", "base64", "--from-offset", "7", "--until-offset", "90"),
    ("--log-start", "ignore", "--on-error", "raise", "--from-time", "1"),
    ("--from-time", str(TIME + 3), "--until-time", str(TIME + 40)),
    ("--until-time", str(TIME + 5), "--from-offset", "2", "--crc", "ignore"),
    ("--isolation", "read_committed"),
    ("--isolation", "read_committed", "--until-offset", "9", "--limit", "30"),
]


GOING_ON = [choice for choice in CHOICES if "raise" not in choice]
"""Those that tell what is broken, with all lines before it."""


@contextmanager
def from_records() -> Iterator[None]:
    """All lines come from records."""
    with mock.patch.object(dump_columns, "_is_plain", return_value=False):
        yield


@contextmanager
def rows_of_columns() -> Iterator[list[int]]:
    """The numbers of rows whose lines were made from columns."""
    found: list[int] = []
    of = JsonLines.of

    def counted(self: JsonLines, columns: Any, rows: int, first: int = 0) -> Iterator[memoryview]:
        found.append(rows - first)
        return of(self, columns, rows, first)

    with mock.patch.object(JsonLines, "of", counted):
        yield found


def same(*arguments: str | Path, size: int = 1500) -> tuple[int, int]:
    """Compare both ways, in one thread and in three; the lines, and those from columns."""
    command = ("dump", "--format", "json", *arguments)
    with from_records():
        expected = run(*command)
    for jobs, most in (("1", RANGE_BYTES), ("3", size)):
        with (
            mock.patch.object(dump_columns, "RANGE_BYTES", most),
            mock.patch.object(dump, "_FEW", 0),
            rows_of_columns() as rows,
        ):
            found = run(*command, "--jobs", jobs)
        assert found.stdout_bytes == expected.stdout_bytes
        assert found.stderr == expected.stderr
        assert found.exit_code == expected.exit_code
    return expected.stdout_bytes.count(b"\n"), sum(rows)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_releases(version: str) -> None:
    for choice in (CHOICES[0], *CHOICES[1 + VERSIONS.index(version) % 3 :: 3]):
        count, from_columns = same(*distinct_partitions(version), *choice)
        if choice == CHOICES[0]:
            assert count > 20
        if "--limit" not in choice:  # most of so few are in a batch that a bound divides
            assert from_columns >= count // 8


@pytest.mark.slow
@each("seed", range(examples(80)))
def test_damaged_partitions(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    source = chance.choice(partitions(chance.choice(VERSIONS)))
    partition = Path(shutil.copytree(source, tmp_path / source.name))
    for victim in sorted(partition.glob("*.log")):
        if victim.stat().st_size:
            victim.write_bytes(damage(bytearray(victim.read_bytes()), chance))
    same(partition, *chance.choice(GOING_ON), size=chance.choice([1, 200, 1500]))


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("topic", ["t", "__consumer_offsets", "__cluster_metadata"])
@each("seed", range(examples(30)))
def test_control_records_of_any_bytes(tmp_path: Path, topic: str, seed: int) -> None:
    """All types, unknown and broken ones too, among data and messages of magic 1."""
    chance = random.Random(seed)
    keys = [*(struct.pack(">hh", 0, kind) for kind in range(9)), b"\0\0\0\1x", b"\0", None]
    values = [struct.pack(">hi", 0, 7), b"\0" * 40, b"", b"\xff\xfe", None]
    sound = chance.random() < 0.6
    entries, offset = [], 0
    for _ in range(40):
        control = chance.random() < 0.6
        pairs = [(chance.choice(keys), chance.choice(values)) for _ in range(chance.choice((1, 3)))]
        if control and sound:
            pairs = [(keys[chance.randrange(2)], values[0]) for _ in pairs]
        records = [
            Record(offset + n, TIME + chance.randrange(60), *pair) for n, pair in enumerate(pairs)
        ]
        offset += len(records)
        if not control and chance.random() < 0.4:  # a message is none, whatever its key
            compression = chance.choice(("none", "gzip"))
            entries.append(encode(records, magic=1, compression=compression))
            continue
        entries.append(
            encode(
                records, magic=2, producer_id=1, producer_epoch=0, control=control,
                transactional=True, compression=chance.choice(("none", "none", "zstd")),
            )
        )  # fmt: skip
    folder = tmp_path / f"{topic}-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(b"".join(entries))
    for choice in (("--where", "timestamp > 1"), chance.choice(GOING_ON)):
        count, from_columns = same(folder, *choice, size=chance.choice((200, RANGE_BYTES)))
        if sound and "--where" in choice:
            assert from_columns >= count > 20


@pytest.mark.slow
@each("seed", range(examples(40)))
def test_bounds_that_cut_wrappers(tmp_path: Path, seed: int) -> None:
    """Also of messages whose offsets do not rise, of which the first and the last say little."""
    chance = random.Random(seed)
    magic, entries, offset = chance.randrange(2), list[bytes](), 0
    for _ in range(12):
        count = chance.randrange(1, 9)
        numbers = list(range(count))
        if chance.random() < 0.2:
            chance.shuffle(numbers)
        inner = [
            forge.legacy(n if magic else offset + n, b"v", magic=magic, timestamp=TIME + n)
            for n in numbers
        ]
        if chance.random() < 0.2:
            entries.append(forge.legacy(offset + count - 1, b"alone", magic=magic, timestamp=TIME))
        else:
            last = offset + (numbers[-1] if magic else count - 1)
            entries.append(forge.wrapper(last, inner, magic=magic, timestamp=TIME))
        offset += count
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(b"".join(entries))
    bounds = sorted(chance.randrange(offset + 3) for _ in range(2))
    choice = ("--from-offset", str(bounds[0]), "--until-offset", str(bounds[1]))
    chosen = chance.choice(
        [choice, choice[:2], choice[2:], (*choice, "--from-time", str(TIME + 2))]
    )
    count, from_columns = same(folder, *chosen, size=chance.choice((100, RANGE_BYTES)))
    if "--from-time" not in chosen:
        assert from_columns > count // 2 or count < 3


@pytest.mark.slow
def test_large_batches_and_long_strings(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.log"
    made = Record(0, 5, b"\xff" * 3_000_000, b'"\n' * 700_000, ())
    path.write_bytes(
        encode([made], compression="zstd")
        + encode([made._replace(offset=offset) for offset in range(1, 4)])
        + encode([made._replace(offset=5, key=None, value=b"")])
    )
    assert same(path) == (5, 5)  # a large batch comes in pieces


@pytest.mark.slow
def test_reading_ends_at_an_offset(tmp_path: Path) -> None:
    """Nothing after the batch that reaches it is read, as nothing was."""
    sound = [forge.batch(10 * n, [forge.record(0, b"v")], last_offset_delta=9) for n in range(6)]
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(b"".join(sound) + b"\0" * 40 + b"broken")
    for until in range(0, 70, 5):
        same(path, "--until-offset", str(until), size=1)
        same(path, "--from-offset", str(until), size=1)


@pytest.mark.slow
def test_a_small_limit_takes_records(tmp_path: Path) -> None:
    path = GOLDEN / VERSIONS[-1] / "logs"
    with rows_of_columns() as rows:
        some = run("dump", "--format", "json", "--limit", "10", path)
    assert not rows
    assert run("dump", "--format", "json", path).stdout_bytes.startswith(some.stdout_bytes)


@pytest.mark.slow
def test_a_limit_ends_anywhere(tmp_path: Path) -> None:
    """In a batch or after one, before what is broken or missing; the rest is not looked at."""
    made = [forge.record(number, b"v") for number in range(3)]
    first = forge.batch(0, made, last_offset_delta=4)  # two offsets without records
    second = forge.batch(5, made, last_offset_delta=2)
    broken = bytearray(forge.batch(8, made))
    broken[-1] ^= 1
    partition = tmp_path / "t-0"
    partition.mkdir()
    (partition / f"{0:020}.log").write_bytes(first + second + bytes(broken))
    (partition / f"{20:020}.log").write_bytes(forge.batch(20, made))
    for limit in range(12):
        same(partition, "--limit", str(limit))
        same(partition, "--limit", str(limit), "--crc", "ignore", "--from-time", "0")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(examples(20)))
def test_times_that_go_back_and_forth(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    parts = []
    for number in range(20):
        times = [chance.choice([-1, *range(100)]) for _ in range(chance.randrange(1, 6))]
        offset = 10 * number
        records = [Record(offset + n, time, None, b"v", ()) for n, time in enumerate(times)]
        magic = chance.randrange(1, 3)
        parts.append(encode(records, magic=magic, compression=chance.choice(["none", "lz4"])))
        if chance.random() < 0.2:
            parts.append(marker_batch(offset + 8, chance.choice([ABORT, COMMIT])))
        if chance.random() < 0.1:
            parts[-1] = parts[-1][:-1] + b"?"
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(b"".join(parts))
    for _ in range(6):
        bounds = [("--from-time", "--until-time")[n] for n in range(2) if chance.random() < 0.8]
        same(path, *(item for name in bounds for item in (name, str(chance.randrange(100)))))


@pytest.mark.slow
def test_urls(tmp_path: Path) -> None:
    """They are read in one pass, and what follows a broken entry is read too."""
    files = pytest.importorskip("fsspec").filesystem("memory")
    for seed in range(examples(30)):
        chance = random.Random(seed)
        source = chance.choice(partitions(chance.choice(VERSIONS)))
        for path in source.iterdir():
            data = bytearray(path.read_bytes())
            if seed and path.suffix == ".log" and data:
                data = bytearray(damage(data, chance))
            files.pipe_file(f"/dump/{source.name}/{path.name}", bytes(data))
        count, from_columns = same(f"memory://dump/{source.name}", *chance.choice(GOING_ON[:-2]))
        assert seed or from_columns > count // 4
        files.rm("/dump", recursive=True)


@pytest.fixture
def _all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of more than a few bytes are large."""
    for module in (reader, pieces):
        monkeypatch.setattr(module, "PIECE_BYTES", 60)
    monkeypatch.setattr(reader, "WHOLE_BYTES", 200)
    monkeypatch.setattr(dump_columns, "WHOLE_BYTES", 200)


@pytest.mark.slow
@pytest.mark.usefixtures("_all_are_large")
@each("choice", CHOICES)
def test_large_batches(choice: tuple[str, ...]) -> None:
    """They come in pieces of columns, unless only some of their records are wanted."""
    count, from_columns = same(*partitions(VERSIONS[-1]), *choice)
    if choice == ():
        assert from_columns > count // 2 > 100


@pytest.mark.slow
@pytest.mark.usefixtures("_all_are_large")
@each("seed", range(examples(40)))
def test_damaged_large_batches(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    source = chance.choice(partitions("4.3.1"))
    partition = Path(shutil.copytree(source, tmp_path / source.name))
    for victim in sorted(partition.glob("*.log")):
        if victim.stat().st_size:
            victim.write_bytes(damage(bytearray(victim.read_bytes()), chance))
    same(partition, *chance.choice(GOING_ON))
