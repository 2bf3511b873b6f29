"""Numbers about columns of byte strings: lengths, histograms, hashes. No object for a record."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkaspec.columns.memory import INLINE_BYTES, VIEW_BYTES, Layout
from kafkaspec.stats.distinct import DistinctHashes

StatsNumbers = NDArray[np.int64]

CLASSES: Final = 65
"""Classes of sizes: 0, 1, 2 to 3, 4 to 7 and so on."""

_DIGEST_BYTES: Final = 16
_MIX: Final = [np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)]
_SHIFTS: Final = [np.uint64(n) for n in (32, 29, 32)]


def valid(values: pa.Array) -> NDArray[np.bool_] | None:
    """Return which values are not null; None if all are."""
    if not values.null_count:
        return None
    return np.asarray(values.is_valid())


def lengths(values: pa.Array) -> StatsNumbers:
    """Return the length of each value of a column of views; 0 for null."""
    if not len(values):
        return np.empty(0, np.int64)
    found = _words(values).view(np.int32)[:, 0].astype(np.int64)
    present = valid(values)
    return found if present is None else np.where(present, found, 0)


def chosen(values: pa.Array, rows: StatsNumbers) -> pa.Array:
    """Return the values in some rows of a column of views, of which none is null, as bytes."""
    views = pa.py_buffer(_words(values)[rows].tobytes())
    buffers = [None, views, *values.buffers()[2:]]
    return pa.Array.from_buffers(values.type, len(rows), buffers).cast(pa.binary())


def header_lengths(headers: pa.Array) -> StatsNumbers | None:
    """Return the bytes of the keys and values of the headers of each record; None without any."""
    items = headers.values
    if not len(items):
        return None
    each = lengths(items.field(0)) + lengths(items.field(1))
    ends = np.append(0, np.cumsum(each))
    places = headers.offsets.to_numpy()
    return np.asarray(ends[places[1:]] - ends[places[:-1]], np.int64)


def classes(sizes: StatsNumbers) -> NDArray[np.int32]:
    """Return the class of each size: the number of its bits."""
    return np.frexp(sizes.astype(np.float64))[1]


def hashes(keys: pa.Array, core: Any) -> DistinctHashes:
    """Return a hash of 64 bits of each key, a view: short ones mixed, others by their MD5."""
    words = _words(keys)
    mixed = words[:, 0] * _MIX[0]
    mixed ^= mixed >> _SHIFTS[0]
    mixed += words[:, 1]
    for factor, shift in zip(_MIX[1:], _SHIFTS[1:], strict=True):
        mixed *= factor
        mixed ^= mixed >> shift
    sizes = words.view(np.int32)[:, 0]
    if sizes.max() <= INLINE_BYTES:
        return np.asarray(mixed, np.uint64)
    return np.where(sizes <= INLINE_BYTES, mixed, _digests(keys, core))


def _words(values: pa.Array) -> DistinctHashes:
    start = values.offset * VIEW_BYTES
    views = np.frombuffer(values.buffers()[1], np.uint8, len(values) * VIEW_BYTES, start)
    return views.view(np.uint64).reshape(-1, 2)


def _digests(keys: pa.Array, core: Any) -> DistinctHashes:
    """Return the first 64 bits of the MD5 of each key."""
    if core is None:
        made = b"".join(
            hashlib.md5(key or b"", usedforsecurity=False).digest() for key in keys.to_pylist()
        )
        return np.frombuffer(made, np.uint64)[::2]
    if keys.offset:
        keys = pa.concat_arrays([keys])
    validity, views, *sources = keys.buffers()
    room = bytearray(_DIGEST_BYTES * len(keys))
    core.module.key_digests(Layout.VIEW, len(keys), validity, views, tuple(sources), room)
    return np.frombuffer(room, np.uint64)[::2]
