"""Decode control records: end of a transaction, leader change, KRaft snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.control_record import ControlRecordKey, ControlRecordType
from kafkaspec.codecs import NOWHERE, Codec, Origin, get_codec
from kafkaspec.errors import Reason, make_error
from kafkaspec.layout import names
from kafkaspec.log.pieces import Records, runs_of
from kafkaspec.model import Record

KEY: Final = names.CONTROL_KEY
VALUE: Final = names.CONTROL_VALUE
_AT_ONCE: Final = 1 << 12
_ENDS: Final[dict[int, bool]] = {ControlRecordType.ABORT: True, ControlRecordType.COMMIT: False}
"""The types that end a transaction, and whether they abort it."""


@dataclass(frozen=True, slots=True)
class ControlRecord:
    """A decoded control record.

    Attributes:
        record: the record as it is stored.
        key: version and type.
        body: ``EndTransactionMarker``, ``LeaderChangeMessage``, ``SnapshotHeaderRecord``,
            ``SnapshotFooterRecord``, ``KraftVersionRecord``, ``VotersRecord``, or
            ``UnknownControlRecord`` with the bytes for a type that is not described. None if
            an unknown type has no value.
    """

    record: Record
    key: ControlRecordKey
    body: Any

    @property
    def aborts(self) -> bool | None:
        """Whether it aborts a transaction, or commits one; None for what ends none."""
        return _ENDS.get(self.key.type)

    @property
    def type_name(self) -> str:
        """``ABORT``, ``COMMIT``, ``LEADER_CHANGE`` ... or ``UNKNOWN``, as Kafka prints it."""
        try:
            return ControlRecordType(self.key.type).name
        except ValueError:
            return "UNKNOWN"


def decode_control(
    record: Record, *, codec: Codec | str | None = None, origin: Origin = NOWHERE
) -> ControlRecord:
    """Decode one record of a batch with the control attribute.

    Kafka: ``ControlRecordType.parse``, ``ControlRecordUtils``. Readers skip types that they do
    not know, so these are not errors here.

    Raises:
        KafkaSpecError: key or value is null, too short, or has a negative version.
    """
    reader = codec if isinstance(codec, Codec) else get_codec(codec)
    if record.key is None:
        raise _missing(record, KEY, "key", origin)
    key: ControlRecordKey
    key, _ = reader.parse(KEY, record.key, complete=True, origin=origin.under("/key"))
    if record.value is None:
        if key.type not in _described():
            return ControlRecord(record, key, None)
        raise _missing(record, VALUE, "value", origin)
    body, _ = reader.parse(
        VALUE, record.value, parameters=(key.type,), complete=True, origin=origin.under("/value")
    )
    return ControlRecord(record, key, body)


def encode_control(
    kind: int, body: Any, *, codec: Codec | str | None = None
) -> tuple[bytes, bytes]:
    """Return key and value of a control record of a type.

    Raises:
        KafkaSpecError: ``unencodable``: the body is not what the type needs.
    """
    writer = codec if isinstance(codec, Codec) else get_codec(codec)
    key = writer.serialize(KEY, ControlRecordKey(version=0, type=kind))
    return key, writer.serialize(VALUE, body, parameters=(kind,))


def ending(*, aborts: bool) -> int:
    """Return the type that aborts, or commits, a transaction."""
    return next(kind for kind, each in _ENDS.items() if each is aborts)


def decode_controls(
    records: Sequence[Record], *, codec: Codec | str | None = None, origin: Origin = NOWHERE
) -> Sequence[ControlRecord]:
    """Decode the records of a control batch; those of a large batch again each time they are read.

    Raises:
        KafkaSpecError: one of them cannot be decoded.
    """

    def runs() -> Iterator[Sequence[ControlRecord]]:
        for run in runs_of(records, _AT_ONCE):
            yield [decode_control(record, codec=codec, origin=origin) for record in run]

    if not isinstance(records, Records):
        return list(chain.from_iterable(runs()))
    for _ in runs():
        pass
    return Records(len(records), runs)


def _described() -> set[int | None]:
    return {case for case, _ in LAYOUTS[VALUE].fields[0].cases if case is not None}


def _missing(record: Record, type_key: str, field: str, origin: Origin) -> Exception:
    return make_error(
        Reason.INVALID_VALUE,
        f"control record with offset {record.offset} has no {field}",
        file=origin.file,
        offset=origin.position,
        path=f"{origin.path}/{field}",
        spec=LAYOUTS[type_key].location,
    )
