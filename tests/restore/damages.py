"""A log directory with a partition for each reason for which something is not delivered."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import kafkaspec as ks
from kafkaspec.files import names
from kafkaspec.files.checkpoints import offset_checkpoint
from kafkaspec.files.checkpoints.offset_checkpoint import PartitionOffset
from kafkaspec.log.missing import MissingWhy
from kafkaspec.restore.restore_plan import RestorePlan, RestoreReason
from tests.goldens import GOLDEN
from tools.golden.accidents import happen

_LOGS: Final = GOLDEN / "4.3.1" / "logs"
_COMPACTED: Final = "compacted-0"
_BEYOND: Final = "9" * 20


def _segments(place: Path) -> list[Path]:
    return sorted(place.glob(f"*{names.LOG}"))


def _without(place: Path, number: int, pattern: str) -> None:
    """Remove the files of a segment that match."""
    base = _segments(place)[number].stem
    for path in place.glob(f"{base}{pattern}"):
        path.unlink()


def _accident(place: Path, name: str, number: int) -> None:
    path = _segments(place)[number]
    data = path.read_bytes()
    with ks.Segment(path) as segment:
        positions = [*(batch.position for batch in segment.batches()), len(data)]
    path.write_bytes(happen(name, data, positions))


def _log_start(place: Path, offset: int) -> None:
    path = place.parent / names.LOG_START_OFFSETS
    old = offset_checkpoint.parse(path.read_bytes()) if path.exists() else []
    topic = place.name.rpartition("-")[0]
    path.write_bytes(offset_checkpoint.serialize([*old, PartitionOffset(topic, 0, offset)]))


def _before_first(place: Path) -> None:
    _without(place, 0, "*")
    _log_start(place, 1)


def _copy(place: Path) -> None:
    shutil.copytree(place, place.with_name(f"{place.name}.{'0' * 32}-delete"))


def _leftover(place: Path) -> None:
    path = _segments(place)[0]
    shutil.copy(path, path.with_name(f"{path.name}.deleted"))


DAMAGES: Final[dict[MissingWhy, Callable[[Path], object]]] = {
    MissingWhy.CUT: lambda place: _without(place, 1, "*"),
    MissingWhy.START: lambda place: _without(place, 0, names.LOG),
    MissingWhy.END: lambda place: _without(place, -1, names.LOG),
    MissingWhy.TAIL: lambda place: _accident(place, "noise at the end", -1),
    MissingWhy.LOG_START: _before_first,
    MissingWhy.DELETED: lambda place: _log_start(place, 14),
    MissingWhy.COMPACTED: lambda _: None,
    MissingWhy.COPY: _copy,
    MissingWhy.FOLDER: lambda place: (place / "lost+found").mkdir(),
    MissingWhy.NAME: lambda place: shutil.copy(
        _segments(place)[0], place / f"{_BEYOND}{names.LOG}"
    ),
    MissingWhy.BROKEN: lambda place: _accident(place, "a bit in the middle", 1),
    MissingWhy.BEHIND: lambda place: _accident(place, "zeros for the framing", 1),
    MissingWhy.LEFTOVER: _leftover,
}
"""What to do to the directory of a partition."""


def topic_of(why: MissingWhy) -> str:
    """Return the name of the topic that is damaged in this way."""
    return f"damage-{why}"


_BELOW_THE_START: Final = {topic_of(why) for why in (MissingWhy.DELETED, MissingWhy.LOG_START)}
"""Topics of which no broker delivers, or need have, the first records."""


def damaged_logs(top: Path) -> dict[str, list[ks.Record]]:
    """Write the log directory; return the records before the damage, by topic."""
    whole = {}
    for why, change in DAMAGES.items():
        place = top / f"{topic_of(why)}-0"
        origin = _COMPACTED if why is MissingWhy.COMPACTED else "segments-0"
        shutil.copytree(_LOGS / origin, place)
        (place / names.PARTITION_METADATA).unlink()  # each is another topic
        with ks.Partition(place) as log:
            whole[topic_of(why)] = list(log.records())
        change(place)
    return whole


def assert_served_or_named(
    plan: RestorePlan, whole: Mapping[str, Sequence[ks.Record]], logs: Path
) -> None:
    """Check that what is restored is what was there, and that the plan names all else.

    Args:
        whole: records before the damage, by topic.
        logs: the restored log directory.
    """
    for topic, records in whole.items():
        with ks.Partition(logs / f"{topic}-0") as log:
            restored = {each.offset: each for each in log.records()}
        named = {
            offset
            for each in plan.findings
            if each.topic == topic and each.reason is RestoreReason.LOST_OFFSETS and each.offsets
            for offset in range(each.offsets.start, each.offsets.end or each.offsets.start)
        }
        (item,) = (each for each in plan.partitions if each.topic == topic)
        first = item.log_start if topic in _BELOW_THE_START else 0
        wanted = {
            each.offset: each
            for each in records
            if each.offset not in named and each.offset >= first
        }
        assert restored == wanted, topic
