"""Check a producer snapshot against itself and its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkaspec._generated.python.model.producer_snapshot import ProducerEntry


def check_snapshot(entries: Sequence[ProducerEntry], name_offset: int | None) -> Iterator[str]:
    """Yield a message for each contradiction.

    Args:
        name_offset: offset in the file name, which is above all offsets in the snapshot.
    """
    seen: set[int] = set()
    for entry in entries:
        producer = f"producer {entry.producer_id}"
        if entry.producer_id in seen:
            yield f"{producer} is listed twice"
        seen.add(entry.producer_id)
        for name, offset in (
            ("last offset", entry.last_offset),
            ("an open transaction from offset", entry.current_txn_first_offset),
        ):
            if name_offset is not None and offset >= name_offset:
                yield (
                    f"{producer} has {name} {offset}, which is not below offset {name_offset} of "
                    "the file name"
                )
        if entry.offset_delta < 0 or entry.offset_delta > max(entry.last_offset, 0):
            yield (
                f"{producer} has a last batch of {entry.offset_delta + 1} offsets that ends at "
                f"offset {entry.last_offset}"
            )
