"""Commands, Spark's data source and URLs read remote storage as they read a log directory."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import kafkaspec as ks
from kafkaspec.analysis.verification import verify
from kafkaspec.cli.main import main
from kafkaspec.files import segment_manifest
from kafkaspec.forensics.cleaner.compaction import compaction
from kafkaspec.forensics.cleaner.settings import Settings
from kafkaspec.forensics.cleaner.view import LogView
from kafkaspec.io.remote import as_path
from kafkaspec.tiered.keys import VARIABLE
from tests.goldens import GOLDEN
from tests.tiered.storage import AIVEN, KAFKA, KEY, LOCAL, SETTINGS, copied, objects

TOPICS = ("plain-0", "segments-0", "transactions-segments-0")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(KEY))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(item) for item in arguments], catch_exceptions=False)


def rows(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with the partitions that were copied to remote storage."""
    place = tmp_path_factory.mktemp("logs")
    for name in TOPICS:
        shutil.copytree(LOCAL / name, place / name)
    return Path(place)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_verify_finds_what_it_finds_in_the_local_log(setting: str, local: Path) -> None:
    here, there = verify(local), verify(AIVEN / setting)
    assert here.clean
    assert [str(item) for item in there.findings] == []
    assert there.totals.as_dict() == here.totals.as_dict()
    assert run("verify", AIVEN / setting).exit_code == 0


@pytest.mark.parametrize("place", KAFKA, ids=lambda path: path.parts[-3])
def test_verify_finds_the_local_tier_clean(place: Path) -> None:
    found = verify(place)
    assert found.clean
    assert found.totals.records == 24


@pytest.mark.slow
def test_verify_names_a_changed_chunk(tmp_path: Path) -> None:
    place = copied(tmp_path, "encrypted")
    log = next(place.rglob("segments-*/0/00000000000000000012-*.log"))
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    result = run("verify", "--format", "json", place)
    found = [row for row in rows(result) if row["type"] == "finding"]
    assert result.exit_code == 1
    second = segment_manifest.read(log.with_suffix(".rsm-manifest")).chunks.place(1)
    expected = f"{log} at byte {second.position} /chunks/1: its authentication tag"
    assert any(row["message"].startswith(expected) for row in found), found


@pytest.mark.slow
@pytest.mark.parametrize("command", [["dump"], ["dump", "--batches"], ["find", "--offset", "20"]])
@pytest.mark.parametrize("setting", ["encrypted", "plain"])
def test_commands_print_what_they_print_of_the_local_log(
    command: list[str], setting: str, local: Path
) -> None:
    here, there = (run(*command, "--format", "json", place) for place in (local, AIVEN / setting))
    assert here.exit_code == there.exit_code == 0
    base = AIVEN / setting / ("tier" if setting == "plain" else "")
    shown = there.stdout.replace(f"tiered://{base}!", str(local))
    assert rows(here) == [json.loads(line) for line in shown.splitlines()]


@pytest.mark.slow
def test_convert_writes_what_it_writes_of_the_local_log(local: Path, tmp_path: Path) -> None:
    for place, out in ((local, "one"), (AIVEN / "encrypted", "two")):
        assert run("convert", place, "-o", tmp_path / out).exit_code == 0
    one = {path.relative_to(tmp_path / "one"): path for path in (tmp_path / "one").rglob("*.*")}
    assert len(one) > 10
    for name, path in one.items():
        assert (tmp_path / "two" / name).read_bytes() == path.read_bytes(), name


