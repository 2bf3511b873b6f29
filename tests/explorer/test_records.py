"""The engine finds, saves and decodes records as the library does."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.layout.framing import fixed_size
from kafkaspec.layout.names import TIME_INDEX_ENTRY
from tests.cli.helpers import run
from tests.explorer.testee import SAMPLE, Engine, needs_build, wanted
from tests.goldens import GOLDEN

pytestmark = [needs_build, pytest.mark.slow]

NEWEST = GOLDEN / SAMPLE[-1] / "logs"
REGISTRY = Path(__file__).parents[1] / "values" / "data" / "confluent" / "logs"
ALL = ("key", "value", "headers")


def _log(folder: Path, values: list[dict[str, Any]]) -> tuple[Path, list[ks.Record]]:
    records = [
        ks.Record(
            number,
            1_000 + number * 10,
            None if number % 7 == 3 else f"key-{number % 5}".encode(),
            json.dumps(value).encode() if number % 11 else b"\xff\x00no text",
            (("trace", f"t{number % 4}".encode()), ("none", None)) if number % 2 else (),
        )
        for number, value in enumerate(values)
    ]
    path = folder / f"{0:020d}.log"
    half = len(records) // 2
    data = [ks.encode(records[:half], compression="lz4"), ks.encode(records[half:])]
    path.write_bytes(b"".join(data))
    return path, records


VALUES: list[dict[str, Any]] = [
    {
        "id": 9_007_199_254_740_993 if number == 5 else 9_007_199_254_740_992,
        "n": number,
        "name": f"name {number % 6}",
        "lines": [{"sku": f"K{number % 9}"}, {"sku": "K"}],
        "none": None,
    }
    for number in range(60)
]


def _json(record: ks.Record) -> Any:
    try:
        return json.loads(record.value or b"")
    except ValueError:
        return {}


def _has(*parts: bytes) -> Callable[[ks.Record], bool]:
    """Whether any of the bytes of a record has all of these."""

    def test(record: ks.Record) -> bool:
        found = [record.key or b"", record.value or b""]
        for name, value in record.headers:
            own = name.encode() if isinstance(name, str) else name
            found += [own, value or b"", own + b"=" + (value or b"")]
        return any(all(part in each for part in parts) for each in found)

    return test


SEARCHES: list[tuple[dict[str, Any], Callable[[ks.Record], bool]]] = [
    (wanted("key-3", "equals"), lambda r: r.key == b"key-3"),
    (wanted("key-", "prefix"), lambda r: r.key is not None),
    (wanted("ame 4", "contains", ("value",)), lambda r: b"ame 4" in (r.value or b"")),
    (wanted("K7", "contains", ALL), _has(b"K7")),
    (wanted("trace=t3", "equals", ("headers",)), lambda r: ("trace", b"t3") in r.headers),
    (wanted("^name", "regex", ("headers",)), lambda r: False),
    (wanted("^no", "regex", ("headers",)), lambda r: bool(r.headers)),
    (wanted("key-[24]$", "regex"), lambda r: re.search(b"key-[24]$", r.key or b"") is not None),
    (wanted("$.n", "json", ("value",)), lambda r: "n" in _json(r)),
    (wanted("$.n = 17", "json", ("value",)), lambda r: _json(r).get("n") == 17),
    (wanted("n >= 50", "json", ("value",)), lambda r: _json(r).get("n", 0) >= 50),
    (wanted("name = name 2", "json", ("value",)), lambda r: _json(r).get("name") == "name 2"),
    (
        wanted('$["name"] ~ [13]$', "json", ("value",)),
        lambda r: r.offset % 6 in (1, 3) and bool(_json(r)),
    ),
    (wanted('lines[*].sku = "K7"', "json", ("value",)), lambda r: _has(b'"K7"')(r)),
    (wanted("lines[1].sku != K", "json", ("value",)), lambda r: False),
    (wanted("none = null", "json", ("value",)), lambda r: "none" in _json(r)),
    (wanted("id = 9007199254740993", "json", ("value",)), lambda r: r.offset == 5),
    (wanted("", since=1_200), lambda r: r.timestamp >= 1_200),
    (wanted("", since=1_100, until=1_450), lambda r: 1_100 <= r.timestamp <= 1_450),
    (
        wanted("key-1", since=1_100, until=1_450),
        lambda r: r.key == b"key-1" and 1_100 <= r.timestamp <= 1_450,
    ),
]  # fmt: skip


def test_a_search_finds_what_python_finds(engine: Engine, tmp_path: Path) -> None:
    """Also with a damaged checksum; what is saved is what was found, in both formats."""
    path, records = _log(tmp_path, VALUES)
    calls = []
    for search, _ in SEARCHES:
        calls.append(["find", {"files": [1], "wanted": search}])
        calls += [
            ["write", {"files": [1], "format": to, "wanted": search}] for to in ("jsonl", "csv")
        ]
    answers = iter(engine.call([path], *calls)[1:])
    some = 0
    for search, holds in SEARCHES:
        found, lines, table = next(answers), next(answers), next(answers)
        expected = [record.offset for record in records if holds(record)]
        hits = [int(hit["offset"]) for said in found["said"] for hit in said["hits"]]
        assert hits == expected, search
        left = {name: found["result"][name] for name in ("slow", "rest")}
        assert found["result"]["found"] == len(expected)
        assert left == {"slow": [], "rest": None}, "all were searched"
        saved = [json.loads(line)["offset"] for line in _text(lines).splitlines()]
        assert saved == expected, search
        rows = list(csv.DictReader(io.StringIO(_text(table), newline="")))
        assert [int(row["offset"]) for row in rows] == expected, search
        some += 0 < len(expected) < len(records)
    assert some > 12


def _text(answer: dict[str, Any]) -> str:
    assert "error" not in answer, answer
    return b"".join(bytes(map(int, piece)) for piece in answer["said"]).decode()


@pytest.mark.parametrize(
    ("text", "how"), [("(", "regex"), ("$.a =", "json"), ("a b", "json"), ("a < null", "json")]
)
def test_what_is_no_search_is_said(engine: Engine, tmp_path: Path, text: str, how: str) -> None:
    path, _ = _log(tmp_path, VALUES)
    (answer,) = engine.call([path], ["find", {"files": [1], "wanted": wanted(text, how)}])[1:]
    assert answer["error"]["reason"] == "invalid_value"


def test_a_search_goes_on_behind_damage(engine: Engine, tmp_path: Path) -> None:
    """Records of a batch whose checksum is wrong are found and saved, as they are shown."""
    path, _ = _log(tmp_path, VALUES)
    data = bytearray(path.read_bytes())
    data[17] ^= 1
    path.write_bytes(data)
    search = wanted("key-1", "equals")
    _, found, saved, whole = engine.call(
        [path],
        ["find", {"files": [1], "wanted": search}],
        ["write", {"files": [1], "format": "jsonl", "wanted": search}],
        ["write", {"files": [1], "format": "jsonl", "wanted": None}],
    )
    assert found["result"]["found"] == len(_text(saved).splitlines()) > 5
    assert whole["error"]["reason"] == "checksum_mismatch"


def test_csv_has_what_dump_prints(engine: Engine) -> None:
    """All columns of all records, by Python's reader of CSV; of Kafka's own topics too."""
    compared = 0
    for name in ("headers-0", "codec-gzip-0", "transactions-0", "__consumer_offsets-0", "plain-0"):
        path = NEWEST / name / f"{0:020d}.log"
        (answer,) = engine.call([path], ["write", {"files": [1], "format": "csv", "wanted": None}])[
            1:
        ]
        rows = list(csv.DictReader(io.StringIO(_text(answer), newline="")))
        lines = [
            json.loads(line) for line in run("dump", "--format", "json", path).stdout.splitlines()
        ]
        assert len(rows) == len(lines) > 0
        for row, line in zip(rows, lines, strict=True):
            line.pop("problem", None)
            assert list(row) == list(line)
            for column, value in line.items():
                cell = row[column]
                if isinstance(value, str):
                    assert cell == value, (name, column)
                else:
                    assert (json.loads(cell) if cell else None) == value, (name, column)
                compared += 1
    assert compared > 1000


# -- partitions ------------------------------------------------------------------------------------


def test_lookups_choose_the_segment_that_the_library_chooses(
    engine: Engine, tmp_path: Path
) -> None:
    killed = shutil.copytree(NEWEST / "segments-0", tmp_path / "killed-0")
    index = max(killed.glob("*.timeindex"))
    data = index.read_bytes()
    index.write_bytes(data[: -fixed_size(TIME_INDEX_ENTRY)])  # added when a broker stops
    compared = 0
    for folder in (NEWEST / "segments-0", NEWEST / "deleted-records-0", killed):
        files = sorted(
            path for path in folder.iterdir() if path.suffix in (".log", ".index", ".timeindex")
        )
        logs = [number + 1 for number, path in enumerate(files) if path.suffix == ".log"]
        with ks.open(folder) as partition:
            assert isinstance(partition, ks.Partition)
            records = list(partition.records())
            last = max(record.timestamp for record in records)
            times = sorted({record.timestamp for record in records} | {last + 1})
            calls = [["findOffset", logs, f"big:{record.offset}"] for record in records]
            calls += [["findTime", logs, f"big:{time}"] for time in times]
            _, *answers = engine.call(files, *calls)
            for record, answer in zip(records, answers, strict=False):
                found = partition.find(offset=record.offset)
                _same(found, answer["result"], files)
            for time, answer in zip(times, answers[len(records) :], strict=True):
                found = partition.find(timestamp=time, log_start="ignore")
                _same(found, answer["result"], files)
                compared += 1
    assert compared > 20


def _same(found: Any, answer: dict[str, Any], files: list[Path]) -> None:
    assert answer["steps"][0]["where"] == "segment"
    if found.batch is None:
        assert answer["row"] is None
        return
    assert files[answer["file"] - 1].name == found.path.name
    if found.record is not None:
        assert int(answer["offset"]) == found.record.offset


def test_a_survey_finds_what_a_scan_finds(engine: Engine, tmp_path: Path) -> None:
    data = bytearray((NEWEST / "segments-0" / f"{0:020d}.log").read_bytes())
    data[-1] ^= 1
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(data + bytes(100))
    index = tmp_path / f"{0:020d}.snapshot"
    index.write_bytes(b"\0")
    _, surveyed, other, scan = engine.call([log, index], ["survey", 1], ["survey", 2], ["scan", 1])
    found = [(one["reason"], one["severity"]) for one in surveyed["result"]["findings"]]
    assert found == [("checksum_mismatch", "error"), ("zero_tail", "warning")]
    result = surveyed["result"]["result"]
    assert {key: result[key] for key in ("records", "firstOffset", "newest")} == {
        key: scan["result"][key] for key in ("records", "firstOffset", "newest")
    }
    assert other["result"]["errors"] == 1


# -- schemas ---------------------------------------------------------------------------------------


def test_values_are_decoded_by_the_schemas_of_a_registry(engine: Engine) -> None:
    pytest.importorskip("pyarrow")
    from kafkaspec.values.avro import compile_avro
    from kafkaspec.values.definition import Definition, SchemaType

    registry = sorted((REGISTRY / "_schemas-0").glob("*.log"))
    compared, kinds = 0, set()
    schemas: dict[int, list[Any]] = {}  # each context has its own
    for path in registry:
        for record in ks.open(path).records():
            key, value = json.loads(record.key or b"{}"), json.loads(record.value or b"{}")
            if key["keytype"] == "SCHEMA" and value:
                schemas.setdefault(value["id"], []).append(value)
    for folder in sorted(REGISTRY.iterdir()):
        if not folder.is_dir() or folder.name.startswith("_"):
            continue
        for log in sorted(folder.glob("*.log")):
            records = list(ks.open(log).records())
            files = [*registry, log]
            mine = len(files)
            calls: list[list[Any]] = [["useSchemas", list(range(1, mine))], ["list", mine]]
            _, count, _, rows = engine.call(files, *calls, ["rows", mine, 0, 1000])
            assert count["result"] == len(schemas)
            number = len(rows["result"]["row"])
            pages = engine.call(
                files, *calls, *(["records", mine, row, 0, 1000] for row in range(number))
            )[3:]
            shown = [one for page in pages for one in page["result"]["records"]]
            assert len(shown) == len(records)
            for one, record in zip(shown, records, strict=True):
                value = record.value or b""
                known = schemas.get(int.from_bytes(value[1:5]), []) if value[:1] == b"\0" else []
                kinds |= {each.get("schemaType", "AVRO") for each in known}
                if not known or any(
                    each.get("references") or each.get("schemaType", "AVRO") != "AVRO"
                    for each in known
                ):
                    continue
                import pyarrow as pa

                message = one["value"]["message"]
                assert message is not None, (log, one["problem"])
                assert str(known[0]["id"]) in one["value"]["messageName"]
                meant: list[Any] = []
                for each in known:
                    decoder = compile_avro(Definition(SchemaType.AVRO, each["schema"]))
                    decoded = decoder.decode(pa.array([value[5:]], pa.binary()))
                    meant += [] if decoded.failures else decoded.values.to_pylist()
                assert any(_alike(json.loads(message), each) for each in meant), (message, meant)
                compared += 1
    assert compared > 5


def test_decoded_values_are_saved_as_shown_under_the_names_of_dump(engine: Engine) -> None:
    """With the id of the schema, what is wrong, and the bytes; as JSON lines and as CSV."""
    pytest.importorskip("pyarrow")
    registry = sorted((REGISTRY / "_schemas-0").glob("*.log"))
    decoded = 0
    for folder in sorted(REGISTRY.iterdir()):
        if not folder.is_dir() or folder.name.startswith("_"):
            continue
        (log,) = folder.glob("*.log")
        files = [*registry, log]
        mine = len(files)
        calls: list[list[Any]] = [["useSchemas", list(range(1, mine))], ["list", mine]]
        calls += [
            ["write", {"files": [mine], "format": to, "wanted": None}] for to in ("jsonl", "csv")
        ]
        *_, rows, lines, table = engine.call(files, *calls[:2], ["rows", mine, 0, 1000], *calls[2:])
        count = len(rows["result"]["row"])
        pages = engine.call(
            files, *calls[:2], *(["records", mine, row, 0, 1000] for row in range(count))
        )[3:]
        texts = engine.call(
            files, *calls[:2], *(["recordsJson", mine, row] for row in range(count))
        )[3:]
        assert "".join(text["result"] for text in texts) == _text(lines)
        shown = [one for page in pages for one in page["result"]["records"]]
        saved = [json.loads(line) for line in _text(lines).splitlines()]
        cells = list(csv.DictReader(io.StringIO(_text(table), newline="")))
        dumped = run(
            "dump", "--format", "json", "--value", "decode", "--raw", "--depth", "2", folder
        )
        typed = [json.loads(line) for line in dumped.stdout.splitlines()]
        assert len(saved) == len(shown) == len(cells) == len(typed) > 0
        for one, view, cell, other in zip(saved, shown, cells, typed, strict=True):
            assert list(cell) == list(one)
            for side in ("key", "value"):
                message, raw = view[side]["message"], one[f"{side}_raw"]
                wrong = message is None and f"{side}_schema_id" in one and view["problem"]
                if message is not None:
                    assert one[side] == json.loads(message)
                    decoded += 1
                elif not wrong or one[f"{side}_schema_id"] is None:
                    assert one[side] == raw
                for name in (side, f"{side}_raw", f"{side}_schema_id", f"{side}_error"):
                    value = one[name]
                    assert cell[name] == value or json.loads(cell[name] or "null") == value
            if "value_schema_id" not in other:
                continue
            names = [name for name in other if name.startswith("value") and name in one]
            assert [name for name in one if name.startswith("value")] == names
            assert one["value_raw"] == other["value_raw"]
            if one["value_schema_id"] is not None:
                assert one["value_schema_id"] == other["value_schema_id"]
            if one["value_error"] is None and other["value_error"] is None:
                assert (one["value"] is None) == (other["value"] is None)
    assert decoded > 5


def test_a_value_that_a_schema_does_not_read_is_saved_as_its_bytes(
    engine: Engine, tmp_path: Path
) -> None:
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(
        ks.encode([ks.Record(n, 0, None, each) for n, each in enumerate((b"\2A", b"\4A"))])
    )
    what = {"files": [1], "format": "jsonl", "wanted": None}
    *_, before, _, after = engine.call(
        [path], ["write", what], ["giveSchema", '"string"'], ["write", what]
    )
    assert "value_raw" not in _text(before)
    good, bad = [json.loads(line) for line in _text(after).splitlines()]
    assert (good["value"], good["value_error"], good["value_raw"]) == ("A", None, "\2A")
    assert (bad["value"], bad["value_raw"]) == (None, "\4A")
    assert "are left" in bad["value_error"]
    assert good["key"] is good["key_raw"] is good["value_schema_id"] is None


def _alike(found: Any, expected: Any) -> bool:
    """Whether JSON says what Python has; times and the like are texts in it."""
    if isinstance(expected, dict):
        return list(found) == list(expected) and all(
            _alike(found[name], value) for name, value in expected.items()
        )
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(_alike, found, expected))
    if isinstance(expected, bytes):
        return bool(found == expected.decode("latin-1"))
    if isinstance(expected, (str, int, float, bool)) or expected is None:
        return bool(found == expected)
    return isinstance(found, str)


def test_a_given_schema(engine: Engine, tmp_path: Path) -> None:
    schema = """{"type": "record", "name": "Person", "fields": [
      {"name": "name", "type": "string"}, {"name": "age", "type": ["null", "long"]},
      {"name": "tags", "type": {"type": "map", "values": "double"}},
      {"name": "next", "type": ["null", "Person"]}]}"""
    value = b"\x06Ann\x02\x3c\x02\x02x" + b"\0\0\0\0\0\0\xf8\x3f" + b"\0\0"
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(ks.encode([ks.Record(0, 0, None, value), ks.Record(1, 0, None, b"\x06An")]))
    _, _, _, page, wrong = engine.call(
        [path],
        ["list", 1],
        ["giveSchema", schema],
        ["records", 1, 0, 0, 10],
        ["giveSchema", '{"type": "nothing"}'],
    )
    good, bad = page["result"]["records"]
    assert json.loads(good["value"]["message"]) == {
        "name": "Ann", "age": 30, "tags": {"x": 1.5}, "next": None,
    }  # fmt: skip
    assert bad["value"]["message"] is None
    assert "are left" in bad["problem"]
    assert wrong["error"]["reason"] == "invalid_value"


def _given(engine: Engine, path: Path, schema: Any, *values: bytes) -> list[Any]:
    """Return the values of records as a schema reads them."""
    path.write_bytes(ks.encode([ks.Record(0, 0, None, value) for value in values]))
    calls = ["list", 1], ["giveSchema", json.dumps(schema)], ["records", 1, 0, 0, len(values)]
    _, _, given, page = engine.call([path], *calls)
    return page["result"]["records"] if "error" not in given else [given["error"]]


@pytest.mark.slow
def test_schemas_cannot_take_the_engine_from_its_user(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / f"{0:020d}.log"
    nested: Any = "null"  # two records in each, and no byte in any
    for level in range(50):
        fields = [{"name": "a", "type": nested}, {"name": "b", "type": f"R{level - 1}"}]
        nested = {"type": "record", "name": f"R{level}", "fields": fields[: 2 if level else 1]}
    (record,) = _given(engine, path, nested, b"")
    assert "items" in record["problem"]
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    size = 1 << 20
    long = bytes([0x80, 0x80, 0x80, 1]) + b"\7" * size
    amount, low, huge = _given(engine, path, decimal, b"\4\x30\x39", b"\2\xff", long)
    assert [json.loads(each["value"]["message"]) for each in (amount, low)] == ["123.45", "-0.01"]
    assert "a decimal of more than" in huge["problem"]
    (error,) = _given(engine, path, {"type": "fixed", "name": "F", "size": "x"}, b"abc")
    assert error["reason"] == "invalid_value"


def test_schemas_that_refer_to_each_other_twice_are_read_once(
    engine: Engine, tmp_path: Path
) -> None:
    count = 30
    registry = []
    for number in range(count):
        key = {"keytype": "SCHEMA", "subject": f"s{number}", "version": 1}
        other = [{"subject": f"s{number + 1}", "version": 1}] * 2 * (number + 1 < count)
        value = {"id": number, "schema": '"string"', "references": other}
        registry.append(ks.Record(number, 0, json.dumps(key).encode(), json.dumps(value).encode()))
    files = [tmp_path / "_schemas-0" / f"{0:020d}.log", tmp_path / "t-0" / f"{0:020d}.log"]
    for path, records in zip(
        files, (registry, [ks.Record(0, 0, None, bytes(5) + b"\2A")]), strict=True
    ):
        path.parent.mkdir()
        path.write_bytes(ks.encode(records))
    *_, page = engine.call(files, ["useSchemas", [1]], ["list", 2], ["records", 2, 0, 0, 1])
    assert page["result"]["records"][0]["value"]["message"] == '"A"'


def test_json_that_is_nested_too_deeply_does_not_end_a_search(
    engine: Engine, tmp_path: Path
) -> None:
    path = tmp_path / f"{0:020d}.log"
    values = b"[" * 200_000 + b"]" * 200_000, b'["K7"]'
    path.write_bytes(ks.encode([ks.Record(n, 0, None, each) for n, each in enumerate(values)]))
    query = {"files": [1], "wanted": wanted("$ ~ K7", "json", ("value",))}
    _, _, found = engine.call([path], ["list", 1], ["find", query])
    assert found["result"]["found"] == 1


# -- searches of what is decoded -------------------------------------------------------------------

KARAPACE = REGISTRY.parents[1] / "karapace" / "logs"
PATHS: list[tuple[str, str, str, str]] = [
    ("orders-0", "value", "qty >= 200", "value.qty >= 200"),
    ("orders-0", "value", 'total["currency"] = "EUR"', "value.total.currency = 'EUR'"),
    ("orders-0", "value", "ship_to.city = Köln", "value.ship_to.city = 'Köln'"),
    ("orders-0", "value", "ship_to = null", "value is not null and value.ship_to is null"),
    ("orders-1", "key", "id = 1055", "key.id = 1055"),
    ("every-type-0", "value", "b = true", "value.b"),
    ("every-type-0", "value", "en = CLUBS", "value.en = 'CLUBS'"),
    ("every-type-0", "value", "i < 0", "value.i < 0"),
    ("every-type-0", "value", f"l = {(1 << 63) - 1}", f"value.l = {(1 << 63) - 1}"),
    ("tree-0", "value", "label = b0", "value.label = 'b0'"),
    ("users-0", "value", "id > 2", "value.id > 2"),
    ("proto-orders-0", "value", "customer = cust2", "value.customer = 'cust2'"),
    ("proto-orders-0", "value", "cash.currency = CHF", "value.cash.currency = 'CHF'"),
    ("proto-rewritten-0", "value", "channel = CHANNEL_WEB", "value.channel = 'CHANNEL_WEB'"),
    ("users-0", "value", "address.city = C0", "value.address.city = 'C0'"),
]


def _searched(engine: Engine, folder: Path, *searches: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what each search of a topic finds while its registry is open."""
    (log,) = folder.glob("*.log")
    registry = sorted((folder.parent / "_schemas-0").glob("*.log"))
    ids = list(range(1, len(registry) + 1))
    calls = [["find", {"files": [len(ids) + 1], "wanted": search}] for search in searches]
    _, _, *answers = engine.call([*registry, log], ["useSchemas", ids], *calls)
    for answer in answers:
        answer["offsets"] = [int(hit["offset"]) for said in answer["said"] for hit in said["hits"]]
    return answers


