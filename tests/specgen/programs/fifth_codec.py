"""Read and write payloads of a codec that only the specification names. Run by test_drafts.py.

Its argument is ``without``, ``given`` (a library that the program registers), ``installed`` (one
that a package registers) or ``spark`` (the same, with Spark).
"""

from __future__ import annotations

import bz2
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import kafkaspec as ks
from kafkaspec import compression
from kafkaspec.checksum import crc32c
from kafkaspec.cli.main import main
from kafkaspec.codecs.installed import codec_names
from kafkaspec.jobs import in_processes
from tests.specgen.programs import stand_in
from tests.specgen.programs.checks import run

NAME = "brotli"
NUMBER = 5
CODECS = codec_names()
TIME = 1_700_000_000_000
MISSING = f"there is no library for {NAME} (compression id {NUMBER}): install a package with the"
HELD = [ks.Record(n, TIME + n, b"k%d" % (n % 3), b"v%040d" % n, (("h", b"1"),)) for n in range(12)]


def command(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(main, [str(item) for item in arguments])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert "unknown(" not in done.output, done.output
    assert "Traceback" not in done.output, done.output
    return done.exit_code, done.output


def ran(*arguments: object) -> str:
    code, text = command(*arguments)
    assert code == 0, (arguments, text)
    return text


def log(root: Path, data: bytes) -> Path:
    path = root / "logs" / "t-0"
    path.mkdir(parents=True)
    (path / f"{0:020}.log").write_bytes(data)
    return path


def stored(root: Path) -> Path:
    """Batches whose payloads an independent library made, between others."""
    made = b""
    for start, name in ((0, "gzip"), (3, NAME), (6, "none"), (9, NAME)):
        held = HELD[start : start + 3]
        if name != NAME:
            made += ks.encode(held, compression=name)
            continue
        (plain,) = ks.Segment(ks.encode(held)).batches()
        payload = bz2.compress(bytes(plain.payload or b""))
        entry = bytearray(ks.encode(held)[: plain.payload_position] + payload)
        entry[8:12] = (len(entry) - 12).to_bytes(4, "big")
        entry[22] |= NUMBER
        entry[17:21] = crc32c(entry[21:]).to_bytes(4, "big")
        made += entry
    return log(root, made)


def everything_that_reads_says_what_is_missing(root: Path) -> None:
    path = stored(root)
    for codec in CODECS:
        with ks.Partition(path, codec=codec) as found:
            assert [b.compression_name for b in found.batches()] == ["gzip", NAME, "none", NAME]
            for read in (lambda p: list(p.records()), lambda p: p.to_arrow()):
                with pytest.raises(ks.UnsupportedError) as raised:
                    read(found)
                assert MISSING in str(raised.value)
                assert raised.value.reason is ks.Reason.UNSUPPORTED_COMPRESSION
            skipped = found.to_arrow(["offset"], on_error="skip")
            assert skipped["offset"].to_pylist() == [0, 1, 2, 6, 7, 8]
        code, text = command("verify", "--codec", codec, path)
        assert (code, MISSING in text) == (1, True), text
    with pytest.raises(ks.UnsupportedError, match=NAME):
        ks.encode(HELD, compression=NAME)
    headers = ran("dump", "--batches", "--format", "json", path).splitlines()
    assert [json.loads(line)["compression"] for line in headers] == ["gzip", NAME, "none", NAME]
    out = root / "out"
    out.mkdir()
    for words in (
        ("dump", path), ("export", path, "-o", root / "x.parquet"), ("stats", path),
        ("convert", path, "-o", out / "plain-0", "--compression", "none"),
        ("convert", path, "-o", out / "coded-0", "--compression", NAME),
        ("redact", path, "-o", out / "redacted-0", "--key", "k1"),
    ):  # fmt: skip
        code, text = command(*words)
        assert (code > 0, MISSING in text) == (True, True), (words, code, text)


def everything_reads_and_writes_it(root: Path) -> None:
    path = stored(root)
    for codec in CODECS:
        with ks.Partition(path, codec=codec) as found:
            assert list(found.records()) == HELD, codec
            rows = found.to_arrow(["offset", "key", "value", "compression"]).to_pylist()
        assert [(r["offset"], r["key"], r["value"]) for r in rows] == [
            (r.offset, r.key, r.value) for r in HELD
        ], codec
        assert {r["compression"] for r in rows} == {"gzip", NAME, "none"}
        ran("verify", "--codec", codec, path)
        written = ks.encode(HELD, compression=NAME, codec=codec)
        (made,) = ks.Segment(written, codec=codec).batches()
        (plain,) = ks.Segment(ks.encode(HELD, codec=codec)).batches()
        assert bz2.decompress(made.payload or b"") == bytes(plain.payload or b""), codec
        assert ks.decode(written, codec=codec) == HELD, codec
    ran("verify", "--codec", "all", path)
    lines = ran("dump", "--format", "json", path).splitlines()
    assert [json.loads(line)["offset"] for line in lines] == list(range(12))
    assert NAME in ran("stats", path)
    ran("explain", path / f"{0:020}.log", "--offset", "4")
    for name in (NAME, "none", "zstd"):
        out = root / f"{name}-0"
        ran("convert", path, "-o", out, "--compression", name)
        with ks.Partition(out) as found:
            assert {batch.compression_name for batch in found.batches()} == {name}
            assert list(found.records()) == HELD
        ran("verify", "--codec", "all", out)
    ran(
        "convert", path, "-o", root / "regrouped-0", "--batch-bytes", "10000", "--compression", NAME
    )
    with ks.Partition(root / "regrouped-0") as found:
        (batch,) = found.batches()
        assert batch.compression_name == NAME
        assert list(found.records()) == HELD
    ran("export", path, "-o", root / "x.jsonl")
    ran("redact", path, "-o", root / "redacted-0", "--key", "k1")
    with ks.Partition(root / "redacted-0") as found:
        left = {record.value for record in found.records()}
    assert left & {r.value for r in HELD} == {r.value for r in HELD if r.key != b"k1"}


def other_processes_have_it(root: Path) -> None:
    parts = [b"a" * 400, b"b" * 500]
    found = list(in_processes(stand_in.packed, parts, 2))
    assert [bz2.decompress(payload) for payload in found] == parts


def wrappers_do_not_hold_it(root: Path) -> None:
    for magic in (0, 1):
        with pytest.raises(ks.UnsupportedError, match=f"{NAME} is not allowed in magic {magic}"):
            ks.encode([ks.Record(0, -1, None, b"v")], magic=magic, compression=NAME)


def hostile_payloads_are_refused(root: Path) -> None:
    path = log(root, ks.encode(HELD, compression=NAME))
    file = path / f"{0:020}.log"
    whole = file.read_bytes()
    for codec in CODECS:
        with (
            ks.Partition(path, codec=codec, max_output=50) as found,
            pytest.raises(ks.CorruptError) as raised,
        ):
            list(found.records())
        assert raised.value.reason is ks.Reason.DECOMPRESSED_TOO_LARGE
        for damaged in (whole[:61] + b"BZh9junk", whole[:-9]):
            entry = bytearray(damaged)
            entry[8:12] = (len(entry) - 12).to_bytes(4, "big")
            entry[17:21] = crc32c(entry[21:]).to_bytes(4, "big")
            for read in (lambda s: list(s.records()), lambda s: s.to_arrow()):
                with pytest.raises(ks.CorruptError, match=NAME) as raised:
                    read(ks.Segment(bytes(entry), codec=codec))
                assert raised.value.reason is ks.Reason.DECOMPRESSION_FAILED


def registering_refuses_what_cannot_be(root: Path) -> None:
    given: dict[str, Any] = {"compress": stand_in.compress, "decompress": stand_in.decompress}
    for name in ("gzip", "none"):
        with pytest.raises(ValueError, match="without another library"):
            compression.register(name, **given)
    with pytest.raises(ValueError, match=f"no codec 'brot'; the specification has none, .*{NAME}"):
        compression.register("brot", **given)
    with pytest.raises(ValueError, match="functions of a module"):
        compression.register(NAME, compress=lambda data, level: b"", decompress=stand_in.decompress)


def spark_reads_and_writes_it(root: Path) -> None:
    import kafkaspec.spark
    from tests.spark.session import session

    path = stored(root)
    with tempfile.TemporaryDirectory() as place:
        spark = session(Path(place))
        try:
            rows = kafkaspec.spark.read(spark, str(path.parent), includeBatch=True)
            found = sorted(rows.select("offset", "value", "compression").collect())
            assert [(r.offset, bytes(r.value)) for r in found] == [
                (r.offset, r.value) for r in HELD
            ]
            assert {r.compression for r in found} == {"gzip", NAME, "none"}
            out = root / "written"
            frame = rows.select("key", "value").coalesce(1)
            frame.write.format("kafkasegment").option("topic", "w").option(
                "compression", NAME
            ).mode("append").save(str(out))
        finally:
            spark.stop()
    batches = list(ks.open(out).batches())
    assert {b.compression_name for b in batches} == {NAME}
    assert {r.value for r in ks.open(out).records()} == {r.value for r in HELD}


WITH = (
    everything_reads_and_writes_it,
    other_processes_have_it,
    wrappers_do_not_hold_it,
    hostile_payloads_are_refused,
    registering_refuses_what_cannot_be,
)
CHECKS = {
    "without": (everything_that_reads_says_what_is_missing, wrappers_do_not_hold_it),
    "given": WITH,
    "installed": WITH,
    "spark": (spark_reads_and_writes_it,),
}

if __name__ == "__main__":
    (how,) = sys.argv[1:]
    if how == "given":
        compression.register(NAME, compress=stand_in.compress, decompress=stand_in.decompress)
    run(CHECKS[how])
