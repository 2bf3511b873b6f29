"""Remote storage as a log directory: files with the names and the bytes that a broker had.

They are files of a separate file system, and have URLs: ``tiered://``, the path or URL of the
remote storage, ``!``, and the path of the file, ``/topic-0/00000000000000000042.log``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final, cast

from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files import names, segment_manifest
from kafkaspec.files.checkpoints import partition_metadata
from kafkaspec.files.segment_manifest import SegmentManifest
from kafkaspec.io.remote import (
    TIERED,
    Opened,
    Ranges,
    RemotePath,
    Status,
    address,
    as_path,
    is_mounted,
)
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.tiered import layouts
from kafkaspec.tiered.assigned import AssignedFiles
from kafkaspec.tiered.coordinates import UncoveredBytes, is_list
from kafkaspec.tiered.keys import KeyRing, Keys
from kafkaspec.tiered.layouts import FoundObjects, Level, ObjectLayout, ObjectPlace, Objects
from kafkaspec.tiered.objects import PlainRanges, SegmentRanges, index_bytes, index_size

_ROOT: Final = f"{TIERED}://"
MARK: Final = "!"
"""What stands between the place of remote storage and a file in it."""
_MOST_MANIFESTS: Final = 4096
_MOST_MOUNTED: Final = 16


@dataclass(frozen=True)
class ShownFile:
    """A file as it is shown: its size, what opens it, and the object that has its bytes, if any."""

    size: Callable[[], int]
    open: Callable[[], Ranges]
    path: Path | None


class TieredFiles:
    """A file system with the partitions in remote storage; see ``kafkaspec.io.remote._Files``."""

    def __init__(
        self, found: FoundObjects, keys: KeyRing, hidden: frozenset[str] = frozenset()
    ) -> None:
        """Show objects that were found, without the segments with some ids."""
        self.found = found
        self._without = hidden
        self._base = _base(found.path)
        self._keys = keys
        self._places: dict[str, list[ObjectPlace]] = {}
        self._all = False
        self._files: dict[str, dict[str, ShownFile]] = {}
        self._hidden: dict[str, Callable[[str], ShownFile | None]] = {}
        self._manifests: OrderedDict[str, SegmentManifest] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[object, ...]:
        # In another process it is listed again.
        return TieredFiles, (self.found, self._keys, self._without)

    def without(self, ids: frozenset[str]) -> TieredFiles:
        """Return the same without the segments with some ids."""
        return TieredFiles(self.found, self._keys, self._without | ids)

    @property
    def root(self) -> RemotePath:
        return RemotePath(self, _ROOT, self._base, Status(self._base, True, None, None))

    def partitions(self) -> dict[str, list[ObjectPlace]]:
        """Return partitions by the name of their directory: several of a topic made again."""
        if not self._all:
            found: dict[str, list[ObjectPlace]] = {}
            for place in layouts.places(self.found):
                found.setdefault(place.name, []).append(place)
            self._places, self._all = found, True
        return self._places

    def _places_of(self, folder: str) -> list[ObjectPlace]:
        """Return the partitions of a name; no other topic is listed for it."""
        if folder not in self._places and not self._all:
            self._places[folder] = layouts.places(self.found, folder)
        return self._places.get(folder, [])

    def status(self, path: str, *, fresh: bool = False) -> Status | None:
        folder, name = self._split(path)
        if not folder:
            return Status(path, True, None, None)
        if not self._places_of(folder):
            return None
        if not name:
            return Status(path, True, None, None)
        shown = self._shown(folder, name)
        if shown is None and name.endswith(names.LOG):  # perhaps it is new
            self._files.pop(folder, None)
            shown = self._shown(folder, name)
        return None if shown is None else self._status(path, shown)

    def entries(self, path: str) -> list[Status]:
        folder, _ = self._split(path)
        if not folder:
            listed = self.partitions()
            return [Status(f"{self._base}/{name}", True, None, None) for name in listed]
        # Without a size, for which manifests would be read: it is asked for when it is needed.
        return [Status(f"{path}/{name}", False, None, None) for name in self._in(folder)]

    def open(self, path: str) -> Opened:
        folder, name = self._split(path)
        shown = self._shown(folder, name) if self._places_of(folder) else None
        if shown is None:
            raise FileNotFoundError(path)
        # What is read checks by itself that no other version is there.
        ranges = shown.open()
        return Opened(ranges, None, True, getattr(ranges, "read_into", None))

    def segment(self, name: layouts.ObjectName) -> RemotePath:
        """Return the file of the segment that an object is of."""
        [folder] = self.partitions()
        file = names.SegmentName(name.start_offset, names.LOG).sibling(names.LOG)
        shown = self._in(folder).get(file)
        parsed = layouts.parse_object(shown.path.name) if shown and shown.path else None
        if parsed is None or parsed.segment_id != name.segment_id:
            detail = "it is not whole, or there is another copy of its offsets"
            raise unreadable(str(self.found.path), f"{name.segment_id}: {detail}")
        return self.root / folder / file

    def segment_id(self, path: RemotePath) -> str | None:
        """Return the id in the name of the object that has the bytes of a file."""
        shown = self._shown(path.parent.name, path.name)
        name = None if shown is None or shown.path is None else shown.path.name
        parsed = None if name is None else layouts.parse_object(name)
        return None if parsed is None else parsed.segment_id

    def _split(self, path: str) -> tuple[str, str]:
        folder, _, name = path.removeprefix(self._base).strip("/").partition("/")
        return folder, name

    def _status(self, path: str, shown: ShownFile) -> Status:
        modified = None
        if shown.path is not None:
            try:
                modified = int(shown.path.stat().st_mtime * 1000)
            except OSError as error:
                raise unreadable(str(shown.path), error) from None
        return Status(path, False, shown.size(), modified)

    def _shown(self, folder: str, name: str) -> ShownFile | None:
        listed = self._in(folder)
        return listed.get(name) or self._hidden[folder](name)

    def _in(self, folder: str) -> dict[str, ShownFile]:
        """Return the files of a partition."""
        known = self._files.get(folder)
        if known is None:
            several = self._places_of(folder)
            if not several:
                raise FileNotFoundError(f"{_ROOT}{self._base}/{folder}")
            if len(several) > 1:
                paths = ", ".join(str(place.path) for place in several)
                detail = f"there are {len(several)} topics of this name: {paths}. Name one"
                raise unreadable(f"{_ROOT}{self._base}/{folder}", detail)
            known, hidden = self._of(several[0])
            self._files[folder], self._hidden[folder] = known, hidden
        return known

    def _of(
        self, place: ObjectPlace
    ) -> tuple[dict[str, ShownFile], Callable[[str], ShownFile | None]]:
        """Return the files of a partition, and a function that finds those that are not listed."""
        groups, others = layouts.objects(place)
        chosen: list[Objects] = []
        for group in groups:
            if group.missing(place.layout) or group.segment_id in self._without:
                others += group.files.values()
            elif chosen and chosen[-1].start_offset == group.start_offset:
                kept, left = self._better(place, chosen[-1], group)
                chosen[-1] = kept
                others += left.files.values()
            else:
                chosen.append(group)
        shown: dict[str, ShownFile] = {}
        for group, following in zip(chosen, [*chosen[1:], None], strict=False):
            end = None if following is None else following.start_offset
            self._add(shown, place, group, end)
        if chosen:
            epochs = self._leader_epochs(place, chosen[-1])
            if epochs is not None:
                shown[names.LEADER_EPOCHS] = epochs
            made = partition_metadata.serialize(place.topic_id) if place.topic_id.int else b""
            if made:
                shown[names.PARTITION_METADATA] = ShownFile(
                    made.__len__, lambda: _of_bytes(made), None
                )
        shown |= {path.name: _copy(path) for path in sorted(others) if path.name not in shown}
        starts = {group.start_offset: group for group in chosen}
        return shown, lambda name: self._transaction_index(place, starts, name)

    def _add(
        self, shown: dict[str, ShownFile], place: ObjectPlace, group: Objects, end: int | None
    ) -> None:
        """Add the files of a segment.

        A producer snapshot of remote storage holds the state after its segment, and has the name
        of the offset there.
        """
        name = names.SegmentName(group.start_offset, names.LOG)
        if place.layout is ObjectLayout.LOCAL:
            for kind in (names.LOG, *names.REMOTE_INDEXES):
                if kind in group.files:
                    shown[name.sibling(kind)] = _copy(group.files[kind])
            if end is not None and names.PRODUCER_SNAPSHOT in group.files:
                after = names.SegmentName(end, names.PRODUCER_SNAPSHOT)
                path = group.files[names.PRODUCER_SNAPSHOT]
                shown[after.sibling(names.PRODUCER_SNAPSHOT)] = _copy(path)
            return
        shown[name.sibling(names.LOG)] = ShownFile(
            lambda: self._manifest(group).chunks.original_size,
            lambda: self._segment(group),
            group.files[layouts.LOG],
        )
        for kind in (names.OFFSET_INDEX, names.TIME_INDEX):
            shown[name.sibling(kind)] = self._index(group, kind)
        if end is None:
            with suppress(KafkaSpecError):  # which shows when the segment is read
                end = self._manifest(group).segment.end_offset + 1
        if end is not None and end <= LARGEST_OFFSET:
            after = names.SegmentName(end, names.PRODUCER_SNAPSHOT)
            shown[after.sibling(names.PRODUCER_SNAPSHOT)] = self._index(
                group, names.PRODUCER_SNAPSHOT
            )

    def _leader_epochs(self, place: ObjectPlace, last: Objects) -> ShownFile | None:
        if place.layout is ObjectLayout.AIVEN:
            return self._index(last, names.LEADER_EPOCHS)
        path = last.files.get(layouts.LEADER_EPOCHS)
        return None if path is None else _copy(path)

    def _transaction_index(
        self, place: ObjectPlace, starts: dict[int, Objects], name: str
    ) -> ShownFile | None:
        """Return the transaction index of a segment, whose manifest says if there is one."""
        parsed = names.parse_segment(name)
        if parsed is None or parsed.kind != names.TRANSACTION_INDEX or parsed.state:
            return None
        group = starts.get(parsed.base_offset)
        if place.layout is ObjectLayout.LOCAL or group is None:
            return None
        if names.TRANSACTION_INDEX not in self._manifest(group).indexes:
            return None
        return self._index(group, names.TRANSACTION_INDEX)

    def _better(self, place: ObjectPlace, one: Objects, two: Objects) -> tuple[Objects, Objects]:
        """Return two copies of a segment: the one to show, which has more, or is newer, first."""

        def rank(group: Objects) -> tuple[int, int, str]:
            try:
                if place.layout is ObjectLayout.AIVEN:
                    segment = self._manifest(group).segment
                    return segment.end_offset, segment.copied, group.segment_id
                status = group.files[layouts.LOG].stat()
                return status.st_size, int(status.st_mtime * 1000), group.segment_id
            except (OSError, KafkaSpecError):
                return -1, -1, group.segment_id

        return (two, one) if rank(two) > rank(one) else (one, two)

    def _manifest(self, group: Objects) -> SegmentManifest:
        path = group.files[layouts.MANIFEST]
        with self._lock:
            known = self._manifests.get(path.name)
        if known is None:
            known = segment_manifest.read(path)
            with self._lock:
                self._manifests[path.name] = known
                while len(self._manifests) > _MOST_MANIFESTS:
                    self._manifests.popitem(last=False)
        return known

    def _segment(self, group: Objects) -> Ranges:
        manifest, path = self._manifest(group), group.files[layouts.LOG]
        if manifest.is_plain:
            return PlainRanges(path, manifest.chunks.original_size)
        return SegmentRanges(path, manifest, self._keys)

    def _index(self, group: Objects, kind: str) -> ShownFile:
        path = group.files[layouts.INDEXES]

        def size() -> int:
            manifest = self._manifest(group)
            return index_size(manifest, manifest.indexes[kind])

        def ranges() -> Ranges:
            manifest = self._manifest(group)
            place, name = manifest.indexes[kind], segment_manifest.INDEXES[kind]
            return _of_bytes(index_bytes(path, manifest, place, self._keys, name))

        return ShownFile(size, ranges, path)


def _of_bytes(data: bytes) -> Ranges:
    return lambda start, end: data[start:end]


def _copy(path: Path) -> ShownFile:
    """Return a file that has the same bytes as an object."""
    return ShownFile(lambda: path.stat().st_size, lambda: PlainRanges(path), path)


def _base(path: Path) -> str:
    place = path if isinstance(path, RemotePath) else path.absolute()
    return address(place).rstrip("/") + MARK


_mounted: OrderedDict[str, TieredFiles | AssignedFiles] = OrderedDict()
_mounted_lock = Lock()


def _mount(found: FoundObjects, keys: Keys | None) -> TieredFiles:
    files = TieredFiles(found, KeyRing(keys))
    _keep(_base(found.path), files)
    return files


def _keep(base: str, files: TieredFiles | AssignedFiles) -> None:
    with _mounted_lock:  # so that a path that became text finds its keys again
        _mounted[base] = files
        _mounted.move_to_end(base)
        while len(_mounted) > _MOST_MOUNTED:
            _mounted.popitem(last=False)


def _mount_list(path: Path) -> AssignedFiles:
    base = _base(path)
    files = AssignedFiles(path, base, _ROOT)
    _keep(base, files)
    return files


def mounted(place: Path, keys: Keys | None = None) -> Path | None:
    """Return the log directory, partition or segment that a path in remote storage is shown as.

    Args:
        place: directory, object or list of coordinates, local or remote.
        keys: files with private keys, those that the environment names if None.

    Returns:
        A path in ``TieredFiles`` or ``AssignedFiles``; None if it is not remote storage of a known
        layout.

    Raises:
        KafkaSpecError: ``unreadable``: several folders in it have some, or a list is not right.
    """
    if is_mounted(place):
        return place
    if not place.is_dir():
        if is_list(place):
            return cast(Path, _mount_list(place).root)
        known = layouts.find_object(place)
        if known is None:
            return None
        return cast(Path, _mount(known[0], keys).segment(known[1]))
    found = layouts.find(place)
    if found is None:
        return None
    files = _mount(found, keys)
    if found.level is Level.PARTITION:
        return cast(Path, files.root / next(iter(files.partitions())))
    return cast(Path, files.root)


def segment_id(path: object) -> str | None:
    """Return the id in the name of the object that has a segment; None for any other path."""
    if not isinstance(path, RemotePath) or not isinstance(path.files, TieredFiles):
        return None
    return path.files.segment_id(path)


def without_segments(directory: Path, ids: Collection[str]) -> Path:
    """Return a log directory in remote storage without the segments with some ids."""
    if not isinstance(directory, RemotePath) or not isinstance(directory.files, TieredFiles):
        return directory
    return cast(Path, directory.files.without(frozenset(ids)).root)


def uncovered(place: Path) -> list[UncoveredBytes]:
    """Return the bytes of objects without coordinates, where a path is of a list of them."""
    files = place.files if isinstance(place, RemotePath) else None
    return list(files.list.uncovered()) if isinstance(files, AssignedFiles) else []


def open_url(rest: str) -> tuple[Any, str]:
    """Return the file system and the path of a URL without its scheme."""
    before = rest
    while MARK in before:  # a name may have the mark too
        before = before[: before.rindex(MARK)]
        with _mounted_lock:
            files = _mounted.get(before + MARK)
        if files is None and is_list(as_path(before)):
            files = _mount_list(as_path(before))
        found = layouts.find(as_path(before)) if files is None else None
        if found is not None:
            files = _mount(found, None)
        if files is not None:
            return files, rest
    raise unreadable(_ROOT + rest, "there are no segments in remote storage")