def test_paths_of_decoded_values_find_what_find_finds(engine: Engine) -> None:
    """Paths of decoded values match as in ``kafkaspec find --where``; bytes have no such paths."""
    some = 0
    for topic, side, text, where in PATHS:
        search = wanted(text, "json", (side,))
        found, raw = _searched(engine, KARAPACE / topic, search, {**search, "bytes": True})
        decode = "--value" if side == "value" else "--key-format"
        lines = run(
            "find", "--all", "--format", "json", decode, "decode", "--depth", "8",
            "--where", where, KARAPACE / topic,
        ).stdout.splitlines()  # fmt: skip
        expected = [one["record"]["offset"] for one in map(json.loads, lines) if one["found"]]
        assert found["offsets"] == expected, (topic, text)
        assert raw["offsets"] == [], (topic, text)
        assert found["result"]["decoded"] > 0 == raw["result"]["decoded"]
        some += bool(expected)
    assert some >= len(PATHS) - 1


def test_texts_of_decoded_values_are_those_of_dump(engine: Engine) -> None:
    """Texts and expressions look at the JSON that ``dump --value decode`` prints."""
    texts = [("contains", "Köln"), ("regex", r'"qty": [1-9]\d{2}\b'), ("prefix", '{"id": 105')]
    searches = [wanted(text, how, ("value",)) for how, text in texts]
    raw = wanted("Köln", "contains", ("value",), raw=True)
    *found, bytes_ = _searched(engine, KARAPACE / "orders-0", *searches, raw)
    lines = run(
        "dump", "--format", "json", "--value", "decode", "--raw", KARAPACE / "orders-0"
    ).stdout.splitlines()
    values = {one["offset"]: one["value"] for one in map(json.loads, lines)}
    shown = {offset: json.dumps(each, ensure_ascii=False) for offset, each in values.items()}
    for answer, (how, text) in zip(found, texts, strict=True):
        pattern = text if how == "regex" else re.escape(text)
        test = re.match if how == "prefix" else re.search
        expected = [offset for offset, each in shown.items() if test(pattern, each)]
        assert answer["offsets"] == expected, text
        assert 0 < len(expected) < len(shown)
        assert answer["result"]["decoded"] == sum(each is not None for each in values.values())
    assert bytes_["offsets"] == found[0]["offsets"], "a text of Avro stands in the bytes as it is"
    assert bytes_["result"]["decoded"] == 0


