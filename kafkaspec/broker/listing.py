"""List the files of a partition that a broker loads, once it has removed and renamed its leftovers.

Kafka: ``LogLoader.removeTempFilesAndCollectSwapFiles``, ``LogLoader.load``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kafkaspec.broker.loading import LoadedSegment
from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files import names

_DELETED, _CLEANED, _SWAP = names.STATES
_INDEXES: Final = (*names.INDEXES, names.TRANSACTION_INDEX)


@dataclass
class LoaderFiles:
    """The files of a partition directory as the loader meets them.

    Attributes:
        present: files by the names that they have when segments are loaded.
        replaced: segments that a merged one takes the place of, by name.
        unreadable: files that the broker cannot read if it has no more rights.
        without_number: files whose names end like those of Kafka's, and begin with no offset.
        leftovers: files that the broker deletes: it was deleting or writing them.
        promoted: files that the broker had written, and renames.
        orphans: indexes that the broker deletes, each with the name of the log that is missing.
    """

    present: dict[str, Path] = field(default_factory=dict)
    replaced: dict[str, Path] = field(default_factory=dict)
    unreadable: list[Path] = field(default_factory=list)
    without_number: list[Path] = field(default_factory=list)
    leftovers: list[Path] = field(default_factory=list)
    promoted: list[Path] = field(default_factory=list)
    orphans: list[tuple[Path, str]] = field(default_factory=list)

    @property
    def fails(self) -> bool:
        """Whether the broker fails before it has loaded a segment."""
        return bool(self.unreadable or self.without_number)

    @property
    def segments(self) -> list[tuple[int, Path]]:
        """Base offset and path of each segment, in order."""
        found = []
        for name, path in self.present.items():
            parsed = names.parse_segment(name)
            if parsed is not None and parsed.kind == names.LOG and not parsed.state:
                found.append((parsed.base_offset, path))
        return sorted(found)

    @property
    def misnamed(self) -> Iterator[tuple[str, Path]]:
        """Files for which a broker makes an empty segment, and the name of that segment."""
        for name, path in self.present.items():
            base = names.offset_in(name)
            if name.endswith(names.LOG) and base is not None and base >= 0:
                made = names.SegmentName(base, names.LOG).sibling(names.LOG)
                if made != name:
                    yield made, path

    @property
    def snapshots(self) -> dict[int, Path]:
        """The producer snapshots by offset."""
        found = {}
        for name, path in self.present.items():
            offset = names.offset_in(name)
            if name.endswith(names.PRODUCER_SNAPSHOT) and offset is not None:
                found[offset] = path
        return found


def list_files(directory: Path) -> LoaderFiles:
    """List a partition directory as the loader does.

    Raises:
        KafkaSpecError: ``unreadable``.
    """
    try:
        with os.scandir(directory) as items:
            names_of_files = sorted(item.name for item in items if _is_file(item))
    except OSError as error:
        raise unreadable(directory, error) from None
    files = {name: directory / name for name in names_of_files}
    found = LoaderFiles(
        unreadable=[path for path in files.values() if not os.access(path, os.R_OK)],
        without_number=[path for name, path in files.items() if names.has_no_offset(name)],
    )
    if not found.fails:
        _settle(found, files)
    return found


def _is_file(item: os.DirEntry[str]) -> bool:
    """Return whether something is a file; a link that leads nowhere, or in a circle, is none."""
    try:
        return item.is_file()
    except OSError:
        return False


def _settle(found: LoaderFiles, files: dict[str, Path]) -> None:
    """Remove and rename files as a broker does."""
    cleaned = [name for name in files if name.endswith(_CLEANED)]
    swapped = [name for name in files if name.endswith(_SWAP)]
    lowest = min((_offset(name) for name in cleaned), default=None)
    valid = [name for name in swapped if lowest is None or _offset(name) < lowest]
    of_kraft = names.CHECKPOINT + _DELETED
    gone = {name for name in files if name.endswith(_DELETED) and not name.endswith(of_kraft)}
    gone.update(cleaned, (name for name in swapped if name not in valid))
    begin, end = _range(files, valid)
    for name, path in files.items():
        if name in gone:
            found.leftovers.append(path)
        elif name not in valid:
            offset = names.offset_in(name)
            if begin is not None and offset is not None and begin <= offset < end:
                gone.add(name)
                if name.endswith(names.LOG):
                    found.replaced[name] = path
    found.present = {name: path for name, path in files.items() if name not in gone}
    for name in valid:
        del found.present[name]
        target = name.removesuffix(_SWAP)
        if target in found.present and target.endswith(names.LOG):
            found.replaced[target] = found.present[target]  # by one that is empty or damaged
        found.present[target] = files[name]
        found.promoted.append(files[name])
    for name in list(found.present):
        offset = names.offset_in(name)
        if name.endswith(_INDEXES) and offset is not None:
            log = names.SegmentName(offset, names.LOG).sibling(names.LOG)
            if log not in found.present:
                found.orphans.append((found.present.pop(name), log))


def _range(files: dict[str, Path], valid: list[str]) -> tuple[int | None, int]:
    """Return the range of offsets that segments about to be put in place cover."""
    begin, end = None, -1
    for name in valid:
        if not name.removesuffix(_SWAP).endswith(names.LOG):
            continue
        base = _offset(name)
        sibling = names.SegmentName(base, names.OFFSET_INDEX, _SWAP).sibling(names.OFFSET_INDEX)
        try:
            segment = LoadedSegment.standing(files[name], base, files.get(sibling))
            reached = segment.next_offset()
        except KafkaSpecError:
            reached = base
        begin = base if begin is None else min(begin, base)
        end = max(end, reached)
    return begin, end


def _offset(name: str) -> int:
    found = names.offset_in(name)
    assert found is not None  # `list_files` has refused it
    return found
