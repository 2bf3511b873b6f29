"""Brokers serve redacted logs as they served the originals, but for what was redacted."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkaspec.forensics.redaction.choices import Changes, Chosen, Part, Way
from kafkaspec.forensics.redaction.running import redact
from kafkaspec.log.partition import Partition
from tests.goldens import GOLDEN
from tests.kafka.chosen import VERSIONS
from tools.brokers.client import Client, Consumed
from tools.brokers.versions import Version
from tools.kafka.serving import Template

pytestmark = pytest.mark.kafka

JUDGES = [version for version in VERSIONS if version.release >= (3, 9) and not version.missing]
"""Not the newest, so that not each run of all tests starts one."""
NAMES = ("codec-mixed", "segments", "segments-gzip", "headers", "transactions", "compacted")
WAYS = {
    "fill": {Part.VALUE: Way.FILL, Part.HEADERS: Way.FILL},
    "empty": {Part.VALUE: Way.EMPTY},
}
ISOLATIONS = ("read_uncommitted", "read_committed")


def _shapes(consumed: Consumed, sizes: bool) -> tuple[object, ...]:
    """What a consumer got, less the bytes that are redacted; sizes where they stay."""
    return (
        consumed.start,
        consumed.end,
        [
            (
                item.offset,
                item.timestamp,
                [data and len(data) for data in (item.key, item.value)] if sizes else item.key,
                item.value is None,
                [name for name, _ in item.headers],
            )
            for item in consumed.records
        ],
    )


@pytest.mark.parametrize("version", JUDGES, ids=lambda version: version.name)
def test_what_a_broker_serves(version: Version, tmp_path: Path) -> None:
    """With the old indexes where sizes stay, after a clean stop; offsets, times, transactions."""
    sources = {name: GOLDEN / "4.3.1" / "logs" / f"{name}-0" for name in NAMES}
    made = {}
    for way, ways in WAYS.items():
        for name, source in sources.items():
            made[f"{way}-{name}"] = tmp_path / way / f"{name}-0"
            made[f"{way}-{name}"].parent.mkdir(exist_ok=True)
            redact(source, made[f"{way}-{name}"], Chosen(every=True), Changes(ways), sync=False)
    (tmp_path / "run").mkdir()
    template = Template(version, tmp_path / "run", [*sources, *made], {})
    template.place([*sources.items(), *made.items()], clean=True)
    with template.running(), Client(template) as client:
        for topic in made:
            way, _, name = topic.partition("-")
            for isolation in ISOLATIONS:
                old, new = (client.consume(each, isolation) for each in (name, topic))
                assert _shapes(new, way == "fill") == _shapes(old, way == "fill"), topic
                assert all(set(item.value or b"") <= set(b"x") for item in new.records)
            with Partition(sources[name]) as log:
                times = sorted({record.timestamp for record in log.records()})
            assert client.times(topic, times) == client.times(name, times), topic
        ends = {topic: client.append(topic) for topic in (*sources, *made)}
        assert {ends[topic] - ends[topic.partition("-")[2]] for topic in made} == {0}
    assert template.complaints(made) == []
