"""The state of ``verify`` as a table of Delta: a row for each line of its file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import islice
from time import time
from typing import Final

if not all(map(find_spec, ("pyarrow", "deltalake", "pyiceberg"))):
    raise ImportError("a state as a table needs more libraries: pip install 'kafkaspec[lake]'")

import pyarrow as pa

from kafkaspec.analysis.state_memory import SegmentRows
from kafkaspec.errors import unreadable
from kafkaspec.lake.delta import DeltaLakeTable
from kafkaspec.lake.maintenance import AGE
from kafkaspec.lake.manifest import DELTA_LOG
from kafkaspec.lake.store import Store

STATE_SCHEMA: Final = pa.schema(
    [
        ("number", pa.int64()),  # of the line, from 1
        ("log", pa.string()),  # path of the partition; null in the first and last row
        ("segments", pa.int64()),  # how many it has
        ("size", pa.int64()),  # of them, in bytes
        ("findings", pa.int64()),  # about them
        ("read", pa.timestamp("us", tz="UTC")),  # since when all of them were read
        ("line", pa.string()),  # all that is remembered, as in docs/state.md
    ]
)
_ROWS: Final = 1000
"""Rows of a batch."""


class RememberedTable:
    """A state in a table, which is replaced in one commit.

    Args:
        place: directory or URL of the table.

    Raises:
        KafkaSpecError: ``unreadable``: something else is there.
    """

    def __init__(self, place: str) -> None:
        whole = Store(place)
        self.place = whole.place
        parent, _, name = self.place.rpartition("/")
        self._table = DeltaLakeTable(Store(parent), name)
        self._known = whole.exists(DELTA_LOG)
        if not self._known and (whole.exists() if whole.local else whole.names()):
            raise unreadable(place, "it is neither a table of Delta nor the file of a state")

    def read(self) -> bytes | None:
        """See ``StateStore.read``."""
        if not self._known:
            return None
        schema = self._table.schema()
        if schema is None or not {"number", "line"}.issubset(schema.names):
            raise unreadable(self.place, "it is a table of something else than a state of verify")
        rows = self._table.scan(["number", "line"]).read_all().sort_by("number")
        return b"".join(f"{line}\n".encode() for line in rows["line"].to_pylist())

    def write(self, lines: Iterable[bytes]) -> None:
        """See ``StateStore.write``; versions that are older than a week are removed."""
        rows = pa.RecordBatchReader.from_batches(STATE_SCHEMA, _batches(lines))
        self._table.overwrite(rows)
        self._known = True
        old = time() - AGE.total_seconds()
        self._table.expire(old)
        self._table.clean(old)


def _batches(lines: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
    rows = _rows(lines)
    while batch := list(islice(rows, _ROWS)):
        yield pa.RecordBatch.from_pylist(batch, STATE_SCHEMA)


def _rows(lines: Iterable[bytes]) -> Iterator[dict[str, object]]:
    for number, line in enumerate(lines, 1):
        values = json.loads(line)
        row = {"number": number, "line": line.decode().rstrip("\n")}
        if "log" in values:
            rows = SegmentRows(values["segments"])
            row |= {
                "log": values["log"],
                "segments": len(rows),
                "size": sum(rows.sizes),
                "findings": sum(map(len, rows.columns["findings"])),
                "read": min(rows.read) * 1000 if len(rows) else None,
            }
        yield row
