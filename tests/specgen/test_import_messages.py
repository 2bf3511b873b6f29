"""The importer of Kafka's schemas, and its check, on made-up schemas of every kind of field."""

from __future__ import annotations

import json
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tools.import_messages.check import differences
from tools.import_messages.schema import Schema, SchemaError, read_folder, read_jars
from tools.import_messages.structure import make
from tools.import_messages.text import read, write
from tools.specgen.lint.rules import lint
from tools.specgen.loader import load
from tools.specgen.model import MESSAGES, Model

SPEC = Path(__file__).resolve().parents[2] / "spec"
RELEASE = "4.4.0"

Json = dict[str, Any]


def field(name: str, type_: str, **keys: Any) -> Json:
    return {"name": name, "type": type_, "versions": "0+", "about": "Not ours."} | keys


ROSTER_KEY: Json = {
    "name": "RosterKey", "type": "coordinator-key", "apiKey": 77, "validVersions": "0",
    "flexibleVersions": "none", "fields": [field("group", "string")],
}  # fmt: skip
ROSTER: Json = {
    "name": "RosterValue", "type": "coordinator-value", "apiKey": 77, "validVersions": "0-3",
    "flexibleVersions": "2+",
    "fields": [
        field("epoch", "int32", default="-1"),
        field("isOpen", "bool", default="true"),
        field("quota", "float64"),
        field("topicId", "uuid"),
        field("port", "uint16", versions="1"),
        field("rack", "string", versions="1+", nullableVersions="1+", default="null"),
        field("blob", "bytes", nullableVersions="0+"),
        field("ids", "[]uuid", nullableVersions="0+"),
        field("members", "[]Member", fields=[
            field("name", "string"),
            field("epochs", "[]int32", versions="1+"),
            field("extra", "[]int64", versions="2+", taggedVersions="2+", tag=0),
        ]),
        field("address", "Address", versions="2+", nullableVersions="2+"),
        field("hash", "int64", versions="2+", taggedVersions="2+", tag="3"),
        field("other", "Address", versions="2+", taggedVersions="2+", tag=1,
              nullableVersions="2+", default=None),
        field("note", "string", versions="3+", taggedVersions="3+", tag=2, default="x"[:0]),
    ],
    "commonStructs": [
        {"name": "Address", "versions": "2+", "fields": [field("host", "string", versions="2+")]},
    ],
}  # fmt: skip


def jar(path: Path, *schemas: Json) -> Path:
    """A jar of Kafka's group coordinator, in the JSON that Kafka writes."""
    with ZipFile(path, "w") as archive:
        for schema in schemas:
            text = json.dumps(schema, indent=1).replace("}\n", '}, // a comment, "quoted"\n')
            text = text[: text.rindex("}") + 1]
            archive.writestr(f"common/message/{schema['name']}.json", f"// licence\n{text}\nrest")
    return path


def schemas(tmp_path: Path, *documents: Json) -> dict[str, Schema]:
    return read_jars([jar(tmp_path / f"kafka-group-coordinator-{RELEASE}.jar", *documents)])


def imported(tmp_path: Path, *documents: Json) -> Model:
    """The specification with these messages and no others."""
    spec = tmp_path / "spec"
    if not spec.exists():
        shutil.copytree(SPEC, spec, ignore=shutil.ignore_patterns(MESSAGES))
    for schema in schemas(tmp_path, *documents).values():
        path, node = make(schema, RELEASE)
        write(spec / f"{path}.ksy", node, read(spec / f"{path}.ksy"))
    return load(spec)


@pytest.mark.slow
def test_an_imported_message_lacks_nothing_but_sentences(tmp_path: Path) -> None:
    model = imported(tmp_path, ROSTER_KEY, ROSTER)
    assert {problem.message.partition(" is ")[2] for problem in lint(model)} == {
        "still to be written; say what it means and its unit"
    }
    found = schemas(tmp_path, ROSTER_KEY, ROSTER)
    assert list(differences(model, found, RELEASE)) == []


