"""Outcomes of the transactions of records, in columns."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.log.transactions import Outcome

OFFSET, PRODUCER, CONTROL = "offset", "producer_id", "control_type"
_FOREVER: Final = 1 << 62


def markers_in(rows: pa.Table) -> pa.Table:
    """Return the markers among rows with ``OFFSET``, ``PRODUCER`` and ``CONTROL``: just these."""
    found = rows.filter(rows[CONTROL].is_valid()).select([OFFSET, PRODUCER, CONTROL])
    return found.set_column(2, CONTROL, found[CONTROL].cast(pa.string()))


def outcomes(rows: pa.Table, markers: pa.Table) -> pa.ChunkedArray:
    """Return the outcome of the transaction of each row: the next marker of its producer says it.

    Args:
        rows: records of transactions, with ``OFFSET`` and ``PRODUCER``, by offset.
        markers: as ``markers_in`` returns them, by offset.
    """
    if not len(markers):  # without PyArrow's engine of queries, which takes long to import
        return pa.chunked_array([pa.repeat(str(Outcome.OPEN), len(rows))])
    places = rows.select([OFFSET, PRODUCER])
    ends = places.join_asof(markers, OFFSET, PRODUCER, _FOREVER)[CONTROL]
    ended = pc.if_else(pc.equal(ends, "COMMIT"), str(Outcome.COMMITTED), str(Outcome.ABORTED))
    return pc.fill_null(ended, str(Outcome.OPEN))
