"""Vectors by hand, and what the tests of the codec on Construct definitions ask of it."""

from __future__ import annotations

from typing import Any

import pytest

from kafkaspec._generated.python.model.recordbatch import (
    RecordBatch,
)
from kafkaspec.codecs.base import Codec, Parser
from kafkaspec.codecs.references.construct.codec import ConstructCodec
from kafkaspec.errors import KafkaSpecError, Reason

CODEC = ConstructCodec()

MAGIC_0 = bytes.fromhex("0000000000000000 0000000f 51df3a32 00 00 ffffffff 00000001 61")
MAGIC_1 = bytes.fromhex(
    "0000000000000005 00000017 4b38d7a9 01 00 00000000000003e8 00000001 6b ffffffff"
)
ONE = bytes.fromhex(
    "0000000000000000 0000003a ffffffff 02 716a6189 0000 00000000 00000000000003e8"
    "00000000000003e8 ffffffffffffffff ffff ffffffff 00000001 10 00 00 00 02 6b 02 76 00"
)
TWO = bytes.fromhex(
    "0000000000000007 00000044 00000003 02 6c7c697e 0000 00000001 00000000000003e8"
    "00000000000003e8 ffffffffffffffff ffff ffffffff 00000002"
    "10 00 00 00 02 61 02 62 00 12 00 01 02 01 01 02 02 68 01"
)
ABORT = bytes.fromhex(
    "000000000000000a 00000042 00000000 02 29889e50 0030 00000000 00000000000003e8"
    "00000000000003e8 000000000000002a 0001 ffffffff 00000001"
    "20 00 00 00 08 00000000 0c 000000000002 00"
)
EMPTY = bytes.fromhex(
    "0000000000000014 00000031 00000000 02 4c9c66b9 0000 00000004 ffffffffffffffff"
    "00000000000003e8 000000000000002a 0001 00000064 00000000"
)
ENTRIES = {
    "magic 0": MAGIC_0,
    "magic 1": MAGIC_1,
    "one record": ONE,
    "two records": TWO,
    "abort": ABORT,
    "empty": EMPTY,
}
OTHERS: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "aborted transaction": (
        "transaction_index.transaction_index",
        "0000 000000000000002a 0000000000000003 000000000000000a 000000000000000b",
        (),
    ),
    "no producers": ("producer_snapshot.producer_snapshot", "0001 48674bc7 00000000", ()),
    "a producer": (
        "producer_snapshot.producer_snapshot",
        "0001 f8b75a40 00000001 000000000000002a 0001 00000068 0000000000000018 00000004"
        "00000000000003e8 00000002 ffffffffffffffff",
        (),
    ),
    "leader change": (
        "control_record.control_record_value",
        "0000 00000001 03 00000001 00 00000002 00 02 00000001 00 00",
        (2,),
    ),
    "snapshot header": ("control_record.control_record_value", "0000 00000000000003e8 00", (3,)),
    "snapshot footer": ("control_record.control_record_value", "0000 00", (4,)),
    "kraft version": ("control_record.control_record_value", "0000 0001 00", (5,)),
    "unknown control record": ("control_record.control_record_value", "c0ffee", (99,)),
    "offset index": ("index.offset_index", "00000003 00000010 00000007 00000100", (5,)),
}

UNENCODABLE: dict[str, tuple[str, Any, str, str]] = {
    "too large": ("base_timestamp", 1 << 63, "/message/content/base_timestamp", "seq/5"),
    "no number": ("base_timestamp", "1", "/message/content/base_timestamp", "seq/5"),
    "null number": ("producer_id", None, "/message/content/producer_id", "seq/7"),
    "negative count": ("num_records", -1, "/message/content/num_records", "seq/10"),
    "no bytes": ("records", None, "/message/content/records", "seq/11"),
    "text": ("records", "abc", "/message/content/records", "seq/11"),
    "no structure": ("attributes", None, "/message/content/attributes", "seq/3"),
}
"""A field of a batch, a value that does not fit it, and where the error is."""


def parse(key: str, data: Any, **options: Any) -> Any:
    value, end = CODEC.parse(key, data, **options)
    assert end == len(data)
    return value


def refusal(key: str, data: Any, **options: Any) -> KafkaSpecError:
    with pytest.raises(KafkaSpecError) as caught:
        CODEC.parse(key, data, **options)
    return caught.value


def outcome(key: str, data: Any, **options: Any) -> tuple[Any, KafkaSpecError | None]:
    """The value or the error."""
    try:
        return CODEC.parse(key, data, **options)[0], None
    except KafkaSpecError as error:
        return None, error


def unencodable(key: str, value: Any, **options: Any) -> KafkaSpecError:
    with pytest.raises(KafkaSpecError) as caught:
        CODEC.serialize(key, value, **options)
    assert caught.value.reason is Reason.UNENCODABLE
    return caught.value


def a_batch(**changes: Any) -> RecordBatch:
    known = {"last_offset_delta": 0, "base_timestamp": 0, "max_timestamp": 0, "records": b""}
    return RecordBatch(**{"base_offset": 0, "num_records": 1, **known, **changes})


class Mute(Codec):
    """A codec that accepts all there is: with it, a codec judges alone."""

    def parser(self, _: str) -> Parser:
        return lambda *_: (None, 0)

    def write(self, *_: Any) -> bytes:
        return b""
