"""Check a producer snapshot for consistency, also with its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from kafkaspec.analysis.findings import Area, Finding, FindingReason, Severity


class ProducerState(Protocol):
    """An entry of a producer snapshot."""

    @property
    def producer_id(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def offset_delta(self) -> int: ...
    @property
    def current_txn_first_offset(self) -> int: ...


def check_snapshot(
    entries: Sequence[ProducerState], name_offset: int | None, file: str
) -> Iterator[Finding]:
    """Check the producers of a snapshot.

    Args:
        entries: the producers.
        name_offset: offset in the file name, which is above all offsets in the snapshot.
        file: path of the snapshot.
    """

    def found(message: str) -> Finding:
        return Finding(
            file,
            Severity.WARNING,
            Area.PRODUCER_SNAPSHOT,
            FindingReason.SNAPSHOT_CONTENT,
            message,
        )

    seen: set[int] = set()
    for entry in entries:
        producer = f"producer {entry.producer_id}"
        if entry.producer_id in seen:
            yield found(f"{producer} is listed twice")
        seen.add(entry.producer_id)
        if name_offset is not None and entry.last_offset >= name_offset:
            yield found(
                f"{producer} has last offset {entry.last_offset}, which is not below offset "
                f"{name_offset} of the file name"
            )
        if name_offset is not None and entry.current_txn_first_offset >= name_offset:
            yield found(
                f"{producer} has an open transaction from offset "
                f"{entry.current_txn_first_offset}, which is not below offset {name_offset} of the "
                f"file name"
            )
        if entry.offset_delta < 0 or entry.offset_delta > max(entry.last_offset, 0):
            yield found(
                f"{producer} has a last batch of {entry.offset_delta + 1} offsets that ends at "
                f"offset {entry.last_offset}"
            )
