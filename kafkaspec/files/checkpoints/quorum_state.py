"""``quorum-state``: leader and vote of a KRaft quorum, as one node knows them.

Kafka: ``FileQuorumStateStore``, ``QuorumStateData.json``; KIP-595, KIP-853. It lies in
``__cluster_metadata-0``, is one line of JSON, and has no line end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from kafkaspec._generated.layout.texts import TEXTS
from kafkaspec.errors import Reason, make_error
from kafkaspec.files import names
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.files.checkpoints import text as texts
from kafkaspec.layout import TextKey

LAYOUT: Final = TEXTS[names.QUORUM_STATE]
VERSIONS: Final = LAYOUT.versions
"""0 for kraft.version 0, 1 since kraft.version 1."""

NONE = -1
"""Kafka's "no node" and "no epoch"."""

_VERSION: Final = next(key for key in LAYOUT.keys if key.attribute == "version")
_LEADER_EPOCH: Final = LAYOUT.key_of("leader_epoch", VERSIONS[0])


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
    version = found.typed(_VERSION)
    if not LAYOUT.knows(version):
        place = texts.TextPiece("", found.position(_VERSION.key), line.line)
        detail = f"version {version} is neither 0 nor 1"
        raise text.error(Reason.UNSUPPORTED_VERSION, detail, place, f"/{_VERSION.key}")
    values = {
        key.attribute: found.typed(key)
        for key in LAYOUT.keys
        if version in key.versions and key is not _VERSION
    }
    return QuorumState(**values, data_version=version, position=found.position(_LEADER_EPOCH))


read = texts.reader(parse)


def serialize(state: QuorumState) -> bytes:
    """Serialize the file as Kafka does: the fields of ``data_version``, in its order.

    Raises:
        KafkaSpecError: ``unencodable``: a number does not fit, or another version.
    """
    if state.data_version not in VERSIONS:
        detail = f"version {state.data_version} is neither 0 nor 1"
        raise make_error(Reason.UNENCODABLE, detail, path="/version")
    written: dict[str, Any] = {}
    for key in LAYOUT.keys:
        if state.data_version in key.versions:
            value: Any = state.data_version if key is _VERSION else getattr(state, key.attribute)
            if key.item:
                listed = None if value is None else [_written(key, each) for each in value]
                value = None if listed is None else [{key.item: each} for each in listed]
            else:
                value = _written(key, value)
            written[key.key] = value
    return texts.written(written)


def _written(key: TextKey, value: Any) -> Any:
    text = texts.value_text(key, value)
    return value if key.type in texts.BITS else text
