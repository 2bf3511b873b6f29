"""Will a broker start on log directories, and what will it do to them: ``diagnose``."""

from __future__ import annotations

from kafkaspec.forensics.doctor.diagnosis import diagnose
from kafkaspec.forensics.doctor.troubles import (
    Diagnosis,
    DirectoryFate,
    Effect,
    LossKind,
    PartitionLoss,
    SegmentOutcome,
    Trouble,
    TroubleKind,
    losses,
)

__all__ = [
    "Diagnosis",
    "DirectoryFate",
    "Effect",
    "LossKind",
    "PartitionLoss",
    "SegmentOutcome",
    "Trouble",
    "TroubleKind",
    "diagnose",
    "losses",
]
