"""Cases from any segments: what our codecs say is what brokers said, and faults are found."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.cli.exits import CLEAN, FINDINGS, USAGE
from kafkaspec.conformance import own, testee
from kafkaspec.conformance.cases import Case, Items, Refusal
from kafkaspec.conformance.goldens import committed_cases, golden_cases
from kafkaspec.conformance.own import OwnCasesError, own_cases
from tests.cli.helpers import lines, run
from tests.goldens import GOLDEN, VERSIONS

FAULTY = Path(__file__).parent / "faulty_testee.py"
LOGS = GOLDEN / VERSIONS[-1] / "logs"


def answers(case: Case) -> list[dict[str, object]]:
    assert isinstance(case.expected, Items)
    return list(case.expected.items or ())


@pytest.mark.slow
def test_our_codecs_say_what_brokers_said() -> None:
    """All that producers and the dump tool know of a version is in the cases of its files."""
    mine = {case.id.replace("/logs/", f"/{VERSIONS[-1]}/", 1): case for case in own_cases(LOGS)}
    theirs = [*golden_cases(LOGS.parent), *committed_cases(LOGS.parent)]
    compared = 0
    for case in theirs:
        if case.category in ("checksum", "structure") or "checkpoint" in case.id:
            continue
        said = mine[case.id]
        assert "No broker says so" in said.why
        found = {f"{ks.conformance.protocol.ANSWERS[case.kind]}": answers(said)}
        assert case.expected.failure(found, case.kind) is None, case.id
        compared += 1
    assert compared > 100


def test_a_large_segment_is_several_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"{0:020}.log"
    shutil.copy(LOGS / "plain-0" / path.name, path)
    (whole,) = own_cases(path)
    monkeypatch.setattr(own, "PIECE", 300)
    pieces = list(own_cases(path))
    assert len(pieces) > 3
    assert b"".join(case.data for case in pieces) == path.read_bytes()
    assert [item for case in pieces for item in answers(case)] == answers(whole)


def test_a_segment_that_is_named_is_all_that_is_read(tmp_path: Path) -> None:
    source = LOGS / "transactions-0"
    first, *_ = sorted(source.glob("*.log"))
    shutil.copy(first, tmp_path)
    # It is read as Kafka's log, and could not be.
    (tmp_path / f"{1 << 40:020}.log").write_bytes(b"another log" * 20)
    (case,) = (case for case in own_cases(tmp_path / first.name) if case.category == "committed")
    assert case.data == first.read_bytes()
    assert case.id == f"committed/{first.name}"


def test_a_partition_that_is_too_large_for_its_committed_records_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("plain-0", "transactions-0"):
        shutil.copytree(LOGS / name, tmp_path / name)
    left_out: list[Path] = []
    assert any(case.category == "committed" for case in own_cases(tmp_path, left_out.append))
    assert left_out == []
    monkeypatch.setattr(own, "PIECE", 300)
    assert not any(case.category == "committed" for case in own_cases(tmp_path, left_out.append))
    assert left_out == [tmp_path / "transactions-0"]


@pytest.mark.slow
def test_the_command_shows_what_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(LOGS / "transactions-0", tmp_path / "transactions-0")
    monkeypatch.setattr(own, "PIECE", 300)
    arguments = ("--cases", str(tmp_path), "--only", "control/*", "--format", "json")
    found = lines(run("conform", "--codec", "native", *arguments))
    (left_out,) = (line for line in found if line["type"] == "left_out")
    assert left_out["file"] == str(tmp_path / "transactions-0")
    assert "committed records: more than" in left_out["why"]


@pytest.mark.slow
def test_text_files_are_cases() -> None:
    cases = {case.id: case for case in own_cases(LOGS) if case.category == "text"}
    case = cases["text/logs/plain-0/partition.metadata"]
    (entry,) = answers(case)
    text = (LOGS / "plain-0" / "partition.metadata").read_text()
    assert entry == {"version": 0, "topic_id": text.split()[-1]}
    assert {"text/logs/meta.properties", "text/logs/cleaner-offset-checkpoint"} < cases.keys()


def test_damaged_files_must_be_refused_for_the_reason_that_both_codecs_give(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.log"
    data = bytearray((LOGS / "plain-0" / path.name).read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    (case, *_) = own_cases(tmp_path)
    assert isinstance(case.expected, Refusal)
    assert case.expected.reasons == {"checksum_mismatch"}


def test_codecs_that_disagree_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"{0:020}.log"
    shutil.copy(LOGS / "plain-0" / path.name, path)
    handlers = testee.handlers_of

    def other(codec: ks.codecs.Codec) -> object:
        made = handlers(codec)
        return made if codec.name == "native" else {kind: lambda *_: [] for kind in made}

    monkeypatch.setattr(own, "handlers_of", other)
    with pytest.raises(OwnCasesError, match="do not agree"):
        list(own_cases(path))


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["none", "key"])
def test_the_command_takes_a_segment(fault: str) -> None:
    path = LOGS / "plain-0" / f"{0:020}.log"
    command = f"{sys.executable} {FAULTY} {fault}"
    arguments = ("--cases", str(path), "--only", "segment/*", "--format", "json")
    done = run("conform", "--testee", command, *arguments)
    assert done.exit_code == (CLEAN if fault == "none" else FINDINGS)
    case, _ = lines(done)
    assert case["id"] == f"segment/{path.name}"
    assert "No broker says so" in str(case["why"])


@pytest.mark.slow
def test_a_path_without_files_of_logs_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    done = run("conform", "--codec", "python", "--cases", str(tmp_path))
    assert done.exit_code == USAGE
    assert "holds no segment" in done.output
