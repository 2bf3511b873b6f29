"""Checkpoints with a version, a count and entries: real files, laws, and hostile bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files import names
from kafkaspec.files.checkpoints import leader_epoch_checkpoint, offset_checkpoint
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.files.checkpoints.offset_checkpoint import PartitionOffset
from tests.files.checkpoints.hostile import parsed
from tests.goldens import Golden, named
from tests.loops import each

LEADER_EPOCHS = named(names.LEADER_EPOCHS)
OFFSETS = [golden for name in names.OFFSET_CHECKPOINTS for golden in named(name)]

TOPIC = st.text("abcXYZ019._-", min_size=1, max_size=249)
INT = st.integers(-(2**31), 2**31 - 1)
LONG = st.integers(-(2**63), 2**63 - 1)


@each("golden", LEADER_EPOCHS)
def test_a_leader_epoch_checkpoint_of_a_broker_is_written_the_same(golden: Golden) -> None:
    data = golden.path.read_bytes()
    entries = leader_epoch_checkpoint.read(golden.path)
    assert leader_epoch_checkpoint.serialize(entries) == (data or b"0\n0\n")
    for entry in entries:
        assert entry.position is not None
        assert data[entry.position :].startswith(f"{entry.epoch} {entry.start_offset}\n".encode())


@given(st.lists(st.builds(EpochEntry, INT, LONG), max_size=20))
def test_leader_epochs_round_trip(entries: list[EpochEntry]) -> None:
    data = leader_epoch_checkpoint.serialize(entries)
    assert leader_epoch_checkpoint.parse(data) == tuple(entries)
    windows = data.replace(b"\n", b"\r\n")  # the line end of a broker there
    assert leader_epoch_checkpoint.parse(windows) == tuple(entries)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", ()),
        (b"0", ()),
        (b"0\n", ()),  # Kafka: no second line, no entries
        (b"0\n0\n", ()),
        (b"+0\n01\n0\t  7  ", (EpochEntry(0, 7),)),
        (b"0\n1\n5 100", (EpochEntry(5, 100),)),
        (b"0\n2\n3 9\n3 9\n", (EpochEntry(3, 9), EpochEntry(3, 9))),
    ],
)
def test_texts_that_kafka_accepts(data: bytes, expected: tuple[EpochEntry, ...]) -> None:
    assert leader_epoch_checkpoint.parse(data) == expected


@pytest.mark.parametrize(
    ("data", "reason", "offset", "path"),
    [
        (b"\n0\n", Reason.INVALID_VALUE, 0, "/version"),
        (b"0 \n0\n", Reason.INVALID_VALUE, 0, "/version"),
        (b"1\n0\n", Reason.UNSUPPORTED_VERSION, 0, "/version"),
        (b"0\nx\n", Reason.INVALID_VALUE, 2, "/count"),
        (b"0\n-1\n", Reason.INVALID_VALUE, 2, "/count"),
        (b"0\n2\n1 2\n", Reason.TRUNCATED, 2, "/count"),
        (b"0\n2147483647\n1 2\n", Reason.TRUNCATED, 2, "/count"),
        (b"0\n1\n1 2\n3 4\n", Reason.INVALID_VALUE, 2, "/count"),
        (b"0\n1\n1 2 3\n", Reason.INVALID_VALUE, 4, "/entries/0"),
        (b"0\n1\n 1 2\n", Reason.INVALID_VALUE, 4, "/entries/0"),
        (b"0\n1\n1 2\n\n", Reason.INVALID_VALUE, 8, "/entries/1"),
        (b"0\n1\n1 x\n", Reason.INVALID_VALUE, 6, "/entries/0/start_offset"),
        (b"0\n1\n2147483648 1\n", Reason.INVALID_VALUE, 4, "/entries/0/epoch"),
        (b"0\n1\n1 \xff\n", Reason.INVALID_VALUE, 6, ""),
        (b"\0\0\0\0", Reason.INVALID_VALUE, 0, "/version"),  # as some found it, KAFKA-16541
    ],
)
def test_texts_that_kafka_refuses(data: bytes, reason: Reason, offset: int, path: str) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        leader_epoch_checkpoint.parse(data, file="f")
    error = caught.value
    assert (error.reason, error.position, error.path, error.file) == (reason, offset, path, "f")


@pytest.mark.parametrize("entry", [EpochEntry(2**31, 0), EpochEntry(0, 2**63)])
def test_values_that_do_not_fit_are_not_written(entry: EpochEntry) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        leader_epoch_checkpoint.serialize([entry])
    assert caught.value.reason is Reason.UNENCODABLE


@given(st.binary(max_size=60) | st.text(alphabet="01 -\r\n\t9x", max_size=40).map(str.encode))
def test_hostile_bytes_raise_our_error_or_nothing(data: bytes) -> None:
    entries = parsed(leader_epoch_checkpoint.parse, data)
    if entries is not None:
        assert leader_epoch_checkpoint.parse(leader_epoch_checkpoint.serialize(entries)) == entries


@each("golden", OFFSETS)
def test_an_offset_checkpoint_of_a_broker_is_written_the_same(golden: Golden) -> None:
    data = golden.path.read_bytes()
    entries = offset_checkpoint.read(golden.path)
    assert offset_checkpoint.serialize(entries) == data
    assert len(offset_checkpoint.by_partition(entries)) == len(entries)
    for entry in entries:
        line = f"{entry.topic} {entry.partition} {entry.offset}\n".encode()
        assert entry.position is not None
        assert data[entry.position :].startswith(line)


@given(st.lists(st.builds(PartitionOffset, TOPIC, INT, LONG), max_size=20))
def test_offsets_round_trip(entries: list[PartitionOffset]) -> None:
    data = offset_checkpoint.serialize(entries)
    assert offset_checkpoint.parse(data) == tuple(entries)
    assert offset_checkpoint.parse(data.replace(b"\n", b"\r")) == tuple(entries)


def test_of_two_entries_for_a_partition_the_later_counts() -> None:
    entries = offset_checkpoint.parse(b"0\n3\na 0 1\nb 0 2\na 0 3\n")
    found = offset_checkpoint.by_partition(entries)
    assert {key: entry.offset for key, entry in found.items()} == {("a", 0): 3, ("b", 0): 2}


@pytest.mark.parametrize("topic", ["", "a b", "a\nb", "\ud800", "\u00e4"])
def test_invalid_topics_are_not_written(topic: str) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        offset_checkpoint.serialize([PartitionOffset(topic, 0, 0)])
    assert caught.value.reason is Reason.UNENCODABLE


@pytest.mark.parametrize(
    ("line", "offset", "path"),
    [
        (b"a 0", 4, "/entries/0"),
        (b"a 0 1 2", 4, "/entries/0"),
        (b"a x 1", 6, "/entries/0/partition"),
        (b"a 0 9223372036854775808", 8, "/entries/0/offset"),
    ],
)
def test_offset_lines_that_kafka_refuses(line: bytes, offset: int, path: str) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        offset_checkpoint.parse(b"0\n1\n" + line)
    assert (caught.value.position, caught.value.path) == (offset, path)
    assert "line 3" in str(caught.value)


@given(st.data())
def test_mutated_checkpoints_of_brokers(data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from(OFFSETS)).path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    parsed(offset_checkpoint.parse, bytes(content))
    parsed(offset_checkpoint.parse, bytes(content[: data.draw(st.integers(0, len(content)))]))
