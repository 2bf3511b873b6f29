"""The result of a pass of the cleaner, which ``--help`` describes where there is no PySpark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.missing import Missing
from kafkaspec.writing.carried import CarriedEntry

__all__ = ["CleanedLog"]


@dataclass(frozen=True, slots=True)
class CleanedLog:
    """The result of a pass of the cleaner on a log.

    Attributes:
        directory: the partition.
        topic: its topic, None if its name has none.
        partition: its number, None if its name has none.
        records: number of records in the segments that are cleaned.
        removed: number of those that go, by rule.
        end_offset: what goes into the checkpoint of the cleaner.
        fails: what the cleaner of a broker fails at; None if it does not.
        not_yet: why a broker would not clean it now; None if it would.
        notes: what to know about the settings.
        checkpoints: what happened to the entries of the log in the checkpoints beside it.
        missing: what the log does not deliver, see ``kafkaspec.log.missing``.
        error: why nothing could be done; None if it could.
    """

    directory: str
    topic: str | None
    partition: int | None
    records: int = 0
    removed: Mapping[str, int] | None = None
    end_offset: int = 0
    fails: str | None = None
    not_yet: str | None = None
    notes: tuple[str, ...] = ()
    checkpoints: tuple[CarriedEntry, ...] = ()
    missing: tuple[Missing, ...] = ()
    error: KafkaSpecError | None = None
