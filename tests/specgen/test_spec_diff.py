"""A comparison of two specifications names each change, whom it breaks, and bytes that show it."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kafkaspec.codecs.python import PythonCodec
from tests.specgen.break_edits import BREAKS, Break
from tests.specgen.changes import allow_magic, case_of
from tests.specgen.edits import SPEC, Edit, Files, edit_spec, field_of
from tools.specdiff import __main__ as specdiff
from tools.specdiff.rules import RULES, Broken
from tools.specdiff.verdict import judge
from tools.specgen.model import MESSAGES

ROOT = SPEC.parent


def _without_messages(into: Path) -> Path:
    return Path(shutil.copytree(SPEC, into, ignore=shutil.ignore_patterns(MESSAGES)))


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _without_messages(tmp_path_factory.mktemp("old") / "spec")


@pytest.mark.slow
def test_what_tells_things_apart_is_a_change_that_breaks_nobody(tmp_path: Path) -> None:
    new = Path(shutil.copytree(SPEC, tmp_path / "spec"))
    path = new / MESSAGES / "cluster_metadata" / "topic_record.ksy"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("-identity: topic_id", "-identity: name"), encoding="utf-8")
    (change,) = judge(SPEC, new)
    assert (change.rule.id, change.before, change.after) == (
        "IDENTITY", "-identity: 'topic_id'", "-identity: 'name'",
    )  # fmt: skip
    assert not change.breaks


@pytest.mark.slow
def test_a_tag_breaks_readers_that_should_know_it(tmp_path: Path) -> None:
    """Other content is misread by both; a tag with another number is new to the older reader."""
    verdicts = []
    for number, (old, new) in enumerate(
        [("    0: txn_index_empty_tag", "    5: txn_index_empty_tag"), (" type: u1", " type: s2")]
    ):
        edited = Path(shutil.copytree(SPEC, tmp_path / f"spec{number}"))
        path = edited / MESSAGES / "remote_log_metadata" / "remote_log_segment_metadata_record.ksy"
        before, mark, after = path.read_text(encoding="utf-8").partition("  txn_index_empty_tag:")
        assert old in after
        path.write_text(before + mark + after.replace(old, new, 1), encoding="utf-8")
        changes = judge(SPEC, edited)
        verdicts.append({broken for change in changes for broken in change.witnesses})
    assert verdicts == [{Broken.READING_OLD}, {Broken.READING_OLD, Broken.READING_NEW}]


@pytest.mark.slow
def test_each_section_has_tags_of_its_own(tmp_path: Path) -> None:
    """A new tag breaks nobody, also where another structure of the file has one of its number."""
    place = f"{MESSAGES}/remote_log_metadata/remote_log_segment_metadata_record.ksy"
    text = (SPEC / place).read_text(encoding="utf-8")
    inner = text[text.index("  message_tags:") :].replace("message_tag", "inner_tag")
    case, other = "            0: txn_index_empty_tag\n", "            7: txn_index_empty_tag\n"
    old = text.replace("flexible::tagged_fields", "inner_tags", 1) + inner.replace(case, other)
    sides = []
    for name, file in (("old", old), ("new", old.replace(case, case + other))):
        sides.append(Path(shutil.copytree(SPEC, tmp_path / name)))
        (sides[-1] / place).write_text(file, encoding="utf-8")
    changes = judge(*sides)
    assert [change.rule.id for change in changes] == ["CASE_ADDED"]
    assert changes[0].compared > 0
    assert not changes[0].breaks


@pytest.mark.slow
@pytest.mark.parametrize("case", BREAKS, ids=lambda case: case.edit.name)
def test_verdict(case: Break, old: Path, tmp_path: Path) -> None:
    new = _without_messages(tmp_path / "spec")
    edit_spec(new, case.edit)
    changes = judge(old, new)
    shown = [(c.rule.id, c.where, c.before, c.after, sorted(c.breaks)) for c in changes]
    found = [change for change in changes if change.rule.id == case.rule]
    assert found, shown
    assert found[0].breaks == case.breaks, shown
    readers = found[0].breaks & {Broken.READING_OLD, Broken.READING_NEW}
    if RULES[case.rule].bytes:
        assert found[0].witnesses.keys() == readers, shown
    if not readers and RULES[case.rule].bytes:
        assert found[0].compared > 0


def test_edits_are_enough() -> None:
    """Thirty edits at least, and every rule that a comparison can name among them."""
    assert len(BREAKS) >= 30
    assert {case.rule for case in BREAKS} <= RULES.keys()


@pytest.mark.slow
def test_each_of_two_fields_has_a_witness_of_its_own(old: Path, tmp_path: Path) -> None:
    """Both fields of an entry change their sign; the bytes for one misread it alone."""
    new = _without_messages(tmp_path / "spec")
    index = new / "index.ksy"
    text = index.read_text(encoding="utf-8")
    start = text.index("  offset_index_entry:")
    end = text.index("instances:", start)
    swapped = {"s4": "u4", "u4": "s4"}
    entry = re.sub(r"type: ([su]4)", lambda found: f"type: {swapped[found[1]]}", text[start:end])
    index.write_text(text[:start] + entry + text[end:], encoding="utf-8")
    signs = {change.field: change for change in judge(old, new) if change.rule.id == "SIGN"}
    assert len(signs) == 2
    for name, change in signs.items():
        assert change.witnesses.keys() == {Broken.READING_OLD, Broken.READING_NEW}
        for witness in change.witnesses.values():
            assert (witness.path, witness.others) == (f"/{name}", 0)


MAGICS = (0, 1, 2)


def _only(magic: int) -> Edit:
    """Leave one magic of the three."""

    def apply(files: Files) -> None:
        cases = field_of(files, "recordbatch.message", "content")["type"]["cases"]
        kept = cases[magic]
        cases.clear()
        case_of(files, magic, kept)
        allow_magic(files, magic)
        if magic < 2:
            field_of(files, "recordbatch.legacy_message", "magic")["valid"] = {"any-of": [magic]}

    return Edit(f"only_{magic}", apply)


@pytest.mark.slow
@pytest.mark.parametrize("pair", list(itertools.permutations(MAGICS, 2)), ids=str)
def test_pairs_of_magics(pair: tuple[int, int], tmp_path: Path) -> None:
    """No reader of one magic reads another, and a batch shows it."""
    specs = [_without_messages(tmp_path / str(magic)) for magic in pair]
    for spec, magic in zip(specs, pair, strict=True):
        edit_spec(spec, _only(magic))
    changes = judge(*specs)
    broken = {b: w for change in changes for b, w in change.witnesses.items()}
    assert broken.keys() == {Broken.READING_OLD, Broken.READING_NEW}
    today = PythonCodec()
    for magic, side in zip(pair, (Broken.READING_OLD, Broken.READING_NEW), strict=True):
        witness = next(
            c.witnesses[side] for c in changes
            if side in c.witnesses and c.witnesses[side].type == "recordbatch.message"
        )  # fmt: skip
        value, _ = today.parse(
            witness.type, bytes.fromhex(witness.hex), parameters=witness.parameters
        )
        assert value.magic == magic, witness


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.specdiff", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


@pytest.mark.slow
def test_program(old: Path, tmp_path: Path) -> None:
    """The program prints the same as text and as JSON, and its exit code says whether it breaks."""
    new = _without_messages(tmp_path / "spec")
    same = _run(str(old), str(new))
    assert same.returncode == 0, same.stderr
    assert same.stdout == "0 changes, 0 of them breaking somebody\n"
    case = next(case for case in BREAKS if case.edit.name == "change_a_sign")
    edit_spec(new, case.edit)
    text = _run(str(old), str(new))
    assert text.returncode == 1
    assert "index.ksy#/types/offset_index_entry/seq/1: SIGN: signed to unsigned" in text.stdout
    assert "breaks new readers of old files, old readers of new files" in text.stdout
    made = _run(str(old), str(new), "--format", "json")
    change, summary = (json.loads(line) for line in made.stdout.splitlines())
    assert (change["kind"], change["rule"], summary["kind"]) == ("change", "SIGN", "summary")
    witness = change["witnesses"]["reading-old"]
    assert witness["hex"] in text.stdout
    # The old codec takes the witness; a position that was negative is not one any more.
    value, _ = PythonCodec().parse(
        witness["type"], bytes.fromhex(witness["hex"]), parameters=witness["parameters"]
    )
    assert value.position < 0
    assert _run("--release", "0.2.0", str(old)).stdout == _run("0.2.0", str(old)).stdout != ""
    for wrong in (("--release", "9.9"), ("--release", "0.2.0", str(old), str(new))):
        refused = _run(*wrong)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "there are 0.2.0" in refused.stderr or "give B alone" in refused.stderr
    unknown = _run("nothing-like-this")
    assert unknown.returncode == 2
    assert "is not a folder, a git revision with spec/, or a release (0.2.0)" in unknown.stderr


@pytest.mark.slow
def test_released_specification_is_kept() -> None:
    """What was released can be compared with, and every break since then is accepted by name."""
    done = _run("--check")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_a_specification_that_is_kept_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(specdiff, "RELEASED", tmp_path)
    specdiff.keep(SPEC, "9.9.9")
    with specdiff.specification("9.9.9") as kept:
        assert judge(SPEC, kept) == []


@pytest.mark.slow
def test_breaks_are_accepted_with_a_reason(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is listed keeps its reason, and what is stale goes; then nothing is wrong."""
    new = _without_messages(tmp_path / "spec")
    edit_spec(new, BREAKS[0].edit)
    changes = judge(old, new)
    listed = tmp_path / "accepted.toml"
    listed.write_text('# head\n\n[[WIDER]]\nwhere = "gone"\nwhy = "stale"\n', encoding="utf-8")
    monkeypatch.setattr(specdiff, "ACCEPTED", listed)
    broken = {(change.rule.id, change.where) for change in changes if change.breaks}
    assert len(specdiff.not_accepted(changes)) == len(broken) + 1
    assert specdiff.accept(changes, 'a "reason"') == len(broken) > 0
    assert specdiff.not_accepted(changes) == []
    first = listed.read_text(encoding="utf-8")
    assert first.startswith("# head\n\n[[")
    assert "stale" not in first
    assert specdiff.accept(changes, "another") == 0
    assert listed.read_text(encoding="utf-8") == first


@pytest.mark.slow
def test_program_says_what_to_install() -> None:
    """After `make run` alone the generator's own packages are missing."""
    blocked = "import sys, runpy; sys.modules['lark'] = None; runpy.run_module('tools.specdiff')"
    done = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "this Python has no module lark; run: make spec-diff\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("", None, "is not a folder, a git revision"),
        ("nothing", None, "no .ksy file here"),
        ("empty", b"", "the file is empty"),
        ("cut", 1800, "index.ksy"),
    ],
)
def test_program_names_what_it_cannot_read(
    name: str, content: bytes | int | None, message: str, tmp_path: Path
) -> None:
    place = tmp_path / (name or "nowhere")
    if name:
        place.mkdir()
    data = (SPEC / "index.ksy").read_bytes()
    if content is not None:
        (place / "index.ksy").write_bytes(content if isinstance(content, bytes) else data[:content])
    done = _run(str(place), str(SPEC))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
