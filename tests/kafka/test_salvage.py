"""Brokers serve each kept batch of salvaged logs byte for byte, and followers fetch them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.files.names import LOG
from kafkaspec.forensics.salvage import Fate, SalvagedPartition, salvage
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.scenarios.partition import INDEX_INTERVAL_BYTES, MadePartition
from tests.kafka.chosen import SAMPLE, VERSIONS
from tests.kafka.partitions import logs, write_plain
from tools.brokers.broker import Broker
from tools.brokers.client import Client, Record
from tools.brokers.versions import Version
from tools.golden.accidents import ACCIDENTS, happen
from tools.kafka.serving import Template

pytestmark = pytest.mark.kafka

JUDGES = VERSIONS if SAMPLE == 1 else VERSIONS[-1:]
PAIRS = [version for version in VERSIONS if version.release >= (3, 9) and not version.missing]
"""KRaft with a quorum that grows; not the newest, as in ``test_replicas``."""
SETTINGS = {"index.interval.bytes": str(INDEX_INTERVAL_BYTES)}
UNCOMMITTED, COMMITTED = "read_uncommitted", "read_committed"
_TRANSACTIONS = (0, 11)
_READS_ON = (0, 10)
"""Earlier brokers end where offsets are missing at the end of a segment."""
_TOPICS = 40
SECONDS = 60


@dataclass
class Case:
    """A log after an accident, and what was salvaged of it."""

    name: str
    path: Path
    result: SalvagedPartition


def _cases(version: Version, work: Path) -> dict[str, Case]:
    """Logs of all magics and codecs, each after other accidents."""
    found: dict[str, Case] = {}
    made = [log for log in logs(version) if sum(map(len, log.entries.values())) > 2]
    accidents = iter(list(ACCIDENTS) * 9)
    for round_ in range(1 + _TOPICS // len(made)):
        for log in made:
            topic = f"salvaged-{round_}-{log.topic}"
            found[topic] = _case(log, islice(accidents, 2), work, topic, version)
    return dict(islice(found.items(), _TOPICS if SAMPLE == 1 else 16))


def _case(log: MadePartition, accidents: object, work: Path, topic: str, version: Version) -> Case:
    source = write_plain(log, work / "damaged" / f"{topic}-0")
    name = ""
    for path, accident in zip(sorted(source.glob(f"*{LOG}")), accidents, strict=False):  # type: ignore[call-overload]
        data = path.read_bytes()
        places = [*(batch.position for batch in Segment(data).batches()), len(data)]
        path.write_bytes(happen(accident, data, places))
        name += f"{accident}, "
    target = work / "salvaged" / f"{topic}-0"
    report = salvage(
        source, target, repair=("bits", "headers"), fill="tail" if len(name) % 2 else "all",
        profile=version.name, index_interval_bytes=INDEX_INTERVAL_BYTES, sync=False,
    )  # fmt: skip
    return Case(f"{topic}: {name}", target, report.partitions[0])


@pytest.fixture(scope="module", params=JUDGES, ids=lambda version: version.name)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    version: Version = request.param
    work = tmp_path_factory.mktemp(f"salvage-{version.name}")
    (work / "salvaged").mkdir()
    cases = _cases(version, work)
    (work / "run").mkdir()
    template = Template(version, work / "run", cases, SETTINGS)
    wrong: list[str] = []
    for clean in (True, False) if SAMPLE == 1 else (False,):
        template.place([(topic, case.path) for topic, case in cases.items()], clean=clean)
        with template.running(), Client(template) as client:
            for topic, case in cases.items():
                wrong += _asked(client, topic, case, version, appends=clean)
        for topic, case in cases.items():
            wrong += _bytes(case, template.logs / f"{topic}-0")
    return wrong


def _asked(client: Client, topic: str, case: Case, version: Version, *, appends: bool) -> list[str]:
    with Partition(case.path) as log:
        everything = list(log.records())
        committed = list(log.records(isolation="read_committed"))
    end, wrong = case.result.new_end, []
    if not everything:
        return []
    got = client.consume(topic, UNCOMMITTED)
    if version.release < _READS_ON:
        everything = everything[: len(got.records)]
    if got.records != everything or got.end != end:
        wrong.append(f"{case.name}: {len(got.records)} of {len(everything)}, {got.end} {end}")
    if version.release >= _TRANSACTIONS:
        got = client.consume(topic, COMMITTED)
        if got.records != committed:
            wrong.append(f"{case.name}: {len(got.records)} of {len(committed)} committed")
    if appends and client.append(topic) != end:
        wrong.append(f"{case.name}: appended elsewhere than at {end}")
    return wrong


def _bytes(case: Case, served: Path) -> list[str]:
    """Say where the broker has other bytes than it was given; it may have appended."""
    wrong = []
    for path in sorted(case.path.glob(f"*{LOG}")):
        data, now = path.read_bytes(), (served / path.name).read_bytes()
        if now[: len(data)] != data:
            wrong.append(f"{case.name}: {path.name} has other bytes")
    return wrong


def test_every_kept_batch_is_served_byte_for_byte(served: list[str]) -> None:
    assert not served, f"{len(served)}:\n" + "\n".join(served[:20])


# -- replicas ---------------------------------------------------------------------------------


def _wait(done: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.2)


def _send(client: Client, topic: str, count: int) -> None:
    client.open("sender", {"acks": "all", "linger.ms": "5"})
    for first in range(0, count, 4):
        values = [b"value %d" % number for number in range(first, first + 4)]
        client.send("sender", topic, 0, [Record(value, value) for value in values])
    client.call("sender", "close")


@pytest.mark.parametrize("version", PAIRS, ids=lambda version: version.name)
def test_a_follower_fetches_from_the_salvaged_leader(version: Version, tmp_path: Path) -> None:
    topic, place = "replicated", "replicated-0"
    (tmp_path / "run").mkdir()
    settings = {"broker.session.timeout.ms": "3000", "replica.lag.time.max.ms": "3000"}
    with Broker(version, tmp_path / "run", settings).running() as broker:
        a, b = broker.join(1), broker.join(2)
        with Client(broker) as client:
            client.place(topic, [a.number, b.number], {"min.insync.replicas": "1"})
            _send(client, topic, 48)
            b.server.stop()
            _wait(lambda: client.leader(topic) == (a.number, [a.number]), "B still in sync")
            a.server.stop()
            (path,) = (a.logs / place).glob(f"*{LOG}")
            data = path.read_bytes()
            places = [*(batch.position for batch in Segment(data).batches()), len(data)]
            path.write_bytes(happen("zeros across two entries", data, places))
            damaged = shutil.copytree(a.logs / place, tmp_path / "damaged" / place)
            report = salvage(damaged, tmp_path / place, profile=version.name, sync=False)
            (result,) = report.partitions
            assert result.bytes[Fate.LOST]
            shutil.rmtree(a.logs / place)
            shutil.rmtree(b.logs / place)
            shutil.copytree(tmp_path / place, a.logs / place)
            a.server.start()
            _wait(lambda: client.leader(topic)[0] == a.number, "A does not lead")
            b.server.start()
            both = sorted([a.number, b.number])
            _wait(lambda: sorted(client.leader(topic)[1]) == both, "B not in sync")
            _send(client, topic, 8)
            for node in (a, b):
                node.server.stop()
            ours = (tmp_path / place / path.name).read_bytes()
            first, second = (
                b"".join(each.read_bytes() for each in sorted((node.logs / place).glob(f"*{LOG}")))
                for node in (a, b)
            )
            for node in (a, b):  # the block stops what it started
                node.server.start()
    assert first == second
    assert first.startswith(ours)
    kept = [batch.base_offset for batch in ks.Segment(ours).batches()]
    assert len(places) - 3 <= len(kept) < len(places) - 1
