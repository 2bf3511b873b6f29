"""Check the header of a batch against its records.

Kafka does not compare them (quirk Q10): a reader accepts any values. Real brokers write headers
that agree with their records, so every difference is a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.analysis.consequences import of_message
from kafkaspec.analysis.findings import Area, Finding, Place, Severity
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.codecs import Origin, get_codec
from kafkaspec.columns.conditions import Compare, Condition, holds
from kafkaspec.columns.inspection import TEXT
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.layout import names
from kafkaspec.layout.framing import FRAMING
from kafkaspec.log.batch import (
    CREATE_TIME,
    NO_TIMESTAMP,
    NONE,
    TIMESTAMP_TYPES,
    Batch,
    ignored_bytes,
)
from kafkaspec.log.legacy import LegacyBatch, has_relative_offsets
from kafkaspec.messages.decoding import decode_messages
from kafkaspec.model import Record

if TYPE_CHECKING:
    from kafkaspec.log.control import ControlRecord

_KNOWN_TYPES = frozenset(int(member) for member in ControlRecordType)


def content_area(batch: Batch) -> Area:
    """Return the area of errors in the content of a batch."""
    if batch.kind.has_record_sets:
        return Area.RECORDS
    return Area.WRAPPER if batch.compression else Area.BATCH


class HeaderRule(NamedTuple):
    """A condition on the header of a batch, and the warning about a batch that breaks it."""

    condition: Condition
    reason: R
    text: Callable[[Batch], str]


_NO_PRODUCER: Final = Compare(names.PRODUCER_ID, "<", 0)

HEADER_RULES: Final = (
    HeaderRule(
        (Compare(names.LAST_OFFSET, ">=", names.BASE_OFFSET),),
        R.LAST_OFFSET,
        lambda batch: (
            f"the last offset {batch.last_offset} is below the first, {batch.base_offset}"
        ),
    ),
    HeaderRule(
        (Compare(names.PRODUCER_ID, ">=", NONE),),
        R.PRODUCER_FIELDS,
        lambda batch: f"the producer id is {batch.producer_id}",
    ),
    HeaderRule(
        (Compare(names.PRODUCER_ID, ">=", 0), Compare(names.IS_TRANSACTIONAL, "==", 0)),
        R.PRODUCER_FIELDS,
        lambda _: "a transactional batch has no producer id",
    ),
    HeaderRule(
        (_NO_PRODUCER, Compare(names.PRODUCER_EPOCH, ">=", 0)),
        R.PRODUCER_FIELDS,
        lambda batch: f"producer {batch.producer_id} with epoch {batch.producer_epoch}",
    ),
    HeaderRule(
        (_NO_PRODUCER, Compare(names.BASE_SEQUENCE, ">=", 0), Compare(names.IS_CONTROL, "!=", 0)),
        R.PRODUCER_FIELDS,
        lambda batch: f"producer {batch.producer_id} has no sequence number",
    ),
)
"""Rules for the fields of the header of a batch of records, without its records."""


def check_header(batch: Batch, file: str) -> Iterator[Finding]:
    """Check the fields of the header against each other, without records."""
    if not batch.kind.has_record_sets:
        return
    at = Place(file, Area.BATCH, batch.position, batch.last_offset)
    numbers = {
        names.BASE_OFFSET: batch.base_offset,
        names.LAST_OFFSET: batch.last_offset,
        names.PRODUCER_ID: batch.producer_id,
        names.PRODUCER_EPOCH: batch.producer_epoch,
        names.BASE_SEQUENCE: batch.base_sequence,
        names.IS_TRANSACTIONAL: batch.is_transactional,
        names.IS_CONTROL: batch.is_control,
    }
    for rule in HEADER_RULES:
        if not holds(rule.condition, numbers):
            yield at.warning(rule.reason, rule.text(batch))


@dataclass(slots=True)
class _Seen:
    """A finding about the records of a batch.

    Attributes:
        numbers: numbers of the records and of the header, by the names in the rules.
        disorder: two offsets of which the second is not above the first.
        bad_key: offset of a record with a header whose key is not UTF-8.
    """

    numbers: dict[str, int]
    disorder: tuple[int, int] | None = None
    bad_key: int | None = None


class RecordRule(NamedTuple):
    """A condition on the records of a batch and its header, and the finding about a batch.

    Attributes:
        condition: the condition.
        found: returns the finding about a batch that breaks it.
        everywhere: whether it is one for messages and wrappers too.
    """

    condition: Condition
    found: Callable[[Place, Batch, _Seen], Finding]
    everywhere: bool = True


_RISING: Final = f"{names.OFFSET}.rising"
_LOWEST, _HIGHEST = f"{names.OFFSET}.least", f"{names.OFFSET}.largest"
_FIRST, _EARLIEST, LATEST = (f"{names.TIMESTAMP}.{fact}" for fact in ("first", "least", "largest"))
_NOT_CREATE_TIME: Final = Compare(names.TIMESTAMP_TYPE, "!=", TIMESTAMP_TYPES.index(CREATE_TIME))


def _disorder(at: Place, _: Batch, seen: _Seen) -> Finding:
    assert seen.disorder is not None
    before, offset = seen.disorder
    text = f"offset {before} is followed by {offset} in the same batch"
    return at.warning(R.RECORD_OFFSET_ORDER, text, offset=offset)


def _outside(name: str) -> Callable[[Place, Batch, _Seen], Finding]:
    def found(at: Place, batch: Batch, seen: _Seen) -> Finding:
        wrong = seen.numbers[name]
        text = f"a record has offset {wrong}, outside the range of the header, "
        text += f"{seen.numbers[names.BASE_OFFSET]} to {batch.last_offset}"
        return at.warning(R.RECORD_OFFSET_RANGE, text, offset=wrong)

    return found


def _max_timestamp(at: Place, batch: Batch, seen: _Seen) -> Finding:
    return at.found(
        # Brokers 0.10.0 kept the wrapper timestamp that the producer had set.
        Severity.WARNING if batch.kind.has_record_sets else Severity.INFO,
        R.MAX_TIMESTAMP,
        f"the largest timestamp is {seen.numbers[LATEST]}, the header has {batch.max_timestamp}",
        offset=batch.last_offset,
    )


def _base_timestamp(at: Place, batch: Batch, seen: _Seen) -> Finding:
    text = f"the first timestamp is {seen.numbers[_FIRST]}, the header has {batch.base_timestamp}"
    return at.warning(R.BASE_TIMESTAMP, text, offset=seen.numbers[_FIRST_OFFSET])


def _key(at: Place, _: Batch, seen: _Seen) -> Finding:
    return at.warning(
        R.HEADER_KEY_ENCODING, "the key of a header is not UTF-8", offset=seen.bad_key
    )


_FIRST_OFFSET: Final = f"{names.OFFSET}.first"

RECORD_RULES: Final = (
    RecordRule((Compare(_RISING, "!=", 0),), _disorder),
    RecordRule((Compare(_LOWEST, ">=", names.BASE_OFFSET),), _outside(_LOWEST), everywhere=False),
    RecordRule((Compare(_HIGHEST, "<=", names.LAST_OFFSET),), _outside(_HIGHEST)),
    RecordRule((_NOT_CREATE_TIME, Compare(names.MAX_TIMESTAMP, "==", LATEST)), _max_timestamp),
    RecordRule(
        (
            _NOT_CREATE_TIME,
            Compare(names.HAS_DELETE_HORIZON, "!=", 0),
            # The first timestamp in Kafka's own clients, the smallest in others.
            Compare(names.BASE_TIMESTAMP, "==", _FIRST),
            Compare(names.BASE_TIMESTAMP, "==", _EARLIEST),
        ),
        _base_timestamp,
        everywhere=False,
    ),
    RecordRule((Compare(TEXT, "!=", 0),), _key),
)
"""Rules for the records of a batch and its header. Names of numbers are those of ``Inspected``."""


def check_records(batch: Batch, records: Sequence[Record], file: str) -> Iterator[Finding]:
    """Check offsets, timestamps and header keys of the records against the header.

    Each batch has at most one finding for each reason; its message names the first such record.
    """
    alone = not batch.kind.has_record_sets and not batch.is_compressed
    if not records or alone:  # a message is its own header
        return
    seen = _look(batch, records)
    at = Place(file, content_area(batch), batch.position)
    reasons = set()
    for rule in RECORD_RULES:
        if not rule.everywhere and not batch.kind.has_record_sets:
            continue
        if not holds(rule.condition, seen.numbers):
            finding = rule.found(at, batch, seen)
            if finding.reason not in reasons:
                reasons.add(finding.reason)
                yield finding


def _look(batch: Batch, records: Sequence[Record]) -> _Seen:
    """Return what the rules compare: each record is read once."""
    previous: int | None = None
    disorder: tuple[int, int] | None = None
    bad_key: int | None = None
    first, first_timestamp = records[0].offset, records[0].timestamp
    lowest = highest = first
    latest = earliest = first_timestamp
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
    base_timestamp = batch.base_timestamp
    return _Seen(
        {
            _RISING: disorder is None,
            _LOWEST: lowest,
            _HIGHEST: highest,
            _FIRST_OFFSET: first,
            _FIRST: first_timestamp,
            _EARLIEST: earliest,
            LATEST: latest,
            TEXT: bad_key is None,
            names.BASE_OFFSET: batch.base_offset if batch.kind.has_record_sets else lowest,
            names.LAST_OFFSET: batch.last_offset,
            names.TIMESTAMP_TYPE: _type_number(batch),
            names.MAX_TIMESTAMP: batch.max_timestamp,
            names.BASE_TIMESTAMP: NO_TIMESTAMP if base_timestamp is None else base_timestamp,
            names.HAS_DELETE_HORIZON: batch.delete_horizon is not None,
        },
        disorder,
        bad_key,
    )


def _type_number(batch: Batch) -> int:
    kind = batch.timestamp_type
    return TIMESTAMP_TYPES.index(kind) if kind in TIMESTAMP_TYPES else NONE


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
    transaction marker, and fails if it is not one. Consumers skip all records of control batches,
    whatever they are. Kafka: ``CompletedFetch.nextFetchedRecord``, ``ProducerAppendInfo.append``.
    """

    at = Place(file, Area.RECORDS, batch.position)
    ends_transaction = batch.producer_id >= 0
    for control in controls:
        number, offset = control.key.type, control.record.offset
        if ends_transaction and control.aborts is None:
            text = f"a control record of a producer has type {number}, neither ABORT nor COMMIT"
            yield at.error(R.CONTROL_RECORD, text, offset=offset)
        elif number not in _KNOWN_TYPES and control.key.version:  # written as 0
            text = f"a control record has type {number} and version {control.key.version}: "
            yield at.warning(R.HIDDEN_RECORDS, f"{text}data with the control bit", offset=offset)
        elif number not in _KNOWN_TYPES:
            text = f"a control record has type {number}, which the specification lacks"
            yield at.info(R.UNKNOWN_CONTROL_TYPE, text, offset=offset)
    if ends_transaction and len(controls) > 1:
        text = f"the batch of a transaction marker has {len(controls)} control records; "
        text += "only the first is read"
        yield at.warning(R.HIDDEN_RECORDS, text, offset=batch.last_offset)


