"""Schemas in files: folders, descriptor sets, and the list that the command writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

import kafkaspec as ks
from kafkaspec.errors import KafkaSpecError
from kafkaspec.values.definition import SchemaType
from kafkaspec.values.registry.problems import Fault
from kafkaspec.values.registry.schema import RegistryState


def put(home: Path, files: dict[str, object]) -> Path:
    for name, content in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
    return home


def test_files_import_each_other_as_their_texts_say(tmp_path: Path) -> None:
    home = put(
        tmp_path,
        {
            "orders-value.avsc": {
                "type": "record", "name": "shop.Order", "fields": [
                    {"name": "a", "type": ["null", "Money"]},
                    {"name": "b", "type": {"type": "array", "items": "other.Tag"}},
                    {"name": "c", "type": "long"},
                ],
            },
            "money.avsc": {"type": "fixed", "name": "Money", "namespace": "shop", "size": 4},
            "sub/tag.avsc": {"type": "enum", "name": "other.Tag", "symbols": ["A"]},
            "order.proto": 'syntax = "proto3";\nimport public "shop/common.proto";\n'
                           'import "google/protobuf/timestamp.proto";\nmessage O {}\n',
            "shop/common.proto": 'syntax = "proto3";\nmessage C {}\n',
            "cust.json": {"properties": {"home": {"$ref": "http://x/addr#/definitions/a"}}},
            "addr.json": {"$id": "http://x/addr", "definitions": {"a": {"$ref": "#/b"}}},
            "notes.txt": "nothing",
        },
    )  # fmt: skip
    log = ks.SchemaLog.open(home)
    assert log.problems == ()
    assert log.subjects == (
        "addr", "cust", "money", "order.proto", "orders-value", "shop/common.proto", "sub/tag",
    )  # fmt: skip
    expected = {
        "orders-value": {"shop.Money": "money", "other.Tag": "sub/tag"},
        "order.proto": {"shop/common.proto": "shop/common.proto"},
        "cust": {"http://x/addr": "addr"},
        "addr": {},
    }
    for subject, imports in expected.items():
        schema = log.resolve(subject)
        assert {each.name: each.subject for each in schema.references} == imports
        assert {name for name, _ in log.definition(schema).imports} == set(imports)
    assert [each.text for each in log.schemas_of_topic("orders")] == [
        (home / "orders-value.avsc").read_text()
    ]
    assert ks.SchemaLog.open(home / "money.avsc").subjects == ("money",)


def test_descriptor_sets(tmp_path: Path) -> None:
    files = FileDescriptorSet(
        file=[
            FileDescriptorProto(name="a/b.proto", syntax="proto3"),
            FileDescriptorProto(name="c.proto", dependency=["a/b.proto"], syntax="proto3"),
        ]
    )
    put(tmp_path, {"all.desc": files.SerializeToString(), "bad.pb": b"\xff\xff"})
    log = ks.SchemaLog.open(tmp_path)
    assert log.subjects == ("a/b.proto", "c.proto")
    made = log.definition(log.resolve("c.proto"))
    assert made.type is SchemaType.PROTOBUF
    assert [name for name, _ in made.imports] == ["a/b.proto"]
    assert [problem.kind for problem in log.problems] == [Fault.DAMAGED]


def test_a_list_names_ids_and_subjects(tmp_path: Path) -> None:
    files: dict[str, object] = {
        "x.avsc": '"int"',
        "y.txt": '"long"',
        "schemas.json": [
            {"file": "x.avsc", "id": 7, "subject": "t-value", "version": 3},
            {"file": "y.txt", "id": 8, "subject": "t-value", "version": 2, "type": "AVRO",
             "deleted": True, "references": [{"name": "n", "subject": "s", "version": 1}]},
            {"file": "x.avsc"},
            {"file": "../x.avsc"},
            {"file": "none.avsc"},
            {"file": "y.txt"},
            {"id": 9},
            "x.avsc",
        ],
    }  # fmt: skip
    log = ks.SchemaLog.open(put(tmp_path / "in", files))
    assert log.subjects == ("t-value", "x.avsc")
    assert [(each.id, each.version) for each in log.schemas_of_topic("t")] == [(7, 3)]
    second = log.by_id(8)
    assert second is not None
    assert (second.text, second.state) == ('"long"', RegistryState.DELETED)
    assert [problem.kind for problem in log.problems] == [
        Fault.UNPARSED, Fault.DAMAGED, Fault.UNPARSED, Fault.UNPARSED, Fault.UNPARSED,
        Fault.UNRESOLVED,
    ]  # fmt: skip


@pytest.mark.parametrize("content", ["{", "{}", "\udcff", "[" * 5000])
def test_a_list_that_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "schemas.json").write_text(content, errors="surrogateescape")
    with pytest.raises(KafkaSpecError):
        ks.SchemaLog.open(tmp_path)


@pytest.mark.parametrize("name", ["x.avsc", "x.json", "x.proto", "x.desc"])
def test_a_file_that_is_no_schema(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff[")
    with pytest.raises(KafkaSpecError):
        ks.SchemaLog.open(tmp_path / name)
    assert [problem.kind for problem in ks.SchemaLog.open(tmp_path).problems] == [Fault.DAMAGED]
