"""Schemas of a registry's topic: real ones, and what registries leave in it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from uuid import UUID

import avro.schema
import fastavro.schema
import pytest

import kafkaspec as ks
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.results import Finding, OffsetRange
from kafkaspec.values.definition import Definition, SchemaError, SchemaType
from kafkaspec.values.options import Bounds
from kafkaspec.values.registry.problems import Fault
from kafkaspec.values.registry.schema import Reference, RegistryState
from tests.values.avro import made
from tests.values.registry.topics import (
    ABORT,
    COMMIT,
    DATA,
    marker,
    other,
    record,
    schema,
    tombstone,
    write,
)

KARAPACE, CONFLUENT = (DATA / name / "logs" for name in ("karapace", "confluent"))


def kinds(log: ks.SchemaLog) -> Counter[Fault]:
    return Counter(problem.kind for problem in log.problems)


@pytest.mark.parametrize("home", [KARAPACE, CONFLUENT], ids=["karapace", "confluent"])
def test_every_id_and_guid_of_real_rows_is_there(home: Path) -> None:
    """What a producer wrote with an id is of the subject of its topic, unless it is shared."""
    log = ks.SchemaLog.open(home)
    assert log.problems == ()
    seen = Counter[str]()
    for file in sorted((home.parent / "expected").glob("*.jsonl")):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            if "error" in row:
                continue
            for part in ("key", "value"):
                number = row.get(f"{part}_schema_id")
                if number is None:
                    continue
                found = log.by_id(number, row.get("context", ""))
                assert found is not None, row
                seen[f"{file.stem}-{part}"] += 1
                subjects = {x.subject for x in log.schemas if x.id == number}
                if f"{file.stem}-{part}" in log.subjects and "latest" not in row:
                    assert f"{file.stem}-{part}" in subjects
                guid = row.get(f"{part}_guid")
                if guid is not None:
                    assert found.guid == UUID(guid)
                    assert log.by_guid(guid) == log.by_guid(UUID(guid).bytes) == found
    assert sum(seen.values()) > 15
    assert len(seen) >= 6


def test_subjects_and_versions_of_karapace() -> None:
    log = ks.SchemaLog.open(KARAPACE)
    assert [each.id for each in log.versions("orders-value")] == [3, 4, 5]
    assert log.schemas_of_topic("orders") == log.versions("orders-value")
    assert [each.id for each in log.schemas_of_topic("orders", "key")] == [6]
    assert log.resolve("orders-value").version == 3
    assert log.resolve("orders-value", 2).id == 4
    # A soft and a permanent delete of version 1, then the whole subject.
    assert "gone-value" not in log.subjects
    gone = log.versions("gone-value", deleted=True)
    assert [(each.version, each.state) for each in gone] == [
        (1, RegistryState.REMOVED),
        (2, RegistryState.DELETED),
    ]
    # Its value deletes with no bytes.
    assert log.configs == {
        "": {"compatibilityLevel": "NONE"},
        "orders-value": {"compatibilityLevel": "BACKWARD"},
    }
    shared = log.by_id(9)
    assert shared is not None
    assert (shared.subject, shared.state) == ("web.Click", RegistryState.LIVE)


def test_what_confluents_classes_write() -> None:
    log = ks.SchemaLog.open(CONFLUENT)
    assert log.contexts == ("", ".ctx")
    assert log.modes == {"": "READWRITE", "people-value": "READONLY"}
    assert log.configs == {"": {"compatibilityLevel": "BACKWARD"}}
    default, ctx = log.by_id(1), log.by_id(1, ".ctx")
    assert default is not None
    assert ctx is not None
    assert (default.subject, ctx.subject, ctx.text) == ("c.Addr", ":.ctx:people-value", '"long"')
    card = log.resolve("card-value")
    assert card.metadata is not None
    assert card.rules is not None
    assert card.encrypted == "fields"
    # CLEAR_SUBJECT takes what was deleted before it; the record still says what it was.
    (old,) = log.versions("old-value", deleted=True)
    assert old.state is RegistryState.REMOVED
    assert log.by_id(10) == old


def test_imports_are_in_definitions() -> None:
    log = ks.SchemaLog.open(KARAPACE)
    made = log.definition(log.resolve("orders-value"))
    assert made.type is SchemaType.AVRO
    assert [name for name, _ in made.imports] == ["common.Address", "common.Money"]
    assert made.imports[0][1] == Definition(SchemaType.AVRO, log.resolve("common.Address").text)
    proto = log.definition(log.resolve("proto-rewritten-value"))
    assert [name for name, _ in proto.imports] == ["shop/common.proto"]


@pytest.mark.parametrize("place", ["orders-0", "_schemas-0", "_schemas-0/" + "0" * 20 + ".log"])
def test_the_topic_is_found_beside_any_log(place: str) -> None:
    assert ks.SchemaLog.open(KARAPACE / place).schemas == ks.SchemaLog.open(KARAPACE).schemas


def test_without_the_topic_there_are_no_schemas(tmp_path: Path) -> None:
    write(tmp_path, [], topic="orders")
    for path in (tmp_path, tmp_path / "orders-0", tmp_path / "nothing"):
        with pytest.raises(KafkaSpecError) as caught:
            ks.SchemaLog.open(path)
        assert caught.value.reason is Reason.UNREADABLE
    write(tmp_path, [schema("a-value", 1, 1, '"int"')], topic="registry")
    assert ks.SchemaLog.open(tmp_path, topic="registry").subjects == ("a-value",)


def test_fingerprints_are_those_of_the_library() -> None:
    """Apache Avro for Python judges, but for logical types, which it leaves in its form."""
    compared = 0
    for home in (KARAPACE, CONFLUENT):
        for found, each in ks.SchemaLog.open(home).fingerprints.items():
            if not each.references and "logicalType" not in each.text:
                assert avro.schema.parse(each.text).fingerprint() == found, each
                compared += 1
    assert compared > 8


@pytest.mark.slow
def test_fingerprints_of_random_schemas_are_those_of_fastavro(tmp_path: Path) -> None:
    texts = [made.text(made.Maker(seed, recursion=seed % 2 == 0).schema()) for seed in range(60)]
    forms = map(fastavro.schema.to_parsing_canonical_form, map(json.loads, texts))
    wanted = [bytes.fromhex(fastavro.schema.fingerprint(form, "CRC-64-AVRO")) for form in forms]
    home = write(tmp_path, [schema(f"s{n}", 1, n, each) for n, each in enumerate(texts)])
    assert set(ks.SchemaLog.open(home).fingerprints) == set(wanted)


def test_an_import_is_the_same_as_its_text_there(tmp_path: Path) -> None:
    inner = {
        "type": "record",
        "name": "I",
        "namespace": "n",
        "fields": [{"name": "x", "type": "int"}],
    }

    def outer(use: object) -> dict[str, object]:
        fields = [{"name": "a", "type": use}, {"name": "b", "type": ["null", "n.I"]}]
        return {"type": "record", "name": "m.O", "fields": fields}

    home = write(
        tmp_path,
        [
            schema("i", 1, 1, inner),
            schema(
                "o", 1, 2, outer("n.I"), references=[{"name": "n.I", "subject": "i", "version": 1}]
            ),
        ],
    )
    (wanted,) = (
        found for found, each in ks.SchemaLog.open(home).fingerprints.items() if each.id == 2
    )
    assert avro.schema.parse(json.dumps(outer(inner))).fingerprint() == wanted


def test_single_objects_are_found_by_their_fingerprints(tmp_path: Path) -> None:
    known = json.loads((KARAPACE.parent / "expected" / "single-object.schemas.json").read_text())
    home = write(
        tmp_path,
        [schema(f"s{n}", 1, n, each["schema"]) for n, each in enumerate(known)],
    )
    found = ks.SchemaLog.open(home).fingerprints
    values = ks.open(KARAPACE / "single-object-0").to_arrow(["value"], layout="binary")
    prefixes = {value[2:10] for value in values["value"].to_pylist() if value is not None}
    assert prefixes == set(found)
    assert len(known) == len(found) == 2


def test_the_last_record_counts_and_every_id_stays(tmp_path: Path) -> None:
    """One key was written four times with four ids, and then deleted for good."""
    records = [schema("a-value", 1, number, '"int"') for number in (1, 2, 3, 4)]
    log = ks.SchemaLog.open(write(tmp_path / "1", records))
    assert [each.state for each in log.schemas] == [RegistryState.REPLACED] * 3 + [
        RegistryState.LIVE
    ]
    assert log.resolve("a-value").id == 4
    records.append(tombstone("a-value", 1))
    log = ks.SchemaLog.open(write(tmp_path / "2", records))
    found = [log.by_id(number) for number in (1, 2, 3, 4)]
    assert [each and each.text for each in found] == ['"int"'] * 4
    assert log.subjects == ()
    with pytest.raises(SchemaError, match="no version is registered"):
        log.resolve("a-value")


def test_a_subject_can_come_back(tmp_path: Path) -> None:
    home = write(
        tmp_path,
        [
            schema("a", 1, 1, '"int"'),
            schema("a", 2, 2, '"long"'),
            other("DELETE_SUBJECT", {"subject": "a", "version": 2}, subject="a"),
            schema("a", 3, 1, '"int"'),
        ],
    )
    log = ks.SchemaLog.open(home)
    assert [each.version for each in log.versions("a")] == [3]
    assert [each.state for each in log.versions("a", deleted=True)] == [
        RegistryState.DELETED, RegistryState.DELETED, RegistryState.LIVE,
    ]  # fmt: skip


def test_the_first_schema_of_an_id_counts(tmp_path: Path) -> None:
    home = write(
        tmp_path,
        [
            schema("a", 1, 1, '{"type": "int"}'),
            schema("b", 1, 1, '{"type":"int"}'),
            schema("c", 1, 1, '"long"'),
        ],
    )
    log = ks.SchemaLog.open(home)
    found = log.by_id(1)
    assert found is not None
    assert found.subject == "a"
    (problem,) = log.problems
    assert (problem.kind, problem.offset) == (Fault.CONFLICT, 2)


def test_redpandas_keys(tmp_path: Path) -> None:
    """Sequence numbers are in keys; of two writers at one place, the first counts."""

    def keyed(
        sequence: int, node: int, pair: tuple[dict[str, object], object]
    ) -> tuple[object, object]:
        return pair[0] | {"seq": sequence, "node": node}, pair[1]

    home = write(
        tmp_path,
        [
            keyed(0, 1, schema("a", 1, 1, '"int"')),
            keyed(0, 2, schema("b", 1, 1, '"long"')),
            keyed(2, 1, schema("a", 2, 2, '"long"')),
            keyed(3, 1, schema("a", 2, 2, '"long"', deleted=True)),
            keyed(2, 1, tombstone("a", 2)),
        ],
    )
    log = ks.SchemaLog.open(home)
    assert log.subjects == ("a",)
    assert [each.state for each in log.versions("a", deleted=True)] == [
        RegistryState.LIVE,
        RegistryState.REMOVED,
    ]
    assert kinds(log) == {Fault.COLLISION: 1}
    found = log.by_id(2)
    assert found is not None
    assert found.state is RegistryState.REMOVED


def test_contexts_and_topics(tmp_path: Path) -> None:
    home = write(
        tmp_path,
        [
            schema(":.x:one-value", 1, 1, '"int"'),
            schema(":.x:two-value", 1, 2, '"int"'),
            schema(":.y:two-value", 1, 1, '"long"'),
            schema(":.x:r", 1, 3, {"type": "record", "name": "R", "fields": []}),
            schema(":.x:three-value", 1, 4, '"R"', references=[
                {"name": "R", "subject": "r", "version": 1},
            ]),
        ],
    )  # fmt: skip
    log = ks.SchemaLog.open(home)
    assert log.context_of("one") == ".x"
    assert [each.id for each in log.schemas_of_topic("one")] == [1]
    for topic in ("two", "none"):
        with pytest.raises(SchemaError, match="of any context"):
            log.schemas_of_topic(topic)
    assert [each.id for each in log.schemas_of_topic("two", context=".y")] == [1]
    # A subject without a context is in that of the schema that names it.
    assert log.definition(log.resolve(":.x:three-value")).imports[0][0] == "R"


def test_a_subject_may_stand_for_another(tmp_path: Path) -> None:
    alias = other("CONFIG", {"alias": "shared"}, subject="t-value")
    home = write(tmp_path, [schema("shared", 1, 1, '"int"'), alias])
    log = ks.SchemaLog.open(home)
    assert [each.subject for each in log.schemas_of_topic("t")] == ["shared"]
    assert log.schemas_of_topic("t", "key") == ()


def test_aborted_and_unfinished_transactions_do_not_count(tmp_path: Path) -> None:
    with ks.SegmentWriter(tmp_path / "_schemas-0", sync=False) as writer:
        for producer, (subject, end) in enumerate({"a": ABORT, "b": COMMIT, "c": None}.items()):
            offset = writer.next_offset
            key, value = schema(subject, 1, producer + 1, '"int"')
            writer.append(
                ks.encode(
                    [record(offset, key, value)],
                    producer_id=producer,
                    producer_epoch=0,
                    base_sequence=0,
                    transactional=True,
                )
            )
            if end is not None:
                writer.append(marker(offset + 1, end, producer))
    log = ks.SchemaLog.open(tmp_path)
    assert log.subjects == ("b",)
    assert kinds(log) == {Fault.UNFINISHED: 1}
    assert log.records == 1


def test_what_is_no_record_of_a_registry_is_counted(tmp_path: Path) -> None:
    good = schema("a", 1, 1, '"int"')
    bad = [
        (None, b"{}"),
        (b"", b"{}"),
        (b"\xff", b"{}"),
        (b"[]", b"{}"),
        ({"keytype": "KEK"}, {}),
        ({"keytype": ["SCHEMA"]}, {}),
        ({**good[0], "version": "1"}, good[1]),
        ({**good[0], "version": True}, good[1]),
        ({"keytype": "SCHEMA", "version": 1}, good[1]),
        (good[0], {**good[1], "id": 2**31}),
        (good[0], {**good[1], "schema": None}),
        (good[0], {**good[1], "references": [{"name": "n"}]}),
        (good[0], {**good[1], "references": {}}),
        (good[0], b"[" * 5000),
        (good[0], b'"\\ud800"'),
    ]
    log = ks.SchemaLog.open(write(tmp_path, [*bad, good]))
    assert log.subjects == ("a",)
    assert kinds(log) == {Fault.UNPARSED: len(bad)}
    assert [problem.offset for problem in log.problems] == list(range(len(bad)))
    assert all(isinstance(problem, Finding) for problem in log.problems)
    for number, problem in enumerate(log.problems):
        assert problem.offsets == OffsetRange(number, number + 1)
        assert str(problem) == f"offset {number}: {problem.message} [{problem.reason}]"


def test_a_damaged_batch_does_not_hide_the_others(tmp_path: Path) -> None:
    home = write(tmp_path, [schema(name, 1, n, '"int"') for n, name in enumerate("abc")])
    (file,) = (home / "_schemas-0").glob("*.log")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data[:-5])
    log = ks.SchemaLog.open(home)
    assert log.subjects == ("a",)
    assert kinds(log)[Fault.DAMAGED] == 1
    assert kinds(log)[Fault.MISSING] == 1


def _chain(length: int, size: int = 0) -> list[tuple[object, object]]:
    """Schemas that each import the one before, twice."""
    return [
        schema(f"s{n}", 1, n, '"int"' + " " * size, references=[
            {"name": name, "subject": f"s{n - 1}", "version": 1} for name in "ab"
        ] if n else [])
        for n in range(length)
    ]  # fmt: skip


@pytest.mark.slow
def test_imports_are_bounded(tmp_path: Path) -> None:
    circle = schema("c", 1, 999, '"int"', references=[
        {"name": "d", "subject": "d", "version": 1},
    ])  # fmt: skip
    back = schema("d", 1, 998, '"int"', references=[
        {"name": "c", "subject": "c", "version": -1},
    ])  # fmt: skip
    lost = schema("l", 1, 997, '"int"', references=[
        {"name": "n", "subject": "nothing", "version": 7},
    ])  # fmt: skip
    strange = schema("t", 1, 996, "x", schemaType="XSD")
    records = [*_chain(300), circle, back, lost, strange]
    log = ks.SchemaLog.open(write(tmp_path, records), bounds=Bounds(schemas=8))
    assert log.definition(log.resolve("s2")).imports[0][0] == "a"
    for subject, text in {
        "s20": "more than 8 schemas",
        "s299": "more than 8 schemas",
        "c": "imports itself",
        "l": "there is no subject 'nothing'",
        "t": "type XSD",
    }.items():
        with pytest.raises(SchemaError, match=text):
            log.definition(log.resolve(subject))
    assert kinds(log) == {Fault.UNRESOLVED: 1}
    # By doubling ways, few schemas would make a definition without end.
    log = ks.SchemaLog.open(tmp_path)
    with pytest.raises(SchemaError, match="more than 256 schemas"):
        log.definition(log.resolve("s30"))


def test_text_is_bounded(tmp_path: Path) -> None:
    home = write(tmp_path, [*_chain(3, 500), schema("huge", 1, 9, "x" * 20_000)])
    log = ks.SchemaLog.open(home, bounds=Bounds(schema_bytes=1200))
    assert kinds(log) == {Fault.BOUND: 1}
    assert log.definition(log.resolve("s1"))
    with pytest.raises(SchemaError, match="more than 1,200 characters"):
        log.definition(log.resolve("s2"))


def test_references_may_be_deleted(tmp_path: Path) -> None:
    home = write(
        tmp_path,
        [
            schema("r", 1, 1, '"int"'),
            schema("a", 1, 2, '"x"', references=[{"name": "x", "subject": "r", "version": 1}]),
            schema("r", 1, 1, '"int"', deleted=True),
            tombstone("r", 1),
        ],
    )
    log = ks.SchemaLog.open(home)
    assert log.problems == ()
    assert log.resolve("a").references == (Reference("x", "r", 1),)
    assert log.definition(log.resolve("a")).imports[0][1].text == '"int"'


def test_a_stored_hash_is_the_guid(tmp_path: Path) -> None:
    """Where metadata is encrypted, only the registry could tell the GUID."""
    home = write(
        tmp_path,
        [
            schema("a", 1, 1, '"int"', md5="AAECAwQFBgcICQoLDA0ODw==",
                   metadata={"properties": {"__enc__": "true"}}),
            schema("b", 1, 2, '"long"', md5="no"),
        ],
    )  # fmt: skip
    log = ks.SchemaLog.open(home)
    first, second = log.schemas
    assert first.guid == UUID(bytes=bytes(range(16)))
    assert first.encrypted == "metadata"
    assert log.by_guid(second.guid) == second
