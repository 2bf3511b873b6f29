"""Verify by columns, in threads, and batch by batch, which is the reference."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kafkaspec.analysis import Finding, verification
from kafkaspec.analysis.verification import verify_events
from kafkaspec.analysis.verify_segment import VerifyChecks
from kafkaspec.errors import KafkaSpecError

TINY = 1 << 10
"""Bytes of a part, so that a small segment has several."""

PARTS: Iterator[dict[str, Any]] = cycle(
    [{"jobs": 3}, {"mapped": False}, {"jobs": 3, "mapped": False}]
)
"""Options of runs by parts, in turn: all of them for each log would show no more."""

Told = list[Any]
"""Everything that a run says, in its order."""


def told(path: Path, **options: Any) -> Told:
    """Return the events of ``verify`` with these options of a run, and the bytes it has read."""
    read: dict[str, int] = {}

    def progress(count: int, file: str) -> None:
        assert count >= 0
        read[file] = read.get(file, 0) + count

    found: Told = []
    with patch.object(verification, "VerifyChecks", partial(VerifyChecks, **options)):
        try:
            for event in verify_events(path, progress=progress):
                kind = "finding" if isinstance(event, Finding) else "file"
                found.append((kind, event.as_dict()))
        except KafkaSpecError as error:
            found.append(str(error))
    return [*found, {file: count for file, count in read.items() if count}]


def same_in_all_ways(path: Path) -> Told:
    """Verify a path in all ways, check that they say the same, and return that."""
    wanted = told(path, by_columns=False)
    assert told(path) == wanted
    options = next(PARTS)
    assert told(path, part_bytes=TINY, **options) == wanted, options
    return wanted
