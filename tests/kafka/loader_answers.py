"""What the loader of a broker makes of a partition directory, by Kafka and by kafkaspec."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from kafkaspec.log.partition import Partition
from kafkaspec.writing.index_rules import Rule
from kafkaspec.writing.leader_epochs import LeaderEpochs
from kafkaspec.writing.loading import Loader, read_snapshots
from kafkaspec.writing.profiles import get_profile
from kafkaspec.writing.rebuild_run import Settings
from kafkaspec.writing.rebuilt import Recovery
from tools.kafka.loader import Loaded

INDEX_INTERVAL_BYTES = 400


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


def write(files: dict[str, bytes], directory: Path) -> Path:
    """Write the files of a partition into an empty directory."""
    directory.mkdir(exist_ok=True, parents=True)
    for old in directory.iterdir():
        old.unlink()
    for name, data in files.items():
        (directory / name).write_bytes(data)
    return directory


def theirs(loaded: Loaded, files: dict[str, bytes]) -> Answer:
    """Return the answer of Kafka's loader."""
    if loaded.error:
        return Answer("refuses")
    bases = {int(name[:20]) for name in files if name.endswith(".log")}
    deleted = set(loaded.sizes) == {0} and not loaded.end
    if not set(loaded.sizes) <= bases and not deleted:
        return Answer("splits")
    return Answer("loads", loaded.end, tuple(sorted(loaded.sizes.items())), loaded.producers)


def ours(directory: Path, *, clean: bool) -> Answer:
    """Return our answer. The clock stands at 0, as in the judge."""
    profile = get_profile("4.3")
    partition = Partition(directory)
    segments = list(zip(partition.base_offsets, partition.segment_paths, strict=True))
    settings = Settings(Rule.RECOVERY, profile, INDEX_INTERVAL_BYTES, lambda _bytes, _name: None)
    epochs = LeaderEpochs(profile.epoch_file, None, partition.first_base_offset or 0)
    snapshots = read_snapshots(partition.snapshot_paths)
    load = Loader(segments, snapshots, settings, epochs, clean=clean, now=0).load()
    if load.error is not None:
        return Answer("refuses")
    kept = [item for item in load.segments if item.recovery is not Recovery.REMOVES]
    if any(item.recovery is Recovery.SPLITS for item in kept):
        return Answer("splits")
    sizes = ((0, 0),) if load.deletes else tuple((item.base_offset, item.end) for item in kept)
    return Answer("loads", load.end_offset, sizes, tuple(sorted(load.producers)))
