"""Segments in remote storage as a file system of fsspec, for whatever opens files with it.

Only fsspec imports this module, by its entry point. URLs are those that output shows,
``tiered:///remote!/topic-0/00000000000000000042.log``, or chained as fsspec has it:
``tiered://topic-0/00000000000000000042.log::s3://bucket/remote``.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, cast

import fsspec
from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from kafkaspec.errors import unreadable
from kafkaspec.io.remote import TIERED, RemotePath, as_path, remote_path
from kafkaspec.tiered.keys import Keys
from kafkaspec.tiered.mount import MARK, mounted, open_url
from kafkaspec.tiered.objects import reading_of

_MOST_KEPT: Final = 16
"""Files whose decoded chunks are kept, and places that were opened."""


class TieredFileSystem(AbstractFileSystem):  # type: ignore[misc]  # it has no annotations
    """The files of a log directory in remote storage, decrypted and decompressed; read-only."""

    protocol = TIERED

    def __init__(
        self,
        fo: str = "",
        target_protocol: str | None = None,
        target_options: Mapping[str, Any] | None = None,
        keys: Keys | None = None,
        **options: Any,
    ) -> None:
        """Open remote storage.

        Args:
            fo: its path or URL, from which all paths are. Without it, a path begins with that of
                its remote storage and ``!``.
            target_protocol: the file system that it is in, if that is not local.
            target_options: options of that file system.
            keys: files with private keys (PEM) of encrypted segments, or such files by the ids of
                the keys; by default those that ``KAFKASPEC_TIERED_KEYS`` names.
            options: of fsspec.

        Raises:
            KafkaSpecError: ``unreadable``: there are no segments in remote storage.
        """
        super().__init__(**options)
        self._keys = keys
        self._opened = lru_cache(_MOST_KEPT)(lambda path: reading_of(self._file(path)))
        self._known = lru_cache(_MOST_KEPT)(self._root_of)
        self._store: Path | None = as_path(fo) if fo else None
        if fo and target_protocol not in (None, "file", "local"):
            files = fsspec.filesystem(target_protocol, **(target_options or {}))
            self._store = cast(Path, remote_path(fo, files))
        if fo:
            self._known("")  # an error comes now

    def info(self, path: str, **_options: Any) -> dict[str, Any]:
        """Return the name, the type, the size and the last change of a file or directory."""
        return self._info(self._at(path), sized=True)

    def ls(self, path: str, detail: bool = True, **_options: Any) -> list[Any]:
        """Return what is in a directory, without sizes, for which manifests would be read."""
        place = self._at(path)
        if not place.exists():
            raise FileNotFoundError(path)
        folder = place.is_dir()
        listed = [
            self._info(each, sized=not folder)
            for each in (sorted(place.iterdir()) if folder else [place])
        ]
        return listed if detail else [each["name"] for each in listed]

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_options: Any
    ) -> bytes:
        """Return a file, or the bytes from one offset to another; negative ones are from its end.

        Raises:
            KafkaSpecError: its object cannot be read, or is not as its manifest says.
        """
        reading = self._opened(self._strip_protocol(path))
        first, last, _ = slice(start, end).indices(reading.size)
        return bytes(reading.read(first, max(last - first, 0)))

    def modified(self, path: str) -> datetime:
        """Return when the object of a file was written last; DuckDB asks for that."""
        return datetime.fromtimestamp(self._file(path).stat().st_mtime, UTC)

    def _refuse(self, path: str, *_arguments: Any, **_options: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    mkdir = makedirs = rmdir = rm = rm_file = cp_file = mv = _refuse

    def invalidate_cache(self, path: str | None = None) -> None:
        """Forget what is known of the files."""
        self._opened.cache_clear()
        self._known.cache_clear()
        super().invalidate_cache(path)

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        if mode != "rb":
            self._refuse(path)
        options["size"] = self._opened(path).size
        return AbstractBufferedFile(self, path, mode, **options)

    def _info(self, place: RemotePath, *, sized: bool) -> dict[str, Any]:
        if self._store is None:
            name = place.url.removeprefix(f"{TIERED}://")
        else:
            name = place.url.removeprefix(self._known("").url).strip("/")
        if place.is_dir():
            return {"name": name, "size": 0, "type": "directory"}
        if not sized:
            return {"name": name, "size": None, "type": "file"}
        status = place.stat()
        return {"name": name, "size": status.st_size, "type": "file", "mtime": status.st_mtime}

    def _file(self, path: str) -> Path:
        place = self._at(path)
        if not place.is_file():
            raise FileNotFoundError(path)
        return cast(Path, place)

    def _at(self, path: str) -> RemotePath:
        path, before = self._strip_protocol(path), ""
        if self._store is None:
            before, mark, path = path.rpartition(MARK)
            if not mark:
                return self._mounted(as_path(path))
        place = self._known(before)
        for part in path.split("/"):
            place = place / part if part else place
        return place

    def _root_of(self, before: str) -> RemotePath:
        if self._store is not None:
            return self._mounted(self._store)
        if self._keys is None:  # whoever opened it may have given some
            return cast(RemotePath, open_url(before + MARK)[0].root)
        return cast(RemotePath, cast(Any, self._mounted(as_path(before)).files).root)

    def _mounted(self, place: Path) -> RemotePath:
        found = mounted(place, self._keys)
        if found is None:
            raise unreadable(str(place), "there are no segments in remote storage")
        return cast(RemotePath, found)
