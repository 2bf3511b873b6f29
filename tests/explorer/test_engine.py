"""The engine of the explorer gives what the commands give: records, findings, look-ups."""

from __future__ import annotations

import base64
import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.checksum import CHECKSUMS
from kafkaspec.errors import Reason
from kafkaspec.log.batch import stored_offset
from tests.cli.helpers import run
from tests.explorer.testee import SAMPLE, WANTED, Engine, built, needs_build, wanted
from tests.goldens import GOLDEN, files
from tools.explorer.build import PAGE, check_types

pytestmark = [needs_build, pytest.mark.slow]

LOGS = [
    golden.path for version in SAMPLE for golden in files(".log", ".checkpoint", version=version)
]
NEWEST = GOLDEN / SAMPLE[-1] / "logs"
TAILS = {"torn_tail", "short_tail", "zero_tail"}
AREAS = {"batch", "records", "wrapper"}
MESSAGE_SETS = Path(__file__).parents[1] / "message_set" / "golden"
VECTORS = Path(__file__).parents[2] / "generated" / "vectors"


def test_the_types_hold(engine: Engine) -> None:
    check_types()


def test_the_page_that_is_checked_in_is_what_is_built(engine: Engine) -> None:
    assert (built() / PAGE.name).read_bytes() == PAGE.read_bytes(), "make explorer"


def test_records_are_those_of_dump(engine: Engine) -> None:
    compared = 0
    for path in LOGS:
        expected = run("dump", "--format", "json", path)
        answer = engine.ask("dump", file=str(path))
        assert answer["text"] == expected.stdout, path
        assert ("error" in answer) == (expected.exit_code != 0), path
        compared += len(expected.stdout)
    assert compared > 100_000


# -- damage ----------------------------------------------------------------------------------------


def _damaged(data: bytearray, how: int, luck: random.Random) -> None:
    at = luck.randrange(len(data))
    if how == 0:
        del data[at:]
    elif how == 1:
        del data[at : at + luck.randrange(1, 40)]
    elif how == 2:
        data += bytes(luck.randrange(1, 200))
    elif how == 3:
        data[at : at + 8] = luck.randbytes(8)
    elif how == 4:
        data[at % 80 % len(data)] ^= 1 << luck.randrange(8)
    else:
        data[at] ^= 1 << luck.randrange(8)
    if how == 6:
        _mend_checksums(data)


def _mend_checksums(data: bytearray) -> None:
    """Give all entries the checksum of their bytes, so that what is inside of them is looked at."""
    at = 0
    while at + 17 <= len(data):
        (size,) = struct.unpack_from(">i", data, at + 8)
        end = at + 12 + size
        if size < 14 or end > len(data):
            return
        place, start, name = (17, 21, "crc32c") if data[at + 16] == 2 else (12, 16, "crc32")
        struct.pack_into(">I", data, at + place, CHECKSUMS[name](bytes(data[at + start : end])))
        at = end


def _found(path: Path) -> list[tuple[str, int, str]]:
    """What verify finds, but what only the state of producers shows, which names no field."""
    reasons = {*map(str, Reason), *TAILS}
    return [
        (str(found.reason), found.position, found.path)
        for found in ks.verify(path).findings
        if found.file == str(path)
        and str(found.area) in AREAS
        and str(found.reason) in reasons
        and found.position is not None
        and (found.path or str(found.reason) != str(Reason.INVALID_VALUE))
    ]


def test_damage_is_found_where_verify_finds_it(engine: Engine, tmp_path: Path) -> None:
    luck = random.Random(20261123)
    path = tmp_path / "topic-0" / "00000000000000000000.log"
    path.parent.mkdir()
    # fzstd takes some broken streams that zstd refuses, which only shows where the checksum holds.
    sources = [log for log in LOGS if log.stat().st_size and "zstd" not in log.parent.name]
    damaged = 0
    for number in range(1500 if WANTED else 250):
        data = bytearray(luck.choice(sources).read_bytes())
        _damaged(data, number % 7, luck)
        path.write_bytes(data)
        expected = _found(path)
        damaged += bool(expected)
        answer = engine.ask("scan", file=str(path), data=base64.b64encode(data).decode())
        found = [(item["reason"], item["position"], item["path"]) for item in answer["findings"]]
        assert [item for item in expected if item not in found] == [], number
        # After a place where verify cannot go on, the explorer searches for the next batch.
        last = max((position for _, position, _ in expected), default=len(data))
        others = {"ignored_payload", "inner_magic"}
        further = [item for item in found if item not in expected and item[0] not in others]
        assert [item for item in further if item[1] <= last] == [], number
    assert damaged > 100


