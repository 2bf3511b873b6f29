"""Text checkpoints of a log directory: a version, a count, and a line for each partition."""

from __future__ import annotations

from pathlib import Path


def read_offsets(path: Path) -> dict[tuple[str, int], int]:
    """Offsets by topic and partition of an ``OffsetCheckpointFile``.

    A file that is missing or malformed says nothing: {}. Kafka would refuse to start with a
    malformed one; here it only serves to know where a log starts.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        if not lines or lines[0].strip() != "0" or int(lines[1]) != len(lines) - 2:
            return {}
        return {
            (topic, int(partition)): int(offset)
            for topic, partition, offset in (line.split() for line in lines[2:])
        }
    except (OSError, ValueError, IndexError):
        return {}
