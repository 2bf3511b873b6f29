"""A draft of the specification is in both readers without a line by hand."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.readers.running import cargo
from tests.specgen.edits import SPEC
from tools.drafts.overlay import apply, drafts
from tools.readers.go import FORMAT, put_together
from tools.readers.rust import assemble
from tools.specgen.driver import generate

DRAFT = next(draft for draft in drafts() if draft.name == "headers-first")
"""The one that changes records, and adds a file."""
NAMES = {
    "rust": ("RecordBatch3", "append_time", "priority", "WideIndex"),
    "go": ("RecordbatchRecordBatch3", "AppendTime", "Priority", "WideIndex"),
}


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is generated from the draft for both languages."""
    into = tmp_path_factory.mktemp("draft")
    spec = Path(shutil.copytree(SPEC, into / "spec"))
    apply(DRAFT, spec)
    generate(spec, into / "generated", tuple(NAMES))
    return into / "generated"


@pytest.mark.slow
@pytest.mark.parametrize("language", NAMES)
def test_both_languages_have_what_a_draft_adds(language: str, generated: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (generated / language).iterdir()]
    for name in NAMES[language]:
        assert any(name in text for text in texts), name


@pytest.mark.slow
def test_the_reader_in_go_compiles_with_a_draft(generated: Path, tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("no Go: go is missing")
    put_together(tmp_path, generated=generated / "go")
    assert (tmp_path / FORMAT / "wide_index_types.go").exists()
    command = ["go", "vet", "-mod=readonly", ".", f"./{FORMAT}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_reader_in_rust_compiles_with_a_draft(generated: Path, tmp_path: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("no Rust: cargo is missing")
    assemble(tmp_path, generated / "rust")
    cargo(tmp_path, "check")
