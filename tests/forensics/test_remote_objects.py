"""Metadata of remote segments joined with the objects: a broker's files, and changes to them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("pyarrow")

from kafkaspec.cli.main import main
from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.remote_objects import join_objects
from kafkaspec.log.partition import Partition
from kafkaspec.state.remote import read_remote_segments
from tests.goldens import GOLDEN
from tests.tiered.storage import AIVEN

PLACES = sorted(path.parent for path in GOLDEN.glob("*/tiered/remote"))
NEWEST = PLACES[-1]
_LOG = "logs/__remote_log_metadata-0"


def joined(storage: Path, metadata: Path = NEWEST, **options: Any) -> dict[tuple[str, int], Any]:
    """Return verdict and strength of each segment by topic and first offset."""
    at = options.get("at")
    found = read_remote_segments(Partition(metadata / _LOG), at=at)
    join = join_objects(found.segments, storage, **options)
    assert [item.name for item in join.assumptions] == ["remote storage", "clock"]
    return {
        (row["topic"], row["start_offset"]): (row["verdict"], row["strength"])
        for row in join.segments.to_pylist()
    }


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    return Path(shutil.copytree(NEWEST / "remote", tmp_path / "remote"))


def first(storage: Path, suffix: str = ".log") -> Path:
    return next(storage.rglob(f"{0:020d}-*{suffix}"))


@pytest.mark.parametrize("place", PLACES, ids=lambda path: path.parent.name)
def test_a_broker_left_what_its_metadata_says(place: Path) -> None:
    found = joined(place / "remote", place)
    assert {key: found.pop(key) for key in [("tiered", 0), ("tiered", 12)]} == {
        ("tiered", 0): ("stored", "strong"),
        ("tiered", 12): ("stored", "strong"),
    }
    assert {verdict for verdict, _ in found.values()} <= {"deleted"}


def test_a_copy_and_a_deletion_that_did_not_end() -> None:
    """The state of a moment between two events of the broker."""
    rows = read_remote_segments(Partition(NEWEST / _LOG)).segments.to_pylist()
    one, two, *_, last = sorted(rows, key=lambda row: (row["topic"], row["start_offset"]))
    assert joined(NEWEST / "remote", at=one["updated"] - 1)["tiered", 0] == (
        "copy_unfinished",
        "consistent",
    )
    found = joined(NEWEST / "remote", at=two["updated"] - 1)
    assert found["tiered", 0] == ("stored", "strong")
    assert found["tiered", 12] == ("copy_unfinished", "consistent")
    if last["topic"] == "tiered-deleted":
        found = joined(NEWEST / "remote", at=last["updated"] - 1)
        assert found["tiered-deleted", 12][0] in ("delete_unfinished", "gone")


def test_objects_that_are_gone_or_changed(storage: Path) -> None:
    first(storage).unlink()
    assert joined(storage)["tiered", 0] == ("gone", "strong")
    two = next(storage.rglob(f"{12:020d}-*.log"))
    two.write_bytes(two.read_bytes() + b"\0")
    assert joined(storage)["tiered", 12] == ("other_size", "proof")
    shutil.rmtree(storage)
    storage.mkdir()
    assert set(joined(storage).values()) == {("gone", "strong"), ("deleted", "strong")}


def test_objects_that_nothing_names(storage: Path) -> None:
    for path in list(first(storage).parent.iterdir()):
        if path.name.startswith("0" * 20):
            suffix = path.name[43:]
            (path.parent / f"{24:020d}-{'A' * 22}{suffix}").write_bytes(path.read_bytes())
    assert joined(storage)["tiered", 24] == ("orphan", "likely")
    assert joined(storage, whole=True)["tiered", 24] == ("orphan", "strong")
    # Of other topics this partition of the metadata says nothing.
    assert {verdict for key, verdict in joined(AIVEN / "zstd").items() if key[0] != "tiered"} == {
        ("orphan", "unknown"),
        ("deleted", "strong"),
    }


def test_objects_that_a_deletion_left(storage: Path) -> None:
    rows = read_remote_segments(Partition(NEWEST / _LOG)).segments.to_pylist()
    [row] = [row for row in rows if (row["topic"], row["start_offset"]) == ("tiered-deleted", 0)]
    place = first(storage).parent.with_name(f"tiered-deleted-0-{row['topic_id']}")
    place.mkdir()
    (place / f"{0:020d}-{row['segment_id']}.log").write_bytes(b"")
    assert joined(storage)["tiered-deleted", 0] == ("left_behind", "strong")


def test_a_place_without_remote_storage_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(KafkaSpecError, match="no segments in remote storage"):
        joined(tmp_path)


def test_the_command(storage: Path) -> None:
    def run(*arguments: object) -> tuple[int, list[dict[str, Any]]]:
        result = CliRunner().invoke(
            main,
            ["remote", str(NEWEST / "logs"), "--format", "json", *map(str, arguments)],
            catch_exceptions=False,
        )
        return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]

    code, rows = run("--objects", storage)
    assert code == 0
    assert [row["type"] for row in rows][-3:] == ["assumption", "assumption", "summary"]
    copies = [row for row in rows if row.get("verdict") == "stored"]
    assert [row["stored_bytes"] for row in copies] == [row["size"] for row in copies]
    assert [len(row["objects"]) for row in copies] == [5, 5]
    first(storage).unlink()
    code, rows = run("--objects", storage)
    assert code == 1
    assert [row["start_offset"] for row in rows if row.get("verdict") == "gone"] == [0]
    (storage / "other").mkdir()
    assert run("--objects", storage / "nothing")[0] == 2
    result = CliRunner().invoke(main, ["remote", str(NEWEST / "logs"), "--objects", str(storage)])
    assert result.exit_code == 1
    assert "gone" in result.stdout
    assert "assumed: clock" in result.stdout


def test_an_object_with_the_id_of_another_at_another_offset_is_an_orphan(storage: Path) -> None:
    log = first(storage)
    shutil.copy(log, log.with_name(log.name.replace(f"{0:020d}-", f"{7:020d}-")))
    found = joined(storage)
    assert found["tiered", 0] == ("stored", "strong")
    assert found["tiered", 7][0] == "orphan"
