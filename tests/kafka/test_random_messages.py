"""Random messages by Kafka's generated classes and by ours: bytes and JSON are equal both ways."""

from __future__ import annotations

import json
import random
import re
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import crc32c
import pyarrow as pa
import pytest

from kafkaspec.arrow.messages.arrays import MessageTable, decode_with, encode_with, message_table
from kafkaspec.codecs import Codec, codec_names, get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.checkpoints import quorum_state
from kafkaspec.layout import MessageLayout
from kafkaspec.messages.json_text import json_text, message_fields
from kafkaspec.messages.lookup import MESSAGES, by_name, written_by
from tests.arrow.random_messages import RandomMessages
from tests.kafka.chosen import SAMPLE, VERSIONS
from tools.brokers.versions import Version
from tools.import_messages.check import ELSEWHERE, NEVER_WRITTEN, RENAMED, TEXT
from tools.kafka.message_quirks import explanation
from tools.kafka.messages import SINCE, Messages, Reading

JUDGES = [version for version in VERSIONS if version.release[:2] >= SINCE]
NEWEST = max(JUDGES, key=lambda version: version.release, default=None)
EACH = max(2, 26 // SAMPLE)
"""Messages of each version."""
SEED = 20260101

WITH_VERSION = {"LeaderChangeMessage", "SnapshotHeaderRecord", "SnapshotFooterRecord",
                "KRaftVersionRecord", "VotersRecord"}  # fmt: skip
"""Those without a topic whose version is a field of Kafka's."""
NOT_STORED = {"DefaultPrincipalData", "SubscriptionInfoData"}
(QUORUM,) = TEXT
FLOATS = {"ClientQuotaRecord", "QuotaRecord"}
BEFORE = {ELSEWHERE["LeaderChangeMessage"]}
"""What has another format before 3.0, which is not described."""
CODECS = codec_names()
MESSAGES_OF_NEWEST = [layout for layout in MESSAGES if layout.releases is None]
EVERY = 8
"""One of so many messages goes through all codecs, the others through the reference."""


def varint(number: int) -> bytes:
    return bytes([number & 0x7F | 0x80, number >> 7]) if number > 0x7F else bytes([number])


def key_of(name: str, release: str) -> str | None:
    layouts = written_by([each for each in by_name(name) if each.name == name], release)
    return layouts[0].key if layouts else ELSEWHERE.get(name)


def ours(codec: Codec, name: str, key: str, data: bytes) -> Reading:
    """What a codec reads."""
    try:
        value, end = codec.parse(key, data, complete=True)
    except KafkaSpecError as error:
        return Reading(None, None, error=f"{error.reason} {error.path}")
    left = len(getattr(value, "unused", b""))
    fields = message_fields(name, value)
    if name in ELSEWHERE and name not in WITH_VERSION:
        fields.pop("version", None)
    return Reading(json_text(fields), codec.serialize(key, value)[: end - left], left)


def differs(name: str, mine: str | None, theirs: str | None) -> bool:
    """Whether texts differ; numbers with a point only if they mean another number."""
    if name not in FLOATS or mine is None or theirs is None:
        return mine != theirs
    pairs = [json.loads(text, object_pairs_hook=list) for text in (mine, theirs)]
    return bool(pairs[0] != pairs[1])


def signed(made: Reading) -> Reading:
    """A snapshot of producers with its right checksum, whose JSON has none."""
    assert made.data is not None
    assert made.json is not None
    checksum = struct.pack(">I", crc32c.crc32c(made.data[6:]))
    data = made.data[:2] + checksum + made.data[6:]
    text = re.sub(r'"crc":\d+,', "", made.json).replace('"epoch":', '"producerEpoch":')
    return Reading(text.replace('"producerEntries":', '"entries":'), data)


def of_today(name: str, made: Reading) -> Reading:
    """A message with the names that its fields have today."""
    text = made.json or ""
    for (schema, old), new in RENAMED.items():
        if schema == name:
            text = text.replace(f'"{camel(old)}":', f'"{camel(new)}":')
    return Reading(text, made.data)


def camel(name: str) -> str:
    return name[0].lower() + name[1:]


@pytest.fixture(scope="module", params=JUDGES, ids=lambda version: version.name)
def version(request: pytest.FixtureRequest) -> Version:
    found: Version = request.param
    return found


@pytest.fixture(scope="module")
def kafka(version: Version, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Messages]:
    with Messages(version, tmp_path_factory.mktemp("messages")) as messages:
        yield messages


@pytest.mark.kafka
def test_random_messages_of_kafka(version: Version, kafka: Messages) -> None:
    wrong: list[str] = []
    seen: Counter[str] = Counter()
    known = kafka.versions()
    for name, versions in known.items():
        key = key_of(name, version.name)
        if name in NOT_STORED or name == QUORUM:
            continue
        if key is None:
            wrong.append(f"{name} is not in the specification")
            continue
        table = message_table(key.partition(".")[0]) if name not in ELSEWHERE else None
        for number in versions:
            if (name, number) in NEVER_WRITTEN or (version.release < (3, 0) and key in BEFORE):
                continue
            found = [of_today(name, made) for made in kafka.make(name, number, SEED, EACH)]
            if name == "ProducerSnapshot":
                found = list(map(signed, found))
            for row, each in enumerate(found):
                for problem in problems(
                    name, key, each, CODECS if row % EVERY == 0 else ["python"]
                ):
                    wrong.append(f"{name} {number}, seed {SEED}, message {row}, {problem}")
            if table is not None:
                wrong += [f"{name} {number} {problem}" for problem in by_table(table, found)]
            seen[name] += len(found)
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:10])
    if version is NEWEST and SAMPLE == 1:
        assert sum(seen.values()) >= 3000
    assert not version.release >= VERSION_WITH_ALL or len(seen) == 92


