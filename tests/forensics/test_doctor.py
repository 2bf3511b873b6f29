"""What ``kafkaspec doctor`` says before a start, and what brokers did: recorded answers."""

from __future__ import annotations

import json
import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafkaspec.broker.listing import LoaderFiles, list_files
from kafkaspec.cli.main import main
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.forensics.doctor import (
    Effect,
    LossKind,
    TroubleKind,
    diagnose,
    losses,
    partitions,
)
from kafkaspec.results import Strength
from kafkaspec.shown import size_text
from tests import extent
from tests.cli.test_mutations import damage
from tests.goldens import GOLDEN, VERSIONS
from tests.kafka import index_cases, start_answers
from tests.kafka.start_cases import DIES, OTHER_ID, STARTS, Case, cases

EVERY = {"4.3.1": 4, "3.9.2": 12, "2.8.2": 12}
"""One of so many cases here; `make test-kafka` has all of them."""
SEGMENTS_END = 45
"""Offset after the last one of the golden topic ``segments``."""


@pytest.mark.slow
@pytest.mark.parametrize("version", start_answers.RECORDED_WITH)
def test_a_broker_did_what_is_predicted(version: str, tmp_path: Path) -> None:
    answers = start_answers.recorded()[version]
    wrong: list[str] = []
    looked_at = list(cases(version))[:: EVERY[version] * (4 if extent.quick else 1)]
    for number, case in enumerate(looked_at):
        place = tmp_path / str(number)
        wrong += start_answers.differences(case, version, answers[case.name], place)
        shutil.rmtree(place)
    assert not wrong, f"{len(wrong)} of {len(looked_at)}:\n" + "\n".join(wrong[:20])


_TEXT_FILES = [
    case
    for case in cases()
    if case.name.startswith(("two, leader epochs", "two, partition.metadata"))
]


@pytest.mark.slow
@pytest.mark.parametrize("case", _TEXT_FILES, ids=[case.name for case in _TEXT_FILES])
def test_a_bad_text_file_ends_the_start_or_costs_a_directory(case: Case, tmp_path: Path) -> None:
    for version in start_answers.RECORDED_WITH:
        answer = start_answers.recorded()[version][case.name]
        assert start_answers.differences(case, version, answer, tmp_path / version) == []


def test_a_segment_that_an_empty_one_takes_the_place_of_is_named(tmp_path: Path) -> None:
    """``File.renameTo`` puts it there, whatever it holds: the records before it are gone."""
    place = tmp_path / "logs" / "segments-0"
    shutil.copytree(GOLDEN / "4.3.1" / "logs" / "segments-0", place)
    log = place / f"{12:020}.log"
    for content in (b"", b"no batch" * 20):
        (place / f"{log.name}.swap").write_bytes(content)
        found = diagnose([place.parent], clean=True)
        assert [
            (item.file, item.effect, item.offsets, item.size)
            for item in found.troubles
            if item.kind is TroubleKind.REPLACED
        ] == [(str(log), Effect.DELETES, (12, 24), log.stat().st_size)]


def test_nothing_is_said_of_what_changes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "logs" / "segments-0"
    shutil.copytree(GOLDEN / "4.3.1" / "logs" / "segments-0", place)

    def listed(path: Path) -> LoaderFiles:
        found = list_files(path)
        (path / f"{12:020}.log").unlink()  # as a broker that runs does
        return found

    monkeypatch.setattr(partitions, "list_files", listed)
    found = diagnose([place.parent], clean=True)
    assert found.unread == 1
    (item,) = [item for item in found.troubles if item.kind is TroubleKind.UNREADABLE]
    assert (item.effect, item.strength) == (Effect.NOTHING, Strength.UNKNOWN)
    assert found.offline == set()


def test_names_decide_as_brokers_did() -> None:
    """The table of names in full, without the rest of a log directory."""
    answers = start_answers.recorded()["4.3.1"]
    for name in (*DIES, *STARTS):
        assert answers[f"directory {name}"][0] is names.is_of_log_directory(name), name


