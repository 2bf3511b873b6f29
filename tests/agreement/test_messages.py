"""Every record of Kafka's own topics that a real broker wrote, decoded and written again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from operator import attrgetter

import pytest

import kafkaspec
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.layout.topics import Topic
from kafkaspec.codecs import codec_names, get_codec
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.layout import Role
from kafkaspec.messages.decoding import decode_message, decode_messages
from kafkaspec.messages.lookup import HEADS, MESSAGES, in_topic, written_by
from kafkaspec.model import Record
from tests import goldens

KEY = b"\0\1\0\1g\0\1t\0\0\0\0"
FLEXIBLE = b"\0\4" + bytes(12) + b"\1" + bytes(8)
TAGS, METADATA = "/value/body/body/tagged_fields", "/value/body/body/metadata"


@cache
def records() -> tuple[tuple[str, str, Record], ...]:
    """Release, topic and record of everything in the golden logs that holds messages."""
    return tuple(_records())


def _records() -> Iterator[tuple[str, str, Record]]:
    for golden in (*goldens.files(".log"), *goldens.files(".checkpoint")):
        topic = golden.path.parent.name.rpartition("-")[0]
        if topic not in HEADS:
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
    assert len(seen) >= 52


@pytest.mark.slow
def test_layouts_are_found_without_a_release() -> None:
    """What no layout but an old one reads to the end is read by that one."""
    old = Counter(
        message.layout.id
        for release, topic, record in records()
        if release in ("3.7.2", "4.0.2")
        for message in decode_messages(topic, record)
        if message is not None and message.layout.releases is not None
    )
    assert old["share_group_metadata_value_4_0"] == 2, old
    assert old["share_snapshot_value_4_0"] == 1, old
    assert old["share_update_value_4_0"] == 1, old
    for release, topic, record in records():
        if release not in ("3.7.2", "4.0.2"):
            for message in decode_messages(topic, record):
                assert message is None or message.layout.releases is None, (release, record.offset)


def test_embedded_messages_of_consumers() -> None:
    """Subscriptions and assignments in the groups of consumers; the protocols of others are not."""
    seen: Counter[str] = Counter()
    for _, topic, record in records():
        if topic != "__consumer_offsets":
            continue
        _, message = decode_messages(topic, record)
        if message is None or message.layout.name != "GroupMetadataValue":
            continue
        body = message.value.body
        for member in body.members if body.protocol_type == b"consumer" else ():
            for name, data in (
                ("ConsumerProtocolSubscription", member.subscription),
                ("ConsumerProtocolAssignment", member.assignment),
            ):
                if data:
                    found = decode_message(name, data)
                    assert not found.value.unused
                    seen[name] += 1
    assert len(seen) == 2, seen


def test_every_message_has_its_place() -> None:
    assert len({message.key for message in MESSAGES}) == len(MESSAGES)
    assert Counter(message.topic for message in MESSAGES if message.releases is None) == {
        "": 2,
        "__cluster_metadata": 27,
        "__consumer_offsets": 44,
        "__remote_log_metadata": 4,
        "__share_group_state": 4,
        "__transaction_state": 2,
    }
    (value,) = in_topic("__consumer_offsets", Role.VALUE, 1)
    assert (value.name, value.versions) == ("OffsetCommitValue", (0, 4))
    snapshots = in_topic("__share_group_state", Role.VALUE, 0)
    assert [layout.releases for layout in snapshots] == [None, ("4.0", "4.0")]
    assert written_by(snapshots, "4.0.1") == snapshots[1:]
    assert written_by(snapshots, "4.1") == snapshots[:1]


def test_the_messages_of_a_topic_begin_alike() -> None:
    """What a topic's records begin with is what each of its messages begins with."""
    assert set(HEADS) == set(Topic) == {message.topic for message in MESSAGES} - {""}
    for message in MESSAGES:
        if message.role in (Role.KEY, Role.RECORD):
            fields = LAYOUTS[message.key].fields
            head = [(item.id, item.type, item.size, item.signed) for item in fields]
            assert head[: len(HEADS[message.topic])] == [*HEADS[message.topic]], message.key


