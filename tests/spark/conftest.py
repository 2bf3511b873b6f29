"""One Spark session for all tests, and segments to read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each test here carries the marker."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("spark")


@pytest.fixture(scope="session")
def java() -> None:
    """Skips what needs a JVM where there is none."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=f"{home}/bin" if home else None) is None:
        pytest.skip("Spark needs Java 17 or newer")


@pytest.fixture(scope="session")
def spark(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with two slots, as docs/guide/spark.md sets it up; a task may fail once."""
    from tests.spark.session import session

    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.python.daemon.module": "tests.spark.daemon",
        "spark.sql.ui.retainedExecutions": "1",
    }
    made = session(tmp_path_factory.mktemp("spark"), "local[2,2]", settings)
    yield made
    made.stop()


@pytest.fixture
def object_stores(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An object store on the loopback, which driver and workers know by their environment."""
    pytest.importorskip("s3fs")
    pytest.importorskip("moto")
    import s3fs

    from tests.serving import object_store

    with object_store() as settings:
        environment = spark.sparkContext.environment
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
            monkeypatch.setitem(environment, name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        yield
        s3fs.S3FileSystem.clear_instance_cache()
