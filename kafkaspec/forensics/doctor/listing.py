"""Which files a broker finds in a partition once it has removed and renamed what it left itself.

Kafka: ``LogLoader.removeTempFilesAndCollectSwapFiles``, ``LogLoader.load``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kafkaspec.broker.headers import read_headers
from kafkaspec.broker.loading import LoadedSegment
from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files import names
from kafkaspec.forensics.doctor.text import above, move_away, quoted
from kafkaspec.forensics.doctor.troubles import Effect, Trouble, TroubleKind
from kafkaspec.log.segment import Segment

_DELETED: Final = names.STATES[0]
_CLEANED: Final = names.STATES[1]
_SWAP: Final = names.STATES[2]
_INDEXES: Final = (names.OFFSET_INDEX, names.TIME_INDEX, names.TRANSACTION_INDEX)


@dataclass
class Listing:
    """The files of a partition directory as the loader meets them.

    Attributes:
        path: of the directory.
        present: files by the names that they have when segments are loaded.
        folders: directories in it, which a broker passes over.
        replaced: segments that a merged one takes the place of, by name.
        troubles: found on the way.
        fails: whether the broker fails before it has loaded a segment.
    """

    path: Path
    present: dict[str, Path] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)
    replaced: dict[str, Path] = field(default_factory=dict)
    troubles: list[Trouble] = field(default_factory=list)
    fails: bool = False

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


def list_files(directory: Path) -> Listing:
    """List a partition directory as the loader does.

    Raises:
        KafkaSpecError: ``unreadable``.
    """
    listing = Listing(directory)
    try:
        with os.scandir(directory) as items:
            found = sorted(items, key=lambda item: item.name)
        files = {item.name: directory / item.name for item in found if _is_file(item)}
    except OSError as error:
        raise unreadable(directory, error) from None
    listing.folders = [directory / item.name for item in found if item.name not in files]
    for path in files.values():
        if not os.access(path, os.R_OK):
            listing.fails = True
            listing.troubles.append(
                Trouble(
                    TroubleKind.UNREADABLE,
                    Effect.OFFLINE,
                    str(path),
                    "it cannot be read: the broker gives the log directory up, if it has no more "
                    "rights",
                    "give the user of the broker the right to read and write it",
                )
            )
    listing.troubles += _without_number(files)
    listing.fails |= any(item.effect is Effect.KILLS for item in listing.troubles)
    if not listing.fails:
        _settle(listing, files)
    return listing


def _is_file(item: os.DirEntry[str]) -> bool:
    """Return whether something is a file; a link that leads nowhere, or in a circle, is none."""
    try:
        return item.is_file()
    except OSError:
        return False


def _without_number(files: dict[str, Path]) -> Iterator[Trouble]:
    """Yield the files whose names end like those of Kafka's, and begin with no offset."""
    for name, path in files.items():
        if names.has_no_offset(name):
            yield Trouble(
                TroubleKind.FILE_NUMBER,
                Effect.KILLS,
                str(path),
                "the broker takes what is before the first dot for an offset, and does not start: "
                "it is none",
                "move it out of the log directory",
                move_away(path),
            )


def _settle(listing: Listing, files: dict[str, Path]) -> None:
    """Remove and rename files as a broker does."""
    cleaned = [name for name in files if name.endswith(_CLEANED)]
    swapped = [name for name in files if name.endswith(_SWAP)]
    lowest = min((_offset(name) for name in cleaned), default=None)
    valid = [name for name in swapped if lowest is None or _offset(name) < lowest]
    gone = {name for name in files if name.endswith(_DELETED) and not _is_of_kraft(name)}
    gone.update(cleaned, (name for name in swapped if name not in valid))
    begin, end = _range(files, valid)
    for name, path in files.items():
        if name in gone:
            listing.troubles.append(_leftover(path, swapped=name.endswith(_SWAP)))
        elif name not in valid:
            offset = names.offset_in(name)
            if begin is not None and offset is not None and begin <= offset < end:
                gone.add(name)
                if name.endswith(names.LOG):
                    listing.replaced[name] = path
    listing.present = {name: path for name, path in files.items() if name not in gone}
    for name in valid:
        del listing.present[name]
        target = name.removesuffix(_SWAP)
        if target in listing.present and target.endswith(names.LOG):
            listing.replaced[target] = listing.present[target]  # by one that is empty or damaged
        listing.present[target] = files[name]
        listing.troubles.append(_put_in_place(files[name]))
    for name in list(listing.present):
        offset = names.offset_in(name)
        if name.endswith(_INDEXES) and offset is not None:
            log = names.SegmentName(offset, names.LOG).sibling(names.LOG)
            if log not in listing.present:
                listing.troubles.append(_orphan(listing.present.pop(name), log))


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
    assert found is not None  # `_without_number` has refused it
    return found


def _is_of_kraft(name: str) -> bool:
    return name.endswith(names.CHECKPOINT + _DELETED)


def held(path: Path) -> tuple[tuple[int, int] | None, int]:
    """Return the offsets of the batches at the start of a file, and the bytes that they take."""
    first = last = None
    end = 0
    try:
        with Segment(path) as segment:
            for headers in read_headers(segment, 0):
                if first is None:
                    first = headers.first_offset_of(0)
                last, end = headers.last_offset[-1] + 1, headers.end
    except KafkaSpecError:
        pass
    return (None if first is None or last is None else (first, last)), end


def _leftover(path: Path, *, swapped: bool) -> Trouble:
    state = path.suffix
    kind = TroubleKind.DELETED_FILE if state == _DELETED else TroubleKind.CLEANED_FILE
    why = {
        _DELETED: "the broker was about to delete it",
        _CLEANED: "a compaction or a split was writing it, and did not end",
    }.get(state, "it is part of a split that did not end")
    offsets, end = (None, 0)
    remedy = command = ""
    if path.name.removesuffix(state).endswith(names.LOG):
        offsets, end = held(path)
    if offsets is not None and state == _DELETED:
        remedy = "copy it before the start if its records are wanted: what was cut or expired is "
        remedy += "in it"
        command = f"cp -p {quoted(path)} {quoted(above(path.parent.parent))}"
    size = _size(path)
    text = f"{why}; the start deletes it"
    if offsets is not None:
        text += f"; it holds offsets {offsets[0]} to {offsets[1] - 1} in {end:,} of {size:,} bytes"
    return Trouble(
        TroubleKind.SWAP_FILE if swapped else kind,
        Effect.DELETES,
        str(path),
        text,
        remedy,
        command,
        offsets=offsets,
        size=size,
    )


def _put_in_place(path: Path) -> Trouble:
    offsets = None
    if path.name.removesuffix(_SWAP).endswith(names.LOG):
        offsets, _ = held(path)
    return Trouble(
        TroubleKind.SWAP_FILE,
        Effect.PROMOTES,
        str(path),
        f"a compaction or a split had written it; the start renames it to "
        f"{path.name.removesuffix(_SWAP)}",
        offsets=offsets,
        size=_size(path),
    )


def _orphan(path: Path, log: str) -> Trouble:
    offset = names.offset_in(path.name)
    return Trouble(
        TroubleKind.ORPHAN,
        Effect.DELETES,
        str(path),
        f"there is no {log} that it belongs to: the start deletes it. A segment of this name was "
        "here once",
        "look for the segment in a backup, or on a replica",
        offsets=None if offset is None else (offset, None),
        size=_size(path),
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
