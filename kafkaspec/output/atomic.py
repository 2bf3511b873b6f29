"""Outputs that are written under a temporary name and published when complete.

One rule for everything that writes: a run writes under a name that no other run has, publishes it
without replacing what it was not asked to replace, and removes nothing else.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO, Final, Self

from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names
from kafkaspec.output.leftovers import LOCK, hold, remove_leftovers

_ASIDE: Final = "-delete"
"""A broker removes partition directories whose names end like this."""
_PART: Final = ".part"
"""A temporary file ends like this, and begins with a dot."""
_KEPT: Final = 200
"""Characters of the target's name that a temporary name keeps; a name has at most 255."""
_IN_USE: Final = (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.EXDEV)
"""Errors of renaming a directory to one that is in use, or that is a mount point."""


class DirectoryAside:
    """A temporary directory beside its target.

    It lies in a directory that is named like a partition that a broker has begun to delete: if a
    crash leaves it in the log directory of a broker, the broker removes it when it starts. It lies
    inside a target that is a mount point, beside which is another file system, and inside the
    working directory, which must stay the same one.

    Args:
        target: path of the final directory. It may exist; see ``commit``.
        sync: whether to force files and directories to disk.

    Attributes:
        path: path of the temporary directory, which has the name of the target.

    Raises:
        KafkaSpecError: ``unreadable``: the directory cannot be created.
    """

    def __init__(self, target: str | PathLike[str], *, sync: bool = True) -> None:
        self.target = Path(os.path.realpath(target))
        within, name = _remove_leftovers(self.target)
        self._sync = sync
        self._made: list[Path] = []
        self._lock: IO[bytes] | None = None
        with writing(self.target):
            require_directory(within)
        try:
            with writing(self.target):
                self._lock = hold(lambda: self._begin(within, name))
                self.path.mkdir()
                if self.target.is_dir():
                    _copy_access(self.path, self.target)
        except BaseException:
            self.discard()
            raise

    def _begin(self, within: Path, name: str) -> Path:
        """Make a new temporary directory, and return the path of its lock."""
        self._holder = within / f"{name}.{uuid.uuid4().hex}{_ASIDE}"
        self.path = self._holder / self.target.name
        self._holder.mkdir()
        return self._holder / LOCK

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file, and create the directory in its name if needed."""
        path = self.path / name
        with writing(path):
            self._make(path.parent)
        put(path, data, sync=self._sync)

    @contextmanager
    def opened(self, name: str) -> Iterator[IO[bytes]]:
        """Open a new file to write it in parts, and create the directory in its name if needed."""
        path = self.path / name
        with writing(path):
            self._make(path.parent)
            with open(path, "xb") as file:
                yield file
                file.flush()
                self.force(file.fileno())

    def _make(self, directory: Path) -> None:
        if directory != self.path and not directory.exists():
            self._make(directory.parent)
            directory.mkdir()
            self._made.append(directory)

    def remove(self, name: str) -> None:
        """Remove a file that was written."""
        with writing(self.path / name):
            (self.path / name).unlink()

    def remove_directory(self, name: str) -> None:
        """Remove a directory with all that was written into it, if there is any."""
        path = self.path / name
        shutil.rmtree(path, ignore_errors=True)
        if path in self._made:
            self._made.remove(path)

    def concerns(self, error: KafkaSpecError) -> bool:
        """Return whether an error is about what is written here, and not about an input."""
        return error.file is not None and Path(error.file).is_relative_to(self.path)

    def force(self, descriptor: int) -> None:
        """Force an open file to disk, given its descriptor."""
        if self._sync:
            os.fsync(descriptor)

    def commit(self, order: Sequence[str] | None = None) -> None:
        """Publish the directory with one rename, if the target does not exist or is empty.

        Args:
            order: names to publish one by one, in this order, if the target has files already. None
                refuses such a target.

        Raises:
            KafkaSpecError: ``unreadable``: the target has files, or one of that name, or a rename
                fails. Then nothing is published.
        """
        with writing(self.target):
            for directory in (*self._made, self.path):
                force_directory(directory, sync=self._sync)
            try:
                os.rename(self.path, self.target)
            except OSError as error:
                if error.errno not in _IN_USE:
                    raise
                self._commit_each(order)
                force_directory(self.target, sync=self._sync)
            force_directory(self.target.parent, sync=self._sync)
        self.discard()

    def _commit_each(self, order: Sequence[str] | None) -> None:
        if order is None:
            require_new(self.target, besides=self._holder)
            order = sorted(os.listdir(self.path))
        done: list[str] = []
        try:
            for name in order:
                publish(self.path / name, self.target / name)
                done.append(name)
        except BaseException:
            for name in reversed(done):
                os.rename(self.target / name, self.path / name)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        """Publish the directory, or remove it after an error."""
        try:
            if kind is None:
                self.commit()
        finally:
            self.discard()

    def discard(self) -> None:
        """Remove what was written and not published."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()  # Windows and NFS keep files that are open
        shutil.rmtree(self._holder, ignore_errors=True)


