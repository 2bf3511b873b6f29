"""``kafkaspec explain``: every byte is shown, with the meaning that the specification gives."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from contextlib import redirect_stdout
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.cli.commands.explain_data import entry_at
from kafkaspec.cli.main import main
from kafkaspec.log.pieces import WHOLE_BYTES
from kafkaspec.log.segment import Segment
from tests.cli.helpers import first_segment, golden, lines, run
from tests.goldens import VERSIONS, dumps, files
from tests.log import grown
from tests.log.forge import batch, record, zigzag
from tests.log.test_pieces import MEBIBYTE, grown_by, measured
from tests.loops import each


def leaves(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    paths = [field["path"] for field in fields]
    return [
        field for field in fields if not any(path.startswith(field["path"] + "/") for path in paths)
    ]


def covered(fields: list[dict[str, Any]]) -> bytes:
    """The bytes of the fields put together; bits of a byte count once."""
    out, position = bytearray(), None
    for field in leaves(fields):
        if position is not None and field["start"] < position:
            assert field["bits"] is not None
            continue
        assert position is None or field["start"] == position, field
        out += bytes.fromhex(field["hex"])
        position = field["end"]
    return bytes(out)


@each("log", files(".log")[::23])
def test_the_fields_cover_every_byte_of_the_first_batch(log: Any) -> None:
    with Segment(log.path) as segment:
        first = next(iter(segment.batches()), None)
        if first is None:
            return
        stored = bytes(first.data)
    result = run("explain", "--format", "json", "--position", "0", log.path)
    assert result.exit_code == 0
    fields = lines(result)
    entry = [field for field in fields if field["section"].startswith("entry")]
    assert covered(entry) == stored
    assert all(field["doc"] for field in leaves(entry))
    assert all(".ksy#/" in field["spec"] for field in fields)


@pytest.mark.parametrize("version", VERSIONS)
def test_compressed_records_are_shown_over_the_decompressed_bytes(version: str) -> None:
    path = first_segment(golden(version, "codec-gzip-0"))
    with Segment(path) as segment:
        compressed = next(item for item in segment.batches() if item.is_compressed)
        payload = bytes(compressed.decompressed())
        position = compressed.position
    result = run("explain", "--format", "json", "--records", "0", "--position", str(position), path)
    inner = [field for field in lines(result) if not field["section"].startswith("entry")]
    assert covered(inner) == payload
    text = run("explain", "--position", str(position), path).stdout
    assert "decompressed with gzip" in text


def test_names_values_and_meaning() -> None:
    path = first_segment(golden("3.9.2", "transactions-0"))
    fields = {
        field["path"]: field
        for field in lines(run("explain", "--format", "json", "--offset", "0", path))
    }
    producer = fields["/message/content/producer_id"]
    assert (producer["value"], producer["kafka_name"]) == (4, "producerId")
    layout = LAYOUTS["recordbatch.record_batch"].fields
    assert producer["doc"] == next(item.doc for item in layout if item.id == "producer_id")
    compression = fields["/message/content/attributes/compression"]
    assert (compression["value"], compression["name"], compression["bits"]) == (0, "none", [5, 8])


def test_text_shows_hex_names_and_meaning() -> None:
    path = first_segment(golden("3.9.2", "transactions-0"))
    result = run("explain", "--offset", "3", path)
    assert result.exit_code == 0
    for expected in ("partition_leader_epoch", "1 (commit)", "coordinator_epoch", "right"):
        assert expected in result.stdout


def test_records_are_limited(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(batch(0, [record(i, b"x") for i in range(9)]))
    text = run("explain", path, "--records", "2").stdout
    assert "7 more records" in text
    shown = lines(run("explain", path, "--records", "2", "--format", "json"))
    numbers = {field["path"] for field in shown if field["path"].endswith("/offset_delta")}
    assert len(numbers) == 2


@pytest.mark.slow
def test_records_are_numbered_through(tmp_path: Path) -> None:
    """They are decoded a thousand at a time; what is wrong after those shown is shown too."""
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(batch(0, [*(record(i, b"x") for i in range(1039)), b"\x02\0"]))
    records = "/message/content/records/records"
    fields = lines(run("explain", path, "--records", "0", "--format", "json"))
    inner = [field for field in fields if field["section"].startswith("records")]
    deltas = [field for field in inner if field["path"].endswith("/offset_delta")]
    assert [field["value"] for field in deltas] == list(range(1039))
    data = path.read_bytes()
    for number, field in enumerate(deltas):
        assert field["path"] == f"{records}/{number}/body/offset_delta"
        assert bytes.fromhex(field["hex"]) == data[field["start"] : field["end"]] == zigzag(number)
    few = lines(run("explain", path, "--records", "3", "--format", "json"))
    for shown in (fields, few):
        assert shown[-1]["path"] == f"{records}/1039/body/timestamp_delta"
        assert shown[-1]["error"] == fields[-1]["error"]


@pytest.mark.slow
@measured
def test_a_large_batch_takes_the_memory_of_what_is_shown(tmp_path: Path) -> None:
    what = "lambda path: sum(len(s.fields) for s in e.explain_batch(ks.Segment(path), 0, 20))"
    module = "__import__('kafkaspec.cli.commands.explain_data', fromlist=['*'])"
    what = what.replace("e.explain", f"{module}.explain")
    found, size = grown_by(tmp_path, what, grown.records(1_500_000))
    assert int(found) > 20
    assert size < 64 * MEBIBYTE


def test_a_cut_batch_is_shown_up_to_the_cut(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(batch(0, [record(0, b"x")])[:30])
    result = run("explain", path, "--position", "0", "--format", "json")
    assert result.exit_code == 1
    *_, last = lines(result)
    assert "truncated" in last["error"]
    assert "[truncated]" in run("explain", path, "--position", "0").stdout


def test_a_broken_record_is_shown_with_its_error(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(batch(0, record(0, b"x") + b"\x7f", count=2))
    result = run("explain", path, "--format", "json")
    assert result.exit_code == 1
    assert any("invalid_value" in str(field["error"]) for field in lines(result))


def test_a_wrong_checksum_is_told(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(batch(0, [record(0, b"x")], crc=1))
    result = run("explain", path)
    assert (result.exit_code, "checksum 0x1: WRONG" in result.stdout) == (1, True)


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".snapshot", ".txnindex"])
def test_files_beside_a_segment(suffix: str) -> None:
    partition = golden("3.9.2", "transactions-segments-0")
    path = max(partition.glob(f"*{suffix}"), key=lambda path: path.stat().st_size)
    result = run("explain", "--format", "json", path)
    assert result.exit_code == 0
    shown = covered(lines(result))
    data = path.read_bytes()
    assert data.startswith(shown)
    assert shown == data or suffix != ".snapshot"


@pytest.mark.slow
def test_any_byte_of_a_batch_shows_it() -> None:
    path = first_segment(golden("3.9.2", "segments-0"))
    with ks.Segment(path) as segment:
        first, second = islice(segment.batches(), 2)
        for byte in range(second.position, second.end):
            assert entry_at(segment, byte) == second.position
    shown = run("explain", "--position", str(second.end - 1), path).stdout
    assert f"entry at byte {second.position}" in shown
    assert f"byte {second.end - 1} is in /message/content/records" in shown
    assert run("explain", "--position", str(first.end), path).stdout.count("is in /") == 0


def test_a_byte_after_damage_is_shown_as_it_is(tmp_path: Path) -> None:
    """Nothing is known of where entries begin there; only the broken one is."""
    path = tmp_path / f"{0:020}.log"
    good = batch(0, [record(0, b"x")])
    path.write_bytes(good + bytes(12) + good)
    broken = len(good)
    for byte, start in ((broken + 8, broken), (broken + 12, broken + 12)):
        assert f"entry at byte {start}," in run("explain", path, "--position", str(byte)).stdout


@pytest.mark.parametrize(("suffix", "size"), [(".index", 8), (".timeindex", 12)])
def test_entries_of_an_index(suffix: str, size: int) -> None:
    path = first_segment(golden("3.9.2", "segments-0")).with_suffix(suffix)
    count = path.stat().st_size // size
    assert count > 1
    whole = run("explain", "--records", "0", "--format", "json", path)
    assert covered(lines(whole)) == path.read_bytes()
    one = run("explain", "--records", "1", "--position", str(size + 1), path).stdout
    assert f"entry 1 of {count}" in one
    assert "entry 0" not in one
    assert ("more entries; --records 0 shows all" in one) == (count > 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--offset", "999999"], "no batch holds offset 999999"),
        (["--position", "99999999"], "is not in the file"),
    ],
)
def test_missing_places(arguments: list[str], message: str) -> None:
    result = run("explain", *arguments, first_segment(golden("3.9.2", "plain-0")))
    assert result.exit_code == 2
    assert message in result.stderr


def test_json_has_no_surprises(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(batch(0, [record(0, b"\xff", headers=[(b"\xfe", None)])]))
    for line in run("explain", path, "--format", "json").stdout.splitlines():
        json.loads(line)


def _messages(path: Path, position: int) -> list[list[dict[str, Any]]]:
    """The sections of messages: fields with paths below those of keys and values of records."""
    shown = lines(
        run("explain", "--records", "0", "--position", str(position), "--format", "json", path)
    )
    sections: dict[str, list[dict[str, Any]]] = {}
    for field in shown:
        if " in /" in field["section"]:
            sections.setdefault(field["section"], []).append(field)
    return list(sections.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("0.10.0.1", "__consumer_offsets-0"),
        ("4.0.2", "__share_group_state-0"),  # layouts of an early release
        ("4.3.1", "__consumer_offsets-0"),
        ("4.3.1", "__transaction_state-0"),
        ("4.3.1", "__cluster_metadata-0"),
        ("4.3.1", "."),  # a snapshot
    ],
)
def test_messages_in_records_are_taken_apart_to_each_byte(version: str, name: str) -> None:
    path = next(file for file in golden(version, name).iterdir() if file.suffix in LOGS)
    messages = 0
    with Segment(path) as segment:
        for batch in islice((batch for batch in segment.batches() if not batch.is_control), 8):
            data = {bytes(item) for record in batch.records() for item in record[2:4] if item}
            found = _messages(path, batch.position)
            whole = [covered(section) for section in found if "/body/body/" not in str(section[0])]
            assert data <= set(whole)
            messages += len(found)
            for section in found:
                assert not [field for field in section if field["error"]], section
                assert all(".ksy#/" in field["spec"] for field in section)
                first, last = section[0]["start"], section[-1]["end"]
                if not batch.is_compressed:  # positions are those of the file
                    stored = path.read_bytes()[first:last]
                    assert covered(section) == stored
    assert messages > 2


LOGS = (".log", ".checkpoint")


def test_fields_of_a_group_and_what_consumers_wrote_into_it() -> None:
    """The dump tool says the same of this record: member, subscription, assignment."""
    path = first_segment(golden("4.3.1", "__consumer_offsets-0"))
    with Segment(path) as segment:
        second = next(batch for batch in segment.batches() if batch.base_offset == 1)
    sections = _messages(path, second.position)
    names = [section[0]["section"].partition(" ")[0] for section in sections]
    assert names == [
        "GroupMetadataKey",
        "GroupMetadataValue",
        "ConsumerProtocolSubscription",
        "ConsumerProtocolAssignment",
    ]
    line = next(
        line
        for line in dumps("4.3.1")["__consumer_offsets-0/00000000000000000000.log"].splitlines()
        if line.startswith("| offset: 1 ")
    )
    told = json.loads(line.partition(" payload: ")[2])["data"]
    (member,) = told["members"]
    texts = {
        field["path"].rpartition("/")[2]: bytes.fromhex(field["value"]["hex"]).decode()
        for field in sections[1]
        if isinstance(field["value"], dict)
        and "/subscription" not in field["path"]
        and "/assignment" not in field["path"]
    }
    assert (texts["client_id"], texts["client_host"]) == (member["clientId"], member["clientHost"])
    topics = [
        bytes.fromhex(field["value"]["hex"]).decode()
        for field in sections[2]
        if "/topics/" in field["path"] and isinstance(field["value"], dict)
    ]
    assert topics == member["subscription"]["topics"]


@pytest.mark.slow
def test_what_does_not_decode_is_shown_up_to_where_it_does(tmp_path: Path) -> None:
    place = tmp_path / "__consumer_offsets-0"
    place.mkdir()
    path = place / f"{0:020}.log"
    with Segment(first_segment(golden("4.3.1", "__consumer_offsets-0"))) as segment:
        record_ = next(item for item in segment.records() if item.offset == 2)
    cut = record_._replace(offset=0, value=bytes(record_.value or b"")[:-3])
    path.write_bytes(ks.encode([cut]))
    result = run("explain", "--format", "json", path)
    assert result.exit_code == 1
    *before, last = lines(result)
    assert "[overrun]" in last["error"]
    assert any(field["path"].endswith("value/body/body/offset") for field in before)
    path.write_bytes(ks.encode([cut._replace(key=b"\0\x63what")]))
    result = run("explain", path)
    assert result.exit_code == 1
    assert "/key: __consumer_offsets has no key of type 99" in result.stdout
    assert run("explain", "--no-decode", path).exit_code == 0
    user = tmp_path / "orders-0"
    place.rename(user)
    assert run("explain", user / path.name).exit_code == 0


@pytest.mark.slow
def test_a_directory_stands_for_its_files(tmp_path: Path) -> None:
    """As each of them alone; what is left out is said."""
    home = tmp_path / "logs"
    for name in ("segments-0", "transactions-0"):
        shutil.copytree(golden("4.3.1", name), home / name)
    shutil.copy(golden("4.3.1", "meta.properties"), home)
    shutil.copytree(golden("4.3.1", "plain-0"), home / f"plain-0.{'a' * 32}-delete")
    (home / "notes.txt").write_text("x")
    every = [home / "meta.properties", *sorted(home.glob("*-0/*"))]
    shown = [path for path in every if path.stat().st_size]
    result = run("explain", "--format", "json", home)
    assert result.exit_code == 0
    alone = [line for path in shown for line in lines(run("explain", "--format", "json", path))]
    assert lines(result) == alone
    assert {line["file"] for line in alone} == {str(path) for path in shown}
    assert lines(run("explain", "--format", "json", *shown)) == alone
    assert "2 files and directories left out: notes.txt, plain-0.aaaa" in result.stderr
    assert ".timeindex (empty)" in result.stderr or ".index (empty)" in result.stderr
    text = run("explain", home).stdout.splitlines()
    assert [line for line in text if line in map(str, every)] == [str(path) for path in shown]


def test_an_offset_of_a_directory_is_in_one_segment() -> None:
    home = golden("4.3.1", "segments-0")
    one = first_segment(home)
    offset = str(int(sorted(home.glob("*.log"))[1].stem) - 1)
    shown = run("explain", "--offset", offset, "--format", "json", home)
    assert shown.exit_code == 0
    assert lines(shown) == lines(run("explain", "--offset", offset, "--format", "json", one))
    assert run("explain", "--position", "0", home).exit_code == 2
    assert run("explain", "--offset", "99999", home).exit_code == 2


def test_a_bad_file_among_others_does_not_stop_them(tmp_path: Path) -> None:
    good = first_segment(golden("4.3.1", "segments-0"))
    bad = tmp_path / "nothing"
    result = run("explain", "--format", "json", bad, good)
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert lines(result) == lines(run("explain", "--format", "json", good))
    assert run("explain", bad, bad).exit_code == 2


@pytest.mark.slow
def test_a_large_field_is_cut_and_says_so(tmp_path: Path) -> None:
    """Neither form holds the hex of all of it; ``--full`` prints all of it, in pieces."""
    size = WHOLE_BYTES + MEBIBYTE
    value = bytes(range(256)) * (size // 256)
    log = tmp_path / f"{0:020}.log"
    log.write_bytes(ks.encode([ks.Record(0, 1, b"k", value)]))
    out = tmp_path / "out"
    for options in (), ("--format", "json"), ("--format", "json", "--full"):
        tracemalloc.start()
        with out.open("w") as file, redirect_stdout(file):
            code = main(["explain", *options, str(log)], standalone_mode=False)
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert not code
        assert memory < 4 * size, options
        if not options:
            assert f"... {size + len(zigzag(size)) - 64} more bytes" in out.read_text()
            continue
        fields = [json.loads(line) for line in out.read_text().splitlines()]
        stored = log.read_bytes()
        for field in fields:
            data = stored[field["start"] : field["end"]]
            assert bytes.fromhex(field["hex"]) + data[len(data) - field["cut"] :] == data
            assert bool(field["cut"]) == (len(data) > MEBIBYTE and "--full" not in options)
        (shown,) = [field for field in fields if field["path"].endswith("/body/value")]
        assert shown["value"] == {"hex": (value if "--full" in options else value[:64]).hex()}
