"""Copies of indexes of segments in remote storage: checked without a log."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafkaspec.analysis import verify
from kafkaspec.analysis.report import FileKind
from kafkaspec.files import names
from kafkaspec.files.indexes import OffsetIndex
from tests.analysis.forge import reported, write_segment
from tests.goldens import GOLDEN
from tests.log.forge import batch, record

STEM = "5_yMnKy8zNzs_Q0dLT1NXW1w"
LOG = batch(5, [record(0, b"x")]) + batch(6, [record(0, b"y")])
INDEX, TIMES = [(1, 70)], [(1000, 0), (1001, 1)]
ABORTED = [(7, 5, 6, 6)]


def cache(root: Path, **files: object) -> Path:
    """A log directory with a partition and the cache; the files of one segment in that."""
    write_segment(root / "t-0", LOG, base=5)
    directory = root / names.REMOTE_INDEX_CACHE
    known = {"index": INDEX, "timeindex": TIMES, "txnindex": ABORTED, **files}
    written = write_segment(directory, LOG, base=5, **known)  # type: ignore[arg-type]
    written.unlink()
    for path in directory.iterdir():
        path.rename(directory / (STEM + path.suffix))
    return directory


def test_sound_copies_have_no_findings(tmp_path: Path) -> None:
    directory = cache(tmp_path)
    for path in (tmp_path, directory, *directory.iterdir()):
        report = verify(path, codec="all")
        assert reported(report) == []
    kinds = {result.kind: result.entries for result in verify(directory).files}
    assert kinds == {
        FileKind.OFFSET_INDEX: 1,
        FileKind.TIME_INDEX: 2,
        FileKind.TRANSACTION_INDEX: 1,
    }
    index = OffsetIndex(directory / f"{STEM}.index")
    assert index.lookup(6) == index.entry(0)
    assert (index.base_offset, index.entry(0).offset) == (5, 6)
    index.close()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"index": [(1, 70), (1, 140)]}, ("error", "offset_index", "index_order")),
        ({"index": b"\0\0\0\1\0"}, ("warning", "offset_index", "index_size")),
        ({"timeindex": [(1001, 1), (1000, 2)]}, ("error", "time_index", "index_order")),
        ({"txnindex": [(7, 1, 4, 4)]}, ("error", "transaction_index", "transaction_order")),
    ],
)
def test_defects_of_one_are_found(
    tmp_path: Path, files: dict[str, object], expected: tuple[str, str, str]
) -> None:
    cache(tmp_path, **files)
    assert expected in reported(verify(tmp_path))


def test_a_broker_deletes_what_is_not_complete(tmp_path: Path) -> None:
    directory = cache(tmp_path, timeindex=None)
    findings = verify(tmp_path).findings
    assert {finding.file for finding in findings} == {
        str(directory / f"{STEM}.index"),
        str(directory / f"{STEM}.txnindex"),
    }
    assert {finding.reason for finding in findings} == {"orphan_file"}
    assert f"{STEM}.timeindex" in findings[0].message


def test_leftovers_are_named(tmp_path: Path) -> None:
    directory = cache(tmp_path)
    for suffix in (".index.tmp", ".txnindex.deleted"):
        (directory / (STEM + suffix)).write_bytes(b"")
    for path in (tmp_path, directory / f"{STEM}.index.tmp"):
        assert set(reported(verify(path))) == {("info", "files", "leftover")}


def test_indexes_of_real_brokers_under_such_names(tmp_path: Path) -> None:
    source = GOLDEN / "4.3.1" / "logs" / "segments-0"
    copied = 0
    for path in sorted(source.iterdir()):
        name = names.parse_segment(path.name)
        if name is not None and name.kind in names.REMOTE_INDEXES:
            shutil.copy(path, tmp_path / f"{name.base_offset}_{STEM[2:]}{name.kind}")
            (tmp_path / f"{name.base_offset}_{STEM[2:]}.txnindex").touch()
            copied += 1
    report = verify(tmp_path)
    assert copied > 2
    assert reported(report) == []
    assert sum(result.entries or 0 for result in report.files) > 0