def check_slack(batch: Batch, file: str) -> Iterator[Finding]:
    """Report bytes of an entry after its value, which the checksum covers (quirk Q13)."""
    left = ignored_bytes(batch)
    if left:
        place = Place(file, Area.BATCH, batch.end - left, batch.last_offset)
        yield place.warning(R.TRAILING_BYTES, f"{left} bytes after the value are ignored")


def check_wrapper(batch: LegacyBatch, file: str) -> Iterator[Finding]:
    """Report bytes after the last message of a wrapper that was read, and a message of no magic.

    Kafka ignores fewer bytes than the framing of an entry. It drops a cut entry, and in magic 1
    the offsets of all other messages move up by one (quirks Q13 and Q21).
    """
    left, magic = batch.dropped_bytes, batch.unknown_magic
    place = Place(file, Area.WRAPPER, batch.position, batch.last_offset)
    if magic is not None:
        yield place.warning(R.INNER_MAGIC, f"a message has magic {magic}, and is read as magic 1")
    if left >= FRAMING:
        message = f"the last message is cut after {left} bytes and silently dropped"
        if has_relative_offsets(batch.kind):
            message += ", which moves the offsets of all others up by one"
        yield place.error(R.TRAILING_BYTES, message)
    elif left:
        yield place.warning(R.TRAILING_BYTES, f"{left} bytes after the last message are ignored")


def check_messages(
    batch: Batch, records: Sequence[Record], topic: str, codec: str, file: str
) -> Iterator[Finding]:
    """Decode the keys and values of the records of a batch of data.

    Without the release that wrote them: any layout will do that the specification has.
    """
    at = Place(file, Area.INTERNAL_RECORD, batch.position)
    reader, origin = get_codec(codec), Origin()
    for record in records:
        try:
            decode_messages(topic, record, codec=reader, origin=origin)
        except KafkaSpecError as error:
            known = error.reason is not Reason.UNSUPPORTED_VERSION
            found = _finding(at, error, record.offset, known=known)
            yield replace(found, predicted=of_message(topic, known=known))


def _finding(at: Place, error: KafkaSpecError, offset: int, *, known: bool) -> Finding:
    if not known:
        return at.warning(R.UNKNOWN_RECORD_TYPE, error.detail, offset=offset, path=error.path)
    part = error.path.split("/")[1]
    byte = "" if error.position is None else f" at its byte {error.position}"
    text = f"the {part} does not decode{byte}: {error.detail} [{error.reason}]"
    if error.spec:
        text += f" ({error.spec})"
    return at.error(R.UNDECODED_MESSAGE, text, offset=offset, path=error.path)
