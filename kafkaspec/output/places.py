"""Outputs and the inputs that they must not touch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

from kafkaspec.files import names
from kafkaspec.output.atomic import cannot_write
from kafkaspec.shown import without_credentials

_Identity = tuple[int, int]


def check_output(output: str | PathLike[str], *inputs: Any) -> None:
    """Refuse an output that is, contains or is inside an input, also through links.

    Args:
        output: path or URL of a file or directory, which need not exist.
        inputs: paths, URLs, segments, partitions and log directories. What a directory links to is
            part of it. Buffers, and what does not exist, are part of nothing.

    Raises:
        KafkaSpecError: ``unreadable``.
    """
    if "://" in _plain(output):
        for item in inputs:
            _check_urls(_plain(output), item)
        return
    place = Path(os.path.realpath(_plain(output)))
    own = _identity(place)
    above = {_identity(item) for item in (place, *place.parents)} - {None}
    linked = own is not None and place.is_file() and place.stat().st_nlink > 1
    for item in inputs:
        given = _given(item)
        if given is None or "://" in given:
            continue
        for part in _parts(Path(given), files=linked):
            if _identity(part) in above:
                detail = f"it is inside {given}, which must not change"
            elif own is not None and own in map(_identity, part.parents):
                detail = f"it contains {given}, which must not change"
            elif place.parent == part.parent and _is_kafka_file(place.name):
                detail = f"it is named like a file of Kafka, beside {given}"
            else:
                continue
            raise cannot_write(output, detail)


def _given(item: Any) -> str | None:
    """Return the path or URL of an input, None for a buffer."""
    path = item if isinstance(item, str | PathLike) else getattr(item, "path", None)
    return None if path is None else _plain(path)


def _plain(path: str | PathLike[str]) -> str:
    """Return a path or URL, with ``file:`` URLs as paths."""
    scheme, separator, rest = os.fspath(path).partition("://")
    return f"/{rest.lstrip('/')}" if separator and scheme == "file" else os.fspath(path)


def _check_urls(output: str, item: Any) -> None:
    given = _given(item)
    if given is None or "://" not in given:
        return
    one, other = (f"{text.rstrip('/')}/" for text in (output, given))
    if one.startswith(other) or other.startswith(one):
        detail = f"it overlaps {without_credentials(given)}, which must not change"
        raise cannot_write(without_credentials(output), detail)


def _parts(given: Path, *, files: bool) -> Iterator[Path]:
    """Yield the real paths of an input and of all that links in it lead to.

    With ``files`` every file too, and those beside a file.
    """
    root = Path(os.path.realpath(given))
    yield root
    for entry in _entries(root):
        if files or entry.is_symlink():
            yield Path(os.path.realpath(entry.path))
        # A link in a circle is no directory, and is_dir of the entry would raise an error for it.
        below = os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()
        for inner in _entries(Path(entry.path)) if below else ():
            if files or inner.is_symlink():
                yield Path(os.path.realpath(inner.path))
    if files and root.is_file():
        for entry in _entries(root.parent):
            if _is_kafka_file(entry.name):
                yield Path(os.path.realpath(entry.path))


def _entries(directory: Path) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of a directory; nothing if it is not one or cannot be read."""
    with suppress(OSError), os.scandir(directory) as entries:
        yield from entries


def _is_kafka_file(name: str) -> bool:
    return names.is_log(name) or names.is_text(name) or names.parse_segment(name) is not None


def _identity(path: Path) -> _Identity | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
