"""Remote files by URL, with the part of the interface of ``pathlib.Path`` that this layer needs.

They are read with fsspec, or with PyArrow's file systems if fsspec is not installed. Segments are
read in ranges, one window after the other, and never as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import IO, Any, Final, Protocol, TypeVar, cast

from kafkaspec.errors import KafkaSpecError, Reason, make_error, unreadable
from kafkaspec.io.window import Reading
from kafkaspec.provider import provider
from kafkaspec.shown import without_credentials

_SEPARATOR: Final = "://"
TIERED: Final = "tiered"
"""Scheme of segments in remote storage, which an upper layer shows as files."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a file or directory.

    Attributes:
        path: path in the file system.
        is_dir: whether it is a directory.
        size: size in bytes, None if it is not known.
        modified: modification time in ms since the Unix epoch, None if it is not known.
        tags: what else changes with the content: an ETag, a checksum or a generation.
    """

    path: str
    is_dir: bool
    size: int | None
    modified: int | None
    tags: tuple[object, ...] = ()

    def same_version(self, other: Status) -> bool:
        """Return whether both are of the same content, as far as the file system says."""
        mine, its = self.modified, other.modified
        if mine is not None and its is not None and mine != its:
            if mine % 1000 and its % 1000:  # in some answers they are whole seconds
                return False
            if mine // 1000 != its // 1000:
                return False
        if any(a != b for a, b in zip(self.tags, other.tags, strict=True) if None not in (a, b)):
            return False
        return (self.size, self.is_dir) == (other.size, other.is_dir)


class Ranges(Protocol):
    """A function that reads a file, also in several threads."""

    def __call__(self, start: int, end: int) -> bytes | memoryview:
        """Return the bytes from one byte offset to another; fewer at the end of the file."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A file that is open.

    Attributes:
        read: reads ranges of it.
        status: what the file system said about it when it was opened, None if it was not asked.
        pinned: whether ``read`` fails if another version has replaced that one.
        read_into: does what ``read`` does into memory of the caller, from a position on, and
            returns the number of bytes; None where that is not faster.
    """

    read: Ranges
    status: Status | None = None
    pinned: bool = False
    read_into: Callable[[int, memoryview], int] | None = None


class _Files(Protocol):
    """A file system."""

    def status(self, path: str, *, fresh: bool = False) -> Status | None:
        """Return the status of a path, None if it does not exist; if ``fresh``, from no cache."""

    def entries(self, path: str) -> list[Status]:
        """Return the entries of a directory."""

    def open(self, path: str) -> Opened:
        """Open a file."""


@dataclass(frozen=True, slots=True)
class FsspecFiles:
    """A file system of fsspec: ``files`` is an ``fsspec.AbstractFileSystem``."""

    files: Any

    def status(self, path: str, *, fresh: bool = False) -> Status | None:
        if fresh:
            self.files.invalidate_cache(path)
        try:
            return self._status(self.files.info(path))
        except FileNotFoundError:
            return None

    def entries(self, path: str) -> list[Status]:
        return [self._status(info) for info in self.files.ls(path, detail=True)]

    def open(self, path: str) -> Opened:
        from fsspec.spec import AbstractBufferedFile

        file = self.files.open(path, "rb", cache_type="none")
        if not isinstance(file, AbstractBufferedFile):
            file.close()
            return Opened(lambda start, end: bytes(self.files.cat_file(path, start=start, end=end)))
        # Such a file says more about ranges than cat_file: one of HTTP reads no more than it was
        # asked for from a server that ignores them, and one of S3 asks for the same ETag.
        lock = Lock()

        def read(start: int, end: int) -> bytes:
            with lock:
                file.seek(start)
                return bytes(file.read(end - start))

        status = self._status(file.details)
        pinned = type(file).__module__.startswith("s3fs.") and bool(file.details.get("ETag"))
        return Opened(read, status if pinned else None, pinned)

    def create(self, path: str) -> IO[bytes]:
        """Open a file to write it, and make its directory where that is needed."""
        self.files.makedirs(path.rpartition("/")[0], exist_ok=True)
        return cast(IO[bytes], self.files.open(path, "wb"))

    def discard(self, path: str, file: Any) -> None:
        """Forget a file that was created and not closed, and remove what is there of it."""
        with suppress(Exception):  # what is there already, if the file system has such a function
            file.discard()
        with suppress(AttributeError):  # of a buffer
            file.closed = True  # otherwise it is sent when it is collected
        with suppress(Exception):
            self.files.rm_file(path)

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
        is_dir = info["type"] == "directory"
        size = info.get("size")
        tags = tuple(info.get(name) for name in _TAGS)
        return Status(path, is_dir, None if size is None else int(size), modified, tags)


_TAGS: Final = ("ETag", "etag", "Last-Modified", "Content-MD5", "content_md5", "generation")
"""The names under which file systems of fsspec say what else changes with the content."""


@dataclass(frozen=True, slots=True)
class ArrowFiles:
    """A file system of PyArrow: ``files`` is a ``pyarrow.fs.FileSystem``."""

    files: Any

    def status(self, path: str, *, fresh: bool = False) -> Status | None:
        info = self.files.get_file_info(path)
        return None if info.type.name == "NotFound" else self._status(info)

    def entries(self, path: str) -> list[Status]:
        from pyarrow.fs import FileSelector

        return [self._status(info) for info in self.files.get_file_info(FileSelector(path))]

    def open(self, path: str) -> Opened:
        file = self.files.open_input_file(path)
        return Opened(lambda start, end: bytes(file.read_at(end - start, start)))

    def create(self, path: str) -> IO[bytes]:
        """See ``FsspecFiles``."""
        self.files.create_dir(path.rpartition("/")[0])
        return cast(IO[bytes], self.files.open_output_stream(path))

    def discard(self, path: str, file: IO[bytes]) -> None:
        """See ``FsspecFiles``."""
        file.close()
        self.files.delete_file(path)

    def _status(self, info: Any) -> Status:
        modified = None if info.mtime_ns is None else info.mtime_ns // 1_000_000
        return Status(info.path, info.type.name == "Directory", info.size, modified)


class RemotePath:
    """A remote file or directory.

    As text it has no credentials: ``***`` stands for the user, password and query of its URL.

    Attributes:
        name: last part of the path.
        url: the whole URL, with credentials, by which it can be opened again.
    """

    def __init__(self, files: _Files, root: str, path: str, status: Status | None = None) -> None:
        """Make a path in a file system, below ``root``; nothing is read yet."""
        self._files = files
        self._root = root
        self._path, self._query = _without_query(path)
        self._known = status
        self.name = self._path.rpartition("/")[2]
        self.url = root + self._path + self._query

    @property
    def files(self) -> object:
        """The file system that it is in."""
        return self._files

    @property
    def lists_all(self) -> bool:
        """Whether listings have every file; those of tiered storage hide some.

        Their manifests would be read to say which files there are.
        """
        return isinstance(self._files, FsspecFiles | ArrowFiles)

    @property
    def suffix(self) -> str:
        """End of the name from its last dot on, "" without one."""
        return PurePosixPath(self.name).suffix

    @property
    def parent(self) -> RemotePath:
        """The directory that contains it."""
        return RemotePath(self._files, self._root, self._path.rpartition("/")[0])

    def with_name(self, name: str) -> RemotePath:
        """Return the path with another name in the same directory."""
        return self.parent / name

    def with_suffix(self, suffix: str) -> RemotePath:
        """Return the path with another suffix in place of its last one."""
        before, dot, _ = self.name.rpartition(".")
        return self.with_name((before if dot else self.name) + suffix)

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
            KafkaSpecError: ``unreadable``, also if the size is not known.
        """
        status = self._status()
        if status is None:
            raise FileNotFoundError(f"there is no {self}")
        seconds = (status.modified or 0) // 1000
        size = 0 if status.is_dir else self._size(status)
        exact = {"st_mtime_ns": (status.modified or 0) * 1_000_000}
        return os.stat_result((0, 0, 0, 0, 0, 0, size, seconds, seconds, seconds), exact)

    def iterdir(self) -> Iterator[RemotePath]:
        """Yield the paths in a directory."""
        for status in self._attempt(self._files.entries, self._path):
            yield RemotePath(self._files, self._root, status.path, status)

    @contextmanager
    def created(self) -> Iterator[IO[bytes]]:
        """Write a file, which is there when the block ends, and not if it raises."""
        if not isinstance(self._files, FsspecFiles | ArrowFiles):
            raise unreadable(str(self), "nothing can be written there")
        file = self._attempt(self._files.create, self._path)
        try:
            yield file
        except BaseException:
            self._files.discard(self._path, file)
            raise
        self._attempt(file.close)

    def reading(self) -> RemoteReading:
        """Open the file to read it in ranges."""
        status = self._status()
        if status is None or status.is_dir:
            raise unreadable(str(self), "there is no such file")
        return RemoteReading(
            self._files, self._path + self._query, str(self), status, self._size(status)
        )

    def _size(self, status: Status) -> int:
        if status.size is None:
            raise unreadable(str(self), "the server does not say how many bytes it has")
        return status.size

    def _status(self) -> Status | None:
        known = self._known
        if known is None or (known.size is None and not known.is_dir):  # as listings of HTTP are
            self._known = self._attempt(self._files.status, self._path + self._query)
        return self._known

    def _attempt(self, action: Callable[..., _T], *arguments: Any) -> _T:
        try:
            return action(*arguments)
        except KafkaSpecError:
            raise
        except Exception as error:  # each file system has its own errors
            raise _failed(str(self), error) from error

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(self._files, self._root, f"{self._path}/{name}")

    def __fspath__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return without_credentials(self.url)

    def __repr__(self) -> str:
        return f"<RemotePath {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and self.url == other.url

    def __lt__(self, other: RemotePath) -> bool:
        return self.url < other.url

    def __hash__(self) -> int:
        return hash(self.url)


