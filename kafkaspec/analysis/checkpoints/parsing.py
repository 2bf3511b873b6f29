"""Read a text file for verification and check its content."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from kafkaspec.analysis.consequences import BAD_FILE, DECIDED
from kafkaspec.analysis.findings import Area, Finding, Place, Severity
from kafkaspec.analysis.report import FileKind, FileResult
from kafkaspec.broker.text_files import fault_of
from kafkaspec.errors import KafkaSpecError, Reason


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
        read: function that reads it; errors of entries are in the list that it returns.
        check: function that takes its content and yields findings, None if there is none.
        severity: severity of the finding if it cannot be parsed.
    """
    place = Place(os.fspath(path), area)
    result = FileResult(file=place.file, kind=kind, partition=partition, size=size_of(path))
    try:
        content = read(path)
    except KafkaSpecError as error:
        yield _refused(path, place, error, error, severity)
    except OSError:
        result.size = 0
    else:
        if isinstance(content, list):
            errors = [item for item in content if isinstance(item, KafkaSpecError)]
            for item in errors:
                yield _refused(path, place, item, errors[0], severity)
            content = [item for item in content if not isinstance(item, KafkaSpecError)]
            result.entries = len(content)
        if check is not None:
            yield from check(content, place)
    yield result


def _refused(
    path: Path, place: Place, error: KafkaSpecError, first: KafkaSpecError, severity: Severity
) -> Finding:
    """Return the finding for an error, with what a broker does about the first one in the file."""
    found = place.refused(error, severity)
    decided = place.area in DECIDED and first.reason not in (Reason.UNREADABLE, Reason.CHANGED)
    return replace(found, predicted=BAD_FILE[fault_of(path, first)]) if decided else found


def size_of(path: Path) -> int:
    """Return the size of a file in bytes, 0 if there is none or it cannot be accessed."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except (OSError, KafkaSpecError):
        return 0
