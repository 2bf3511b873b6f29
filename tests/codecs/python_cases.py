"""Vectors and helpers of the tests of the Python codec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkaspec._generated.python.model.recordbatch import RecordBatch
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.errors import KafkaSpecError

CODEC = PythonCodec()
MAX64 = (1 << 63) - 1


def unhex(text: str) -> bytes:
    """Bytes from hexadecimal text with blanks."""
    return bytes.fromhex(text.replace(" ", ""))


ONE_RECORD = unhex(
    "0000000000000000 0000003a ffffffff 02 716a6189 0000 00000000 00000000000003e8 "
    "00000000000003e8 ffffffffffffffff ffff ffffffff 00000001 10 00 00 00 02 6b 02 76 00"
)
TWO_RECORDS = unhex(
    "0000000000000007 00000044 00000003 02 6c7c697e 0000 00000001 00000000000003e8 "
    "00000000000003e8 ffffffffffffffff ffff ffffffff 00000002"
    "10 00 00 00 02 61 02 62 00 12 00 01 02 01 01 02 02 68 01"
)
MAGIC_1 = unhex("0000000000000005 00000017 4b38d7a9 01 00 00000000000003e8 00000001 6b ffffffff")
MAGIC_0 = unhex("0000000000000000 0000000f 51df3a32 00 00 ffffffff 00000001 61")

# Computed with other programs, not with code of this project.
VECTORS: list[tuple[str, str, tuple[Any, ...]]] = [
    ("recordbatch.entry", MAGIC_0.hex(), ()),
    ("recordbatch.entry", MAGIC_1.hex(), ()),
    ("recordbatch.entry", ONE_RECORD.hex(), ()),
    ("recordbatch.entry", TWO_RECORDS.hex(), ()),
    ("recordbatch.recordbatch", (MAGIC_0 + TWO_RECORDS + MAGIC_1).hex(), ()),
    (
        "recordbatch.entry",
        "000000000000000a 00000042 00000000 02 29889e50 0030 00000000 00000000000003e8 "
        "00000000000003e8 000000000000002a 0001 ffffffff 00000001"
        "20 00 00 00 08 00000000 0c 000000000002 00",
        (),
    ),
    (
        "recordbatch.entry",
        "0000000000000014 00000031 00000000 02 4c9c66b9 0000 00000004 ffffffffffffffff "
        "00000000000003e8 000000000000002a 0001 00000064 00000000",
        (),
    ),
    (
        "transaction_index.transaction_index",
        "0000 000000000000002a 0000000000000003 000000000000000a 000000000000000b",
        (),
    ),
    ("producer_snapshot.producer_snapshot", "0001 48674bc7 00000000", ()),
    (
        "producer_snapshot.producer_snapshot",
        "0001 f8b75a40 00000001 000000000000002a 0001 00000068 0000000000000018 00000004 "
        "00000000000003e8 00000002 ffffffffffffffff",
        (),
    ),
    (
        "control_record.control_record_value",
        "0000 00000001 03 00000001 00 00000002 00 02 00000001 00 00",
        (2,),
    ),
    ("control_record.control_record_value", "0000 00000000000003e8 00", (3,)),
    ("control_record.control_record_value", "0000 00", (4,)),
    ("control_record.control_record_value", "0000 0001 00", (5,)),
    ("control_record.control_record_value", "0000 00000002", (1,)),
    ("control_record.control_record_value", "c0ffee", (77,)),
    # Numbers of Kafka's ByteUtilsTest.
    ("varint.varint32", "d804", ()),
    ("varint.varint32", "feffffff0f", ()),
    ("varint.varint32", "ffffffff0f", ()),
    ("varint.varint64", "feffffffffffffffff01", ()),
    ("varint.varint64", "ffffffffffffffffff01", ()),
    ("varint.unsigned_varint32", "ffffffff0f", ()),
]


def make_batch(**changes: Any) -> RecordBatch:
    """An empty batch at offset 100, apart from ``changes``."""
    fields: dict[str, Any] = {
        "base_offset": 100,
        "last_offset_delta": 0,
        "base_timestamp": 0,
        "max_timestamp": 0,
        "num_records": 0,
        "records": b"",
    }
    return RecordBatch(**fields | changes)


def outcome(call: Callable[[], Any]) -> Any:
    """The result of a call, or all attributes of its error."""
    try:
        return call()
    except KafkaSpecError as error:
        return vars(error)
