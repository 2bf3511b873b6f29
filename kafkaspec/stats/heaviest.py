"""The heaviest keys of a segment, by counts that are never too high (Misra and Gries).

While a segment is read, at most ``COUNTERS`` keys have a counter. When there are more, the count of
the first one too many is taken from all, and those with nothing left go: no count is too low by
more than what was taken, and that is less than records / ``COUNTERS``. Of these, ``KEPT`` are kept
for the segment. Counts and bounds of several segments are added, so they hold for the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkaspec.stats.byte_columns import chosen
from kafkaspec.stats.distinct import DistinctHashes

COUNTERS: Final = 1024
KEPT: Final = 128
KEY_BYTES: Final = 256
"""Bytes of a key that are kept."""

_Counts = NDArray[np.int64]


@dataclass(frozen=True)
class HeaviestKeys:
    """The heaviest keys of a segment.

    Attributes:
        slack: how much the count of a key that is not among them may be above 0.
        credit: how much less than that the count of one among them may be too low.
    """

    digests: DistinctHashes
    counts: _Counts
    keys: list[bytes]
    sizes: list[int]
    slack: int
    credit: int


class Heaviest:
    """Takes the keys of a segment."""

    def __init__(self) -> None:
        self._hashes: DistinctHashes = np.empty(0, np.uint64)
        self._counts: _Counts = np.empty(0, np.int64)
        self._keys: dict[int, tuple[bytes, int]] = {}
        self._slack = 0

    def add(self, hashes: DistinctHashes, keys: pa.Array, rows: _Counts | None = None) -> None:
        """Take keys; ``rows`` says where those are that are not null, if not all are."""
        ordered = np.sort(hashes)  # much faster than argsort
        first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        names, counts = ordered[first], np.diff(np.append(first, len(ordered)))
        at = np.minimum(np.searchsorted(names, self._hashes), len(names) - 1)
        known = names[at] == self._hashes
        counts[at[known]] += self._counts[known]
        names = np.concatenate([names, self._hashes[~known]])
        counts = np.concatenate([counts, self._counts[~known]])
        cut = _first_too_many(counts)
        kept = np.flatnonzero(counts > cut)
        kept = kept[np.argsort(names[kept])]
        fresh = np.setdiff1d(names[kept], self._hashes, assume_unique=True)
        self._slack += cut
        self._hashes, self._counts = names[kept], counts[kept] - cut
        known_keys = self._keys
        if len(fresh):
            places = _places(hashes, fresh)
            places = places if rows is None else rows[places]
            _, bounds, data = chosen(keys, places).buffers()
            ends = np.frombuffer(bounds, np.int32, len(places) + 1).tolist()
            found = memoryview(data) if data else b""
            for name, (start, end) in zip(fresh.tolist(), pairwise(ends), strict=True):
                known_keys[name] = bytes(found[start : min(end, start + KEY_BYTES)]), end - start
        self._keys = {name: known_keys[name] for name in self._hashes.tolist()}

    @property
    def kept(self) -> HeaviestKeys:
        """The heaviest of them."""
        order = np.lexsort((self._hashes, -self._counts))
        chosen = order[:KEPT]
        credit = int(self._counts[order[KEPT]]) if len(order) > KEPT else 0
        digests = self._hashes[chosen]
        found = [self._keys[name] for name in digests.tolist()]
        return HeaviestKeys(
            digests,
            self._counts[chosen],
            [key for key, _ in found],
            [size for _, size in found],
            self._slack + credit,
            credit,
        )


def _places(hashes: DistinctHashes, names: DistinctHashes) -> _Counts:
    """Return where some hashes are among others; few of these are looked at closely."""
    table = np.zeros(1 << 16, bool)
    table[names.astype(np.uint16)] = True
    close = np.flatnonzero(table[hashes.astype(np.uint16)])
    at = np.minimum(np.searchsorted(names, hashes[close]), len(names) - 1)
    same = names[at] == hashes[close]
    places = np.zeros(len(names), np.int64)
    places[at[same]] = close[same]
    return places


def _first_too_many(counts: _Counts) -> int:
    """Return the largest count but ``COUNTERS``; 0 if there are no more."""
    if len(counts) <= COUNTERS:
        return 0
    several = counts[counts > 1]
    if len(several) <= COUNTERS:
        return 1
    place = len(several) - COUNTERS - 1
    return int(np.partition(several, place)[place])
