"""Check indexes of segments in remote storage without their log, which is not local.

Kafka: ``RemoteIndexCache``, which keeps a copy of them and reads them as the indexes of a segment.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from kafkaspec.analysis.compare_sidecars import compare_sidecar
from kafkaspec.analysis.findings import Area, Finding, Place
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.analysis.report import FileKind, FileResult
from kafkaspec.analysis.verify_index import IndexFile, TransactionFile
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.io.remote import exists


def verify_remote_index(
    path: Path, kind: FileKind, partition: str, codecs: tuple[str, ...]
) -> Iterator[Finding | FileResult]:
    """Check an index of ``remote-log-index-cache``: size, order, its siblings.

    Args:
        path: path of the index, whose name has the id of a segment in remote storage.
        kind: kind of the index by its name.
        codecs: names of the codecs; findings come from the first one, all are compared.
    """
    file = os.fspath(path)
    name = names.parse_segment(path.name)
    assert name is not None
    opened: IndexFile | TransactionFile
    try:
        if kind is FileKind.TRANSACTION_INDEX:
            opened = TransactionFile(path, file, name.base_offset, partition, codecs[0])
        else:
            opened = IndexFile(path, kind, partition, codecs[0])
    except KafkaSpecError as error:
        yield Place(file, Area(kind)).refused(error)
        yield FileResult(file=file, kind=kind, partition=partition)
        return
    with closing(opened):
        yield from compare_sidecar(path, kind, codecs)
        yield from opened.problems()
    missing = [
        sibling
        for sibling in map(name.sibling, names.REMOTE_INDEXES)
        if not exists(path.with_name(sibling))
    ]
    if missing:
        yield Place(file, Area.FILES).warning(
            R.ORPHAN_FILE,
            f"there is no {' and no '.join(missing)} for it; when a broker starts, it deletes the"
            " local indexes of that segment and fetches them again",
        )
    assert opened.result is not None
    yield opened.result
