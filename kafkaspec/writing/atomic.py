"""Write a directory under a temporary name, and rename it when it is complete."""

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
"""A broker removes partition directories whose names end with this."""


class DirectoryAside:
    """A temporary directory beside its target.

    It is named like a partition that a broker has begun to delete: if a crash leaves it in the log
    directory of a broker, the broker removes it when it starts.

    Args:
        target: path of the final directory. It may exist; see ``commit``.
        sync: whether to force files and directories to disk.

    Attributes:
        path: path of the temporary directory.

    Raises:
        KafkaSpecError: ``unreadable``: the directory cannot be created.
    """

    def __init__(self, target: str | PathLike[str], *, sync: bool = True) -> None:
        self.target = Path(os.path.abspath(target))
        self.path = self.target.with_name(f"{self.target.name}.{uuid.uuid4().hex}{_ASIDE}")
        self._sync = sync
        self._made: list[Path] = []
        with writing(self.target):
            self.path.mkdir()

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file, and create the directory in its name if needed.

        Args:
            name: path of the file below the directory.
            data: content of the file.

        Raises:
            KafkaSpecError: ``unreadable``: the file cannot be written.
        """
        path = self.path / name
        with writing(path):
            if path.parent != self.path and not path.parent.exists():
                path.parent.mkdir()
                self._made.append(path.parent)
        put(path, data, sync=self._sync)

    def remove(self, name: str) -> None:
        """Remove a file that was written.

        Raises:
            KafkaSpecError: ``unreadable``: the file cannot be removed.
        """
        with writing(self.path / name):
            (self.path / name).unlink()

    def force(self, descriptor: int) -> None:
        """Force an open file to disk, given its descriptor."""
        if self._sync:
            os.fsync(descriptor)

    def commit(self, order: list[str]) -> None:
        """Give all files their final names.

        If the target does not exist or is empty, this is one rename. Otherwise each file is renamed
        by itself, in the given order.

        Args:
            order: names of all files.

        Raises:
            KafkaSpecError: ``unreadable``: a file of that name exists, or a rename fails.
        """
        with writing(self.target):
            for directory in (*self._made, self.path):
                force_directory(directory, sync=self._sync)
            if not self.target.exists() or not any(self.target.iterdir()):
                os.rename(self.path, self.target)
            else:
                taken = [name for name in order if (self.target / name).exists()]
                if taken:
                    raise cannot_write(self.target, f"file {taken[0]} exists already")
                for name in order:
                    os.rename(self.path / name, self.target / name)
                force_directory(self.target, sync=self._sync)
                self.path.rmdir()
            force_directory(self.target.parent, sync=self._sync)

    def discard(self) -> None:
        """Remove what was written."""
        shutil.rmtree(self.path, ignore_errors=True)


def put(path: Path, data: bytes, *, sync: bool) -> None:
    """Write a new file.

    Args:
        path: path of the file, which must not exist.
        data: content of the file.
        sync: whether to force the file to disk.

    Raises:
        KafkaSpecError: ``unreadable``: the file cannot be written.
    """
    with writing(path), open(path, "xb") as file:
        file.write(data)
        file.flush()
        if sync:
            os.fsync(file.fileno())


def force_directory(path: Path, *, sync: bool) -> None:
    """Force the names in a directory to disk if ``sync`` is set."""
    if not sync or os.name == "nt":  # Windows cannot open directories
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into errors of kafkaspec.

    Args:
        path: path to name in the error.

    Raises:
        KafkaSpecError: ``unreadable``, with the message of the operating system.
    """
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error.strerror or str(error)) from None


def cannot_write(path: Path, detail: str) -> KafkaSpecError:
    """Return the error for a path that cannot be written."""
    return make_error(Reason.UNREADABLE, f"it cannot be written: {detail}", file=os.fspath(path))