def test_the_next_batch_after_damage_is_found(engine: Engine, tmp_path: Path) -> None:
    log = NEWEST / "codec-none-0" / "00000000000000000000.log"
    (result,) = engine.call([log], ["scan", 1])[1:]
    rows = engine.call([log], ["scan", 1], ["rows", 1, 0, 100])[2]["result"]
    position, after = int(rows["position"][1]), int(rows["position"][2])
    data = bytearray(log.read_bytes())
    data[position + 8 : position + 12] = bytes([0, 0, 0, 1])  # a size that no entry has
    broken = tmp_path / log.name
    broken.write_bytes(data)
    damaged = engine.call([broken], ["scan", 1], ["rows", 1, 0, 100])[2]["result"]
    assert damaged["row"][:3] == ["0", "1", "0"]
    assert [int(place) for place in damaged["position"][:3]] == [0, position, after]
    assert len(damaged["row"]) == int(result["result"]["rows"])


def test_bytes_without_sense_end_in_findings(engine: Engine) -> None:
    luck = random.Random(7)
    for number in range(300):
        data = bytearray(luck.randbytes(luck.randrange(400)))
        if number % 2 and len(data) > 20:
            data[:8] = bytes(8)
            data[8:12] = struct.pack(">i", len(data) - 12)
            data[16] = luck.randrange(4)
            _mend_checksums(data)
        answer = engine.ask(
            "scan", file="x-0/00000000000000000000.log", data=base64.b64encode(data).decode()
        )
        rows = answer["rows"]
        sizes = [int(size) for size in rows["size"]]
        assert sum(sizes) == len(data), "every byte belongs to a row"


def test_a_bomb_is_refused(engine: Engine) -> None:
    if not WANTED:
        pytest.skip("it takes seconds: make explorer-check")
    from kafkaspec import compression

    payload = compression.compress(1, bytes((256 << 20) + 1), magic=2)
    head = struct.pack(">HiqqqhiI", 1, 0, 0, 0, -1, -1, -1, 1)
    body = head + payload
    crc = CHECKSUMS["crc32c"](body)
    data = struct.pack(">qiibI", 0, len(body) + 9, 0, 2, crc) + body
    answer = engine.ask(
        "scan", file="x-0/00000000000000000000.log", data=base64.b64encode(data).decode()
    )
    assert [item["reason"] for item in answer["findings"]] == ["decompressed_too_large"]


# -- columns ---------------------------------------------------------------------------------------


def _unusual() -> list[ks.Record]:
    """Records with all that a record may have."""
    headers = (("", None), ("h", b""), ("\u00e9", b"\xff"), ("h", b"x" * 200))
    return [
        ks.Record(0, 5, None, None),
        ks.Record(1, 0, b"", b'quote " and \\ and \n', headers),
        ks.Record(2, 1 << 40, "\u20ac\u2028\x7f".encode(), b"\xed\xa0\x80", headers[:1]),
        ks.Record(900, -1, b"key" * 50, bytes(range(256))),
        ks.Record(901, 7, b"key", b"plain"),
    ]


def test_records_in_columns_are_those_of_the_official_classes(
    engine: Engine, tmp_path: Path
) -> None:
    """A file goes through columns, a batch through the classes: of any bytes both say the same."""
    luck = random.Random(20261126)
    given = ks.encode(_unusual(), base_offset=0)
    files, calls = [], list[list[Any]]()
    for number in range(400 if WANTED else 150):
        data = bytearray(given)
        for _ in range(luck.randrange(3) if number else 0):
            how, at = luck.randrange(3), luck.randrange(61, len(data) - 300)
            if how == 0:
                data[at] ^= 1 << luck.randrange(8)
            elif how == 1:
                data[at] = luck.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
            else:
                data[at : at + luck.randrange(1, 11)] = b"\x80" * luck.randrange(12)
        struct.pack_into(">i", data, 8, len(data) - 12)
        _mend_checksums(data)
        files.append(tmp_path / f"{number}-0" / f"{0:020}.log")
        files[-1].parent.mkdir()
        files[-1].write_bytes(data)
        calls += [
            ["write", {"files": [number + 1], "format": "jsonl", "wanted": None}],
            ["recordsJson", number + 1, 0],
            ["records", number + 1, 0, 0, 100],
            ["find", {"files": [number + 1], "wanted": wanted("key", "contains")}],
            ["scan", number + 1],
        ]
    _, *answers = engine.call(files, *calls)
    broken = 0
    for number in range(len(files)):
        columns, lines, page, found, scan = answers[5 * number : 5 * number + 5]
        text = b"".join(bytes(map(int, piece)) for piece in columns["said"]).decode()
        records = page["result"]["records"]
        assert ("error" in columns) == ("error" in lines) == (page["result"]["error"] is not None)
        if "error" in lines:
            broken += 1
            assert columns["error"] == lines["error"] == page["result"]["error"], number
        else:
            assert text == lines["result"], number
        assert [line["offset"] for line in map(json.loads, text.split("\n")[:-1])] == [
            int(record["offset"]) for record in records
        ]
        keys = [bytes(map(int, record["key"]["bytes"] or ())) for record in records]
        assert found["result"]["found"] == sum(b"key" in key for key in keys), number
        hits = [hit for said in found["said"] for hit in said["hits"]]
        having = [record for record, key in zip(records, keys, strict=True) if b"key" in key]
        assert [(hit["offset"], hit["timestamp"], hit["index"]) for hit in hits] == [
            (record["offset"], record["timestamp"], record["index"]) for record in having
        ]
        findings = [each for said in scan["said"] for each in said.get("findings", ())]
        assert bool(findings) == ("error" in lines), number
    assert 20 < broken < len(files) - 20


