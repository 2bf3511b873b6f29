"""The decoders of the dump tool say the same of many records, by columns, as of each alone."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from kafkaspec.arrow.messages.arrays import encode_with, message_table
from kafkaspec.codecs import get_codec
from kafkaspec.dumplog.decoders import decoder_of
from kafkaspec.layout import MessageLayout, Role
from kafkaspec.messages.lookup import MESSAGES, in_topic, written_by
from kafkaspec.model import Record
from tests.arrow.random_messages import RandomMessages

COORDINATED = {"__consumer_offsets": 400, "__transaction_state": 5, "__share_group_state": 5}
"""Topics, and how many records by columns there are at least: flat messages and tombstones."""
RELEASE = (4, 3, 1)
EACH = 60


def messages(layout: MessageLayout) -> list[bytes]:
    table = message_table(layout.id)
    source = RandomMessages(table.layout, 3)
    values = pa.array([source.message() for _ in range(EACH)], table.type)
    found: list[bytes] = encode_with(get_codec("native"), table, values).to_pylist()
    return found


def records(topic: str, rng: random.Random) -> list[Record]:
    """Records of all types, some damaged, and some without a key, a value or a type."""
    found = [Record(0, 0, None, b""), Record(0, 0, b"\x7f\x7f", b"\0\0"), Record(0, 0, b"", b"")]
    for layout in MESSAGES:
        if layout.topic != topic or layout.role is not Role.KEY:
            continue
        assert layout.number is not None
        values = written_by(in_topic(topic, Role.VALUE, layout.number), "4.3")
        if not values:
            continue
        for key, value in zip(messages(layout), messages(values[0]), strict=True):
            found.append(Record(len(found), 0, key, rng.choice((value, value, value, None))))
            changed = bytearray(value)
            changed[rng.randrange(len(value))] = rng.choice((0x22, 0x25, 0x80, 0xFF))
            found.append(Record(len(found), 0, key, bytes(changed[: rng.choice((None, None, -1))])))
    rng.shuffle(found)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("topic", COORDINATED)
def test_many_records_are_said_as_each_of_them(topic: str) -> None:
    made = records(topic, random.Random(11))
    decoder = decoder_of(topic, RELEASE, get_codec("native"))
    alone = decoder_of(topic, RELEASE, get_codec("python"))
    for rows in ([], made[:1], made):
        texts = decoder.many([record.key for record in rows], [record.value for record in rows])
        assert len(texts) == len(rows)
        for record, text in zip(rows, texts, strict=True):
            assert text is None or text == alone(record), record
    assert sum(text is not None for text in texts) >= COORDINATED[topic]
