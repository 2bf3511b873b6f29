"""How many different keys there are: the smallest hashes stand for all (a theta sketch).

As long as a log has no more than ``MOST`` keys, the number is exact. Above that, what is kept are
the ``MOST`` smallest hashes and the next one, theta: it says which part of all hashes was kept.
The union of two is that of all keys, whatever was joined first. Bounds come from datasketches.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

DistinctHashes = NDArray[np.uint64]
"""Hashes of 63 bits, each once, in order."""

MOST: Final = 4096
"""Keys that are counted exactly; above it, the relative standard error is 1 / sqrt(MOST)."""
DEVIATIONS: Final = 2
"""Standard deviations of the bounds: the number is within them in 95 of 100 cases."""

_BITS: Final = np.uint64(1)
_COMPACT: Final = struct.Struct("<BBBBBBHIIQ")
_OF_SKETCH: Final = (3, 3, 3, 0, 0, 0x1A)
"""Header of a compact theta sketch: its length in 8 bytes, version, family, flags."""


@dataclass(frozen=True)
class DistinctNumber:
    """A number of different keys, and its bounds; see ``DEVIATIONS``."""

    estimate: int
    low: int
    high: int

    @property
    def is_exact(self) -> bool:
        """Whether all keys were counted."""
        return self.low == self.high


class Distinct:
    """Takes the hashes of the keys of a log."""

    def __init__(self) -> None:
        self._kept: DistinctHashes = np.empty(0, np.uint64)

    def add(self, hashes: DistinctHashes) -> None:
        """Take hashes of 64 bits."""
        found = hashes >> _BITS
        if len(self._kept) > MOST:
            found = found[found < self._kept[-1]]
        if len(found):
            self._kept = joined([self._kept, found])

    @property
    def hashes(self) -> DistinctHashes:
        """The smallest hashes, at most ``MOST`` + 1."""
        return self._kept


def joined(several: Sequence[DistinctHashes]) -> DistinctHashes:
    """Return the smallest hashes of several logs."""
    ordered = np.sort(np.concatenate(several))  # faster than np.unique
    fresh = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    return np.asarray(ordered[fresh][: MOST + 1], np.uint64)


def number_of(hashes: DistinctHashes) -> DistinctNumber:
    """Return how many keys have these smallest hashes."""
    if len(hashes) <= MOST:
        return DistinctNumber(len(hashes), len(hashes), len(hashes))
    from datasketches import compact_theta_sketch, update_theta_sketch

    kept = hashes[:MOST]
    seed = update_theta_sketch().compact().get_seed_hash()
    header = _COMPACT.pack(*_OF_SKETCH, seed, len(kept), 0, int(hashes[MOST]))
    sketch = compact_theta_sketch.deserialize(header + kept.tobytes())
    low, high = sketch.get_lower_bound(DEVIATIONS), sketch.get_upper_bound(DEVIATIONS)
    return DistinctNumber(round(sketch.get_estimate()), int(low), int(-(-high // 1)))
