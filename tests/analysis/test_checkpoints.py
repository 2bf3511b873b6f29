"""Text files of a log directory that are broken, or say something else than the log."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkaspec.analysis import FileKind, FindingReason, verify
from kafkaspec.broker.actions import BrokerAction
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.checkpoints import leader_epoch_checkpoint, partition_metadata
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from tests.analysis.forge import reported, write_segment
from tests.extent import examples
from tests.goldens import GOLDEN, named
from tests.kafka import start_answers, start_cases
from tests.log.forge import batch, legacy, record

LOGS = GOLDEN / "4.3.1" / "logs"


def one(offset: int, epoch: int) -> bytes:
    return batch(offset, [record(0, b"x")], leader_epoch=epoch)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log directory of a broker that was stopped cleanly: two partitions and the metadata."""
    place = tmp_path / "logs"
    wanted = ("segments-0", "transactions-0", "transactions-1", "__cluster_metadata-0")
    for name in wanted:
        shutil.copytree(LOGS / name, place / name)
    for path in LOGS.iterdir():
        if path.is_file():
            shutil.copy(path, place / path.name)
    for name in names.OFFSET_CHECKPOINTS:
        lines = (place / name).read_text().splitlines()[2:]
        kept = [line for line in lines if "-".join(line.split(" ")[:2]) in wanted]
        (place / name).write_text("".join(f"{line}\n" for line in ["0", str(len(kept)), *kept]))
    assert verify(place).findings == []
    return place


_FATES = {
    name: starts
    for name, (starts, _) in start_answers.recorded()["4.3.1"].items()
    if name.startswith(("two, leader epochs", "two, partition.metadata"))
}


@pytest.mark.parametrize("name", _FATES)
def test_a_broker_that_ends_is_told_from_one_that_gives_a_directory_up(
    name: str, tmp_path: Path
) -> None:
    """Of two log directories, one has a bad file: 4.3.1 went on with the other, or did not."""
    (case,) = (case for case in start_cases.cases() if case.name == name)
    _, second = case.make("4.3.1", tmp_path)
    file = names.LEADER_EPOCHS if "leader epochs" in name else names.PARTITION_METADATA
    place = second / "plain-0" / file
    found = {item.action for item in verify(place).findings}
    assert found == {BrokerAction.REFUSES_LOG if _FATES[name] else BrokerAction.REFUSES_START}


@pytest.mark.parametrize("name", names.OFFSET_CHECKPOINTS)
def test_only_a_malformed_number_lets_a_broker_start(name: str, tmp_path: Path) -> None:
    answers = start_answers.recorded()["4.3.1"]
    kept = {True: BrokerAction.RESETS_OFFSET, False: BrokerAction.REFUSES_LOG}
    for what in ("is garbage", "has a wrong version", "has a wrong count", "has a bad number"):
        (case,) = (case for case in start_cases.cases() if case.name == f"{name} {what}")
        (logs,) = case.make("4.3.1", tmp_path / what)
        found = {item.action for item in verify(logs / name).findings}
        assert found == {kept[answers[case.name][0]]}, what


# -- leader epochs ----------------------------------------------------------------------------

LOG = one(0, 0) + one(1, 0) + one(2, 3) + one(3, 3) + one(4, 5)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([(0, 0), (3, 2), (5, 4)], []),
        ([(0, 0), (3, 2), (5, 4), (6, 5)], []),  # an epoch that has no batch yet
        ([], ["missing", "missing", "missing"]),
        ([(0, 0), (5, 4)], ["missing"]),
        ([(3, 2), (5, 4)], ["missing"]),
        ([(0, 0), (3, 1), (5, 4)], ["start"]),
        ([(0, 0), (3, 3), (5, 4)], ["start"]),
        ([(1, 0), (3, 2), (5, 4)], ["missing"]),
        ([(0, 1), (3, 2), (5, 4)], ["start"]),
        ([(0, 0), (2, 1), (3, 2), (5, 4)], ["start"]),
        ([(0, 0), (3, 2), (5, 4), (6, 6)], ["beyond"]),
        ([(0, 0), (5, 2), (3, 4)], ["order"]),
        ([(0, 0), (3, 0), (5, 4)], ["order"]),
        ([(-1, 0)], ["invalid"]),
    ],
)
def test_leader_epochs(tmp_path: Path, entries: list[tuple[int, int]], expected: list[str]) -> None:
    place = write_segment(tmp_path / "logs" / "t-0", LOG).parent
    data = leader_epoch_checkpoint.serialize([EpochEntry(*entry) for entry in entries])
    (place / names.LEADER_EPOCHS).write_bytes(data)
    reasons = {
        "missing": ("warning", "leader_epoch_missing"),
        "start": ("warning", "leader_epoch_start"),
        "beyond": ("warning", "checkpoint_beyond_log"),
        "order": ("warning", "leader_epoch_order"),
        "invalid": ("error", "invalid_value"),
    }
    wanted = [(reasons[name][0], "leader_epoch_checkpoint", reasons[name][1]) for name in expected]
    assert reported(verify(place)) == wanted
    assert reported(verify(tmp_path / "logs")) == wanted


