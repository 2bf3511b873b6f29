"""Transaction indexes, producer snapshots, and the files of a directory against each other."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.analysis import BrokerAction, FileKind, verify
from kafkaspec.codecs import get_codec
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files.snapshots import ProducerSnapshot, serialize_snapshot
from tests.analysis.forge import (
    ABORT,
    COMMIT,
    CONTROL,
    TRANSACTIONAL,
    marker,
    reported,
    snapshot,
    write_segment,
)
from tests.goldens import GOLDEN
from tests.log.forge import batch, record


def data(offset: int, producer: int = 7, sequence: int = 0) -> bytes:
    return batch(
        offset, [record(0, b"x")], producer=(producer, 0, sequence), attributes=TRANSACTIONAL
    )


def end(offset: int, kind: int, producer: int = 7) -> bytes:
    key, value = marker(kind)
    return batch(
        offset,
        [record(0, value, key=key)],
        producer=(producer, 0, -1),
        attributes=TRANSACTIONAL | CONTROL,
    )


ABORTED = data(0) + end(1, ABORT)
ENTRY = (7, 0, 1, 2)


@pytest.mark.parametrize(
    ("log", "txnindex"),
    [
        pytest.param(ABORTED, [ENTRY], id="aborted"),
        pytest.param(data(0) + end(1, COMMIT), None, id="committed"),
        pytest.param(end(1, ABORT), None, id="marker without data"),
        pytest.param(end(1, ABORT), [ENTRY], id="data that compaction removed"),
        pytest.param(batch(5, [record(0, b"x")]), [ENTRY], id="marker that compaction removed"),
        pytest.param(
            data(0, 7) + data(1, 8) + end(2, ABORT, 8) + end(3, ABORT, 7),
            [(8, 1, 2, 0), (7, 0, 3, 4)],
            id="overlapping",
        ),
    ],
)
def test_legal_transaction_indexes(
    tmp_path: Path, log: bytes, txnindex: list[tuple[int, int, int, int]] | None
) -> None:
    assert reported(verify(write_segment(tmp_path, log, txnindex=txnindex))) == []


@pytest.mark.parametrize(
    ("log", "txnindex", "reason", "action"),
    [
        pytest.param(ABORTED, None, "transaction_missing", "hides_records", id="no file"),
        pytest.param(ABORTED, [], "transaction_missing", "hides_records", id="no entry"),
        pytest.param(
            data(0) + end(1, COMMIT), [ENTRY], "transaction_marker", "hides_records", id="committed"
        ),
        pytest.param(
            ABORTED, [ENTRY, (7, 0, 9, 10)], "transaction_marker", "hides_records", id="beyond"
        ),
        pytest.param(
            ABORTED, [(9, 0, 1, 2)], "transaction_marker", "hides_records", id="other producer"
        ),
        pytest.param(ABORTED, [ENTRY, ENTRY], "transaction_order", "hides_records", id="repeated"),
        pytest.param(
            ABORTED, [(7, 5, 1, 2)], "transaction_range", "hides_records", id="begins after it"
        ),
        pytest.param(
            ABORTED, [(7, 0, 1, 99)], "transaction_range", "hides_records", id="stable offset"
        ),
        pytest.param(
            data(0) + end(1, COMMIT) + data(2, sequence=1) + end(3, ABORT),
            [(7, 0, 3, 4)],
            "transaction_range",
            "hides_records",
            id="reaches over the transaction before",
        ),
        pytest.param(
            ABORTED, [(7, -5, 1, 2)], "transaction_range", "hides_records", id="negative offset"
        ),
        pytest.param(
            ABORTED,
            struct.pack(">hqqqq", 1, *ENTRY),
            "transaction_version",
            "nothing",
            id="version that Kafka does not see",
        ),
        pytest.param(
            ABORTED, b"\1" + bytes(33), "invalid_value", "refuses_log", id="version of Kafka's eye"
        ),
    ],
)
def test_wrong_transaction_indexes(
    tmp_path: Path,
    log: bytes,
    txnindex: list[tuple[int, int, int, int]] | bytes | None,
    reason: str,
    action: str,
) -> None:
    report = verify(write_segment(tmp_path, log, txnindex=txnindex))
    assert reason in {str(finding.reason) for finding in report.findings}
    found = next(finding for finding in report.findings if finding.reason == reason)
    assert found.action == BrokerAction(action)
    assert found.file.endswith(".log" if txnindex is None else ".txnindex")
    assert not report.clean


def test_a_transaction_over_two_segments(tmp_path: Path) -> None:
    write_segment(tmp_path, data(0))
    write_segment(tmp_path, end(1, ABORT), base=1, txnindex=[ENTRY])
    write_snapshot(tmp_path, snapshot([(7, 0, 0, 0, 0, 1000, -1, 0)]), offset=1)
    assert reported(verify(tmp_path)) == []
    (tmp_path / f"{1:020}.txnindex").unlink()
    assert reported(verify(tmp_path)) == [("error", "transaction_index", "transaction_missing")]


def test_a_segment_copied_alone_gives_no_alarm_about_its_transactions(tmp_path: Path) -> None:
    report = verify(write_segment(tmp_path, ABORTED, index=None))
    assert reported(report) == [("info", "offset_index", "missing_index")]


PRODUCER = (7, 0, 4, 9, 4, 1000, 0, -1)


def write_snapshot(directory: Path, content: bytes, offset: int = 10) -> Path:
    path = directory / f"{offset:020}.snapshot"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        snapshot([]),
        snapshot([PRODUCER]),
        snapshot([(7, 3, -1, -1, 0, 1000, 0, -1)]),
        snapshot([PRODUCER, (8, 0, 1, 3, 1, 1000, -1, 2)]),
    ],
    ids=["empty", "one", "markers only, as transaction version 2 leaves it", "open transaction"],
)
def test_legal_snapshots(tmp_path: Path, content: bytes) -> None:
    report = verify(write_snapshot(tmp_path, content))
    assert reported(report) == []
    assert report.files[0].kind is FileKind.PRODUCER_SNAPSHOT


@pytest.mark.parametrize(
    ("content", "severity", "reason", "action"),
    [
        (b"", "error", "overrun", "forgets_producers"),
        (snapshot([PRODUCER])[:-1], "error", "invalid_value", "forgets_producers"),
        (snapshot([PRODUCER], crc=1), "error", "checksum_mismatch", "forgets_producers"),
        (snapshot([PRODUCER], version=2), "error", "invalid_value", "forgets_producers"),
        (snapshot([PRODUCER], surplus=b"xyz"), "warning", "trailing_bytes", "nothing"),
        (snapshot([PRODUCER, PRODUCER]), "warning", "snapshot_content", "nothing"),
        (snapshot([(7, 0, 4, 10, 4, 0, 0, -1)]), "warning", "snapshot_content", "nothing"),
        (snapshot([(7, 0, 4, 9, 4, 0, 0, 10)]), "warning", "snapshot_content", "nothing"),
        (snapshot([(7, 0, 4, 9, -4, 0, 0, -1)]), "warning", "snapshot_content", "nothing"),
    ],
)
def test_wrong_snapshots(
    tmp_path: Path, content: bytes, severity: str, reason: str, action: str
) -> None:
    report = verify(write_snapshot(tmp_path, content))
    assert reported(report) == [(severity, "producer_snapshot", reason)]
    assert report.findings[0].action == BrokerAction(action)


ONE = batch(0, [record(0, b"x"), record(1, b"y")])


def test_segments_that_overlap(tmp_path: Path) -> None:
    write_segment(tmp_path, ONE)
    write_segment(tmp_path, batch(1, [record(0, b"z")]), base=1)
    assert reported(verify(tmp_path)) == [
        ("warning", "files", "missing_offsets"),  # no place in the log for the first batch
        ("error", "files", "segment_overlap"),
        ("error", "batch", "offset_order"),
    ]


def test_segments_with_a_hole_between_them_are_legal(tmp_path: Path) -> None:
    write_segment(tmp_path, ONE)
    write_segment(tmp_path, batch(900, [record(0, b"z")]), base=500)
    assert reported(verify(tmp_path)) == []


def test_every_other_file_is_named(tmp_path: Path) -> None:
    write_segment(tmp_path, ONE)
    names = {
        f"{5:020}.index": "orphan_file",
        f"{5:020}.log.deleted": "leftover",
        f"{5:020}.log.cleaned": "leftover",
        f"{5:020}.log.swap": "leftover",
        f"{5:020}-{1:010}.checkpoint.part": "leftover",
        "leader-epoch-checkpoint.tmp": "leftover",
        "notes.txt": "unknown_file",
        "leader-epoch-checkpoint": "leader_epoch_missing",
        "partition.metadata": "invalid_value",
    }
    for name in names:
        (tmp_path / name).write_bytes(b"0\n0\n")
    (tmp_path / "sub").mkdir()
    report = verify(tmp_path)
    found = {os.path.basename(item.file): str(item.reason) for item in report.findings}
    lost = {f"{0:020}.log": "missing_offsets"}  # the index of 5 has no segment
    assert found == names | lost | {"sub": "unknown_file"}
    assert {os.path.basename(result.file) for result in report.files} == {
        *names,
        "sub",
        f"{0:020}.log",
        f"{0:020}.index",
    }
    assert not report.clean  # an orphan is a warning


def test_a_log_directory(tmp_path: Path) -> None:
    write_segment(tmp_path / "a.b-c-0", ONE)
    write_segment(tmp_path / "a.b-c-1", ONE)
    (tmp_path / "not a partition").mkdir()
    (tmp_path / "meta.properties").write_text("version=0\n")
    report = verify(tmp_path)
    assert reported(report) == [("error", "files", "directory_name")]
    assert {os.path.basename(result.partition) for result in report.files} == {
        "",
        "a.b-c-0",
        "a.b-c-1",
    }


def test_a_partition_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_segment(tmp_path / "t-0", ONE)
    write_segment(tmp_path / "t-1", ONE)
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if path.name == "t-0":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    report = verify(tmp_path)
    assert reported(report) == [("error", "files", "unreadable")]
    assert report.findings[0].file == str(tmp_path / "t-0")
    assert report.totals.batches == 1


def test_a_snapshot_of_kraft_without_footer(tmp_path: Path) -> None:
    header = batch(0, [record(0, b"\0\0" + bytes(8) + b"\0", key=b"\0\0\0\3")], attributes=CONTROL)
    footer = batch(1, [record(0, b"\0\0\0", key=b"\0\0\0\4")], attributes=CONTROL)
    path = tmp_path / f"{5:020}-{1:010}.checkpoint"
    path.write_bytes(header + footer)
    assert reported(verify(path)) == []
    path.write_bytes(header)
    assert reported(verify(path)) == [("error", "kraft_snapshot", "snapshot_incomplete")]


@pytest.mark.parametrize("name", ["missing", "missing.log", "nothing here"])
def test_a_missing_path_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "nothing here").mkdir()
    with pytest.raises(KafkaSpecError) as caught:
        verify(tmp_path / name)
    assert caught.value.reason is Reason.UNREADABLE
    assert name in str(caught.value)


GOLDEN_LOGS = GOLDEN / "4.3.1" / "logs"


def copied(tmp_path: Path, partition: str, *, clean: bool = True) -> Path:
    """A copy of a partition of a real broker, in a log directory that shows how it was stopped."""
    root = tmp_path / f"logs-{clean}"
    directory = root / partition
    shutil.copytree(GOLDEN_LOGS / partition, directory)
    (root / (".kafka_cleanshutdown" if clean else "recovery-point-offset-checkpoint")).touch()
    log = ks.open(directory)
    stopped = max(batch.max_timestamp for batch in log.batches())
    for path in directory.glob("*.snapshot"):
        os.utime(path, ns=((stopped + 1000) * 1_000_000,) * 2)
    return directory


def about_snapshots(directory: Path) -> list[tuple[str, str, str, str]]:
    """Severity, reason and action of each finding about snapshots, and the kind of its file."""
    return [
        (str(item.severity), str(item.reason), str(item.action), Path(item.file).suffix)
        for item in verify(directory).findings
        if item.area == "producer_snapshot"
    ]


def edited(path: Path, edit: Callable[[list[Any]], object]) -> None:
    """Edit the producers in a snapshot, with the right checksum and the time that it had."""
    times = path.stat().st_mtime_ns
    entries = ProducerSnapshot(path).entries
    edit(entries)
    path.write_bytes(serialize_snapshot(entries, get_codec()))
    os.utime(path, ns=(times, times))


@pytest.mark.core
def test_a_log_without_producer_snapshots(tmp_path: Path) -> None:
    clean = copied(tmp_path, "transactions-segments-0")
    assert about_snapshots(clean) == []
    *_, newest = sorted(clean.glob("*.snapshot"))
    newest.unlink()
    assert about_snapshots(clean) == [("info", "missing_snapshot", "nothing", ".log")]
    for path in clean.glob("*.snapshot"):
        path.unlink()
    missing = ("missing_snapshot", "forgets_producers", ".log")
    assert about_snapshots(clean) == [("warning", *missing)]
    (clean.parent / ".kafka_cleanshutdown").unlink()
    assert about_snapshots(clean) == [("info", *missing)]
    (clean.parent / "recovery-point-offset-checkpoint").touch()
    assert about_snapshots(clean) == []
    (clean.parent / ".kafka_cleanshutdown").touch()
    *_, last = sorted(clean.glob("*.log"))
    last.write_bytes(last.read_bytes()[:-1] + b"?")  # after damage, the end is not known
    assert about_snapshots(clean) == []
    shutil.copy(GOLDEN_LOGS / clean.name / last.name, last)
    for path in clean.glob("*.index"):
        path.unlink()  # a broker recovers segments without an index
    assert about_snapshots(clean) == []


def test_a_snapshot_that_contradicts_the_log(tmp_path: Path) -> None:
    directory = copied(tmp_path, "transactions-open-0")
    (path,) = directory.glob("*.snapshot")
    good = path.read_bytes()

    def change(**values: int) -> Callable[[list[Any]], None]:
        return lambda entries: entries.__setitem__(0, replace(entries[0], **values))

    lost = ("warning", "snapshot_content", "forgets_producers", ".snapshot")
    ghost = replace(ProducerSnapshot(path).entries[0], producer_id=77, current_txn_first_offset=-1)
    for name, edit, expected in (
        ("a producer is missing", list[Any].clear, [lost]),
        ("no open transaction", change(current_txn_first_offset=-1), [lost]),
        ("an earlier sequence", change(last_sequence=0), [lost]),
        ("a producer that has not written", lambda entries: entries.append(ghost), [
            ("warning", "snapshot_content", "nothing", ".snapshot"),
        ]),
    ):  # fmt: skip
        edited(path, edit)
        assert about_snapshots(directory) == expected, name
        times = path.stat().st_mtime_ns
        path.write_bytes(good)
        os.utime(path, ns=(times, times))
        assert about_snapshots(directory) == [], name


def test_a_producer_that_may_be_expired_is_not_missing(tmp_path: Path) -> None:
    directory = copied(tmp_path, "idempotent-0")
    *_, path = sorted(directory.glob("*.snapshot"))
    edited(path, list[Any].clear)
    lost = ("warning", "snapshot_content", "forgets_producers", ".snapshot")
    assert set(about_snapshots(directory)) == {lost}
    day = 86_400 * 1_000_000_000
    os.utime(path, ns=(path.stat().st_mtime_ns + day,) * 2)
    assert about_snapshots(directory) == []


def test_a_damaged_snapshot_that_the_log_replaces(tmp_path: Path) -> None:
    expected = {"transactions-segments-0": "deletes_file", "deleted-records-0": "forgets_producers"}
    for partition, action in expected.items():
        directory = copied(tmp_path, partition)
        for path in directory.glob("*.snapshot"):
            path.write_bytes(path.read_bytes()[:-1])
        (last,) = {item[2] for item in about_snapshots(directory)[-1:]}
        assert last == action, partition
        one_file = sorted(directory.glob("*.snapshot"))[-1]
        assert [item[2] for item in about_snapshots(one_file)] == [action]
