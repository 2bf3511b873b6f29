"""The golden files are what their manifests say, and the dumps are about the same records.

What the bytes mean is tested elsewhere; here nothing is parsed but text.
"""

from __future__ import annotations

import base64
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from kafkaspec.conformance.goldens import read_produced
from kafkaspec.files import names
from tests.goldens import dumps
from tools.brokers.versions import VERSIONS, Version
from tools.golden import keep
from tools.golden.model import Occasion
from tools.golden.scenarios import for_version

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent
MAX_BYTES = 20_000_000
MAX_FILES = 12_000
# Every release prints a record's offset first, some after a bar; so does the line of a wrapper.
_OFFSET = re.compile(r"^(?:\| )?offset: (\d+) ", re.M)
# Absolute paths of the machine that made the files.
_MACHINE = re.compile(rb"/(?:home|root|tmp|work|Users|var|usr|opt)/")

kept = pytest.mark.parametrize(
    "version", [v for v in VERSIONS if (GOLDEN / v.name).is_dir()], ids=lambda v: v.name
)


def _manifest(version: Version) -> dict[str, Any]:
    text = (GOLDEN / version.name / keep.MANIFEST).read_text(encoding="utf-8")
    manifest: dict[str, Any] = json.loads(text)
    return manifest


def _rows(version: Version, occasion: str = "clean") -> list[dict[str, Any]]:
    """The partitions of the scenarios that one broker ran."""
    return [row for row in _manifest(version)["scenarios"] if row["occasion"] == occasion]


def _produced(version: Version) -> dict[str, list[dict[str, Any]]]:
    """Acknowledged records by partition directory."""
    partitions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in read_produced(GOLDEN / version.name):
        partitions[f"{record['topic']}-{record['partition']}"].append(record)
    return partitions


def _dump_text(version: Version, partition: str) -> str:
    """The dump tool's text about all segments of a partition."""
    texts = dumps(version.name)
    names = [n for n in sorted(texts) if n.startswith(f"{partition}/") and n.endswith(".log")]
    assert names, f"no dump of {partition}"
    return "".join(texts[name] for name in names)


def _dumped(version: Version, partition: str) -> set[int]:
    """Offsets that the dump shows, but for transaction markers."""
    lines = _dump_text(version, partition).split("\n")
    matches = (_OFFSET.match(line) for line in lines if "endTxnMarker" not in line)
    return {int(match.group(1)) for match in matches if match}


def test_the_table_and_the_folders_are_the_same_versions() -> None:
    folders = {path.parent.name for path in GOLDEN.glob(f"*/{keep.MANIFEST}")}
    assert folders == {version.name for version in VERSIONS}
    others = {p.name for p in GOLDEN.iterdir() if p.name != "__pycache__"} - folders
    assert others == {".gitattributes", "README.md", "test_manifest.py"}


@kept
def test_files_match_the_manifest(version: Version) -> None:
    assert keep.verify(GOLDEN / version.name) == []


@kept
def test_scenarios_are_those_of_the_table(version: Version) -> None:
    manifest = _manifest(version)
    assert manifest["kafka_version"] == version.name
    assert manifest["mode"] == version.mode
    listed = [(row["topic"], row["partition"]) for row in manifest["scenarios"]]
    expected = [
        (scenario.name, partition)
        for scenario in for_version(version)
        for partition in range(scenario.partitions)
    ]
    assert listed == expected


@kept
def test_every_partition_has_a_log_and_a_dump_of_each_table(version: Version) -> None:
    root = GOLDEN / version.name
    for row in _rows(version):
        partition = f"{row['topic']}-{row['partition']}"
        logs = sorted(p.name for p in (root / keep.LOGS / partition).iterdir())
        assert any(name.endswith(".log") for name in logs), partition
        tables = {
            n for n in logs if Path(n).suffix in (".log", ".index", ".timeindex", ".txnindex")
        }
        assert {f"{partition}/{name}" for name in tables} <= set(dumps(version.name)), partition


@kept
def test_acknowledged_offsets_are_those_of_the_dump(version: Version) -> None:
    produced = _produced(version)
    for row in _rows(version):
        partition = f"{row['topic']}-{row['partition']}"
        offsets = [record["offset"] for record in produced[partition]]
        assert offsets == sorted(set(offsets)), partition
        dumped = _dumped(version, partition)
        if row["compacted"]:
            assert dumped < set(offsets), f"{partition}: the cleaner did nothing"
        elif row["log_start_offset"]:
            assert dumped == set(offsets[-len(dumped) :]), partition
            assert min(dumped) < row["log_start_offset"] < max(dumped), partition
        else:
            assert dumped == set(offsets), partition


@kept
def test_compaction_kept_the_latest_record_of_every_key(version: Version) -> None:
    produced = _produced(version)
    for row in _rows(version):
        if not row["compacted"]:
            continue
        partition = f"{row['topic']}-{row['partition']}"
        visible = [r for r in produced[partition] if r["transaction"] != "aborted"]
        latest = {record["key"]: record["offset"] for record in visible}
        assert set(latest.values()) <= _dumped(version, partition), partition
        tombstones = {r["offset"] for r in visible if r["value"] is None}
        assert tombstones & set(latest.values()), f"{partition}: no tombstone is left"


@kept
def test_the_dump_tool_found_every_checksum_right(version: Version) -> None:
    for row in _rows(version):
        partition = f"{row['topic']}-{row['partition']}"
        text = _dump_text(version, partition).lower()
        assert "isvalid: false" not in text, partition


@kept
def test_a_killed_broker_left_no_word_of_a_clean_stop_and_the_recovered_one_did(
    version: Version,
) -> None:
    unclean = GOLDEN / version.name / Occasion.UNCLEAN
    if not _rows(version, Occasion.UNCLEAN):
        assert not unclean.exists()
        return
    assert not (unclean / keep.LOGS / names.CLEAN_SHUTDOWN).exists()
    assert (unclean / keep.RECOVERED / names.CLEAN_SHUTDOWN).is_file()


@kept
def test_keys_and_values_are_canonical_base64(version: Version) -> None:
    for records in _produced(version).values():
        for record in records:
            values = [record["key"], record["value"], *(value for _, value in record["headers"])]
            for value in values:
                if value is not None:
                    raw = base64.b64decode(value, validate=True)
                    assert base64.b64encode(raw).decode() == value


@kept
def test_no_path_of_the_machine_is_kept(version: Version) -> None:
    for path in keep.files_below(GOLDEN / version.name):
        match = _MACHINE.search((GOLDEN / version.name / path).read_bytes())
        assert match is None, f"{path}: {match}"
    texts = "".join(dumps(version.name).values())
    assert _MACHINE.search(texts.encode()) is None


def test_all_golden_files_together_are_small() -> None:
    files = keep.files_below(GOLDEN)
    assert sum((GOLDEN / path).stat().st_size for path in files) < MAX_BYTES
    assert len(files) < MAX_FILES


def test_verify_names_every_difference(tmp_path: Path) -> None:
    for name in ("same", "changed", "gone"):
        (tmp_path / name).write_text(name)
    keep.write_manifest(tmp_path, {})
    assert keep.verify(tmp_path) == []
    (tmp_path / "changed").write_text("CHANGED")
    (tmp_path / "gone").unlink()
    (tmp_path / "new").write_text("new")
    folder = tmp_path.name
    assert keep.verify(tmp_path) == [
        f"{folder}/changed: contents changed",
        f"{folder}/gone: missing",
        f"{folder}/new: not in the manifest",
    ]
