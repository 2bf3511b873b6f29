"""An edit of the specification is all that a change of the format takes: load to codecs.

Each change of ``changes.py`` alone goes through the linter, the generator and the codecs in
Python; the C of each is compiled with every warning as an error.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sysconfig
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from kafkaspec.codecs.base import Codec
from kafkaspec.codecs.native.codec import NativeCodec
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.codecs.references.kaitai.codec import KaitaiCodec
from kafkaspec.errors import KafkaSpecError
from tests.specgen import changes, new_files
from tests.specgen.changes import CHANGES
from tests.specgen.edits import SPEC, Edit, Tree, edit_spec, imported, make_tree
from tests.specgen.new_files import NEW_FILES
from tools.native.build import NoCompilerError, build
from tools.specgen.house import TARGETS
from tools.specgen.kaitai.emit import CompilerMissing
from tools.specgen.lint.rules import lint
from tools.specgen.loader import load
from tools.specgen.model import MESSAGES

pytestmark = pytest.mark.slow

WARNINGS = ["-std=gnu99", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]


def check_vectors(tree: Tree, codec: Codec) -> None:
    """Every vector of the edited specification has its verdict; canonical bytes come back."""
    for path in sorted((tree.path / "vectors").glob("*.json")):
        for vector in json.loads(path.read_text(encoding="utf-8"))["vectors"]:
            _check_vector(codec, vector)


def _check_vector(codec: Codec, vector: dict[str, Any]) -> None:
    def parse(type_key: str, data: str, parameters: list[Any]) -> tuple[Any, int]:
        return codec.parse(type_key, bytes.fromhex(data), parameters=parameters)

    parameters = [
        parse(item["type"], item["hex"], item["parameters"])[0] if isinstance(item, dict) else item
        for item in vector["parameters"]
    ]
    try:
        value, end = parse(vector["type"], vector["hex"], parameters)
    except KafkaSpecError as error:
        found = (error.reason.value, error.path, error.position)
        assert found == (vector["reason"], vector["path"], vector["offset"]), vector
        return
    assert vector["verdict"] == "accept", vector
    assert end == vector["end"], vector
    if vector["canonical"]:
        written = codec.serialize(vector["type"], value, parameters=parameters)
        assert written.hex() == vector["hex"][: 2 * end], vector


def codecs(tree: Tree) -> list[Codec]:
    """The codecs that are made of Python alone."""
    found: list[Codec] = [PythonCodec(tree.package)]
    try:
        from kafkaspec.codecs.references.construct.codec import ConstructCodec
    except ImportError:
        return found
    return [*found, ConstructCodec(tree.package)]


@pytest.mark.parametrize("edit", [*CHANGES, *NEW_FILES], ids=lambda edit: edit.name)
def test_edit(edit: Edit, tmp_path: Path) -> None:
    shutil.copytree(SPEC, tmp_path / "linted", ignore=shutil.ignore_patterns(MESSAGES))
    edit_spec(tmp_path / "linted", edit)
    assert lint(load(tmp_path / "linted")) == []
    tree = make_tree(tmp_path, edit)
    with imported([tree]):
        for codec in codecs(tree):
            check_vectors(tree, codec)
            edit.holds(tree, codec)
    compile_core(tree)


def compile_core(tree: Tree) -> None:
    """The C compiles without a warning, where there is a compiler."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        pytest.skip("there is no C compiler")
    sources = sorted((tree.path / "native").glob("*.c"))
    done = subprocess.run([compiler, *WARNINGS, *sources], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_edits_keep_what_they_do_not_touch(tmp_path: Path) -> None:
    """A specification that is written back means the same."""
    shutil.copytree(SPEC, tmp_path / "spec")

    def touch(files: dict[str, Any]) -> None:
        for file in files.values():
            file["meta"]["title"] += ", edited"

    edit_spec(tmp_path / "spec", Edit("touch", touch))
    for edited, spec in zip(load(tmp_path / "spec").specs, load(SPEC).specs, strict=True):
        assert edited == replace(spec, title=f"{spec.title}, edited")
    assert lint(load(tmp_path / "spec")) == []


# Many edits at once, for what takes seconds: the official compiler and a compiled core.
TOGETHER = {
    "header_and_record": (
        changes.wider_fields, changes.header_fields, changes.record_fields,
        changes.structure_in_record, changes.array_in_record, changes.gated_legacy_field,
        changes.index_of_16_bytes, changes.time_index_fields, changes.snapshot_fields,
        changes.new_control_record, changes.control_record_version, changes.new_compression,
    ),
    "places_and_files": (
        changes.moved_fields, changes.checksum_elsewhere, changes.gated_record_field,
        changes.snapshot_versions_gated, new_files.new_file, new_files.new_file_of_messages,
        new_files.new_file_like_a_segment, new_files.tagged_fields,
    ),
    "gates_and_switches": (
        changes.gated_header_fields, changes.variable_header_field, changes.entry_field,
        changes.snapshot_versions_switched,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOGETHER)
def test_edits_together(name: str, tmp_path: Path) -> None:
    """Every codec, the compiled core and the official compiler's classes included."""
    edits = [Edit(apply.__name__, apply) for apply in TOGETHER[name]]
    found: list[str] = ["python", "construct", "kaitai"]
    try:
        tree = make_tree(tmp_path / "all", *edits, targets=TARGETS)
    except CompilerMissing:
        if os.environ.get("CI") == "true":
            raise
        found.remove("kaitai")
        tree = make_tree(tmp_path / "fast", *edits)
    with imported([tree]):
        for codec in codecs(tree):
            check_vectors(tree, codec)
        if "kaitai" in found:
            check_vectors(tree, KaitaiCodec(tree.package))
        try:
            build(tree.path, options=["-Wall", "-Wextra", "-Werror"])
        except NoCompilerError:
            if os.environ.get("CI") == "true":
                raise
            return
        importlib.invalidate_caches()
        check_core(tree, NativeCodec(tree.package))


def check_core(tree: Tree, codec: NativeCodec) -> None:
    """Headers and records in C are what the Python codec reads; what C refuses, it refuses too."""
    python = PythonCodec(tree.package)
    path = tree.path / "vectors" / "recordbatch.json"
    seen: Counter[str] = Counter()
    for vector in json.loads(path.read_text(encoding="utf-8"))["vectors"]:
        if vector["verdict"] != "accept":
            continue
        data = bytes.fromhex(vector["hex"])
        if vector["type"] == "recordbatch.entry":
            entry, end = python.parse("recordbatch.entry", data)
            table = codec.scan(data[:end])
            seen["scanned"] += table is not None
            if table is not None:
                check_columns(entry, table, codec.core.scan_names, vector)
        elif vector["type"] == "recordbatch.record_set":
            (given,) = vector["parameters"]
            header = bytes.fromhex(given["hex"])
            batch, _ = python.parse(given["type"], header, parameters=given["parameters"])
            records = python.decode_records(batch, data[: vector["end"]])
            assert codec.decode_records(batch, data[: vector["end"]]) == records, vector
            seen["records"] += len(records)
    assert seen["scanned"] > 10, seen
    assert seen["records"], seen


def check_columns(entry: Any, table: Any, names: Sequence[str], vector: Any) -> None:
    """Every number of the header stands in its column."""
    for name in names:
        if not table.has(name, 0):
            continue
        owner = entry.message
        try:
            expected = attrgetter(name)(owner)
        except AttributeError:
            continue  # A place, or a field of the entry that only its parameters show.
        if isinstance(expected, int):
            assert table.column(name)[0] == expected, (name, vector)
