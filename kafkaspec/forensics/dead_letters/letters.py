"""Find dead letters among records, by the headers that ``spec/dead_letters.yaml`` names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkaspec._generated.layout.dead_letters import DEAD_LETTERS
from kafkaspec.arrow.record_batches import place_of
from kafkaspec.forensics.headers import NAMED
from kafkaspec.layout import DeadLetterHeader
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.policy import OnError

_SOURCE: Final = ("topic", "partition", "offset", "timestamp", "timestamp_type")
"""Fields that the letter has itself too."""
_BYTES: Final = {"s4": 4, "s8": 8}
_DIGITS: Final = "^-?[0-9]{1,18}$"

_HEADERS: Final = [(layout, header) for layout in DEAD_LETTERS for header in layout.headers]
_KEYS: Final = pa.array([header.key.encode() for _, header in _HEADERS], pa.binary())
_WRITERS: Final = [layout.writer for layout in DEAD_LETTERS]
_WRITER_OF: Final = np.array([_WRITERS.index(layout.writer) for layout, _ in _HEADERS])
_NAMES_TOPIC: Final = np.array([header.field == "topic" for _, header in _HEADERS])


def _column(header: DeadLetterHeader) -> str:
    return f"source_{header.field}" if header.field in _SOURCE else header.field


FIELDS: Final = {
    _column(header): pa.string() if header.type == "str" else pa.int64() for _, header in _HEADERS
}
"""Columns of what the headers say, and their types."""

LETTERS: Final = pa.schema(
    [
        ("topic", NAMED),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("writer", NAMED),
        *FIELDS.items(),
    ]
)
"""Columns of dead letters: where the letter is, who wrote it, and what its headers say of the
record that it is about, ``source_topic``, ``source_partition``, ``source_offset``, and of the
failure. Timestamps are milliseconds. A field is null where no header says it, or where a number is
none."""

CONTENT: Final = ("key", "value", "headers")
READ: Final = ("offset", "timestamp", *CONTENT)


def read_letters(
    log: Partition | Segment, on_error: OnError
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Yield the dead letters of a log as ``LETTERS``, each time with their records.

    Raises:
        KafkaSpecError: as ``on_error`` says.
    """
    options: dict[str, Any] = {"layout": "binary", "header_keys": "binary", "log_start": "ignore"}
    topic, partition = _place(log)
    for batch in log.to_batches(READ, on_error=on_error, **options):
        found = letters_of(batch, topic, partition)
        if found is not None:
            yield found


def _place(log: Partition | Segment) -> tuple[str | None, int | None]:
    if isinstance(log, Partition):
        return log.topic, log.partition
    place = place_of(log)
    return place.topic, place.partition


def letters_of(
    batch: pa.RecordBatch, topic: str | None, partition: int | None
) -> tuple[pa.RecordBatch, pa.RecordBatch] | None:
    """Return the dead letters among records, and their records; None if there are none.

    A record is a dead letter if a header names the topic of another one. Writers add headers after
    those that are there, so the last such header says who wrote the letter, and the last header of
    a key counts.
    """
    headers = batch["headers"]
    entries = headers.flatten()
    which = pc.index_in(entries.field("key"), value_set=_KEYS)
    if which.null_count == len(which):
        return None
    found = np.flatnonzero(which.is_valid().to_numpy(zero_copy_only=False))
    number = which.take(pa.array(found)).to_numpy()
    rows = pc.list_parent_indices(headers).to_numpy()[found]
    writers = np.full(batch.num_rows, -1, np.int64)
    named = _NAMES_TOPIC[number]
    writers[rows[named]] = _WRITER_OF[number[named]]
    chosen = np.flatnonzero(writers >= 0)
    if not len(chosen):
        return None
    values = entries.field("value").take(pa.array(found))
    by_writer = _WRITER_OF[number] == writers[rows]
    columns: dict[str, Any] = {}
    for name, kind in FIELDS.items():
        column = pa.nulls(len(chosen), kind)
        for binary in (False, True):
            of_field = _numbers_of(name, binary)
            mask = by_writer & np.isin(number, of_field)
            if not mask.any():
                continue
            at = np.full(batch.num_rows, -1, np.int64)
            at[rows[mask]] = np.flatnonzero(mask)
            taken = values.take(pa.array(at[chosen], mask=at[chosen] < 0))
            made = _decoded(taken, kind, _BYTES.get(_HEADERS[of_field[0]][1].type, 0) * binary)
            column = pc.coalesce(made, column)
        columns[name] = column
    letters = batch.take(pa.array(chosen))
    constants = {"topic": topic, "partition": partition}
    arrays = []
    for item in LETTERS:
        if item.name in constants:
            array = pa.repeat(pa.scalar(constants[item.name], _plain(item.type)), len(chosen))
        elif item.name == "writer":
            array = pa.array(_WRITERS, pa.string()).take(pa.array(writers[chosen]))
        elif item.name in columns:
            array = columns[item.name]
        else:
            array = letters[item.name]
        arrays.append(array.cast(item.type))
    return pa.RecordBatch.from_arrays(arrays, schema=LETTERS), letters


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _numbers_of(name: str, binary: bool) -> NDArray[np.int64]:
    """Return the numbers of the headers of a column."""
    chosen = [
        at
        for at, (layout, header) in enumerate(_HEADERS)
        if _column(header) == name and (layout.binary and header.type != "str") == binary
    ]
    return np.array(chosen, np.int64)


def _decoded(values: pa.Array, kind: pa.DataType, size: int) -> pa.Array:
    """Return values of headers as text or numbers; null where they are not such.

    Args:
        size: bytes of a big-endian number; 0 for text.
    """
    if size:
        right = pc.equal(pc.binary_length(values), size).fill_null(False)
        at = np.flatnonzero(right.to_numpy(zero_copy_only=False))
        numbers = np.zeros(len(values), np.int64)
        joined = b"".join(values.take(pa.array(at)).to_pylist())
        numbers[at] = np.frombuffer(joined, f">i{size}")
        return pa.array(numbers, mask=~right.to_numpy(zero_copy_only=False)).cast(kind)
    try:
        text = values.cast(pa.string())
    except pa.ArrowInvalid:  # not UTF-8
        text = pa.array(
            [None if item is None else item.decode(errors="replace") for item in values.to_pylist()]
        )
    if kind == pa.string():
        return text
    digits = pc.match_substring_regex(text, _DIGITS)
    return pc.if_else(digits, text, pa.scalar(None, pa.string())).cast(kind)


def without_letter_headers(headers: pa.Array) -> pa.Array:
    """Return headers without those of writers of dead letters."""
    entries = headers.flatten()
    others = pc.invert(pc.is_in(entries.field("key"), value_set=_KEYS))
    rows = pc.list_parent_indices(headers).to_numpy()
    kept = rows[others.to_numpy(zero_copy_only=False)]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(kept, minlength=len(headers)))])
    return pa.ListArray.from_arrays(
        pa.array(offsets.astype(np.int32)), entries.filter(others), type=headers.type
    )