@pytest.mark.slow
def test_nothing_is_found_in_what_a_broker_left() -> None:
    for version in ("2.8.2", "3.9.2", "4.3.1"):
        diagnosis = diagnose([GOLDEN / version / "logs"], clean=True, profile=version)
        assert diagnosis.starts
        kinds = {item.kind for item in diagnosis.findings}
        assert kinds <= {TroubleKind.MISSING}, diagnosis.findings


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_no_log_of_a_broker_is_damaged(version: str) -> None:
    """Nor is its log end hidden: the segments that a start does not read are read here."""
    for logs in sorted(path for path in (GOLDEN / version).rglob("logs") if path.is_dir()):
        for clean in (False,) if logs.parent.name == "unclean" else (True, False):
            with suppress(KafkaSpecError):  # remote storage
                found = diagnose([logs], clean=clean, profile=version).troubles
                kinds = {item.kind for item in found}
                assert not kinds & {TroubleKind.DAMAGED, TroubleKind.HIDDEN}, logs


@pytest.mark.slow
@pytest.mark.parametrize("point", [0, 5, 12, 13, 24, 40, 900])
def test_damage_below_the_recovery_point_is_named(point: int, tmp_path: Path) -> None:
    """A broker did not cut it there; it is in the batch that begins at byte 399.

    A recovery point after the end of the log says that offsets are lost there too.
    """
    name = f"a flip in segment 12 and recovery point {point}"
    kept = start_answers.recorded()["4.3.1"][name][1][0]["segments-0"]
    whole = len(kept) == 4
    assert whole is (point >= 24)
    (case,) = (case for case in cases() if case.name == name)
    directories = case.make("4.3.1", tmp_path)
    troubles = [item for item in diagnose(directories).troubles if item.topic == "segments"]
    found = [item for item in troubles if item.kind is not TroubleKind.LOST_OFFSETS]
    lost = [item.offsets for item in troubles if item not in found]
    assert lost[:1] == [(15, 18)], "the batch with the wrong checksum"
    assert lost[1:] == ([(SEGMENTS_END, point)] if point > SEGMENTS_END else [])
    assert {item.kind for item in found} == (
        {TroubleKind.DAMAGED} if whole else {TroubleKind.CUT, TroubleKind.REMOVED}
    )
    for item in found:
        if item.kind is TroubleKind.DAMAGED:
            assert (item.effect, item.position, item.offsets) == (Effect.IGNORES, 399, (15, 24))
            assert f"below the recovery point {point}" in item.message
    quick = diagnose(directories, quick=True).troubles
    assert not [item for item in quick if item.kind is TroubleKind.DAMAGED]


@pytest.mark.parametrize("version", index_cases.RECORDED_WITH)
def test_offsets_that_a_clean_start_hides_are_named(version: str, tmp_path: Path) -> None:
    answers = index_cases.recorded()[version]
    for case, path in index_cases.cases(tmp_path / "logs").items():
        end = answers[case].end
        logs = tmp_path / path.name
        logs.mkdir()
        path.rename(logs / path.name)
        diagnosis = diagnose([logs], clean=True, profile=version)
        assert [outcome.end_offset for outcome in diagnosis.outcomes] == [end], case
        found = [item for item in diagnosis.troubles if item.kind is TroubleKind.HIDDEN]
        hidden = [(end, index_cases.END)] if end < index_cases.END else []
        assert [item.offsets for item in found] == hidden, case
        assert all(item.effect is Effect.HIDES and item.counts for item in found)


