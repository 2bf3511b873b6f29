"""Ask the loader of a broker of 4.1 or later, without a broker, what it makes of a log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from kafkaspec.broker.actions import Recovery
from kafkaspec.broker.loading import Loader
from kafkaspec.broker.profiles import Profile
from kafkaspec.broker.segment_run import RunSettings
from kafkaspec.files import names
from kafkaspec.files.snapshots import find_snapshots
from kafkaspec.log.partition import Partition
from tools.brokers.programs import Program, decoded
from tools.brokers.versions import Version

SINCE = (4, 1)
"""The first release with a loader in Java that has this interface."""

Files = Mapping[str, bytes]
"""The files of a partition directory by name."""


@dataclass(frozen=True)
class Loaded:
    """The state of a log after the loader.

    Attributes:
        error: class and text of what it refused the log for, "" if it loaded it.
        end: log end offset.
        sizes: bytes of each segment that is left, by base offset.
        producers: ids of the producers that it knows.
        files: content of the other files, by name.
    """

    error: str
    end: int
    sizes: dict[int, int]
    producers: tuple[int, ...]
    files: dict[str, bytes]


class Answer(NamedTuple):
    """The outcome.

    Attributes:
        outcome: ``loads``, ``refuses`` or ``splits``.
        end: log end offset, if it loads.
        sizes: bytes of each segment that is left, by base offset, if it loads.
        producers: ids of the producers that the broker knows, if it loads.
    """

    outcome: str
    end: int | None = None
    sizes: tuple[tuple[int, int], ...] = ()
    producers: tuple[int, ...] = ()

    @classmethod
    def of_json(cls, value: list[Any]) -> Answer:
        """Return the answer that ``json`` wrote."""
        outcome, end, sizes, producers = value
        return cls(outcome, end, tuple((base, size) for base, size in sizes), tuple(producers))


def load(
    version: Version, work: Path, interval: int, cases: Iterable[tuple[Files, bool]]
) -> Iterator[Loaded]:
    """Load each partition directory after a stop; yield the result.

    Args:
        version: whose loader.
        work: an empty directory.
        interval: ``index.interval.bytes``.
        cases: files of a directory, and whether the broker was stopped cleanly.

    Raises:
        ToolError: the program cannot be compiled or ends early.
    """
    with Program(version, work, "LoaderJudge", flags=["-Xmx512m"]) as program:
        for files, clean in cases:
            given = [item for name in sorted(files) for item in (name, files[name])]
            stop = "clean" if clean else "unclean"
            yield _loaded(*program.ask("LoaderJudge", interval, stop, *given))


def crashed(log: bytes, base_offset: int = 0) -> dict[str, bytes]:
    """Return the files of a partition with one segment after a crash: its indexes are empty."""
    name = names.SegmentName(base_offset, names.LOG)
    empty = {name.sibling(kind): b"" for kind in (names.OFFSET_INDEX, names.TIME_INDEX)}
    return {name.sibling(names.LOG): log, **empty}


def _loaded(verdict: list[str], producers: list[str], *files: list[str]) -> Loaded:
    if verdict[0] == "refused":
        return Loaded(": ".join(verdict[1:]), -1, {}, (), {})
    sizes = {int(Path(name).stem): int(size) for name, size, _ in files if name.endswith(names.LOG)}
    others = {name: decoded(data) or b"" for name, _, data in files if not name.endswith(names.LOG)}
    ids = tuple(int(item) for item in producers[1:])
    return Loaded("", int(verdict[1]), sizes, ids, others)


def answer(loaded: Loaded, files: Files) -> Answer:
    """Return the answer of Kafka's loader about these files."""
    if loaded.error:
        return Answer("refuses")
    bases = {int(name.removesuffix(names.LOG)) for name in files if name.endswith(names.LOG)}
    deleted = set(loaded.sizes) == {0} and not loaded.end
    if not set(loaded.sizes) <= bases and not deleted:
        return Answer("splits")
    return Answer("loads", loaded.end, tuple(sorted(loaded.sizes.items())), loaded.producers)


def predict(directory: Path, profile: Profile, interval: int, *, clean: bool) -> Answer:
    """Return our answer under the rules of a profile. The clock stands at 0, as in the judge."""
    partition = Partition(directory)
    segments = list(zip(partition.base_offsets, partition.segment_paths, strict=True))
    snapshots = find_snapshots(partition.snapshot_paths)
    load = Loader(segments, snapshots, RunSettings(profile, interval), clean=clean, now=0).load()
    if load.error is not None:
        return Answer("refuses")
    kept = [item for item in load.segments if item.recovery is not Recovery.REMOVES]
    if any(item.recovery is Recovery.SPLITS for item in kept):
        return Answer("splits")
    sizes = ((0, 0),) if load.deletes else tuple((item.base_offset, item.end) for item in kept)
    return Answer("loads", load.end_offset, sizes, tuple(sorted(load.producers)))
