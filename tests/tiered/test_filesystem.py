"""Whatever opens files with fsspec reads remote storage, and gets the bytes of the local files."""

from __future__ import annotations

import io
import pickle
import shutil
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import pandas as pd
import polars as pl
import pyarrow.fs
import pytest

import kafkaspec as ks
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.tables.scans import scan_kafka
from tests.tiered.storage import AIVEN, KAFKA, KEY, LOCAL, SETTINGS

_SEGMENT = "transactions-segments-0/00000000000000000018.log"


def _files(place: str | Path = AIVEN / "zstd", **options: Any) -> Any:
    return fsspec.filesystem("tiered", fo=str(place), keys=str(KEY), **options)


@pytest.mark.slow
def test_every_file_has_the_bytes_of_the_local_one() -> None:
    """Compares 180 files: those that lists show, and the transaction indexes, which are hidden."""
    compared = 0
    for setting in SETTINGS:
        files = _files(AIVEN / setting)
        for folder in files.ls("", detail=False):
            for local in (LOCAL / folder).iterdir():
                path = f"{folder}/{local.name}"
                if local.suffix != names.TRANSACTION_INDEX:
                    assert path in files.ls(folder, detail=False)
                if local.name == names.PARTITION_METADATA:
                    continue  # with the id of the topic in the local cluster
                data = local.read_bytes()
                with files.open(path) as file:
                    assert file.read() == data, path
                assert files.info(path)["size"] == len(data)
                compared += 1
    assert compared > 150


def test_ranges_are_those_of_the_local_file() -> None:
    for setting in SETTINGS:
        files = _files(AIVEN / setting)
        data = (LOCAL / _SEGMENT).read_bytes()
        ends = (None, 0, 1, 100, len(data) - 1, len(data), len(data) + 9, -1, -100)
        ranges = [(start, end) for start in ends for end in ends]
        found = files.cat_ranges([_SEGMENT] * len(ranges), *map(list, zip(*ranges, strict=True)))
        assert found == [data[start:end] for start, end in ranges]
        with files.open(_SEGMENT, block_size=64) as file:
            assert file.seek(-20, io.SEEK_END) == len(data) - 20
            assert file.read() == data[-20:]


def test_urls_are_those_that_output_shows_and_chains() -> None:
    with ks.open(AIVEN / "zstd") as log:
        assert isinstance(log, ks.LogDirectory)
        for partition in log.partitions:
            for path in partition.segment_paths:
                with fsspec.open(str(path)) as file:
                    local = LOCAL / partition.path.name / path.name
                    assert file.read() == local.read_bytes()
    chain = f"tiered://{_SEGMENT}::file://{AIVEN / 'encrypted'}"
    with fsspec.open(chain, tiered={"keys": str(KEY)}) as file:
        assert file.read() == (LOCAL / _SEGMENT).read_bytes()
    files = fsspec.filesystem("tiered", keys=str(KEY))
    folders = files.ls(str(AIVEN / "encrypted"), detail=False)
    assert [path.rpartition("!/")[2] for path in folders] == [
        "plain-0",
        "segments-0",
        "transactions-segments-0",
    ]
    originals = sorted((LOCAL / "segments-0").glob("*.log"))
    listed = files.glob(f"{folders[1]}/*.log")
    assert [files.cat_file(path) for path in listed] == [path.read_bytes() for path in originals]


def test_remote_storage_may_be_in_any_file_system_and_be_kafkas_own() -> None:
    store = fsspec.filesystem("memory")
    try:
        store.put(str(KAFKA[-1]), "/remote", recursive=True)
        files = _files("/remote", target_protocol="memory")
        logs = [path for path in files.find("") if path.endswith(".log")]
        copies = sorted(KAFKA[-1].rglob("*.log"), key=lambda path: path.name)
        assert [files.cat_file(path) for path in logs] == [path.read_bytes() for path in copies]
        assert len(logs) == 2
    finally:
        store.rm("/remote", recursive=True)