@pytest.mark.slow
def test_a_release_without_zookeeper_does_not_start_without_the_files_of_kraft() -> None:
    """4.3.1 did not (``tests/kafka/start_cases.py``); 2.8.2 wrote these and started on them."""
    logs = GOLDEN / "2.8.2" / "logs"
    assert diagnose([logs], clean=True, profile="2.8.2").starts
    for release in ("4.0", "4.3"):
        diagnosis = diagnose([logs], clean=True, profile=release)
        assert not diagnosis.starts
        assert "ZooKeeper" not in {each.value for each in diagnosis.assumptions}
        assert any("ZooKeeper" in (item.remedy or "") for item in diagnosis.killers)


@pytest.fixture
def costly(tmp_path: Path) -> Path:
    """A log directory after a crash: damage that is cut, two partitions of other topics, ..."""
    (case,) = (case for case in cases() if case.name == "a flip in segment 12 and recovery point 5")
    (logs,) = case.make("4.3.1", tmp_path)
    for name in ("plain-0", "idempotent-0"):
        (logs / name / names.PARTITION_METADATA).write_bytes(OTHER_ID)
    for number in range(13):
        (logs / "compacted-0" / f"{900 + number:020d}.index").write_bytes(b"")
    return logs


@pytest.mark.slow
def test_the_first_line_says_what_is_lost(costly: Path) -> None:
    diagnosis = diagnose([costly])
    lost = sum(outcome.lost_bytes for outcome in diagnosis.outcomes)
    found = {(loss.what, loss.topic): loss for loss in losses(diagnosis.troubles, [])}
    cut = found[LossKind.CUT, "segments"]
    assert (cut.size, cut.offsets) == (lost, [(15, 45)])
    first = CliRunner().invoke(main, ["doctor", str(costly)]).stdout.splitlines()[0]
    assert first.startswith(
        f"Lost: {size_text(lost)} cut from 1 partition (segments-0 offsets 15 to 44)"
    )
    assert "2 partitions renamed to -stray (idempotent-0, plain-0)" in first
    assert first.endswith("The broker starts.")
    done = CliRunner().invoke(main, ["doctor", "--format", "json", str(costly)])
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["headline"] == first
    rows = [(item["what"], item["topic"], item["size"]) for item in summary["lost"]]
    assert rows[:3] == [
        ("cut", "segments", lost),
        ("renamed", "idempotent", 0),
        ("renamed", "plain", 0),
    ]


@pytest.mark.slow
def test_nothing_of_a_log_directory_that_is_given_up_is_lost(costly: Path) -> None:
    (costly / names.HIGH_WATERMARKS).write_bytes(b"garbage\n")
    diagnosis = diagnose([costly])
    assert diagnosis.offline == {costly}
    assert losses(diagnosis.troubles, diagnosis.offline) == []


@pytest.mark.slow
def test_equal_findings_are_one(costly: Path) -> None:
    out = CliRunner().invoke(main, ["doctor", str(costly)]).stdout
    assert out.count("that it belongs to") == 1
    assert "12 more findings like this" in out
    done = CliRunner().invoke(main, ["doctor", "--format", "json", str(costly)])
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(line.get("kind") == "orphan" for line in lines) == 13


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    logs = tmp_path / "logs"
    (case,) = (case for case in cases() if case.name == "a flip, no index there, clean stop")
    (logs,) = case.make("4.3.1", tmp_path)
    return logs


@pytest.mark.slow
def test_the_command_says_what_and_why(damaged: Path) -> None:
    (damaged / "lost+found").mkdir()
    before = {path: path.stat().st_mtime_ns for path in damaged.rglob("*")}
    done = CliRunner().invoke(main, ["doctor", str(damaged)])
    assert done.exit_code == 1
    assert done.stdout.startswith("The broker does not start.")
    assert f"mv {damaged}/lost+found {damaged.parent}/lost+found" in done.stdout
    assert "Later segments stay" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in damaged.rglob("*")} == before


