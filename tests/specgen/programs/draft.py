"""Use a specification with a draft through what is public. Run by test_drafts.py.

Its arguments are the messages that the draft adds, as ``topic:name``, and then the codecs of
compression that it adds, as ``+name``. Each function is a check.
"""

from __future__ import annotations

import json
import sys
import traceback
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import kafkaspec as ks
from kafkaspec._generated.layout import ENTRY_FILES, LAYOUTS
from kafkaspec._generated.layout.files import FILES
from kafkaspec.cli.main import main
from kafkaspec.codecs.installed import codec_names, get_codec
from kafkaspec.compression import NAMES
from kafkaspec.conformance.vectors import vector_cases
from kafkaspec.files import names
from kafkaspec.files.indexes import INDEXES
from kafkaspec.layout.framing import field_position
from kafkaspec.layout.kinds import KINDS
from kafkaspec.messages import decode_messages
from kafkaspec.messages.lookup import MESSAGES
from tests.specgen.programs.checks import run

ADDED = [text.split(":") for text in sys.argv[1:] if ":" in text]
COMPRESSIONS = [text[1:] for text in sys.argv[1:] if text.startswith("+")]
CODECS = codec_names()
COMMANDS = {
    "__cluster_metadata": "cluster",
    "__consumer_offsets": "groups",
    "__transaction_state": "transactions",
}
READABLE = [name for name in NAMES if name not in COMPRESSIONS]
GENERATED = Path(ks.__file__).parent / "_generated"


def command(*arguments: object, codes: tuple[int, ...] = (0,)) -> str:
    """The output of the command."""
    done = CliRunner().invoke(main, [str(item) for item in arguments])
    if done.exception and not isinstance(done.exception, SystemExit):
        traceback.print_exception(done.exception, file=sys.stdout)
    assert done.exit_code in codes, (arguments, done.exit_code, done.output)
    return done.stdout


@cache
def vectors(spec_id: str) -> list[dict[str, Any]]:
    path = GENERATED / "vectors" / f"{spec_id}.json"
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["vectors"]
    return found


def every_codec_gives_every_verdict(root: Path) -> None:
    """The vectors come from the rules of the specification, not from a codec."""
    for name in CODECS:
        codec = get_codec(name)

        def parse(vector: Any, codec: Any = codec) -> tuple[Any, int]:
            given = [parse(p)[0] if isinstance(p, dict) else p for p in vector["parameters"]]
            found: tuple[Any, int] = codec.parse(
                vector["type"], bytes.fromhex(vector["hex"]), parameters=given
            )
            return found

        for path in sorted((GENERATED / "vectors").glob("*.json")):
            for vector in vectors(path.stem):
                try:
                    _, end = parse(vector)
                except ks.KafkaSpecError as error:
                    found = (error.reason.value, error.path, error.position)
                    assert found == (vector["reason"], vector["path"], vector["offset"]), vector
                else:
                    assert vector["verdict"] == "accept", (name, vector)
                    assert end == vector["end"], (name, vector)


def conform_puts_the_vectors_of_every_kind_into_logs(root: Path) -> None:
    cases = [case.id for case in vector_cases()]
    for kind in KINDS.values():
        if kind.has_record_sets:
            assert any(name.startswith(f"record/{kind.record}/") for name in cases), kind.key
    for name in CODECS:
        command("conform", "--codec", name, "--only", "record/*")


def batch(offset: int, magic: int, **options: Any) -> bytes:
    headers = (("h", b"1"),) if KINDS[magic].has_record_sets else ()
    time = -1 if magic == 0 else 1_700_000_000_000
    records = [ks.Record(offset + n, time, b"k%d" % n, b"v" * 40, headers) for n in range(3)]
    return ks.encode(records, magic=magic, **options)


def partition(root: Path) -> Path:
    """Every magic with every compression that it may have, in one segment."""
    path = root / "t-0"
    path.mkdir()
    made, offset = [], 0
    for magic in sorted(KINDS):
        for name in READABLE:
            if name == "zstd" and not KINDS[magic].has_record_sets:
                continue
            made.append(batch(offset, magic, compression=name))
            offset += 3
    (path / f"{0:020d}.log").write_bytes(b"".join(made))
    return path


