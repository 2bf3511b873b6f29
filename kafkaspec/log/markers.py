"""Markers of transactions: what the control batches of producers say.

Kafka reads the first record of such a batch, and no other. Markers are many and alike: each
different one of a table is read once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from operator import itemgetter
from typing import Any, Final, NamedTuple

from kafkaspec.codecs import Codec, Origin
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.layout import names
from kafkaspec.layout.framing import field_of
from kafkaspec.log.batch import Batch, payload_origin
from kafkaspec.log.control import KEY, ControlRecord
from kafkaspec.log.header_table import POSITION, SIZE, HeaderTable

_RECORDS_AT: Final = f"{names.RECORDS}.{POSITION}"
_PAYLOAD: Final = (
    _RECORDS_AT, f"{names.RECORDS}.{SIZE}", names.NUM_RECORDS, names.COMPRESSION,
)  # fmt: skip
_MOST_PAYLOAD: Final = 256
"""Bytes of a marker that are compared with those of others; it has about 20."""
_MOST_ALIKE: Final = 16
"""Different markers of a table of headers that are compared with all others."""
_MOST_KNOWN: Final = 1 << 12
"""Markers that are remembered by their bytes; they differ by the epoch of their coordinator."""


class Marker(NamedTuple):
    """The end of a transaction, as the first control record of a batch says it.

    Attributes:
        aborts: whether it aborts the transaction, or commits it.
        coordinator_epoch: epoch of the coordinator that wrote it.
    """

    aborts: bool
    coordinator_epoch: int


_known: dict[tuple[Codec, int, bytes], Marker] = {}


def markers(table: HeaderTable, rows: Sequence[int]) -> list[Marker | KafkaSpecError | None]:
    """Return what control batches say; None for one that is empty, or why it cannot be read.

    Args:
        rows: numbers of the control batches among them, in order.
    """
    if "numpy" in sys.modules and rows:
        import numpy as np

        said, numbers = distinct_markers(table, np.asarray(rows))
        return [said[number] for number in numbers.tolist()]
    codec, known = table.segment.codec, dict[bytes | None, Marker]()
    found: list[Marker | KafkaSpecError | None] = []
    for row, payload in zip(rows, payloads(table, rows), strict=True):
        marker: Marker | KafkaSpecError | None = known.get(payload)
        if marker is None:
            key = None if payload is None else (codec, table.magic[row], payload)
            try:
                marker = read_marker(partial(table.batch, row), key)
            except KafkaSpecError as error:
                marker = error
            if payload is not None and isinstance(marker, Marker):
                known[payload] = marker
        found.append(marker)
    return found


def distinct_markers(
    table: HeaderTable, rows: Any
) -> tuple[list[Marker | KafkaSpecError | None], Any]:
    """Return what control batches say, and the number of the answer for each: alike ones share one.

    Args:
        rows: NumPy array of the numbers of the control batches, in order.
    """
    import numpy as np

    said: list[Marker | KafkaSpecError | None] = []
    numbers = np.full(len(rows), -1)
    for places, payload in _alike(table, rows):
        row = int(rows[places[0]])
        key = (table.segment.codec, table.magic[row], payload)
        with suppress(KafkaSpecError):  # each of them is an error at its own place
            marker = read_marker(partial(table.batch, row), key)
            numbers[places] = len(said)
            said.append(marker)
    for place in np.flatnonzero(numbers < 0).tolist():
        numbers[place] = len(said)
        try:
            said.append(read_marker(partial(table.batch, int(rows[place]))))
        except KafkaSpecError as error:
            said.append(error)
    return said, numbers


def _alike(table: HeaderTable, rows: Any) -> Iterator[tuple[Any, bytes]]:
    """Yield the places of control batches with the same one record, and its bytes.

    Those of which others may not say the same are left out, and those of rare records.
    """
    import numpy as np

    if not table.has(_RECORDS_AT) or len(table.magics) > 1:
        return
    segment, last = table.segment, int(rows[-1])
    buffer, start = segment.around(segment.cursor(), table.position[int(rows[0])])
    if start + len(buffer) < table.position[last] + table.size[last]:
        return
    at, sizes, counts, codecs = (table.numpy(name)[rows] for name in _PAYLOAD)
    usual = (counts == 1) & (codecs == 0) & (sizes <= _MOST_PAYLOAD)
    if segment.crc == "raise":
        wrong = list(table.wrong_checksums(rows, buffer, start))
        usual[np.searchsorted(rows, wrong)] = False
    data, left = np.frombuffer(buffer, np.uint8), np.flatnonzero(usual)
    for _ in range(_MOST_ALIKE):
        if not len(left):
            return
        size = sizes[left[0]]
        alike = sizes[left] == size
        stored = data[(at[left[alike]] - start)[:, None] + np.arange(size)]
        alike[alike] = (stored == stored[0]).all(axis=1)
        yield left[alike], stored[0].tobytes()
        left = left[~alike]


def read_marker(
    batch: Callable[[], Batch], key: tuple[Codec, int, bytes] | None = None
) -> Marker | None:
    """Return what a control batch says; None for one without records.

    Args:
        batch: returns the batch.
        key: codec, magic, and bytes of its one record: the same ones are read once. None for none.

    Raises:
        KafkaSpecError: it cannot be read, or ends no transaction.
    """
    marker = None if key is None else _known.get(key)
    if marker is None:
        opened = batch()
        control = opened.marker()
        if control is None:
            return None
        marker = marker_of(control, payload_origin(opened))
        if key is not None:
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            _known[key] = marker
    return marker


def marker_of(control: ControlRecord, origin: Origin) -> Marker:
    """Return the transaction marker of a control record.

    Args:
        control: first control record of a producer's batch.

    Raises:
        KafkaSpecError: the control record is of another kind.
    """
    aborts = control.aborts
    if aborts is None:
        raise make_error(
            Reason.INVALID_VALUE,
            f"a control record of a producer ends a transaction, but this one is of type"
            f" {control.key.type}",
            file=origin.file,
            offset=origin.position,
            path=f"{origin.path}/records/0/key/type",
            spec=field_of(KEY, "type").location,
        )
    return Marker(aborts, control.body.coordinator_epoch)


def payloads(table: HeaderTable, rows: Sequence[int]) -> list[bytes | None]:
    """Return the bytes of the record of control batches; None where others may not say the same.

    Args:
        rows: numbers of the batches, in order.
    """
    nothing: list[bytes | None] = [None] * len(rows)
    if not rows or not table.has(_RECORDS_AT) or len(table.magics) > 1:
        return nothing
    segment, last = table.segment, rows[-1]
    buffer, start = segment.around(segment.cursor(), table.position[rows[0]])
    if start + len(buffer) < table.position[last] + table.size[last]:
        return nothing
    wrong = set(table.wrong_checksums(rows, buffer, start)) if segment.crc == "raise" else ()
    pick = itemgetter(*rows, last)
    columns = (pick(table.list(name)) for name in _PAYLOAD)
    return [
        None
        if count != 1 or codec or size > _MOST_PAYLOAD or row in wrong
        else bytes(buffer[at - start : at - start + size])
        for row, at, size, count, codec in zip(rows, *columns, strict=False)
    ]
