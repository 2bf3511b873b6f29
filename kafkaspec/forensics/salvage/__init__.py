"""Get back the intact entries of damaged logs, and account for every byte."""

from kafkaspec.forensics.salvage.report import (
    Added,
    Fate,
    LostOffsets,
    OpenTransaction,
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
    "OpenTransaction",
    "SalvageReport",
    "SalvagedPartition",
    "SalvagedSegment",
    "Stretch",
    "salvage",
]
