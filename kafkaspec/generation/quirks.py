"""Cases of the numbered quirks of Kafka, and of bytes that are broken in one way.

What a log is broken by is done to records that are known, so that the verdict follows.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from random import Random
from typing import Any, Final

from kafkaspec import compression
from kafkaspec._generated.layout import ENUMS, LAYOUTS
from kafkaspec.checksum import CHECKSUMS
from kafkaspec.codecs import get_codec
from kafkaspec.conformance.cases import Case, CaseValue, Expectation, Items, Refusal
from kafkaspec.conformance.payloads import changed, entry_of, flipped
from kafkaspec.conformance.protocol import RequestKind, record_of
from kafkaspec.errors import Reason
from kafkaspec.generation import features as of
from kafkaspec.generation.beside import index_of, snapshot_of
from kafkaspec.generation.entries import TIME, control_content
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.framing import (
    ENTRY,
    FRAMING,
    HEADER_UP_TO_MAGIC,
    LOG_FRAMING,
    MINIMUM_MESSAGE,
    checksum_of,
    field_of,
)
from kafkaspec.layout.kinds import CURRENT, KINDS, new_value
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.log.encoding import encode
from kafkaspec.model import Record

ELSEWHERE: Final = {
    28: "the offset is in log-start-offset-checkpoint",
    30: "the time is that of the file",
    42: "the offset of the next segment is in its name",
}
"""Quirks that the bytes of one file cannot show, and why."""

MOST: Final = 50
"""Number of the last quirk."""

_SIZE: Final = next(field for field in LAYOUTS[ENTRY].fields if field.derive == "len")
_GOAL: Final = "quirk "
_CODECS: Final = "recordbatch.compression_type"
_LOG: Final = RequestKind.LOG

_VECTORS: Final = {
    1: "varint.varint32/*surplus_bits",
    2: "varint.varint64/*surplus_bits",
    3: "varint.varint32/*zero_in_two_bytes",
    4: "recordbatch.nullable_bytes/*size.-2",
    5: "recordbatch.record/num_headers.-1",
    6: "recordbatch.framed_record/*trailing",
    7: "recordbatch.batch_attributes/reserved.*",
    8: "recordbatch.message/*magic.-128",
    38: "message_set.message/*magic.-128",
    39: "message_set.message_v1/crc.*",
    40: "message_set.message_set/messages.cut",
    44: "flexible.tagged_fields/fields.twice",
    45: "partition_record.message_tag_content/tag_2.trailing_byte",
    47: "partition_record.partition_record/*schema_version.3",
    48: "flexible.tagged_fields/num_fields.maximum",
    49: "flexible.compact_string/value.not_text",
    50: "offset_commit_key.offset_commit_key/unused.not_text",
}
"""Vectors that show a quirk, by a pattern of their ids."""


def quirk_goals() -> list[str]:
    """Return the goals of the quirks that bytes can show."""
    return [f"quirk Q{number}" for number in range(1, MOST + 1) if number not in ELSEWHERE]


def shown_quirks(goals: Iterable[str]) -> tuple[str, ...]:
    """Return the numbers of the quirks among goals."""
    return tuple(goal.removeprefix(_GOAL) for goal in goals if goal.startswith(_GOAL))


def quirks_of(case: Case) -> Iterator[str]:
    """Yield the goals of the quirks that a vector shows."""
    for number, pattern in _VECTORS.items():
        if fnmatchcase(case.id, f"structure/{pattern}"):
            yield f"quirk Q{number}"


def quirk_cases(vectors: Iterable[Case], chance: Random) -> Iterator[Case]:
    """Yield the cases of quirks that no vector shows."""
    made = _Quirks(chance)
    yield from made.compressed()
    yield from made.wrappers()
    yield from made.logs()
    yield from made.transactions()
    yield from made.files()
    yield from made.types(list(vectors))


def broken_cases(chance: Random) -> Iterator[Case]:
    """Yield logs that are broken in one way, of every magic and compression."""
    made = _Quirks(chance)
    for magic, kind in KINDS.items():
        for number, _ in enumerate(compression.NAMES):
            if compression.is_coded(number, magic):
                yield from made.broken(kind, number)
        yield from made.codecs(kind)
        yield from made.beyond(kind)
        yield from made.short(kind)


class _Quirks:
    """Maker of cases.

    Args:
        chance: chooses contents.
    """

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def _records(self, magic: int, count: int = 2, first: int = 7) -> list[Record]:
        time = TIME if KINDS[magic].has_timestamps else NO_TIMESTAMP
        return [
            Record(first + place, time, self._chance.randbytes(3), self._chance.randbytes(24))
            for place in range(count)
        ]

    # -- one way of being broken -----------------------------------------------------------------

    def broken(self, kind: EntryKind, codec: int) -> Iterator[Case]:
        """Yield logs of one kind and compression."""
        magic, name = kind.magic, compression.NAMES[codec]
        where = f"{magic}.{name}"
        records = self._records(magic)
        data = _encoded(records[:1] if not codec else records, magic, name)
        stored = FRAMING + checksum_of(kind.key).position
        yield _broken(
            f"checksum.{where}", flipped(data), {Reason.CHECKSUM_MISMATCH}, "a wrong checksum",
            stored, checksum=True,
        )  # fmt: skip
        if kind.count:
            for number in (len(records) - 1, len(records) + 1):
                wrong = changed(_encoded(records, magic, name), {kind.count: number})
                reasons = (
                    {Reason.TRAILING_BYTES}
                    if number < len(records)
                    else {Reason.TRUNCATED, Reason.OVERRUN}
                )
                why = f"a count of {number} for {len(records)} records"
                yield _broken(f"count_{number}.{where}", wrong, reasons, why)
            negative = _negative_count(data, kind)
            why = "a negative count of records"
            yield _broken(f"negative_count.{where}", negative, {Reason.INVALID_VALUE}, why)
        if codec:
            payload = compression.compress(codec, _content(records, magic), magic=magic)
            for what, wrong in (("cut", payload[:-9]), ("first", b"\xff" + payload[1:])):
                data = entry_of(magic, codec, wrong)
                place = len(data) - len(wrong)
                part = "end is cut" if what == "cut" else "start is wrong"
                why = f"a payload of {name} whose {part}"
                yield _broken(f"{what}.{where}", data, {Reason.DECOMPRESSION_FAILED}, why, place)

    def codecs(self, kind: EntryKind) -> Iterator[Case]:
        """Yield logs whose compression there is not, or not in their magic."""
        known = ENUMS[_CODECS]
        for number in range(_codec_ids()):
            if number not in known or not compression.is_allowed(number, kind.magic):
                data = entry_of(kind.magic, number, b"some bytes")
                if kind.count:
                    data = changed(data, {kind.count: 1})
                numbers = [16] if number in known else []
                yield _broken(
                    f"codec_{number}.{kind.magic}", data, {Reason.UNSUPPORTED_COMPRESSION},
                    f"compression {number} in magic {kind.magic}", quirks=numbers,
                )  # fmt: skip

    def beyond(self, kind: EntryKind) -> Iterator[Case]:
        """Yield logs with a header whose last varint reaches beyond the end of its record."""
        if not kind.has_headers:
            return
        one, two = (
            _content([Record(7, TIME, b"k", b"v", (("kk", None), ("k", None))[:count])], kind.magic)
            for count in (1, 2)
        )
        null = get_codec("python").serialize("varint.varint32", -1)
        long = bytes([null[0] | 0x80, 0])
        last = one.removesuffix(null) + long
        # The size of the first, the count of the second.
        first = one[:1] + two[1 : len(one)].removesuffix(null) + long + two[len(one) :]
        for name, payload in (("last", last), ("first", first)):
            yield _broken(
                f"{name}_header_beyond.{kind.magic}",
                changed(entry_of(kind.magic, 0, payload), {kind.count: 1}),
                {Reason.TRUNCATED, Reason.OVERRUN},
                f"the size of the {name} header's value reaches beyond the end of the record",
            )

    def short(self, kind: EntryKind) -> Iterator[Case]:
        """Yield logs of a message that ends before the size of its value is complete."""
        if kind.has_record_sets:
            return
        (record,) = self._records(kind.magic, 1)
        data = _encoded([record], kind.magic, "none")
        least = FRAMING + MINIMUM_MESSAGE
        for name, end in (("least", least), ("most", len(data) - len(record.value or b"") - 1)):
            cut = bytearray(data[:end])
            LOG_FRAMING.set_message_size(cut, end - FRAMING)
            yield _broken(
                f"short_{name}.{kind.magic}", _signed(bytes(cut), kind.magic),
                {Reason.TRUNCATED, Reason.OVERRUN},
                f"a message of {end - FRAMING} bytes, which end before the size of its value",
            )  # fmt: skip

    # -- compressed data -------------------------------------------------------------------------

    def compressed(self) -> Iterator[Case]:
        """Yield what each decompressor accepts beside its format (Q9, Q11, Q12, Q17, Q19)."""
        skippable = bytes.fromhex("502a4d1804000000") + b"skip"
        tails = {
            "gzip": [(b"garbage", True)],
            "lz4": [(b"garbage", True)],
            "snappy": [(b"\x00\x01\x02", True), (b"\x00\x00\x00\x09", False)],
            "zstd": [(skippable, True), (b"garbage", False)],
        }
        records = self._records(CURRENT)
        content = _content(records, CURRENT)
        for name, found in tails.items():
            codec = compression.NAMES.index(name)
            payload = compression.compress(codec, content, magic=CURRENT)
            for tail, accepted in found:
                data = self._batch(records, codec, payload + tail)
                why = f"{len(tail)} bytes after the stream of {name}"
                case_id = f"tail_{len(tail)}.{name}"
                numbers = [11, 17] if (name, accepted) == ("zstd", False) else [11]
                if accepted:
                    yield _quirk(case_id, data, _items(records), why, numbers)
                else:
                    refusal = _refusal(Reason.DECOMPRESSION_FAILED)
                    yield _quirk(case_id, data, refusal, why, numbers)
        bare = (
            bytes([len(content) & 0x7F | 0x80, len(content) >> 7])
            if len(content) > 127
            else (bytes([len(content)]))
        )
        bare += bytes([60 << 2, len(content) - 1]) + content
        snappy = compression.NAMES.index("snappy")
        yield _quirk(
            "bare.snappy", self._batch(records, snappy, bare), _items(records),
            "a block of snappy without the framing of xerial", [12],
        )  # fmt: skip
        yield from self._lz4()
        garbage = changed(entry_of(CURRENT, 7, b"no records"), {KINDS[CURRENT].count: 0})
        why = "a count of 0, bytes that hold no record, and no such compression"
        yield _quirk("no_records", garbage, Items([]), why, [9])
        number = compression.NAMES.index("gzip")
        cut = compression.compress(number, b"\x02" + content[1:], magic=CURRENT)[:-8]
        reasons = (Reason.DECOMPRESSION_FAILED, Reason.OVERRUN, Reason.TRUNCATED)
        yield _quirk(
            "two_faults.gzip", self._batch(records, number, cut), _refusal(*reasons),
            "a record that is too short, in a stream that is cut", [19],
        )  # fmt: skip

    def _lz4(self) -> Iterator[Case]:
        lz4 = compression.NAMES.index("lz4")
        for magic in KINDS:
            records = self._records(magic, first=0)
            payload = bytearray(compression.compress(lz4, _content(records, magic), magic=CURRENT))
            payload[6] ^= 1
            checked = KINDS[magic].has_timestamps
            data = (
                self._batch(records, lz4, bytes(payload))
                if KINDS[magic].count
                else _with_offset(entry_of(magic, lz4, bytes(payload)), records[-1].offset)
            )
            yield _quirk(
                f"header_checksum.lz4.{magic}", data,
                _refusal(Reason.DECOMPRESSION_FAILED) if checked else _items(records),
                "a wrong checksum of the header of lz4, which nobody reads in magic 0", [12],
            )  # fmt: skip
        # A block of one literal and a match at distance 0: no encoder makes it.
        frame = compression.compress(lz4, b"", magic=CURRENT)[:7]
        block = b"\x10\x00\x00\x00" + b"\x50" + b"12345"
        odd = frame + len(block).to_bytes(4, "little") + block + bytes(4)
        data = changed(entry_of(CURRENT, lz4, odd), {KINDS[CURRENT].count: 1})
        yield _quirk(
            "match_0.lz4", data, Refusal(), "a match of lz4 with distance 0, then no records", [15]
        )

    def _batch(self, records: list[Record], codec: int, payload: bytes) -> bytes:
        """Return a batch of records with this payload."""
        data = encode(records, magic=CURRENT, codec="python")
        return changed(data, {names.COMPRESSION: codec, KINDS[CURRENT].payload: payload})

    # -- wrappers --------------------------------------------------------------------------------

    def wrappers(self) -> Iterator[Case]:
        """Yield wrappers of magic 0 and 1 (Q13, Q20, Q21)."""
        for magic, kind in KINDS.items():
            if not kind.has_record_sets:
                yield from self._wrappers(magic)

    def _wrappers(self, magic: int) -> Iterator[Case]:
        number = compression.NAMES.index("gzip")
        records = self._records(magic, 3, first=0)
        relative = KINDS[magic].has_timestamps
        inner = [_encoded([each], magic, "none") for each in records]

        def wrapper(content: bytes, offset: int = 12) -> bytes:
            payload = compression.compress(number, content, magic=magic)
            return _with_offset(entry_of(magic, number, payload), offset)

        def shifted(found: list[Record], last: int) -> Items:
            shift = last - found[-1].offset if relative else 0
            return _items([each._replace(offset=each.offset + shift) for each in found])

        whole = b"".join(inner)
        two = records[:2]
        cases: list[tuple[str, bytes, Expectation, str, list[int]]] = [
            ("cut", wrapper(whole[:-1]), shifted(two, 12), "the last message is cut", [13]),
            ("tail", wrapper(whole + b"12345678901"), shifted(records, 12),
             "11 bytes after the last message", [13]),
            ("order", wrapper(inner[1] + inner[0] + inner[2]),
             shifted([records[1], records[0], records[2]], 12), "offsets that go back", [13]),
            ("slack", wrapper(changed(inner[0], {"unused": b"unused"})), shifted(records[:1], 12),
             "bytes after the value of a message", [13]),
            ("empty", wrapper(b""), _refusal(Reason.EMPTY_WRAPPER), "no message", [13]),
            ("nested", wrapper(wrapper(whole)), _refusal(Reason.NESTED_COMPRESSION),
             "a wrapper inside", [13]),
            ("null", _null(magic, number), _refusal(Reason.NULL_WRAPPER_VALUE), "no value", []),
            ("null_unknown", _null(magic, 7),
             _refusal(Reason.NULL_WRAPPER_VALUE, Reason.UNSUPPORTED_COMPRESSION),
             "no value, and no such compression", [20]),
        ]  # fmt: skip
        if relative:
            cases.append(
                ("low", wrapper(whole, 1), _refusal(Reason.WRAPPER_OFFSET),
                 "an offset below that of the last message", [13])
            )  # fmt: skip
            unknown = bytearray(inner[0])
            unknown[HEADER_UP_TO_MAGIC - 1] = 9
            signed = _signed(bytes(unknown), magic)
            cases.append(
                ("inner_magic", wrapper(signed), shifted(records[:1], 12),
                 "a message of magic 9, which is read as 1", [21])
            )  # fmt: skip
        for name, data, expected, why, numbers in cases:
            yield _quirk(f"wrapper_{name}.{magic}", data, expected, why, numbers)
        yield Case(
            f"quirk/wrapper_checksum.{magic}", _LOG, wrapper(flipped(inner[0])),
            _refusal(Reason.CHECKSUM_MISMATCH), "A message with a wrong checksum.",
            checksum=True, covers=("quirk Q13",),
        )  # fmt: skip

    # -- logs of several entries -----------------------------------------------------------------

    def logs(self) -> Iterator[Case]:
        """Yield logs whose entries contradict each other, or end early."""
        first = self._records(CURRENT)
        data = _encoded(first, CURRENT, "none")
        later = self._records(CURRENT, first=100)
        second = _encoded(later, CURRENT, "none")
        far = self._records(CURRENT, first=(1 << 31) + 100)
        overflow = bytearray(2 * FRAMING)
        LOG_FRAMING.set_message_size(overflow, _SIZE.largest)
        unread = changed(data, {KINDS[CURRENT].count: 5})
        wrong = flipped(_negative_count(data, KINDS[CURRENT]))
        for name, log, expected, why, numbers in (
            ("zeros", data + bytes(64), _items(first), "zeros at the end", [43]),
            ("size_overflow", data + overflow,
             _items(first), "a size of 2^31 - 1 at the end", [14]),
            ("short_tail", data + second[:17], _items(first), "17 bytes at the end", [8]),
            ("unread", unread, _refusal(Reason.TRUNCATED, Reason.OVERRUN),
             "a right checksum, and fewer records than it says", [23]),
            ("damaged_first", flipped(data) + second, _refusal(Reason.CHECKSUM_MISMATCH),
             "an intact batch after one that is damaged", [24]),
            ("two_header_faults", wrong,
             _refusal(Reason.CHECKSUM_MISMATCH, Reason.INVALID_VALUE),
             "a wrong checksum, and a negative count", [18]),
            ("far", data + _encoded(far, CURRENT, "none"), _items([*first, *far]),
             "offsets 2^31 apart", [25]),
            ("back", second + data, _items([*later, *first]), "offsets that go back", [26, 10]),
            ("repeated", data + data, _items([*first, *first]), "the same batch twice", [10]),
            ("times", changed(data, {names.MAX_TIMESTAMP: TIME + 999}), _items(first),
             "a largest timestamp that no record has any more", [29, 10]),
        ):  # fmt: skip
            case = _quirk(f"log_{name}", log, expected, why, numbers)
            yield case

    def transactions(self) -> Iterator[Case]:
        """Yield transactions whose markers and sequences are as brokers write them."""
        own: dict[str, Any] = {"producer_id": 4000, "producer_epoch": 3}
        one, two = self._records(CURRENT, 1, 0), self._records(CURRENT, 1, 1)
        options = own | {"transactional": True, "base_sequence": 0, "codec": "python"}
        data = encode(one, **options) + encode(two, **options)
        later = {"producer_epoch": 4, "base_sequence": -1}
        for level, wanted, numbers in (
            (of.COMMIT, [*one, *two], [33, 34]),
            (of.ABORT, [], [31]),
        ):
            key, value, _ = control_content(level, self._chance, {})
            marker = encode([Record(2, TIME, key, value)], control=True, **options | later)
            yield Case(
                f"quirk/transaction_{level.lower()}", RequestKind.COMMITTED_RECORDS, data + marker,
                _items(wanted), "Two batches of sequence 0, and a marker of the next epoch.",
                covers=tuple(f"quirk Q{number}" for number in numbers),
            )  # fmt: skip

    # -- files beside a log, and messages --------------------------------------------------------

    def files(self) -> Iterator[Case]:
        """Yield indexes and snapshots."""
        spots = sorted(self._chance.sample(range(1 << 20), 3))
        offsets = [{"relative_offset": 7 * n, "position": at} for n, at in enumerate(spots)]
        times = [{"timestamp": TIME + n, "relative_offset": n} for n in range(3)]
        for kind, rows, why, numbers in (
            (RequestKind.OFFSET_INDEX, offsets, "A broker believes it, whatever the log has.",
             [22, 35]),
            (RequestKind.TIME_INDEX, times, "The last entry is the largest timestamp.", [32]),
        ):  # fmt: skip
            data, items = index_of(kind, rows, 100)
            yield _other(f"{kind}", kind, data, Items(items), why, numbers, {"base_offset": 100})
        entries = [
            {
                "producer_id": number, "producer_epoch": 0, "last_sequence": 4, "last_offset": 9,
                "offset_delta": 2, "timestamp": TIME, "coordinator_epoch": 0,
                "current_txn_first_offset": -1,
            }
            for number in (4002, 4000, 4001)
        ]  # fmt: skip
        data = snapshot_of(entries)
        snapshot = RequestKind.PRODUCER_SNAPSHOT
        why = "Producers in the order of a hash map."
        yield _other("snapshot_order", snapshot, data, Items(entries), why, [36])
        why = "A snapshot with a wrong checksum, which a broker drops."
        refusal = _refusal(Reason.CHECKSUM_MISMATCH)
        yield _other("snapshot_damaged", snapshot, flipped(data), refusal, why, [27])

    def types(self, vectors: Iterable[Case]) -> Iterator[Case]:
        """Yield structures that are put together from vectors."""
        found = {
            case.id.removeprefix("structure/"): case.data
            for case in vectors
            if isinstance(case.expected, CaseValue)
        }
        tags, tag = found["partition_record.message_tags/base"], 1
        content = found[f"partition_record.message_tag_content/tag_{tag}.base"]
        old = found["partition_record.partition_record/schema_version_0.base"]
        data = old.removesuffix(tags) + tags[:1] + bytes([tag, len(content)]) + content
        why = "A tag of a later version of the message."
        yield _typed("later_tag", "partition_record.partition_record", data, why, [46])
        sets: Any
        key = "message_set.message_set"
        sets, _ = get_codec("python").parse(key, found[f"{key}/base"])
        for name, inner, numbers in (
            ("set_compressed", found[f"{key}/messages.2_items"], [37]),
            ("set_empty", b"", [41]),
        ):
            message = new_value(
                "message_set.message_v1",
                {
                    "magic": 1,
                    "attributes": new_value(
                        "message_set.attributes", {"compression": 1, "reserved": 0}
                    ),
                    "payload": gzip.compress(inner, mtime=0),
                },
            )
            sets.messages = [message]
            data = get_codec("python").serialize(key, sets)
            yield _typed(name, key, data, "A compressed set in a message of Kafka 0.7.", numbers)


def _other(
    name: str,
    kind: RequestKind,
    data: bytes,
    expected: Expectation,
    why: str,
    numbers: Iterable[int],
    extra: dict[str, Any] | None = None,
) -> Case:
    covers = tuple(f"quirk Q{number}" for number in numbers)
    return Case(f"quirk/{name}", kind, data, expected, why, extra or {}, covers=covers,
                checksum=isinstance(expected, Refusal), quirks=shown_quirks(covers))  # fmt: skip


def _typed(name: str, key: str, data: bytes, why: str, numbers: Iterable[int]) -> Case:
    return Case(
        f"quirk/{name}", RequestKind.TYPE, data, CaseValue(len(data), {}), why,
        {"type": key, "parameters": []}, covers=tuple(f"quirk Q{number}" for number in numbers),
    )  # fmt: skip


def _quirk(name: str, data: bytes, expected: Expectation, why: str, numbers: Iterable[int]) -> Case:
    covers = (f"broken {name}", *(f"quirk Q{number}" for number in numbers))
    quirks = shown_quirks(covers)
    reasons = expected.reasons if isinstance(expected, Refusal) else frozenset()
    return Case(
        f"quirk/{name}", _LOG, data, expected, f"{why[0].upper()}{why[1:]}.", covers=covers,
        checksum=Reason.CHECKSUM_MISMATCH in reasons and len(reasons) == 1, quirks=quirks,
    )  # fmt: skip


def _broken(
    name: str,
    data: bytes,
    reasons: Iterable[str],
    why: str,
    position: int | None = None,
    *,
    checksum: bool = False,
    quirks: Iterable[int] = (),
) -> Case:
    refusal = Refusal(frozenset(reasons), position=position)
    covers = (f"broken {name}", *(f"quirk Q{number}" for number in quirks))
    return Case(
        f"broken/{name}", _LOG, data, refusal, f"{why[0].upper()}{why[1:]}.", checksum=checksum,
        covers=covers,
    )  # fmt: skip


def _refusal(*reasons: str) -> Refusal:
    return Refusal(frozenset(reasons))


def _items(records: Iterable[Record]) -> Items:
    return Items([record_of(each) for each in records])


def _encoded(records: list[Record], magic: int, name: str) -> bytes:
    return encode(records, magic=magic, compression=name, codec="python")


def _content(records: list[Record], magic: int) -> bytes:
    """Return what is to be compressed: the records of a batch, or messages."""
    data = _encoded(records, magic, "none")
    if not KINDS[magic].has_record_sets:
        return data
    entry: Any
    entry, _ = get_codec("python").parse(ENTRY, data)
    return bytes(getattr(entry.message, KINDS[magic].payload))


def _codec_ids() -> int:
    """Return how many compressions an entry can name: as many as its bits have values."""
    file, _, _ = _CODECS.partition(".")
    (width,) = {
        field.width
        for key in LAYOUTS
        if key.startswith(f"{file}.")
        for field in LAYOUTS[key].fields
        if field.enum == _CODECS
    }
    return 1 << width


def _signed(data: bytes, magic: int) -> bytes:
    """Return a log of one entry with the checksum that follows from its bytes."""
    check = checksum_of(KINDS[magic].key)
    number = CHECKSUMS[check.algorithm](data[FRAMING + check.start :])
    stored = number.to_bytes(field_of(KINDS[magic].key, check.field).size, "big")
    place = FRAMING + check.position
    return data[:place] + stored + data[place + len(stored) :]


def _negative_count(data: bytes, kind: EntryKind) -> bytes:
    """Return a log of one entry with a count of -1, which no writer of ours writes."""
    field = field_of(kind.key, kind.count)
    bits = field.largest.to_bytes(field.size, "big")
    wrong = changed(data, {kind.count: field.largest}).replace(bits, b"\xff" * field.size, 1)
    return _signed(wrong, kind.magic)


def _with_offset(data: bytes, offset: int) -> bytes:
    return changed(data, {names.BASE_OFFSET: offset, names.OFFSET: offset})


def _null(magic: int, codec: int) -> bytes:
    return entry_of(magic, codec, None)
