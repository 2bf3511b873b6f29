"""The one rule that says what happened to a segment since ``verify`` read it."""

from __future__ import annotations

import os
from enum import StrEnum
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from kafkaspec.checksum import crc32c


class SegmentChange(StrEnum):
    """The state of a segment, compared with what is remembered of it. The list is closed."""

    UNCHANGED = "unchanged"
    """Size, time and inode are the same: it is not read again."""
    GROWN = "grown"
    """The same file is longer, and its last batch is where it was: only what follows is read."""
    NEW = "new"
    """Nothing is remembered of it."""
    TRUNCATED = "truncated"
    """The same file is shorter, as a follower leaves it."""
    REWRITTEN = "rewritten"
    """The same file was written to before its end."""
    CLEANED = "cleaned"
    """Another file that is smaller and not older, as the cleaner leaves it."""
    REPLACED = "replaced"
    """Another file that is not smaller and not older."""
    RESTORED = "restored"
    """A file that is older than the one that was read."""
    DELETED = "deleted"
    """It is gone."""
    INDEX = "index"
    """Its log is the same, but one of its indexes is another."""


class FileStamp(NamedTuple):
    """Size, time of the last change in ns, and inode, which tell whether a file has changed."""

    size: int
    modified: int
    inode: int


def stamp_of(path: str | PathLike[str]) -> FileStamp | None:
    """Return the stamp of a file; None if there is none, or it cannot be accessed."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return FileStamp(found.st_size, found.st_mtime_ns, found.st_ino)


def change_of(old: FileStamp | None, new: FileStamp | None) -> SegmentChange:
    """Return what happened to a file, by what was remembered of it and what is there."""
    if old == new:
        return SegmentChange.UNCHANGED
    if old is None:
        return SegmentChange.NEW
    if new is None:
        return SegmentChange.DELETED
    if new.modified < old.modified:
        return SegmentChange.RESTORED
    if new.inode != old.inode:
        return SegmentChange.CLEANED if new.size < old.size else SegmentChange.REPLACED
    if new.size == old.size:
        return SegmentChange.REWRITTEN
    return SegmentChange.GROWN if new.size > old.size else SegmentChange.TRUNCATED


class BytesCheck(NamedTuple):
    """A range of bytes of a file, and their CRC-32C."""

    start: int
    end: int
    crc: int

    @classmethod
    def of(cls, path: Path, start: int, end: int | None = None) -> BytesCheck:
        """Return that of a range; without an end, up to the zeros at the end of the file.

        Raises:
            OSError: it cannot be read.
        """
        with path.open("rb") as file:
            file.seek(start)
            data = file.read() if end is None else file.read(end - start)
        if end is None:
            data = data.rstrip(b"\0")
        return cls(start, start + len(data), crc32c(data))

    def holds(self, path: Path) -> bool:
        """Return whether the file still has these bytes there; more than it has are not read."""
        try:
            is_there = 0 <= self.start <= self.end <= path.stat().st_size
            return is_there and BytesCheck.of(path, self.start, self.end) == self
        except (OSError, ValueError):  # no file has such a name
            return False
