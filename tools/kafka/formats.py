"""Ask Kafka's own classes what they read from indexes, snapshots, control records and varints."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tools.brokers.programs import Program
from tools.brokers.versions import Version

SINCE, UNTIL = (4, 0), (4, 4)
"""Releases whose classes lie where ``FormatJudge`` looks for them: from, before."""


def judge(
    version: Version, work: Path, base_offset: int, cases: Iterable[tuple[str, bytes]]
) -> list[str | None]:
    """Return the numbers that Kafka reads from each case, a type and bytes, or None.

    Raises:
        ToolError: the program cannot be compiled or ends early.
    """
    with Program(version, work, "FormatJudge") as program:
        answers = [program.ask("FormatJudge", kind, data, base_offset)[0] for kind, data in cases]
    return [text if how == "read" else None for how, text in answers]
