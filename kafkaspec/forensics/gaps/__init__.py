"""Offsets of a partition that no consumer gets, and why: ``read_gaps``."""

from __future__ import annotations

from kafkaspec.forensics.gaps.ranges import GAPS, LEGAL, GapKind, Gaps, Why
from kafkaspec.forensics.gaps.reading import read_gaps

__all__ = ["GAPS", "LEGAL", "GapKind", "Gaps", "Why", "read_gaps"]
