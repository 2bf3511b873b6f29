"""Large batches are read in pieces: the same records and errors, in little memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.codecs import codec_names
from kafkaspec.log import pieces
from tests.log import forge, grown

MEBIBYTE = 1 << 20

# The largest resident size of getrusage is that of the parent where it was larger.
_HELD = """
def held():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
"""
_COUNT = f"""
import sys
import kafkaspec as ks
{_HELD}
def run(path):
    try:
        return eval(sys.argv[1])(path)
    except ks.KafkaSpecError as error:
        return error.reason
run(sys.argv[2])  # all modules are loaded before memory is counted
before = held()
print(run(sys.argv[3]), held() - before)
"""


def grown_by(tmp_path: Path, what: str, data: bytes) -> tuple[str, int]:
    """Run an expression in a process of its own; its result, and by how much its memory grew."""
    small, large = tmp_path / "small.log", tmp_path / "large.log"
    small.write_bytes(grown.records(1000))
    large.write_bytes(data)
    run = subprocess.run(
        [sys.executable, "-c", _COUNT, what, small, large],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    found, size = run.stdout.rsplit(maxsplit=1)
    return found, int(size)


RECORDS = "lambda path: sum(1 for _ in ks.open(path).records())"
BATCHES = "lambda path: sum(1 for b in ks.open(path).batches() for _ in b.records())"

_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="VmHWM in /proc/self/status")


def measured(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test of what ``grown_by`` returns."""
    marked: Callable[..., None] = pytest.mark.memory(_LINUX(test))
    return marked


@pytest.mark.slow
@measured
@pytest.mark.parametrize("what", [RECORDS, BATCHES], ids=["segment", "batch"])
def test_millions_of_records_of_a_few_bytes(tmp_path: Path, what: str) -> None:
    """3 million records were 400 MiB of objects."""
    found, size = grown_by(tmp_path, what, grown.records(3_000_000))
    assert found == "3000000"
    assert size < 128 * MEBIBYTE


@pytest.mark.slow
@measured
@pytest.mark.parametrize("count", [5_000_000, 120_000_000])
def test_millions_of_headers_are_an_error(tmp_path: Path, count: int) -> None:
    found, size = grown_by(tmp_path, RECORDS, grown.headers(count))
    assert found == ks.Reason.TOO_LARGE
    assert size < 128 * MEBIBYTE


@pytest.mark.core
def test_the_limit_of_headers_in_every_codec() -> None:
    """As many as there may be are read; one more is an error with its place.

    Only C reads so many in a moment.
    """
    for codec in codec_names():
        if codec == "native":
            (record,) = ks.decode(grown.headers(pieces.MOST_HEADERS), codec=codec)
            assert len(record.headers) == pieces.MOST_HEADERS, codec
        with pytest.raises(ks.KafkaSpecError) as raised:
            list(ks.decode(grown.headers(pieces.MOST_HEADERS + 1), codec=codec))
        assert raised.value.reason is ks.Reason.TOO_LARGE, codec
        assert raised.value.path == "/message/content/records/records/0/body/num_headers", codec
        assert raised.value.spec == "recordbatch.ksy#/types/record/seq/5", codec
        assert (raised.value.position, raised.value.inner_position) == (61, 9), codec


def wanted(segment: bytes, codec: str) -> object:
    """The records of a segment, or the error of reading them, by what identifies it."""
    try:
        return list(ks.decode(segment, codec=codec))
    except ks.KafkaSpecError as error:
        return (
            error.reason,
            error.position,
            error.inner_position,
            error.path,
            error.spec,
            str(error),
        )


RECORDS_OF_ALL_SIZES = [
    forge.record(
        number,
        bytes([number % 251]) * size,
        key=None if number % 3 else b"k" * (number % 40),
        headers=[(b"h", None)] * (number % 5),
    )
    for number, size in enumerate([*range(0, 900, 31), 5000, 3, 7000, 1, 2, 4095, 4096, 4097])
]

CASES: dict[str, Callable[[], bytes]] = {
    "whole": lambda: forge.batch(7, RECORDS_OF_ALL_SIZES),
    "compressed": lambda: grown.records(300),
    "too few records": lambda: grown.records(300, said=301),
    "bytes after the last record": lambda: grown.records(300, tail=b"\0" * 700),
    "a record cut": lambda: grown.records(300, said=301, tail=forge.record(1, b"x" * 90)[:50]),
    "a record broken": lambda: grown.records(200, said=300, tail=b"\x02\0" + b"\0" * 900),
    "a varint without end": lambda: grown.records(200, said=300, tail=b"\xff" * 900),
    "a record too long": lambda: forge.batch(0, [*RECORDS_OF_ALL_SIZES, b"\xfe\xff\xff\xff\x0f"]),
    "not to be decompressed": lambda: cut(grown.records(300)),
}


def cut(batch: bytes) -> bytes:
    """The batch without the last bytes of its payload, with a right checksum."""
    payload = batch[61:-9]
    return forge.batch(0, payload, count=300, attributes=grown.ZSTD, last_offset_delta=299)


