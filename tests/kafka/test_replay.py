"""The messages of a tree frozen at 4.1 become today's by the importer alone, but for sentences."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafkaspec.release import minor_of
from tools.brokers.versions import by_name
from tools.import_messages.__main__ import SPEC, import_schemas, schemas_of
from tools.import_messages.structure import TODO, snake
from tools.specdiff.compare import compare
from tools.specgen.loader import load

FROZEN, *LATER = ("4.1.2", "4.2.1", "4.3.1", "4.4.0")


def _frozen(spec: Path) -> Path:
    """Today's specification as it would have been with the messages of 4.1."""
    shutil.copytree(SPEC, spec)
    known = {snake(name) for name in schemas_of(by_name(FROZEN))}
    for one in load(SPEC).specs:
        ended = one.releases is not None
        older = one.since is not None and minor_of(one.since) <= minor_of(FROZEN)
        if one.is_message and not (ended or older or one.id in known):
            (spec / one.file_name).unlink()
    import_schemas(schemas_of(by_name(FROZEN)), FROZEN, spec=spec)
    return spec


@pytest.mark.kafka
def test_later_releases_are_taken_in_without_an_edit(tmp_path: Path) -> None:
    spec = _frozen(tmp_path / "spec")
    before, _ = compare(load(spec), load(SPEC))
    structural = [change for change in before if change.rule.id != "TEXT"]
    assert structural, "nothing came after the frozen release; the test shows nothing"
    for name in LATER:
        import_schemas(schemas_of(by_name(name)), name, spec=spec)
    replayed, today = load(spec), load(SPEC)
    changes, _ = compare(replayed, today)
    assert {change.rule.id for change in changes} <= {"TEXT"}, changes
    # What is left to a person are sentences, each of which says so.
    for one in replayed.specs:
        for type_ in one.types:
            for item in type_.fields:
                mine = today.type(type_.key).field_by_id[item.id]
                assert item.doc == mine.doc or item.doc.startswith(TODO), item.location
