"""Have Kafka's own cleaner and retention work on a partition directory, without a broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.brokers.programs import Program
from tools.brokers.versions import Version

MAP_BYTES: Final = 1 << 20
IO_BYTES: Final = (512 << 10) // 2
"""Half of ``log.cleaner.io.buffer.size`` is what one of one threads reads into."""
MAX_IO_BYTES: Final = 1_048_588
LOAD_FACTOR: Final = 0.9
DAY_MS: Final = 86_400_000


@dataclass(frozen=True)
class Cleaned:
    """The result of a pass of the cleaner.

    Attributes:
        first_dirty: first offset that it had not reached.
        first_uncleanable: first offset that it leaves.
        clean_bytes: bytes before the first.
        cleanable_bytes: bytes between them.
        needed: whether ``max.compaction.lag.ms`` is over.
        end: what goes into its checkpoint; None if it failed, or was not run.
        error: class and text of what it failed with, "" if it did not.
        seconds: of CPU of its thread that cleaning took.
    """

    first_dirty: int
    first_uncleanable: int
    clean_bytes: int
    cleanable_bytes: int
    needed: bool
    end: int | None
    error: str
    seconds: float


class Cleaner:
    """A running program, as a context manager that ends it.

    Args:
        version: whose cleaner.
        work: an empty directory.
    """

    def __init__(self, version: Version, work: Path) -> None:
        self._version = version
        flags = ["-Xmx1g"]
        self._program = Program(version, work, "CleanerJudge", flags=flags)

    def __enter__(self) -> Cleaner:
        self._program.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._program.__exit__(*error)

    def clean(
        self,
        directory: Path,
        now: int,
        settings: Mapping[str, str],
        *,
        checkpoint: int | None = None,
        map_bytes: int = MAP_BYTES,
        io_bytes: int = IO_BYTES,
        log_start: int = 0,
        high_watermark: int | None = None,
        expiration_ms: int = DAY_MS,
    ) -> Cleaned:
        """Clean a partition directory in place; a ``map_bytes`` of 0 only says what is dirty."""
        limits, *rest = self._program.ask(
            "CleanerJudge", "clean", str(directory), now, log_start, high_watermark, expiration_ms,
            checkpoint, map_bytes, io_bytes, MAX_IO_BYTES, str(LOAD_FACTOR),
            *self._pairs(settings),
        )  # fmt: skip
        end, error, seconds = None, "", 0.0
        for answer in rest:
            if answer[0] == "cleaned":
                end, seconds = int(answer[1]), float(answer[2])
            else:
                error = ": ".join(answer[1:])
        first, uncleanable, clean, cleanable = map(int, limits[1:5])
        needed = limits[5] == "true"
        return Cleaned(first, uncleanable, clean, cleanable, needed, end, error, seconds)

    def retain(
        self,
        directory: Path,
        now: int,
        settings: Mapping[str, str],
        *,
        log_start: int = 0,
        high_watermark: int | None = None,
    ) -> tuple[int, int]:
        """Delete old segments in a partition directory; return its log start and end offset."""
        ((_, start, end),) = self._program.ask(
            "CleanerJudge", "retain", str(directory), now, log_start, high_watermark, DAY_MS,
            *self._pairs(settings),
        )  # fmt: skip
        return int(start), int(end)

    def _pairs(self, settings: Mapping[str, str]) -> list[str]:
        small = "segment.bytes" if self._version.release < (4, 1) else "internal.segment.bytes"
        return [
            f"{small if name == 'segment.bytes' else name}={value}"
            for name, value in settings.items()
        ]
