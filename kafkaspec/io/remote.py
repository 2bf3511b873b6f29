"""Files behind URLs: what ``pathlib.Path`` is for local ones, as far as this layer needs it.

Through fsspec, or through PyArrow's file systems where fsspec is not installed. Segments are read
in ranges, one window after the other, and never as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.io.window import Reading

_SEPARATOR: Final = "://"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Status:
    """What is known of a place.

    Attributes:
        path: in the file system.
        is_dir: whether it is a directory.
        size: bytes.
        modified: ms since the Unix epoch, None if it is not known.
    """

    path: str
    is_dir: bool
    size: int
    modified: int | None


class Ranges(Protocol):
    """A file that is read in ranges, by one thread or many."""

    def read(self, start: int, end: int) -> bytes:
        """The bytes from ``start`` up to ``end``; fewer if there are no more."""

    def close(self) -> None:
        """Give back what was held."""


class Files(Protocol):
    """A file system."""

    def status(self, path: str) -> Status | None:
        """None if there is nothing."""

    def entries(self, path: str) -> list[Status]:
        """What is in a directory."""

    def ranges(self, path: str) -> Ranges:
        """A file, of which nothing is read yet."""


@dataclass(frozen=True, slots=True)
class FsspecRanges:
    """See ``Ranges``: each is a request by itself."""

    files: Any
    path: str

    def read(self, start: int, end: int) -> bytes:
        """See ``Ranges``."""
        return bytes(self.files.cat_file(self.path, start=start, end=end))

    def close(self) -> None:
        """Nothing is held."""


class ArrowRanges:
    """See ``Ranges``: opened once, as that is a request to an object store."""

    def __init__(self, files: Any, path: str) -> None:
        """Args: a ``pyarrow.fs.FileSystem``, the path in it."""
        self._files = files
        self._path = path
        self._file: Any = None

    def read(self, start: int, end: int) -> bytes:
        """See ``Ranges``."""
        file = self._file
        if file is None:
            file = self._file = self._files.open_input_file(self._path)
        return bytes(file.read_at(end - start, start))

    def close(self) -> None:
        """Give back the open file."""
        file, self._file = self._file, None
        if file is not None:
            file.close()


class FsspecFiles:
    """A file system of fsspec."""

    def __init__(self, files: Any) -> None:
        """Args: an ``AbstractFileSystem``."""
        self._files = files

    def status(self, path: str) -> Status | None:
        """See ``Files``."""
        try:
            return self._status(self._files.info(path))
        except FileNotFoundError:
            return None

    def entries(self, path: str) -> list[Status]:
        """See ``Files``."""
        return [self._status(info) for info in self._files.ls(path, detail=True)]

    def ranges(self, path: str) -> Ranges:
        """See ``Files``."""
        return FsspecRanges(self._files, path)

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


class ArrowFiles:
    """A file system of PyArrow."""

    def __init__(self, files: Any) -> None:
        """Args: a ``pyarrow.fs.FileSystem``."""
        self._files = files

    def status(self, path: str) -> Status | None:
        """See ``Files``."""
        info = self._files.get_file_info(path)
        return None if info.type.name == "NotFound" else self._status(info)

    def entries(self, path: str) -> list[Status]:
        """See ``Files``."""
        from pyarrow.fs import FileSelector

        return [self._status(info) for info in self._files.get_file_info(FileSelector(path))]

    def ranges(self, path: str) -> Ranges:
        """See ``Files``."""
        return ArrowRanges(self._files, path)

    def _status(self, info: Any) -> Status:
        modified = None if info.mtime_ns is None else info.mtime_ns // 1_000_000
        return Status(info.path, info.type.name == "Directory", info.size or 0, modified)


class RemotePath:
    """A place behind a URL.

    Attributes:
        name: last part of the path.
    """

    def __init__(self, files: Files, scheme: str, path: str, status: Status | None = None) -> None:
        """Args: the file system, what stands before ``://``, the path in it."""
        self._files = files
        self._scheme = scheme
        self._path = path.rstrip("/")
        self._known = status
        self.name = self._path.rpartition("/")[2]

    @property
    def parent(self) -> RemotePath:
        """The directory that holds it."""
        return RemotePath(self._files, self._scheme, self._path.rpartition("/")[0])

    def with_name(self, name: str) -> RemotePath:
        """Another name in the same directory."""
        return self.parent / name

    def absolute(self) -> RemotePath:
        """Itself."""
        return self

    def exists(self) -> bool:
        """Whether there is something."""
        return self._status() is not None

    def is_dir(self) -> bool:
        """Whether it is a directory."""
        status = self._status()
        return status is not None and status.is_dir

    def is_file(self) -> bool:
        """Whether it is a file."""
        status = self._status()
        return status is not None and not status.is_dir

    def stat(self) -> os.stat_result:
        """Size and modification time, the rest zeros.

        Raises:
            FileNotFoundError: there is nothing.
        """
        status = self._status()
        if status is None:
            raise FileNotFoundError(f"there is no {self}")
        seconds = (status.modified or 0) // 1000
        return os.stat_result((0, 0, 0, 0, 0, 0, status.size, seconds, seconds, seconds))

    def iterdir(self) -> Iterator[RemotePath]:
        """What is in it."""
        for status in self._attempt(lambda: self._files.entries(self._path)):
            yield RemotePath(self._files, self._scheme, status.path, status)

    def read_bytes(self) -> bytes:
        """All of a small file.

        Raises:
            FileNotFoundError: there is none.
        """
        size = self.stat().st_size
        with closing(self._files.ranges(self._path)) as ranges:
            return self._attempt(lambda: ranges.read(0, size))

    def read_text(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """All of a small file."""
        return self.read_bytes().decode(encoding, errors)

    def reading(self) -> RemoteReading:
        """The file, to be read in ranges."""
        status = self._status()
        if status is None or status.is_dir:
            raise self._unreadable("there is no such file")
        return RemoteReading(self._files.ranges(self._path), str(self), status)

    def _status(self) -> Status | None:
        if self._known is None:
            self._known = self._attempt(lambda: self._files.status(self._path))
        return self._known

    def _attempt(self, action: Callable[[], _T]) -> _T:
        try:
            return action()
        except KafkaSpecError:
            raise
        except Exception as error:  # each file system has errors of its own
            raise self._unreadable(str(error) or type(error).__name__) from error

    def _unreadable(self, detail: str) -> KafkaSpecError:
        return make_error(Reason.UNREADABLE, detail, file=str(self))

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
    """A file behind a URL, read in ranges. What is meanwhile appended is not seen."""

    # A request to an object store takes some 10 to 30 ms, in which 1 to 3 MB come; but bytes that
    # leave it may be paid for, which requests hardly are.
    request_bytes = 256 << 10

    def __init__(self, ranges: Ranges, name: str, status: Status) -> None:
        """Args: the file, its URL, what is known of it."""
        self._ranges = ranges
        self.name = name
        self.size = status.size
        self.modified = status.modified

    def read_into(self, position: int, target: memoryview) -> int:
        """See ``Reading.read_into``."""
        try:
            data = self._ranges.read(position, position + len(target))
        except Exception as error:  # each file system has errors of its own
            detail = str(error) or type(error).__name__
            raise make_error(Reason.UNREADABLE, detail, file=self.name) from error
        target[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """See ``Reading.close``."""
        self._ranges.close()


def as_path(path: str | PathLike[str]) -> Path:
    """A path, local or behind a URL; the latter has what this layer needs of ``Path``.

    Raises:
        KafkaSpecError: ``unreadable``, nothing installed knows such URLs.
    """
    if isinstance(path, RemotePath):
        return cast(Path, path)
    if isinstance(path, str) and _SEPARATOR in path:
        return cast(Path, remote_path(path))
    return Path(path)


def remote_path(url: str, filesystem: Any = None) -> RemotePath:
    """The place behind a URL.

    Args:
        url: ``s3://bucket/key``, ``memory://path`` and what else the file system knows.
        filesystem: one of fsspec or of ``pyarrow.fs``, with credentials for instance; the ``url``
            may be a plain path then.

    Raises:
        KafkaSpecError: ``unreadable``, nothing installed knows such URLs.
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
        raise make_error(Reason.UNREADABLE, str(error), file=url) from error


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
