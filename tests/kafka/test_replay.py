"""The releases after 4.1 are taken in again by the command alone, but for sentences."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from tools.brokers.versions import by_name
from tools.import_messages.__main__ import SPEC, import_schemas, schemas_of
from tools.import_messages.structure import TODO
from tools.kafka import replay
from tools.specdiff.compare import compare
from tools.specgen.loader import load


@pytest.mark.kafka
def test_later_messages_are_taken_in_without_an_edit(tmp_path: Path) -> None:
    spec = Path(shutil.copytree(SPEC, tmp_path / "spec"))
    replay.freeze_messages(spec, by_name(replay.FROZEN))
    before, _ = compare(load(spec), load(SPEC))
    structural = [change for change in before if change.rule.id != "TEXT"]
    assert structural, "nothing came after the frozen release; the test shows nothing"
    for version in replay.later():
        import_schemas(schemas_of(version), version.name, spec=spec)
    replayed, today = load(spec), load(SPEC)
    changes, _ = compare(replayed, today)
    assert {change.rule.id for change in changes} <= {"TEXT"}, changes
    # What is left to a person are sentences, each of which says so.
    for one in replayed.specs:
        for type_ in one.types:
            for item in type_.fields:
                mine = today.type(type_.key).field_by_id[item.id]
                assert item.doc == mine.doc or item.doc.startswith(TODO), item.location


@pytest.mark.kafka
@pytest.mark.skipif(
    os.environ.get("CI") == "true" and "NIGHTLY" not in os.environ,
    reason="it takes minutes: .ci/kafka runs it every night",
)
def test_later_releases_are_taken_in_without_an_edit(tmp_path: Path) -> None:
    """Schemas, profiles, constants, tables, golden segments, pages, from a tree frozen at 4.1."""
    found = replay.replay(tmp_path / "tree")
    assert [taken.failed for taken in found.taken if taken.failed] == []
    assert found.different == []
    assert replay.page(found) == replay.PAGE.read_text(encoding="utf-8")


def test_the_report_has_every_later_release() -> None:
    text = replay.PAGE.read_text(encoding="utf-8")
    names = [version.name for version in replay.later()]
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == names
    assert "**Edits by hand outside of sentences: 0.** Both trees were equal." in text