@pytest.mark.slow
def test_engines_read_through_it() -> None:
    """The checkpoint of leader epochs is a table of text; segments and indexes are bytes."""
    epochs = "segments-0/leader-epoch-checkpoint"
    url = f"tiered://{AIVEN / 'zstd'}!/{epochs}"
    wanted = [
        tuple(map(int, line.split())) for line in (LOCAL / epochs).read_text().splitlines()[2:]
    ]
    table = pd.read_csv(url, sep=" ", skiprows=2, names=["epoch", "offset"])
    assert list(table.itertuples(index=False, name=None)) == wanted
    with fsspec.open(url) as file:
        assert pl.read_csv(file, separator=" ", skip_rows=2, has_header=False).rows() == wanted
    files = fsspec.filesystem("tiered")
    arrow = pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(files))
    path = url.removeprefix("tiered://").replace(epochs, _SEGMENT)
    with arrow.open_input_file(path) as file:
        assert file.read_at(200, 100) == (LOCAL / _SEGMENT).read_bytes()[100:300]
    base = arrow.get_file_info(pyarrow.fs.FileSelector(f"{AIVEN / 'zstd'}!", recursive=True))
    assert sum(each.path.endswith(".log") for each in base) == 9
    with duckdb.connect() as database:
        database.register_filesystem(files)
        store = f"tiered://{AIVEN / 'zstd'}!/segments-0/*.log"
        rows = database.sql(
            f"SELECT filename, content, size, epoch(last_modified) FROM read_blob('{store}')"
        ).fetchall()
        local = {path.name: path.read_bytes() for path in (LOCAL / "segments-0").glob("*.log")}
        assert {name.rpartition("/")[2]: bytes(content) for name, content, *_ in rows} == local
        assert all(size == len(content) for _, content, size, _ in rows)
        for name, *_, when in rows:
            written = files.modified(name.removeprefix("tiered://")).timestamp()
            assert when == pytest.approx(written, abs=0.01)
    records = scan_kafka(f"tiered://{AIVEN / 'zstd'}!/segments-0").collect()
    assert records.equals(scan_kafka(LOCAL / "segments-0").collect())


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    files = _files()
    for path in ("none-0", "segments-0/none", "segments-0/00000000000000000001.log"):
        assert not files.exists(path)
        for action in (files.info, files.ls, files.cat_file, files.open):
            with pytest.raises(FileNotFoundError):
                action(path)
    with pytest.raises(FileNotFoundError):
        files.cat_file("segments-0")
    for mode in ("wb", "ab", "r+b"):
        with pytest.raises(OSError, match=r"Read-only"):
            files.open(_SEGMENT, mode)
    for name in ("mkdir", "makedirs", "rmdir", "rm", "rm_file", "touch"):
        with pytest.raises(OSError, match=r"Read-only"):
            getattr(files, name)("segments-0")
    for name in ("cp_file", "copy", "mv"):
        with pytest.raises(OSError, match=r"Read-only"):
            getattr(files, name)(_SEGMENT, "other")
    for given in ({"fo": str(tmp_path)}, {"fo": "/none", "target_protocol": "memory"}):
        with pytest.raises(KafkaSpecError, match="no segments in remote storage"):
            fsspec.filesystem("tiered", **given)
    with pytest.raises(KafkaSpecError, match="no segments in remote storage"):
        fsspec.filesystem("tiered").ls(f"{tmp_path}!/topic-0")
    with pytest.raises(KafkaSpecError, match="private key is not here"):
        fsspec.filesystem("tiered", fo=str(AIVEN / "encrypted"), keys=[]).cat_file(_SEGMENT)


def test_another_process_and_another_version_are_read(tmp_path: Path) -> None:
    place = Path(shutil.copytree(AIVEN / "plain", tmp_path / "store"))
    files = pickle.loads(pickle.dumps(_files(place)))
    data = (LOCAL / _SEGMENT).read_bytes()
    assert files.cat_file(_SEGMENT) == data
    shutil.rmtree(place)
    shutil.copytree(AIVEN / "zstd", place)
    files.invalidate_cache()
    assert files.cat_file(_SEGMENT, 0, 9) == data[:9]
