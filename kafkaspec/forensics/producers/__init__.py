"""Sequence numbers of the producers of a partition: ``read_producers``."""

from __future__ import annotations

from kafkaspec.forensics.producers.reading import (
    RUNS,
    Producer,
    Producers,
    by_producer,
    read_producers,
)
from kafkaspec.forensics.producers.sequences import Break, Follows, ProducerVerdict

__all__ = [
    "RUNS",
    "Break",
    "Follows",
    "Producer",
    "ProducerVerdict",
    "Producers",
    "by_producer",
    "read_producers",
]
