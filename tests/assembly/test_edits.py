"""Edits of the text: what follows, what is forced, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.assembly import assemble, listing
from kafkaspec.errors import KafkaSpecError, Reason
from tests import goldens
from tests.cli.helpers import first_segment, golden, run

CODECS = ("codec-none-0", "codec-gzip-0", "codec-snappy-0", "codec-lz4-0", "codec-zstd-0")


def _text(partition: str, version: str = "4.3.1") -> str:
    return "\n".join(listing(first_segment(golden(version, partition))))


def _written(tmp_path: Path, text: str) -> Path:
    return _file(tmp_path, assemble(text)[0])


def _file(tmp_path: Path, data: bytes | bytearray) -> Path:
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(data)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("partition", CODECS)
def test_lengths_and_checksums_follow(tmp_path: Path, partition: str) -> None:
    """A longer key in the first record: the other records stay, and each codec agrees."""
    text = _text(partition)
    before = list(ks.open(_written(tmp_path, text)).records())
    path = _written(tmp_path, text.replace('key: "single"', 'key: "a longer key"', 1))
    after = list(ks.open(path, crc="raise").records())
    assert (before[0].key, after[0].key) == (b"single", b"a longer key")
    assert [r.value for r in after] == [r.value for r in before]
    assert [r.offset for r in after] == [r.offset for r in before]
    result = run("verify", path, "--codec", "all")
    assert result.exit_code == 0, result.output


def test_offsets_follow_when_a_record_goes(tmp_path: Path) -> None:
    lines = _text("codec-gzip-0").split("\n")
    items = [n for n, line in enumerate(lines) if line.strip() == "-"]
    batches = [n for n, line in enumerate(lines) if line.startswith("recordbatch.entry")]
    third = [n for n in items if n > batches[2]]
    kept = _written(tmp_path, "\n".join(lines[: third[0]] + lines[third[1] :]))
    with ks.open(kept, crc="raise") as log:
        batch = list(log.batches())[2]
        records = list(batch.records())
    deltas = [record.offset - batch.base_offset for record in records]
    assert deltas == list(range(11))
    assert batch.last_offset == batch.base_offset + 10


def test_lengths_counts_and_checksums_may_be_left_out() -> None:
    """The bytes are those of the broker, and nothing is said to be other than written."""
    source = first_segment(golden("4.3.1", "codec-none-0"))
    derived = ("len_message:", "crc:", "num_records:", "len_body:", "num_headers:", "len_key:")
    text = "\n".join(line for line in listing(source) if not line.strip().startswith(derived))
    assert assemble(text) == (source.read_bytes(), [])


@pytest.mark.slow
def test_a_forced_value_stays_wrong(tmp_path: Path) -> None:
    """Wrong bytes on purpose: a checksum, and a count of records."""
    text = _text("codec-none-0")
    crc = next(line.strip() for line in text.split("\n") if line.strip().startswith("crc:"))
    path = _written(tmp_path, text.replace(crc, "crc: 0xdeadbeef !", 1))
    result = run("verify", path)
    assert result.exit_code == 1
    assert Reason.CHECKSUM_MISMATCH in result.output
    path = _written(tmp_path, text.replace("num_records: 1", "num_records: 2 !", 1))
    with pytest.raises(KafkaSpecError):
        list(ks.open(path).records())


def test_a_wrapper_is_compressed_anew(tmp_path: Path) -> None:
    """Messages of magic 1 inside a wrapper."""
    text = _text("codec-gzip-0", "0.10.2.2")
    path = _written(tmp_path, text.replace('"one record"', '"another record"', 1))
    values = [record.value for record in ks.open(path, crc="raise").records()]
    assert b"another record" in values
    assert b"one record" not in values


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("base_offset: 0", "base_ofset: 0", "base_ofset; did you mean 'base_offset'?"),
        ("base_offset: 0", "base_offset: many", "base_offset takes a number from -9223372036854"),
        ("magic: 2", "magic: 300", "magic takes a number from -128 to 127, not 300"),
        ("compression: none", "compression: gzipp", "did you mean 'gzip'?"),
        ("compression: none", "compression: 9", "9 does not fit in 3 bits"),
        ("is_control: false", "is_control: maybe", "is_control takes true or false, not maybe"),
        ('key: "single"', 'key: "single', "not a text in quotes"),
        ('key: "single"', "key: 5", 'key takes a "text", hex or null, not 5'),
        ('key: "single"', "key: hex abc", "an odd number of hexadecimal digits"),
        ("magic: 2", "magic: 2 3", "neither a value, nor `!`, nor a comment"),
        ("magic: 2", "magic 2", "neither `name:` nor `-`"),
        ("producer_epoch: -1", "# gone", "recordbatch.record_batch needs producer_epoch"),
        ("recordbatch.entry:", "recordbatch.entri:", "line 1, column 1: there is no type"),
        ("content: recordbatch.record_batch", "content: recordbatch.entry", "content takes one of"),
        ("headers: []", "headers: none", "headers is an array"),
        ("base_offset: 0", "base_offset: 0\n  base_offset: 1", "a second base_offset"),
    ],
)
def test_refused(old: str, new: str, said: str) -> None:
    """The message names line, column, the name that was meant, and what the field takes."""
    text = _text("codec-none-0")
    assert old in text
    with pytest.raises(KafkaSpecError) as caught:
        assemble(text.replace(old, new, 1), "x.txt")
    assert caught.value.reason is Reason.UNENCODABLE
    assert said in caught.value.detail
    line = text[: text.index(old)].count("\n") + 1
    near = {f"line {number}, column " for number in range(1, line + 3)}
    assert any(caught.value.detail.startswith(each) for each in near), caught.value.detail


@pytest.mark.slow
def test_a_header_key_cannot_be_null() -> None:
    text = _text("headers-0")
    assert text.count('key: "name"') > 0
    with pytest.raises(KafkaSpecError, match='key takes a "text" or hex, not null'):
        assemble(text.replace('key: "name"', "key: null", 1))


@pytest.mark.slow
def test_hostile_text() -> None:
    """Depth is bounded; numbers and names of any length are refused as such."""
    deep = "\n".join(f"{'  ' * depth}a:" for depth in range(10_000))
    for text in (deep, "index.offset_index_entry 0:\n  relative_offset: " + "9" * 10_000):
        with pytest.raises(KafkaSpecError):
            assemble(text)


@pytest.mark.slow
def test_the_command(tmp_path: Path) -> None:
    """Twice the same file; what follows is named; a file that exists is not replaced."""
    source = first_segment(golden("4.3.1", "codec-zstd-0"))
    text, out = tmp_path / "x.txt", tmp_path / "out"
    text.write_text(run("explain", source, "--format", "assembly").stdout)
    assert run("assemble", text, "-o", out).exit_code == 0
    assert out.read_bytes() == source.read_bytes()
    assert run("assemble", text, "-o", out).exit_code == 2
    text.write_text(text.read_text().replace('key: "single"', 'key: "double"', 1))
    result = run("assemble", text, "-o", out, "--force")
    assert result.exit_code == 0
    assert "crc is " in result.stderr
    assert out.read_bytes() != source.read_bytes()
    text.write_text("recordbatch.entry:\n  magic: 2\n")
    result = run("assemble", text, "-o", tmp_path / "none")
    assert result.exit_code == 2
    assert "line 2, column" in result.stderr
    assert not (tmp_path / "none").exists()


def test_one_entry(tmp_path: Path) -> None:
    """``--offset`` and ``--position`` list one batch, and ``--as`` any bytes."""
    source = first_segment(golden("4.3.1", "codec-none-0"))
    second = run("explain", source, "--offset", "1", "--format", "assembly").stdout
    assert second.count("recordbatch.entry:") == 1
    at = source.read_bytes().index(assemble(second)[0])
    assert at > 0
    again = run("explain", source, "--position", str(at + 5), "--format", "assembly").stdout
    assert again == second
    part = run(
        "explain",
        source,
        "--as",
        "recordbatch.entry",
        "--position",
        str(at),
        "--format",
        "assembly",
    ).stdout
    assert assemble(part)[0] == source.read_bytes()[at:]


def test_the_text_null_is_not_null(tmp_path: Path) -> None:
    record = ks.Record(0, 0, b"null", b"null", (("null", b"null"), ("h", None)))
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(ks.encode([record]))
    text = "\n".join(listing(path))
    assert "!" not in text
    longer = _written(tmp_path, text.replace('key: "null"', 'key: "nulls"'))
    (found,) = ks.open(longer, crc="raise").records()
    assert (found.key, found.headers) == (b"nulls", (("nulls", b"null"), ("h", None)))


@pytest.mark.parametrize(
    "damage", ["none", "cut", "cut at a field", "checksum", "length", "tail", "payload"]
)
def test_damage_is_counted_as_in_the_table(tmp_path: Path, damage: str) -> None:
    """Both forms of ``explain`` end with the same exit code; the text says what is wrong."""
    codec = "gzip" if damage == "payload" else "none"
    data = bytearray(first_segment(golden("4.3.1", f"codec-{codec}-0")).read_bytes())
    size = ks.Segment(bytes(data)).batch_at(0).end
    data = data[:size]
    match damage:
        case "cut":
            data = data[:-3]
        case "cut at a field":
            data = data[:12]
        case "checksum":
            data[-1] ^= 1
        case "length":
            data[11] += 1
        case "payload":
            data[70:75] = bytes(5)
            text = "\n".join(listing(_file(tmp_path, data)))
            crc = next(line for line in text.split("\n") if line.lstrip().startswith("crc:"))
            data = bytearray(assemble(text.replace(crc, crc.rstrip(" !")))[0])
        case "tail":
            data += b"\xff" * 5
    path = _file(tmp_path, data)
    table = run("explain", path)
    result = run("explain", path, "--format", "assembly")
    if damage == "tail":  # the table has the first entry only
        table = run("explain", path, "--position", str(size))
    assert result.exit_code == table.exit_code == (damage != "none"), result.output
    assert bool(result.stderr) == (damage != "none")
    assert assemble(result.stdout)[0] == data


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--records", "2"], "--records is not for --format assembly"),
        (["--full"], "--full is not for --format assembly"),
        (["--position", "999999"], "byte 999999 is not in the file"),
        (["--offset", "999999"], "no batch holds offset 999999"),
    ],
)
def test_options_that_are_refused(arguments: list[str], said: str) -> None:
    source = first_segment(golden("4.3.1", "codec-none-0"))
    result = run("explain", source, "--format", "assembly", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_one_entry_of_an_index(tmp_path: Path) -> None:
    """``--position`` is any byte of it; a log offset is of a segment, a text file has neither."""
    source = first_segment(golden("4.3.1", "segments-0")).with_suffix(".index")
    whole = run("explain", source, "--format", "assembly").stdout
    entry = run("explain", source, "--format", "assembly", "--position", "11").stdout
    assert assemble(entry)[0] == source.read_bytes()[8:16]
    assert entry in whole
    assert run("explain", source, "--format", "assembly", "--offset", "1").exit_code == 2
    assert run("explain", source, "--format", "assembly", "--position", "9999").exit_code == 2
    checkpoint = source.parent / "leader-epoch-checkpoint"
    assert run("explain", checkpoint, "--format", "assembly", "--position", "1").exit_code == 2


@pytest.mark.slow
def test_an_object_in_remote_storage_is_a_segment() -> None:
    """As in the table: an object is shown as the segment in it."""
    remote = goldens.GOLDEN / "4.3.1" / "tiered" / "remote"
    objects = sorted(remote.rglob("*.log"))
    assert objects
    for path in objects:
        result = run("explain", path, "--format", "assembly")
        assert result.exit_code == run("explain", path).exit_code == 0, result.output
        assert assemble(result.stdout)[0] == path.read_bytes()
