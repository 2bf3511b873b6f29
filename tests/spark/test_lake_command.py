"""``spark lake`` as a command: typed tables, catalogues, object stores, and a kill."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("deltalake")
pytest.importorskip("pyiceberg")

from pyiceberg.catalog.sql import SqlCatalog

import kafkaspec as ks
from kafkaspec.lake.epochs import EPOCHS
from kafkaspec.lake.schema import RAW
from kafkaspec.lake.tables import open_lake
from tests.cli.helpers import run
from tests.goldens import GOLDEN
from tests.lake.test_driver import records, wanted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOGS = GOLDEN / "4.3.1" / "logs"
TYPED = Path(__file__).parents[1] / "values" / "data" / "karapace" / "logs"
COLUMNS = ("topic", "partition", "offset", "key", "value")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name in ("segments-0", "plain-0", "transactions-0"):
        shutil.copytree(LOGS / name, tmp_path / "logs" / name)
    return tmp_path / "logs"


@pytest.mark.slow
def test_typed_tables(spark: SparkSession, tmp_path: Path) -> None:
    """Their rows are those that the library decodes."""
    place = tmp_path / "lake"
    options = ("--topic", "orders", "--value", "decode", "--active")
    done = run("spark", "lake", TYPED, "-o", place, *options)
    assert done.exit_code == 0, done.output
    with ks.open(TYPED) as logs:
        typed = logs.to_typed(topic="orders", value="decode", columns=["offset", "value"])
        expected = typed.read_all().select(["offset", "value"])
    table = open_lake(str(place)).table("typed_orders").scan(["offset", "value"]).read_all()

    rows, theirs = (sorted(map(str, found.to_pylist())) for found in (table, expected))
    assert rows
    assert rows == theirs


@pytest.mark.slow
def test_a_catalogue(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    """The tables are in the catalogue and the namespace that are named, which PyIceberg opens."""
    place, uri = tmp_path / "lake", f"sqlite:///{tmp_path}/mine.db"
    names = ("--catalog", f"uri={uri}", "--catalog", "type=sql", "--catalog", "namespace=kept")
    for _ in range(2):
        done = run("spark", "lake", source, "-o", place, "--active", *names)
        assert done.exit_code == 0, done.output
    assert done.stdout == "nothing is new\n"
    table = SqlCatalog("kafkaspec", uri=uri).load_table(("kept", RAW)).scan().to_arrow()
    found = zip(*(table.column(name).to_pylist() for name in COLUMNS), strict=True)
    assert Counter(found) == wanted(source)
    assert not (place / "catalog.db").exists()
    assert run("spark", "lake", "--status", "-o", place, *names).exit_code == 0
    assert run("spark", "lake", "--status", "-o", place).exit_code == 2


@pytest.mark.slow
def test_an_object_store(
    spark: SparkSession, source: Path, tmp_path: Path, object_stores: None
) -> None:
    """The lake, what is restored from it, and the state of ``spark verify``."""
    import s3fs

    bucket, back = f"lake-{uuid4().hex}", tmp_path / "back"
    s3fs.S3FileSystem(skip_instance_cache=True).mkdir(bucket)
    place = f"s3://{bucket}/lake"
    done = run("spark", "lake", source, "-o", place, "--active", "--exact")
    assert done.exit_code == 0, done.output
    assert run("spark", "lake", source, "-o", place, "--active").stdout == "nothing is new\n"
    table = open_lake(place).table(RAW).scan(COLUMNS).read_all()
    found = zip(*(table.column(name).to_pylist() for name in COLUMNS), strict=True)
    assert Counter(found) == wanted(source)
    done = run("spark", "lake", "--restore", place, "-o", back)
    assert done.exit_code == 0, done.output
    for log in source.glob("*/*.log"):
        assert (back / log.relative_to(source)).read_bytes() == log.read_bytes()
    state = ("--state", f"s3://{bucket}/state", "--format", "json")
    assert '"bytes_read": 0' not in run("spark", "verify", *state, source).stdout
    assert '"bytes_read": 0' in run("spark", "verify", *state, source).stdout


@pytest.mark.slow
def test_a_command_that_is_killed(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    """The next one finishes what it began, and each row is there once."""
    place = tmp_path / "lake"
    words = ("lake", source, "-o", place, "--active", "--max-segments", "1")
    command = [sys.executable, "-m", "kafkaspec", "spark", "--master", "local[1]", *map(str, words)]
    driver = subprocess.Popen(command, start_new_session=True)
    try:
        deadline = time.monotonic() + 240
        while not list((place / EPOCHS).glob("*.json")):
            assert driver.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.002)
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
    assert driver.wait() == -signal.SIGKILL
    done = run("spark", *words)
    assert done.exit_code == 0, done.output
    assert done.stdout != "nothing is new\n"
    assert records(place) == wanted(source)
