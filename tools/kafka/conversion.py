"""Conversion of a log by a broker for an old consumer."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tools.golden.maven import ToolError
from tools.golden.processes import java_command
from tools.golden.versions import Version
from tools.kafka.programs import compile_programs

_SECONDS = 300


def down_convert(
    version: Version, jars: Path, work: Path, cases: Iterable[tuple[int, bytes]]
) -> list[bytes | str]:
    """Run Kafka's ``FileRecords.downConvert`` on each case; there is none from 4.0 on.

    Args:
        version: whose classes.
        jars: of that version.
        work: directory for a file.
        cases: magic to convert to, and entries.

    Returns:
        The entries, or the class of the error.

    Raises:
        ToolError: the program cannot be compiled or ends early.
    """
    classes = compile_programs(version, jars, "DownConvert")
    data = b"".join(struct.pack(">bi", magic, len(case)) + case for magic, case in cases)
    command = java_command(work, [classes, f"{jars}/*"], ("-Xmx512m", *version.jvm_flags))
    done = subprocess.run(
        [*command, "DownConvert", str(work / "case.log")],
        input=data, capture_output=True, timeout=_SECONDS, cwd=work,
    )  # fmt: skip
    if done.returncode:
        raise ToolError(f"DownConvert {version.name}:\n{done.stderr.decode()[-4000:]}")
    return list(_answers(done.stdout))


def _answers(data: bytes) -> Iterable[bytes | str]:
    position = 0
    while position < len(data):
        (size,) = struct.unpack_from(">i", data, position)
        failed = size < 0
        position += 4
        if failed:
            (size,) = struct.unpack_from(">i", data, position)
            position += 4
        answer = data[position : position + size]
        yield answer.decode() if failed else answer
        position += size
