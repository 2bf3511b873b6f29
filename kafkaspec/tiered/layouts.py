"""Names of objects of remote storage, and the segments that they belong to.

Kafka: ``RemoteLogSegmentFileset``, ``RemoteTopicPartitionDirectory`` of ``LocalTieredStorage``.
Aiven's plugin: ``ObjectKeyFactory``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final
from uuid import UUID

from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files import names
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.io.remote import is_directory
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.shown import some_of


class ObjectLayout(Enum):
    """Who wrote the objects."""

    LOCAL = "Kafka's LocalTieredStorage"
    """A directory for each partition; every file of a segment is a copy."""
    AIVEN = "Aiven's tiered storage"
    """A folder for each topic and partition; an object for the segment, one for all of its
    indexes, and a manifest."""


class Level(Enum):
    """The level of a directory in a remote storage."""

    ROOT = "topics"
    TOPIC = "partitions"
    PARTITION = "segments"


LOG: Final = ".log"
MANIFEST: Final = ".rsm-manifest"
INDEXES: Final = ".indexes"
LEADER_EPOCHS: Final = ".leader_epoch_checkpoint"

_OF_AIVEN: Final = (MANIFEST, INDEXES)
_OF_LOCAL: Final = (
    names.OFFSET_INDEX,
    names.TIME_INDEX,
    names.TRANSACTION_INDEX,
    names.PRODUCER_SNAPSHOT,
    LEADER_EPOCHS,
)
_ID: Final = r"([A-Za-z0-9_-]{22})"
_OBJECT: Final = re.compile(rf"([0-9]{{20}})-{_ID}(\.[a-z_-]+)")
_TOPIC: Final = re.compile(rf"(.+)-{_ID}", re.DOTALL)
_PARTITION: Final = re.compile(r"[0-9]{1,10}")
_LARGEST_PARTITION: Final = (1 << 31) - 1
_MOST_FOLDERS: Final = 200
"""Number of folders to look into for remote storage."""
_DEPTH: Final = 4


@dataclass(frozen=True, slots=True)
class ObjectName:
    """The parts of the name of an object: ``00000000000000000042-UgmvfPfTRLK0dtb2gyKmkg.log``."""

    start_offset: int
    segment_id: str
    suffix: str


@dataclass(slots=True)
class Objects:
    """The objects of a segment by suffix, and what their names say."""

    start_offset: int
    segment_id: str
    files: dict[str, Path] = field(default_factory=dict)

    def missing(self, layout: ObjectLayout) -> list[str]:
        """Return the suffixes of objects without which the segment cannot be read."""
        needed = (LOG, INDEXES, MANIFEST) if layout is ObjectLayout.AIVEN else (LOG,)
        return [suffix for suffix in needed if suffix not in self.files]


@dataclass(frozen=True, slots=True)
class ObjectPlace:
    """The directory of a partition, and who wrote it."""

    path: Path
    layout: ObjectLayout
    topic: str
    topic_id: UUID
    partition: int

    @property
    def name(self) -> str:
        """Name of the directory of a broker for it."""
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class FoundObjects:
    """Remote storage that was found: the directory that holds it, and what is in that."""

    path: Path
    layout: ObjectLayout
    level: Level


def parse_object(name: str) -> ObjectName | None:
    """Parse the name of an object; return None for any other name."""
    match = _OBJECT.fullmatch(name)
    if match is None or int(match[1]) > LARGEST_OFFSET:
        return None
    return ObjectName(int(match[1]), match[2], match[3])


def find(place: Path) -> FoundObjects | None:
    """Return the remote storage in a directory, or in the only folder of it that has some."""
    level, looked = [place], 0
    found = []
    for _ in range(_DEPTH):
        below = []
        for folder in level:
            children = _children(folder)
            looked += 1
            known = _recognized(folder, children)
            if known is not None:
                found.append(known)
            else:
                below += [child for child in children if is_directory(child)]
        level = below[: _MOST_FOLDERS - looked]
        if not level:
            break
    if len(found) > 1:
        paths = some_of([str(item.path) for item in found])
        detail = f"several folders in it have segments in remote storage: {paths}. Name one"
        raise unreadable(str(place), detail)
    return found[0] if found else None


def find_object(path: Path) -> tuple[FoundObjects, ObjectName] | None:
    """Return the remote storage that an object is in, and the parts of its name."""
    name = parse_object(path.name)
    if name is None:
        return None
    folder = _absolute(path).parent
    suffixes = [name.suffix]
    with suppress(OSError, KafkaSpecError):
        suffixes += [other.suffix for _, other in _named(folder.iterdir())]
    layout = _layout_of(folder, suffixes)
    return None if layout is None else (FoundObjects(folder, layout, Level.PARTITION), name)


def places(found: FoundObjects, only: str | None = None) -> list[ObjectPlace]:
    """Return the partitions of remote storage, or only ``topic-0``, by topic and number."""
    layout, level = found.layout, found.level
    if level is Level.PARTITION:
        folders = [found.path]
    elif layout is ObjectLayout.LOCAL or level is Level.TOPIC:
        folders = _folders(found.path)
    else:
        topics = ((folder, _topic_of(folder.name)) for folder in _folders(found.path))
        wanted = None if only is None else only.rpartition("-")[0]
        folders = [
            folder
            for place, topic in topics
            if topic is not None and wanted in (None, topic[0])
            for folder in _folders(place)
        ]
    known = filter(None, (_place(folder, layout) for folder in folders))
    chosen = [item for item in known if only in (None, item.name)]
    return sorted(chosen, key=lambda item: (item.topic, item.partition, str(item.path)))


def objects(place: ObjectPlace) -> tuple[list[Objects], list[Path]]:
    """Return the segments of a partition by offset, and what else is in its directory."""
    segments: dict[tuple[int, str], Objects] = {}
    others = []
    suffixes = (LOG, *(_OF_AIVEN if place.layout is ObjectLayout.AIVEN else _OF_LOCAL))
    for path in sorted(_listed(place.path)):
        name = parse_object(path.name)
        if name is None or name.suffix not in suffixes:
            others.append(path)
            continue
        key = (name.start_offset, name.segment_id)
        segments.setdefault(key, Objects(*key)).files[name.suffix] = path
    return [segments[key] for key in sorted(segments)], others


def stored(place: Path) -> Iterator[tuple[ObjectPlace, Objects | None, list[Path]]]:
    """Yield the segments in remote storage, and for each partition what else is there."""
    found = find(place)
    if found is None:
        folders, looked = [place], 0
        while folders and looked < _MOST_FOLDERS:
            looked += 1
            for child in _listed(folders.pop()):
                if not is_directory(child):
                    detail = "there are no segments in remote storage of a layout that is known"
                    raise unreadable(str(place), f"{detail}: {child}")
                folders.append(child)
        return
    for partition in places(found):
        groups, others = objects(partition)
        yield partition, None, others
        for group in groups:
            yield partition, group, []


def _recognized(folder: Path, children: list[Path]) -> FoundObjects | None:
    suffixes = [name.suffix for _, name in _named(children)]
    if suffixes:
        layout = _layout_of(_absolute(folder), suffixes)
        return None if layout is None else FoundObjects(folder, layout, Level.PARTITION)
    folders = [child for child in children if is_directory(child)]
    partitions = [child for child in folders if _is_number(child.name)]
    if partitions and _topic_of(_absolute(folder).name) and _holds(partitions):
        return FoundObjects(folder, ObjectLayout.AIVEN, Level.TOPIC)
    topics = [child for child in folders if _topic_of(child.name)]
    for child in topics[:_MOST_FOLDERS]:
        inner = _children(child)
        suffixes = [name.suffix for _, name in _named(inner)]
        if suffixes and _layout_of(child, suffixes) is ObjectLayout.LOCAL:
            return FoundObjects(folder, ObjectLayout.LOCAL, Level.ROOT)
        if _holds([item for item in inner if _is_number(item.name)]):
            return FoundObjects(folder, ObjectLayout.AIVEN, Level.ROOT)
    return None


def _holds(folders: list[Path]) -> bool:
    """Return whether there are objects in one of the first of some folders."""
    return any(next(_named(_children(folder)), None) is not None for folder in folders[:3])


def _layout_of(folder: Path, suffixes: list[str]) -> ObjectLayout | None:
    """Return who wrote a directory with objects, which also says which partition it is."""
    local, aiven = _place(folder, ObjectLayout.LOCAL), _place(folder, ObjectLayout.AIVEN)
    if aiven is not None and (local is None or any(each in _OF_AIVEN for each in suffixes)):
        return ObjectLayout.AIVEN
    return None if local is None else ObjectLayout.LOCAL


def _place(folder: Path, layout: ObjectLayout) -> ObjectPlace | None:
    """Return the partition that the name of a directory says."""
    place = _absolute(folder)
    if layout is ObjectLayout.AIVEN:
        topic, number = _topic_of(place.parent.name), place.name
    else:
        topic, number = _topic_of(place.name), ""
        if topic is not None:
            before, dash, number = topic[0].rpartition("-")
            topic = (before, topic[1]) if dash and before else None
    if topic is None or not _is_number(number):
        return None
    return ObjectPlace(folder, layout, topic[0], topic[1], int(number))


def _topic_of(name: str) -> tuple[str, UUID] | None:
    match = _TOPIC.fullmatch(name)
    topic_id = kafka_uuid.from_text(match[2]) if match else None
    return (match[1], topic_id) if match and topic_id is not None else None


def _is_number(name: str) -> bool:
    return _PARTITION.fullmatch(name) is not None and int(name) <= _LARGEST_PARTITION


def _absolute(path: Path) -> Path:
    return path.absolute()


def _named(paths: Iterable[Path]) -> Iterator[tuple[Path, ObjectName]]:
    for path in paths:
        name = parse_object(path.name)
        if name is not None:
            yield path, name


def _children(folder: Path) -> list[Path]:
    """Return what is in a directory; nothing if it cannot be listed."""
    try:
        return sorted(folder.iterdir())
    except (OSError, KafkaSpecError):
        return []


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise unreadable(str(folder), error) from None


def _folders(folder: Path) -> list[Path]:
    return sorted(item for item in _listed(folder) if is_directory(item))
