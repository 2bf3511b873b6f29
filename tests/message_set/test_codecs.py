"""Every codec reads what Kafka 0.7 wrote as Kafka 0.7 reads it, and writes the same bytes."""

from __future__ import annotations

import pytest

from kafkaspec._generated.python.model.message_set import Attributes, MessageV0, MessageV1
from kafkaspec.codecs import Codec, codec_names, get_codec
from kafkaspec.errors import KafkaSpecError, Reason
from tests.message_set.goldens import FILES, LOGS, damaged, payload, said

SEGMENT = "message_set.message_set"
FRAMED = "message_set.framed_message"


@pytest.fixture(params=codec_names(), scope="module")
def codec(request: pytest.FixtureRequest) -> Codec:
    return get_codec(request.param)


def test_there_are_goldens_of_every_kind() -> None:
    assert len({path.parent.name for path in FILES}) == 12
    messages = [message for path in FILES for message in said(path)["shallow"]]
    assert {message["magic"] for message in messages} == {0, 1}
    assert {message["codec"] for message in messages} == {0, 1, 2}


def test_golden_segments(codec: Codec) -> None:
    for path in FILES:
        data = path.read_bytes()
        segment, end = codec.parse(SEGMENT, data)
        assert end == len(data), path.name
        found = []
        for message in segment.messages:
            attributes = getattr(message, "attributes", None)
            bits = attributes and (attributes.reserved << 2 | attributes.compression)
            found.append((message.magic, bits, message.crc, bytes(message.payload)))
        expected = [
            (m["magic"], m["attributes"] & 0xFF if m["magic"] else None, m["crc"], payload(m))
            for m in said(path)["shallow"]
        ]
        assert found == expected, path.relative_to(LOGS)
        assert codec.serialize(SEGMENT, segment) == data, path.relative_to(LOGS)


def test_positions_are_the_offsets_of_kafka(codec: Codec) -> None:
    for path in FILES:
        data = path.read_bytes()
        position = 0
        for message in said(path)["shallow"]:
            assert position == message["position"]
            _, position = codec.parse(FRAMED, data, position)
            assert position == message["next"]
        assert position == len(data) == said(path)["recovered"]


def test_damage(codec: Codec) -> None:
    """Up to where the layout is sound, Kafka's own reader of files goes; never beyond."""
    seen = set()
    for case in damaged():
        data = bytes.fromhex(case["hex"])
        position = 0
        try:
            while position < len(data):
                _, position = codec.parse(FRAMED, data, position)
        except KafkaSpecError as error:
            seen.add(error.reason)
        if isinstance(case["recovered"], int):
            assert position >= case["recovered"], case["name"]  # checksums can end it earlier
    assert seen == {Reason.TRUNCATED, Reason.OVERRUN, Reason.INVALID_VALUE}


def test_hand_made_bytes(codec: Codec) -> None:
    """Bytes put together by hand from Message.scala; e8b7be43 is the CRC-32 of ``a``."""
    zero = bytes.fromhex("00000006 00 e8b7be43 61")
    one = bytes.fromhex("00000007 01 00 e8b7be43 61")
    snappy = bytes.fromhex("00000007 01 02 e8b7be43 61")
    assert codec.parse(FRAMED, zero) == (MessageV0(payload=b"a"), len(zero))
    assert codec.parse(FRAMED, one) == (MessageV1(payload=b"a"), len(one))
    value, _ = codec.parse(FRAMED, snappy)
    assert value == MessageV1(attributes=Attributes(compression=2), payload=b"a")
    for data in (zero, one, snappy):
        assert codec.serialize(FRAMED, codec.parse(FRAMED, data)[0]) == data
