"""Real brokers load the partitions that we write, through Spark too, and serve every record.

Twice: after a clean stop, when a broker trusts what it finds, and after a crash, when it recovers
every segment.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.files import names
from kafkaspec.scenarios.partition import INDEX_INTERVAL_BYTES, MadePartition
from kafkaspec.writing.comparison import Comparison
from tests.kafka import by_spark
from tests.kafka.chosen import VERSIONS
from tests.kafka.partitions import FILE_MS, conversions, logs, some, write_plain, write_whole
from tools.brokers.client import Client
from tools.brokers.maven import ToolError
from tools.brokers.versions import Version
from tools.kafka import results
from tools.kafka.producing import Produced, produce, request_version
from tools.kafka.serving import Template

pytestmark = pytest.mark.kafka

UNCOMMITTED, COMMITTED = "read_uncommitted", "read_committed"
SETTINGS = {"index.interval.bytes": str(INDEX_INTERVAL_BYTES)}
_TIME_LOOKUPS = (0, 10, 1)  # KIP-79
_TRANSACTIONS = (0, 11)
_RECOVERS_ALL = (0, 8, 1)
"""Before it a broker does not start on a log without its index, and recovers the last segment only
(``Log.loadSegments`` of 0.8.0)."""
_TRUSTING = (1, 1), (2, 3)
"""From, before: after a clean stop these do not see that an index is missing (``LogSegment.open``
makes an empty one before ``sanityCheck`` looks), and rebuild nothing from a plain ``.log``:
look-ups by time know the file's time only, and transactions are forgotten."""


@dataclass
class Run:
    """One start of a broker on our directories, and all that was wrong with it."""

    version: Version
    failures: list[str] = field(default_factory=list)
    of_spark: list[str] = field(default_factory=list)
    served: dict[str, int] = field(default_factory=dict)
    rebuilt: Counter[str] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)

    def expect(self, what: str, found: object, wanted: object) -> None:
        if found != wanted:
            self.failures.append(f"{what}:\n  broker {found!r:.600}\n  ours   {wanted!r:.600}")


@dataclass
class Judged:
    """The runs of one release, with and without the clean-shutdown file."""

    version: Version
    topics: dict[str, tuple[MadePartition, Path]]
    spark_topics: dict[str, tuple[Path, list[ks.Record]]]
    runs: dict[bool, Run]
    produced: Run


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda version: version.name)
def judged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    version: Version = request.param
    work = tmp_path_factory.mktemp(f"broker-{version.name}")
    topics = _write(version, work / "ours")
    spark_topics = by_spark.partitions(version, work / "spark")
    (work / "run").mkdir()
    names = [*topics, *spark_topics, *(_produced_topic(*kind) for kind in _kinds(version))]
    template = Template(version, work / "run", names, SETTINGS)
    produced = Run(version)
    runs = {
        clean: _run(template, topics, spark_topics, produced, clean=clean)
        for clean in (True, False)
    }
    return Judged(version, topics, spark_topics, runs, produced)


def _write(version: Version, target: Path) -> dict[str, tuple[MadePartition, Path]]:
    """The same logs as plain ``.log`` files, with all that belongs beside them, and converted.

    Plain ones for a broker that refuses them get indexes by ``rebuild_indexes``.
    """
    found = {}
    for log in logs(version):
        plain, whole = f"plain-{log.topic}", f"whole-{log.topic}"
        found[plain] = log, write_plain(log, target / f"{plain}-0")
        if version.release < _RECOVERS_ALL:
            _add_indexes(target / f"{plain}-0", version)
        found[whole] = log, write_whole(log, target / f"{whole}-0", version)
    for conversion in conversions(version):
        log, source = found[f"plain-{conversion.source}"]
        topic = f"converted-{conversion.source}"
        path = conversion.write(source, target / f"{topic}-0", version)
        found[topic] = conversion.result(log), path
    return found


def _add_indexes(directory: Path, version: Version) -> None:
    made = directory.with_name(f"indexes-of-{directory.name}")
    ks.rebuild_indexes(
        directory, made, profile=version.name, index_interval_bytes=INDEX_INTERVAL_BYTES
    )
    shutil.copytree(made, directory, dirs_exist_ok=True)