def test_a_finding_lies_on_its_entry(tmp_path: Path) -> None:
    place = write_segment(tmp_path / "t-0", LOG).parent
    (place / names.LEADER_EPOCHS).write_bytes(b"0\n3\n0 0\n3 1\n5 4\n")
    finding = verify(place).findings[0]
    assert finding.file == str(place / names.LEADER_EPOCHS)
    assert finding.position == len(b"0\n3\n0 0\n")
    assert finding.offset == 0


def test_below_the_log_start_offset_there_is_no_epoch(tmp_path: Path) -> None:
    place = write_segment(tmp_path / "t-0", LOG).parent
    (place / names.LEADER_EPOCHS).write_bytes(b"0\n2\n3 3\n5 4\n")
    assert len(verify(place).findings) == 2
    (tmp_path / names.LOG_START_OFFSETS).write_bytes(b"0\n1\nt 0 3\n")
    assert verify(place).findings == []


def test_batches_without_an_epoch_need_no_entry(tmp_path: Path) -> None:
    place = write_segment(tmp_path / "t-0", legacy(0, b"x") + one(1, -1) + one(2, 0)).parent
    for data in (b"0\n1\n0 2\n", b"0\n1\n0 0\n"):
        (place / names.LEADER_EPOCHS).write_bytes(data)
        assert verify(place).findings == []


def test_a_segment_that_cannot_be_read_hides_the_end(tmp_path: Path) -> None:
    place = write_segment(tmp_path / "t-0", LOG).parent
    (place / f"{9:020}.log").symlink_to("nowhere")
    (place / names.LEADER_EPOCHS).write_bytes(b"0\n4\n0 0\n3 2\n5 4\n6 90\n")
    reasons = {finding.reason for finding in verify(place).findings}
    assert FindingReason.UNREADABLE in reasons
    assert FindingReason.CHECKPOINT_BEYOND_LOG not in reasons


# -- offsets ----------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        (names.HIGH_WATERMARKS, "segments 0 46", ("warning", "checkpoint_beyond_log")),
        (names.RECOVERY_POINTS, "segments 0 46", ("warning", "checkpoint_beyond_log")),
        (names.LOG_START_OFFSETS, "segments 0 46", ("error", "checkpoint_beyond_log")),
        (names.CLEANER_OFFSETS, "segments 0 46", ("warning", "checkpoint_beyond_log")),
        (names.LOG_START_OFFSETS, "segments 0 45", None),
        (names.CLEANER_OFFSETS, "segments 0 45", None),
        (names.LOG_START_OFFSETS, "segments 0 0", None),
        (names.LOG_START_OFFSETS, "segments 0 -1", ("info", "checkpoint_below_log")),
        (names.CLEANER_OFFSETS, "gone 0 1", ("warning", "checkpoint_partition")),
        (names.CLEANER_OFFSETS, "segments 0 1\nsegments 0 2", ("warning", "checkpoint_duplicate")),
        (names.CLEANER_OFFSETS, "segments 0", ("error", "invalid_value")),
    ],
)
def test_offsets_against_the_logs(
    logs: Path, name: str, line: str, expected: tuple[str, str] | None
) -> None:
    data = f"0\n{line.count(chr(10)) + 1}\n{line}\n".encode()
    (logs / name).write_bytes(data)
    findings = verify(logs).findings
    # Brokers reached the offsets of these two: the log has lost what it does not have of them.
    proves_loss = expected is not None and name in (names.HIGH_WATERMARKS, names.RECOVERY_POINTS)
    lost = [("warning", "missing_offsets")] if proves_loss else []
    found = [(str(item.severity), str(item.reason)) for item in findings]
    assert found == lost + ([expected] if expected else [])
    for item in findings[len(lost) :]:
        assert item.file == str(logs / name)
        assert item.position == data.rindex(b"segments" if b"segments" in data else b"gone")


