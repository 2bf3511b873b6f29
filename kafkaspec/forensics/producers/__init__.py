"""Sequence numbers of the producers of a partition: ``read_producers``."""

from __future__ import annotations

from kafkaspec.forensics.producers.reading import RUNS, Producers, by_producer, read_producers
from kafkaspec.forensics.producers.sequences import Follows
from kafkaspec.forensics.producers.verdicts import Break, Verdict

__all__ = ["RUNS", "Break", "Follows", "Producers", "Verdict", "by_producer", "read_producers"]