class RemoteReading(Reading):
    """A remote file that is read in ranges, all of them of the same version."""

    # A request to an object store takes 10 to 30 ms, enough to transfer 1 to 3 MB. But outgoing
    # bytes may cost money, and requests hardly do.
    request_bytes = 256 << 10

    def __init__(self, files: _Files, path: str, name: str, status: Status, size: int) -> None:
        """Prepare to read a file, which is opened with the first range; ``name`` is its URL."""
        self._files = files
        self._path = path
        self._status = status
        self._opened: Opened | None = None
        self.name = name
        self.size = size
        self.modified = status.modified

    def read_into(self, position: int, target: memoryview) -> int:
        """See ``Reading.read_into``."""
        try:
            if self._opened is None:
                self._opened = self._files.open(self._path)
                if self._opened.status is not None:
                    self._compare(self._opened.status, position)
            into = self._opened.read_into
            if into is not None:
                return into(position, target)
            data = self._opened.read(position, position + len(target))
        except KafkaSpecError:
            raise
        except Exception as error:  # each file system has its own errors
            self._check_version(position)  # which may be the reason
            raise _failed(self.name, error, position) from error
        if not self._opened.pinned:
            self._check_version(position)
        if len(data) != len(target):
            detail = f"{len(target)} bytes were asked for, and {len(data)} came"
            raise make_error(Reason.UNREADABLE, detail, file=self.name, offset=position)
        target[:] = data
        return len(data)

    def _check_version(self, position: int) -> None:
        """Check that the file was not replaced, before bytes from ``position`` on are used."""
        try:
            now = self._files.status(self._path, fresh=True)
        except Exception as error:
            raise _failed(self.name, error, position) from error
        self._compare(now, position)

    def _compare(self, now: Status | None, position: int) -> None:
        if now is None or not self._status.same_version(now):
            what = "it is gone" if now is None else "another version of it is there now"
            detail = f"{what}: it changed after it was opened; copy it first, and read the copy"
            raise make_error(Reason.CHANGED, detail, file=self.name, offset=position)

    def close(self) -> None:
        """See ``Reading.close``."""
        self._opened = None


