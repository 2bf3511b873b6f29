"""Real brokers' files are clean, whatever version wrote them, and stay as they are."""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from kafkaspec.analysis import FileKind, Report, verify
from kafkaspec.codecs import codec_names
from kafkaspec.conformance import dump_text
from tests.goldens import GOLDEN, VERSIONS, compacted, distinct_partitions, files, produced


def hashes(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


@cache
def verified(version: str) -> Report:
    """The report of all logs of a version."""
    return verify(GOLDEN / version / "logs")


@pytest.mark.parametrize("version", VERSIONS)
def test_real_logs_give_no_finding(version: str) -> None:
    logs = GOLDEN / version / "logs"
    before = hashes(logs)
    report = verified(version)
    assert report.findings == []
    assert report.clean
    assert report.totals.unread == 0
    # Every file is accounted for, and none was touched.
    assert sorted(result.file for result in report.files) == sorted(
        str(logs / name) for name in before
    )
    assert hashes(logs) == before


@pytest.mark.core
@pytest.mark.parametrize("version", VERSIONS)
def test_codecs_agree(version: str) -> None:
    """On partitions, each content once; ``make run`` has them all."""
    for path in distinct_partitions(version):
        report = verify(path, codec="all")
        assert report.clean
        assert report.codecs == codec_names()
        assert report.totals.unread == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_records_are_counted_as_the_broker_acknowledged_them(version: str) -> None:
    report = verified(version)
    counted: Counter[str] = Counter()
    for result in report.files:
        counted[Path(result.partition).name] += result.records - result.control_batches
    for partition, records in produced(version).items():
        if partition not in compacted(version):
            assert counted[partition] == len(records), partition


@pytest.mark.parametrize("version", VERSIONS)
def test_entries_of_indexes_are_counted_as_the_dump_tool_prints_them(version: str) -> None:
    for golden in files(".index", ".timeindex", ".txnindex", version=version):
        report = verify(golden.path)
        assert [result.file for result in report.files] == [str(golden.path)]
        lines = dump_text.index_lines(golden.dump)
        # The tool prints the empty slot of an index without entries.
        if lines and all(value in (0, base_of(golden.path)) for value in lines[0].values()):
            lines = []
        assert report.files[0].entries == len(lines), golden


def base_of(path: Path) -> int:
    return int(path.stem)


@pytest.mark.slow
def test_every_kind_of_file_was_among_them() -> None:
    kinds = {result.kind for version in VERSIONS for result in verified(version).files}
    # tests/message_set has those of Kafka 0.7, tests/spark the state of streaming queries; new
    # indexes and other new files are those of drafts.
    elsewhere = {FileKind.MESSAGE_SET, FileKind.STREAM_STATE, FileKind.INDEX, FileKind.OTHER}
    assert kinds == set(FileKind) - {FileKind.LEFTOVER, FileKind.UNKNOWN, FileKind.LOCK} - elsewhere


@pytest.mark.slow
def test_the_golden_logs_exercise_the_index_checks() -> None:
    entries: Counter[FileKind] = Counter()
    for version in VERSIONS:
        for result in verified(version).files:
            entries[result.kind] += result.entries
    for kind in (
        FileKind.OFFSET_INDEX,
        FileKind.TIME_INDEX,
        FileKind.TRANSACTION_INDEX,
        FileKind.PRODUCER_SNAPSHOT,
    ):
        assert entries[kind] > 50, kind
