"""An edit of the specification is all that a change of the format takes: load to codecs.

Each change of ``changes.py`` alone goes through the linter, the generator and the codecs in
Python; the C of each is compiled with every warning as an error.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafkaspec.codecs.base import Codec
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.errors import KafkaSpecError
from tests.specgen.changes import CHANGES
from tests.specgen.edits import SPEC, Edit, Tree, edit_spec, imported, make_tree
from tools.specgen.lint.rules import lint
from tools.specgen.loader import load

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
        found = (error.reason.value, error.path, error.offset)
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
        from kafkaspec.codecs.references.construct import ConstructCodec
    except ImportError:
        return found
    return [*found, ConstructCodec(tree.package)]


@pytest.mark.parametrize("edit", CHANGES, ids=lambda edit: edit.name)
def test_edit(edit: Edit, tmp_path: Path) -> None:
    shutil.copytree(SPEC, tmp_path / "linted")
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
