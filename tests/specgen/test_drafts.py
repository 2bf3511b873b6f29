"""Drafts of the specification: each is data alone, and all that is public works with it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.explorer.testee import missing
from tests.specgen.edits import SPEC
from tests.specgen.public import install, run
from tools.drafts import overlay
from tools.drafts.overlay import Draft, DraftError, apply, drafts, read
from tools.native.build import NoCompilerError
from tools.specdiff.rules import Broken
from tools.specdiff.verdict import judge
from tools.specgen.lint.rules import lint
from tools.specgen.loader import load

DRAFTS = {draft.name: draft for draft in drafts()}
BREAKS = {
    "ended-field": {Broken.READING_NEW, Broken.WRITING},
    "fifth-codec": {Broken.READING_NEW},
    "headers-first": {Broken.READING_NEW},
    "kafka-20171": set(),
    "kip-1163": set(),
    "kip-1262": {Broken.READING_NEW},
    # A reader passes over a tag that it does not know, and nobody wrote it before (KIP-482).
    "kip-1266": {Broken.WRITING},
    "kip-1272": set(),
    "kip-1277": {Broken.READING_NEW},
    "kip-1279": set(),
    "new-record-type": set(),
    "renamed-tag": {Broken.WRITING, Broken.NAMES},
}
"""Whom each draft breaks."""
_GROUP = "streams_group_target_assignment_resolved_topic_ids"
PROGRAM = {
    "kafka-20171": [f"__consumer_offsets:{_GROUP}_key:{_GROUP}_value"],
    "kip-1262": ["__cluster_metadata::cluster_id_record"],
    "new-record-type": ["__transaction_state:producer_quota_key:producer_quota_value"],
    "fifth-codec": ["+brotli"],
}
"""What the program is told of a draft."""


def _applied(draft: Draft, tmp_path: Path) -> Path:
    spec = Path(shutil.copytree(SPEC, tmp_path / "spec"))
    apply(draft, spec)
    return spec


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAFTS)
def test_draft_is_a_specification_with_a_verdict(name: str, tmp_path: Path) -> None:
    spec = _applied(DRAFTS[name], tmp_path)
    assert lint(load(spec)) == []
    changes = judge(SPEC, spec)
    assert {broken for change in changes for broken in change.breaks} == BREAKS[name]
    readers = {Broken.READING_OLD, Broken.READING_NEW} & BREAKS[name]
    assert {broken for change in changes for broken in change.witnesses} == readers


def _changes_logs(spec: Path) -> bool:
    """Return whether a draft changes more than messages and text files."""
    return any(
        not (SPEC / path.name).exists() or path.read_bytes() != (SPEC / path.name).read_bytes()
        for path in spec.glob("*.ksy")
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAFTS)
def test_draft_with_all_that_is_public(name: str, tmp_path: Path) -> None:
    """The API and the commands, Spark, and the explorer's engine made of the draft.

    Spark knows nothing of messages but their tables: a draft of messages alone goes through it in
    ``make drafts`` and every night.
    """
    try:
        install(tmp_path, messages=True, change=lambda spec: apply(DRAFTS[name], spec))
    except NoCompilerError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    lacks_explorer = bool(missing()) and os.environ.get("CI") != "true"
    programs = ["draft"]
    if os.environ.get("NIGHTLY") == "true" or _changes_logs(tmp_path / "spec"):
        programs.append("draft_spark")
    if not lacks_explorer:
        programs.append("draft_explorer")
    for program in programs:
        done = run(tmp_path, program, *PROGRAM.get(name, ()))
        assert done.returncode == 0, done.stdout + done.stderr
    done = run(tmp_path, "examples", name)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def fifth_codec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("fifth-codec")
    try:
        install(root, messages=True, change=lambda spec: apply(DRAFTS["fifth-codec"], spec))
    except NoCompilerError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    return root


@pytest.mark.slow
@pytest.mark.parametrize("library", ["without", "given", "installed"])
def test_fifth_codec(library: str, fifth_codec: Path) -> None:
    if library == "installed":
        _install_library(fifth_codec)
    done = run(fifth_codec, "fifth_codec", library)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.spark
def test_fifth_codec_with_spark(fifth_codec: Path) -> None:
    pytest.importorskip("pyspark")
    _install_library(fifth_codec)
    done = run(fifth_codec, "fifth_codec", "spark")
    assert done.returncode == 0, done.stdout + done.stderr


def _install_library(root: Path) -> None:
    """Install a package that has a library for the codec, as pip lays it out."""
    package = root / "stand_in-1.dist-info"
    package.mkdir(exist_ok=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: stand-in\nVersion: 1\n")
    (package / "entry_points.txt").write_text(
        "[kafkaspec.compression]\nbrotli = tests.specgen.programs.stand_in\n"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title: x\n", "a draft has the keys edits, kip, source, state, title"),
        ("edits: [{sett: a}]\n", "edit 0 is not one of set, insert, remove, copy, add"),
        ("edits: [{set: a, too: 1}]\n", "edit 0 is not one of"),
        ("edits: [{set: recordbatch/types/recrd, to: {}}]\n", "edit 0: there is no 'recrd'"),
        ("edits: [{insert: nothing/seq, fields: []}]\n", "edit 0: there is no 'nothing/seq'"),
    ],
)
def test_what_is_wrong_in_a_draft_is_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine" / "draft.yaml"
    path.parent.mkdir()
    head = "" if text.startswith("title") else "title: x\nkip: ''\nstate: x\nsource: x\n"
    path.write_text(head + text, encoding="utf-8")
    with pytest.raises(DraftError, match=message):
        _applied(read(path), tmp_path)


def test_the_guide_has_every_draft_and_edit() -> None:
    page = (SPEC.parent / "docs" / "guide" / "new-kip.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in DRAFTS)
    text = (SPEC / "drafts" / "fifth-codec" / "draft.yaml").read_text(encoding="utf-8")
    assert f"```yaml\n{text}```" in page
    assert all(f"| `{name}: " in page for name in overlay.OPERATIONS)
