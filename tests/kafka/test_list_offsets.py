"""Brokers answer for golden partitions as ``find`` does: the largest timestamp, read_committed.

They answer so for what they have just written too, while they run and after they were killed.

A broker handles a log start offset beyond the end of a log as ``verify`` says.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkaspec.analysis import verify
from kafkaspec.files import names
from kafkaspec.log.partition import Partition
from tests.goldens import GOLDEN, distinct_partitions
from tests.goldens import VERSIONS as GOLDEN_VERSIONS
from tests.kafka.chosen import VERSIONS
from tests.log import forge
from tools.brokers.broker import Broker
from tools.brokers.client import Client, Record
from tools.brokers.programs import Program
from tools.brokers.versions import Version
from tools.kafka.serving import Template

pytestmark = pytest.mark.kafka

JUDGES = [version for version in VERSIONS if version.release >= (4, 3)]
ISOLATIONS = ("read_uncommitted", "read_committed")
DELETED = "deleted"
BEYOND = 1_000

Question = tuple[str, str, str]


def _partitions() -> dict[str, Path]:
    """Golden partitions, each content once, by the topic that they are served as."""
    found = {}
    for version in GOLDEN_VERSIONS:
        for path in distinct_partitions(version):
            if path.name.startswith("__") or not path.name.endswith("-0"):
                continue
            found[f"v{version}-{path.name.removesuffix('-0')}"] = path
    return found


def _open_transaction(place: Path) -> Path:
    """A partition whose last record is of a transaction that nothing ends."""
    place.mkdir()
    log = forge.batch(0, [forge.record(0, b"x")]) + forge.batch(
        1,
        [forge.record(0, b"y")],
        attributes=0x10,
        base_timestamp=2000,
        max_timestamp=2000,
        producer=(7, 0, 0),
    )
    (place / f"{0:020}.log").write_bytes(log)
    return place


def _questions(partitions: dict[str, Path]) -> list[Question]:
    asked = []
    for topic, path in partitions.items():
        times = sorted({batch.max_timestamp for batch in Partition(path).batches()})
        wanted = ["max", *(str(time) for time in times[-3:] if time >= 0)]
        asked += [(topic, isolation, what) for isolation in ISOLATIONS for what in wanted]
    return asked


def _answers(broker: Broker, questions: list[Question]) -> list[tuple[int, int]]:
    with Program(
        broker.version, broker.work, "ListOffsets", arguments=[broker.bootstrap]
    ) as program:
        answers = [program.ask("ListOffsets", *question)[0] for question in questions]
    return [(int(offset), int(timestamp)) for offset, timestamp in answers]


def _ours(path: Path, isolation: str, what: str) -> tuple[int, int]:
    target = {"max_timestamp": True} if what == "max" else {"timestamp": int(what)}
    found = Partition(path).find(isolation=isolation, **target)  # type: ignore[arg-type]
    if found.offset is None or found.timestamp is None:
        return -1, -1
    return found.offset, found.timestamp


@pytest.mark.parametrize("version", JUDGES, ids=[version.name for version in JUDGES])
def test_answers_and_a_log_that_is_deleted(version: Version, tmp_path: Path) -> None:
    partitions = _partitions() | {"open": _open_transaction(tmp_path / "open-0")}
    plain = GOLDEN / "4.3.1" / "logs" / "plain-0"
    work = tmp_path / "run"
    work.mkdir()
    template = Template(version, work, [*partitions, DELETED], {})
    template.place([*partitions.items(), (DELETED, plain)], clean=True)
    checkpoint = template.logs / names.LOG_START_OFFSETS
    checkpoint.write_text(f"0\n1\n{DELETED} 0 {BEYOND}\n")
    found = [item for item in verify(template.logs).findings if item.file == str(checkpoint)]
    assert [str(item.action) for item in found] == ["deletes_log"]
    questions = _questions(partitions)
    with template.running():
        answers = _answers(template, questions)
        logs = {path.name for path in (template.logs / f"{DELETED}-0").glob("*.log")}
    assert logs == {f"{BEYOND:020}.log"}
    assert len(answers) == len(questions)
    different = [
        (question, theirs, ours)
        for question, theirs in zip(questions, answers, strict=True)
        if theirs != (ours := _ours(partitions[question[0]], *question[1:]))
    ]
    assert different == []
    hidden = questions.index(("open", "read_committed", "max"))
    assert answers[hidden] == (-1, -1)


@pytest.mark.parametrize("version", JUDGES, ids=[version.name for version in JUDGES])
def test_the_last_records_of_a_broker_that_runs_or_was_killed(
    version: Version, tmp_path: Path
) -> None:
    """They are after the last entry of the time index, and the largest timestamp is theirs."""
    broker = Broker(version, tmp_path)
    path = broker.logs / "last-0"
    times = [1000, 2000, 3000, 3500, 5000, 4000]
    asked = [str(time + more) for time in times for more in (0, 1)]
    questions = [("last", isolation, what) for isolation in ISOLATIONS for what in ["max", *asked]]
    with broker.running():
        with Client(broker) as client:
            client.create("last", 1, {})
            client.open("one", {})
            for time in times:
                value = b"" if time > 3000 else bytes(8_000)
                client.send("one", "last", 0, [Record(None, value, time)])
        running = _answers(broker, questions)
        assert [_ours(path, *question[1:]) for question in questions] == running
        broker.crash()
        index = Partition(path).segments[0].time_index
        assert index is not None
        assert index.last_timestamp in times[:4]
        killed = [_ours(path, *question[1:]) for question in questions]
        broker.start()
        assert _answers(broker, questions) == killed == running
    assert [_ours(path, *question[1:]) for question in questions] == running