def changed(path: str, value: Any) -> Json:
    """The schema with another value at a path, ``fields/0/type``."""
    document = deepcopy(ROSTER)
    node: Any = document
    *steps, last = path.split("/")
    for step in steps:
        node = node[int(step)] if isinstance(node, list) else node[step]
    node[last] = value
    return document


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("fields/0/type", "uint32"),
        ("fields/0/default", "0"),
        ("fields/1/type", "int8"),
        ("fields/1/default", "false"),
        ("fields/2/name", "limit"),
        ("fields/4/versions", "1+"),
        ("fields/5/nullableVersions", "2+"),
        ("fields/6/type", "string"),
        ("fields/7/nullableVersions", "none"),
        ("fields/8/fields/0/type", "bytes"),
        ("fields/8/fields/1/versions", "0+"),
        ("fields/8/fields/2/default", "null"),
        ("fields/10/tag", "4"),
        ("fields/10/default", "-1"),
        ("fields/11/nullableVersions", "none"),
        ("fields/12/taggedVersions", "none"),
        ("flexibleVersions", "1+"),
        ("validVersions", "0-4"),
        ("apiKey", 78),
        ("name", "RollValue"),
    ],
)
def test_the_check_finds_each_difference(tmp_path: Path, path: str, value: Any) -> None:
    model = imported(tmp_path, ROSTER_KEY, ROSTER)
    if path.startswith("fields/7") or path == "fields/12/taggedVersions":
        value = None if value == "none" else value
    document = changed(path, value)
    found = list(differences(model, schemas(tmp_path, ROSTER_KEY, document), RELEASE))
    assert found, path


def test_the_order_counts(tmp_path: Path) -> None:
    model = imported(tmp_path, ROSTER_KEY, ROSTER)
    document = deepcopy(ROSTER)
    document["fields"][0:2] = reversed(document["fields"][0:2])
    (*_, last) = differences(model, schemas(tmp_path, ROSTER_KEY, document), RELEASE)
    assert last.startswith("RosterValue, version 3: ")


@pytest.mark.slow
def test_sentences_and_enumerations_stay(tmp_path: Path) -> None:
    """A second import changes nothing; a new version adds a field, and keeps what was written."""
    imported(tmp_path, ROSTER_KEY, ROSTER)
    path = tmp_path / "spec/messages/consumer_offsets/roster_value.ksy"
    named = "enum: enumeration::record_state\n        doc: Goes up."
    text = path.read_text(encoding="utf-8").replace("doc: 'TODO: say what epoch is.'", named)
    path.write_text(text, encoding="utf-8")
    imported(tmp_path, ROSTER_KEY, ROSTER)
    assert path.read_text(encoding="utf-8") == text
    document = changed("validVersions", "0-4")
    document["fields"].insert(1, field("step", "int16", versions="4+"))
    imported(tmp_path, ROSTER_KEY, document)
    later = path.read_text(encoding="utf-8")
    assert later.count(named) == text.count(named) == 2
    assert later.count("TODO: say what step is.") == 1


@pytest.mark.slow
def test_the_first_release_that_knows_a_key_stays_and_is_compared(tmp_path: Path) -> None:
    imported(tmp_path, ROSTER_KEY, ROSTER)
    path = tmp_path / "spec/messages/consumer_offsets/roster_key.ksy"
    text = path.read_text(encoding="utf-8")
    assert "\n-since: '4.4'\n" in text
    mine = "-since: '4.2'\n-identity: roster_id\n"
    path.write_text(text.replace("-since: '4.4'\n", mine), encoding="utf-8")
    model = imported(tmp_path, ROSTER_KEY, ROSTER)
    assert f"\n{mine}" in path.read_text(encoding="utf-8")
    found = schemas(tmp_path, ROSTER_KEY, ROSTER)
    for release in ("4.1.0", "4.2.0"):
        assert [line for line in differences(model, {}, release) if "-since" in line] == (
            ["RosterKey: 4.2.0 knows it here, and not in Kafka; see -since"] * (release == "4.2.0")
        )
        assert [line for line in differences(model, found, release) if "-since" in line] == (
            ["RosterKey: 4.1.0 does not know it here, and does in Kafka; see -since"]
            * (release == "4.1.0")
        )


def test_a_schema_without_an_end_of_its_versions(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="validVersions has no end"):
        schemas(tmp_path, changed("validVersions", "0+"))
    with pytest.raises(SchemaError, match=r"'1\.\.2' is not a range of versions"):
        schemas(tmp_path, changed("validVersions", "1..2"))


def test_a_checkout_of_kafka_gives_what_its_jars_will_give(tmp_path: Path) -> None:
    jars = schemas(tmp_path, ROSTER_KEY, ROSTER)
    home = tmp_path / "kafka" / "group-coordinator" / "src" / "main" / "resources"
    with ZipFile(tmp_path / f"kafka-group-coordinator-{RELEASE}.jar") as archive:
        archive.extractall(home)
    (tmp_path / "kafka" / "other.json").write_text("{}")
    other = tmp_path / "kafka" / "streams" / "src" / "main" / "resources" / "common" / "message"
    other.mkdir(parents=True)
    (other / "Other.json").write_text("stored in no log, and not JSON")
    assert read_folder(tmp_path / "kafka", {"clients", "group-coordinator"}) == jars
    with pytest.raises(SchemaError, match="src/main/resources/common/message"):
        read_folder(home, {"group-coordinator"})