@pytest.mark.slow
def test_the_end_of_the_log_is_that_of_its_batches(logs: Path) -> None:
    """As brokers note it at a clean stop: high watermark and recovery point are the end."""
    for version in ("0.8.2.2", "2.8.2", "4.3.1"):
        for name in (names.HIGH_WATERMARKS, names.RECOVERY_POINTS):
            place = logs.parent / version
            shutil.copytree(GOLDEN / version / "logs", place, dirs_exist_ok=True)
            lines = (place / name).read_text().splitlines()
            moved = [
                f"{item.rpartition(' ')[0]} {int(item.split(' ')[2]) + 1}" for item in lines[2:]
            ]
            (place / name).write_text("\n".join([*lines[:2], *moved]) + "\n")
            reasons = [finding.reason for finding in verify(place).findings]
            both = {FindingReason.MISSING_OFFSETS, FindingReason.CHECKPOINT_BEYOND_LOG}
            assert Counter(reasons) == dict.fromkeys(both, len(moved))
            (place / name).write_text("\n".join(lines) + "\n")


def test_a_partition_that_is_being_deleted_has_a_directory(logs: Path) -> None:
    gone = logs / ("segments-0." + "0" * 32 + "-delete")
    (logs / "segments-0").rename(gone)
    (finding,) = verify(logs).findings
    assert (finding.severity, finding.reason) == ("info", FindingReason.MOVED_PARTITION)
    shutil.rmtree(gone)
    reasons = [finding.reason for finding in verify(logs).findings]
    assert reasons == [FindingReason.CHECKPOINT_PARTITION] * 2


# -- the other files --------------------------------------------------------------------------


def test_two_partitions_of_a_topic_with_different_ids(logs: Path) -> None:
    path = logs / "transactions-1" / names.PARTITION_METADATA
    path.write_bytes(partition_metadata.serialize(UUID(int=7)))
    report = verify(logs)
    assert reported(report) == [("error", "partition_metadata", "topic_id")]
    assert report.findings[0].file == str(path)
    assert [item.clean for item in report.files if item.file == str(path)] == [False]


@pytest.mark.core
@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("segments-0/partition.metadata", b"", ("error", "partition_metadata", "truncated")),
        (
            "segments-0/partition.metadata",
            b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
            ("error", "partition_metadata", "invalid_value"),
        ),
        (
            "segments-0/leader-epoch-checkpoint",
            b"1\n0\n",
            ("error", "leader_epoch_checkpoint", "unsupported_version"),
        ),
        (
            "__cluster_metadata-0/quorum-state",
            b"{}",
            ("error", "quorum_state", "invalid_value"),
        ),
        (
            "__cluster_metadata-0/quorum-state",
            b'{"leaderId":0,"leaderEpoch":0,"votedId":-1,'
            b'"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}',
            ("warning", "quorum_state", "quorum_epoch"),
        ),
        (
            "meta.properties",
            b"version=1\nnode.id=0\n",
            ("error", "meta_properties", "invalid_value"),
        ),
        ("meta.properties", b"version=2\n", ("error", "meta_properties", "unsupported_version")),
        (
            "meta.properties",
            b"version=1\nnode.id=0\ncluster.id=x\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\n",
            ("error", "meta_properties", "directory_id"),
        ),
        (".kafka_cleanshutdown", b"x", ("warning", "clean_shutdown", "invalid_value")),
        (".kafka_cleanshutdown", b"", None),
    ],
)
def test_files_that_are_broken(
    logs: Path, name: str, data: bytes, expected: tuple[str, str, str] | None
) -> None:
    (logs / name).write_bytes(data)
    report = verify(logs)
    assert reported(report) == ([expected] if expected else [])
    for finding in report.findings:
        assert finding.file == str(logs / name)


