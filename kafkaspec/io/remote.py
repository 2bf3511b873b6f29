"""Remote files by URL, with the part of the interface of ``pathlib.Path`` that this layer needs.

They are read with fsspec, or with PyArrow's file systems if fsspec is not installed. Segments are
read in ranges, one window after the other, and never as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.io.window import Reading

_SEPARATOR: Final = "://"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a file or directory.

    Attributes:
        path: path in the file system.
        is_dir: whether it is a directory.
        size: size in bytes.
        modified: modification time in ms since the Unix epoch, None if it is not known.
    """

    path: str
    is_dir: bool
    size: int
    modified: int | None


Read = Callable[[int, int], bytes]
"""Returns the bytes of a file from one byte offset to another; fewer at the end of the file."""


class Files(Protocol):
    """A file system."""

    def status(self, path: str) -> Status | None:
        """Return the status of a path, None if it does not exist."""

    def entries(self, path: str) -> list[Status]:
        """Return the entries of a directory."""

    def reader(self, path: str) -> Read:
        """Return a function that reads a file, also in several threads; nothing is read yet."""


@dataclass(frozen=True, slots=True)
class FsspecFiles:
    """A file system of fsspec: ``files`` is an ``fsspec.AbstractFileSystem``."""

    files: Any

    def status(self, path: str) -> Status | None:
        try:
            return self._status(self.files.info(path))
        except FileNotFoundError:
            return None

    def entries(self, path: str) -> list[Status]:
        return [self._status(info) for info in self.files.ls(path, detail=True)]

    def reader(self, path: str) -> Read:
        return lambda start, end: bytes(self.files.cat_file(path, start=start, end=end))

    def _status(self, info: dict[str, Any]) -> Status:
        modified = None
        for name in ("mtime", "LastModified", "last_modified", "updated", "created"):
            value = info.get(name)
            if isinstance(value, datetime):
                value = value.timestamp()
            if isinstance(value, int | float):
                modified = int(value * 1000)
                break
        path = str(info["name"]).rstrip("/")
        return Status(path, info["type"] == "directory", int(info.get("size") or 0), modified)


@dataclass(frozen=True, slots=True)
class ArrowFiles:
    """A file system of PyArrow: ``files`` is a ``pyarrow.fs.FileSystem``."""

    files: Any

    def status(self, path: str) -> Status | None:
        info = self.files.get_file_info(path)
        return None if info.type.name == "NotFound" else self._status(info)

    def entries(self, path: str) -> list[Status]:
        from pyarrow.fs import FileSelector

        return [self._status(info) for info in self.files.get_file_info(FileSelector(path))]

    def reader(self, path: str) -> Read:
        # Opened once, on first use: that is a request to an object store.
        opened = cache(lambda: self.files.open_input_file(path))
        return lambda start, end: bytes(opened().read_at(end - start, start))

    def _status(self, info: Any) -> Status:
        modified = None if info.mtime_ns is None else info.mtime_ns // 1_000_000
        return Status(info.path, info.type.name == "Directory", info.size or 0, modified)


