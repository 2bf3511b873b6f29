"""Log directories in every state that a broker can find at its start: real ones, damaged."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from kafkaspec.files import names
from tests.goldens import GOLDEN, release

PARTITIONS = (
    "segments-0",
    "plain-0",
    "compacted-0",
    "transactions-segments-0",
    "deleted-records-0",
    "idempotent-0",
)
METADATA = "__cluster_metadata-0"
HEX = "0123456789abcdef" * 2
"""A unique id, as brokers put it into names."""
OTHER_ID = b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"
CLEAN = '{"version":0,"brokerEpoch":5}'

Change = Callable[[Path, Path], object]


class Case(NamedTuple):
    """A log directory, or two, of a broker that stopped, with some damage.

    Attributes:
        name: of the case.
        change: does the damage, to one log directory or two.
        clean: whether the broker was stopped cleanly.
        two: whether the broker has two log directories.
    """

    name: str
    change: Change
    clean: bool = True
    two: bool = False

    def make(self, version: str, place: Path) -> list[Path]:
        """Make the log directories in an empty directory; return their paths."""
        golden = GOLDEN / version / "logs"
        first, second = place / "first", place / "second"
        first.mkdir(parents=True)
        for item in golden.iterdir():
            if item.is_file():
                shutil.copy(item, first)
            elif item.name in (*PARTITIONS, METADATA):
                shutil.copytree(item, first / item.name)
        meta = first / names.META_PROPERTIES
        if not (first / METADATA).exists():
            meta.unlink()  # it names a cluster that ZooKeeper does not know
        if self.two:
            second.mkdir()
            if meta.exists():
                text = re.sub(r"directory\.id=..", "directory.id=AA", meta.read_text())
                (second / meta.name).write_text(text)
        found = [first, second] if self.two else [first]
        for each in found:
            (each / names.CLEAN_SHUTDOWN).unlink(missing_ok=True)
            if self.clean:
                (each / names.CLEAN_SHUTDOWN).write_text(CLEAN)
        self.change(first, second)
        return found


def _directory(name: str) -> Change:
    return lambda logs, _: (logs / name).mkdir()


def _copy(source: str, name: str, *, without: str = "") -> Change:
    def change(logs: Path, _: Path) -> None:
        shutil.copytree(logs / source, logs / name)
        if without:
            (logs / name / without).unlink(missing_ok=True)

    return change


def _copy_to_second(source: str, name: str) -> Change:
    return lambda logs, second: shutil.copytree(logs / source, second / name)


def _file(name: str, data: bytes) -> Change:
    return lambda logs, _: (logs / name).write_bytes(data)


def _file_in_second(name: str, data: bytes) -> Change:
    return lambda _, second: (second / name).write_bytes(data)


def _remove_from_second(name: str) -> Change:
    return lambda _, second: (second / name).unlink(missing_ok=True)


def _same_properties(first: Path, second: Path) -> None:
    if (first / names.META_PROPERTIES).exists():
        shutil.copy(first / names.META_PROPERTIES, second)


def _remove(*found: str) -> Change:
    def change(logs: Path, _: Path) -> None:
        for name in found:
            for path in list(logs.glob(name)):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    return change


def _move(name: str, to: str) -> Change:
    return lambda logs, _: (logs / name).rename(logs / to)


def _duplicate(name: str, to: str) -> Change:
    return lambda logs, _: shutil.copy(logs / name, logs / to)


def _put(name: str, at: int, data: bytes) -> Change:
    def change(logs: Path, _: Path) -> None:
        content = bytearray((logs / name).read_bytes())
        content[at : at + len(data)] = data
        (logs / name).write_bytes(content)

    return change


def _append(name: str, data: bytes) -> Change:
    return lambda logs, _: (logs / name).write_bytes((logs / name).read_bytes() + data)


def _checkpoint(name: str, entry: str) -> Change:
    """Add or replace the entry of a partition."""

    def change(logs: Path, _: Path) -> None:
        topic, partition, _offset = entry.split()
        path = logs / name
        lines = path.read_text().splitlines()[2:] if path.exists() else []
        lines = [line for line in lines if not line.startswith(f"{topic} {partition} ")] + [entry]
        path.write_text("\n".join(["0", str(len(lines)), *lines, ""]))

    return change


def _all(*changes: Change) -> Change:
    def change(logs: Path, second: Path) -> None:
        for each in changes:
            each(logs, second)

    return change


def _none(_: Path, __: Path) -> None:
    pass


DIES = (
    "lost+found", "foo", "foo-", "-0", "foo-x", ".snapshot", "t-0.old", "t-0_backup", "t-0-backup",
    "t-0 (copy)", "foo-0.bar", "foo-0-delete", "foo-0-stray", "foo-0-future", "t-2147483648",
    "foo-0.a-b", f"foo-0.{HEX}-delete.bak", "foo.-delete",
)  # fmt: skip
STARTS = (
    "backup-2026", "foo--1", "my topic-0", "a..b-0", "foo-+1", "foo-0000000001",
    f"foo-0.{HEX}-delete", f"foo-0.{HEX}-stray", names.REMOTE_INDEX_CACHE,
    "__cluster_metadata-7", "foo-1.a.b-stray", "föö-3",
)  # fmt: skip
"""Names of empty directories, from the reference and around it."""

_SEGMENT = "segments-0/00000000000000000012"
_LOG = f"{_SEGMENT}.log"
_LAST = "segments-0/00000000000000000036.log"
_FLIP = _put(_LOG, 500, b"\xff\xfe\xfd")
_BELOW = _put(_LOG, 0, (3).to_bytes(8, "big"))
_NO_POINTS = _remove(names.RECOVERY_POINTS)
_NO_INDEX = _remove(f"{_SEGMENT}.index")
_NO_INDEXES = _remove("segments-0/*.index")


def cases(version: str = "4.3.1") -> Iterator[Case]:
    """Yield all cases for a release."""
    yield Case("nothing", _none)
    yield Case("nothing, crash", _none, clean=False)
    yield Case("nothing, crash, no recovery points", _NO_POINTS, clean=False)
    for name in (*DIES, *STARTS):
        yield Case(f"directory {name}", _directory(name))
    yield Case("a file beside the directories", _file("notes.txt", b"x"))
    yield Case("a file named like a partition", _file("foo-x", b"x"))
    yield from _identities()
    yield from _two_directories()
    yield from _root_files()
    yield from _damage()
    yield from _leftovers()
    if release(version) >= (4, 0):  # earlier ones may have been started with ZooKeeper
        yield from _without_quorum()


def _identities() -> Iterator[Case]:
    metadata = "plain-0/partition.metadata"
    yield Case("a number with a zero before it", _copy("plain-0", "plain-00"))
    yield Case("a number with a plus", _copy("plain-0", "plain-+0"))
    yield Case("a future copy", _copy("plain-0", f"plain-0.{HEX}-future"))
    bare = _copy("plain-0", f"plain-0.{HEX}-future", without=names.PARTITION_METADATA)
    yield Case("a future copy without id", bare)
    yield Case("only a future copy", _move("plain-0", f"plain-0.{HEX}-future"))
    yield Case("a copy under another name", _copy("plain-0", "other-0"))
    yield Case("a copy as another partition", _copy("plain-0", "plain-5"))
    nameless = _copy("plain-0", "other-0", without=names.PARTITION_METADATA)
    yield Case("a copy under another name without id", nameless)
    yield Case("a stray copy", _copy("plain-0", f"plain-0.{HEX}-stray"))
    yield Case("a copy to delete", _copy("plain-0", f"plain-0.{HEX}-delete"))
    yield Case("no partition.metadata", _remove(metadata))
    yield Case("another topic id", _file(metadata, OTHER_ID))
    yield Case("partition.metadata is empty", _file(metadata, b""))
    yield Case("partition.metadata is garbage", _file(metadata, b"\xff\x00garbage"))
    yield Case("partition.metadata of version 1", _file(metadata, OTHER_ID.replace(b"0", b"1", 1)))
    yield Case("an empty partition", _remove("plain-0/*"))
    yield Case("a partition is missing", _remove("plain-0"))
    yield Case("no cluster metadata", _remove(METADATA))


def _two_directories() -> Iterator[Case]:
    yield Case("two", _none, two=True)
    yield Case("two, a partition in both", _copy_to_second("plain-0", "plain-0"), two=True)
    yield Case("two, a future copy", _copy_to_second("plain-0", f"plain-0.{HEX}-future"), two=True)
    moved = _all(_copy_to_second("plain-0", "plain-0"), _remove("plain-0"))
    yield Case("two, a partition moved", moved, two=True)
    yield Case("two, lost+found", lambda _, second: (second / "lost+found").mkdir(), two=True)
    yield Case("two, metadata in both", _copy_to_second(METADATA, METADATA), two=True)
    meta = names.META_PROPERTIES
    yield Case("two, one not formatted", _remove_from_second(meta), two=True)
    yield Case("two, one garbage", _file_in_second(meta, b"version=x\n"), two=True)
    other = b"version=1\nnode.id=0\ncluster.id=%s\ndirectory.id=AAwBmgNZT8m_CPrqeU5pig\n"
    yield Case("two, another cluster", _file_in_second(meta, other % b"other"), two=True)
    node = other.replace(b"node.id=0", b"node.id=4") % b"a2Fma2FzcGVjLWdvbGRlbg"
    yield Case("two, another node", _file_in_second(meta, node), two=True)
    yield Case("two, the same directory id", _same_properties, two=True)
    bad = _file_in_second("recovery-point-offset-checkpoint", b"x")
    yield Case("two, a bad checkpoint in the second", bad, two=True)
    yield Case("two, one stopped cleanly", _remove_from_second(names.CLEAN_SHUTDOWN), two=True)
    yield from _text_files_of_a_second()


def _text_files_of_a_second() -> Iterator[Case]:
    """Yield files for which a broker gives one of its two directories up, or ends."""
    moved = _all(_copy_to_second("plain-0", "plain-0"), _remove("plain-0"))
    for name, data in {
        "leader epochs are garbage": (names.LEADER_EPOCHS, b"garbage"),
        "leader epochs have a wrong count": (names.LEADER_EPOCHS, b"0\n5\n0 0\n"),
        "leader epochs have a bad line": (names.LEADER_EPOCHS, b"0\n1\n0\n"),
        "leader epochs have a bad number": (names.LEADER_EPOCHS, b"0\n1\n0 x\n"),
        "leader epochs have a bad number and a wrong count": (
            names.LEADER_EPOCHS,
            b"0\n5\n0 x\n",
        ),
        "leader epochs have a negative epoch": (names.LEADER_EPOCHS, b"0\n1\n-1 0\n"),
        "leader epochs have a negative offset": (names.LEADER_EPOCHS, b"0\n1\n0 -5\n"),
        "partition.metadata is empty": (names.PARTITION_METADATA, b""),
        "partition.metadata has one line": (names.PARTITION_METADATA, b"version: 0\n"),
        "partition.metadata is garbage": (names.PARTITION_METADATA, b"garbage"),
        "partition.metadata has a bad version": (
            names.PARTITION_METADATA,
            OTHER_ID.replace(b"0", b"x", 1),
        ),
        "partition.metadata has a negative version": (
            names.PARTITION_METADATA,
            OTHER_ID.replace(b"0", b"-1", 1),
        ),
        "partition.metadata has a bad id": (
            names.PARTITION_METADATA,
            b"version: 0\ntopic_id: !",
        ),
        "partition.metadata has no id": (names.PARTITION_METADATA, b"version: 0\ntopic_id"),
        "partition.metadata has the id zero": (
            names.PARTITION_METADATA,
            b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
        ),
    }.items():
        file, content = data
        yield Case(
            f"two, {name}", _all(moved, _file_in_second(f"plain-0/{file}", content)), two=True
        )


def _root_files() -> Iterator[Case]:
    yield Case("no meta.properties", _remove(names.META_PROPERTIES))
    yield Case("meta.properties is garbage", _file(names.META_PROPERTIES, b"version=x\n"))
    for name in names.OFFSET_CHECKPOINTS:
        yield Case(f"{name} is garbage", _file(name, b"garbage\n"))
        yield Case(f"{name} has a wrong version", _file(name, b"7\n0\n"))
        yield Case(f"{name} has a wrong count", _file(name, b"0\n5\nplain 0 3\n"))
        yield Case(f"{name} has a bad number", _file(name, b"0\n1\nplain 0 x\n"))
        if name != names.CLEANER_OFFSETS:  # compaction would begin
            yield Case(f"{name} is empty", _file(name, b""))
    for name in (names.HIGH_WATERMARKS, names.CLEANER_OFFSETS):
        yield Case(f"{name} beyond the log", _checkpoint(name, "segments 0 900"))
        yield Case(f"{name} low", _checkpoint(name, "segments 0 3"))
    for offset in (3, 13, 24, 30, 45, 46, 900, -5):
        change = _checkpoint(names.LOG_START_OFFSETS, f"segments 0 {offset}")
        yield Case(f"log start {offset}", change)
        yield Case(f"log start {offset}, crash", _all(change, _NO_POINTS), clean=False)
    for offset in (0, 5, 12, 13, 24, 40, 900, -5):
        change = _all(_FLIP, _checkpoint(names.RECOVERY_POINTS, f"segments 0 {offset}"))
        yield Case(f"a flip in segment 12 and recovery point {offset}", change, clean=False)
    yield Case("quorum-state is garbage", _file(f"{METADATA}/quorum-state", b"garbage"))
    flip = _put(f"{METADATA}/{0:020d}.log", 3000, b"\xff\xfe\xfd")
    yield Case("a flip in the metadata", flip)
    yield Case("a flip in the metadata, crash", flip, clean=False)
    epochs = "plain-0/leader-epoch-checkpoint"
    yield Case("leader epochs are garbage", _file(epochs, b"garbage"))
    yield Case("leader epochs are empty", _file(epochs, b""))
    yield Case("leader epochs are missing", _remove(epochs))
    yield Case("leader epochs beyond the log", _file(epochs, b"0\n1\n0 900\n"))


def _damage() -> Iterator[Case]:
    for clean in (True, False):
        stop = "clean stop" if clean else "crash"
        points = _none if clean else _NO_POINTS
        for name, change in {
            "a flip": _FLIP,
            "a flip, no index there": _all(_FLIP, _NO_INDEX),
            "a flip, no indexes": _all(_FLIP, _NO_INDEXES),
            "a base offset below its file": _BELOW,
            "a base offset below its file, no index": _all(_BELOW, _NO_INDEX),
            "a base offset in another place": _put(_LOG, 0, (14).to_bytes(8, "big")),
            "a base offset above all": _put(_LOG, 0, (1 << 40).to_bytes(8, "big")),
            "zeros at the end": _append(_LAST, bytes(4096)),
            "zeros in the middle": _append(_LOG, bytes(400)),
            "a part of a batch at the end": _append(_LAST, b"\0" * 7 + b"\x2d\0\0\1\0abc"),
            "an empty index": _file(f"{_SEGMENT}.index", b""),
            "a garbage index": _file("segments-0/00000000000000000036.index", b"\x7f" * 16),
            "an index of 13 bytes": _file("segments-0/00000000000000000036.index", bytes(13)),
            "padded indexes": _all(
                _append("segments-0/00000000000000000036.index", bytes(4000)),
                _append("segments-0/00000000000000000036.timeindex", bytes(12 * 400)),
            ),
            "no time index": _remove(f"{_SEGMENT}.timeindex"),
            "no snapshots": _remove("transactions-segments-0/*.snapshot"),
            "garbage snapshots": _file(f"transactions-segments-0/{60:020d}.snapshot", b"xx"),
            "a garbage transaction index": _file(f"plain-0/{0:020d}.txnindex", b"\xff" * 34),
            "a segment is missing": _remove(f"{_SEGMENT}.*"),
            "only the log of a segment is missing": _remove(_LOG),
            "the first segment is missing": _remove(f"segments-0/{0:020d}.*"),
            "an empty segment": _file(_LOG, b""),
            "only logs": _remove(
                "segments-0/*index", "segments-0/*.snapshot", "segments-0/leader*"
            ),
            "a segment twice": _duplicate(_LOG, f"segments-0/{24:020d}.log"),
        }.items():
            yield Case(f"{name}, {stop}", _all(change, points), clean)
    dying = f"foo-0.{HEX}-delete"
    for name in (dying, f"foo-0.{HEX}-stray", f"segments-0.{HEX}-future"):
        below = _put(f"{name}/{12:020d}.log", 0, bytes(8))
        change = _all(_copy("segments-0", name), below, _remove(f"{name}/*.index"))
        yield Case(f"a bad base offset in {name}", change)


def _without_quorum() -> Iterator[Case]:
    """Yield log directories of a broker with ZooKeeper, as those that KRaft began on are."""
    properties = names.META_PROPERTIES
    yield Case("no files of KRaft", _remove(METADATA, properties))
    yield Case("no files of KRaft, crash", _remove(METADATA, properties), clean=False)
    old = _file(properties, b"version=0\nbroker.id=0\ncluster.id=a2Fma2FzcGVjLWdvbGRlbg\n")
    yield Case("the files of a broker with ZooKeeper", _all(_remove(METADATA), old))
    unnamed = _file(properties, b"version=0\nbroker.id=0\n")
    yield Case("the files of an old broker", _all(_remove(METADATA), unnamed))


def _leftovers() -> Iterator[Case]:
    for state in names.STATES:
        copies = [
            _duplicate(f"{_SEGMENT}{kind}", f"{_SEGMENT}{kind}{state}")
            for kind in (names.LOG, names.OFFSET_INDEX, names.TIME_INDEX)
        ]
        yield Case(f"{state} beside its segment", _all(*copies))
        yield Case(f"{state} without its segment", _all(*copies, _remove(f"{_SEGMENT}.*x", _LOG)))
        moved = _move(_LOG, f"{_LOG}{state}")
        yield Case(f"only the log became {state}", moved)
    merged = "segments-0/00000000000000000000.log.swap"

    def _merge(logs: Path, _: Path) -> None:
        both = [(logs / f"segments-0/{base:020d}.log").read_bytes() for base in (0, 12)]
        (logs / merged).write_bytes(b"".join(both))

    yield Case("a merged segment to be put in place", _merge)
    yield Case("a merged segment, crash", _all(_merge, _NO_POINTS), clean=False)
    unfinished = _duplicate(f"segments-0/{0:020d}.log", f"segments-0/{0:020d}.log.cleaned")
    yield Case("a merged segment and an unfinished one", _all(_merge, unfinished))
    later = _duplicate(f"segments-0/{24:020d}.log", f"segments-0/{24:020d}.log.cleaned")
    yield Case("a merged segment and a later unfinished one", _all(_merge, later))
    index, snapshot = f"{_SEGMENT}.index", f"{_SEGMENT}.snapshot"
    yield Case("an index to be put in place", _duplicate(index, f"{index}.swap"))
    yield Case("an index without its log", _duplicate(index, f"segments-0/{14:020d}.index"))
    orphan = _duplicate(snapshot, f"segments-0/{14:020d}.snapshot")
    yield Case("a snapshot without its log", orphan)
    yield Case("a number that is no offset", _file(f"segments-0/{2**63:020d}.log", b""))
    yield Case("an index whose number is no offset", _file(f"segments-0/{2**63:020d}.index", b""))
    large = _file(f"segments-0/{2**63:020d}.snapshot", b"")
    yield Case("a snapshot whose number is no offset", large)
    yield Case("a log without number", _file("segments-0/abc.log", b""))
    yield Case("a copy of a log", _duplicate(_LOG, "segments-0/copy of 12.log"))
    yield Case("a log with a short number", _duplicate(_LOG, "segments-0/13.log"))
    yield Case("an index without number", _file("segments-0/abc.index", b""))
    yield Case("a swap without number", _file("segments-0/abc.swap", b""))
    yield Case("a cleaned without number", _file("segments-0/abc.cleaned", b""))
    yield Case("a deleted without number", _file("segments-0/abc.deleted", b""))
    yield Case("a foreign file", _file("segments-0/notes.txt", b"x"))
    yield Case("a backup of a log", _duplicate(_LOG, f"{_LOG}.bak"))
    yield Case("a folder in a partition", lambda logs, _: (logs / "segments-0" / "old").mkdir())
