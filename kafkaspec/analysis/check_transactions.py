"""Check the transaction index of a segment against the markers in its log, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from kafkaspec.analysis.check_order import AbortedTransaction
from kafkaspec.analysis.findings import Area, Finding, FindingReason, Severity

if TYPE_CHECKING:
    from kafkaspec.log.batch import Batch


class TransactionEntry(Protocol):
    """An entry of a transaction index."""

    @property
    def version(self) -> int: ...
    @property
    def producer_id(self) -> int: ...
    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def last_stable_offset(self) -> int: ...


class TransactionIndexCheck:
    """Checks the entries of a transaction index against the batches, which come in order.

    An entry is legal if compaction has removed its marker, but not if the log has something else at
    the marker's offset. An ABORT marker without an entry is a finding if records of its transaction
    are in the log.

    Args:
        entries: entries of the index, empty if there is no file.
        file: path of the index, also if it does not exist.
        segment_base: offset in the name of the segment, None if there is none.
        entry_size: bytes of an entry, for the positions of findings.
    """

    def __init__(
        self,
        entries: Sequence[TransactionEntry],
        file: str,
        segment_base: int | None,
        entry_size: int,
    ) -> None:
        self._entries = entries
        self._file = file
        self._base = segment_base
        self._entry_size = entry_size
        self._next = 0
        self._last_offset: int | None = None

    def _found(
        self, number: int, reason: FindingReason, text: str, severity: Severity = Severity.ERROR
    ) -> Finding:
        return Finding(
            file=self._file,
            severity=severity,
            area=Area.TRANSACTION_INDEX,
            reason=reason,
            message=f"entry {number}: {text}",
            position=number * self._entry_size,
            offset=self._entries[number].last_offset,
        )

    def order(self) -> Iterator[Finding]:
        """Check the entries against each other and the file name, without the log."""
        previous: int | None = None
        for number, entry in enumerate(self._entries):
            if previous is not None and entry.last_offset <= previous:
                yield self._found(
                    number,
                    FindingReason.TRANSACTION_ORDER,
                    f"last offset {previous} is followed by {entry.last_offset}",
                )
            previous = entry.last_offset
            if self._base is not None and entry.last_offset < self._base:
                yield self._found(
                    number,
                    FindingReason.TRANSACTION_ORDER,
                    f"last offset {entry.last_offset} is below the {self._base} of the file name",
                )
            if entry.first_offset > entry.last_offset:
                yield self._found(
                    number,
                    FindingReason.TRANSACTION_RANGE,
                    f"first offset {entry.first_offset} is above last offset {entry.last_offset}",
                )
            if entry.version != 0:
                yield self._found(
                    number,
                    FindingReason.TRANSACTION_VERSION,
                    f"version {entry.version} is not 0; Kafka reads only its first byte",
                    Severity.WARNING,
                )
            if entry.first_offset < 0 or entry.last_stable_offset < 0:
                yield self._found(
                    number,
                    FindingReason.TRANSACTION_RANGE,
                    f"last stable offset {entry.last_stable_offset} differs from first offset "
                    f"{entry.first_offset}",
                )
            if entry.last_stable_offset > entry.last_offset + 1:
                yield self._found(
                    number,
                    FindingReason.TRANSACTION_RANGE,
                    f"last stable offset {entry.last_stable_offset} is after its marker",
                )

    def resume(self, last_offset: int) -> None:
        """Start as if the batches up to an offset had been checked."""
        while self._next < len(self._entries):
            if self._entries[self._next].last_offset > last_offset:
                break
            self._next += 1

    def batch(
        self, batch: Batch, aborts: bool, aborted: AbortedTransaction | None
    ) -> Iterator[Finding]:
        """Take the next batch of the log.

        Args:
            batch: the batch.
            aborts: whether it is an ABORT marker.
            aborted: transaction that it ends, if records of it are in the log.
        """
        named = False
        while self._next < len(self._entries):
            number, entry = self._next, self._entries[self._next]
            if entry.last_offset > batch.last_offset:
                break
            self._next += 1
            if not batch.kind.has_record_sets or entry.last_offset < batch.base_offset:
                # Compaction removes markers and keeps entries.
                continue
            if not aborts or batch.producer_id != entry.producer_id:
                yield self._found(
                    number,
                    FindingReason.TRANSACTION_MARKER,
                    f"there is no ABORT marker of producer {entry.producer_id} "
                    f"at offset {entry.last_offset}",
                )
                continue
            named = True
            if aborted is not None and entry.first_offset <= aborted.previous_marker:
                yield self._found(
                    number,
                    FindingReason.TRANSACTION_RANGE,
                    f"begins at offset {entry.first_offset}, but the producer ended another "
                    f"transaction at {aborted.previous_marker}, whose records are withheld",
                )
            if aborted is not None and entry.first_offset > aborted.first_offset:
                yield self._found(
                    number,
                    FindingReason.TRANSACTION_RANGE,
                    f"begins at offset {entry.first_offset}, but the transaction has records "
                    f"from {aborted.first_offset} on",
                    Severity.WARNING,
                )
        if aborted is not None and not named:
            yield Finding(
                file=self._file,
                severity=Severity.ERROR,
                area=Area.TRANSACTION_INDEX,
                reason=FindingReason.TRANSACTION_MISSING,
                message=f"the transaction of producer {aborted.producer_id} from offset "
                f"{aborted.first_offset}, aborted at {aborted.last_offset}, has no entry",
                offset=aborted.last_offset,
            )
        self._last_offset = batch.last_offset

    def finish(self) -> Iterator[Finding]:
        """Check the rest at the end of the log."""
        for number in range(self._next, len(self._entries)):
            yield self._found(
                number,
                FindingReason.TRANSACTION_MARKER,
                f"last offset {self._entries[number].last_offset} is after the end of the log",
            )
