"""Bytes of many rows at once: views of NumPy on Arrow's binary arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Octets = NDArray[np.uint8]
    Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rows:
    """The bytes of a binary array: where each row begins, and how many it has, 0 for a null."""

    data: Octets
    starts: Integers
    sizes: Integers
    present: Mask

    @classmethod
    def of(cls, array: pa.Array) -> Rows:
        """Return the bytes of an array, in place."""
        _, places, content = array.buffers()
        rows = len(array)
        if rows == 0 or places is None:
            nothing = np.zeros(rows, np.int64)
            return cls(np.zeros(0, np.uint8), nothing, nothing, np.zeros(rows, np.bool_))
        offsets = np.frombuffer(places, np.int32)[array.offset : array.offset + rows + 1]
        data = np.frombuffer(content, np.uint8) if content is not None else np.zeros(0, np.uint8)
        wide = offsets.astype(np.int64)
        present = mask_of(array.is_valid())
        return cls(data, wide[:-1], np.where(present, wide[1:] - wide[:-1], 0), present)

    def cut(self, chosen: Integers, place: int, size: int) -> Octets:
        """Return some bytes of chosen rows, a line a row."""
        found: Octets = self.data[(self.starts[chosen] + place)[:, None] + np.arange(size)]
        return found

    def begins_with(self, *octets: int) -> Mask:
        found = self.sizes >= len(octets)
        if found.all() and len(found):
            for place, octet in enumerate(octets):
                found &= self.data[self.starts + place] == octet
            return found
        for place, octet in enumerate(octets):
            rows = np.flatnonzero(found)
            found[rows] = self.data[self.starts[rows] + place] == octet
        return found


def bytes_of(rows: pa.Array) -> pa.Buffer:
    """Return the bytes of rows that are not null, one after the other."""
    _, offsets, data = rows.buffers()
    if data is None or not len(rows):
        return pa.py_buffer(b"")
    ends = memoryview(offsets).cast("i")
    start = ends[rows.offset]
    return data.slice(start, ends[rows.offset + len(rows)] - start)


def without(values: pa.Array, sizes: Integers, kept: Mask) -> pa.Array:
    """Return the rows without as many first bytes; null where they are not kept."""
    made = values
    for size in np.unique(sizes):
        if size:
            cut = after(values, int(size))
            here = sizes == size
            made = cut if here[kept].all() else pc.if_else(pa.array(here), cut, made)
    if kept.all() or (kept == np.asarray(values.is_valid())).all():
        return made
    return pc.if_else(pa.array(kept), made, pa.scalar(None, values.type))


def after(array: pa.Array, size: int) -> pa.Array:
    """Return what follows the first bytes of each row; nothing in rows that are shorter."""
    # Without an end the kernel computes a negative size (seen in 26.0.1).
    return pc.binary_slice(array, size, _NO_END)


_NO_END: Final = (1 << 31) - 1


def integers(lines: Octets, *, little: bool = False) -> Integers:
    """Return what lines of up to 8 bytes say as signed integers, big-endian by default."""
    size = lines.shape[1]
    order = "<" if little else ">"
    return np.ascontiguousarray(lines).view(f"{order}i{size}").reshape(-1).astype(np.int64)


def mask_of(array: pa.Array) -> Mask:
    return np.asarray(array.to_numpy(zero_copy_only=False), np.bool_)


def last_headers(headers: pa.Array, name: str) -> tuple[Integers, pa.Array]:
    """Return the rows with a header of some name, and its last value there that is not null."""
    pairs = headers.flatten()
    if not len(pairs):
        return np.zeros(0, np.int64), pa.array([], pa.binary())
    keys, values = (pairs.field(place) for place in range(2))
    wanted: Any = pa.scalar(name if pa.types.is_string(keys.type) else name.encode(), keys.type)
    named = pc.and_(pc.equal(keys, wanted), pc.is_valid(values))
    places = np.flatnonzero(mask_of(pc.fill_null(named, False)))
    if not len(places):
        return np.zeros(0, np.int64), pa.array([], pa.binary())
    parents = np.asarray(pc.list_parent_indices(headers), np.int64)[places]
    last = np.append(parents[1:] != parents[:-1], True)
    chosen = values.cast(pa.binary()).take(pa.array(places[last]))
    return parents[last], chosen
