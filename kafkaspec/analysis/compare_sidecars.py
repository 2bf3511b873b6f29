"""Compare codecs on indexes and snapshots: they must agree on every entry."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from kafkaspec.analysis.compare import describe_error, disagreement, error_key
from kafkaspec.analysis.findings import Area, Finding, Place
from kafkaspec.analysis.report import FileKind
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.indexes import OffsetIndex, TimeIndex
from kafkaspec.files.snapshots import ProducerSnapshot, TransactionIndex

_READERS = {
    FileKind.OFFSET_INDEX: OffsetIndex,
    FileKind.TIME_INDEX: TimeIndex,
    FileKind.TRANSACTION_INDEX: TransactionIndex,
}


def compare_sidecar(path: Path, kind: FileKind, codecs: tuple[str, ...]) -> Iterator[Finding]:
    """Read a file with each codec and report the differences from the first.

    Raises:
        KafkaSpecError: ``unreadable``.
    """
    first, *others = codecs
    for codec in others:
        pairs = zip_longest(_entries(path, kind, first), _entries(path, kind, codec))
        for number, (mine, its) in enumerate(pairs):
            if not _same(mine, its):
                text = f"entry {number} is {_text(mine)}, or {_text(its)}"
                yield disagreement(Place(os.fspath(path), Area(kind)), first, codec, text)
                break


def _entries(path: Path, kind: FileKind, codec: str) -> Iterator[Any]:
    """Yield entries, or errors in their place; all of a producer snapshot as one."""
    if kind is FileKind.PRODUCER_SNAPSHOT:
        try:
            yield ProducerSnapshot(path, codec=codec).structure
        except KafkaSpecError as error:
            yield error
        return
    index = _READERS[kind](path, codec=codec)
    for number in range(len(index)):
        try:
            yield index.entry(number)
        except KafkaSpecError as error:
            yield error


def _same(mine: Any, its: Any) -> bool:
    if isinstance(mine, KafkaSpecError) and isinstance(its, KafkaSpecError):
        return error_key(mine) == error_key(its)
    return bool(mine == its)


def _text(entry: Any) -> str:
    return describe_error(entry) if isinstance(entry, KafkaSpecError) else str(entry)
