"""Read a text file for verification and check its content."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from kafkaspec.analysis.findings import Area, Finding, Place, Severity
from kafkaspec.analysis.report import FileKind, FileResult
from kafkaspec.errors import KafkaSpecError


def verify_text(
    path: Path,
    kind: FileKind,
    area: Area,
    read: Callable[[str | PathLike[str]], Any],
    check: Callable[[Any, Place], Iterator[Finding]] | None = None,
    *,
    partition: str = "",
    severity: Severity = Severity.ERROR,
) -> Iterator[Finding | FileResult]:
    """Yield findings about a text file, then its result.

    Args:
        path: path of the file.
        kind: kind of the file.
        area: area of findings about it.
        read: function that reads it; errors of entries are in the list that it returns.
        check: function that takes its content and yields findings, None if there is none.
        partition: path of the partition directory for the result.
        severity: severity of the finding if it cannot be parsed.
    """
    place = Place(os.fspath(path), area)
    result = FileResult(file=place.file, kind=kind, partition=partition, size=size_of(path))
    try:
        content = read(path)
    except KafkaSpecError as error:
        yield place.refused(error, severity)
    except OSError:
        result.size = 0
    else:
        if isinstance(content, list):
            for item in content:
                if isinstance(item, KafkaSpecError):
                    yield place.refused(item, severity)
            content = [item for item in content if not isinstance(item, KafkaSpecError)]
            result.entries = len(content)
        if check is not None:
            yield from check(content, place)
    yield result


def size_of(path: Path) -> int:
    """Return the size of a file in bytes, 0 if there is none or it cannot be accessed."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except (OSError, KafkaSpecError):
        return 0
