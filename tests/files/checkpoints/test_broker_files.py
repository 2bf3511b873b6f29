"""``meta.properties``, ``quorum-state``, ``.kafka_cleanshutdown``: laws, and hostile bytes."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files import names
from kafkaspec.files.checkpoints import clean_shutdown, meta_properties, quorum_state
from kafkaspec.files.checkpoints.clean_shutdown import CleanShutdown
from kafkaspec.files.checkpoints.meta_properties import MetaProperties
from kafkaspec.files.checkpoints.quorum_state import QuorumState
from tests.files.checkpoints.hostile import parsed
from tests.goldens import Golden, named

INT = st.integers(-(2**31), 2**31 - 1)
LONG = st.integers(-(2**63), 2**63 - 1)
ID = "r4MPr70ORhKk-8BRYZqAwQ"

PARSERS: list[tuple[str, Callable[[bytes], object]]] = [
    (names.META_PROPERTIES, meta_properties.parse),
    (names.QUORUM_STATE, quorum_state.parse),
    (names.CLEAN_SHUTDOWN, clean_shutdown.parse),
]


# -- files of brokers -------------------------------------------------------------------------


@pytest.mark.parametrize("golden", named(names.META_PROPERTIES), ids=str)
def test_meta_properties_of_a_broker_are_written_the_same(golden: Golden) -> None:
    found = meta_properties.read(golden.path)
    data = golden.path.read_bytes()
    assert meta_properties.serialize(found) == data
    assert found.node_id == 0
    for key, position in found.positions.items():
        assert data[position:].startswith(f"{key}=".encode())


@pytest.mark.parametrize("golden", named(names.QUORUM_STATE), ids=str)
def test_a_quorum_state_of_a_broker_is_written_the_same(golden: Golden) -> None:
    found = quorum_state.read(golden.path)
    data = golden.path.read_bytes()
    assert quorum_state.serialize(found) == data
    assert data[found.position :].startswith(f'"leaderEpoch":{found.leader_epoch}'.encode())


@pytest.mark.parametrize("golden", named(names.CLEAN_SHUTDOWN), ids=str)
def test_the_flag_of_a_clean_stop_is_written_the_same(golden: Golden) -> None:
    found = clean_shutdown.read(golden.path)
    assert clean_shutdown.serialize(found) == golden.path.read_bytes()
    since = tuple(int(part) for part in golden.version.split("."))
    assert (found.broker_epoch is not None) == (since >= (3, 7))


def test_the_order_of_keys_is_that_of_a_java_hash_map() -> None:
    """``ConcurrentHashMap`` of 16 bins, which ``Properties`` has since Java 9."""

    def bin_of(key: str) -> int:
        code = 0
        for character in key:
            code = (31 * code + ord(character)) & 0xFFFF_FFFF
        return (code ^ code >> 16) & 15

    for version, first in ((0, "broker.id"), (1, "node.id")):
        data = meta_properties.serialize(MetaProperties(version, 1, "c", UUID(int=7)))
        keys = [line.split(b"=")[0].decode() for line in data.splitlines()]
        assert keys == sorted((first, "directory.id", "version", "cluster.id"), key=bin_of)


def test_a_quorum_state_of_version_0() -> None:
    # The example in the documentation of FileQuorumStateStore, and with voters.
    text = (
        '{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
        '"currentVoters":[{"voterId":1},{"voterId":3}],"data_version":0}'
    )
    found = quorum_state.parse(text.encode())
    assert (found.leader_id, found.leader_epoch, found.current_voters) == (1, 2, (1, 3))
    assert quorum_state.serialize(found) == text.encode()
    null = text.replace('[{"voterId":1},{"voterId":3}]', "null").encode()
    assert quorum_state.parse(null).current_voters is None
    assert quorum_state.serialize(quorum_state.parse(null)) == null


# -- laws -------------------------------------------------------------------------------------


@given(
    st.one_of(
        st.builds(MetaProperties, st.just(1), INT, st.text(max_size=30), st.none() | st.uuids()),
        st.builds(MetaProperties, st.just(0), st.none() | INT, st.none() | st.text(), st.none()),
    )
)
def test_meta_properties_round_trip(properties: MetaProperties) -> None:
    assert meta_properties.parse(meta_properties.serialize(properties)) == properties


@pytest.mark.slow
@given(
    st.one_of(
        st.builds(
            QuorumState, INT, INT, INT, voted_directory_id=st.uuids(), data_version=st.just(1)
        ),
        st.builds(
            QuorumState,
            INT,
            INT,
            INT,
            cluster_id=st.text(),
            applied_offset=LONG,
            current_voters=st.none() | st.lists(INT, max_size=5).map(tuple),
            data_version=st.just(0),
        ),
    )
)
def test_a_quorum_state_round_trips(state: QuorumState) -> None:
    assert quorum_state.parse(quorum_state.serialize(state)) == state


@given(st.builds(CleanShutdown, LONG, INT))
def test_the_flag_round_trips(shutdown: CleanShutdown) -> None:
    assert clean_shutdown.parse(clean_shutdown.serialize(shutdown)) == shutdown


# -- as Kafka reads them ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", MetaProperties(0)),
        (b"broker.id=5\r\ncluster.id : x", MetaProperties(0, 5, "x")),
        (b"version= 1 \nnode.id=\\\n  2\ncluster.id=\\u0041", MetaProperties(1, 2, "A")),
        (b"node.id=1\nnode.id=2\nversion=1\ncluster.id=x\n", MetaProperties(1, 2, "x")),
        (b"other=1\nversion=0", MetaProperties(0)),
    ],
)
def test_properties_as_java_reads_them(data: bytes, expected: MetaProperties) -> None:
    assert meta_properties.parse(data) == expected


@pytest.mark.parametrize(
    ("data", "reason", "offset", "path"),
    [
        (b"a=1\nversion=2\n", Reason.UNSUPPORTED_VERSION, 4, "/version"),
        (b"version=x", Reason.INVALID_VALUE, 0, "/version"),
        (b"version=1\nnode.id=1\n", Reason.INVALID_VALUE, 20, "/cluster.id"),
        (b"version=1\ncluster.id=1\n", Reason.INVALID_VALUE, 23, "/node.id"),
        (b"version=1\ncluster.id=c\nnode.id=1 ", Reason.INVALID_VALUE, 23, "/node.id"),
        (b"broker.id=\n", Reason.INVALID_VALUE, 0, "/broker.id"),
        (b"#\ndirectory.id=abc", Reason.INVALID_VALUE, 2, "/directory.id"),
        (b"a=1\nb=\\uzzzz\n", Reason.INVALID_VALUE, 4, ""),
    ],
)
def test_properties_that_kafka_refuses(data: bytes, reason: Reason, offset: int, path: str) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        meta_properties.parse(data, file="f")
    error = caught.value
    assert (error.reason, error.position, error.path, error.file) == (reason, offset, path, "f")


V1 = f'{{"leaderId":0,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"{ID}","data_version":1}}'


@pytest.mark.parametrize(
    ("text", "reason", "offset"),
    [
        ("", Reason.TRUNCATED, 0),
        ("\n" + V1, Reason.INVALID_VALUE, 0),
        ("[1]", Reason.INVALID_VALUE, 0),
        ("{} ", Reason.INVALID_VALUE, 0),
        (V1[:-1], Reason.INVALID_VALUE, len(V1) - 1),
        (V1.replace('sion":1', 'sion":2'), Reason.UNSUPPORTED_VERSION, V1.index('"data_')),
        (V1.replace('Epoch":1', 'Epoch":"1"'), Reason.INVALID_VALUE, V1.index('"leaderE')),
        (V1.replace('Epoch":1', 'Epoch":1.0'), Reason.INVALID_VALUE, V1.index('"leaderE')),
        (V1.replace('Epoch":1', 'Epoch":NaN'), Reason.INVALID_VALUE, 0),
        (V1.replace('Epoch":1', 'Epoch":true'), Reason.INVALID_VALUE, V1.index('"leaderE')),
        (V1.replace('Id":0', 'Id":2147483648'), Reason.INVALID_VALUE, 1),
        (V1.replace("leaderId", "leader"), Reason.INVALID_VALUE, 0),
        (V1.replace(ID, "x"), Reason.INVALID_VALUE, V1.index('"votedD')),
        ("[" * 100_000, Reason.INVALID_VALUE, 0),
        ('{"a":' * 100_000, Reason.INVALID_VALUE, 0),
        ("9" * 10_000, Reason.INVALID_VALUE, 0),
    ],
)
def test_quorum_states_that_kafka_refuses(text: str, reason: Reason, offset: int) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        quorum_state.parse(text.encode(), file="f")
    error = caught.value
    assert (error.reason, error.position, error.file) == (reason, offset, "f")
    assert len(str(error)) < 500


def test_bytes_after_the_object_are_ignored() -> None:
    expected = quorum_state.parse(V1.encode())
    assert quorum_state.parse(f"  {V1} more\nand more".encode()) == expected


@pytest.mark.parametrize("data", [b"x", b"{}", b"\xff", b'{"brokerEpoch":"x"}', b"[]", b" "])
def test_content_that_says_no_epoch(data: bytes) -> None:
    with pytest.raises(KafkaSpecError):
        clean_shutdown.parse(data)


def test_unknown_fields_of_the_flag_are_passed_over() -> None:
    found = clean_shutdown.parse(b'{"x":[1],"brokerEpoch":7,"version":3}')
    assert found == CleanShutdown(7, 3)


@pytest.mark.parametrize(
    "properties",
    [
        MetaProperties(2, 1, "c"),
        MetaProperties(1, None, "c"),
        MetaProperties(1, 1, None),
        MetaProperties(1, 2**31, "c"),
        MetaProperties(1, 1, "c", comments=("a\nversion=7",)),
    ],
)
def test_properties_that_are_not_written(properties: MetaProperties) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        meta_properties.serialize(properties)
    assert caught.value.reason is Reason.UNENCODABLE


@pytest.mark.parametrize(
    "state",
    [
        QuorumState(data_version=2),
        QuorumState(2**31),
        QuorumState(cluster_id="\ud800", data_version=0),
        QuorumState(applied_offset=2**63, data_version=0),
        QuorumState(current_voters=(2**31,), data_version=0),
    ],
)
def test_quorum_states_that_are_not_written(state: QuorumState) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        quorum_state.serialize(state)
    assert caught.value.reason is Reason.UNENCODABLE


# -- hostile bytes ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parse"), PARSERS, ids=[name for name, _ in PARSERS])
@given(noise=st.binary(max_size=60), data=st.data())
def test_hostile_bytes_raise_our_error_or_nothing(
    name: str, parse: Callable[[bytes], object], noise: bytes, data: st.DataObject
) -> None:
    content = data.draw(st.sampled_from(named(name))).path.read_bytes()
    at = data.draw(st.integers(0, len(content)))
    for hostile in (noise, content[:at], content[:at] + noise, content[:at] + noise + content[at:]):
        parsed(parse, hostile)