class RemotePath:
    """A remote file or directory.

    Attributes:
        name: last part of the path.
    """

    def __init__(self, files: Files, scheme: str, path: str, status: Status | None = None) -> None:
        """Make a path; nothing is read yet.

        Args:
            files: the file system.
            scheme: part of the URL before ``://``.
            path: path in the file system.
            status: its status, None if it is not known yet.
        """
        self._files = files
        self._scheme = scheme
        self._path = path.rstrip("/")
        self._known = status
        self.name = self._path.rpartition("/")[2]

    @property
    def parent(self) -> RemotePath:
        """The directory that contains it."""
        return RemotePath(self._files, self._scheme, self._path.rpartition("/")[0])

    def with_name(self, name: str) -> RemotePath:
        """Return the path with another name in the same directory."""
        return self.parent / name

    def absolute(self) -> RemotePath:
        """Return the path itself."""
        return self

    def exists(self) -> bool:
        """Return whether the path exists."""
        return self._status() is not None

    def is_dir(self) -> bool:
        """Return whether it is a directory."""
        status = self._status()
        return status is not None and status.is_dir

    def is_file(self) -> bool:
        """Return whether it is a file."""
        status = self._status()
        return status is not None and not status.is_dir

    def stat(self) -> os.stat_result:
        """Return size and modification time; all other values are zeros.

        Raises:
            FileNotFoundError: there is nothing.
        """
        status = self._status()
        if status is None:
            raise FileNotFoundError(f"there is no {self}")
        seconds = (status.modified or 0) // 1000
        return os.stat_result((0, 0, 0, 0, 0, 0, status.size, seconds, seconds, seconds))

    def iterdir(self) -> Iterator[RemotePath]:
        """Yield the paths in a directory."""
        for status in self._attempt(self._files.entries, self._path):
            yield RemotePath(self._files, self._scheme, status.path, status)

    def read_bytes(self) -> bytes:
        """Return the whole content of a small file.

        Raises:
            FileNotFoundError: there is none.
        """
        size = self.stat().st_size
        return self._attempt(self._files.reader(self._path), 0, size)

    def reading(self) -> RemoteReading:
        """Open the file to read it in ranges."""
        status = self._status()
        if status is None or status.is_dir:
            raise unreadable(str(self), "there is no such file")
        return RemoteReading(self._files, str(self), status)

    def _status(self) -> Status | None:
        if self._known is None:
            self._known = self._attempt(self._files.status, self._path)
        return self._known

    def _attempt(self, action: Callable[..., _T], *arguments: Any) -> _T:
        try:
            return action(*arguments)
        except KafkaSpecError:
            raise
        except Exception as error:  # each file system has its own errors
            raise unreadable(str(self), str(error) or type(error).__name__) from error

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(self._files, self._scheme, f"{self._path}/{name}")

    def __fspath__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self._scheme + _SEPARATOR + self._path.removeprefix("/")

    def __repr__(self) -> str:
        return f"<RemotePath {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and str(self) == str(other)

    def __lt__(self, other: RemotePath) -> bool:
        return str(self) < str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class RemoteReading(Reading):
    """A remote file that is read in ranges. Bytes that are appended later are ignored."""

    # A request to an object store takes 10 to 30 ms, enough to transfer 1 to 3 MB. But outgoing
    # bytes may cost money, and requests hardly do.
    request_bytes = 256 << 10

    def __init__(self, files: Files, name: str, status: Status) -> None:
        """Read a file from its beginning.

        Args:
            files: the file system.
            name: its URL.
            status: its status.
        """
        self._files = files
        self._path = status.path
        self._read = files.reader(status.path)
        self.name = name
        self.size = status.size
        self.modified = status.modified

    def read_into(self, position: int, target: memoryview) -> int:
        """See ``Reading.read_into``."""
        try:
            data = self._read(position, position + len(target))
        except Exception as error:  # each file system has its own errors
            raise unreadable(self.name, str(error) or type(error).__name__) from error
        target[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """See ``Reading.close``."""
        self._read = self._files.reader(self._path)  # nothing holds what the old one opened


def as_path(path: str | PathLike[str]) -> Path:
    """Return a local path, or for a URL a ``RemotePath``, which has the used part of ``Path``.

    Raises:
        KafkaSpecError: ``unreadable``: no installed library can read such URLs.
    """
    if isinstance(path, RemotePath):
        return cast(Path, path)
    if isinstance(path, str) and _SEPARATOR in path:
        return cast(Path, remote_path(path))
    return Path(path)


def remote_path(url: str, filesystem: Any = None) -> RemotePath:
    """Return the path for a URL.

    Args:
        url: ``s3://bucket/key``, ``memory://path``, or any other that the file system supports.
        filesystem: file system of fsspec or ``pyarrow.fs``, for example with credentials; then
            ``url`` may be a plain path.

    Raises:
        KafkaSpecError: ``unreadable``: no installed library can read such URLs.
    """
    scheme, separator, rest = url.partition(_SEPARATOR)
    if not separator:
        scheme, rest = "", url
    if filesystem is not None:
        arrow = type(filesystem).__module__.startswith("pyarrow")
        files: Files = ArrowFiles(filesystem) if arrow else FsspecFiles(filesystem)
        return RemotePath(files, scheme or "file", rest)
    try:
        return RemotePath(*_resolved(url, scheme))
    except (ImportError, ValueError, OSError) as error:
        if isinstance(error, KafkaSpecError):
            raise
        raise unreadable(url, str(error)) from error


def _resolved(url: str, scheme: str) -> tuple[Files, str, str]:
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError:
        try:
            from pyarrow.fs import FileSystem
        except ModuleNotFoundError:
            raise ImportError("URLs need fsspec: pip install 'kafkaspec[fs]'") from None
        files, path = FileSystem.from_uri(url)
        return ArrowFiles(files), scheme, path
    files, path = url_to_fs(url)
    return FsspecFiles(files), scheme, path
