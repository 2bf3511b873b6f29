"""What kafka-python reads of segments, counted record by record."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from kafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]


@dataclass
class Counted:
    """The records of a partition, one by one."""

    records: int = 0
    batches: int = 0
    tombstones: int = 0
    null_keys: int = 0
    keys: Counter[bytes] = field(default_factory=Counter)
    sizes: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    times: list[int] = field(default_factory=list)

    @property
    def steps(self) -> list[int]:
        """How far each timestamp is below that of the record before."""
        pairs = zip(self.times, self.times[1:], strict=False)
        return [before - after for before, after in pairs if after < before]


def counted(directory: Path) -> Counted:
    """Count what is in the segments of a partition."""
    found = Counted()
    for path in sorted(directory.glob("*.log")):
        source = MemoryRecords(path.read_bytes())
        while source.has_next():
            _add(found, source.next_batch())
    return found


def _add(found: Counted, batch: object) -> None:
    found.batches += 1
    if getattr(batch, "is_control_batch", False):
        return
    for record in batch:  # type: ignore[attr-defined]
        found.records += 1
        found.null_keys += record.key is None
        found.tombstones += record.value is None and record.key is not None
        if record.key is not None:
            found.keys[bytes(record.key)] += 1
            found.sizes["key"].append(len(record.key))
        if record.value is not None:
            found.sizes["value"].append(len(record.value))
        headers = sum(len(name.encode()) + len(value or b"") for name, value in record.headers)
        content = len(record.key or b"") + len(record.value or b"")
        found.sizes["record"].append(content + headers)
        if record.timestamp not in (None, -1):
            found.times.append(record.timestamp)
