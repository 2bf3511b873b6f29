"""Brokers load the logs that the tables of a lake give again, and serve the same records."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("deltalake")

from kafkaspec.lake.restoring import restore_logs
from kafkaspec.lake.tables import open_lake
from kafkaspec.log.partition import Partition
from tests.goldens import GOLDEN
from tests.kafka.chosen import VERSIONS
from tests.lake.logs import put, units_of
from tools.brokers.client import Client
from tools.brokers.versions import Version
from tools.kafka.serving import Template

pytestmark = pytest.mark.kafka

JUDGES = [version for version in VERSIONS if version.release >= (4, 4)]
NAMES = (
    "codec-mixed", "segments", "segments-gzip", "headers", "transactions", "compacted",
    "compacted-idempotent", "log-append-time", "time-types-mixed", "leader-epochs",
)  # fmt: skip
ISOLATIONS = ("read_uncommitted", "read_committed")


def written(exact: bool, sources: dict[str, Path], place: Path) -> Path:
    """The log directory that a lake of these logs gives."""
    place.mkdir()
    lake = open_lake(str(place / "lake"), "delta", create=True)
    put(lake, [unit for path in sources.values() for unit in units_of(path)], exact=exact)
    result = restore_logs(lake, place / "out", sync=False)
    assert result.identical == len(result.segments) or not exact
    return place / "out"


@pytest.mark.parametrize("version", JUDGES, ids=lambda version: version.name)
def test_what_a_broker_serves(version: Version, tmp_path: Path) -> None:
    """After a clean stop with our indexes, and after a crash, when it recovers all segments."""
    logs = GOLDEN / "4.3.1" / "logs"
    sources = {name: logs / f"{name}-0" for name in NAMES if (logs / f"{name}-0").is_dir()}
    made: dict[str, Path] = {}
    for way, exact in (("exact", True), ("made", False)):
        out = written(exact, sources, tmp_path / way)
        made |= {f"{way}-{name}": out / f"{name}-0" for name in sources}
    (tmp_path / "run").mkdir()
    template = Template(version, tmp_path / "run", [*sources, *made], {})
    for clean in (True, False):
        template.place([*sources.items(), *made.items()], clean=clean)
        with template.running(), Client(template) as client:
            for topic in made:
                _, _, name = topic.partition("-")
                for isolation in ISOLATIONS:
                    old, new = (client.consume(each, isolation) for each in (name, topic))
                    assert new == old, topic
                    assert new.records or isolation == "read_committed"
                with Partition(sources[name]) as log:
                    times = sorted({record.timestamp for record in log.records()})
                assert client.times(topic, times) == client.times(name, times), topic
            ends = {topic: client.append(topic) for topic in (*sources, *made)}
            assert {ends[topic] - ends[topic.partition("-")[2]] for topic in made} == {0}
        if clean:
            assert template.complaints(made) == []
