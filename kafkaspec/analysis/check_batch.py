"""Check the header of a batch against its records.

Kafka does not compare them (quirk Q10): a reader accepts any values. Real brokers write headers
that agree with their records, so every difference is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.analysis.findings import Area, Finding, FindingReason, Severity
from kafkaspec.model import Record

if TYPE_CHECKING:
    from kafkaspec.log.batch import Batch
    from kafkaspec.log.control import ControlRecord

_KNOWN_TYPES = frozenset(int(member) for member in ControlRecordType)


def content_area(batch: Batch) -> Area:
    """Return the area of errors in the content of a batch."""
    if batch.kind.has_record_sets:
        return Area.RECORDS
    return Area.WRAPPER if batch.compression else Area.BATCH


def check_header(batch: Batch, file: str) -> Iterator[Finding]:
    """Check the fields of the header against each other, without records."""

    def warn(reason: FindingReason, message: str) -> Finding:
        return Finding(
            file, Severity.WARNING, Area.BATCH, reason, message, batch.position, batch.last_offset
        )

    if not batch.kind.has_record_sets:
        return
    if batch.last_offset < batch.base_offset:
        yield warn(
            FindingReason.LAST_OFFSET,
            f"the last offset {batch.last_offset} is below the first, {batch.base_offset}",
        )
    if batch.producer_id < -1:
        yield warn(FindingReason.PRODUCER_FIELDS, f"the producer id is {batch.producer_id}")
    if batch.producer_id < 0 and batch.is_transactional:
        yield warn(FindingReason.PRODUCER_FIELDS, "a transactional batch has no producer id")
    if batch.producer_id >= 0 and batch.producer_epoch < 0:
        yield warn(
            FindingReason.PRODUCER_FIELDS,
            f"producer {batch.producer_id} with epoch {batch.producer_epoch}",
        )
    if batch.producer_id >= 0 and batch.base_sequence < 0 and not batch.is_control:
        yield warn(
            FindingReason.PRODUCER_FIELDS,
            f"producer {batch.producer_id} has no sequence number",
        )


def check_records(batch: Batch, records: Sequence[Record], file: str) -> Iterator[Finding]:
    """Check offsets, timestamps and header keys of the records against the header.

    Each batch has at most one finding for each reason; its message names the first such record.
    """

    def found(
        reason: FindingReason,
        message: str,
        offset: int | None,
        severity: Severity = Severity.WARNING,
    ) -> Finding:
        area = content_area(batch)
        return Finding(file, severity, area, reason, message, batch.position, offset)

    if not records:
        return
    previous: int | None = None
    disorder: tuple[int, int] | None = None
    bad_key: int | None = None
    lowest = highest = records[0].offset
    latest = earliest = records[0].timestamp
    for offset, timestamp, _, _, headers in records:
        if previous is not None and offset <= previous and disorder is None:
            disorder = (previous, offset)
        previous = offset
        if offset > highest:
            highest = offset
        elif offset < lowest:
            lowest = offset
        if timestamp > latest:
            latest = timestamp
        elif timestamp < earliest:
            earliest = timestamp
        if headers and bad_key is None and not all(_is_utf8(key) for key, _ in headers):
            bad_key = offset

    if disorder is not None:
        yield found(
            FindingReason.RECORD_OFFSET_ORDER,
            f"offset {disorder[0]} is followed by {disorder[1]} in the same batch",
            disorder[1],
        )
    first = batch.base_offset if batch.kind.has_record_sets else lowest
    if lowest < first or highest > batch.last_offset:
        wrong = lowest if lowest < first else highest
        yield found(
            FindingReason.RECORD_OFFSET_RANGE,
            f"a record has offset {wrong}, outside the range of the header, "
            f"{first} to {batch.last_offset}",
            wrong,
        )
    if batch.timestamp_type == "CreateTime":
        if batch.max_timestamp != latest:
            # Brokers 0.10.0 kept the wrapper timestamp that the producer had set.
            legal = not batch.kind.has_record_sets
            yield found(
                FindingReason.MAX_TIMESTAMP,
                f"the largest timestamp is {latest}, the header has {batch.max_timestamp}",
                batch.last_offset,
                Severity.INFO if legal else Severity.WARNING,
            )
        if (
            batch.kind.has_record_sets
            and batch.delete_horizon is None
            # The first timestamp in Kafka's own clients, the smallest in others.
            and batch.base_timestamp not in (records[0].timestamp, earliest)
        ):
            yield found(
                FindingReason.BASE_TIMESTAMP,
                f"the first timestamp is {records[0].timestamp}, "
                f"the header has {batch.base_timestamp}",
                records[0].offset,
            )
    if bad_key is not None:
        yield found(FindingReason.HEADER_KEY_ENCODING, "the key of a header is not UTF-8", bad_key)


def _is_utf8(key: str) -> bool:
    # Bytes that are not UTF-8 are surrogate escapes (PEP 383) here, which cannot be encoded.
    if key.isascii():
        return True
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_control(batch: Batch, controls: Sequence[ControlRecord], file: str) -> Iterator[Finding]:
    """Check the types of the control records of a batch.

    A broker that loads a log reads the first control record of a producer's batch as a
    transaction marker, and fails if it is not one.
    """

    def found(
        reason: FindingReason, message: str, offset: int, severity: Severity = Severity.ERROR
    ) -> Finding:
        return Finding(file, severity, Area.RECORDS, reason, message, batch.position, offset)

    ends_transaction = batch.producer_id >= 0
    for control in controls:
        number, offset = control.key.type, control.record.offset
        if ends_transaction and number not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
            yield found(
                FindingReason.CONTROL_RECORD,
                f"a control record of a producer has type {number}, neither ABORT nor COMMIT",
                offset,
            )
        elif number not in _KNOWN_TYPES:
            yield found(
                FindingReason.UNKNOWN_CONTROL_TYPE,
                f"a control record has type {number}, which the specification lacks",
                offset,
                Severity.INFO,
            )
    if ends_transaction and len(controls) > 1:
        yield found(
            FindingReason.CONTROL_RECORD,
            f"the batch of a transaction marker has {len(controls)} control records; "
            "only the first is read",
            batch.last_offset,
            Severity.WARNING,
        )
