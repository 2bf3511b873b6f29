"""Use a format that was changed in place through everything that is public. Run by test_public.py.

Each function is a check; the program says which failed and why.
"""

from __future__ import annotations

import ast
import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import kafkaspec as ks
from kafkaspec import compression
from kafkaspec.cli.main import main
from kafkaspec.codecs import codec_names, get_codec
from kafkaspec.compression import CompressionType
from kafkaspec.files.indexes import OffsetIndex, TimeIndex
from kafkaspec.layout.kinds import KINDS, MAGICS
from kafkaspec.writing.editing import with_payload
from tests.specgen.programs.checks import run

CODECS = codec_names()
OWN = ast.literal_eval(sys.argv[1]) if len(sys.argv) > 1 else {}
"""Fields of the header of a batch and of its records that ``encode`` has no options for."""
NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
BATCHES = tuple(magic for magic in MAGICS if KINDS[magic].has_record_sets)
TIME = 1_700_000_000_000


def records(base: int, magic: int) -> list[ks.Record]:
    """Three records as the magic can hold them."""
    kind = KINDS[magic]
    headers = (("h", b"1"), ("", None)) if kind.has_headers else ()
    found = [
        ks.Record(base, TIME + base, b"k", b"v" * 40, headers),
        ks.Record(base + 1, TIME + base + 5, None, None),
        ks.Record(base + 3, TIME + base + 3, b"", b"x"),
    ]
    if not kind.has_timestamps:
        found = [record._replace(timestamp=-1) for record in found]
    return found


def encode(items: list[ks.Record], magic: int, **options: Any) -> bytes:
    """The records, with what new fields without a default are to hold."""
    own = {k: v for k, v in OWN.get("header", {}).items() if k in KINDS[magic].header}
    options["header"] = own or None
    if magic in BATCHES and "fields" in OWN:
        options["fields"] = [OWN["fields"]] * len(items)
    return ks.encode(items, magic=magic, **options)


def command(*arguments: object, codes: tuple[int, ...] = (0,)) -> str:
    """The output of the command."""
    done = CliRunner().invoke(main, [str(item) for item in arguments])
    if done.exception and not isinstance(done.exception, SystemExit):
        traceback.print_exception(done.exception, file=sys.stdout)
    assert done.exit_code in codes, (arguments, done.exit_code, done.output)
    return done.stdout