def assembled(file: Path, root: Path) -> None:
    """The text of a file is the same file again."""
    text, out = root / "assembly.txt", root / f"assembled{file.suffix}"
    text.write_text(command("explain", "--format", "assembly", file))
    assert "...:" not in text.read_text()
    command("assemble", text, "-o", out)
    assert out.read_bytes() == file.read_bytes()


def logs_of_all_magics_go_through_every_command(root: Path) -> None:
    path = partition(root)
    log = path / f"{0:020d}.log"
    offsets = [record.offset for record in ks.open(path).records()]
    assert offsets == list(range(len(offsets)))
    tables = [ks.open(path, codec=name).to_arrow().combine_chunks() for name in CODECS]
    assert all(table.equals(tables[0]) for table in tables)
    assert tables[0]["offset"].to_pylist() == offsets
    command("verify", "--codec", "all", path)
    lines = command("dump", "--format", "json", path).splitlines()
    assert [json.loads(line)["offset"] for line in lines] == offsets
    magics = {json.loads(line)["magic"] for line in lines}
    assert magics == set(KINDS)
    headers = command("dump", "--batches", "--format", "json", path).splitlines()
    assert {json.loads(line)["magic"] for line in headers} == set(KINDS)
    command("explain", log, "--offset", offsets[-1])
    assembled(log, root)
    assert str(offsets[-1]) in command("find", "--offset", offsets[-1], path)
    command("stats", path)
    for kind in ("parquet", "jsonl"):
        command("export", path, "-o", root / f"all.{kind}")
    newest = max(KINDS)
    for magic in sorted({2, newest}):
        out = root / f"as-{magic}-0"
        command("convert", path, "-o", out, "--magic", magic)
        assert [record.offset for record in ks.open(out).records()] == offsets
        assert {b.magic for b in ks.open(out).batches()} == {magic}
        command("verify", out)
    back = root / "back-0"
    command("convert", root / f"as-{newest}-0", "-o", back, "--magic", 2)
    assert [(r.key, r.value) for r in ks.open(back).records()] == [
        (r.key, r.value) for r in ks.open(path).records()
    ]
    command("index", path, "-o", root / "indexed")
    damaged = bytearray(log.read_bytes())
    damaged[-50] ^= 1
    broken = root / "broken" / "t-0"
    broken.mkdir(parents=True)
    (broken / log.name).write_bytes(damaged)
    command("verify", broken, codes=(1,))
    command("salvage", broken, "-o", root / "saved", codes=(0, 1))
    saved = next((root / "saved").rglob("*.log")).parent
    assert [record.offset for record in ks.open(saved).records()] == offsets[:-3]
    command("gaps", path)
    command("producers", path)
    command("transactions", path)
    command("diff", path, path)
    command("redact", path, "-o", root / "red", "--key", "k1")


def base(spec_id: str) -> bytes:
    """The bytes of a message whose fields have some allowed values."""
    accepted = (v for v in vectors(spec_id) if v["verdict"] == "accept" and v["canonical"])
    return bytes.fromhex(next(v for v in accepted if v["type"] == f"{spec_id}.{spec_id}")["hex"])


def messages_that_came_are_read_by_name(root: Path) -> None:
    for topic, key, value in ADDED:
        record = ks.Record(0, 1_700_000_000_000, base(key) if key else None, base(value))
        path = root / f"{topic}-0"
        path.mkdir()
        (path / f"{0:020d}.log").write_bytes(ks.encode([record]))
        for name in CODECS:
            found = decode_messages(topic, record, codec=name)
            assert found[1] is not None, name
        layout = next(m for m in MESSAGES if m.key == f"{value}.{value}")
        (line,) = command("dump", "--format", "json", path).splitlines()
        assert layout.name.removesuffix("Value") in line, line
        command(COMMANDS[topic], path, codes=(0, 1))


def numbered(kind: str, path: Path) -> None:
    """Write a log of the newest magic; the number that an index is made from rises and falls."""
    source = FILES[kind].largest
    with ks.SegmentWriter(path, segment_bytes=6000, index_interval_bytes=300) as writer:
        for n in range(60):
            given = {source.name: 5000 + 20 * n + n * 37 % 101} if source and n % 5 else None
            writer.append(batch(3 * n, max(KINDS), header=given))


