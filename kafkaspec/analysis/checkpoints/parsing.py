"""A text file read for verification: its content, or the finding about why it cannot be parsed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Generic, TypeVar

from kafkaspec.analysis.findings import Area, Finding, Severity, finding_of_error
from kafkaspec.analysis.report import FileKind, FileResult
from kafkaspec.errors import KafkaSpecError

T = TypeVar("T")


class Parsed(Generic[T]):
    """A text file.

    Attributes:
        file: path of the file.
        content: parsed content, None if it cannot be parsed.
        result: result of the file.
    """

    def __init__(
        self,
        path: Path,
        kind: FileKind,
        area: Area,
        read: Callable[[str | PathLike[str]], T],
        partition: str = "",
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Read the file.

        Args:
            path: path of the file.
            kind: kind of the file.
            area: area of findings about it.
            read: function that reads it.
            partition: path of the partition directory for the result.
            severity: severity of the finding if it cannot be parsed.
        """
        self.file = os.fspath(path)
        self.content: T | None = None
        self.result = FileResult(file=self.file, kind=kind, partition=partition)
        self._problem: Finding | None = None
        try:
            self.content = read(path)
            self.result.size = path.stat().st_size
        except KafkaSpecError as error:
            self._problem = finding_of_error(error, area, file=self.file, severity=severity)
            self.result.size = _size(path)
        except OSError:
            return

    def problems(self) -> Iterator[Finding]:
        """Yield the finding about why the file cannot be parsed, if it cannot."""
        if self._problem is not None:
            yield self._problem


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0
