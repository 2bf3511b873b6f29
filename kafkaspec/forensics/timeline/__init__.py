"""Transactions of a partition in the order of their offsets: ``read_timeline``."""

from __future__ import annotations

from kafkaspec.forensics.timeline.indexes import IndexFinding
from kafkaspec.forensics.timeline.reading import TIMELINE, Timeline, read_timeline
from kafkaspec.log.transactions import Outcome

__all__ = ["TIMELINE", "IndexFinding", "Outcome", "Timeline", "read_timeline"]
