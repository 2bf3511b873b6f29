"""A write is there as a whole or not at all, whatever dies, and when."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.output import leftovers
from kafkaspec.spark import commit, staging
from kafkaspec.spark.staging import Staging
from kafkaspec.spark.write_options import parse_write_options
from kafkaspec.writing import segment_writer
from tests.spark.writing import contents, listing, offsets, rows, write, writer_for

NAMES = rows("a", 0, [0]).schema.names


def partitions(path: Path) -> list[str]:
    return sorted({name.split("/")[0] for name in listing(path)})


def test_nothing_has_a_final_name_before_the_commit(tmp_path: Path) -> None:
    writer = writer_for(tmp_path, NAMES)
    message = writer.write(iter([rows("a", 0, range(9))]))
    (directory,) = tmp_path.iterdir()
    parsed = names.parse_partition(directory.name)
    assert parsed is not None
    assert parsed.state == "-delete"  # a broker would remove it
    writer.commit([message])
    assert partitions(tmp_path) == ["a-0"]


def test_of_two_attempts_of_a_task_one_counts(tmp_path: Path) -> None:
    """The first died after its last row, or its message was lost: speculation."""
    writer = writer_for(tmp_path, NAMES)
    writer.write(iter([rows("a", 0, range(9))]))
    message = writer.write(iter([rows("a", 0, range(9))]))
    writer.commit([message, writer.write(iter([]))])
    assert partitions(tmp_path) == ["a-0"]
    assert offsets(tmp_path / "a-0") == list(range(9))


def test_a_task_that_fails_leaves_nothing_but_the_directory_of_the_job(tmp_path: Path) -> None:
    writer = writer_for(tmp_path, NAMES)
    first = contents(tmp_path)

    def failing() -> Any:
        yield rows("a", 0, range(9))
        yield rows("b", 0, range(9))
        raise OSError("the shuffle is gone")

    with pytest.raises(OSError, match="shuffle"):
        writer.write(failing())
    assert contents(tmp_path) == first
    writer.abort([None])
    assert listing(tmp_path) == []


def test_a_task_that_goes_on_behind_the_abort_leaves_nothing(tmp_path: Path) -> None:
    writer = writer_for(tmp_path, NAMES)

    def late() -> Any:
        yield rows("a", 0, range(9))
        writer.abort([None])
        yield rows("b", 0, range(9))

    with pytest.raises(KafkaSpecError):
        writer.write(late())
    assert listing(tmp_path) == []


def test_few_logs_are_open_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "OPEN_LOGS", 3)
    open_logs = most = 0
    begin, close = segment_writer.SegmentWriter.__init__, segment_writer.SegmentWriter.close

    def beginning(*given: Any, **options: Any) -> None:
        nonlocal open_logs, most
        begin(*given, **options)
        open_logs += 1
        most = max(most, open_logs)

    def closing(self: segment_writer.SegmentWriter) -> None:
        nonlocal open_logs
        close(self)
        open_logs -= 1

    monkeypatch.setattr(segment_writer.SegmentWriter, "__init__", beginning)
    monkeypatch.setattr(segment_writer.SegmentWriter, "close", closing)
    tasks = [[rows("a", number, range(at, at + 5)) for at in (0, 5) for number in range(7)]]
    write(tmp_path, tasks)
    assert most == 3
    for number in range(7):
        assert offsets(tmp_path / f"a-{number}") == list(range(10))
    assert ks.verify(tmp_path).findings == []


def test_rows_are_not_held_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "HELD_BYTES", 1000)
    held = 0

    def watched() -> Any:
        nonlocal held
        for at in range(0, 300, 10):
            yield rows("a", 0, range(at, at + 10))
            held = max(held, sum(len(run.pending) for run in output._open.values()))

    options = parse_write_options({"path": str(tmp_path), "sync": "false"})
    place = Staging(str(tmp_path), "f" * 32)
    place.make()
    output = staging.TaskOutput(options, True, place, "x")
    for batch in watched():
        output.add(batch)
    assert 0 < held < 6
    assert sum(run.records for run in output.finish()) == 300


class Died(BaseException):
    """The process was killed: nothing that would have followed happens."""


def dying(
    monkeypatch: pytest.MonkeyPatch, calls: int, failure: Callable[[], BaseException]
) -> None:
    """Have the rename of that number fail, and all that follow if the process died."""
    rename, left = os.rename, [calls]

    def counting(*given: Any, **options: Any) -> None:
        if left[0] <= 0:
            error = failure()
            if not isinstance(error, Died):
                left[0] = 1 << 30
            raise error
        left[0] -= 1
        rename(*given, **options)

    monkeypatch.setattr(os, "rename", counting)


def prepared(path: Path) -> tuple[Any, list[Any]]:
    """A write that goes on from a log, makes another, and changes an epoch."""
    write(path, [[rows("a", 0, range(50))], [rows("c", 0, range(4))]])
    writer = writer_for(path, NAMES, leaderEpoch=1)
    tasks = [[rows("a", 0, range(50, 70))], [rows("b", 0, range(9)), rows("a", 0, range(70, 80))]]
    return writer, [writer.write(iter(task)) for task in tasks]


def renames(tmp_path: Path) -> int:
    """Return the number of renames in a commit of this kind."""
    writer, messages = prepared(tmp_path / "count")
    with pytest.MonkeyPatch.context() as patch:
        count = 0
        rename = os.rename

        def counting(*given: Any, **options: Any) -> None:
            nonlocal count
            count += 1
            rename(*given, **options)

        patch.setattr(os, "rename", counting)
        writer.commit(messages)
    return count


def test_a_disk_that_fails_in_a_commit_leaves_all_as_it_was(tmp_path: Path) -> None:
    total = renames(tmp_path)
    assert total > 15
    for number in range(total):
        path = tmp_path / str(number)
        writer, messages = prepared(path)
        before = {name: data for name, data in contents(path).items() if "_staging" not in name}
        with pytest.MonkeyPatch.context() as patch:
            dying(patch, number, lambda: OSError(28, "No space left on device"))
            with pytest.raises(KafkaSpecError, match="No space left"):
                writer.commit(messages)
        writer.abort(messages)
        assert contents(path) == before
        assert partitions(path) == ["a-0", "c-0"]
        write(path, [[rows("a", 0, range(50, 60))]], leaderEpoch=1)
        assert offsets(path / "a-0") == list(range(60))


def test_a_commit_that_is_killed_is_finished_by_the_next_or_never_began(tmp_path: Path) -> None:
    outcomes = set()
    for number in range(renames(tmp_path)):
        path = tmp_path / str(number)
        writer, messages = prepared(path)
        with pytest.MonkeyPatch.context() as patch:
            dying(patch, number, Died)
            with pytest.raises(Died):
                writer.commit(messages)
        write(path, [[rows("d", 0, range(3))]])
        published = (path / "b-0").exists()
        outcomes.add(published)
        assert offsets(path / "a-0") == list(range(80 if published else 50))
        left = [item for item in path.iterdir() if item.name.endswith("-delete")]
        for item in left:
            assert not published
            shutil.rmtree(item)
        assert ks.verify(path).findings == []
    assert outcomes == {True, False}


def test_leftovers_of_a_killed_job_are_removed_after_a_day(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer = writer_for(tmp_path, NAMES)
    writer.write(iter([rows("a", 0, range(9))]))
    (directory,) = tmp_path.iterdir()
    write(tmp_path, [[rows("b", 0, range(3))]])
    assert directory.exists()
    assert f"{directory}: last changed 0 seconds ago: of another job" in caplog.text
    old = time.time() - leftovers.STALE_SECONDS - 60
    for item in (*directory.rglob("*"), directory):
        os.utime(item, (old, old))
    write(tmp_path, [[rows("c", 0, range(3))]])
    assert partitions(tmp_path) == ["b-0", "c-0"]
    assert f"{directory}: last changed 1 day ago: removed" in caplog.text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"batch": 0}',
        '{"batch": 0, "renames": [["../x", "y"]]}',
        '{"batch": 0, "renames": [["x", "/y"]]}',
        '{"batch": 0, "renames": [[1, 2]]}',
        '{"batch": [], "renames": []}',
        "[" * 100_000,
    ],
)
def test_a_plan_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / commit.PLAN
    file.write_text(text)
    with pytest.raises(KafkaSpecError, match="plan"):
        commit.load_plan(file)


def test_a_plan_is_kept_as_it_is(tmp_path: Path) -> None:
    plan = commit.CommitPlan(tmp_path / commit.PLAN, (("a", "b"), ("c", "d")), 4)
    plan.save(sync=True)
    assert commit.load_plan(plan.file) == plan
    assert json.loads(plan.file.read_text())["batch"] == 4
    assert listing(tmp_path) == [commit.PLAN]


def test_a_file_that_was_cut_behind_its_task_is_not_published(tmp_path: Path) -> None:
    writer = writer_for(tmp_path, NAMES)
    message = writer.write(iter([rows("a", 0, range(9))]))
    (log,) = tmp_path.rglob("*.log")
    log.write_bytes(log.read_bytes()[:-1])
    with pytest.raises(KafkaSpecError, match="bytes, not"):
        writer.commit([message])
    writer.abort([message])
    assert listing(tmp_path) == []
