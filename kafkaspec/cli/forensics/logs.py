"""What commands share that read the history of partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from kafkaspec.cli.console import warn
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.inputs import Inputs
from kafkaspec.codecs import DEFAULT_CODEC
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.names import parse_partition
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment

_MOST_ERRORS: Final = 10
"""Errors of a log that are shown one by one."""


def place_of(log: Segment | Partition) -> dict[str, Any]:
    """Return topic and partition of a log, by the name of its directory; null without one."""
    home = log.path
    if isinstance(log, Segment):
        home = None if home is None else home.absolute().parent
    parsed = None if home is None else parse_partition(home.absolute().name)
    return {
        "topic": None if parsed is None else parsed.topic,
        "partition": None if parsed is None else parsed.partition,
    }


class Findings:
    """The logs of a command, what was found in them, and what of them could not be read."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._inputs = Inputs(paths, DEFAULT_CODEC)
        self._found = 0

    def logs(self) -> Iterator[tuple[str, Segment | Partition]]:
        """Yield each log with its name; what cannot be read, or is cut off, is reported."""
        for name, log in self._inputs.logs():
            self._inputs.read += 1
            yield name, log
            self._inputs.report_missing(log, ends_only=True)

    def add(self, number: int) -> None:
        """Count findings."""
        self._found += number

    def cannot_read(self, error: KafkaSpecError) -> None:
        """Report a log of which nothing can be read."""
        self._inputs.read -= 1
        self._inputs.cannot_read(error)

    def read(self, errors: Sequence[KafkaSpecError]) -> None:
        """Report what could not be read of a log."""
        for error in errors[:_MOST_ERRORS]:
            self._inputs.cannot_decode(error)
        if len(errors) > _MOST_ERRORS:
            text = f"{errors[0].file}: {len(errors) - _MOST_ERRORS:,} more that cannot be read"
            warn(text)

    @property
    def exit_code(self) -> int:
        """What was found, or the worst of what could not be read."""
        return max(FINDINGS if self._found else CLEAN, self._inputs.exit_code)
