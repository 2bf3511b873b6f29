"""Lakes of both formats, in a directory and in an object store on the loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

pytest.importorskip("deltalake")
pytest.importorskip("pyiceberg")

from kafkaspec.lake.base import Lake
from kafkaspec.lake.tables import FORMATS, open_lake

Opening = Callable[[], Lake]
"""Opens the lake again, as another process does."""


@pytest.fixture(params=sorted(FORMATS))
def to(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def opening(to: str, tmp_path: Path) -> Opening:
    """Opens a lake in a directory whose name looks different in URLs."""
    name = {"delta": "a läke%#?", "iceberg": "a läke%20#"}[to]
    return lambda: open_lake(str(tmp_path / name), to, create=True)


@pytest.fixture
def lake(opening: Opening) -> Lake:
    return opening()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An object store on the loopback, known by the environment."""
    pytest.importorskip("moto")
    import s3fs

    from tests.serving import object_store

    with object_store() as settings:
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        name = f"lakes-{uuid4().hex}"  # moto keeps buckets in the process, and ports come again
        s3fs.S3FileSystem(skip_instance_cache=True).mkdir(name)
        yield f"s3://{name}"
        s3fs.S3FileSystem.clear_instance_cache()