def test_a_malformed_line_hides_no_other_finding(logs: Path) -> None:
    path = logs / "replication-offset-checkpoint"
    path.write_bytes(b"0\n3\nsegments-0 0 x\nsegments 0 999\ngone 0 1\n")
    found = [(finding.reason, finding.position) for finding in verify(logs).findings]
    assert found == [
        ("invalid_value", path.read_bytes().index(b"x")),
        ("checkpoint_beyond_log", path.read_bytes().index(b"segments 0")),
        ("checkpoint_partition", path.read_bytes().index(b"gone")),
    ]


def test_a_log_directory_that_was_not_stopped_cleanly(logs: Path) -> None:
    (logs / names.CLEAN_SHUTDOWN).unlink()
    report = verify(logs)
    assert reported(report) == [("info", "clean_shutdown", "unclean_stop")]
    assert report.clean
    assert str(report.findings[0].action) == "recovers_log"


@pytest.mark.core
def test_log_directories_of_one_broker(logs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(logs, other)
    assert reported(verify(logs, beside=[other])) == [("error", "meta_properties", "directory_id")]
    (other / names.META_PROPERTIES).write_bytes(b"version=1\nnode.id=1\ncluster.id=x\n")
    assert reported(verify(logs, beside=[other])) == [
        ("error", "meta_properties", "other_cluster"),
        ("error", "meta_properties", "other_node"),
    ]
    (other / names.META_PROPERTIES).write_bytes(b"version=0\n")
    assert verify(logs, beside=[other]).findings == []
    (other / names.META_PROPERTIES).write_bytes(b"version=9\n")  # a finding of that one
    assert verify(logs, beside=[other, tmp_path / "none"]).findings == []


@pytest.mark.core
@pytest.mark.parametrize(
    "name",
    [
        "segments-0/leader-epoch-checkpoint",
        "segments-0/partition.metadata",
        "__cluster_metadata-0/quorum-state",
        "meta.properties",
        ".kafka_cleanshutdown",
        ".lock",
        *names.OFFSET_CHECKPOINTS,
    ],
)
def test_a_file_on_its_own(logs: Path, name: str) -> None:
    (logs / ".lock").touch()
    report = verify(logs / name)
    assert report.findings == []
    assert [(item.file, item.checked) for item in report.files] == [(str(logs / name), True)]


def test_entries_are_counted(logs: Path) -> None:
    counted = {item.file: item.entries for item in verify(logs).files}
    assert counted[str(logs / names.HIGH_WATERMARKS)] == 3
    assert counted[str(logs / names.LOG_START_OFFSETS)] == 0


CHECKPOINTS = [
    golden
    for name in (
        names.LEADER_EPOCHS,
        names.PARTITION_METADATA,
        names.QUORUM_STATE,
        names.META_PROPERTIES,
        names.CLEAN_SHUTDOWN,
        *names.OFFSET_CHECKPOINTS,
    )
    for golden in named(name)
]


@pytest.mark.core
@given(data=st.data())
@settings(max_examples=examples(150), deadline=None)
def test_mutated_files_give_findings_and_nothing_else(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    golden = data.draw(st.sampled_from(CHECKPOINTS))
    content = bytearray(golden.path.read_bytes())
    at = data.draw(st.integers(0, len(content)))
    content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    place = tmp_path_factory.mktemp("t") / "t-0"
    write_segment(place, LOG)
    path = place / golden.path.name
    path.write_bytes(content)
    try:
        report = verify(place)
    except KafkaSpecError as error:  # which is for what is not there at all
        pytest.fail(str(error))
    assert str(path) in {item.file for item in report.files}
    for finding in report.findings:
        assert finding.file == str(path)
        assert finding.position is None or 0 <= finding.position <= len(content)


@pytest.mark.core
def test_no_kind_of_text_file_goes_unchecked() -> None:
    kinds = {item.kind for item in verify(LOGS).files if not item.checked}
    assert kinds == set()
    assert {FileKind.LOCK, FileKind.QUORUM_STATE} <= set(FileKind)
