"""Local files, for reading only: mapped into memory, or read in parts."""

from __future__ import annotations

import errno
import mmap
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from os import PathLike
from threading import Lock
from typing import IO, Final, Self

from kafkaspec.errors import KafkaSpecError, Reason, make_error, unreadable
from kafkaspec.io.remote import RemotePath
from kafkaspec.io.window import MOST_AHEAD, Allocate, Cursor, Reading, WholeCursor
from kafkaspec.jobs import inherit

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

SIDE_FILE_BYTES: Final = 64 << 20
"""Largest file beside a log that is read into memory: enough for text about 200,000 partitions with
the longest names, and for the state of 1.7 million producers."""

# Without O_NONBLOCK, opening a named pipe waits for a writer.
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)

_FICLONE: Final = 0x40049409
"""``_IOW(0x94, 9, int)`` of ``linux/fs.h``, as most processors have it."""

_MAPS: Final = ContextVar("maps", default=True)


@contextmanager
def unmapped() -> Iterator[None]:
    """Read every file that is opened in the block, and map none."""
    token = _MAPS.set(False)
    try:
        yield
    finally:
        _MAPS.reset(token)


def are_mapped() -> bool:
    """Return whether files are mapped that are opened now."""
    return _MAPS.get()


def _set_maps(maps: bool) -> None:
    _MAPS.set(maps)


inherit(are_mapped, _set_maps)


class Source:
    """The bytes of one mapped file, or of a buffer.

    Views of ``buffer`` that are still in use keep the mapping alive after ``close``: they stay
    readable, and the memory is released with the last of them.

    Attributes:
        name: path of the file as it was given, or the name of a buffer; None if it has none.
        size: bytes at the time of opening; later growth is ignored.
        modified: modification time in milliseconds since the Unix epoch, None for a buffer.
        buffer: the bytes.
    """

    __slots__ = ("_identity", "_map", "buffer", "modified", "name", "size")

    mapped = True

    def __init__(self, path: str | PathLike[str]) -> None:
        """Open and map a file; read all of it where nothing is to be mapped."""
        self.name: str | None = os.fspath(path)
        self._map: mmap.mmap | None = None
        self.modified: int | None
        if not _MAPS.get():
            reading = FileReading(self.name)
            try:
                self.buffer = reading.read(0, reading.size)
            finally:
                reading.close()
            self.size, self.modified = reading.size, reading.modified
            return
        descriptor, status = _open(self.name)
        try:
            if status.st_size:
                self._map = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError, OverflowError) as error:
            raise unreadable(self.name, error) from None
        finally:
            os.close(descriptor)
        self._identity = (status.st_dev, status.st_ino)
        self.buffer = memoryview(b"" if self._map is None else self._map)
        self.size = len(self.buffer)
        self.modified = status.st_mtime_ns // 1_000_000

    @classmethod
    def of(cls, path: str | PathLike[str], most: int = SIDE_FILE_BYTES) -> Source:
        """Map a file beside a log, or read all of one that is remote or not to be mapped.

        Raises:
            KafkaSpecError: ``unreadable``, also if the file has more than ``most`` bytes.
        """
        if isinstance(path, RemotePath) or not _MAPS.get():
            return read_beside(path)
        source = cls(path)
        if source.size > most:
            source.close()
            raise _too_large(source.name, source.size)
        return source

    @classmethod
    def of_buffer(cls, data: bytes | bytearray | memoryview, name: str | None = None) -> Source:
        """Use a buffer instead of a file. It is neither copied nor changed."""
        source = cls.__new__(cls)
        source.name = name
        source._map = None
        source.buffer = memoryview(data).cast("B").toreadonly()
        source.size = len(source.buffer)
        source.modified = None
        return source

    def cursor(
        self, allocate: Allocate = bytearray, most: int = MOST_AHEAD, *, sparse: bool = False
    ) -> Cursor:
        """Return a cursor; the arguments make no difference, as all bytes are in memory."""
        return WholeCursor(self.buffer)

    def data_from(self, position: int) -> int:
        """See ``Reading.data_from``."""
        if self._map is None:
            return position
        try:
            descriptor, status = _open(os.fspath(self.name or ""))
        except KafkaSpecError:
            return position
        try:
            same = (status.st_dev, status.st_ino) == self._identity
            return _data_from(descriptor, position, self.size) if same else position
        finally:
            os.close(descriptor)

    def check(self) -> None:
        """Check that the file is still as long as the mapping.

        Reading a page after the end of a file that became shorter kills the process; a check before
        each entry makes that very unlikely.

        Raises:
            CorruptError: ``changed``, the file became shorter since it was opened.
        """
        if self._map is None:
            return
        now = self._map.size()
        if now < self.size:
            raise make_error(
                Reason.CHANGED,
                f"the file had {self.size} bytes when it was opened and has {now} now",
                file=self.name,
                offset=now,
            )

    def close(self) -> None:
        """Release the mapping as soon as no view of it is in use."""
        self.buffer.release()
        if self._map is not None:
            try:
                self._map.close()
            except BufferError:  # views are in use; the last one unmaps it
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FileReading(Reading):
    """A local file that is read in parts."""

    def __init__(self, path: str | PathLike[str]) -> None:
        """Open a file."""
        self.name = os.fspath(path)
        self._lock = Lock()
        descriptor, status = _open(self.name)
        self._file = open(descriptor, "rb", buffering=0)  # noqa: SIM115
        self.size = status.st_size
        self.modified = status.st_mtime_ns // 1_000_000

    def read_into(self, position: int, target: memoryview) -> int:
        """See ``Reading.read_into``."""
        try:
            if sys.platform != "win32":
                return os.preadv(self._file.fileno(), [target], position)
            with self._lock:
                self._file.seek(position)
                return self._file.readinto(target) or 0
        except (OSError, ValueError) as error:
            raise unreadable(self.name, error) from None

    @property
    def descriptor(self) -> int | None:
        """See ``Reading``."""
        return None if sys.platform == "win32" or self._file.closed else self._file.fileno()

    def fileno(self) -> int:
        """Return the descriptor of the file."""
        return self._file.fileno()

    def data_from(self, position: int) -> int:
        """See ``Reading.data_from``."""
        with self._lock:
            return _data_from(self._file.fileno(), position, self.size)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def cloned(source: FileReading, target: IO[bytes]) -> bool:
    """Let an empty file share all blocks of another one, where the file system can do that.

    Kernel: ``ioctl_ficlone(2)``; XFS and Btrfs can, between files of the same file system.

    Args:
        source: the file with the bytes.
        target: the file to write.

    Returns:
        Whether it did; if not, nothing was written.
    """
    if fcntl is None or sys.platform != "linux":
        return False
    try:
        fcntl.ioctl(target.fileno(), _FICLONE, source.fileno())
    except OSError:
        return False
    return True


