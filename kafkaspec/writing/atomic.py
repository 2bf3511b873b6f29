"""A directory that is written aside and appears under its name all at once, or never."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Final

from kafkaspec.errors import KafkaSpecError, Reason, make_error

_ASIDE: Final = "-delete"
"""A broker takes a partition directory of such a name for one that it is to remove, and does."""


class DirectoryAside:
    """A directory in the making, beside the place where it is to be.

    Its name is that of a partition that a broker has begun to delete: one that a crash leaves in
    the log directory of a broker is cleared away when that starts.

    Args:
        target: path of the directory to be. It may exist; ``commit`` says what happens then.
        sync: whether files and directories are forced to disk.

    Attributes:
        path: where to write.

    Raises:
        KafkaSpecError: ``unreadable``: it cannot be made.
    """

    def __init__(self, target: str | PathLike[str], *, sync: bool = True) -> None:
        self.target = Path(os.path.abspath(target))
        self.path = self.target.with_name(f"{self.target.name}.{uuid.uuid4().hex}{_ASIDE}")
        self._sync = sync
        self._made: list[Path] = []
        with writing(self.target):
            self.path.mkdir()

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file; directories in front of its name are made.

        Raises:
            KafkaSpecError: ``unreadable``: it cannot be written.
        """
        path = self.path / name
        with writing(path):
            if path.parent != self.path and not path.parent.exists():
                path.parent.mkdir()
                self._made.append(path.parent)
            with open(path, "xb") as file:
                file.write(data)
                file.flush()
                self.force(file.fileno())

    def remove(self, name: str) -> None:
        """Remove a file that was written."""
        with writing(self.path / name):
            (self.path / name).unlink()

    def force(self, descriptor: int) -> None:
        """Have the operating system bring a file to disk."""
        if self._sync:
            os.fsync(descriptor)

    def commit(self, order: list[str]) -> None:
        """Give all files their final names.

        Where there is no directory yet, or an empty one, that is one rename. In one that holds
        other files, each file is renamed by itself, in the given order.

        Args:
            order: names of all files.

        Raises:
            KafkaSpecError: ``unreadable``: a name is taken, or cannot be given.
        """
        with writing(self.target):
            for directory in (*self._made, self.path):
                self._force_directory(directory)
            if not self.target.exists() or not any(self.target.iterdir()):
                os.rename(self.path, self.target)
            else:
                taken = [name for name in order if (self.target / name).exists()]
                if taken:
                    raise cannot_write(self.target, f"there is a file {taken[0]} already")
                for name in order:
                    os.rename(self.path / name, self.target / name)
                self._force_directory(self.target)
                self.path.rmdir()
            self._force_directory(self.target.parent)

    def discard(self) -> None:
        """Remove what was written."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _force_directory(self, path: Path) -> None:
        if not self._sync or os.name == "nt":  # Windows opens no directories
            return
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into ours.

    Raises:
        KafkaSpecError: ``unreadable``, with what the operating system says.
    """
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error.strerror or str(error)) from None


def cannot_write(path: Path, detail: str) -> KafkaSpecError:
    """The error about a place that cannot be written."""
    return make_error(Reason.UNREADABLE, f"it cannot be written: {detail}", file=os.fspath(path))
