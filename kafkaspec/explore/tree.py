"""The files that the explorer may read: Kafka's, under one path, through no link."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Self

from kafkaspec.errors import unreadable
from kafkaspec.files.names import CHECKPOINT, SEGMENTS, SIDECARS, STATES, is_text, parse_segment

KINDS: Final = (*SEGMENTS, *SIDECARS, CHECKPOINT)
DEEPEST: Final = 3
"""Folders from a log directory to its files, and one more for a folder of log directories."""
MOST: Final = 100_000
"""Files of a list: more than a page is of use for."""

# O_NONBLOCK: a named pipe would wait for a writer. Windows has neither it nor the others.
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE: Final = _FLAGS | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_FOLDER: Final = _FLAGS | getattr(os, "O_DIRECTORY", 0)
_STEPS: Final = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")


def is_shown(name: str) -> bool:
    """Return whether a file of this name is one of Kafka's that the explorer shows."""
    for state in STATES:
        name = name.removesuffix(state)
    return name.endswith(KINDS) or is_text(name)


@dataclass(frozen=True)
class Entry:
    """A file of the list: its parts below the root, size, and time in milliseconds."""

    parts: tuple[str, ...]
    size: int
    modified: int


@dataclass(frozen=True)
class Tree:
    """Files under a folder: all of Kafka's, or those with one of some names, if there are names."""

    root: Path
    names: frozenset[str] | None = None

    @classmethod
    def of(cls, path: Path) -> Self:
        """Return the tree of a folder, or of a file and those of the same segment beside it.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        try:
            real = path.resolve(strict=True)
            kind = real.stat().st_mode
        except (OSError, RuntimeError) as error:
            raise unreadable(path, error) from error
        if stat.S_ISDIR(kind):
            return cls(real)
        if not stat.S_ISREG(kind):
            raise unreadable(path, "it is neither a file nor a directory")
        segment = parse_segment(real.name)
        beside = () if segment is None else map(segment.sibling, KINDS[:-1])
        return cls(real.parent, frozenset((real.name, *beside)))

    def entries(self) -> tuple[list[Entry], bool]:
        """Return the files in order of their names, and whether there are more than ``MOST``."""
        found = list(islice(self._walk(self.root, ()), MOST + 1))
        return sorted(found[:MOST], key=lambda entry: entry.parts), len(found) > MOST

    def _walk(self, folder: Path, parts: tuple[str, ...]) -> Iterator[Entry]:
        try:
            with os.scandir(folder) as scanned:
                items = sorted(scanned, key=lambda item: item.name)
        except OSError:  # not for us to read, or gone
            return
        for item in items:
            place = (*parts, item.name)
            try:
                if item.is_file(follow_symlinks=False) and self._has(place):
                    status = item.stat(follow_symlinks=False)
                    yield Entry(place, status.st_size, status.st_mtime_ns // 1_000_000)
                elif item.is_dir(follow_symlinks=False) and self._enters(place):
                    yield from self._walk(folder / item.name, place)
            except OSError:
                continue

    def _has(self, parts: tuple[str, ...]) -> bool:
        if self.names is not None:
            return len(parts) == 1 and parts[0] in self.names
        return is_shown(parts[-1])

    def _enters(self, parts: tuple[str, ...]) -> bool:
        return self.names is None and len(parts) <= DEEPEST

    def open(self, parts: tuple[str, ...]) -> int | None:
        """Open one of the files for reading, by no link; None if it is not one of them."""
        if not parts or not all(map(_is_name, parts)):
            return None
        if not self._has(parts) or (len(parts) > 1 and not self._enters(parts[:-1])):
            return None
        try:
            if _STEPS:
                file = self._by_steps(parts)
            else:  # a system that opens nothing relative to a folder
                path = self.root.joinpath(*parts)
                if path.resolve(strict=True) != path:
                    return None
                file = os.open(path, _FILE)
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            return None
        return file

    def _by_steps(self, parts: tuple[str, ...]) -> int:
        """Open each folder in the one before it: links that are put there meanwhile do nothing."""
        folder = os.open(self.root, _FOLDER)
        try:
            for name in parts[:-1]:
                inner = os.open(name, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            return os.open(parts[-1], _FILE, dir_fd=folder)
        finally:
            os.close(folder)


def _is_name(part: str) -> bool:
    """Return whether a part of an address is the name of one entry of a folder."""
    separators = {"/", os.sep, os.altsep, "\0", *(":" if os.name == "nt" else "")}
    return part not in ("", ".", "..") and not any(one and one in part for one in separators)
