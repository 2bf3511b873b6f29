"""Which entries of a segment the tables give again, byte for byte."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkaspec.lake.entries import HeaderRows, encoded_entries
from kafkaspec.layout import names
from kafkaspec.model import Buffer


def exact_entries(
    headers: pa.RecordBatch,
    rows: pa.RecordBatch,
    data: Buffer,
    start: int = 0,
    *,
    compressed: bool = True,
) -> NDArray[np.bool_]:
    """Return for each entry whether its header and its rows give the same bytes again.

    It is proved by writing them, in the way in which a log is restored, and comparing the bytes.

    Args:
        headers: rows of ``batches``: its columns but for ``exact`` and ``payload`` are read.
        rows: the rows of ``raw`` of these entries, in their order. Entries of control records have
            none, whatever ``records`` says, and are not exact.
        data: bytes of the segment that contain all of the entries.
        start: position in the segment of the first byte of ``data``.
        compressed: whether to compress again what is compressed, which takes as long as writing it
            did; otherwise, no compressed entry is exact.
    """
    table = HeaderRows(headers)
    if not compressed:
        packed = (table.part(names.COMPRESSION) != 0) & (table.records > 0)
        if packed.any():
            return _plain_only(table, rows, data, start, packed)
    view, places, sizes = memoryview(data), table.column("position"), table.column("length")
    bounds = zip((places - start).tolist(), (places - start + sizes).tolist(), strict=True)
    entries = encoded_entries(table, rows)
    return np.fromiter(
        (
            # Two views would be compared element by element.
            entry is not None and bytearray(entry) == view[first:last]
            for entry, (first, last) in zip(entries, bounds, strict=True)
        ),
        np.bool_,
        len(entries),
    )


def _plain_only(
    table: HeaderRows, rows: pa.RecordBatch, data: Buffer, start: int, packed: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    found = np.zeros(len(table), np.bool_)
    kept = np.repeat(~packed, table.rows)
    plain = table.table.filter(pa.array(~packed))
    found[~packed] = exact_entries(plain, rows.filter(pa.array(kept)), data, start)
    return found
