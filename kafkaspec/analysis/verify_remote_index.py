"""Check indexes of segments in remote storage without their log, which is not local.

Kafka: ``RemoteIndexCache``, which keeps a copy of them and reads them as the indexes of a segment.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from kafkaspec.analysis.compare_sidecars import compare_sidecar
from kafkaspec.analysis.findings import (
    Area,
    Finding,
    FindingReason,
    Severity,
    finding_of_error,
)
from kafkaspec.analysis.report import FileKind, FileResult
from kafkaspec.analysis.verify_index import IndexFile, TransactionFile
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names


def verify_remote_index(
    path: Path, kind: FileKind, partition: str, codecs: tuple[str, ...]
) -> Iterator[Finding | FileResult]:
    """Check an index of ``remote-log-index-cache``: size, order, its siblings.

    Args:
        path: path of the index, whose name has the id of a segment in remote storage.
        kind: kind of the index by its name.
        partition: partition of its result.
        codecs: names of the codecs; findings come from the first one, all are compared.
    """
    file = os.fspath(path)
    name = names.parse_segment(path.name)
    assert name is not None
    if kind is FileKind.LEFTOVER:
        yield Finding(
            file,
            Severity.INFO,
            Area.FILES,
            FindingReason.LEFTOVER,
            "a broker was about to delete or rename it; it was not checked",
        )
        yield FileResult(file=file, kind=kind, partition=partition, size=path.stat().st_size)
        return
    opened: IndexFile | TransactionFile
    try:
        if kind is FileKind.TRANSACTION_INDEX:
            opened = TransactionFile(path, file, name.base_offset, partition, codecs[0])
        else:
            opened = IndexFile(path, kind, partition, codecs[0])
    except KafkaSpecError as error:
        yield finding_of_error(error, Area(str(kind)), file=file)
        yield FileResult(file=file, kind=kind, partition=partition)
        return
    try:
        yield from compare_sidecar(path, kind, codecs)
        yield from opened.problems()
    finally:
        if isinstance(opened, IndexFile):
            opened.close()
    missing = [
        sibling
        for sibling in map(name.sibling, names.REMOTE_INDEXES)
        if not path.with_name(sibling).exists()
    ]
    if missing:
        yield Finding(
            file,
            Severity.WARNING,
            Area.FILES,
            FindingReason.ORPHAN_FILE,
            f"there is no {' and no '.join(missing)} for it; when a broker starts, it deletes the"
            " local indexes of that segment and fetches them again",
        )
    assert opened.result is not None
    yield opened.result