def _kinds(version: Version) -> list[tuple[int, str]]:
    """Pairs of magic and codec that a producer may send to this release."""
    return [
        (magic, codec)
        for magic in (0, 1, 2)
        for codec in version.codecs
        if request_version(version, magic, codec) is not None and (magic == 2 or codec != "zstd")
    ]


def _produced_topic(magic: int, codec: str) -> str:
    return f"produced-{magic}-{codec}"


def _run(
    template: Template,
    topics: dict[str, tuple[MadePartition, Path]],
    spark_topics: dict[str, tuple[Path, list[ks.Record]]],
    produced: Run,
    *,
    clean: bool,
) -> Run:
    run = Run(template.version)
    places = [(topic, path) for topic, (_, path) in topics.items()]
    places += [(topic, path) for topic, (path, _) in spark_topics.items()]
    template.place(places, clean=clean)
    with template.running(), Client(template) as client:
        for topic, (log, path) in topics.items():
            try:
                _ask(run, client, topic, log, path, clean=clean)
                if clean:
                    run.expect(f"{topic} append", client.append(topic), log.end)
            except ToolError as error:
                run.failures.append(f"{topic}: {error}")
        for topic, (_, expected) in spark_topics.items():
            got = client.consume(topic, UNCOMMITTED)
            end = expected[-1].offset + 1
            if (got.records, got.start, got.end) != (expected, expected[0].offset, end):
                run.of_spark.append(f"{topic}: {got!s:.500}")
            elif clean and client.append(topic) != end:
                run.of_spark.append(f"{topic}: another end of the log")
        if clean:
            for magic, codec in _kinds(template.version):
                _send(produced, client, template.bootstrap, magic, codec)
    run.failures += template.complaints([*topics, *spark_topics])
    if not clean:
        for topic, (_, path) in topics.items():
            _compare_indexes(run, template.logs / f"{topic}-0", path)
    return run


def _compare_indexes(run: Run, directory: Path, placed: Path) -> None:
    """A broker that recovers a partition makes the files that we make of the same log.

    What it does not recover stays as it was placed. The checkpoint of leader epochs is for
    ``test_loader``: here the broker has become the leader, and lists its own epoch.
    """
    active = max(directory.glob("*.log")).stem
    report = ks.rebuild_indexes(
        directory, profile=run.version.name, index_interval_bytes=INDEX_INTERVAL_BYTES
    )
    for file in report.files:
        if file.name == names.LEADER_EPOCHS:
            continue
        if run.version.release < _RECOVERS_ALL and not file.name.startswith(active):
            left, ours = ((where / file.name).read_bytes() for where in (directory, placed))
            run.expect(f"{directory.name}/{file.name}", left, ours)
        elif not file.name.endswith(".snapshot"):
            run.rebuilt[file.comparison.value] += 1
            if file.comparison is not Comparison.EQUAL:
                run.different.append(f"{directory.name}/{file.name}: {file.comparison} {file.why}")


def _ask(
    run: Run, client: Client, topic: str, log: MadePartition, path: Path, *, clean: bool
) -> None:
    start = min(log.entries)
    bare = topic.startswith("plain-")
    trusted = bare and clean and _TRUSTING[0] <= run.version.release < _TRUSTING[1]
    got = client.consume(topic, UNCOMMITTED)
    run.expect(f"{topic} {UNCOMMITTED}", got.records, log.uncommitted)
    run.expect(f"{topic} borders", (got.start, got.end), (start, log.end))
    run.served[topic] = len(got.records)
    if run.version.release >= _TRANSACTIONS:
        got = client.consume(topic, COMMITTED)
        run.expect(
            f"{topic} {COMMITTED}", got.records, log.uncommitted if trusted else log.committed
        )
        run.expect(f"{topic} last stable offset", got.end, log.end if trusted else log.stable)
    with ks.open(_with_empty_indexes(path) if trusted else path) as partition:
        assert isinstance(partition, ks.Partition)
        _look_up(run, client, topic, log, partition)