def _judged(kind: str, file: Path) -> list[dict[str, int]]:
    """Read an index with all codecs; its entries are those that the batches demand."""
    source = FILES[kind].largest
    batches = list(ks.Segment(file.with_suffix(".log")).batches())
    name = "position" if source is None else source.name
    numbers = [
        (b.last_offset, b.position if source is None else getattr(b.message, name)) for b in batches
    ]
    rows: list[dict[str, int]] = []
    for codec in CODECS:
        index = INDEXES[kind](file, codec=codec)
        field = index.other
        found = [{"offset": e.offset, field: getattr(e, field)} for e in index.entries]
        assert rows in ([], found), codec
        rows = found
        values = [row[field] for row in rows]
        assert values == sorted(set(values))
        for row in rows:
            assert (row["offset"], row[field]) in numbers
            if source is not None:
                assert row[field] == max(n for at, n in numbers if at <= row["offset"])
        if source is not None:
            assert values[-1] == max(number for _, number in numbers)
        keys = [row[index.key] for row in rows]
        for wanted in (keys[0] - 1, *keys, keys[-1] + 1):
            entry = index.lookup(wanted)
            least = [row for row in rows if row[index.key] <= wanted]
            assert (entry and entry.offset) == (least[-1]["offset"] if least else None)
    return rows


def indexes_that_came_are_made_from_the_log(root: Path) -> None:
    """Written, listed, looked up, verified, rebuilt; each entry is judged by the batches."""
    for kind in names.NEW_INDEXES:
        source = FILES[kind].largest
        path = root / f"t{kind}" / "t-0"
        path.parent.mkdir()
        numbered(kind, path)
        found = sorted(path.glob(f"*{kind}"))
        assert len(found) == len(list(path.glob("*.log"))) > 1
        for file in found:
            rows = _judged(kind, file)
            lines = command("dump", "--format", "json", file).splitlines()
            for line, row in zip(map(json.loads, lines), rows, strict=True):
                assert line.items() >= row.items()
            assert list(rows[0])[1] in command("explain", file)
        assembled(found[0], path.parent.parent)
        assert ks.verify(path).findings == []
        command("verify", "--codec", "all", path)
        command("verify", found[0])
        for rule in ("append", "recovery"):
            report = ks.rebuild_indexes(
                path, root / f"{rule}{kind}", rule=rule, index_interval_bytes=300
            )
            assert {str(f.comparison) for f in report.files if f.name.endswith(kind)} == {"equal"}
        command("index", path, "-o", root / f"made{kind}", "--interval", 300)
        command("doctor", path.parent, codes=(0, 1))
        command("stats", path)
        command("convert", path, "-o", root / f"old{kind}-0", "--magic", 2)
        stays = source is None  # a position is of any batch
        assert bool(list((root / f"old{kind}-0").glob(f"*{kind}"))) == stays
        command("redact", path, "-o", root / f"red{kind}", "--key", "k1")
        assert list((root / f"red{kind}").rglob(f"*{kind}"))
        command("verify", next((root / f"red{kind}").rglob("*.log")).parent)
        command("salvage", path, "-o", root / f"saved{kind}", codes=(0, 1))
        cleaned = ("cleanup.policy=compact", "min.cleanable.dirty.ratio=0")
        config = [word for name in cleaned for word in ("--config", name)]
        command("compaction", path, *config, "-o", root / f"clean{kind}", codes=(0, 1))
        for made in (root / f"saved{kind}", root / f"clean{kind}" / path.name):
            assert list(made.glob(f"*{kind}"))
            for file in made.glob(f"*{kind}"):
                if INDEXES[kind](file).entries:
                    _judged(kind, file)
            assert ks.verify(made).findings == []
        _damaged(kind, path, found[0])


def _damaged(kind: str, path: Path, file: Path) -> None:
    data = bytearray(file.read_bytes())
    index = INDEXES[kind](file)
    at = index.entry_size + field_position(LAYOUTS[index.type_key], index.other)
    for changed in (0, 7):  # an enormous number, without a sign perhaps; another number
        wrong = bytearray(data)
        wrong[at + changed] ^= 0x80
        file.write_bytes(wrong)
        for name in CODECS[:2]:
            assert {item.file for item in ks.verify(path, codec=name).findings} == {str(file)}
        command("verify", path, codes=(1,))
        command("dump", file, codes=(0, 1))
    file.write_bytes(data[:-1])
    command("verify", path, codes=(1,))


