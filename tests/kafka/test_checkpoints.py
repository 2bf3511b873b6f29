"""A broker that gets a log that was written again delivers nothing that was deleted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafkaspec.files import names
from kafkaspec.files.checkpoints import offset_checkpoint
from kafkaspec.log.partition import Partition
from tests.cli.helpers import run
from tests.goldens import GOLDEN
from tests.kafka.chosen import VERSIONS
from tools.brokers.client import Client
from tools.brokers.versions import Version
from tools.kafka.serving import Template

pytestmark = pytest.mark.kafka

JUDGES = [version for version in VERSIONS if version.release >= (3, 9) and not version.missing]
COMMANDS = {
    "salvage": ("salvage",),
    "redact": ("redact", "--key", "nobody"),
    "convert": ("convert",),
    "compaction": ("compaction", "--config", "cleanup.policy=delete"),
}


def _written(place: Path) -> dict[str, Path]:
    """Write a log directory with each command, and a partition alone; return them by topic."""
    source = GOLDEN / "4.3.1" / "logs"
    made = {}
    for name, command in COMMANDS.items():
        for topic in (name, f"{name}-alone"):
            logs, out = place / topic / "in", place / topic / "out"
            shutil.copytree(source / "deleted-records-0", logs / f"{topic}-0")
            for file in names.OFFSET_CHECKPOINTS:
                text = (source / file).read_text().replace("deleted-records 0", f"{topic} 0")
                (logs / file).write_text(text)
            if topic == name:
                run(*command, logs, "-o", out)
            elif name != "compaction":  # it always writes a log directory
                out.mkdir()
                run(*command, logs / f"{topic}-0", "-o", out / f"{topic}-0")
            else:
                continue
            made[topic] = out / f"{topic}-0"
    return made


def _add(logs: Path, out: Path) -> None:
    """Add the checkpoints of an output to those of a broker."""
    for file in names.OFFSET_CHECKPOINTS:
        if (out / file).exists():
            there = offset_checkpoint.read(logs / file) if (logs / file).exists() else ()
            listed = offset_checkpoint.by_partition((*there, *offset_checkpoint.read(out / file)))
            (logs / file).write_bytes(offset_checkpoint.serialize(listed.values()))


@pytest.mark.parametrize("version", JUDGES, ids=lambda version: version.name)
def test_what_a_broker_delivers(version: Version, tmp_path: Path) -> None:
    with Partition(GOLDEN / "4.3.1" / "logs" / "deleted-records-0") as log:
        wanted = [record.offset for record in log.records(log_start="checkpoint")]
        end = log.log_end_offset
    made = _written(tmp_path)
    (tmp_path / "run").mkdir()
    template = Template(version, tmp_path / "run", made, {"retention.ms": "-1"})
    for clean in (True, False):
        template.place(made.items(), clean=clean)
        for path in made.values():
            _add(template.logs, path.parent)
        with template.running(), Client(template) as client:
            for topic in made:
                consumed = client.consume(topic, "read_uncommitted")
                assert (consumed.start, consumed.end) == (wanted[0], end), topic
                assert [record.offset for record in consumed.records] == wanted, topic
                assert client.append(topic) == end
        assert template.complaints(made) == []
