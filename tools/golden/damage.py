"""Damage the end of a log as a power failure does, before a killed broker starts again."""

from __future__ import annotations

from pathlib import Path

from kafkaspec.log.segment import Segment
from tools.golden.model import Damage

_TORN_BYTES = 7
_LEFT_OF_HEADER = 9  # less than the offset and the size of an entry
_ZEROS = 512


def damage(partition: Path, kind: Damage) -> None:
    """Change the last segment of a partition directory."""
    log = max(partition.glob("*.log"))
    data = log.read_bytes()
    match kind:
        case Damage.TORN:
            data = data[:-_TORN_BYTES]
        case Damage.TORN_HEADER:
            last = [batch.position for batch in Segment(data).batches()][-1]
            data = data[: last + _LEFT_OF_HEADER]
        case Damage.ZEROS:
            data += bytes(_ZEROS)
    log.write_bytes(data)
