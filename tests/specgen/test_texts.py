"""Text files in the specification: what a wrong one says, and whom a change of one breaks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.checkpoints import meta_properties
from tests.specgen.edits import SPEC
from tools.specdiff.rules import Broken
from tools.specdiff.verdict import judge
from tools.specgen.document import SpecError
from tools.specgen.texts import FILE, texts_of

_KEY = "  keys:\n    version: {attribute: version, type: s4}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: {versions: [0]}", "a: keys is missing; write it"),
        (
            f"a:\n  version: [0]\n{_KEY}",
            "a: unknown key version; the keys are also, doc, doc-ref, format",
        ),
        (f"a:\n  versions: 0\n{_KEY}", "a/versions: write a list of numbers"),
        (
            f"a:\n  versions: [0]\n{_KEY.replace('s4', 's5')}",
            "unknown type s5; the types are s2, s4",
        ),
        (
            f"a:\n  versions: [0]\n{_KEY}    b: {{attribute: b, type: s4, versions: [1]}}\n",
            "b/versions: not among 0",
        ),
        (
            f"a:\n  versions: [0, 1]\n{_KEY}    b: {{attribute: version, type: s4}}\n",
            "version and b are version in version 0; leave out one",
        ),
        ("a:\n  versions: [0]\n  keys: {b: {attribute: b, type: s4}}", "no key is the version"),
    ],
)
def test_a_wrong_text_file_is_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        texts_of(tmp_path)
    assert message in str(caught.value)


def _edited(tmp_path: Path, old: str, new: str) -> Path:
    spec = Path(shutil.copytree(SPEC, tmp_path / "spec"))
    text = (spec / FILE).read_text(encoding="utf-8")
    assert old in text
    (spec / FILE).write_text(text.replace(old, new, 1), encoding="utf-8")
    return spec


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "reading_new", "reading_old"),
    [
        ("versions: [0, 1]", "versions: [0, 1, 2]", True, False),
        ("type: uuid", "type: str", True, True),
        ("  versions: [1]\n      required: [1]", "  versions: [1]", True, False),
    ],
)  # fmt: skip
def test_a_change_of_a_text_file_has_a_verdict(
    old: str, new: str, reading_new: bool, reading_old: bool, tmp_path: Path
) -> None:
    (change,) = judge(SPEC, _edited(tmp_path, old, new))
    assert change.rule.id == "TEXT_FILE"
    assert (Broken.READING_NEW in change.breaks) == reading_new
    assert (Broken.READING_OLD in change.breaks) == reading_old
    assert change.witnesses.keys() == change.breaks
    if reading_new and "type" not in new:  # the reader here is the old one
        with pytest.raises(KafkaSpecError):
            meta_properties.parse(bytes.fromhex(change.witnesses[Broken.READING_NEW].hex))