def is_mounted(place: object) -> bool:
    """Return whether a path is one of segments in remote storage, shown as files."""
    return isinstance(place, RemotePath) and place.url.startswith(TIERED + _SEPARATOR)


def as_path(path: str | PathLike[str]) -> Path:
    """Return a local path, or for a URL a ``RemotePath``, which has the used part of ``Path``."""
    if isinstance(path, Path | RemotePath):
        return cast(Path, path)
    if isinstance(path, str) and _SEPARATOR in path:
        return cast(Path, remote_path(path))
    return Path(path)


def is_directory(path: Path) -> bool:
    """Return whether a path is a directory; False if it cannot be known: who opens it says why."""
    try:
        return path.is_dir()
    except OSError:
        return False


def listed(path: Path) -> list[tuple[Path, bool]]:
    """Return what is in a directory by name, and whether each is one; a link is what it leads to.

    Raises:
        OSError: it cannot be listed.
    """
    if isinstance(path, RemotePath):
        found = [(item, is_directory(item)) for item in path.iterdir()]
        return sorted(found, key=lambda each: each[0].name)
    kinds: dict[str, bool] = {}
    with os.scandir(path) as entries:
        for entry in entries:
            try:
                kinds[entry.name] = entry.is_dir()  # which the listing says, unless it is a link
            except OSError:
                kinds[entry.name] = False
    return [(path / name, kinds[name]) for name in sorted(kinds)]


