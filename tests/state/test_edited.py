"""``cluster --edit`` and ``--without-record``: metadata with some records out, and others after."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import kafkaspec as ks
from kafkaspec.cli.main import main
from kafkaspec.errors import KafkaSpecError
from kafkaspec.state.cluster import read_cluster
from kafkaspec.state.edited import RECORDS, edit_cluster, write_edited
from kafkaspec.state.image import ClusterKind, differences
from tests.goldens import GOLDEN

LOG = GOLDEN / "4.4.0" / "administered" / "logs" / "__cluster_metadata-0"
_RETENTION = {
    "record": "ConfigRecord", "resource_type": 2, "resource_name": "administered",
    "name": "retention.ms", "value": "1000",
}  # fmt: skip


def _run(*arguments: Any) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["cluster", *map(str, arguments)])
    return result.exit_code, result.output


@pytest.mark.slow
def test_each_record_after_the_snapshot_can_be_left_out() -> None:
    """Without a record, the state is that of a reader that never gets it."""
    log = ks.Partition(LOG)
    whole = read_cluster(log)
    assert whole.snapshot is not None
    begin = int(whole.snapshot.name[:20])
    changed = 0
    for offset in range(begin, whole.end_offset):
        try:
            edited = edit_cluster(log, without=[offset])
        except ValueError:
            continue  # a control record
        before = read_cluster(log, end_offset=offset).image
        after = read_cluster(log, end_offset=offset + 1).image
        alone = differences(before, after)
        if offset == whole.end_offset - 1:
            assert not differences(before, edited.after)
        assert bool(differences(edited.before.image, edited.after)) <= bool(alone)
        changed += bool(alone)
    assert changed > 5, "the log has records that change something"


@pytest.mark.slow
def test_edits_are_applied_and_read_back(tmp_path: Path) -> None:
    log = ks.Partition(LOG)
    topics = read_cluster(log).image.items[ClusterKind.TOPIC]
    gone = next(each for each in topics.values() if each["name"] == "administered-features")
    removal = {"record": "RemoveTopicRecord", "topic_id": gone["topic_id"]}
    edited = edit_cluster(log, edits=[_RETENTION, removal])
    output = tmp_path / "__cluster_metadata-0"
    path = write_edited(edited, output)
    assert [each.name for each in output.iterdir()] == [path.name]
    again = read_cluster(ks.Partition(output))
    assert not differences(edited.after, again.image)
    assert again.image.topic_configs()["administered"]["retention.ms"] == "1000"
    assert gone["name"] not in {
        each["name"] for each in again.image.items[ClusterKind.TOPIC].values()
    }
    assert gone["topic_id"] not in {
        each["topic_id"] for each in again.image.items[ClusterKind.PARTITION].values()
    }
    # Brokers fetch from the end of the log that they have, and must not find it.
    assert again.end_offset > edited.before.end_offset


def test_a_setting_goes_with_a_null_value() -> None:
    edited = edit_cluster(ks.Partition(LOG), edits=[{**_RETENTION, "value": None}])
    assert "retention.ms" not in edited.after.topic_configs().get("administered", {})


@pytest.mark.parametrize(
    "edit",
    [
        {},
        {"record": "configrecord"},
        {"record": "OffsetCommitValue"},
        {"record": "RemoveTopicRecord", "topic_id": "x"},
        {**_RETENTION, "resource_type": "topic"},
        {**_RETENTION, "none": 1},
        {"record": "ConfigRecord"},
        {**_RETENTION, "resource_type": 10**30},
        {"record": "BeginTransactionRecord", "name": "never ended"},
        [_RETENTION],
        7,
    ],
)
def test_what_is_no_record_is_refused(edit: Any, tmp_path: Path) -> None:
    with pytest.raises((ValueError, KafkaSpecError)):
        edit_cluster(ks.Partition(LOG), edits=[edit])
    file = tmp_path / "edits.jsonl"
    file.write_text(json.dumps(edit) + "\n")
    code, output = _run(LOG, "--edit", file, "-o", tmp_path / "out")
    assert code == 2
    assert "Traceback" not in output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("line", [b"x{", b"\xff{}", b"[" * 100_000])
def test_a_line_that_is_not_json_is_named(line: bytes, tmp_path: Path) -> None:
    file = tmp_path / "edits.jsonl"
    file.write_bytes(json.dumps(_RETENTION).encode() + b"\n\n" + line)
    code, output = _run(LOG, "--edit", file)
    assert code == 2
    assert f"{file}: line 3 is not JSON" in output


def test_a_text_with_a_line_separator_is_one_line(tmp_path: Path) -> None:
    """JSON allows U+2028 in a string as it is."""
    file = tmp_path / "edits.jsonl"
    edit = {**_RETENTION, "resource_name": "a\u2028b"}
    file.write_text(json.dumps(edit, ensure_ascii=False), "utf-8")
    code, output = _run(LOG, "--edit", file)
    assert (code, output.count("retention.ms")) == (0, 1), output


@pytest.mark.slow
def test_a_log_that_lacks_its_end_is_said(tmp_path: Path) -> None:
    """With edits too, as without."""
    work = Path(shutil.copytree(LOG, tmp_path / LOG.name))
    log = next(work.glob("*.log"))
    log.write_bytes(log.read_bytes()[:-20])
    file = tmp_path / "edits.jsonl"
    file.write_text(json.dumps(_RETENTION))
    plain, edited = _run(work), _run(work, "--edit", file)
    assert plain[0] == edited[0] == 1
    assert str(log) in edited[1]


def test_an_output_that_exists_stays(tmp_path: Path) -> None:
    file = tmp_path / "edits.jsonl"
    file.write_text(json.dumps(_RETENTION))
    code, output = _run(LOG, "--edit", file, "-o", tmp_path)
    assert code == 2, output
    assert [each.name for each in tmp_path.iterdir()] == [file.name]


def test_a_file_without_edits_is_refused(tmp_path: Path) -> None:
    (tmp_path / "edits.jsonl").write_text("\n\n")
    code, output = _run(LOG, "--edit", tmp_path / "edits.jsonl")
    assert code == 2
    assert "it has no edits" in output


def test_the_names_are_those_of_the_records() -> None:
    assert {"TopicRecord", "ConfigRecord", "FeatureLevelRecord"} <= RECORDS


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["-o", "x"], "-o goes with"),
        (["--without-record", "3"], "no record at offset 3 can be left out"),
        (["--without-record", "80", "--until-offset", "90"], "no other question"),
        (["--without-record", "80", "-o", LOG / "x"], "must not change"),
    ],
)
def test_wrong_usage(arguments: list[Any], text: str) -> None:
    code, output = _run(LOG, *arguments)
    assert code == 2, output
    assert text in " ".join(output.split())