VERSION_WITH_ALL = (4, 4)


def problems(name: str, key: str, made: Reading, codecs: Sequence[str]) -> Iterator[str]:
    assert made.data is not None
    for codec in codecs:
        mine = ours(get_codec(codec), name, key, made.data)
        if mine.data != made.data or differs(name, mine.json, made.json):
            yield f"{codec}: Kafka {made.json} {made.data.hex()}, ours {mine}"


def by_table(table: MessageTable, made: list[Reading]) -> Iterator[str]:
    """Messages as columns: the engine and the reference read the same, and write the bytes."""
    data = pa.array([each.data for each in made], pa.binary())
    native, python = (decode_with(get_codec(name), table, data) for name in ("native", "python"))
    # A number can be NaN, which equals none.
    if not (native.equals(python) or str(native.to_pylist()) == str(python.to_pylist())):
        yield "columns differ"
    if not encode_with(get_codec("native"), table, native).equals(data):
        yield "bytes of columns differ"


def newest_only(version: Version) -> None:
    if version is not NEWEST:
        pytest.skip("an older release does not know all fields")


def compare(
    version: Version, layout: MessageLayout, data: list[bytes], theirs: list[Reading]
) -> tuple[list[str], Counter[int]]:
    """What differs between our reading and Kafka's, and how often each quirk explains it."""
    wrong: list[str] = []
    seen: Counter[int] = Counter()
    for row, (each, reading) in enumerate(zip(data, theirs, strict=True)):
        mine = ours(get_codec("python"), layout.name, layout.key, each)
        if mine.left == reading.left and not differs(layout.name, mine.json, reading.json):
            continue
        quirk = explanation(version, mine, reading)
        if quirk is None:
            wrong.append(
                f"{layout.name}, message {row}: Kafka {reading}, ours {mine}, {each.hex()}"
            )
        else:
            seen[quirk.number] += 1
    return wrong, seen


@pytest.mark.kafka
def test_kafka_reads_random_messages_of_ours(version: Version, kafka: Messages) -> None:
    newest_only(version)
    wrong: list[str] = []
    read = 0
    for layout in MESSAGES_OF_NEWEST:
        table = message_table(layout.key.partition(".")[0])
        source = RandomMessages(table.layout, SEED, defaults=False)
        values = pa.array([source.message() for _ in range(2 * EACH)], table.type)
        data = encode_with(get_codec("native"), table, values).to_pylist()
        theirs = kafka.read(layout.name, data)
        found, seen = compare(version, layout, data, theirs)
        wrong += found
        assert set(seen) <= {46}, (layout.name, seen)
        for row, (mine, reading) in enumerate(zip(data, theirs, strict=True)):
            if reading.data is None:
                continue
            read += 1
            if reading.data != mine[: len(mine) - reading.left]:
                wrong.append(f"{layout.name}, message {row}: {reading} of {mine.hex()}")
    assert not wrong, f"seed {SEED}, {len(wrong)} differ:\n" + "\n".join(wrong[:10])
    assert read > 40 * EACH


def damaged(data: bytes, rng: random.Random) -> Iterator[bytes]:
    for _ in range(3):
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2))):
            changed[rng.randrange(len(data))] = rng.choice((0, 1, 2, 3, 127, 128, 255))
        yield bytes(changed)
    yield data[: rng.randrange(len(data))]
    yield data + b"\0"