def exists(path: Path) -> bool:
    """Return whether a path exists; False if it cannot be known, and for a link to nothing."""
    if not isinstance(path, RemotePath):
        return os.path.exists(path)
    try:
        return path.exists()
    except KafkaSpecError:
        return False


def address(path: PathLike[str]) -> str:
    """Return the text by which ``as_path`` finds a path again: of a URL with its credentials."""
    return path.url if isinstance(path, RemotePath) else os.fspath(path)


def remote_path(url: str, filesystem: Any = None) -> RemotePath:
    """Return the path for a URL.

    Args:
        url: ``s3://bucket/key``, ``memory://path``, or any other that the file system supports.
        filesystem: file system of fsspec or ``pyarrow.fs``, for example with credentials; then
            ``url`` may be a plain path.

    Raises:
        KafkaSpecError: ``unreadable``: no installed library can read such URLs.
    """
    try:
        files, path = _resolved(url) if filesystem is None else _within(filesystem, url)
    except Exception as error:  # each file system has its own errors
        raise _failed(url, error) from error
    path, query = _without_query(path.rstrip("/"))
    place = url.removesuffix(query)
    if not place.endswith(_SEPARATOR):
        place = place.rstrip("/")
    if place.endswith(path):
        return RemotePath(files, place.removesuffix(path), path + query)
    scheme = url.partition(_SEPARATOR)[0] if _SEPARATOR in url else "file"
    return RemotePath(files, scheme + _SEPARATOR, path.removeprefix("/") + query)


def _within(filesystem: Any, url: str) -> tuple[_Files, str]:
    if type(filesystem).__module__.startswith("pyarrow"):
        return ArrowFiles(filesystem), url.rpartition(_SEPARATOR)[2]
    return FsspecFiles(filesystem), str(filesystem._strip_protocol(url))


def _resolved(url: str) -> tuple[_Files, str]:
    scheme, _, rest = url.partition(_SEPARATOR)
    if scheme == TIERED:
        found: tuple[_Files, str] = provider(TIERED).open_url(rest)
        return found
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError:
        try:
            from pyarrow.fs import FileSystem
        except ModuleNotFoundError:
            raise ImportError("URLs need fsspec: pip install 'kafkaspec[fs]'") from None
        files, path = FileSystem.from_uri(url)
        return ArrowFiles(files), path
    files, path = url_to_fs(url)
    return FsspecFiles(files), path


def _without_query(path: str) -> tuple[str, str]:
    """Split a path before its query, which only paths in HTTP's file systems have."""
    if not path.startswith(("http://", "https://")):
        return path.rstrip("/"), ""
    before, mark, query = path.partition("?")
    return before.rstrip("/"), mark + query


def _failed(place: str, error: Exception, offset: int | None = None) -> KafkaSpecError:
    """Return the error for what a file system raised."""
    if isinstance(error, KafkaSpecError):
        return error
    detail = str(error) or type(error).__name__
    return make_error(Reason.UNREADABLE, detail, file=place, offset=offset)