def a_codec_without_a_library_is_named(root: Path) -> None:
    for name in COMPRESSIONS:
        with pytest.raises(ks.KafkaSpecError, match=name):
            batch(0, max(KINDS), compression=name)
        plain = bytearray(batch(0, 2))
        plain[22] |= 5
        path = root / "c-0"
        path.mkdir()
        (path / f"{0:020d}.log").write_bytes(plain)
        for codec in CODECS:
            shown = command("verify", "--codec", codec, path, codes=(1,))
            assert name in shown, shown


def files_of_entries_without_offsets(root: Path) -> None:
    """A header and batches as producers sent them: CRC, structure and records are judged alone."""
    for name in [name for name, file in ENTRY_FILES.items() if not file.has_offsets]:
        header = bytes(ENTRY_FILES[name].header)  # of version 0
        producer = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 7}
        sent = [
            batch(0, 2),
            batch(0, 2, compression="zstd"),
            batch(0, 2, **producer),
            batch(0, 2, **producer),  # of another partition
            batch(9, 2, transactional=True, **producer),
            batch(3, 2),
        ]
        whole = header + b"".join(sent)
        path = root / f"{name}.bin"
        path.write_bytes(whole)
        starts = [len(header) + sum(map(len, sent[:n])) for n in range(len(sent))]
        held = [record for data in sent for record in ks.decode(data)]
        for codec in CODECS:
            with ks.Segment(path, log_format=name, codec=codec) as found:
                assert [each.position for each in found.batches()] == starts, codec
                assert list(found.records()) == held, codec
                assert found.to_arrow(["offset"])["offset"].to_pylist() == [r.offset for r in held]
            assert "clean" in command("verify", "--as", name, "--codec", codec, path)
        assert "clean" in command("verify", "--as", name, "--codec", "all", path)
        report = ks.verify(path, log_format=name)
        assert (report.clean, report.files[0].first_offset) == (True, None)
        lines = command("dump", "--as", name, "--format", "json", path).splitlines()
        assert [json.loads(line)["offset"] for line in lines] == [record.offset for record in held]
        lines = command("dump", "--as", name, "--batches", "--format", "json", path).splitlines()
        assert [json.loads(line)["position"] for line in lines] == starts
        shown = command("explain", "--as", name, "--codec", "all", "--format", "json", path)
        fields = [json.loads(line) for line in shown.splitlines()]
        assert fields[-1]["end"] == len(whole)
        assert [f["start"] for f in fields if f["path"].endswith("/base_offset")] == starts

        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        (wrong,) = ks.verify(path, log_format=name).findings
        assert (wrong.reason, wrong.entry) == ("checksum_mismatch", starts[-1])
        assert wrong.action == "nothing"  # no broker loads the file
        lines = command("dump", "--as", name, "--format", "json", path, codes=(1,)).splitlines()
        assert len(lines) == len(held) - 3
        path.write_bytes(whole[: starts[-1] + 30])
        (torn,) = ks.verify(path, log_format=name).findings
        assert (torn.reason, torn.position) == ("torn_tail", starts[-1])
        if header:
            path.write_bytes(b"\1" + whole[1:])
            (version,) = ks.verify(path, log_format=name).findings
            assert (version.reason, version.position) == ("invalid_value", 0)
            command("dump", "--as", name, path, codes=(2,))
            path.write_bytes(whole)
            command("dump", path, codes=(2,))
            command("verify", path, codes=(2,))
        command("verify", "--as", name, root, codes=(2,))
        command("dump", "--as", name, root, codes=(2,))


CHECKS = (
    every_codec_gives_every_verdict,
    conform_puts_the_vectors_of_every_kind_into_logs,
    logs_of_all_magics_go_through_every_command,
    messages_that_came_are_read_by_name,
    indexes_that_came_are_made_from_the_log,
    a_codec_without_a_library_is_named,
    files_of_entries_without_offsets,
)

if __name__ == "__main__":
    run(CHECKS)