@pytest.mark.parametrize("name", codec_names())
def test_a_number_without_a_name_is_read_and_written(name: str) -> None:
    """State 99 of a transaction, and of the move from ZooKeeper, which no release has."""
    codec = get_codec(name)
    for data, message, path in (
        (
            b"\0\0" + bytes(14) + b"\x63" + b"\xff" * 4 + bytes(16),
            "transaction_log_value", "body.transaction_status",
        ),
        (b"\1\x15\0\x63\0", "zk_migration_state_record", "zk_migration_state"),
    ):  # fmt: skip
        key = f"{message}.{message}"
        value, end = codec.parse(key, data, complete=True)
        number = attrgetter(path)(value)
        assert (int(number), end) == (99, len(data)), message
        assert codec.serialize(key, value) == data, message


BAD = {
    "a key of one byte": (b"\0", None, Reason.OVERRUN, "/key/record_type"),
    "a type that is not known": (b"\0\x63", b"", Reason.UNSUPPORTED_VERSION, "/key"),
    "a later version": (KEY, b"\0\5", Reason.INVALID_VALUE, "/value/schema_version"),
    "a cut value": (KEY, b"\0\3\0", Reason.OVERRUN, "/value/body/body/offset"),
    "text beyond the end": (KEY, b"\0\3" + bytes(12) + b"\x7f\xff", Reason.OVERRUN, METADATA),
    "a tag twice": (
        KEY, FLEXIBLE + b"\2\7\0\7\0", Reason.INVALID_VALUE, f"{TAGS}/fields/1/tag",
    ),
    "a tag out of order": (
        KEY, FLEXIBLE + b"\2\7\0\1\0", Reason.INVALID_VALUE, f"{TAGS}/fields/1/tag",
    ),
    "a tag beyond the end": (
        KEY, FLEXIBLE + b"\1\7\x7f", Reason.OVERRUN, f"{TAGS}/fields/0/content",
    ),
    "more tags than bytes": (
        KEY, FLEXIBLE + b"\xff\xff\xff\x7f", Reason.INVALID_VALUE, f"{TAGS}/num_fields",
    ),
    "a known tag of another size": (
        KEY, FLEXIBLE + b"\1\0\x0f" + bytes(15), Reason.OVERRUN,
        f"{TAGS}/fields/0/content/content/topic_id",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", codec_names())
def test_bad_messages(name: str) -> None:
    for what, (key, value, reason, path) in BAD.items():
        record = Record(offset=3, timestamp=0, key=key, value=value)
        with pytest.raises(KafkaSpecError) as caught:
            decode_messages("__consumer_offsets", record, codec=name)
        assert (caught.value.reason, caught.value.path) == (reason, path), what


@pytest.mark.parametrize("name", codec_names())
def test_bad_frames(name: str) -> None:
    for value, reason, path in (
        (b"", Reason.OVERRUN, "/value/frame_version"),
        (b"\2\x14\0\0", Reason.INVALID_VALUE, "/value/frame_version"),
        (b"\1\x63\0\0", Reason.UNSUPPORTED_VERSION, "/value"),
        (b"\1\x14\1\0", Reason.INVALID_VALUE, "/value/schema_version"),
        (b"\1\x14\0\0\0", Reason.TRAILING_BYTES, "/value/end"),
    ):
        record = Record(offset=3, timestamp=0, key=None, value=value)
        with pytest.raises(KafkaSpecError) as caught:
            decode_messages("__cluster_metadata", record, codec=name)
        assert (caught.value.reason, caught.value.path) == (reason, path), value
    good = Record(offset=3, timestamp=0, key=None, value=b"\1\x14\0\1\5\1x")
    _, found = decode_messages("__cluster_metadata", good, codec=name)
    assert found is not None
    written = get_codec(name).serialize(found.layout.key, found.value)
    assert written == good.value, "an unknown tag survives"
