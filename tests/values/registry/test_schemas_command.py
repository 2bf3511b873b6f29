"""The command ``schemas``."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

import kafkaspec as ks
from tests.cli.helpers import fingerprint, lines, run
from tests.cli.test_hostile_names import HOSTILE
from tests.cli.test_mutations import damage
from tests.loops import each
from tests.values.registry.topics import DATA, schema, write

LOGS = DATA / "karapace" / "logs"


def test_the_table_and_the_objects_agree() -> None:
    result = run("schemas", LOGS)
    assert result.exit_code == 0
    assert "30 records, 16 subjects, 21 schemas (2 deleted, 18 live, 1 removed)" in result.stdout
    found = lines(run("schemas", "--format", "json", LOGS))
    schemas = [item for item in found if item["type"] == "schema"]
    assert len(schemas) == 21
    for item in schemas:
        (row,) = (line for line in result.stdout.splitlines() if item["guid"] in line and
                  f" {item['subject']} " in f" {line.split()[0]} ")  # fmt: skip
        assert row.split()[1:5] == [
            str(item["version"]), str(item["id"]), item["schema_type"], item["state"],
        ]  # fmt: skip
    assert {item["subject"] for item in found if item["type"] == "config"} == {"", "orders-value"}


@pytest.mark.parametrize(
    ("options", "number"),
    [
        (["--id", "4"], 4),
        (["--guid", "E7D5D42F-757C-BA55-CE2E-4E2695596EE5"], 11),
        (["--subject", "orders-value@2"], 4),
        (["--subject", "orders-value@latest"], 5),
        (["--subject", "orders-value"], 5),
    ],
    ids=str,
)
def test_one_text(options: list[str], number: int) -> None:
    expected = ks.SchemaLog.open(LOGS).by_id(number)
    assert expected is not None
    assert run("schemas", *options, LOGS).stdout == f"{expected.text}\n"
    item, _ = lines(run("schemas", *options, "--format", "json", LOGS))
    assert (item["id"], item["text"]) == (number, expected.text)


def test_a_context_has_its_own_ids() -> None:
    path = DATA / "confluent" / "logs"
    assert run("schemas", "--id", "1", "--context", ".ctx", path).stdout == '"long"\n'
    assert "c.Addr" not in run("schemas", "--id", "1", "--context", ".ctx", path).stdout


@pytest.mark.slow
def test_what_is_not_there_and_wrong_usage(tmp_path: Path) -> None:
    for options, text in (
        (["--id", "99"], "there is no schema with the id 99; there are 1, 2, 3, 4, 5 and "),
        (["--id", "1", "--context", "ctx"], "there is no context 'ctx'"),
        (["--guid", "e7d5d42f-757c-ba55-ce2e-4e2695596ee6"],
         "did you mean 'e7d5d42f-757c-ba55-ce2e-4e2695596ee5'?"),
        (["--subject", "order-value"], "there is no subject 'order-value'; did you mean 'orders-v"),
        (["--subject", "none"], "there is no subject 'none'; there are '"),
        (["--subject", "orders-value@9"], "orders-value: there is no version 9; there are 1, 2, "),
    ):  # fmt: skip
        result = run("schemas", *options, LOGS)
        assert (result.exit_code, result.stdout) == (1, ""), options
        assert text in result.stderr
    result = run("schemas", "--topic", "_schema", LOGS)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "did you mean '_schemas'?" in result.stderr
    assert run("schemas", "--id", "1", "--subject", "x", LOGS).exit_code == 2
    assert run("schemas", tmp_path).exit_code == 2
    assert run("schemas", tmp_path / "none").exit_code == 2
    assert run("schemas", "-o", LOGS / "_schemas-0", LOGS).exit_code == 2


@pytest.mark.slow
def test_texts_as_files_are_read_again(tmp_path: Path) -> None:
    before = fingerprint(LOGS)
    assert run("schemas", LOGS, "-o", tmp_path / "out").exit_code == 0
    assert fingerprint(LOGS) == before
    log, again = ks.SchemaLog.open(LOGS), ks.SchemaLog.open(tmp_path / "out")
    assert again.subjects == log.subjects
    assert again.problems == ()
    for item in log.schemas:
        (same,) = (
            each for each in again.schemas
            if (each.subject, each.version) == (item.subject, item.version)
        )  # fmt: skip
        assert (same.id, same.guid, same.text) == (item.id, item.guid, item.text)
        assert again.definition(same) == log.definition(item)
    assert run("schemas", LOGS, "-o", tmp_path / "out").exit_code == 2


def test_imports_have_the_names_by_which_they_are_imported(tmp_path: Path) -> None:
    run("schemas", LOGS, "--subject", "proto-orders-value", "-o", tmp_path / "out")
    files = {str(path.relative_to(tmp_path / "out")) for path in tmp_path.rglob("*.*")}
    assert files == {"schemas.json", "proto-orders-value.1.proto", "shop/common.proto"}


NAMES = (
    HOSTILE.replace("\udcff", ""), "../../../x", "/etc/passwd", "..", ".", "", "a\0b", "a\\b:c*",
    "C:", "A", "a", "schemas.json", "x" * 300, "x" * 301, "a@1", "a/b", "\u00e4", "a.avsc", "a.1",
)  # fmt: skip


@pytest.mark.slow
def test_hostile_subjects(tmp_path: Path) -> None:
    text = f'"int" // {NAMES[0]}'
    records = [schema(name, 1, number, text) for number, name in enumerate(NAMES)]
    records.append(schema("root", 1, 100, '"x"', references=[
        {"name": name, "subject": name, "version": 1} for name in NAMES
    ]))  # fmt: skip
    home = write(tmp_path / "in", records)
    for options in ([], ["--id", "0"], ["--format", "json"]):
        result = run("schemas", home, *options)
        for line in (result.stdout + result.stderr).split("\n"):
            assert line.isprintable(), ascii(line)
            assert "--id" in options or not line.startswith("clean")
    for options in ([], ["--id", "100"]):
        out = tmp_path / "out" / "below"
        out.parent.mkdir(exist_ok=True)
        assert run("schemas", home, "-o", out, *options).exit_code == 0
        assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}
        assert list(out.parent.iterdir()) == [out]
        again = ks.SchemaLog.open(out)
        assert again.problems == ()
        assert {each.subject for each in again.schemas} == {*NAMES, "root"}
        files = [path for path in out.rglob("*") if path.is_file()]
        assert len({str(path).lower() for path in files}) == len(NAMES) + 2
        shutil.rmtree(out)


@pytest.mark.slow
@each("seed", range(100))
def test_damaged_topics(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    source = DATA / chance.choice(["karapace", "confluent"]) / "logs" / "_schemas-0"
    partition = Path(shutil.copytree(source, tmp_path / source.name))
    (file,) = partition.glob("*.log")
    file.write_bytes(damage(bytearray(file.read_bytes()), chance))
    before = fingerprint(partition)
    result = run("schemas", "--format", "json", partition)
    assert result.exit_code in (0, 1, 2), result.stderr
    lines(result)
    assert fingerprint(partition) == before


@pytest.mark.slow
@each("seed", range(20))
def test_damaged_records(tmp_path: Path, seed: int) -> None:
    """Bytes of a record that are no JSON, or another JSON, in a sound batch."""
    chance = random.Random(seed)
    log = ks.open(DATA / chance.choice(["karapace", "confluent"]) / "logs" / "_schemas-0")
    records = [(record.key, record.value) for record in log.records()]
    for _ in range(10):
        place = chance.randrange(len(records))
        part = chance.randrange(2)
        pair = list(records[place])
        if pair[part]:
            pair[part] = bytes(damage(bytearray(pair[part] or b""), chance))
        records[place] = (pair[0], pair[1])
    result = run("schemas", "--format", "json", write(tmp_path, records))
    assert result.exit_code in (0, 1), result.stderr
    assert len(lines(result)) > 10


def test_urls(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    files.put(str(LOGS / "_schemas-0"), "/registry/logs/_schemas-0", recursive=True)
    try:
        for place in ("logs", "logs/_schemas-0"):
            log = ks.SchemaLog.open(f"memory://registry/{place}")
            assert log.schemas == ks.SchemaLog.open(LOGS).schemas
    finally:
        files.rm("/registry", recursive=True)