@pytest.mark.kafka
def test_every_difference_about_damaged_messages_is_a_quirk(
    version: Version, kafka: Messages
) -> None:
    newest_only(version)
    rng = random.Random(SEED)
    wrong: list[str] = []
    seen: Counter[int] = Counter()
    for layout in MESSAGES_OF_NEWEST:
        number = min(layout.versions[1], kafka.versions()[layout.name][-1])
        made = kafka.make(layout.name, number, SEED + 1, max(2, 12 // SAMPLE))
        data = [each for one in made for each in damaged(one.data or b"", rng)]
        found, explained = compare(version, layout, data, kafka.read(layout.name, data))
        wrong += found
        seen += explained
    assert not wrong, f"seed {SEED + 1}, {len(wrong)} differ:\n" + "\n".join(wrong[:10])
    if SAMPLE == 1:
        assert {44, 45, 47} <= set(seen)


LEADER = b"\1\4\0\0\0\7"
CHANGE = b"\1\5\0\0\0\0\1" + bytes(16)
LARGE = 1000
MANY_TAGS = b"\x91\x4e" + b"".join(varint(tag) + b"\0" for tag in range(10_001))
QUIRK_CASES: tuple[tuple[int, str, bytes, str, tuple[int, ...]], ...] = (
    (44, "PartitionChangeRecord", CHANGE + b"\2" + LEADER + LEADER, '"leader":7', (3, 0)),
    (44, "PartitionChangeRecord", CHANGE + b"\2\3\1\1" + LEADER, '"leader":7', (3, 0)),
    (45, "PartitionChangeRecord", CHANGE + b"\1\1\5\0\0\0\7", '"leader":7', (3, 0)),
    (46, "PartitionChangeRecord", CHANGE + b"\1\x08\1\1", '"topicId"', (3, 7)),
    (47, "RemoveTopicRecord", b"\1\x09\1" + bytes(17), '"topicId"', (3, 0)),
    (48, "NoOpRecord", b"\1\x14\0" + MANY_TAGS, "{}", (4, 4)),
)
"""Number, name, bytes, what the one that reads it shows, and the first release."""


@pytest.mark.kafka
def test_both_sides_of_quirks(version: Version, kafka: Messages) -> None:
    """Each entry of docs/quirks.md about messages, by example."""
    for number, name, data, shown, since in QUIRK_CASES:
        if version.release < since:
            continue
        (layout,) = written_by(by_name(name), version.name)
        (theirs,) = kafka.read(name, [data])
        for codec in CODECS if len(data) < LARGE else ["python"]:
            mine = ours(get_codec(codec), name, layout.key, data)
            quirk = explanation(version, mine, theirs)
            assert quirk is not None, (number, mine, theirs)
            assert quirk.number == number, (quirk, mine, theirs)
            assert shown in ((theirs if quirk.accepts == "Kafka" else mine).json or "")


TOPIC = "A" * 22
AGAIN = (
    (
        "PartitionChangeRecord", CHANGE + b"\1\1\4\xff\xff\xff\xfe", CHANGE + b"\0",
        f'{{"partitionId":1,"topicId":"{TOPIC}"}}',
    ),
    (
        "ConfigRecord", b"\1\4\0\2\2\xff\2a\0\0", b"\1\4\0\2\4\xef\xbf\xbd\2a\0\0",
        '"resourceName":"\ufffd"',
    ),
    ("GroupMetadataKey", b"\0\2\0\1gx", b"\0\2\0\1g", '{"group":"g"}'),
    ("NoOpRecord", b"\x81\0\x94\0\x80\0\x80\0", b"\1\x14\0\0", "{}"),
)  # fmt: skip
"""Name, bytes, what Kafka writes instead (Q49), what both show. One has bytes after it (Q50), and
one varints that are too long, which nobody writes again (Q3)."""


@pytest.mark.kafka
def test_what_kafka_reads_but_writes_differently(version: Version, kafka: Messages) -> None:
    if version.release < (3, 0):
        pytest.skip("the preview has other layouts")
    for name, data, again, shown in AGAIN:
        (layout,) = written_by(by_name(name), version.name)
        (theirs,) = kafka.read(name, [data])
        for codec in CODECS:
            mine = ours(get_codec(codec), name, layout.key, data)
            assert (mine.json, mine.left) == (theirs.json, theirs.left), name
            assert shown in (mine.json or "")
            assert mine.data == (again if name == "NoOpRecord" else data[: len(data) - mine.left])
            assert theirs.data == again


@pytest.mark.kafka
def test_the_state_of_a_quorum(version: Version, kafka: Messages) -> None:
    for number in kafka.versions().get(QUORUM, ()):
        for made in kafka.make(QUORUM, number, SEED, EACH):
            stored: dict[str, Any] = json.loads(made.json or "") | {"data_version": number}
            state = quorum_state.parse(json_text(stored).encode("utf-8"))
            assert json.loads(quorum_state.serialize(state)) == stored, made.json
