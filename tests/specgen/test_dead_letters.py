"""Headers of dead letters in the specification: what a wrong file says, and none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.specgen.dead_letters import FILE, dead_letters_of
from tools.specgen.document import SpecError

_HEADERS = """\
    t: {field: topic, type: str}
    p: {field: partition, type: s4}
    o: {field: offset, type: s8}
"""
_WRITER = "a:\n  doc: Text.\n  doc-ref: x\n  numbers: text\n  headers:\n"
_RIGHT = _WRITER + _HEADERS


def test_a_specification_may_have_none(tmp_path: Path) -> None:
    assert dead_letters_of(tmp_path) == ()


def test_headers_are_in_the_order_of_the_file(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(_RIGHT, encoding="utf-8")
    (layout,) = dead_letters_of(tmp_path)
    assert [(each.key, each.field) for each in layout.headers] == [
        ("t", "topic"), ("p", "partition"), ("o", "offset"),
    ]  # fmt: skip
    assert (layout.writer, layout.binary) == ("a", False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a mapping"),
        ("a: {}", "a: doc is missing; write it"),
        (_RIGHT.replace("s8", "s5"), "a/headers/o/type: s5 is not one of s4, s8, str"),
        (_RIGHT.replace("numbers: text", "numbers: hex"), "hex is not one of text, binary"),
        (_RIGHT.replace("numbers", "number"), "a: unknown key number; the keys are doc, doc-ref"),
        (_RIGHT.replace("field: offset", "field: place"), "a/headers: no header has the offset"),
        (_RIGHT.replace("type: str", "type: s4"), "a/headers/t: topic is str elsewhere"),
        (_RIGHT + "    o: {field: group, type: str}\n", "the key o is here twice"),
        (_RIGHT + _RIGHT.replace("a:", "b:", 1), "a has t too; leave out one"),
        (
            f"{_RIGHT}    x: {{field: task, type: s4}}\n    y: {{field: task, type: str}}\n",
            "a/headers/y: task is s4 elsewhere; write one type",
        ),
    ],
)
def test_a_wrong_file_is_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        dead_letters_of(tmp_path)
    assert message in str(caught.value)
    assert FILE in str(caught.value)