def test_what_a_schema_does_not_read_is_searched_as_bytes_and_counted(
    engine: Engine, tmp_path: Path
) -> None:
    path = tmp_path / f"{0:020d}.log"
    values = b"\2A", b"\4A", b"\4AB"
    path.write_bytes(ks.encode([ks.Record(n, 0, None, each) for n, each in enumerate(values)]))
    searches = [
        wanted("A", "equals", ("value",)),
        wanted("\4A", "equals", ("value",)),
        wanted('$ = "AB"', "json", ("value",)),
    ]
    calls = [["find", {"files": [1], "wanted": search}] for search in searches]
    what = {"files": [1], "format": "jsonl", "wanted": searches[0]}
    *_, first, second, third, saved = engine.call(
        [path], ["giveSchema", '"string"'], *calls, ["write", what]
    )
    for answer, offset in ((first, 0), (second, 1), (third, 2)):
        assert [hit["offset"] for said in answer["said"] for hit in said["hits"]] == [str(offset)]
        assert (answer["result"]["decoded"], answer["result"]["undecoded"]) == (2, 1)
    assert [json.loads(line)["value"] for line in _text(saved).splitlines()] == ["A"]


def test_a_search_counts_what_it_passes_over(engine: Engine, tmp_path: Path) -> None:
    """A batch of more than 512 MiB, and records after damage; a check names the batch too."""
    size = (512 << 20) + 1
    path = tmp_path / f"{0:020d}.log"
    values = b"K7", b"no", b"K7"
    good, huge, cut = (
        ks.encode([ks.Record(10 * at + n, 0, None, each) for n, each in enumerate(values)])
        for at in range(3)
    )
    broken = bytearray(cut)
    broken[-len(b"\4K7") - 1] = 0x7F  # the length of the last value
    layout = huge[:8] + (size - 12).to_bytes(4) + huge[12:]
    with path.open("wb") as file:
        file.write(good + layout)
        file.truncate(len(good) + size)  # holes take no room
        file.seek(0, 2)
        file.write(broken)
    search = {"files": [1], "wanted": wanted("K7", "equals", ("value",))}
    _, found = engine.call([path], ["find", search])
    assert [int(hit["offset"]) for said in found["said"] for hit in said["hits"]] == [0, 2, 20]
    counts = {name: found["result"][name] for name in ("large", "damaged", "unread", "searched")}
    assert counts == {"large": 1, "damaged": 1, "unread": 4, "searched": 5}