def test_only_so_many_hits_are_kept(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.log"
    records = [ks.Record(n, 0, b"key %d" % (n % 7), None) for n in range(12_000)]
    path.write_bytes(ks.encode(records[:9000]) + ks.encode(records[9000:]))
    query = {"files": [1], "wanted": wanted("key", "prefix")}
    _, found = engine.call([path], ["find", query])
    assert found["result"]["found"] == found["said"][-1]["found"] == 12_000
    assert [int(hit["offset"]) for said in found["said"] for hit in said["hits"]] == list(
        range(10_000)
    )


# -- the specification -----------------------------------------------------------------------------


def test_every_vector_is_judged_as_the_specification_says(engine: Engine) -> None:
    """Types of the files that it shows; where only a scalar is read, positions are its own."""
    compared = 0
    for file in sorted(VECTORS.glob("*.json")):
        if file.stem in ("chunk_index", "serialized", "primitive", "flexible", "varint"):
            continue
        vectors = json.loads(file.read_text("utf-8"))["vectors"]
        answers = engine.ask("parse", vectors=vectors)
        for vector, answer in zip(vectors, answers, strict=True):
            name = f"{vector['type']} {vector['name']}"
            if vector["verdict"] == "accept":
                assert answer["end"] == vector["end"], (name, answer)
                assert answer["tree"]["start"] == 0, name
            elif "reason" in answer:
                got = answer["reason"], answer["position"], answer["path"]
                assert got == (vector["reason"], vector["offset"], vector["path"]), name
            else:
                # What follows a type is its reader's affair, and so is the order of tags.
                rest = answer["end"] * 2 != len(vector["hex"])
                assert rest or "ascend" in vector["why"], name
            compared += 1
    assert compared > 2000


def test_fields_have_their_bytes_names_and_meaning(engine: Engine) -> None:
    log = NEWEST / "codec-gzip-0" / "00000000000000000000.log"
    _, _, row, record = engine.call(
        [log], ["scan", 1], ["tree", 1, {"what": "row", "row": 0}],
        ["tree", 1, {"what": "record", "row": 0, "index": 0}],
    )  # fmt: skip
    tree = row["result"]["root"]
    nodes = {node["path"]: node for node in _flat(tree)}
    crc = nodes["/message/content/crc"]
    assert (crc["start"], crc["end"], crc["type"]) == (17, 21, "u4")
    assert crc["docLink"] == "recordbatch.md#record_batch-crc"
    assert "Castagnoli" in crc["doc"]
    codec = nodes["/message/content/attributes/compression"]
    assert (codec["enumName"], codec["bits"], codec["start"]) == ("gzip", [5, 3], 22)
    assert record["result"]["space"] == "row"
    key = next(node for node in _flat(record["result"]["root"]) if node["path"] == "/key")
    assert key["value"] == '"single"'


def _flat(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node, *(each for child in node["children"] for each in _flat(child))]


# -- look-ups, indexes, replicas -------------------------------------------------------------------


def test_lookups_find_what_the_library_finds(engine: Engine) -> None:
    compared = 0
    for folder in sorted(
        path for path in NEWEST.iterdir() if path.name in ("segments-0", "plain-0", "codec-lz4-0")
    ):
        for log in sorted(folder.glob("*.log")):
            segment = ks.open(log)
            records = list(segment.records())
            if not records:
                continue
            beside = [log, log.with_suffix(".index"), log.with_suffix(".timeindex")]
            some = records[:: max(1, len(records) // 5)]
            calls = [
                call
                for record in some
                for call in (
                    ["findOffset", [1], f"big:{record.offset}"],
                    ["findTime", [1], f"big:{record.timestamp}"],
                )
            ]
            answers = iter(engine.call(beside, *calls)[1:])
            for record in some:
                by_offset, by_time = next(answers)["result"], next(answers)["result"]
                assert int(by_offset["offset"]) == record.offset
                plain = next(each for each in records if each.timestamp >= record.timestamp)
                assert int(by_time["offset"]) == plain.offset
                assert by_time["steps"][0]["where"] == "time index"
                assert by_offset["steps"][0]["where"] == "index"
                compared += 1
    assert compared > 10


def test_a_filter_by_key_finds_each_record(engine: Engine) -> None:
    log = NEWEST / "codec-zstd-0" / "00000000000000000000.log"
    keys = [record.key for record in ks.open(log).records()]
    answers = engine.call(
        [log],
        ["find", {"files": [1], "wanted": wanted("single", "equals")}],
        ["find", {"files": [1], "wanted": wanted("", "prefix")}],
    )[1:]
    assert answers[0]["result"]["found"] == keys.count(b"single") > 0
    assert answers[1]["result"]["found"] == len(keys), "all, since nothing is asked for"
    assert sum(len(said["hits"]) for said in answers[1]["said"]) == len(keys)


def test_an_index_is_checked_against_its_log(engine: Engine, tmp_path: Path) -> None:
    log = next(
        path
        for path in sorted(NEWEST.glob("*/*.log"))
        if path.with_suffix(".index").stat().st_size >= 16
    )
    index, times = log.with_suffix(".index"), log.with_suffix(".timeindex")
    _, whole, timed = engine.call([log, index, times], ["compare", 1, 2], ["compare", 3, 1])
    assert whole["result"]["broken"] == timed["result"]["broken"] == 0
    assert whole["result"]["total"] > 0
    broken = tmp_path / index.name
    data = bytearray(index.read_bytes())
    data[7] ^= 1  # the position of the first entry
    broken.write_bytes(data)
    (result,) = engine.call([log, broken], ["compare", 1, 2])[1:]
    assert result["result"]["broken"] == 1
    assert result["result"]["entries"][0]["reason"] == "index_position"


def test_replicas_differ_where_they_do(engine: Engine, tmp_path: Path) -> None:
    log = NEWEST / "plain-0" / "00000000000000000000.log"
    batches = list(ks.open(log).batches())
    other = tmp_path / log.name
    data = bytearray(log.read_bytes())
    data[batches[1].position + 70] ^= 1
    other.write_bytes(data)
    _, same, different = engine.call([log, log, other], ["compare", 1, 2], ["compare", 1, 3])
    assert same["result"]["same"] is True
    assert different["result"]["same"] is False
    assert int(different["result"]["difference"]["offset"]) == batches[1].base_offset


def test_every_kind_of_file_has_a_table(engine: Engine) -> None:
    paths = [
        path
        for path in sorted(NEWEST.rglob("*"))
        if path.is_file() and path.suffix not in (".log", ".checkpoint")
    ]
    calls = [
        call
        for number in range(len(paths))
        for call in (["table", number + 1, 0, 50], ["tree", number + 1, {"what": "file"}])
    ]
    infos, *answers = engine.call(paths, *calls)
    kinds = {info["kind"] for info in infos}
    assert {"offset_index", "time_index", "transaction_index", "producer_snapshot"} <= kinds
    assert {
        "leader_epoch_checkpoint",
        "offset_checkpoint",
        "partition_metadata",
        "meta_properties",
    } <= kinds
    assert "unknown" not in kinds
    for info, table, tree in zip(infos, answers[::2], answers[1::2], strict=True):
        assert table["result"]["findings"] == [], info["path"]
        assert tree["result"]["error"] is None, info["path"]


def test_messages_of_kafka_0_7_have_a_table(engine: Engine) -> None:
    for path in sorted(MESSAGE_SETS.rglob("*.kafka")):
        batches = list(ks.open(path).batches())
        (table,) = engine.call([path], ["table", 1, 0, 10_000])[1:]
        rows = table["result"]["rows"]
        assert [(int(row[0]), row[3]) for row in rows] == [
            (stored_offset(batch), batch.compression_name) for batch in batches
        ], path


def test_a_list_of_findings_has_an_end(engine: Engine) -> None:
    entry = bytes(8) + struct.pack(">i", 14) + bytes(4) + b"\x09" + bytes(9)
    data = base64.b64encode(entry * 12_000).decode()
    answer = engine.ask("scan", file="x-0/00000000000000000000.log", data=data)
    assert len(answer["findings"]) == 10_001
    assert answer["findings"][-1]["reason"] == "more"