def _with_empty_indexes(path: Path) -> Path:
    """A copy with an empty index where there is none."""
    copy = path.parent.with_name("trusted") / path.name
    shutil.copytree(path, copy)
    for log in copy.glob("*.log"):
        for suffix in (".index", ".timeindex"):
            log.with_suffix(suffix).touch()
    return copy


def _look_up(
    run: Run, client: Client, topic: str, log: MadePartition, partition: ks.Partition
) -> None:
    offsets = [r.offset for r in log.records]
    wanted = sorted({partition.log_start_offset or 0, *offsets[::7], offsets[-1], offsets[-1] - 1})
    for offset, answer in zip(wanted, client.seek(topic, wanted), strict=True):
        found = partition.find(offset=offset)
        if found.batch is not None and found.record is not None and not found.batch.is_control:
            run.expect(f"{topic} find --offset {offset}", answer, found.record)
    if run.version.release < _TIME_LOOKUPS:
        return
    times = sorted({r.timestamp for r in log.records})
    ends = {times[0] - 1, times[-1], times[-1] + 1, FILE_MS, FILE_MS + 1}
    asked = sorted(time for time in {*times[::5], *ends} if time >= 0)
    for time, place in zip(asked, client.times(topic, asked), strict=True):
        found = partition.find(timestamp=time)
        ours = None if found.offset is None else (found.offset, found.timestamp)
        run.expect(f"{topic} find --timestamp {time}", place, ours)


def _send(run: Run, client: Client, bootstrap: str, magic: int, codec: str) -> None:
    """Two batches of ours in produce requests, and a broken one, which must be refused."""
    topic, request = _produced_topic(magic, codec), request_version(run.version, magic, codec)
    assert request is not None
    records = some(0, 9, magic)
    data = ks.encode(records, magic=magic, compression=codec)
    wanted = []
    for base in (0, len(records)):
        answer = produce(bootstrap, topic, data, request)
        run.expect(f"{topic} produce", answer, Produced(0, base))
        wanted += [record._replace(offset=base + record.offset) for record in records]
    refused = produce(bootstrap, topic, data[:-1] + bytes((data[-1] ^ 1,)), request)
    run.expect(f"{topic} refuses what is broken", refused.error_code != 0, True)
    run.expect(f"{topic} {UNCOMMITTED}", client.consume(topic, UNCOMMITTED).records, wanted)
    run.served[topic] = len(wanted)


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "crashed"])
def test_broker_serves_what_we_wrote(judged: Judged, clean: bool) -> None:
    failures = judged.runs[clean].failures
    assert not failures, f"{len(failures)} failures:\n" + "\n".join(failures[:20])


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "crashed"])
def test_broker_serves_what_was_written_through_spark(judged: Judged, clean: bool) -> None:
    assert judged.runs[clean].of_spark == []
    assert len(judged.spark_topics) >= 2 * len(judged.version.codecs) - 2


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "crashed"])
def test_every_directory_was_read_to_its_end(judged: Judged, clean: bool) -> None:
    expected = {topic: len(log.records) for topic, (log, _) in judged.topics.items()}
    assert judged.runs[clean].served == expected


def test_broker_takes_what_we_produce(judged: Judged) -> None:
    failures = judged.produced.failures
    assert not failures, f"{len(failures)} failures:\n" + "\n".join(failures[:20])
    assert len(judged.produced.served) == len(_kinds(judged.version))


def test_recovered_indexes_are_those_that_we_rebuild(judged: Judged) -> None:
    run = judged.runs[False]
    assert not run.different, f"{run.rebuilt}:\n" + "\n".join(run.different[:20])
    assert run.rebuilt[Comparison.EQUAL.value] >= len(judged.topics)


def test_results_are_those_that_are_kept(judged: Judged) -> None:
    found = {
        topic: {"records": count}
        for run in (judged.runs[True], judged.produced)
        for topic, count in run.served.items()
        if not topic.startswith("converted-")  # by the same writer; the page does not list it
    }
    if os.environ.get("RECORD"):
        assert not any(run.failures for run in (*judged.runs.values(), judged.produced))
        results.record(judged.version.name, found)
    assert results.load().get(judged.version.name) == found
