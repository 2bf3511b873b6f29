"""The files of a lake: a local directory, or an object store by the URL that fsspec knows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pyarrow.fs as pafs
from fsspec.core import url_to_fs

from kafkaspec.errors import KafkaSpecError, unreadable

_SEPARATOR: Final = "://"
_LOCAL: Final = "file"
THREADS: Final = 16
"""Threads that wait for requests, in a step that needs one for each file."""
_S3: Final = ("s3://", "s3a://")
_DELTA: Final = {
    "endpoint": "AWS_ENDPOINT_URL",
    "key": "AWS_ACCESS_KEY_ID",
    "secret": "AWS_SECRET_ACCESS_KEY",
    "token": "AWS_SESSION_TOKEN",
    "region": "AWS_REGION",
}
_ICEBERG: Final = {
    "endpoint": "s3.endpoint",
    "key": "s3.access-key-id",
    "secret": "s3.secret-access-key",
    "token": "s3.session-token",
    "region": "s3.region",
}
"""Names of the settings of S3."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in a lake.

    Attributes:
        path: relative to the lake.
        size: in bytes.
        modified: when, in seconds since the Unix epoch.
    """

    path: str
    size: int
    modified: float


class Store:
    """The files of a lake.

    Attributes:
        place: the directory, an absolute path, or the URL.
        local: whether it is a directory.
    """

    def __init__(self, place: str) -> None:
        """Look at no file yet."""
        scheme, separator, rest = place.partition(_SEPARATOR)
        self.local = not separator or scheme == _LOCAL
        text = (rest if separator else place) if self.local else place
        self.place = os.path.abspath(text) if self.local else text.rstrip("/")

    def url(self, path: str = "") -> str:
        """Return the absolute path, or the URL, of a path in it."""
        return f"{self.place}/{path}" if path else self.place

    @cached_property
    def filesystem(self) -> pafs.FileSystem:
        """The file system that it is in, which takes what ``within`` returns."""
        return self._resolved[0]

    def within(self, path: str = "") -> str:
        """Return a path in it as the path that its file system takes."""
        root = self._resolved[1]
        return f"{root}/{path}" if path else root

    @cached_property
    def _resolved(self) -> tuple[pafs.FileSystem, str]:
        if self.local:
            return pafs.LocalFileSystem(), self.place
        with self.failing():
            files, root = self._remote
            return pafs.PyFileSystem(pafs.FSSpecHandler(files)), root

    @cached_property
    def _remote(self) -> tuple[Any, str]:
        files, root = url_to_fs(self.place)
        return files, str(root).rstrip("/")

    def make(self) -> None:
        """Make the directory; a store of objects needs none."""
        with self.failing():
            self.filesystem.create_dir(self.within())

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        with self.failing(path), self.filesystem.open_input_stream(self.within(path)) as stream:
            return bytes(stream.read())

    def write(self, path: str, data: bytes) -> None:
        """Write a file that is complete or not there, and on the disk."""
        with self.failing(path):
            if not self.local:
                with self.filesystem.open_output_stream(self.within(path)) as stream:
                    stream.write(data)
                return
            target = Path(self.within(path))
            target.parent.mkdir(parents=True, exist_ok=True)
            aside = target.with_name(f".{target.name}.part")
            with aside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(target)

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        with self.failing(path):
            try:
                self.filesystem.delete_file(self.within(path))
            except FileNotFoundError:
                return

    def exists(self, path: str = "") -> bool:
        """Return whether there is a file or directory."""
        with self._looking(path):
            info = self.filesystem.get_file_info(self.within(path))
            return bool(info.type != pafs.FileType.NotFound)

    def sizes(self, paths: Sequence[str]) -> list[int | None]:
        """Return the sizes of files, None for one that is not there."""
        places = [self.within(path) for path in paths]
        with self._looking(""):
            look = self.filesystem.get_file_info
            if self.local:
                found = look(places)
            else:
                with ThreadPoolExecutor(THREADS) as pool:  # a request each
                    found = list(pool.map(look, places))
        return [info.size if info.type == pafs.FileType.File else None for info in found]

    def names(self, path: str = "") -> list[str]:
        """Return the names in a directory, none if it is not there."""
        with self._looking(path):
            selector = pafs.FileSelector(self.within(path), allow_not_found=True)
            return sorted(info.base_name for info in self.filesystem.get_file_info(selector))

    def files(self, path: str = "") -> list[StoredFile]:
        """Return all files below a directory, none if it is not there."""
        with self._looking(path):
            selector = pafs.FileSelector(self.within(path), allow_not_found=True, recursive=True)
            root = self.within()
            return [
                StoredFile(
                    info.path[info.path.index(root) + len(root) + 1 :],
                    info.size or 0,
                    (info.mtime_ns or 0) / 1e9,
                )
                for info in self.filesystem.get_file_info(selector)
                if info.type == pafs.FileType.File
            ]

    @contextmanager
    def _looking(self, path: str) -> Iterator[None]:
        """Look at what is there now, and not at listings that fsspec kept."""
        with self.failing(path):
            if not self.local:
                self._remote[0].invalidate_cache()
            yield

    @contextmanager
    def failing(self, path: str = "") -> Iterator[None]:
        """Raise what a file system or a table format raises in the block as ``unreadable``."""
        try:
            yield
        except KafkaSpecError:
            raise
        except Exception as error:  # each file system and each library has its own errors
            detail = str(error) or type(error).__name__
            raise unreadable(self.url(path), detail) from error

    def delta_options(self) -> dict[str, str]:
        """Return the settings of the store as deltalake takes them."""
        found = self._s3()
        options = {_DELTA[name]: value for name, value in found.items()}
        if found.get("endpoint", "").startswith("http:"):
            options["AWS_ALLOW_HTTP"] = "true"
        return options

    def iceberg_properties(self) -> dict[str, str]:
        """Return the settings of the store as PyIceberg takes them."""
        return {_ICEBERG[name]: value for name, value in self._s3().items()}

    def _s3(self) -> dict[str, str]:
        """Return what fsspec's settings and the environment say about S3, "" left out."""
        if not self.place.startswith(_S3):
            return {}
        files, _ = self._remote
        client, environment = getattr(files, "client_kwargs", None) or {}, os.environ.get
        found = {
            "endpoint": getattr(files, "endpoint_url", None)
            or client.get("endpoint_url")
            or environment("AWS_ENDPOINT_URL_S3")
            or environment("AWS_ENDPOINT_URL"),
            "key": getattr(files, "key", None) or client.get("aws_access_key_id"),
            "secret": getattr(files, "secret", None) or client.get("aws_secret_access_key"),
            "token": getattr(files, "token", None) or client.get("aws_session_token"),
            "region": client.get("region_name")
            or environment("AWS_REGION")
            or environment("AWS_DEFAULT_REGION"),
        }
        return {name: str(value) for name, value in found.items() if value}
