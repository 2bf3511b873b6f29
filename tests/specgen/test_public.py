"""After an edit of the specification and nothing else, all that is public follows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.specgen import changes
from tests.specgen.edits import FAST, SPEC, Edit, Files, edit_spec, insert, type_of
from tests.specgen.nodes import integer
from tests.specgen.public import copied, install, run
from tools.native.build import NoCompilerError
from tools.specgen import driver

pytestmark = pytest.mark.slow

UUID = bytes(range(16))

IN_PLACE: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "more, wider and moved fields": (
        (
            changes.wider_fields,
            changes.moved_fields,
            changes.header_fields,
            changes.record_fields,
            changes.index_of_16_bytes,
            changes.time_index_fields,
            changes.snapshot_versions_gated,
            changes.new_compression,
            changes.new_control_record,
        ),
        {
            "header": {"shard": 7, "topic_id": UUID, "origin.cluster": -5},
            "fields": {"trace_id": UUID, "priority": -2},
        },
    ),
    "gated fields, arrays, the checksum elsewhere": (
        (
            changes.checksum_elsewhere,
            changes.gated_header_fields,
            changes.gated_record_field,
            changes.array_in_record,
            changes.gated_legacy_field,
            changes.control_record_version,
        ),
        {},
    ),
    "fields of no fixed size": (
        (changes.magic_3_instead, changes.variable_header_field, changes.structure_in_record),
        {
            "header": {"topic_id": UUID, "schema_id": 300},
            "fields": {"span.trace": 9, "span.sampled": True, "span.level": 3},
        },
    ),
}
"""Edits that are made together, and what the new fields without a default are to hold."""


def installed(root: Path, *edits: Any, messages: bool = False) -> None:
    """Install the edits, or skip where there is no compiler."""
    try:
        install(root, *(Edit(edit.__name__, edit) for edit in edits), messages=messages)
    except NoCompilerError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


def _color(files: Files) -> None:
    """A field of the header of magic 3 with a default."""
    color = integer("color", "s4", default="-1")
    insert(files, f"{changes.BATCH}_3", color, before="num_records")


@pytest.fixture(scope="module")
def magic_3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("magic_3")
    installed(root, changes.magic_3_beside, _color, messages=True)
    return root


def _no_topic_id(files: Files) -> None:
    """Take the field without a default, for which Spark has no value, out of magic 3."""
    fields = type_of(files, f"{changes.BATCH}_3")["seq"]
    fields.remove(next(field for field in fields if field["id"] == "topic_id"))


@pytest.mark.spark
@pytest.mark.parametrize("own", [True, False], ids=["topic_id", "defaults"])
def test_magic_3_with_spark(own: bool, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The data source reads it, the writer writes it, and the jobs work on it."""
    pytest.importorskip("pyspark")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=f"{home}/bin" if home else None) is None:
        pytest.skip("Spark needs Java 17 or newer")
    root: Path = request.getfixturevalue("magic_3") if own else tmp_path
    if not own:
        installed(root, changes.magic_3_beside, _no_topic_id)
    done = run(root, "spark_3")
    assert done.returncode == 0, done.stdout + done.stderr[-20_000:]


@pytest.mark.parametrize("program", ["magic_3", "convert_3"])
def test_magic_3_beside_the_others(program: str, magic_3: Path) -> None:
    """Through encode, decode, columns, verify, dump, explain, find, writing and convert."""
    done = run(magic_3, program)
    assert done.returncode == 0, done.stdout + done.stderr


MANY: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "headers": ((changes.headers_beside, changes.other_files), {}),
    "records": ((changes.records_beside,), {"flags": 1, "ttl": 77}),
}
"""Formats that differ in more than a field, and values that cannot be made up from a type."""


@pytest.mark.parametrize("name", MANY)
def test_many_formats_side_by_side(name: str, tmp_path: Path) -> None:
    edits, values = MANY[name]
    installed(tmp_path, *edits)
    done = run(tmp_path, "many_magics", repr(values))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", IN_PLACE)
def test_formats_changed_in_place(name: str, tmp_path: Path) -> None:
    edits, own = IN_PLACE[name]
    installed(tmp_path, *edits)
    done = run(tmp_path, "in_place", repr(own))
    assert done.returncode == 0, done.stdout + done.stderr


def test_convert_keeps_a_field_before_the_message(tmp_path: Path) -> None:
    installed(tmp_path, changes.entry_field)
    done = run(tmp_path, "convert_entry")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_renamed_field_shows_at_import(tmp_path: Path) -> None:
    """One place maps names; it is named where the specification no longer has one of them."""
    edit_spec(copied(tmp_path), Edit("renamed_fields", changes.renamed_fields))
    driver.generate(tmp_path / "spec", tmp_path / "kafkaspec" / "_generated", FAST)
    command = [sys.executable, "-c", "import kafkaspec.layout.kinds"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("LookupError: no kind of entry has producer_epoch"), done.stderr
    assert "kafkaspec/layout/names.py" in last


def test_a_renamed_field_is_mapped_in_one_place(tmp_path: Path) -> None:
    """With the new names there, everything reads and writes as before."""
    expected = run(SPEC.parent, "read_goldens")
    assert expected.returncode == 0, expected.stderr
    installed(tmp_path, changes.renamed_headers, messages=True)
    names = tmp_path / "kafkaspec" / "layout" / "names.py"
    text = names.read_text(encoding="utf-8")
    for old, new in changes.NEW_NAMES.items():
        text = re.sub(rf'([".]){old}"', rf'\1{new}"', text)
    names.write_text(text, encoding="utf-8")
    done = run(tmp_path, "read_goldens")
    assert done.returncode == 0, done.stderr
    for ours, theirs in zip(done.stdout.splitlines(), expected.stdout.splitlines(), strict=True):
        assert ours == theirs
