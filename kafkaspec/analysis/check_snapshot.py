"""A producer snapshot against itself and its name."""

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
    """Findings about the producers of a snapshot.

    Args:
        entries: the producers.
        name_offset: offset in the file name, which all that it knows of precedes.
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
                f"{producer} has last offset {entry.last_offset}, but the file is named by "
                f"offset {name_offset}, which is above all in it"
            )
        if name_offset is not None and entry.current_txn_first_offset >= name_offset:
            yield found(
                f"{producer} has an open transaction from offset "
                f"{entry.current_txn_first_offset}, but the file is named by offset {name_offset}"
            )
        if entry.offset_delta < 0 or entry.offset_delta > max(entry.last_offset, 0):
            yield found(
                f"{producer} has a last batch of {entry.offset_delta + 1} offsets that ends at "
                f"offset {entry.last_offset}"
            )
