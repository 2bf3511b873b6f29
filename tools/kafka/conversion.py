"""Conversion of a log by a broker for an old consumer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tools.brokers.programs import Program, decoded
from tools.brokers.versions import Version


def down_convert(
    version: Version, work: Path, cases: Iterable[tuple[int, bytes]]
) -> list[bytes | str]:
    """Run Kafka's ``FileRecords.downConvert`` on each case; there is none from 4.0 on.

    Args:
        version: whose classes.
        work: directory for a file.
        cases: magic to convert to, and entries.

    Returns:
        The entries, or the class of the error.

    Raises:
        ToolError: the program cannot be compiled or ends early.
    """
    with Program(version, work, "DownConvert", flags=["-Xmx512m"]) as program:
        answers = [program.ask("DownConvert", magic, data)[0] for magic, data in cases]
    return [text if how == "refused" else decoded(text) or b"" for how, text in answers]
