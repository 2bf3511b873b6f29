"""Checkpoints with a version, a count and entries: real files, laws, and hostile bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.log.checkpoints import leader_epoch_checkpoint
from kafkaspec.log.checkpoints.leader_epoch_checkpoint import EpochEntry
from tests.goldens import Golden, named
from tests.log.checkpoints.hostile import parsed

LEADER_EPOCHS = named("leader-epoch-checkpoint")

INT = st.integers(-(2**31), 2**31 - 1)
LONG = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize("golden", LEADER_EPOCHS, ids=str)
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
def test_what_kafka_accepts(data: bytes, expected: tuple[EpochEntry, ...]) -> None:
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
def test_what_kafka_refuses(data: bytes, reason: Reason, offset: int, path: str) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        leader_epoch_checkpoint.parse(data, file="f")
    error = caught.value
    assert (error.reason, error.offset, error.path, error.file) == (reason, offset, path, "f")


@pytest.mark.parametrize("entry", [EpochEntry(2**31, 0), EpochEntry(0, 2**63)])
def test_what_does_not_fit_is_not_written(entry: EpochEntry) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        leader_epoch_checkpoint.serialize([entry])
    assert caught.value.reason is Reason.UNENCODABLE


@given(st.binary(max_size=60) | st.text(alphabet="01 -\r\n\t9x", max_size=40).map(str.encode))
def test_hostile_bytes_raise_our_error_or_nothing(data: bytes) -> None:
    entries = parsed(leader_epoch_checkpoint.parse, data)
    if entries is not None:
        assert leader_epoch_checkpoint.parse(leader_epoch_checkpoint.serialize(entries)) == entries
