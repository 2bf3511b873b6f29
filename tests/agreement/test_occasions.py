"""Log directories of a killed broker and of one with remote storage."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from kafkaspec.analysis import Severity, verify
from kafkaspec.analysis.reasons import FindingReason
from kafkaspec.codecs import Codec
from kafkaspec.conformance.goldens import read_produced
from kafkaspec.files.indexes import OffsetIndex, TimeIndex
from kafkaspec.log.segment import Segment
from tests.goldens import GOLDEN, release
from tools.golden import keep

UNCLEAN = sorted((path.parent for path in GOLDEN.glob("*/unclean/logs")), key=str)
TIERED = sorted((path.parent for path in GOLDEN.glob("*/tiered/logs")), key=str)
CHECKPOINTS = {"unclean_stop", "checkpoint_beyond_log", "checkpoint_partition"}
"""Findings about checkpoints then: high watermarks beyond a torn end, topics that are not kept."""
TAILS = {"torn": "torn_tail", "torn-header": "short_tail", "zeros": "zero_tail"}
unclean = pytest.mark.parametrize("folder", UNCLEAN, ids=lambda path: path.parent.name)
ADMINISTERED = sorted((path.parent for path in GOLDEN.glob("*/administered/logs")), key=str)
administered = pytest.mark.parametrize("folder", ADMINISTERED, ids=lambda path: path.parent.name)
tiered = pytest.mark.parametrize("folder", TIERED, ids=lambda path: path.parent.name)


def damaged(folder: Path) -> dict[str, str]:
    """Kind of damage by partition directory."""
    manifest = json.loads((folder.parent / keep.MANIFEST).read_text(encoding="utf-8"))
    return {
        f"{row['topic']}-{row['partition']}": row["damage"]
        for row in manifest["scenarios"]
        if row["damage"]
    }


def sent(folder: Path, partition: str) -> list[tuple[int, bytes | None, bytes | None]]:
    """Offsets, keys and values as acknowledged."""
    return [
        (item["offset"], *(_bytes(item[name]) for name in ("key", "value")))
        for item in read_produced(folder)
        if f"{item['topic']}-{item['partition']}" == partition
    ]


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def read(logs: list[Path], codec: Codec) -> list[tuple[int, bytes | None, bytes | None]]:
    """The data records of segments, in their order."""
    return [
        (record.offset, record.key, record.value)
        for path in logs
        for record in Segment(path, codec=codec).records()
    ]


@unclean
def test_the_log_ends_where_the_broker_cut_it(folder: Path, codec: Codec) -> None:
    """Byte for byte: what recovery left is what we read."""
    lost = damaged(folder)
    for partition in sorted((folder / keep.LOGS).glob("*-0")):
        for path in sorted(partition.glob("*.log")):
            left = (folder / keep.RECOVERED / partition.name / path.name).read_bytes()
            segment = Segment(path, codec=codec)
            list(segment.batches())
            end = segment.tail.position if segment.tail else path.stat().st_size
            assert end == len(left), path
            assert path.read_bytes()[:end] == left, path
            assert (segment.tail is not None) == (partition.name in lost), path


@unclean
def test_acknowledged_records_are_there_but_for_the_torn_batch(folder: Path, codec: Codec) -> None:
    lost = damaged(folder)
    for partition in sorted((folder / keep.LOGS).glob("*-0")):
        expected = sent(folder, partition.name)
        if lost.get(partition.name, "").startswith("torn"):
            # One batch, which before magic 2 is one message.
            expected = expected[: -3 if release(folder.parent.name) >= (0, 11) else -1]
        assert read(sorted(partition.glob("*.log")), codec) == expected


@unclean
def test_preallocated_indexes_hold_no_more_than_rebuilt_ones(folder: Path, codec: Codec) -> None:
    """Zeros after the last entry are no entries; positions lead to batches."""
    padded = 0
    for path in sorted((folder / keep.LOGS).glob("*-0/*.index")):
        index = OffsetIndex(path, codec=codec)
        padded += index.padding > 0
        starts = {batch.position for batch in Segment(path.with_suffix(".log")).batches()}
        assert {entry.position for entry in index.entries} <= starts, path
        assert index.sanity_check() == []
    for path in sorted((folder / keep.LOGS).glob("*-0/*.timeindex")):
        index_of_times = TimeIndex(path, codec=codec)
        assert index_of_times.sanity_check() == []
        segment = Segment(path.with_suffix(".log"))
        times = {record.timestamp for record in segment.records(include_control=True)}
        assert {entry.timestamp for entry in index_of_times.entries} <= times, path
    assert padded >= 5


@pytest.mark.slow
@unclean
def test_verify_reports_the_damage_and_nothing_else(folder: Path) -> None:
    findings = verify(folder / keep.LOGS, codec="all").findings
    about_logs = [
        each
        for each in findings
        # What a torn tail takes with it is named beside it, where anything says its offsets.
        if each.file.endswith(".log") and each.reason != FindingReason.MISSING_OFFSETS
    ]
    found = {Path(finding.file).parent.name: str(finding.reason) for finding in about_logs}
    assert found == {name: TAILS[kind] for name, kind in damaged(folder).items()}
    assert len(about_logs) == len(found)
    others = {str(each.reason) for each in findings if each not in about_logs}
    assert others <= {*CHECKPOINTS, FindingReason.MISSING_OFFSETS}
    recovered = verify(folder / keep.RECOVERED, codec="all").findings
    assert {str(each.reason) for each in recovered} <= {*CHECKPOINTS, FindingReason.MISSING_OFFSETS}


@tiered
def test_remote_and_local_segments_are_one_log(folder: Path, codec: Codec) -> None:
    """Remote files are named by base offset and segment id; where both exist they are equal."""
    remote = {
        int(path.name.partition("-")[0]): path
        for path in folder.glob("remote/**/*.log")
        if path.parent.name.startswith("tiered-0")
    }
    local = {int(path.stem): path for path in folder.glob("logs/tiered-0/*.log")}
    assert len(remote) >= 2
    assert min(remote) == 0 < min(local)
    for base in remote.keys() & local.keys():
        assert remote[base].read_bytes() == local[base].read_bytes()
    whole = {**remote, **local}
    assert read([whole[base] for base in sorted(whole)], codec) == sent(folder, "tiered-0")


@pytest.mark.slow
@tiered
def test_verify_finds_nothing_in_tiered_directories(folder: Path) -> None:
    """But notes: where the log starts, in remote storage, and what the broker keeps of that."""
    findings = verify(folder / keep.LOGS, codec="all").findings
    assert [finding for finding in findings if finding.severity is not Severity.INFO] == []


@pytest.mark.slow
@administered
def test_verify_finds_nothing_after_an_administration(folder: Path) -> None:
    """But notes, as above: the checkpoints are those of a broker that has stopped."""
    findings = verify(folder / keep.LOGS, codec="all").findings
    assert [finding for finding in findings if finding.severity is not Severity.INFO] == []


@administered
def test_records_of_an_administration_are_those_sent(folder: Path, codec: Codec) -> None:
    paths = sorted(folder.glob("logs/administered-0/*.log"))
    assert read(paths, codec) == sent(folder, "administered-0")


def test_there_are_such_directories() -> None:
    assert len(UNCLEAN) >= 6
    assert len(TIERED) >= 2
    assert len(ADMINISTERED) >= 3
    assert all(damaged(folder) for folder in UNCLEAN)