def test_export_writes_the_records_of_the_local_log(local: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for place, out in ((local, "one.jsonl"), (AIVEN / "zstd", "two.jsonl")):
        assert run("export", place, "-o", tmp_path / out).exit_code == 0
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


@pytest.mark.slow
def test_explain_shows_an_object_as_the_segment(local: Path) -> None:
    log = next((AIVEN / "encrypted").rglob("segments-*/0/00000000000000000012-*.log"))
    original = local / "segments-0" / f"{12:020d}.log"
    one, two = run("explain", log), run("explain", original)
    assert one.exit_code == two.exit_code == 0
    assert one.stdout.splitlines()[1:] == two.stdout.splitlines()[1:]


@pytest.mark.slow
def test_a_shown_path_can_be_given_again() -> None:
    place = as_path(f"tiered://{AIVEN / 'zstd'}!/segments-0/{24:020d}.log")
    for command in (["dump"], ["verify"], ["explain"]):
        assert run(*command, place).exit_code == 0
    assert run("dump", f"tiered://{AIVEN}/nothing!/t-0").exit_code == 2
    assert run("dump", "tiered://nothing").exit_code == 2


def test_paths_are_pickled_with_the_names_of_keys() -> None:
    with ks.open(AIVEN / "encrypted", keys={"golden": KEY}) as log:
        assert isinstance(log, ks.LogDirectory)
        again = pickle.loads(pickle.dumps(log.partitions[1].segment_paths[0]))
        with ks.open(again) as segment:
            assert sum(1 for _ in segment.records()) == 12


@pytest.fixture
def memory() -> Iterator[Any]:
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


@pytest.mark.slow
def test_url_of_a_bucket(memory: Any, local: Path) -> None:
    for source, name in ((AIVEN / "encrypted", "aiven"), (KAFKA[-1], "kafka")):
        memory.put(str(source), f"/{name}", recursive=True)
    with ks.open("memory://aiven") as log, ks.open(local) as original:
        assert list(log.records()) == list(original.records())
    with ks.open("memory://kafka") as log:
        assert sum(1 for _ in log.records()) == 24
    assert verify("memory://aiven").clean
    assert run("verify", "memory://kafka").exit_code == 0
    with pytest.raises(ks.KafkaSpecError, match="several folders"):
        ks.open("memory://")


@pytest.mark.slow
def test_verify_of_a_url_finds_what_it_finds_locally(memory: Any) -> None:
    unclean = GOLDEN / "3.9.2" / "unclean" / "logs"
    memory.put(str(unclean), "/unclean", recursive=True)
    one, two = verify(unclean), verify("memory://unclean")
    assert one.findings
    found, same = (
        [(item.area, item.reason, item.position, item.message) for item in each.findings]
        for each in (one, two)
    )
    assert found == same
    assert one.totals.as_dict() == two.totals.as_dict()


def test_only_the_chunks_that_are_needed_are_read(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look-up by offset reads the index, and the chunks from its answer to the batch."""
    memory.put(str(AIVEN / "encrypted"), "/store", recursive=True)
    asked: list[tuple[str, int, int]] = []
    cat = type(memory).cat_file

    def noted(self: Any, path: str, start: int | None = None, end: int | None = None) -> bytes:
        data: bytes = cat(self, path, start=start, end=end)
        asked.append((path, start or 0, len(data)))
        return data

    monkeypatch.setattr(type(memory), "cat_file", noted)
    monkeypatch.setattr("kafkaspec.io.window.LEAST_AHEAD", 1)
    with ks.open("memory://store") as log:
        assert isinstance(log, ks.LogDirectory)
        partition = log.partitions[0]
        assert not [path for path, _, _ in asked if not path.endswith(".rsm-manifest")]
        [segment] = partition.segments
        assert not [path for path, _, _ in asked if path.endswith(".log")]
        chunks = segment_manifest.read(objects(AIVEN / "encrypted", ".rsm-manifest")[0]).chunks
        data = segment._source.read(5100, 20)  # type: ignore[union-attr]
        original = (LOCAL / "plain-0" / f"{0:020d}.log").read_bytes()
        assert bytes(data) == original[5100:5120]
    read = [(start, size) for path, start, size in asked if path.endswith(".log")]
    assert read == [(chunks.place(5).position, chunks.place(5).size)]
    assert len(chunks) == 19


@pytest.mark.spark
def test_the_data_source_of_spark(local: Path) -> None:
    pytest.importorskip("pyspark")
    from tests.spark.reading import table

    columns = ["topic", "partition", "offset", "key", "value"]
    here, there = table(local, columns), table(AIVEN / "encrypted", columns)
    assert len(here) == 125
    assert here.to_pylist() == there.to_pylist()
    folder = next((AIVEN / "zstd").glob("segments-*"))
    assert len(table(folder / "0", columns)) == 45
    assert len(table(next((folder / "0").glob("*.log")), columns)) == 12


@pytest.mark.slow
def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    place = copied(tmp_path, "zstd")
    topic = next(place.glob("segments-*"))
    hostile = f"a!b\x1b[2J\u202e[bold]-{topic.name[-22:]}"
    topic.rename(topic.with_name(hostile))
    log = next((place / hostile / "0").glob("*.log"))
    with ks.open(place) as opened:
        assert isinstance(opened, ks.LogDirectory)
        path = str(opened.partitions[0].segment_paths[0])
    for command in (["verify"], ["dump"], ["find", "--offset", "3"], ["explain"]):
        targets: dict[str, list[object]] = {"explain": [log], "verify": [place, path]}
        target = targets.get(command[0], [place])
        result = run(*command, *target)
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.output
        assert "\u202e" not in result.output
    metadata = GOLDEN / "4.3.1" / "tiered" / "logs"
    result = run("remote", metadata, "--objects", place)
    assert result.exit_code == 1
    assert "\x1b" not in result.output
    assert "\u202e" not in result.output


@pytest.mark.parametrize("command", ["transactions", "producers", "gaps", "retention"])
def test_forensics_say_what_they_say_of_the_local_log(command: str, local: Path) -> None:
    pytest.importorskip("pyarrow")
    name = "transactions-segments-0"
    remote = next((AIVEN / "encrypted").glob("transactions-segments-*")) / "0"
    here, there = (run(command, "--format", "json", place) for place in (local / name, remote))
    assert here.exit_code == there.exit_code
    shown = there.stdout.replace(f"tiered://{remote}!", str(local))
    clocks = ("value", "why", "assumptions")

    def plain(text: str) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in text.splitlines()]
        return [{key: row[key] for key in row if key not in clocks} for row in found]

    assert len(plain(shown)) > 0
    assert plain(shown) == plain(here.stdout)


def test_a_remote_copy_has_no_difference(local: Path) -> None:
    remote = next((AIVEN / "zstd").glob("segments-*")) / "0"
    result = run("diff", remote, local / "segments-0")
    assert result.exit_code == 0, result.output


def test_compaction_refuses_remote_storage_where_brokers_put_no_compacted_topics(
    tmp_path: Path,
) -> None:
    for options in ([], ["-o", tmp_path / "out"]):
        result = run("compaction", AIVEN / "zstd", *options)
        assert result.exit_code in (1, 2)
        assert "brokers put no compacted topics there" in result.stderr
        assert result.stdout == ""
    assert not (tmp_path / "out").exists()


def test_compaction_groups_segments_of_a_url_as_those_of_the_local_log(
    memory: Any, local: Path
) -> None:
    memory.put(str(local / "segments-0"), "/logs/segments-0", recursive=True)
    for index_bytes in (8, 1000):
        settings = Settings({"segment.index.bytes": str(index_bytes)})
        groups = []
        for place in (local / "segments-0", "memory://logs/segments-0"):
            found = compaction(LogView(ks.Partition(place)), settings, 1_800_000_000_000)
            groups.append([[segment.base_offset for segment in group] for group in found.groups])
        assert groups[0] == groups[1]
        assert len(groups[0]) == (1 if index_bytes == 1000 else 3)
