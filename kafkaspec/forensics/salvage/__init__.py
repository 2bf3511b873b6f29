"""Get back the intact entries of damaged logs, and account for every byte."""

from kafkaspec.forensics.salvage.report import (
    Added,
    Fate,
    LostOffsets,
    OpenInOutput,
    SalvagedPartition,
    SalvagedSegment,
    SalvageReport,
    Stretch,
)
from kafkaspec.forensics.salvage.running import salvage

__all__ = [
    "Added",
    "Fate",
    "LostOffsets",
    "OpenInOutput",
    "SalvageReport",
    "SalvagedPartition",
    "SalvagedSegment",
    "Stretch",
    "salvage",
]
