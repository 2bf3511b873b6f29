"""From paths to segments: files, partition and log directories, globs, URLs."""

from __future__ import annotations

import glob
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names
from kafkaspec.files.checkpoints.log_directory import Checkpoints, PartitionOffsets
from kafkaspec.io.remote import as_path, is_mounted
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.listed import SegmentFile, TopicLog
from kafkaspec.log.missing import passed_over
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.output.places import check_output
from kafkaspec.tiered.mount import mounted

LOGGER: Final = logging.getLogger("kafkaspec.spark")

_GLOB: Final = frozenset("*?[")
_STORE: Final = re.compile(r"s3[an](?=://)")
_FILE: Final = re.compile(r"file:(?://(?:localhost)?(?=/))?(?=/(?!/))")
"""Forms of Hadoop that Python's file systems write differently."""


def plain(text: str) -> str:
    """Return a path or URL of Hadoop as Python's file systems write it.

    ``file:`` is a local path, ``s3a`` is ``s3``. A percent sign stands for itself, as in Hadoop's
    class ``Path``.
    """
    return _begin(_FILE, "", _begin(_STORE, "s3", text))


def _begin(pattern: re.Pattern[str], replacement: str, text: str) -> str:
    found = pattern.match(text)
    return text if found is None else replacement + text[found.end() :]


def local(text: str) -> str | None:
    """Return the local path that a path or URL means; None if it is somewhere else."""
    text = plain(text)
    return None if "://" in text else text


def find_logs(paths: str | Iterable[str], *, log_start: bool = True) -> list[TopicLog]:
    """Return the logs under a path or several, each once, by topic and partition."""
    found: dict[str, TopicLog] = {}
    for path in [paths] if isinstance(paths, str) else paths:
        for log in _matching(path, found):
            known = found.get(str(log.directory))
            found[str(log.directory)] = log if known is None else _joined(known, log)
    logs = sorted(found.values(), key=_order)
    if log_start:
        parents = [log.directory.absolute().parent for log in logs]
        listed = {parent: _log_starts(parent) for parent in set(parents)}
        logs = [_from_start(log, listed[parent]) for log, parent in zip(logs, parents, strict=True)]
    for log in logs:
        log.opened.log_start_offset = log.first_offset
        log.opened.is_fresh = True
    return logs


def _log_starts(directory: Path) -> PartitionOffsets:
    try:
        return Checkpoints(directory).log_start_offsets
    except KafkaSpecError:  # the beginning of the segments counts, as for a broker
        return {}


def _from_start(log: TopicLog, listed: PartitionOffsets) -> TopicLog:
    start = listed.get((log.topic or "", -1 if log.partition is None else log.partition))
    return log if start is None or start <= log.first_offset else replace(log, start_offset=start)


def _order(log: TopicLog) -> tuple[str, int, str]:
    number = -1 if log.partition is None else log.partition
    return log.topic or "", number, str(log.directory)


def _joined(one: TopicLog, other: TopicLog) -> TopicLog:
    segments = {str(item.path): item for item in (*one.segments, *other.segments)}
    ordered = sorted(segments.values(), key=lambda item: (item.base_offset or 0, str(item.path)))
    return TopicLog(one.opened, tuple(ordered))


def check_place(output: str, paths: str | Iterable[str]) -> None:
    """Refuse an output that is, contains or is inside one of the paths that are read."""
    given = [plain(text) for text in ([paths] if isinstance(paths, str) else paths)]
    check_output(plain(output), *(match for text in given for match in _matches(text)))


def check_there(paths: Iterable[str]) -> None:
    """Refuse paths at which there is nothing, and globs that match nothing."""
    for text in map(plain, paths):
        if not _GLOB & set(text):
            if not as_path(text).exists():
                detail = "there is nothing here; make the directory first, or correct the path"
                raise make_error(Reason.UNREADABLE, detail, file=text)
        elif not _matches(text):
            raise _no_match(text)


def _no_match(text: str) -> KafkaSpecError:
    return make_error(Reason.UNREADABLE, "nothing matches this pattern", file=text)


def _matches(text: str) -> list[str]:
    return sorted(_glob(text)) if _GLOB & set(text) else [text]


def _matching(text: str, known: Mapping[str, TopicLog]) -> Iterator[TopicLog]:
    text = plain(text)
    if not _GLOB & set(text):
        yield from _logs(as_path(text), known)
        return
    matches = _matches(text)
    if not matches:
        raise _no_match(text)
    other = 0
    for match in matches:
        path = as_path(match)
        name = names.parse_partition(path.name)
        if name is not None and name.state and path.is_dir():
            _log_once(f"{path}: left out: {names.copy_text(name.state)}")
        elif path.is_dir() or names.is_log(path.name):
            yield from _logs(path, known)
        else:
            other += 1
    if other:
        LOGGER.info("%d of %d matches of %s are not segments", other, len(matches), text)


def _glob(text: str) -> list[str]:
    if "://" not in text:
        return glob.glob(text, recursive=True)
    try:
        from fsspec.core import url_to_fs

        files, pattern = url_to_fs(text)
        return [str(files.unstrip_protocol(item)) for item in files.glob(pattern)]
    except Exception as error:  # each file system has errors of its own
        raise make_error(Reason.UNREADABLE, str(error), file=text) from error


def _logs(path: Path, known: Mapping[str, TopicLog]) -> Iterator[TopicLog]:
    if not path.is_dir():
        open_log(path).close()  # refuses what is not a log
        shown = mounted(path) or path
        if shown.is_dir():  # of a list of coordinates
            yield from _logs(shown, known)
        else:
            yield _single(shown, known)
        return
    partition = Partition(path, mapped=False)
    if not partition.segment_paths:
        directory = None if partition.topic is not None else LogDirectory(path, mapped=False)
        if directory is None or not any(item.segment_paths for item in directory.readable):
            tiered = None if is_mounted(path) else mounted(path)
            if tiered is not None:
                yield from _logs(tiered, known)
                return
        if directory is not None:
            yield from _partitions(directory)
            return
    yield _whole(partition)


def _partitions(directory: LogDirectory) -> Iterator[TopicLog]:
    for item in passed_over(directory):
        _log_once(str(item))
    for error in directory.unreadable.values():
        raise error
    for partition in directory.current:
        yield _whole(partition)


@lru_cache(maxsize=1024)
def _log_once(text: str) -> None:
    """Log what is left out the first time: a stream lists directories again and again."""
    LOGGER.warning("%s", text)


def _whole(partition: Partition) -> TopicLog:
    """Return all segments of a partition directory."""
    paths, bases = partition.segment_paths, partition.base_offsets
    if paths:
        _refuse_old(paths[0])
    return TopicLog(partition, tuple(map(SegmentFile, paths, bases, [*bases[1:], None])))


def _refuse_old(path: Path) -> None:
    """Refuse segments that are not read in pieces."""
    name = names.parse_segment(path.name)
    if name is not None and name.kind == names.MESSAGE_SET:
        detail = "segments of Kafka 0.7 are not read here; convert them first"
        raise make_error(Reason.UNREADABLE, detail, file=str(path))


def _single(path: Path, known: Mapping[str, TopicLog]) -> TopicLog:
    """Return one segment, in its partition if that is not known yet."""
    _refuse_old(path)
    directory = path.absolute().parent
    log = known.get(str(directory))
    name = names.parse_segment(path.name)
    base = name.base_offset if name is not None and name.kind == names.LOG else None
    opened = Partition(directory, mapped=False) if log is None else log.opened
    return TopicLog(opened, (SegmentFile(path, base),))
