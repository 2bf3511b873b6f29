"""Offsets that are missing in golden partitions, and in those that lose a piece.

The judges: the records that the log delivers, so that each offset is there or in a range; and what
was taken out. What brokers remove is in ``tests/kafka``.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kafkaspec.forensics.gaps import Gaps, read_gaps
from kafkaspec.forensics.salvage import salvage
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from tests.cli.helpers import run
from tests.goldens import GOLDEN, VERSIONS, partitions
from tests.log import forge

LOGS = GOLDEN / "4.3.1" / "logs"
EXPLAINED = {
    "marker", "aborted", "delete_records", "retention", "compaction", "aborted_removed", "tiered",
}  # fmt: skip


def _why(found: Gaps) -> list[tuple[int, int, str, str, str]]:
    names = ("first_offset", "last_offset", "kind", "why", "strength")
    rows = found.ranges.to_pylist()
    return [tuple(row[name] for name in names) for row in rows if row["kind"] != "withheld"]


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_each_offset_is_delivered_or_in_a_range(version: str) -> None:
    for path in partitions(version):
        log = Partition(path)
        if not log.segment_paths:
            continue
        found = read_gaps(log)
        rows = found.ranges.to_pylist()
        assert found.unread == []
        assert {row["why"] for row in rows} <= EXPLAINED, path
        start = log.first_base_offset or 0
        there = {record.offset for record in log.records(log_start="ignore")}
        missing = 0
        for row in rows:
            if row["why"] == "aborted" or row["why"] == "delete_records":
                continue  # they are there
            inside = set(range(max(row["first_offset"], start), row["last_offset"] + 1)) & there
            if row["kind"] == "inside":
                assert len(inside) == row["last_offset"] - row["first_offset"] + 1 - row["missing"]
            else:
                assert not inside, (path, row)
            missing += row["missing"] if row["kind"] != "before" else 0
        assert len(there) + missing == found.log_end_offset - start, path


@pytest.mark.slow
def test_a_segment_that_is_gone(tmp_path: Path) -> None:
    """With its index there is a proof; without, another copy proves it."""
    source = LOGS / "segments-0"
    place = Path(shutil.copytree(source, tmp_path / "segments-0"))
    bases = Partition(source).base_offsets
    first, last = bases[1], bases[2] - 1
    (place / f"{first:020}.log").unlink()
    assert _why(read_gaps(Partition(place))) == [(first, last, "between", "segment_lost", "proof")]
    for path in place.glob(f"{first:020}.*"):
        path.unlink()
    assert _why(read_gaps(Partition(place))) == [(first, last, "between", "cut", "likely")]
    other = Partition(source)
    assert _why(read_gaps(Partition(place), other)) == [(first, last, "between", "lost", "proof")]
    result = run("gaps", "--with", LOGS, "--format", "json", place)
    assert result.exit_code == 1, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["type"] for row in rows] == ["gap", "partition", "summary"]
    assert "the other copy has 12 records" in rows[0]["detail"]
    text = run("gaps", place)
    assert text.exit_code == 1
    assert f"offsets {first} to {last} [cut, likely]" in text.output
    # A copy that lacks the same records proves nothing.
    again = Path(shutil.copytree(place, tmp_path / "again" / "segments-0"))
    (row,) = read_gaps(Partition(place), Partition(again)).ranges.to_pylist()
    assert (row["why"], row["detail"]) == ("cut", "missing in the other copy as well")


def test_the_end_of_the_log_is_gone(tmp_path: Path) -> None:
    place = Path(shutil.copytree(LOGS / "segments-0", tmp_path / "segments-0"))
    log = Partition(place)
    end, base = log.log_end_offset, log.base_offsets[-1]
    (place / f"{base:020}.log").unlink()
    (row,) = read_gaps(Partition(place)).ranges.to_pylist()
    assert (row["first_offset"], row["kind"], row["strength"]) == (base, "end", "proof")
    assert row["last_offset"] == end - 1  # by the snapshot of the clean stop


def test_a_damaged_batch(tmp_path: Path) -> None:
    """A header that cannot be read hides its offsets; the range is exact."""
    place = Path(shutil.copytree(LOGS / "segments-0", tmp_path / "segments-0"))
    batches = list(Partition(place).batches())
    victim = batches[1]
    path = Path(str(victim.file))
    data = bytearray(path.read_bytes())
    data[victim.position + 16] = 9  # its magic
    path.write_bytes(data)
    found = read_gaps(Partition(place))
    assert _why(found) == [
        (victim.base_offset, victim.last_offset, "between", "unreadable", "strong")
    ]
    assert len(found.unread) == 1
    assert run("gaps", place).exit_code == 1


def test_what_salvage_fills_is_lost_and_not_compacted(tmp_path: Path) -> None:
    place = Path(shutil.copytree(LOGS / "segments-0", tmp_path / "segments-0"))
    victim = list(Partition(place).batches())[1]
    path = Path(str(victim.file))
    data = bytearray(path.read_bytes())
    data[victim.end - 1] ^= 1
    path.write_bytes(data)
    salvage([place], tmp_path / "out", fill="all")
    found = read_gaps(Partition(tmp_path / "out"))
    assert _why(found) == [(victim.base_offset, victim.last_offset, "emptied", "lost", "likely")]
    assert found.illegal == 1
    assert ("cleanup.policy", "delete") in {(item.name, item.value) for item in found.assumptions}


def test_remote_storage_has_what_is_below_the_log() -> None:
    log = Partition(GOLDEN / "4.3.1" / "tiered" / "logs" / "tiered-0")
    assert _why(read_gaps(log)) == [
        (0, (log.first_base_offset or 0) - 1, "before", "tiered", "proof")
    ]


def test_the_producer_of_what_is_missing(tmp_path: Path) -> None:
    """Its sequence numbers leave out as many as there are offsets."""
    place = tmp_path / "t-0"
    place.mkdir()
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n0\n")
    one = [forge.record(0, b"x")]
    log = forge.batch(0, one, producer=(7, 0, 0)) + forge.batch(1, one, producer=(8, 0, 0))
    log += forge.batch(5, one, producer=(8, 0, 1)) + forge.batch(6, one, producer=(7, 0, 4))
    (place / f"{0:020}.log").write_bytes(log)
    (row,) = read_gaps(Partition(place)).ranges.to_pylist()
    assert (row["first_offset"], row["last_offset"], row["producer_id"]) == (2, 4, 7)
    # A replica of a compacted log has gaps too, and no cleaner of its own may have run.
    assert (row["why"], row["strength"]) == ("unknown", "unknown")
    (tmp_path / "cleaner-offset-checkpoint").unlink()
    found = read_gaps(Partition(place))
    assert [item.name for item in found.assumptions] == ["cleanup.policy"]


def test_a_copy_of_another_topic_id_is_refused(tmp_path: Path) -> None:
    result = run("gaps", "--with", LOGS / "plain-0", LOGS / "compacted-0")
    assert result.exit_code == 2
    assert "topic id" in result.output


def test_a_segment_alone() -> None:
    path = LOGS / "compacted-0" / f"{0:020}.log"
    with Segment(sorted(path.parent.glob("*.log"))[0]) as segment:
        assert len(read_gaps(segment).ranges) > 0
    assert run("gaps", path.parent).exit_code == 0


def test_damaged_logs_never_explain_more_than_there_is(tmp_path: Path) -> None:
    """Offsets that repeat, fall or leap to the largest one: no error, and no negative range."""
    one = [forge.record(0, b"x")]
    logs = (
        forge.batch(5, one) + forge.batch(2, one) + forge.batch(9, one),
        forge.batch(0, one) + forge.batch(2**63 - 2, one),
        forge.batch(2**62, one) + forge.batch(0, one) + forge.batch(3, []),
        forge.batch(0, one, last_offset_delta=2**31 - 1) + forge.batch(1, one),
    )
    for number, log in enumerate(logs):
        place = tmp_path / str(number) / "t-0"
        place.mkdir(parents=True)
        (place / f"{0:020}.log").write_bytes(log)
        for row in read_gaps(Partition(place)).ranges.to_pylist():
            assert row["first_offset"] <= row["last_offset"]
            assert 0 < row["missing"] <= row["last_offset"] - row["first_offset"] + 1


def test_damage_beside_the_log_ends_nothing(tmp_path: Path) -> None:
    """What remote storage has is then not known, and the rest still is."""
    logs = shutil.copytree(GOLDEN / "4.3.1" / "tiered" / "logs", tmp_path / "logs")
    for path in logs.glob("__remote_log_metadata-0/*.log"):
        data = bytearray(path.read_bytes())
        data[200] ^= 1
        path.write_bytes(data)
    found = read_gaps(Partition(logs / "tiered-0"))
    assert found.log_end_offset == 30
