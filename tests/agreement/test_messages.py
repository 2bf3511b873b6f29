"""Every record of Kafka's own topics that a real broker wrote, decoded and written again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

import kafkaspec
from kafkaspec.codecs import codec_names, get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout.messages import TOPICS
from kafkaspec.log.messages import decode_messages
from kafkaspec.model import Record
from tests import goldens

WITHOUT_LAYOUTS = ("4.0.2",)
"""Releases with layouts that are not described yet."""


@cache
def records() -> tuple[tuple[str, str, Record], ...]:
    """Release, topic and record of everything in the golden logs that holds messages."""
    return tuple(_records())


def _records() -> Iterator[tuple[str, str, Record]]:
    for golden in (*goldens.files(".log"), *goldens.files(".checkpoint")):
        topic = golden.path.parent.name.rpartition("-")[0]
        if topic not in TOPICS:
            continue
        for batch in kafkaspec.open(golden.path).batches():
            if not batch.is_control:
                for record in batch.records():
                    yield golden.version, topic, record


@pytest.mark.slow
@pytest.mark.parametrize("name", codec_names())
def test_golden_records_come_back(name: str) -> None:
    codec = get_codec(name)
    seen: Counter[str] = Counter()
    wrong: list[object] = []
    for release, topic, record in records():
        try:
            found = decode_messages(topic, record, release=release, codec=codec)
        except KafkaSpecError as error:
            if release in WITHOUT_LAYOUTS:
                continue
            wrong.append((release, topic, record.offset, str(error)))
            continue
        for message, data in zip(found, (record.key, record.value), strict=True):
            if message is None:
                assert data is None
                continue
            assert data is not None
            assert not len(getattr(message.value, "unused", b"")), (release, topic, record.offset)
            seen[message.layout.name] += 1
            if codec.serialize(message.layout.key, message.value) != bytes(data):
                wrong.append((release, topic, record.offset, message.layout.name))
    assert wrong == []
    assert sum(seen.values()) > 11_000
    assert len(seen) >= 50
