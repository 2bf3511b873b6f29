"""Shift the offsets of the entries of a segment, in place, by one number.

The offset of an entry precedes the bytes that its checksum covers, and indexes have offsets
relative to the base offset of the segment, so only the names of the files change too. Leaders
assign offsets in the same way (Kafka: ``LogValidator``, ``DefaultRecordBatch.setLastOffset``).
"""

from __future__ import annotations

import os
from pathlib import Path

from kafkaspec.errors import Reason, make_error
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.headers import read_headers
from kafkaspec.log.legacy import has_relative_offsets
from kafkaspec.log.segment import Segment
from kafkaspec.output.atomic import writing
from kafkaspec.writing.editing import OFFSET


def move_offsets(path: Path, distance: int, *, sync: bool = True) -> None:
    """Add a number to the offsets of all entries of a segment that has no readers yet.

    Args:
        path: path of the log, which is changed.
        distance: number to add.
        sync: whether to force the file to disk.

    Raises:
        KafkaSpecError: ``unreadable``; ``unencodable``: a compressed message of magic 0, in which
            offsets are absolute, or an offset that becomes too large. Some offsets are changed by
            then.
    """
    if not distance:
        return
    with writing(path), open(path, "r+b") as file, Segment(path, tail="raise") as segment:
        for headers in read_headers(segment):
            rows = zip(
                headers.position,
                headers.magic,
                headers.compression,
                headers.first_offset,
                headers.last_offset,
                strict=True,
            )
            for position, magic, compression, first, last in rows:
                kind = KINDS[magic]
                wrapper = compression and not kind.has_record_sets
                if wrapper and not has_relative_offsets(kind):
                    detail = f"offsets inside a compressed message of magic {magic} are absolute"
                    raise make_error(
                        Reason.UNENCODABLE, detail, file=os.fspath(path), offset=position
                    )
                if not 0 <= last + distance <= LARGEST_OFFSET:
                    detail = f"offset {last} cannot be moved by {distance}"
                    raise make_error(
                        Reason.UNENCODABLE, detail, file=os.fspath(path), offset=position
                    )
                stored = first if kind.has_record_sets else last
                file.seek(position + OFFSET[0])
                file.write((stored + distance).to_bytes(OFFSET[1], "big", signed=True))
        file.flush()
        if sync:
            os.fsync(file.fileno())