def _remove_leftovers(target: Path, *, name_held: bool = True) -> tuple[Path, str]:
    """Remove what killed runs left of a directory.

    Return where its temporary directories are made, and how their names begin.
    """
    stays = os.path.ismount(target) or target == Path(os.path.realpath(os.curdir))
    within = target if stays else target.parent
    name = target.name[-_KEPT:]
    if names.parse_partition(name) is None:
        name += "-0"  # brokers refuse other names
    remove_leftovers(within, name, _ASIDE, target.name, name_held=name_held)
    return within, name


def require_directory(path: Path) -> None:
    """Refuse a place that is not a directory, by an ``OSError``."""
    if not path.exists():
        raise FileNotFoundError(
            errno.ENOENT, f"there is no directory {path}; make it first", os.fspath(path)
        )


def _copy_access(path: Path, other: Path) -> None:
    """Give a directory the mode of another, and its owner if the system allows it."""
    shutil.copymode(other, path)
    with suppress(OSError, LookupError):
        shutil.chown(path, other.stat().st_uid, other.stat().st_gid)


@contextmanager
def file_aside(path: str | PathLike[str], *, replace: bool) -> Iterator[IO[bytes]]:
    """Open a temporary file beside ``path``; publish it on success, remove it on an exception.

    Raises:
        FileExistsError: there is a file of that name, and it is not to be replaced.
        OSError: the file cannot be written, or what is there is no regular file: a device or a pipe
            is never replaced.
    """
    target = Path(os.path.realpath(path))
    name = f".{target.name[-_KEPT:]}"
    remove_leftovers(target.parent, name, _PART)
    require_directory(target.parent)
    if not replace and target.exists():
        raise _taken(target)
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(target))
    with hold(lambda: target.with_name(f"{name}.{uuid.uuid4().hex}{_PART}")) as file:
        aside = Path(file.name)
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if replace:
                os.replace(aside, target)
            else:
                publish(aside, target)
            force_directory(target.parent, sync=True)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise


def publish(source: Path, target: Path) -> None:
    """Give a file or directory its final name, and never replace a file.

    Raises:
        FileExistsError: there is a file of that name.
        OSError: the name cannot be given.
    """
    if not source.is_dir():
        try:
            os.link(source, target)  # where two do it at once, one fails
        except FileExistsError:
            raise _taken(target) from None
        except OSError:  # a file system without links
            if os.path.lexists(target):
                raise _taken(target) from None
        else:
            source.unlink()
            return
    os.rename(source, target)


def _taken(target: Path) -> FileExistsError:
    detail = f"file {target.name} exists already"
    return FileExistsError(errno.EEXIST, detail, os.fspath(target))


def require_new(target: Path, *, besides: Path | None = None) -> None:
    """Refuse an output directory that is in use.

    Args:
        target: path of the directory.
        besides: an entry that does not count.

    Raises:
        KafkaSpecError: ``unreadable``: it is not a directory, or not empty.
    """
    if besides is None:
        _remove_leftovers(Path(os.path.realpath(target)), name_held=False)
    with writing(target):
        if target.exists() and any(item != besides for item in target.iterdir()):
            raise cannot_write(target, "it exists already and is not an empty directory")


def put(path: Path, data: bytes, *, sync: bool) -> None:
    """Write a new file."""
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
    """Turn errors of the operating system into ``unreadable`` with their message and ``path``."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error.strerror or str(error)) from None


def cannot_write(path: str | PathLike[str], detail: str) -> KafkaSpecError:
    """Return the error for a path that cannot be written."""
    return make_error(Reason.UNREADABLE, f"it cannot be written: {detail}", file=os.fspath(path))