def written(root: Path) -> Path:
    """A partition of several segments, codecs, producers and a transaction, with all its files."""
    path = root / "t-0"
    with ks.SegmentWriter(path, segment_bytes=1500, index_interval_bytes=100) as writer:
        for n in range(40):
            data = encode(
                records(10 * n, BATCHES[-1]),
                BATCHES[-1],
                compression=NAMES[n % 5],
                producer_id=n % 3,
                producer_epoch=1,
                base_sequence=4 * (n // 3),
                partition_leader_epoch=n // 20,
            )
            writer.append(data)
    return path


def expected() -> list[int]:
    return [10 * n + delta for n in range(40) for delta in (0, 1, 3)]


def all_codecs_agree(root: Path) -> None:
    for magic in MAGICS:
        for name in NAMES if magic in BATCHES else NAMES[:4]:
            wanted = records(7, magic)
            made = {encode(wanted, magic, compression=name, codec=c) for c in CODECS}
            assert len(made) == 1, (magic, name)
            for codec in CODECS:
                assert ks.decode(next(iter(made)), codec=codec) == wanted, (magic, name, codec)


def written_partitions_are_clean(root: Path) -> None:
    path = written(root)
    assert len(list(path.glob("*.log"))) > 2
    assert len(list(path.glob("*.snapshot"))) > 1
    report = ks.verify(path)
    assert not report.findings, [str(finding) for finding in report.findings]
    assert "clean" in command("verify", "--codec", "all", path)


def records_columns_and_look_ups(root: Path) -> None:
    path = written(root)
    tables = []
    for codec in CODECS:
        log = ks.Partition(path, codec=codec)
        assert [record.offset for record in log.records()] == expected(), codec
        tables.append(log.to_arrow().to_pylist())
        assert tables[-1] == tables[0], codec
        for offset in (0, 133, 251, 393):
            assert log.find(offset=offset).offset == offset, (codec, offset)
        assert log.find(timestamp=TIME + 253).offset == 251, codec
        assert log.find(max_timestamp=True).timestamp == TIME + 395
        heads = log.batch_table().to_pylist()
        assert [row["producer_id"] for row in heads] == [n % 3 for n in range(40)], codec


def indexes_come_out_again(root: Path) -> None:
    path = written(root)
    ks.rebuild_indexes(path, root / "again", index_interval_bytes=100)
    for kind in ("*.index", "*.timeindex", "*.snapshot"):
        made = {item.name: item.read_bytes() for item in (root / "again").rglob(kind)}
        assert made, kind
        for name, data in made.items():
            if (path / name).exists():
                assert data == (path / name).read_bytes(), name


def slots_of_indexes_are_their_entries(root: Path) -> None:
    for made in written(root).glob("*index"):
        kinds: dict[str, Any] = {".index": OffsetIndex, ".timeindex": TimeIndex}
        kind = kinds.get(made.suffix)
        if kind is None:
            continue
        for codec in CODECS:
            index = kind(made, codec=codec)
            offsets, others = index.slot_columns()
            entries = [(entry.offset, getattr(entry, kind.other)) for entry in index.entries]
            assert list(zip(offsets, others, strict=True)) == entries, (made.name, codec)


def dump_and_explain(root: Path) -> None:
    path = written(root)
    for codec in CODECS:
        lines = command("dump", "--codec", codec, "--format", "json", path).splitlines()
        assert [json.loads(line)["offset"] for line in lines] == expected()
    assert command("dump", path)
    assert command("dump", "--batches", path)
    first = sorted(path.glob("*.log"))[1]
    assert "producer_id" in command("explain", first, "--position", "0")
    for kind in (".index", ".timeindex", ".snapshot"):
        files = [item for item in path.glob(f"*{kind}") if item.stat().st_size]
        assert command("explain", files[0])


def convert_there_and_back(root: Path) -> None:
    path = written(root)
    before = list(ks.Partition(path).records())
    for n, magic in enumerate(MAGICS):
        if OWN and magic not in BATCHES:  # what came back would lack them
            continue
        for name in ("none", "gzip"):
            there, back = root / f"there{n}{name}-0", root / f"back{n}{name}-0"
            ks.convert(path, there, magic=magic, compression=name)
            ks.convert(there, back, magic=BATCHES[-1], compression="lz4")
            after = list(ks.Partition(back).records())
            if not KINDS[magic].has_headers:
                after = [a._replace(headers=b.headers) for a, b in zip(after, before, strict=True)]
            if not KINDS[magic].has_timestamps:
                pairs = zip(after, before, strict=True)
                after = [a._replace(timestamp=b.timestamp) for a, b in pairs]
            assert after == before, (magic, name)
    ks.convert(path, root / "dense-0", offsets="renumber", batch_bytes=500)
    assert [r.offset for r in ks.Partition(root / "dense-0").records()] == list(range(120))


_DECODING: tuple[dict[str, Any], ...] = (
    {"compression": "gzip"},
    {"magic": MAGICS[0]},
    {"compression": "gzip", "level": 3},
    {"batch_bytes": 1000},
)
"""Conversions that need the records."""


def refused(function: Callable[..., object], *arguments: object, **options: Any) -> str:
    """The error of what needs the codec."""
    try:
        function(*arguments, **options)
    except ks.UnsupportedError as error:
        text = str(error)
    else:
        raise AssertionError(options)
    missing = "there is no library for brotli (compression id 5): install"
    if "magic" in options:  # as zstd, which came after them (KIP-110)
        missing = f"brotli is not allowed in magic {options['magic']}"
    assert missing in text, (options, text)
    return text


def a_codec_without_a_library(root: Path) -> None:
    """Its payloads go where they stay as they are, and nowhere else, with the reason."""
    if "brotli" not in compression.NAMES:
        return
    payload, codec = b"no library here reads this", get_codec("python")
    path = root / "uncoded-0"
    path.mkdir()
    made = b""
    for base in (0, 10):
        plain = next(ks.Segment(encode(records(base, BATCHES[-1]), BATCHES[-1])).batches())
        made += with_payload(
            codec, plain, payload, CompressionType(5), base_offset=base, leader_epoch=3
        )
    (path / f"{0:020}.log").write_bytes(made)

    def kept(log: Path) -> list[tuple[int, int, int, bytes]]:
        with ks.Partition(log) as found:
            return [
                (each.base_offset, each.partition_leader_epoch, each.compression,
                 bytes(each.payload or b""))
                for each in found.batches()
            ]  # fmt: skip

    assert kept(path) == [(0, 3, 5, payload), (10, 3, 5, payload)]
    for n, name in enumerate(CODECS):
        out = root / f"epoch{n}-0"
        ks.convert(path, out, leader_epoch=7, codec=name)
        assert kept(out) == [(0, 7, 5, payload), (10, 7, 5, payload)], name
        ks.convert(path, root / f"moved{n}-0", offsets="shift", base_offset=5, codec=name)
        assert kept(root / f"moved{n}-0") == [(5, 3, 5, payload), (15, 3, 5, payload)], name
        for options in _DECODING:
            text = refused(ks.convert, path, root / f"other{n}-0", codec=name, **options)
            assert "00.log at byte " in text, (options, text)
    assert not command("convert", path, "-o", root / "said-0", "--compression", "gzip", codes=(2,))
    # The check of the output cannot read it: not proven, so the exit code is 1.
    command("convert", path, "-o", root / "said-0", "--leader-epoch", "9", codes=(1,))
    assert kept(root / "said-0") == [(0, 9, 5, payload), (10, 9, 5, payload)]
    refused(encode, records(0, BATCHES[-1]), BATCHES[-1], compression="brotli")


def damage_is_found(root: Path) -> None:
    path = written(root)
    first = sorted(path.glob("*.log"))[0]
    data = bytearray(first.read_bytes())
    for position in (30, 100, len(data) - 20):
        broken = bytearray(data)
        broken[position] ^= 0x10
        first.write_bytes(broken)
        found = {
            codec: {f.position for f in ks.verify(first, codec=codec).findings} for codec in CODECS
        }
        assert len(set(map(frozenset, found.values()))) == 1, (position, found)


CHECKS: tuple[Callable[[Path], None], ...] = (
    all_codecs_agree,
    written_partitions_are_clean,
    records_columns_and_look_ups,
    indexes_come_out_again,
    slots_of_indexes_are_their_entries,
    dump_and_explain,
    convert_there_and_back,
    a_codec_without_a_library,
    damage_is_found,
)

if __name__ == "__main__":
    run(CHECKS)