@pytest.mark.slow
def test_commands_lead_out_of_the_working_directory(
    damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (damaged / "lost+found").mkdir()
    monkeypatch.chdir(damaged)
    (found,) = diagnose(["."]).killers
    assert found.command == f"mv lost+found {damaged.parent}/lost+found"


@pytest.mark.slow
def test_json_has_a_line_for_everything(damaged: Path) -> None:
    done = CliRunner().invoke(main, ["doctor", "--format", "json", str(damaged)])
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["type"] for line in lines} == {"trouble", "partition", "assumption", "summary"}
    (cut,) = (line for line in lines if line.get("kind") == "cut")
    assert (cut["topic"], cut["partition"], cut["effect"]) == ("segments", 0, "cuts")
    assert lines[-1]["starts"] is True
    partitions = (line for line in lines if line["type"] == "partition")
    (partition,) = (line for line in partitions if line["file"].endswith("/segments-0"))
    lost = sum(item["size"] - item["kept"] for item in partition["segments"])
    assert partition["lost_bytes"] == lost == cut["size"]


@pytest.mark.slow
def test_a_sound_directory_is_clean(damaged: Path) -> None:
    logs = str(GOLDEN / "2.8.2" / "logs")
    arguments = ["doctor", "--stop", "clean", "--profile", "2.8.2", logs]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.stdout
    assert done.stdout.startswith("The broker starts.\n")


@pytest.mark.slow
def test_of_an_older_release_nothing_is_proven(damaged: Path) -> None:
    diagnosis = diagnose([damaged], profile="2.8.2")
    assert {item.strength for item in diagnosis.findings} == {Strength.LIKELY}
    assert "rules" in {item.name for item in diagnosis.assumptions}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_damaged_directories_raise_nothing_foreign(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    directories = chance.choice(list(cases())).make("4.3.1", tmp_path)
    files = [path for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    for path in chance.sample(files, 4):
        data = bytearray(path.read_bytes())
        if data:
            path.write_bytes(damage(data, chance))
    with suppress(KafkaSpecError):
        diagnosis = diagnose(directories, clean=chance.choice([None, True, False]))
        assert all(item.message for item in diagnosis.troubles)


def test_wrong_usage_ends_with_two(tmp_path: Path) -> None:
    runner = CliRunner()
    assert runner.invoke(main, ["doctor", str(tmp_path / "none")]).exit_code == 2
    assert runner.invoke(main, ["doctor", "--profile", "x", str(tmp_path)]).exit_code == 2
    segment = GOLDEN / "4.3.1" / "logs" / "plain-0" / f"{0:020d}.log"
    assert runner.invoke(main, ["doctor", str(segment)]).exit_code == 2


@pytest.mark.slow
def test_what_is_left_over_is_named_with_its_offsets(tmp_path: Path) -> None:
    (case,) = (case for case in cases() if case.name == ".deleted without its segment")
    diagnosis = diagnose(case.make("4.3.1", tmp_path), profile="4.3.1")
    found = [item for item in diagnosis.troubles if item.kind is TroubleKind.DELETED_FILE]
    (log,) = (item for item in found if item.file.endswith(".log.deleted"))
    assert log.offsets == (12, 24)  # the next segment's name
    assert log.effect is Effect.DELETES
    assert (log.command or "").startswith("cp -p")


def test_an_index_that_a_killed_broker_left_is_named_where_no_start_rebuilds_it() -> None:
    """A killed broker of 4.3.1 wrote them; after a clean stop no start looks into them."""
    logs = GOLDEN / "4.3.1" / "unclean" / "logs"
    indexes = logs.glob("unclean-0/*index")
    padded = {str(path) for path in indexes if path.read_bytes()[-12:] == bytes(12)}
    assert len(padded) == 2
    for clean in (False, True):
        troubles = diagnose([logs], clean=clean, profile="4.3.1").troubles
        found = [item for item in troubles if item.kind is TroubleKind.PADDED_INDEX]
        named = {item.file for item in found if "/unclean-0/" in item.file}
        assert named == (padded if clean else set())
        assert all(item.strength is Strength.LIKELY for item in found)
