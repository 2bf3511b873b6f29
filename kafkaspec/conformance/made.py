"""Cases that are made here: logs of every magic and compression, transactions, records to write.

Every installation has them. What is expected are the records that the logs were made of, and for
transactions the rules of Kafka's consumer: our writer makes the bytes, and no reader of ours says
what is in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kafkaspec import compression
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.conformance.cases import Case, Items, Refusal
from kafkaspec.conformance.payloads import flipped, seal
from kafkaspec.conformance.protocol import RequestKind, record_of
from kafkaspec.conformance.written import WrittenRecords
from kafkaspec.errors import Reason
from kafkaspec.layout.framing import LOG_FRAMING, field_of, field_position
from kafkaspec.layout.kinds import CURRENT, KINDS, MAGICS
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.log.encoding import encode, encode_marker
from kafkaspec.model import Record

MADE: Final = "made/"
"""Ids of these cases begin so."""

_TIME: Final = 1_700_000_000_000
_LARGE: Final = 200_000
"""Bytes of a value that takes more than one block of snappy and lz4."""
_FAR: Final = 1 << 40
_PRODUCER: Final = 4_000
"""The id of the first producer of the transactions."""

TransactionStep = tuple[int, str]
"""A producer, by its place, and what it does: write ``data``, ``commit`` or ``abort``; or -1 and
``plain`` for a record of no transaction."""

_TRANSACTIONS: Final[dict[str, list[TransactionStep]]] = {
    "committed": [(0, "data"), (0, "data"), (0, "commit")],
    "aborted": [(0, "data"), (0, "data"), (0, "abort"), (-1, "plain")],
    "plain_between": [(0, "data"), (-1, "plain"), (0, "abort"), (-1, "plain")],
    "interleaved": [(0, "data"), (1, "data"), (0, "data"), (1, "commit"), (0, "abort")],
    "nested": [(0, "data"), (1, "data"), (1, "abort"), (0, "data"), (0, "commit")],
    "again": [(0, "data"), (0, "abort"), (0, "data"), (0, "commit"), (0, "data"), (0, "abort")],
    "open": [(-1, "plain"), (0, "data"), (-1, "plain"), (1, "data"), (1, "commit")],
    "open_after_abort": [(0, "data"), (0, "abort"), (-1, "plain"), (0, "data"), (-1, "plain")],
    "marker_only": [(0, "abort"), (-1, "plain"), (0, "commit")],
}


def made_cases() -> Iterator[Case]:
    """Yield the cases, in order."""
    yield from _framing()
    yield from _compressed()
    yield from _transactions()
    yield from _to_write()


def _records(magic: int, first: int = 0, count: int = 3) -> list[Record]:
    """Return records with nulls, empty bytes and, where the magic has them, times and headers."""
    kind = KINDS[magic]
    contents = ((b"key", b"value"), (None, b""), (b"", None))
    headers = (("a", b"b"), ("", None), ("a", b"")) if kind.has_headers else ()
    return [
        Record(
            first + index, _TIME + index if kind.has_timestamps else NO_TIMESTAMP, key, value,
            headers if index % 2 else (),
        )
        for index in range(count)
        for key, value in (contents[index % len(contents)],)
    ]  # fmt: skip


def _items(records: Sequence[Record]) -> Items:
    return Items([record_of(item) for item in records])


def _codecs(magic: int) -> list[str]:
    return [
        name for number, name in enumerate(compression.NAMES)
        if number and compression.is_coded(number, magic)
    ]  # fmt: skip


def sized(data: bytearray, *, sealed: bool = True) -> bytes:
    """Return the bytes as one entry: with the size, and the checksum, that belong to it."""
    start = LOG_FRAMING.size
    LOG_FRAMING.set_message_size(data, len(data) - start)
    has_magic = len(data) >= LOG_FRAMING.up_to_magic
    kind = KINDS.get(data[LOG_FRAMING.up_to_magic - 1]) if has_magic else None
    if sealed and kind is not None:
        seal(data, kind.key, start)
    return bytes(data)


def _framing() -> Iterator[Case]:
    log = RequestKind.LOG
    yield Case(f"{MADE}framing/empty", log, b"", Items([]), "An empty segment.", framed=True)
    mixed, everything = b"", list[Record]()
    for magic in MAGICS:
        for first in (len(everything), len(everything) + 3):
            records = _records(magic, first)
            everything += records
            mixed += encode(records, magic=magic)
    yield Case(f"{MADE}framing/mixed", log, mixed, _items(everything), "All magics.", framed=True)
    for magic in MAGICS:
        data = encode(_records(magic), magic=magic)
        yield Case(
            f"{MADE}framing/{magic}.checksum", log, flipped(data),
            Refusal(frozenset({Reason.CHECKSUM_MISMATCH})), "The last bit is flipped.",
            checksum=True,
        )  # fmt: skip
        kind = KINDS[magic]
        if kind.has_record_sets:
            whole, layout = bytearray(encode([], magic=magic, base_offset=0)), LAYOUTS[kind.key]
            start = LOG_FRAMING.size + field_position(layout, kind.count)
            whole[start : start + field_of(kind.key, kind.count).size] = b"\xff" * 4
            yield Case(
                f"{MADE}framing/{magic}.negative_count", log, sized(whole), Refusal(),
                "The number of records is -1, and there is none (quirk Q9).", framed=True,
            )  # fmt: skip
    place = LOG_FRAMING.up_to_magic - 1
    unknown = data[:place] + bytes([max(MAGICS) + 100]) + data[place + 1 :]
    yield Case(
        f"{MADE}framing/unknown_magic", log, unknown, Refusal(), "No such magic.", framed=True
    )


def _compressed() -> Iterator[Case]:
    for magic in MAGICS:
        for name in _codecs(magic):
            small = _records(magic, _FAR)
            large = [Record(0, NO_TIMESTAMP, None, bytes(range(250)) * (_LARGE // 250))]
            for what, records in (("small", small), ("large", large)):
                data = encode(records, magic=magic, compression=name)
                why = f"Magic {magic}, compressed with {name}."
                yield Case(
                    f"{MADE}compression/{magic}.{name}.{what}", RequestKind.LOG, data,
                    _items(records), why,
                )  # fmt: skip


def _transactions() -> Iterator[Case]:
    for name, steps in _TRANSACTIONS.items():
        for codec in ("none", _codecs(CURRENT)[0]):
            data, wanted, markers = _log_of(steps, codec)
            suffix = "" if codec == "none" else f".{codec}"
            why = "What a consumer with read_committed gets: " + " ".join(
                action if producer < 0 else f"{action}{producer}" for producer, action in steps
            )
            yield Case(
                f"{MADE}transactions/{name}{suffix}", RequestKind.COMMITTED_RECORDS, data,
                _items(wanted), why,
            )  # fmt: skip
            if codec == "none":
                yield Case(
                    f"{MADE}transactions/{name}.markers", RequestKind.CONTROL_RECORDS, data,
                    Items(markers), "The markers of the same log.",
                )  # fmt: skip


def _log_of(
    steps: Sequence[TransactionStep], codec: str
) -> tuple[bytes, list[Record], list[dict[str, Any]]]:
    """Return a log, the records that ``read_committed`` delivers, and the markers.

    Kafka: ``UnifiedLog.lastStableOffset``, ``CompletedFetch.nextFetchedRecord``.
    """
    data, offset = b"", 0
    markers: list[dict[str, Any]] = []
    delivered: list[Record] = []
    pending: dict[int, list[Record]] = {}
    for producer, action in steps:
        own: dict[str, Any] = {"producer_id": _PRODUCER + producer, "producer_epoch": 0}
        if action in ("commit", "abort"):
            kind = ControlRecordType[action.upper()]
            data += encode_marker(kind, offset, _TIME + offset, **own)
            markers.append({"offset": offset, "type": int(kind), "coordinator_epoch": 0})
            ended = pending.pop(producer, [])
            delivered += ended if action == "commit" else []
            offset += 1
            continue
        records = _records(CURRENT, offset, 2)
        offset += len(records)
        if action == "plain":
            delivered += records
            data += encode(records, compression=codec)
        else:
            pending.setdefault(producer, []).extend(records)
            sequence = len(pending[producer]) - len(records)
            data += encode(
                records, compression=codec, transactional=True, base_sequence=sequence, **own
            )
    stable = min((records[0].offset for records in pending.values()), default=offset)
    wanted = sorted((r for r in delivered if r.offset < stable), key=lambda r: r.offset)
    return data, wanted, markers


def _to_write() -> Iterator[Case]:
    for magic in MAGICS:
        for codec in ("none", *_codecs(magic)):
            yield _writing(f"{magic}.{codec}", _records(magic, 7), magic, codec)
        yield _writing(f"{magic}.far", _records(magic, _FAR), magic)
        yield _writing(f"{magic}.large", [Record(0, NO_TIMESTAMP, None, bytes(_LARGE))], magic)
        if KINDS[magic].has_record_sets:
            gaps = [item for item in _records(magic, 7, 9) if item.offset % 3]
            yield _writing(f"{magic}.gaps", gaps, magic)
            yield _writing(f"{magic}.many", _records(magic, 0, 300), magic)
            times = [r._replace(timestamp=_TIME - r.offset) for r in _records(magic)]
            yield _writing(f"{magic}.times", times, magic)
            own: dict[str, Any] = {
                "producer_id": _PRODUCER,
                "producer_epoch": 3,
                "base_sequence": 5,
            }
            yield _writing(f"{magic}.idempotent", _records(magic), magic, **own)
            yield _writing(f"{magic}.transactional", _records(magic), magic, transactional=True,
                           partition_leader_epoch=9, **own)  # fmt: skip


def _writing(name: str, records: list[Record], magic: int, codec: str = "none", **own: Any) -> Case:
    items = [record_of(item) for item in records]
    asked = {"magic": magic, "compression": codec, **own}
    canonical = encode(records, **asked) if codec == "none" else None
    return Case(
        f"{MADE}writing/{name}", RequestKind.ENCODE, b"",
        WrittenRecords(items, magic, codec, canonical),
        f"Records of magic {magic}, compression {codec}.",
        {"records": items, **asked}, needs="" if codec == "none" else codec,
    )  # fmt: skip
