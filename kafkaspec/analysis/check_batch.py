"""Check the header of a batch against its records.

Kafka does not compare them (quirk Q10): a reader accepts any values. Real brokers write headers
that agree with their records, so every difference is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.analysis.findings import Area, Finding, Place, Severity
from kafkaspec.analysis.reasons import FindingReason as R
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

    if not batch.kind.has_record_sets:
        return
    at = Place(file, Area.BATCH, batch.position, batch.last_offset)
    producer = batch.producer_id
    if batch.last_offset < batch.base_offset:
        text = f"the last offset {batch.last_offset} is below the first, {batch.base_offset}"
        yield at.warning(R.LAST_OFFSET, text)
    if producer < -1:
        yield at.warning(R.PRODUCER_FIELDS, f"the producer id is {producer}")
    if producer < 0 and batch.is_transactional:
        yield at.warning(R.PRODUCER_FIELDS, "a transactional batch has no producer id")
    if producer >= 0 and batch.producer_epoch < 0:
        text = f"producer {producer} with epoch {batch.producer_epoch}"
        yield at.warning(R.PRODUCER_FIELDS, text)
    if producer >= 0 and batch.base_sequence < 0 and not batch.is_control:
        yield at.warning(R.PRODUCER_FIELDS, f"producer {producer} has no sequence number")


def check_records(batch: Batch, records: Sequence[Record], file: str) -> Iterator[Finding]:
    """Check offsets, timestamps and header keys of the records against the header.

    Each batch has at most one finding for each reason; its message names the first such record.
    """

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

    at = Place(file, content_area(batch), batch.position)
    if disorder is not None:
        text = f"offset {disorder[0]} is followed by {disorder[1]} in the same batch"
        yield at.warning(R.RECORD_OFFSET_ORDER, text, offset=disorder[1])
    first = batch.base_offset if batch.kind.has_record_sets else lowest
    if lowest < first or highest > batch.last_offset:
        wrong = lowest if lowest < first else highest
        yield at.warning(
            R.RECORD_OFFSET_RANGE,
            f"a record has offset {wrong}, outside the range of the header, "
            f"{first} to {batch.last_offset}",
            offset=wrong,
        )
    if batch.timestamp_type == "CreateTime":
        if batch.max_timestamp != latest:
            yield at.found(
                # Brokers 0.10.0 kept the wrapper timestamp that the producer had set.
                Severity.WARNING if batch.kind.has_record_sets else Severity.INFO,
                R.MAX_TIMESTAMP,
                f"the largest timestamp is {latest}, the header has {batch.max_timestamp}",
                offset=batch.last_offset,
            )
        if (
            batch.kind.has_record_sets
            and batch.delete_horizon is None
            # The first timestamp in Kafka's own clients, the smallest in others.
            and batch.base_timestamp not in (records[0].timestamp, earliest)
        ):
            yield at.warning(
                R.BASE_TIMESTAMP,
                f"the first timestamp is {records[0].timestamp}, "
                f"the header has {batch.base_timestamp}",
                offset=records[0].offset,
            )
    if bad_key is not None:
        text = "the key of a header is not UTF-8"
        yield at.warning(R.HEADER_KEY_ENCODING, text, offset=bad_key)


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

    at = Place(file, Area.RECORDS, batch.position)
    ends_transaction = batch.producer_id >= 0
    for control in controls:
        number, offset = control.key.type, control.record.offset
        if ends_transaction and number not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
            text = f"a control record of a producer has type {number}, neither ABORT nor COMMIT"
            yield at.error(R.CONTROL_RECORD, text, offset=offset)
        elif number not in _KNOWN_TYPES:
            text = f"a control record has type {number}, which the specification lacks"
            yield at.info(R.UNKNOWN_CONTROL_TYPE, text, offset=offset)
    if ends_transaction and len(controls) > 1:
        yield at.warning(
            R.CONTROL_RECORD,
            f"the batch of a transaction marker has {len(controls)} control records; "
            "only the first is read",
            offset=batch.last_offset,
        )
