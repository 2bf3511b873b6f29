"""Ask the loader of a broker of 4.1 or later, without a broker, what it makes of a log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.brokers.programs import Program, decoded
from tools.brokers.versions import Version

SINCE = (4, 1)
"""The first release with a loader in Java that has this interface."""
_OTHERS = (".index", ".timeindex", ".txnindex", "leader-epoch-checkpoint")


@dataclass(frozen=True)
class Loaded:
    """The state of a log after the loader.

    Attributes:
        error: class and text of what it refused the log for, "" if it loaded it.
        end: log end offset.
        size: bytes of the log: where recovery cut it.
        bases: base offsets of the segments.
        files: content of the other files of the log, by name.
    """

    error: str
    end: int
    size: int
    bases: tuple[int, ...]
    files: dict[str, bytes]


INDEXES = ("index", "timeindex")
"""The indexes of a segment after a crash."""


def load(
    version: Version,
    work: Path,
    interval: int,
    cases: Iterable[bytes],
    indexes: Sequence[str] = INDEXES,
) -> list[Loaded]:
    """Load each case as the only segment of a partition, after a crash.

    Args:
        version: whose loader.
        work: an empty directory.
        interval: ``index.interval.bytes``.
        cases: logs.
        indexes: extensions of its other files, which are empty. Of one that is missing a loader
            takes another way.

    Raises:
        ToolError: the program cannot be compiled or ends early.
    """
    with Program(version, work, "LoaderJudge") as program:
        return [_loaded(*program.ask("LoaderJudge", case, interval, *indexes)) for case in cases]


def _loaded(verdict: list[str], *files: list[str]) -> Loaded:
    if verdict[0] == "refused":
        return Loaded(": ".join(verdict[1:]), -1, -1, (), {})
    logs = {name: int(size) for name, size, _ in files if name.endswith(".log")}
    bases = tuple(int(Path(name).stem) for name in sorted(logs))
    others = {name: decoded(data) or b"" for name, _, data in files if name.endswith(_OTHERS)}
    return Loaded("", int(verdict[1]), sum(logs.values()), bases, others)
