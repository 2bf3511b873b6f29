"""Verification in parts says what one pass says."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.analysis.parts import spans_of
from kafkaspec.analysis.report import FileResult, Report
from kafkaspec.analysis.verification import codecs_of, verify_events
from kafkaspec.spark.jobs.verify import VerifyUnit, check, informed, joined, look, units_of
from tests.goldens import GOLDEN

VERSIONS = ("0.8.2.2", "0.10.2.2", "0.11.0.3", "2.8.2", "4.3.1")
"""One of each generation of formats; what is tested does not depend on more."""


def through_pickle(unit: VerifyUnit) -> VerifyUnit:
    copy = pickle.loads(pickle.dumps(unit))
    assert isinstance(copy, VerifyUnit)
    return copy


def in_parts(path: Path, most: int, codec: str = "native") -> tuple[Report, int]:
    """The report, and into how many parts segments were cut."""
    codecs = codecs_of(codec)
    units = units_of(path, codecs, most)
    surveys = {n: look(unit) for n, unit in enumerate(units)}
    units = [through_pickle(unit) for unit in informed(units, surveys)]
    done = joined(units, {n: check(unit) for n, unit in reversed(list(enumerate(units)))})
    report = Report(codecs=codecs)
    for event in verify_events(
        path, codec=codec, elsewhere=lambda path: done.pop((0, str(path)), None)
    ):
        if isinstance(event, FileResult):
            report.files.append(event)
            report.totals.add(event)
        else:
            report.findings.append(event)
    assert not done  # each unit was asked for
    return report, sum(not unit.begins for unit in units)


def same(ours: Report, theirs: Report) -> None:
    assert ours.totals.as_dict() == theirs.totals.as_dict()
    assert [item.as_dict() for item in ours.files] == [item.as_dict() for item in theirs.files]
    # Those of an index and of its log may change places where a part ends.
    mine, its = ([json.dumps(x.as_dict()) for x in item.findings] for item in (ours, theirs))
    assert sorted(mine) == sorted(its)


@pytest.mark.parametrize("version", VERSIONS)
def test_golden_logs(version: str) -> None:
    logs = GOLDEN / version / "logs"
    ours, parts = in_parts(logs, 500)
    assert parts > 0
    same(ours, ks.verify(logs))


def test_further_codecs_compare_parts_too() -> None:
    partition = GOLDEN / "4.3.1" / "logs" / "segments-0"
    ours, parts = in_parts(partition, 300, "all")
    assert parts > 1
    same(ours, ks.verify(partition, codec="all"))


@pytest.mark.parametrize("name", ["segments-0", "transactions-segments-0", "idempotent-0"])
@pytest.mark.parametrize("step", [61, 97])
def test_damaged_logs(tmp_path: Path, name: str, step: int) -> None:
    """A byte after the other is changed: headers, sequences, markers, sizes, payloads."""
    golden = GOLDEN / "4.3.1" / "logs" / name
    logs = sorted(golden.glob("*.log"))
    size = max(path.stat().st_size for path in logs)
    found = 0
    for at in range(3, min(size, 1500), step):
        copy = tmp_path / f"{at}" / golden.name
        shutil.copytree(golden, copy)
        for log in sorted(copy.glob("*.log"))[:2]:
            data = bytearray(log.read_bytes())
            if at < len(data):
                data[at] ^= 0x11
                log.write_bytes(data)
        ours, _ = in_parts(copy, 300)
        theirs = ks.verify(copy)
        same(ours, theirs)
        found += len(theirs.findings)
    assert found


def test_an_index_that_lies_does_not_split(tmp_path: Path) -> None:
    copy = tmp_path / "segments-0"
    shutil.copytree(GOLDEN / "4.3.1" / "logs" / "segments-0", copy)
    moved = 0
    for index in copy.glob("*.index"):
        data = bytearray(index.read_bytes())
        for at in range(7, len(data), 8):  # the last byte of a position
            data[at] ^= 1
        moved += len(data) // 8
        index.write_bytes(data)
    assert moved
    assert any(len(spans_of(log, 100)) > 1 for log in copy.glob("*.log"))
    ours, _ = in_parts(copy, 100)
    theirs = ks.verify(copy)
    assert theirs.findings
    same(ours, theirs)
