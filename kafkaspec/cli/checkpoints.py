"""Show what happened to the checkpoints of a log directory that was written again."""

from __future__ import annotations

from typing import Final

from kafkaspec.cli.console import count_text, warn
from kafkaspec.cli.report import Reporter, line
from kafkaspec.writing.carried import Carried, listed_counts

CHECKPOINT: Final = line("kafkaspec.writing.carried:CarriedEntry")
"""The line of an entry."""


def report_carried(carried: Carried, report: Reporter) -> None:
    """Print each entry as JSON, or how many had which fate; name checkpoints that are broken."""
    for error in carried.errors:
        warn(f"not carried: {error}")
    for entry in carried.entries:
        report.line("checkpoint", entry)
    for file, carriage, why, count in listed_counts(carried):
        partitions = count_text(count, "partition")
        report.say(f"{file}: {carriage} for {partitions}" + (f"; {why}" if why else ""))
