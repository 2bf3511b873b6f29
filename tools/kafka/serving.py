"""Give ready partition directories to a real broker, and ask it what is in them.

A first start makes the topics and the rest of a log directory, which is kept as a template.  Each
further start gets a copy of it in which the partitions' files are ours.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tools.golden import broker
from tools.golden.conversation import Conversation
from tools.golden.driver import Driver
from tools.golden.maven import compile_driver
from tools.golden.processes import Server, java_command, listens
from tools.golden.versions import Feature, Mode, Version
from tools.kafka.programs import class_path, compile_programs

PARTITION_METADATA = "partition.metadata"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
_START_SECONDS = 120
_JAVA_CONSUMER = (0, 9)
_DAMAGE = re.compile(r"corrupt|truncat|invalid|recover|stray|exception", re.I)
_NORMAL = re.compile(
    # A plain .log has no index yet.
    r"Could not find (offset )?index file corresponding to log file"
    # A single broker of old releases, started again.
    r"|from OfflinePartition to OnlinePartition failed"
    # A controller that stops gives up what it had scheduled (KafkaEventQueue, seen in 3.2 to 3.5).
    r"|QuorumController .*: unable to start processing because of (Timeout|RejectedExecution)Exc"
)


class Served(NamedTuple):
    """A record as a consumer got it: ``digest`` is over key, value and headers."""

    offset: int
    timestamp: int
    digest: str


class Consumed(NamedTuple):
    """All that a consumer got of a partition, and the borders it was told."""

    start: int
    end: int
    records: list[Served]


@dataclass(frozen=True)
class Template:
    """A stopped broker with its topics.

    Attributes:
        work: properties of its servers, ZooKeeper's data and ``logs``.
        bootstrap: where it listens when it runs.
    """

    version: Version
    jars: Path
    work: Path
    bootstrap: str

    @property
    def logs(self) -> Path:
        """The log directory of the next run."""
        return self.work / "logs"

    @property
    def kept(self) -> Path:
        """The log directory as the first run left it."""
        return self.work / "template"

    def place(self, partitions: Iterable[tuple[str, Path]], *, clean: bool) -> None:
        """Make ``logs`` again, with the files of each directory as partition 0 of its topic.

        Without ``clean`` the broker takes the last stop for a crash, and recovers all segments.
        """
        shutil.rmtree(self.logs)
        shutil.copytree(self.kept, self.logs)
        for topic, source in partitions:
            target = self.logs / f"{topic}-0"
            for path in target.iterdir():
                if path.name != PARTITION_METADATA:
                    path.unlink()
            for path in source.iterdir():
                if path.name != PARTITION_METADATA:
                    shutil.copy2(path, target / path.name)
        if not clean:
            (self.logs / CLEAN_SHUTDOWN).unlink(missing_ok=True)


def prepare(
    version: Version, jars: Path, work: Path, topics: Sequence[str], settings: Mapping[str, str]
) -> Template:
    """Start a broker, make topics of one partition with these settings, stop it.

    Where topics have no settings the broker gets them.

    Raises:
        ToolError: anything outside of Python fails.
    """
    classes = compile_driver(version, jars)
    by_topic = Feature.TOPIC_SETTINGS in version.features
    of_broker = {} if by_topic else {f"log.{name}": value for name, value in settings.items()}
    with (
        broker.running(version, jars, work, of_broker) as running,
        Driver(running, jars, classes, work) as driver,
    ):
        for topic in topics:
            driver.create(topic, 1, settings)
    template = Template(version, jars, work, running.bootstrap)
    shutil.copytree(template.logs, template.kept)
    return template


@contextmanager
def serving(template: Template) -> Iterator[Server]:
    """Run the broker of a template on the content of ``logs``; stop it cleanly at the end."""
    version = template.version
    path = class_path(version, template.jars)
    flags = (*version.jvm_flags, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
    command = java_command(template.work, path, flags)
    servers: list[Server] = []

    def start(name: str, main: str, config: str, port: int) -> Server:
        (template.work / f"{name}.out").unlink(missing_ok=True)
        server = Server(name, [*command, main, str(template.work / config)], template.work)
        servers.append(server)
        server.wait_for(lambda: listens(port), _START_SECONDS)
        return server

    try:
        if version.mode is Mode.ZOOKEEPER:
            main = "org.apache.zookeeper.server.ZooKeeperServerMain"
            config = template.work / "zookeeper.properties"
            lines = dict(line.split("=", 1) for line in config.read_text().splitlines())
            start("zookeeper", main, config.name, int(lines["clientPort"]))
        port = int(template.bootstrap.rpartition(":")[2])
        yield start("kafka", "kafka.Kafka", "server.properties", port)
        for server in reversed(servers):
            server.stop()
    finally:
        for server in servers:
            server.kill()


def warnings(template: Template) -> list[str]:
    """Return the lines of the broker's log at level WARN or above."""
    text = (template.work / "kafka.out").read_text(errors="replace")
    return [line for line in text.splitlines() if re.search(r"\b(WARN|ERROR|FATAL)\b", line)]


def complaints(template: Template, topics: Iterable[str]) -> list[str]:
    """Return the lines about damage or these topics that are not normal for a new directory."""
    names = [f"{topic}-0" for topic in topics]
    return [
        line
        for line in warnings(template)
        if (_DAMAGE.search(line) or any(name in line for name in names))
        and not _NORMAL.search(line)
    ]


class Client(Conversation):
    """A release's own consumer and producer, as a context manager."""

    def __init__(self, template: Template) -> None:
        version = template.version
        name = "Client" if version.release >= _JAVA_CONSUMER else "OldClient"
        classes = compile_programs(version, template.jars, "Answers", name)
        command = java_command(template.work, [classes, f"{template.jars}/*"], version.jvm_flags)
        super().__init__("client", [*command, name, template.bootstrap], template.work)

    def consume(self, topic: str, isolation: str) -> Consumed:
        """Return all records of partition 0; ``isolation`` is ``read_committed`` or the other."""
        answers = self.ask("consume", topic, isolation)
        borders = {fields[0]: int(fields[1]) for fields in answers if fields[0] in ("start", "end")}
        records = [_served(fields) for fields in answers if fields[0] == "record"]
        return Consumed(borders["start"], borders["end"], records)

    def times(self, topic: str, timestamps: Sequence[int]) -> list[tuple[int, int] | None]:
        """Return offset and timestamp of the broker's answer for each timestamp."""
        answers = self.ask("times", topic, *map(str, timestamps))
        return [None if len(a) == 1 else (int(a[1]), int(a[2])) for a in answers]

    def seek(self, topic: str, offsets: Sequence[int]) -> list[Served | None]:
        """Return the first record that a consumer gets from each offset."""
        answers = self.ask("seek", topic, *map(str, offsets))
        return [None if fields[0] == "none" else _served(fields) for fields in answers]

    def append(self, topic: str) -> int:
        """Produce one record; its offset."""
        return int(self.ask("append", topic)[0][1])


def _served(fields: Sequence[str]) -> Served:
    return Served(int(fields[1]), int(fields[2]), fields[3])
