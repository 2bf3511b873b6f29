"""Ask the loader of a broker of 4.1 or later, without a broker, what it makes of a log."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.golden.maven import ToolError
from tools.golden.processes import java_command
from tools.golden.versions import Version
from tools.kafka.programs import compile_programs

SINCE = (4, 1)
"""The first release with a loader in Java that has this interface."""
_SECONDS = 900


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
    jars: Path,
    work: Path,
    interval: int,
    cases: Iterable[bytes],
    indexes: Sequence[str] = INDEXES,
) -> list[Loaded]:
    """Load each case as the only segment of a partition, after a crash.

    Args:
        version: whose loader.
        jars: of that version.
        work: an empty directory.
        interval: ``index.interval.bytes``.
        cases: logs.
        indexes: extensions of its other files, which are empty. Of one that is missing a loader
            takes another way.

    Raises:
        ToolError: the program cannot be compiled or ends early.
    """
    classes = compile_programs(version, jars, "LoaderJudge")
    command = java_command(work, [classes, f"{jars}/*"], version.jvm_flags)
    data = b"".join(struct.pack(">i", len(case)) + case for case in cases)
    done = subprocess.run(
        [*command, "LoaderJudge", str(work / "t-0"), str(interval), *indexes],
        input=data, capture_output=True, timeout=_SECONDS, cwd=work,
    )  # fmt: skip
    if done.returncode:
        raise ToolError(f"LoaderJudge {version.name}:\n{done.stderr.decode()[-4000:]}")
    return [_loaded(line.split("\t")) for line in done.stdout.decode().splitlines()]


def _loaded(fields: list[str]) -> Loaded:
    if fields[0] == "error":
        return Loaded(": ".join(fields[1:3]), -1, -1, (), {})
    pairs = dict(zip(fields[2::2], fields[3::2], strict=True))
    logs = {name: int(text) for name, text in pairs.items() if name.endswith(".log")}
    bases = tuple(int(Path(name).stem) for name in sorted(logs))
    files = {
        name: bytes.fromhex(text)
        for name, text in pairs.items()
        if name.endswith((".index", ".timeindex", ".txnindex", "leader-epoch-checkpoint"))
    }
    return Loaded("", int(fields[1]), sum(logs.values()), bases, files)
