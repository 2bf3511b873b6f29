"""Check the transaction index of a segment against the markers in its log, in order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kafkaspec._generated.python.model.transaction_index import AbortedTransaction as Entry
from kafkaspec.analysis.check_index import EntryCheck
from kafkaspec.analysis.check_order import AbortedTransaction
from kafkaspec.analysis.findings import Area, Finding, Severity
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.layout.names import LAST_OFFSET

if TYPE_CHECKING:
    from kafkaspec.analysis.check_order import Header
    from kafkaspec.analysis.parts import PartSurvey
    from kafkaspec.columns.inspection import Inspected


class TransactionIndexCheck(EntryCheck[Entry]):
    """Checks the entries of a transaction index.

    An entry is legal if compaction has removed its marker, but not if the log has something else at
    the marker's offset. An ABORT marker without an entry is a finding if records of its transaction
    are in the log.
    """

    area = Area.TRANSACTION_INDEX
    offset_name = "last_offset"

    def __init__(
        self,
        count: int,
        entry: Callable[[int], Entry],
        file: str,
        entry_size: int,
        segment_base: int | None,
    ) -> None:
        """See ``EntryCheck``; ``segment_base`` is the offset in the name of the segment, if any."""
        super().__init__(count, entry, file, entry_size)
        self._base = segment_base

    def order(self) -> Iterator[Finding]:
        """Check the entries against each other and the file name, without the log."""
        previous: int | None = None
        for number, entry in enumerate(map(self._entry, range(self._count))):
            first, last, stable = entry.first_offset, entry.last_offset, entry.last_stable_offset
            if previous is not None and last <= previous:
                text = f"last offset {previous} is followed by {last}"
                yield self._found(number, R.TRANSACTION_ORDER, text)
            previous = last
            if self._base is not None and last < self._base:
                text = f"last offset {last} is below the {self._base} of the file name"
                yield self._found(number, R.TRANSACTION_ORDER, text)
            if first > last:
                text = f"first offset {first} is above last offset {last}"
                yield self._found(number, R.TRANSACTION_RANGE, text)
            if entry.version != 0:
                text = f"version {entry.version} is not 0; Kafka reads only its first byte"
                yield self._found(number, R.TRANSACTION_VERSION, text, Severity.WARNING)
            if first < 0 or stable < 0:
                text = f"last stable offset {stable} differs from first offset {first}"
                yield self._found(number, R.TRANSACTION_RANGE, text)
            if stable > last + 1:
                text = f"last stable offset {stable} is after its marker"
                yield self._found(number, R.TRANSACTION_RANGE, text)

    def resume(self, start: int, before: PartSurvey) -> None:
        while self._next < self._count:
            if self._entry(self._next).last_offset > before.highest_last:
                break
            self._next += 1

    def follow(self, part: Inspected, first: int, stop: int) -> int:
        """Return up to which batch of a run of data no entry is compared; see ``IndexCheck``."""
        if self._next >= self._count:
            return stop
        wanted = self._entry(self._next).last_offset
        return bisect_left(part.column(LAST_OFFSET), wanted, first, stop)

    def batch(
        self, batch: Header, aborts: bool, aborted: AbortedTransaction | None
    ) -> Iterator[Finding]:
        """Take the next batch of the log.

        Args:
            aborts: whether it is an ABORT marker.
            aborted: transaction that it ends, if records of it are in the log.
        """
        named = False
        while self._next < self._count:
            number, entry = self._next, self._entry(self._next)
            if entry.last_offset > batch.last_offset:
                break
            self._next += 1
            if not batch.kind.has_record_sets or entry.last_offset < batch.base_offset:
                # Compaction removes markers and keeps entries.
                continue
            if not aborts or batch.producer_id != entry.producer_id:
                yield self._found(
                    number,
                    R.TRANSACTION_MARKER,
                    f"there is no ABORT marker of producer {entry.producer_id} "
                    f"at offset {entry.last_offset}",
                )
                continue
            named = True
            if aborted is not None and entry.first_offset <= aborted.previous_marker:
                yield self._found(
                    number,
                    R.TRANSACTION_RANGE,
                    f"begins at offset {entry.first_offset}, but the producer ended another "
                    f"transaction at {aborted.previous_marker}, whose records are withheld",
                )
            if aborted is not None and entry.first_offset > aborted.first_offset:
                yield self._found(
                    number,
                    R.TRANSACTION_RANGE,
                    f"begins at offset {entry.first_offset}, but the transaction has records "
                    f"from {aborted.first_offset} on",
                    Severity.WARNING,
                )
        if aborted is not None and not named:
            yield self._place.error(
                R.TRANSACTION_MISSING,
                f"the transaction of producer {aborted.producer_id} from offset "
                f"{aborted.first_offset}, aborted at {aborted.last_offset}, has no entry",
                offset=aborted.last_offset,
            )

    def finish(self) -> Iterator[Finding]:
        """Check the rest at the end of the log."""
        if self._next < self._count:
            offset = self._entry(self._next).last_offset
            text = f"last offset {offset} is after the end of the log"
            yield self._rest(R.TRANSACTION_MARKER, text)
