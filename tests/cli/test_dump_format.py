"""``dump --format STRING`` shows what kcat shows: by the rules of its format.c, from records."""

from __future__ import annotations

from array import array
from itertools import accumulate
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kafkaspec as ks
from kafkaspec.cli.commands import dump, dump_columns
from kafkaspec.cli.commands.dump_format import FormatString
from kafkaspec.codecs import codec_names
from kafkaspec.columns.json_lines import LineForm, Lines, pairs
from tests.cli.helpers import golden, run
from tests.cli.test_dump_columns import from_records
from tests.columns.test_json_lines import offsets_of, views_of
from tests.extent import examples
from tests.goldens import VERSIONS, distinct_partitions
from tests.log import forge, strategies
from tests.loops import each

EVERYTHING = r"%t[%p]@%o,%T|%K:%k|%S:%R%s|%h%%\n"


def kcat(topic: str, partition: int, record: ks.Record) -> bytes:
    """What ``fmt_msg_output_str`` of kcat prints for ``EVERYTHING``."""
    key, value = record.key, record.value
    key_size, size = (-1 if data is None else len(data) for data in (key, value))
    headers = b",".join(
        b"%s=%s" % (name.encode("utf-8", "surrogateescape"), b"NULL" if data is None else data)
        for name, data in record.headers
    )
    return b"".join((
        topic.encode(), b"[%d]@%d,%d|" % (partition, record.offset, record.timestamp),
        b"%d:%s|%d:" % (key_size, key or b"", size), (size & 0xFFFFFFFF).to_bytes(4, "big"),
        value or b"", b"|", headers, b"%\n",
    ))  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("version", [VERSIONS[0], VERSIONS[len(VERSIONS) // 2], VERSIONS[-1]])
def test_every_letter_of_every_log_of_a_release(version: str) -> None:
    for path in distinct_partitions(version):
        topic, _, number = path.name.rpartition("-")
        with ks.Partition(path) as partition:
            expected = [kcat(topic, int(number), each) for each in partition.records()]
        command = ("dump", "-f", EVERYTHING, "--log-start", "ignore", path)
        assert run(*command).stdout_bytes == b"".join(expected)
        with from_records():
            assert run(*command).stdout_bytes == b"".join(expected)
        assert run(*command, "--limit", "3").stdout_bytes == b"".join(expected[:3])


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["plain-0", "compacted-transactions-0", "codec-mixed-0", "segments-0"]
)
@pytest.mark.parametrize("where", [(), ("--where", "key is not null"), ("--from-offset", "2")])
def test_a_limit_leaves_out_the_rest(name: str, where: tuple[str, ...]) -> None:
    """From columns and from records, of a partition and of a file."""
    partition = golden("4.3.1", name)
    for path in (partition, min(partition.glob("*.log"))):
        command: list[str | Path] = ["dump", "--format", r"%o %S\0", *where, path]
        texts = run(*command).stdout_bytes.split(b"\0")[:-1]
        for limit in sorted({0, 1, 2, len(texts) // 2, len(texts), len(texts) + 1}):
            expected = b"".join(text + b"\0" for text in texts[:limit])
            for few in (0, 1 << 13):
                with mock.patch.object(dump, "_FEW", few):
                    found = run(*command, "--limit", str(limit))
                assert (found.stdout_bytes, found.exit_code) == (expected, 0), found.output


@pytest.mark.slow
@settings(max_examples=examples(30), deadline=None)
@given(strategies.records(2, least=1), st.integers(1, 500))
def test_random_records(
    tmp_path_factory: pytest.TempPathFactory, records: list[ks.Record], size: int
) -> None:
    path = tmp_path_factory.mktemp("format") / "a.b-c-7" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(ks.encode(records, magic=2))
    with mock.patch.object(dump_columns, "RANGE_BYTES", size):
        found = run("dump", "--format", EVERYTHING, path, "--jobs", "2")
    assert found.stdout_bytes == b"".join(kcat("a.b-c", 7, record) for record in records)


@pytest.mark.slow
@pytest.mark.skipif("native" not in codec_names(), reason="the extension was not built")
def test_long_and_null_bytes_with_little_room() -> None:
    from kafkaspec.codecs.native.core import load_core

    core = load_core()
    values = [None, b"", b"x" * 11, b"\xff\0" * 40, b"y" * 3_000_000, b"%", None]
    headers = [[(b"k" * size, value)] * size for size, value in enumerate(values)]
    flat = [pair for row in headers for pair in row]
    ends = array("i", accumulate(map(len, headers), initial=0))
    forms = (LineForm.RAW, LineForm.RAW, LineForm.SIZE32, LineForm.EQUATED)
    plan = [(b"<", 0, (b"none",) if n == 1 else (), form) for n, form in enumerate(forms)]
    expected = b"".join(
        b"<%s<%s<%s<%s"
        % (
            value or b"",
            b"none" if value is None else value,
            (-1 if value is None else len(value)).to_bytes(4, "big", signed=True),
            b",".join(b"%s=%s" % (k, b"NULL" if v is None else v) for k, v in row),
        )
        for value, row in zip(values, headers, strict=True)
    )
    for make in (offsets_of, views_of):
        column = make(values)
        lists = pairs(ends, len(flat), make([k for k, _ in flat]), make([v for _, v in flat]))
        lines = Lines(core, plan)
        assert b"".join(lines.of([column, column, column, lists], len(values))) == expected


@each(
    "text, expected",
    [
        (r"a\tb\nc\rd", b"a\tb\nc\rd"),
        (r"\x41\x7e\xffz", b"A~\xffz"),
        (r"\0\012\65\0101", b"\0\nA\b1"),  # octal after a zero, else decimal, as strtoul reads
        (r"\x09data", b"\tdata"),  # two digits at most
        (r"\\n\q\xg", b"\\nqxg"),
        ("ä%%\\", "ä%\\".encode()),
        ("%%n", b"%n"),
    ],
)
def test_escapes(text: str, expected: bytes) -> None:
    parts = FormatString.parse(text).parts
    assert b"".join(part for part in parts if isinstance(part, bytes)) == expected


def test_what_a_consumer_does_not_get(tmp_path: Path) -> None:
    """Control records, and what cannot be read, which is named all the same."""
    path = golden("4.3.1", "transactions-0")
    found = run("dump", "-f", "%o ", path)
    with ks.Partition(path) as partition:
        offsets = [record.offset for record in partition.records()]
    assert [int(offset) for offset in found.stdout.split()] == offsets
    log = tmp_path / f"{0:020}.log"
    whole = forge.batch(0, [forge.record(0, b"one")]) + forge.batch(1, [forge.record(0, b"two")])
    log.write_bytes(whole[:-1] + b"X")
    found = run("dump", "-f", "%t%p %s;", log)
    assert (found.stdout, found.exit_code) == ("-1 one;", 1)
    assert "crc" in found.stderr.lower()


@each(
    "arguments, message",
    [
        (("-f", "%"), "there is no % in a format string"),
        (("-f", "%o%J"), "there is no %J"),
        (("-f", "offset"), "it has no %"),
        (("-f", "%o" * 129), "128 parts at most"),
        (("-f", "%o", "--batches"), "without --batches"),
        (("-f", "%o", "--print-data-log"), "--format kafka"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], message: str) -> None:
    found = run("dump", *arguments, golden("4.3.1", "headers-0"))
    assert found.exit_code == 2
    assert message in " ".join(found.stderr.replace("│", "").split())
