"""A streaming query writes each micro-batch once, whatever is killed, and when."""

from __future__ import annotations

import os
import pickle
import uuid
from pathlib import Path
from typing import Any

import pytest
from pyspark import TaskContext

import kafkaspec as ks
from kafkaspec.spark.write_options import parse_write_options
from kafkaspec.spark.writer import SegmentsStreamWriter
from tests.spark.test_write_commit import Died, dying, partitions
from tests.spark.writing import Task, contents, offsets, rows, schema_of, without

QUERY = str(uuid.UUID(int=5))


class Context:
    """The query as a task knows it."""

    def __init__(self, query: str, batch: int) -> None:
        self._properties = {
            "sql.streaming.queryId": query,
            "streaming.sql.batchId": str(batch),
        }

    def getLocalProperty(self, name: str) -> str | None:  # noqa: N802
        return self._properties.get(name)

    def partitionId(self) -> int:  # noqa: N802
        return 0

    def attemptNumber(self) -> int:  # noqa: N802
        return 0


class Query:
    """A streaming query, as Spark runs one: with a new sink for each commit."""

    def __init__(self, path: Path, query: str = QUERY) -> None:
        self.path = path
        self.query = query

    def sink(self, names: list[str]) -> SegmentsStreamWriter:
        options = parse_write_options({"path": str(self.path), "sync": "false"})
        return SegmentsStreamWriter(options, schema_of(names), overwrite=False)

    def run(self, batch: int, tasks: list[Task]) -> list[Any]:
        """The tasks of a micro-batch."""
        names = tasks[0][0].schema.names
        messages = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(TaskContext, "get", lambda: Context(self.query, batch))
            for task in tasks:
                sink = pickle.loads(pickle.dumps(self.sink(names)))
                messages.append(pickle.loads(pickle.dumps(sink.write(iter(task)))))
        return messages

    def commit(self, batch: int, tasks: list[Task]) -> None:
        messages = self.run(batch, tasks)
        self.sink(tasks[0][0].schema.names).commit(messages, batch)


def part(first: int, last: int) -> list[Task]:
    """Two tasks with rows of two partitions, without offsets."""
    middle = (first + last) // 2
    return [
        [without(rows("a", number, range(at, end)), "offset") for number in (0, 1)]
        for at, end in ((first, middle), (middle, last))
    ]


def values(path: Path) -> list[int]:
    with ks.Partition(path) as partition:
        return [int(record.value or b"") for record in partition.records()]


def test_micro_batches_follow_each_other(tmp_path: Path) -> None:
    query = Query(tmp_path)
    for batch in range(4):
        query.commit(batch, part(batch * 10, batch * 10 + 10))
    for place in ("a-0", "a-1"):
        assert offsets(tmp_path / place) == values(tmp_path / place) == list(range(40))
        assert ks.verify(tmp_path / place).findings == []
    state = f".kafkasegment-{uuid.UUID(QUERY).hex}.json"
    assert partitions(tmp_path) == [state, "a-0", "a-1"]
    (tmp_path / ".kafkasegment-0.json").touch()  # not ours
    report = ks.verify(tmp_path)
    assert {Path(item.file).name: item.kind for item in report.files}[state] == "stream_state"
    assert [(Path(item.file).name, item.reason) for item in report.findings] == [
        (".kafkasegment-0.json", "unknown_file")
    ]


def test_a_micro_batch_that_is_repeated_is_written_once(tmp_path: Path) -> None:
    """Spark repeats the last one if it died between the commit of the sink and its own."""
    query = Query(tmp_path)
    query.commit(0, part(0, 10))
    query.commit(1, part(10, 20))
    before = contents(tmp_path)
    query.commit(1, part(10, 20))
    query.commit(0, part(0, 10))
    assert contents(tmp_path) == before


def test_queries_do_not_know_of_each_other(tmp_path: Path) -> None:
    Query(tmp_path).commit(0, part(0, 10))
    Query(tmp_path, str(uuid.UUID(int=6))).commit(0, part(10, 20))
    assert values(tmp_path / "a-0") == list(range(20))


def test_an_aborted_micro_batch_leaves_nothing(tmp_path: Path) -> None:
    query = Query(tmp_path)
    query.commit(0, part(0, 10))
    before = contents(tmp_path)
    messages = query.run(1, part(10, 20))
    query.sink(["topic", "value"]).abort([*messages[:1], None], 1)
    assert contents(tmp_path) == before
    query.run(1, part(10, 20))
    query.sink(["topic", "value"]).abort([None, None], 1)  # no task has reported where it wrote
    assert len(partitions(tmp_path)) == 4
    query.commit(1, part(10, 20))
    assert values(tmp_path / "a-1") == list(range(20))
    assert len(partitions(tmp_path)) == 3


def test_a_commit_that_is_killed_at_any_point_is_repeated(tmp_path: Path) -> None:
    number = 0
    while True:
        path = tmp_path / str(number)
        query = Query(path)
        query.commit(0, part(0, 6))
        messages = query.run(1, part(6, 12))
        sink = query.sink(["topic", "value"])
        with pytest.MonkeyPatch.context() as patch:
            dying(patch, number, Died)
            try:
                sink.commit(messages, 1)
                finished = True
            except Died:
                finished = False
        query.commit(1, part(6, 12))
        query.commit(2, part(12, 14))
        for place in ("a-0", "a-1"):
            assert offsets(path / place) == values(path / place) == list(range(14))
            assert ks.verify(path / place).findings == []
        assert len(partitions(path)) == 3
        if finished:
            break
        number += 1
    assert number > 10


def test_a_disk_that_fails_in_a_commit_is_tried_again(tmp_path: Path) -> None:
    for number in range(0, 20, 3):
        path = tmp_path / str(number)
        query = Query(path)
        messages = query.run(0, part(0, 6))
        sink = query.sink(["topic", "value"])
        with pytest.MonkeyPatch.context() as patch:
            dying(patch, number, lambda: OSError(28, "No space left on device"))
            try:
                sink.commit(messages, 0)
            except ValueError:
                sink.abort(messages, 0)
        query.commit(0, part(0, 6))
        assert values(path / "a-0") == list(range(6))


def test_a_task_of_no_query_is_refused(tmp_path: Path) -> None:
    sink = Query(tmp_path).sink(["topic", "value"])
    with pytest.raises(ValueError, match="streaming query"):
        sink.write(iter([]))
    assert os.listdir(tmp_path) == []
