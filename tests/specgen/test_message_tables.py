"""Tables of messages: the versions of drafts, and shapes that have no columns."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafkaspec.messages.tables import WIDTH, MessageColumns, Step
from tools.drafts.text import dump
from tools.specgen.loader import load
from tools.specgen.messages.derive import derive
from tools.specgen.messages.nodes import Unsupported

SPEC = Path(__file__).resolve().parents[2] / "spec"
_INTEGER = {"id": "number", "type": "s4"}
_VERSION = {"id": "schema_version", "type": "s2", "valid": {"min": 0}}


def table(tmp_path: Path, seq: list[object], types: dict[str, object]) -> MessageColumns:
    folder = tmp_path / "messages" / "drafts"
    folder.mkdir(parents=True)
    for name in ("varint", "primitive", "flexible"):
        shutil.copy(SPEC / f"{name}.ksy", tmp_path)
    imports = [f"../../{name}" for name in ("varint", "primitive", "flexible")]
    meta = {"id": "draft", "title": "Draft", "imports": imports, "endian": "be"}
    document = {"meta": meta, "seq": seq, "types": types}
    (folder / "draft.ksy").write_text(dump(document), encoding="utf-8")
    model = load(tmp_path)
    return derive(model, model.spec("draft").root)


def steps(message: MessageColumns) -> list[Step]:
    return [Step(step) for step in message.program[::WIDTH]]


def test_versions_after_the_last_that_is_known_are_read_like_it(tmp_path: Path) -> None:
    """Five versions of three layouts without an end; no condition says where the last begins."""
    cases = {0: "first", 1: "first", 2: "second", 3: "second", "_": "third"}
    made = table(
        tmp_path,
        [_VERSION, {"id": "body", "type": "choice(schema_version)"}],
        {
            "choice": {
                "params": [{"id": "version", "type": "u4"}],
                "seq": [{"id": "body", "type": {"switch-on": "version", "cases": cases}}],
            },
            "first": {"seq": [_INTEGER]},
            "second": {"seq": [_INTEGER, {"id": "text", "type": "primitive::plain_string"}]},
            "third": {"seq": [{"id": "text", "type": "primitive::plain_string"}]},
        },
    )
    assert steps(made).count(Step.CASE) == 5
    lines = [made.program[at : at + WIDTH] for at in range(0, len(made.program), WIDTH)]
    assert lines[0][-2:] == (0, 32767)
    assert [column.name for column in made.root.children] == ["schema_version", "number", "text"]
    assert [column.nullable for column in made.root.children] == [False, True, True]
    assert [column.kind.name for column in made.root.children[1:]] == ["INTEGER", "TEXT"]


REFUSED = {
    "counted twice": (
        [
            {"id": "num_items", "-derive": "count(items)", "type": "s4", "valid": {"min": 0}},
            {"id": "items", "type": "s4", "repeat": "expr", "repeat-expr": "num_items"},
        ],
        "is not bounded by the bytes that are left",
    ),
    "optional by a number": (
        [{"id": "flag", "type": "s4"}, {"id": "text", "type": "s4", "if": "flag == 3"}],
        "bounds no versions",
    ),
    "gaps": ([{"id": "one", "type": "s4", "valid": {"any-of": [1, 5]}}], "with gaps"),
    "size": (
        [
            {"id": "len_data", "-derive": "len(data)", "type": "u2"},
            {"id": "data", "size": "len_data"},
        ],
        "is derived from something else",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_shapes_are_refused_by_name(tmp_path: Path, name: str) -> None:
    seq, why = REFUSED[name]
    with pytest.raises(Unsupported, match=why) as caught:
        table(tmp_path, seq, {})  # type: ignore[arg-type]
    assert "messages/drafts/draft.ksy#/seq/" in str(caught.value)
