"""Peak memory of whole commands on one large segment, without the pages of the file itself."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.data import MIB, Shape, segment
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from kafkaspec.files.names import LOG, segment_name

_FULL = 1024 * MIB
_MOST = 200.0
_PAUSE = 0.005
_COMMANDS: dict[str, tuple[str, ...]] = {
    "verify": (),
    "dump": ("--format", "json"),
    "export": ("--to", "parquet", "-o", "{out}.parquet"),
    "convert": ("--compression", "lz4", "-o", "{out}"),
    "convert --batch-bytes": ("--batch-bytes", "16384", "-o", "{out}"),
}


def peak(command: Sequence[str]) -> float | None:
    """MiB that a process has at most beside mapped files; None where the system does not say."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    status = Path(f"/proc/{process.pid}/status")
    most = 0
    while process.poll() is None:
        try:
            lines = status.read_text().splitlines()
        except OSError:
            break
        own = (line.split()[1] for line in lines if line.startswith(("RssAnon:", "RssShmem:")))
        most = max(most, sum(map(int, own)))
        time.sleep(_PAUSE)
    code = process.wait()
    if code:
        raise AssertionError(f"{command[-1]} ended with {code}")
    return most / 1024 if most else None


def run(settings: Settings) -> Outcome:
    """Records of 100 B in batches of 16 KiB, not compressed, on all cores."""
    log, out = settings.work / segment_name(0, LOG), settings.work / "memory-0"
    log.write_bytes(segment(Shape(100), settings.size(_FULL)).data)
    table = Table(
        f"Peak memory on {number(log.stat().st_size / MIB)} MiB",
        ("command", "MiB"),
        notes=[
            f"Anonymous memory of the whole process, sampled every {_PAUSE * 1000:.0f} ms: pages of"
            " mapped files and of the cache do not count."
        ],
    )
    outcome = Outcome([table])
    for name, options in _COMMANDS.items():
        arguments = [item.format(out=out) for item in options]
        command = [sys.executable, "-m", "kafkaspec", name.split()[0], str(log), *arguments]
        most = peak(command)
        table.rows.append((f"`{name}`", "-" if most is None else number(most)))
        why = "" if most is not None else "the system does not say"
        what = f"peak memory of `{name}`, MiB"
        outcome.figures.append(Figure(what, most, _MOST, at_most=True, unit="MiB", why=why))
        shutil.rmtree(out, ignore_errors=True)
        Path(f"{out}.parquet").unlink(missing_ok=True)
    log.unlink()
    return outcome


CASE = Case("memory", "Peak memory of commands", run)
