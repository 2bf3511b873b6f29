"""Logs of one entry with chosen features, and the records that are in them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, Final

from kafkaspec import compression
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.codecs import get_codec
from kafkaspec.conformance.payloads import changed, entry_of
from kafkaspec.conformance.protocol import record
from kafkaspec.generation import features as of
from kafkaspec.generation.pairs import Row
from kafkaspec.layout import names
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.layout.kinds import KINDS, new_value
from kafkaspec.log.batch import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP
from kafkaspec.log.control import KEY, VALUE
from kafkaspec.log.encoding import encode
from kafkaspec.model import Record

TIME: Final = 1_600_000_000_000
"""Around which the times of records are, ms."""
_UNKNOWN: Final = max(ControlRecordType) + 1
_MARKER: Final = "control_record.end_transaction_marker"
_COUNTS: Final = {of.ONE: 1, of.MANY: 3, of.NONE: 0}


@dataclass(frozen=True)
class MadeEntry:
    """A log of one entry.

    Attributes:
        data: its bytes.
        records: the data records in it, as an answer has them.
        controls: the control records in it, likewise; None for an entry of data.
        apart: whether each record is an entry, as messages are that are not compressed.
    """

    data: bytes
    records: list[dict[str, Any]]
    controls: list[dict[str, Any]] | None = None
    apart: bool = False


def entry(row: Row, chance: Random, bodies: dict[int, bytes]) -> MadeEntry:
    """Return an entry with the features of a row.

    Args:
        row: level by feature.
        chance: chooses what no feature says.
        bodies: the value of a control record by type, for those that end no transaction.
    """
    magic = int(row["magic"])
    kind = KINDS[magic]
    count = _COUNTS[row["records"]]
    offsets = _offsets(row, count, chance)
    times = _times(row, count, chance)
    append = chance.randrange(TIME, 2 * TIME) if row["timestamps"] == LOG_APPEND_TIME else None
    records, controls = [], []
    for offset, time in zip(offsets, times, strict=True):
        if row["control"] == of.DATA:
            key, value = _bytes(row["key"], chance), _bytes(row["value"], chance)
        else:
            key, value, said = control_content(row["control"], chance, bodies)
            controls.append({"offset": offset} | said)
        records.append(Record(offset, time, key, value, _headers(row["headers"], chance)))
    options: dict[str, Any] = {}
    if append is not None:
        options = {"timestamp_type": LOG_APPEND_TIME, "max_timestamp": append}
    if row["producer"] == of.YES:
        options |= {"producer_id": chance.randrange(1 << 40), "producer_epoch": 3}
        options["base_sequence"] = chance.choice((0, 7, (1 << 31) - 2))
    if kind.has_transactions:
        options["transactional"] = row["transactional"] == of.YES
        options["control"] = row["control"] != of.DATA
        options["partition_leader_epoch"] = chance.choice((-1, 0, 5))
    if row["horizon"] == of.YES:
        options["delete_horizon"] = TIME + 1
    data = _data(row, records, options)
    seen = [
        record(
            item.offset,
            _seen_time(row, item.timestamp, append),
            item.key,
            item.value,
            [(name.encode("utf-8", "surrogateescape"), value) for name, value in item.headers],
        )
        for item in records
    ]
    if row["control"] == of.DATA:
        apart = not kind.has_record_sets and row["compression"] == of.NONE
        return MadeEntry(data, seen, apart=apart)
    return MadeEntry(data, [], controls)


def _seen_time(row: Row, time: int, append: int | None) -> int:
    """Return the time that a reader gives a record, which in an older message is none."""
    if row["magic"] == "0" or row["wrapper"] == of.OLDER:
        return NO_TIMESTAMP
    return time if append is None else append


def _data(row: Row, records: list[Record], options: dict[str, Any]) -> bytes:
    magic, codec = int(row["magic"]), row["compression"]
    number = compression.NAMES.index(codec)
    if not records:
        made = encode((), magic=magic, base_offset=40, last_offset=42, codec="python", **options)
        return changed(made, {names.COMPRESSION: number})
    if row["wrapper"] == of.PLAIN:
        return encode(records, magic=magic, compression=codec, codec="python", **options)
    return _wrapper(row, records, number, options)


def _wrapper(row: Row, records: list[Record], number: int, options: dict[str, Any]) -> bytes:
    """Return a wrapper that no writer of ours makes, though readers take it."""
    magic, last = int(row["magic"]), records[-1].offset
    inner_magic = min(KINDS) if row["wrapper"] == of.OLDER else magic
    relative = KINDS[magic].has_timestamps and row["wrapper"] != of.ABSOLUTE
    base = records[0].offset if relative else 0
    inner = b"".join(
        encode(
            [
                Record(
                    each.offset - base,
                    each.timestamp if KINDS[inner_magic].has_timestamps else NO_TIMESTAMP,
                    each.key,
                    each.value,
                )
            ],
            magic=inner_magic,
            codec="python",
        )
        for each in records
    )
    made = entry_of(magic, number, compression.compress(number, inner, magic=magic))
    offset = 0 if row["wrapper"] == of.ABSOLUTE else last
    values: dict[str, Any] = {names.BASE_OFFSET: offset, names.OFFSET: offset}
    if row["wrapper"] == of.KEYED:
        values[names.KEY] = b"a key that nobody reads"
    if KINDS[magic].has_timestamps:
        values[names.TIMESTAMP] = max(each.timestamp for each in records)
        if "timestamp_type" in options:
            values[names.TIMESTAMP] = options["max_timestamp"]
            values[names.TIMESTAMP_TYPE] = 1
    return changed(made, values)


def _offsets(row: Row, count: int, chance: Random) -> list[int]:
    step = chance.randrange(2, 200) if row["offsets"] == of.GAPS else 1
    first = chance.randrange(1, 1 << 33)
    if row["offsets"] == of.HIGH:
        first = LARGEST_OFFSET - max(count - 1, 0)
    return [first + step * place for place in range(count)]


def _times(row: Row, count: int, chance: Random) -> list[int]:
    if row["magic"] == "0" or row["timestamps"] not in (CREATE_TIME, LOG_APPEND_TIME):
        return [NO_TIMESTAMP] * count
    return [TIME + chance.randrange(-(1 << 36), 1 << 36) for _ in range(count)]


def _bytes(level: str, chance: Random) -> bytes | None:
    if level == of.NULL:
        return None
    if level == of.EMPTY:
        return b""
    size = chance.choice((64, 128, 400)) if level == of.LONG else chance.randrange(1, 20)
    return chance.randbytes(size)


def _headers(level: str, chance: Random) -> tuple[tuple[str, bytes | None], ...]:
    match level:
        case of.NONE:
            return ()
        case of.EMPTY_KEY:
            return (("", b"x"),)
        case of.NULL_VALUE:
            return (("k", None),)
        case of.EMPTY_VALUE:
            return (("k", b""),)
        case of.NOT_TEXT:
            return ((b"k\xff\x80".decode("utf-8", "surrogateescape"), b"x"),)
        case of.LONG:
            return tuple(("k" * size, chance.randbytes(48 - size)) for size in (8, 12, 16, 40))
        case of.MANY:
            return tuple((f"k{place // 2}", chance.randbytes(place)) for place in range(5))
    return (("a name", chance.randbytes(4)),)


def control_content(
    level: str, chance: Random, bodies: dict[int, bytes]
) -> tuple[bytes, bytes, dict[str, Any]]:
    """Return key and value of a control record, and what an answer says of it."""
    python = get_codec("python")
    number = _UNKNOWN if level == of.UNKNOWN else int(ControlRecordType[level])
    key = python.serialize(KEY, new_value(KEY, {"version": 0, "type": number, "unused": b""}))
    said: dict[str, Any] = {"type": number}
    (body,) = LAYOUTS[VALUE].fields
    if dict(body.cases).get(number) != _MARKER:
        return key, bodies.get(number, b"x"), said
    epoch = chance.randrange(1 << 20)
    marker = new_value(_MARKER, {"version": 0, "coordinator_epoch": epoch, "unused": b""})
    value = python.serialize(VALUE, marker, parameters=(number,))
    return key, value, said | {"coordinator_epoch": epoch}
