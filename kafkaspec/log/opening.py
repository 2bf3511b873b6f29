"""Open the log at a path."""

from __future__ import annotations

import os
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files import names
from kafkaspec.io.remote import TIERED, as_path, is_directory, is_mounted, remote_path
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.options import SegmentOptions
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.options import checked
from kafkaspec.provider import provider
from kafkaspec.shown import some_of

if TYPE_CHECKING:
    from kafkaspec.tiered.keys import Keys

_MOST_FOLDERS = 1000
"""Number of folders to look into for logs."""


@checked
def open(  # noqa: A001  # its public name
    path: str | PathLike[str],
    *,
    filesystem: Any = None,
    keys: Keys | None = None,
    **options: Unpack[SegmentOptions],
) -> Segment | Partition | LogDirectory:
    """Open a segment, a partition directory or a whole log directory.

    Args:
        path: a ``.log``, ``.checkpoint`` or, of Kafka 0.7, ``.kafka`` file (also one under another
            name, if it starts with a log entry), a directory of them, or a directory of partition
            directories. A URL of any of these too: it is read in ranges. Or segments in remote
            storage (tiered storage), of Kafka's ``LocalTieredStorage`` or Aiven's plugin: all of
            it, a partition or an object.
        filesystem: a file system of fsspec or ``pyarrow.fs``, for a path in it or a URL that
            needs credentials.
        keys: files with the private keys (PEM) of encrypted segments in remote storage, or such
            files by the ids of the keys; by default those that ``KAFKASPEC_TIERED_KEYS`` names.
        options: ``codec``, ``crc``, ``tail``, ``max_output``, ``mapped``, ``log_format``, as
            ``Segment`` takes them.

    Raises:
        KafkaSpecError: ``unreadable``: the path does not exist, or is none of these.
    """
    text = os.fspath(path)
    place = as_path(path) if filesystem is None else cast(Path, remote_path(text, filesystem))
    try:
        place.stat()
    except FileNotFoundError:
        raise unreadable(text, "there is no such file or directory") from None
    except OSError as error:
        raise unreadable(text, error) from None
    if options.get("log_format") is not None:
        check_is_file(place)
        return _unnamed(place, text, options)
    if not (is_mounted(place) or place.is_dir() or names.is_log(place.name)):
        place = provider(TIERED).mounted(place, keys) or place
    if not place.is_dir():
        return _file(place, text, options)
    return _directory(place, text, options, keys)


open_log = open


def _directory(
    place: Path, text: str, options: SegmentOptions, keys: Keys | None
) -> Partition | LogDirectory:
    partition = Partition(place, **options)
    if partition.segment_paths:
        return partition
    directory = LogDirectory(place, **options)
    found = any(item.segment_paths or item.checkpoint_paths for item in directory.readable)
    if found or (directory.unreadable and not partition.checkpoint_paths):
        return directory  # of a KRaft node perhaps, with a bootstrap.checkpoint of its own
    if partition.checkpoint_paths:
        return partition
    if not is_mounted(place):
        tiered = provider(TIERED).mounted(place, keys)
        if tiered is not None:
            return _directory(tiered, text, options, keys)
    detail = (
        "the directory holds neither segments (.log, or .kafka of 0.7) nor partition directories"
    )
    raise unreadable(text, detail + (logs_below(place) or provider("foreign").found_below(place)))


def logs_below(place: Path) -> str:
    """Return a hint that names the nearest folders below a directory that hold logs, or ""."""
    level, looked = [place], 0
    while level and looked < _MOST_FOLDERS:
        below = []
        for parent in level:
            with suppress(OSError, KafkaSpecError):
                below += sorted(item for item in parent.iterdir() if is_directory(item))
        below = below[: _MOST_FOLDERS - looked]
        looked += len(below)
        found = [str(item)[len(str(place)) :].strip("/\\") for item in below if _holds_logs(item)]
        if found:
            return f", but folders in it do: {some_of(found)}. Name them one by one"
        level = below if isinstance(place, Path) else []
    return ""


def _holds_logs(place: Path) -> bool:
    try:
        return bool(LogDirectory(place).readable or Partition(place).segment_paths)
    except (KafkaSpecError, OSError):
        return False


def _file(place: Path, text: str, options: SegmentOptions) -> Segment:
    if names.is_log(place.name):
        return Segment(place, **options)
    sidecar = names.parse_segment(place.name)
    if sidecar is not None:
        raise unreadable(text, f"it is {sidecar.words}; open the {names.LOG} file beside it")
    if names.is_text(place.name):
        raise unreadable(text, "it is a text file, which dump and kafkaspec.files.checkpoints read")
    return _unnamed(place, text, options)


def check_is_file(place: Path) -> None:
    """Check a path that is to be read as a file of the specification.

    Raises:
        KafkaSpecError: ``unreadable``: it is a directory.
    """
    if place.is_dir():
        raise unreadable(str(place), "it is a directory; a type of the specification reads a file")


def _unnamed(place: Path, text: str, options: SegmentOptions) -> Segment:
    """Open a file whose name does not say what it is."""
    segment = Segment(place, **options)
    try:
        segment.check_header()
        segment.batch_at(segment.first)
    except KafkaSpecError as error:
        segment.close()
        other = provider("foreign").what_it_is(place)
        detail = f"it is {other}" if other else f"it is not a Kafka log segment: {error.detail}"
        raise unreadable(text, detail) from error
    return segment