def copied(source: FileReading, position: int, size: int, target: IO[bytes]) -> bool:
    """Copy bytes of a file to the end of another one in the kernel, where the system can do that.

    Args:
        source: the file with the bytes.
        position: byte offset of the first one.
        size: number of bytes.
        target: the file to write.

    Returns:
        Whether it did; if not, nothing was written.
    """
    if not hasattr(os, "copy_file_range"):
        return False
    target.flush()
    start = done = 0
    try:
        start = os.lseek(target.fileno(), 0, os.SEEK_CUR)
        while done < size:
            count = os.copy_file_range(
                source.fileno(), target.fileno(), size - done, position + done
            )
            if not count:
                break
            done += count
    except OSError:
        pass
    if done < size:
        os.lseek(target.fileno(), start, os.SEEK_SET)
    return done == size


def file_size(path: str | PathLike[str]) -> int:
    """Return the size of a file in bytes."""
    try:
        return os.stat(path).st_size
    except OSError as error:
        raise unreadable(path, error) from None


def read_beside(path: str | PathLike[str]) -> Source:
    """Read a small file beside a log into memory: a regular file of ``SIDE_FILE_BYTES`` at most.

    Raises:
        KafkaSpecError: ``unreadable``; ``changed``, it became shorter meanwhile.
    """
    reading = path.reading() if isinstance(path, RemotePath) else FileReading(path)
    return _whole(reading, SIDE_FILE_BYTES)


def read_part(
    path: str | PathLike[str], position: int = 0, size: int | None = None, *, most: int
) -> bytes:
    """Read some bytes of a file.

    Args:
        path: the file, local or remote.
        position: byte offset of the first one.
        size: how many, as far as the file has them; None for all that are left.
        most: the largest number to read.

    Raises:
        KafkaSpecError: ``unreadable``; ``invalid_value``, the file has no such byte;
            ``too_large``, there are more than ``most``.
    """
    with closing(path.reading() if isinstance(path, RemotePath) else FileReading(path)) as file:
        left = file.size - position
        if left < 0:
            detail = f"byte {position} is not in the file, which has {file.size}"
            raise make_error(Reason.INVALID_VALUE, detail, file=file.name)
        wanted = left if size is None else min(size, left)
        if wanted > most:
            detail = (
                f"{wanted} bytes are too many, {most} the most; choose some (--position, --size)"
            )
            raise make_error(Reason.TOO_LARGE, detail, file=file.name)
        return bytes(file.read(position, wanted))


def _whole(reading: Reading, most: int) -> Source:
    with closing(reading):
        if reading.size > most:
            raise _too_large(reading.name, reading.size)
        return Source.of_buffer(reading.read(0, reading.size), reading.name)


def _too_large(name: str | None, size: int) -> KafkaSpecError:
    return unreadable(name, f"{size} bytes are more than a file of this kind has")


def open_source(path: str | PathLike[str], mapped: bool) -> Source | Reading:
    """Open a file: mapped, or in parts if it is remote, not to be mapped, or too large to map."""
    if isinstance(path, RemotePath):
        return path.reading()
    if not mapped or not _MAPS.get():
        return FileReading(path)
    try:
        return Source(path)
    except KafkaSpecError as error:
        cause = error.__context__
        if isinstance(cause, OSError) and cause.errno == errno.ENOMEM:
            return FileReading(path)
        raise


def _data_from(descriptor: int, position: int, size: int) -> int:
    """Return where the next data of a file is, after a hole if the file system says so."""
    if not hasattr(os, "SEEK_DATA"):
        return position
    try:
        return min(os.lseek(descriptor, position, os.SEEK_DATA), size)
    except OSError as error:
        return size if error.errno == errno.ENXIO else position  # nothing but a hole follows


def _open(name: str) -> tuple[int, os.stat_result]:
    """Open a regular file, and return its descriptor and status."""
    try:
        descriptor = os.open(name, _OPEN_FLAGS)
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise unreadable(name, "it is not a regular file")
    return descriptor, status