@pytest.mark.core
def test_pieces_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records and errors do not depend on the size of a piece, in any codec."""
    for name, made in CASES.items():
        segment = made()
        for codec in codec_names():
            whole = wanted(segment, codec)
            for size in (64, 700):
                with monkeypatch.context() as patch:
                    patch.setattr(pieces, "PIECE_BYTES", size)
                    for held in (size, 1 << 20):
                        patch.setattr("kafkaspec.log.batch.HELD_BYTES", held)
                        patch.setattr("kafkaspec.log.default.PIECE_BYTES", size)
                        patch.setattr("kafkaspec.log.segment.WHOLE_BYTES", size)
                        assert wanted(segment, codec) == whole, (name, codec, size, held)


def test_records_are_a_sequence() -> None:
    plain = [ks.Record(number, 0, None, None) for number in range(9)]
    records = pieces.Records(9, lambda: iter([plain[:3], [], plain[3:7], plain[7:]]))
    assert list(records) == list(records) == plain
    for index in (0, 4, 4, 8, 2, -1, -9):
        assert records[index] == plain[index]
    for part in (slice(2, 5), slice(None, None, 2), slice(-3, None), slice(None, None, -1)):
        assert records[part] == plain[part]
    with pytest.raises(IndexError):
        records[9]


@pytest.mark.slow
@measured
def test_dump_writes_a_large_batch_as_it_reads(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(grown.records(600_000))
    script = f"""
import sys
{_HELD}
sys.argv[1:] = ["dump", "--format", "json", {str(path)!r}]
sys.stdout = open("/dev/null", "w")
from kafkaspec.cli.main import main
try:
    main()
finally:
    sys.stderr.write(str(held()))
"""
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=100
    )
    assert run.returncode == 0
    assert int(run.stderr) < 224 * MEBIBYTE


@pytest.mark.slow
@measured
def test_millions_of_messages_in_a_wrapper(tmp_path: Path) -> None:
    """A payload of 34 MB, the last message may be cut; its messages were 3 GB of objects."""
    for surplus in (b"", forge.legacy(0, None)[:-1]):
        data = grown.wrapper(1_000_000, surplus=surplus)
        found, size = grown_by(tmp_path, RECORDS, data)
        assert found == "1000000"
        assert size < 64 * MEBIBYTE


@pytest.mark.slow
@measured
def test_millions_of_control_records(tmp_path: Path) -> None:
    first = "lambda path: next(ks.open(path).batches()).marker() is not None"
    found, size = grown_by(tmp_path, first, grown.markers(1_000_000))
    assert found == "True"
    assert size < 64 * MEBIBYTE
    each = "lambda path: sum(c.key.type for c in next(ks.open(path).batches()).control_records())"
    found, size = grown_by(tmp_path, each, grown.markers(100_000))
    assert found == "100000"
    assert size < 64 * MEBIBYTE


def test_a_record_set_of_typed_objects_has_a_limit() -> None:
    data = grown.records(pieces.MOST_RECORDS + 1)
    batch = next(ks.Segment(data).batches())
    with pytest.raises(ks.KafkaSpecError, match="more than 1048576 records") as raised:
        batch.record_set()  # type: ignore[attr-defined]
    assert raised.value.reason is ks.Reason.TOO_LARGE


@pytest.mark.slow
def test_wrappers_in_pieces_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every codec, with and without the fast path, reads the same records and errors."""
    inner = [forge.legacy(n, b"v" * (n % 9), key=b"k", timestamp=1000 + n) for n in range(90)]
    older = forge.legacy(90, b"", magic=0)
    nested = forge.wrapper(90, [forge.legacy(0, b"")])
    broken = forge.legacy(90, b"", crc=1)
    for name, segment in {
        "regular": forge.wrapper(189, inner),
        "append time": forge.wrapper(189, inner, attributes=forge.LOG_APPEND_TIME),
        "absolute": forge.wrapper(89, inner, magic=0),
        "other magic": forge.wrapper(190, [*inner, older], attributes=forge.LOG_APPEND_TIME),
        "cut": forge.wrapper(189, inner, cut=5),
        "nested": forge.wrapper(190, [*inner, nested]),
        "broken": forge.wrapper(190, [*inner, broken]),
        "below its last": forge.wrapper(50, inner),
        "empty": forge.wrapper(50, []),
    }.items():
        whole = wanted(segment, "python")
        for size in (1 << 21, 100):
            with monkeypatch.context() as patch:
                patch.setattr("kafkaspec.log.legacy.PIECE_BYTES", size)
                patch.setattr("kafkaspec.log.legacy._AT_ONCE", 7)
                for codec in codec_names():
                    assert wanted(segment, codec) == whole, (name, size, codec)


VERIFY = "lambda path: ks.verify(path).files[0].records"


@pytest.mark.slow
@measured
def test_verify_reads_a_large_batch_in_pieces(tmp_path: Path) -> None:
    found, size = grown_by(tmp_path, VERIFY, grown.records(2_000_000))
    assert found == "2000000"
    assert size < 128 * MEBIBYTE


@pytest.mark.core
def test_verify_compares_codecs_on_a_large_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafkaspec.log.default.PIECE_BYTES", 500)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 500)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(forge.batch(0, [forge.record(n, b"v") for n in range(300)]))
    report = ks.verify(path, codec="all")
    assert {finding.reason for finding in report.findings} == {"missing_index"}
    assert report.files[0].records == 300


def test_the_core_has_the_same_limit_of_headers() -> None:
    native = pytest.importorskip("kafkaspec._native", reason="the extension was not built")
    assert native.MOST_ITEMS == pieces.MOST_HEADERS
