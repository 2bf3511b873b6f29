"""The reports that the dump tool prints after all files, on stderr."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from kafkaspec.dumplog.families import Family

Pairs = dict[str, list[tuple[int, int]]]


class Reports:
    """Collects what does not fit together, by file.

    Attributes:
        index: offsets of entries of an offset index, and of the log at their positions.
        timestamps: timestamps of entries of a time index, and of their batches.
        order: timestamps of entries that are not larger than the ones before them, and these.
        not_found: offsets of entries of a time index, and of the batches found instead.
        gaps: offsets of a log, and those that follow them.
    """

    def __init__(self, family: Family) -> None:
        self._family = family
        self.index: Pairs = defaultdict(list)
        self.timestamps: Pairs = defaultdict(list)
        self.order: Pairs = defaultdict(list)
        self.not_found: Pairs = defaultdict(list)
        self.gaps: Pairs = defaultdict(list)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the tool, without line ends."""
        for file, pairs in self.index.items():
            yield f"Mismatches in :{file}"
            newest = reversed(pairs)
            if self._family.sorted_reports:
                newest = iter(sorted(dict(pairs).items(), reverse=True))
            yield from (f"  Index offset: {one}, log offset: {other}" for one, other in newest)
        for file, pairs in self.timestamps.items():
            yield f"Found timestamp mismatch in :{file}"
            yield from (f"  Index timestamp: {one}, log timestamp: {other}" for one, other in pairs)
        for file, pairs in self.order.items():
            yield f"Found out of order timestamp in :{file}"
            yield from (
                f"  Index timestamp: {one}, Previously indexed timestamp: {other}"
                for one, other in pairs
            )
        for file, pairs in self.not_found.items():
            yield self._family.not_found.format(file)
            yield from (f"Indexed offset: {one}, found log offset: {other}" for one, other in pairs)
        for file, pairs in self.gaps.items():
            yield f"{self._family.gaps}{file}"
            oldest = reversed(pairs)
            if self._family.sorted_reports:
                oldest = iter(sorted(dict(pairs).items()))
            yield from (f"  {one} is followed by {other}" for one, other in oldest)


class Gaps:
    """Finds offsets of a log that do not follow each other, as the tool does."""

    def __init__(self, family: Family, file: str, pairs: Pairs) -> None:
        self._family = family
        self._file = file
        self._pairs = pairs
        self._last = -1

    def see(self, offset: int, *, compressed: bool = False) -> None:
        """Note the offset of a record, in a message that may be compressed as it stands."""
        self.run(offset, offset, compressed=compressed)

    def run(self, first: int, last: int, *, compressed: bool = False) -> None:
        """Note offsets from a first to a last one that follow each other."""
        family = self._family
        known = self._last != -1 or family.from_minus_one
        skipped = compressed and family.only_plain
        if known and not skipped and first != self._last + 1:
            self._pairs[self._file].append((self._last, first))
        self._last = last
