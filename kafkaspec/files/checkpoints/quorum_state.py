"""``quorum-state``: leader and vote of a KRaft quorum, as one node knows them.

Kafka: ``FileQuorumStateStore``, ``QuorumStateData.json``; KIP-595, KIP-853. It lies in
``__cluster_metadata-0``, is one line of JSON, and has no line end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from kafkaspec.errors import Reason, make_error
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.files.checkpoints import text as texts

VERSIONS = (0, 1)
"""0 for kraft.version 0, 1 since kraft.version 1."""

NONE = -1
"""Kafka's "no node" and "no epoch"."""

_SHORT_BITS = 16
_VERSION = "data_version"
_LEADER_EPOCH = "leaderEpoch"
_VOTED_DIRECTORY_ID = "votedDirectoryId"


@dataclass(frozen=True, slots=True)
class QuorumState:
    """The content of the file.

    Attributes:
        leader_id: node that leads, -1 for none.
        leader_epoch: last epoch that the node has seen.
        voted_id: node that this one has voted for in that epoch, -1 for none.
        voted_directory_id: log directory of that node, zero for none; version 1 only.
        cluster_id: id of the cluster, empty in practice; version 0 only.
        applied_offset: 0 in practice; version 0 only.
        current_voters: ids of the voters, None where the file has null; version 0 only.
        data_version: version of the file.
        position: byte offset of the leader epoch, None if it was not read.
    """

    leader_id: int = NONE
    leader_epoch: int = NONE
    voted_id: int = NONE
    voted_directory_id: UUID = kafka_uuid.ZERO
    cluster_id: str = ""
    applied_offset: int = 0
    current_voters: tuple[int, ...] | None = ()
    data_version: int = VERSIONS[-1]
    position: int | None = field(default=None, compare=False)


def parse(data: bytes, *, file: str | None = None) -> QuorumState:
    """Parse the file. Lines after the first one are ignored.

    Kafka takes the lower 16 bits of any ``data_version``; this function refuses a number that does
    not fit.

    Args:
        data: all bytes of the file.
        file: its name in errors.

    Raises:
        TruncatedError: the file is empty.
        CorruptError: the line is not the JSON of that version.
        UnsupportedError: another version than 0 and 1.
    """
    text = texts.Text(data, file)
    line = next(text.lines(), None)
    if line is None:
        raise text.error(Reason.TRUNCATED, "the file is empty")
    found = texts.JsonObject(text, line)
    version = found.number(_VERSION, _SHORT_BITS)
    if version not in VERSIONS:
        place = texts.TextPiece("", found.position(_VERSION), line.line)
        detail = f"version {version} is neither 0 nor 1"
        raise text.error(Reason.UNSUPPORTED_VERSION, detail, place, f"/{_VERSION}")
    common: dict[str, Any] = {
        "leader_id": found.number("leaderId", texts.INT_BITS),
        "leader_epoch": found.number(_LEADER_EPOCH, texts.INT_BITS),
        "voted_id": found.number("votedId", texts.INT_BITS),
        "data_version": version,
        "position": found.position(_LEADER_EPOCH),
    }
    if version == 0:
        return QuorumState(
            **common,
            cluster_id=found.string("clusterId"),
            applied_offset=found.number("appliedOffset", texts.LONG_BITS),
            current_voters=_voters(text, line, found),
        )
    place = texts.TextPiece(
        found.string(_VOTED_DIRECTORY_ID), found.position(_VOTED_DIRECTORY_ID), line.line
    )
    return QuorumState(**common, voted_directory_id=text.uuid(place, f"/{_VOTED_DIRECTORY_ID}"))


read = texts.reader(parse)


def serialize(state: QuorumState) -> bytes:
    """Serialize the file as Kafka does: the fields of ``data_version``, in its order.

    Raises:
        KafkaSpecError: ``unencodable``: a number does not fit, or another version.
    """
    if state.data_version not in VERSIONS:
        detail = f"version {state.data_version} is neither 0 nor 1"
        raise make_error(Reason.UNENCODABLE, detail, path="/version")
    for name in ("leader_id", "leader_epoch", "voted_id"):
        texts.writable(getattr(state, name), texts.INT_BITS, name)
    common: dict[str, Any] = {"leaderId": state.leader_id, _LEADER_EPOCH: state.leader_epoch}
    common["votedId"] = state.voted_id
    version = {_VERSION: state.data_version}
    if state.data_version:
        directory = {_VOTED_DIRECTORY_ID: kafka_uuid.to_text(state.voted_directory_id)}
        return texts.written(common | directory | version)
    texts.writable(state.applied_offset, texts.LONG_BITS, "applied_offset")
    voters = state.current_voters
    for voter in voters or ():
        texts.writable(voter, texts.INT_BITS, "current_voters")
    listed = None if voters is None else [{"voterId": voter} for voter in voters]
    last = {"appliedOffset": state.applied_offset, "currentVoters": listed}
    return texts.written({"clusterId": state.cluster_id} | common | last | version)


def _voters(
    text: texts.Text, line: texts.TextPiece, found: texts.JsonObject
) -> tuple[int, ...] | None:
    value = found.value("currentVoters")
    if value is None:
        return None
    if not isinstance(value, list) or not all(
        isinstance(item, dict) and "voterId" in item for item in value
    ):
        place = texts.TextPiece("", found.position("currentVoters"), line.line)
        detail = "it is not a list of voters"
        raise text.error(Reason.INVALID_VALUE, detail, place, "/currentVoters")
    return tuple(
        found.checked_number("currentVoters", item["voterId"], texts.INT_BITS) for item in value
    )
