"""Ask Kafka's own classes what they read from indexes, snapshots, control records and varints."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from tools.golden.maven import ToolError
from tools.golden.processes import java_command
from tools.golden.versions import Version
from tools.kafka.programs import compile_programs

SINCE, UNTIL = (4, 0), (4, 4)
"""Releases whose classes lie where ``FormatJudge`` looks for them: from, before."""
_SECONDS = 300


def judge(
    version: Version, jars: Path, work: Path, base_offset: int, cases: Iterable[tuple[str, bytes]]
) -> list[str | None]:
    """Return the numbers that Kafka reads from each case, a type and bytes, or None.

    Raises:
        ToolError: the program cannot be compiled or ends early.
    """
    classes = compile_programs(version, jars, "FormatJudge")
    command = java_command(work, [classes, f"{jars}/*"], version.jvm_flags)
    text = "".join(f"{kind}\t{data.hex()}\n" for kind, data in cases)
    done = subprocess.run(
        [*command, "FormatJudge", str(work), str(base_offset)],
        input=text, capture_output=True, text=True, timeout=_SECONDS, cwd=work,
    )  # fmt: skip
    if done.returncode:
        raise ToolError(f"FormatJudge {version.name}:\n{done.stderr[-4000:]}")
    answers = (line.split("\t", 1) for line in done.stdout.splitlines())
    return [text if verdict == "accept" else None for verdict, text in answers]
