"""Files with any damage end in text and an error of ours, in every release's text."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.codecs import get_codec
from kafkaspec.dumplog.decoders import decoder_of
from kafkaspec.dumplog.dump import Dump
from kafkaspec.dumplog.options import DumpOptions
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests.goldens import GOLDEN

RELEASES = (
    (0, 8, 2), (0, 9), (0, 10, 1), (0, 11), (1, 1), (2, 2), (2, 4), (2, 8), (3, 0), (3, 8), (4, 0),
    (4, 1), (4, 3),
)  # fmt: skip
SUFFIXES = (
    names.LOG, names.OFFSET_INDEX, names.TIME_INDEX, names.TRANSACTION_INDEX,
    names.PRODUCER_SNAPSHOT,
)  # fmt: skip


def damaged(chance: random.Random, data: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(chance.randrange(1, 5)):
        kind = chance.random()
        if kind < 0.6 and found:
            found[chance.randrange(len(found))] = chance.randrange(256)
        elif kind < 0.8:
            del found[chance.randrange(len(found) + 1) :]
        else:
            found += chance.randbytes(chance.randrange(40))
    return bytes(found)


@pytest.mark.slow
def test_damaged_files(tmp_path: Path) -> None:
    chance = random.Random(13)
    folders = [
        GOLDEN / version / "logs" / name
        for version in ("4.3.1", "2.8.2", "0.10.2.2")
        for name in ("segments-0", "transactions-0", "compacted-gzip-0", "format-mixed-gzip-0")
    ]
    sources = [
        path
        for folder in folders
        if folder.is_dir()
        for path in sorted(folder.iterdir())
        if path.suffix in SUFFIXES
    ]
    ends = {"read": 0, "refused": 0}
    for number in range(600):
        source = chance.choice(sources)
        place = tmp_path / str(number)
        place.mkdir()
        for beside in source.parent.glob(f"{source.stem}.*"):
            (place / beside.name).write_bytes(beside.read_bytes())
        path = place / source.name
        path.write_bytes(damaged(chance, source.read_bytes()))
        options = DumpOptions(
            deep=chance.random() < 0.7, content=chance.random() < 0.7,
            sanity_only=chance.random() < 0.1, max_bytes=chance.choice((None, None, 100)),
        )  # fmt: skip
        said: list[str] = []
        dump = Dump(chance.choice(RELEASES), options, found=said.append, said=said.append)
        try:
            for _ in dump.lines(path):
                pass
            ends["read"] += 1
        except KafkaSpecError:
            ends["refused"] += 1
        list(dump.reports())
    assert min(ends.values()) > 50


@pytest.mark.slow
def test_damaged_records_of_internal_topics() -> None:
    chance = random.Random(13)
    for topic in Topic:
        logs = sorted((GOLDEN / "4.3.1").glob(f"**/logs/{topic}-*/*.log"))
        records = [record for log in logs for record in Segment(log).records()]
        assert records
        seen = {"text": 0, "refused": 0}
        for release in RELEASES:
            parse = decoder_of(topic, release, get_codec())
            for _ in range(60):
                record = chance.choice(records)
                key, value = (
                    None if part is None or chance.random() < 0.05
                    else damaged(chance, bytes(part)) if chance.random() < 0.7 else part
                    for part in (record.key, record.value)
                )  # fmt: skip
                try:
                    texts = parse(Record(record.offset, record.timestamp, key, value))
                except KafkaSpecError:
                    seen["refused"] += 1
                else:
                    seen["text"] += texts != (None, None)
        assert seen["text"] > 100, topic
