"""Files that are read and not mapped: where the address space is small, or a fault must not be."""

from __future__ import annotations

import errno
import os
import stat
from os import PathLike
from threading import Lock

from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.remote import RemotePath
from kafkaspec.log.source import Source, unreadable
from kafkaspec.log.window import Reading


class FileReading(Reading):
    """A local file, read where it is needed.

    Attributes: as ``Reading``.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Open a file.

        Raises:
            KafkaSpecError: ``unreadable``, with what the operating system says.
        """
        self.name = os.fspath(path)
        self._lock = Lock()
        try:
            # O_NONBLOCK: opening a named pipe would wait for a writer.
            flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
            self._file = open(os.open(self.name, flags), "rb", buffering=0)  # noqa: SIM115
            status = os.fstat(self._file.fileno())
        except OSError as error:
            raise unreadable(self.name, error.strerror or str(error)) from None
        if not stat.S_ISREG(status.st_mode):
            self._file.close()
            raise unreadable(self.name, "it is not a regular file")
        self.size = status.st_size
        self.modified = status.st_mtime_ns // 1_000_000

    def read_into(self, position: int, target: memoryview) -> int:
        """See ``Reading.read_into``."""
        try:
            if hasattr(os, "preadv"):
                return os.preadv(self._file.fileno(), [target], position)
            with self._lock:
                self._file.seek(position)
                return self._file.readinto(target) or 0
        except (OSError, ValueError) as error:
            detail = getattr(error, "strerror", None) or str(error)
            raise unreadable(self.name, detail) from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def open_source(path: str | PathLike[str], mapped: bool) -> Source | Reading:
    """A file mapped; read in parts behind a URL, if asked for, or if there is no room to map it.

    Raises:
        KafkaSpecError: ``unreadable``.
    """
    if isinstance(path, RemotePath):
        return path.reading()
    if not mapped:
        return FileReading(path)
    try:
        return Source(path)
    except KafkaSpecError as error:
        cause = error.__context__
        if isinstance(cause, OSError) and cause.errno == errno.ENOMEM:
            return FileReading(path)
        raise
