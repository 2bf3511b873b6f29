"""Ask Kafka's readers of text files, and ours, about the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.checkpoints import (
    clean_shutdown,
    kafka_uuid,
    leader_epoch_checkpoint,
    meta_properties,
    offset_checkpoint,
    partition_metadata,
    quorum_state,
)
from tools.brokers.programs import Program, decoded
from tools.brokers.versions import Version


@dataclass(frozen=True)
class TextVerdict:
    """The result of a reader for a text file.

    Attributes:
        content: what it says, None if it was refused.
        error: class of Kafka's error, or our reason; "" if it was not refused.
    """

    content: str | None
    error: str = ""


def judge_text(
    version: Version, work: Path, cases: Iterable[tuple[str, bytes]]
) -> list[TextVerdict]:
    """Return the verdicts of the readers of that release.

    Args:
        version: one with these classes in Java, 4.0 or later.
        work: an empty directory.
        cases: name and content of each file.

    Raises:
        ToolError: the program cannot be compiled or ends early.
    """
    with Program(version, work, "CheckpointJudge", flags=["-Xmx512m"]) as program:
        answers = [program.ask("CheckpointJudge", name, content)[0] for name, content in cases]
    return [
        TextVerdict(None, text)
        if how == "refused"
        else TextVerdict((decoded(text) or b"").decode())
        for how, text in answers
    ]


def our_text(name: str, data: bytes) -> TextVerdict:
    """Return the verdict of kafkaspec on a case."""
    parse, show = _READERS.get(name, (offset_checkpoint.parse, _offsets))
    try:
        return TextVerdict(show(parse(data)))
    except KafkaSpecError as error:
        return TextVerdict(None, error.reason.value)


def _offsets(entries: Any) -> str:
    found = offset_checkpoint.by_partition(entries).values()
    return "\n".join(sorted(f"{item.topic} {item.partition} {item.offset}" for item in found))


def _epochs(entries: Any) -> str:
    return "".join(f"{item.epoch} {item.start_offset}\n" for item in entries)


def _metadata(found: Any) -> str:
    return f"{found.version} {kafka_uuid.to_text(found.topic_id)}"


def _properties(found: Any) -> str:
    node = "OptionalInt.empty" if found.node_id is None else f"OptionalInt[{found.node_id}]"
    cluster = "" if found.cluster_id is None else f"'{found.cluster_id}'"
    directory = "" if found.directory_id is None else kafka_uuid.to_text(found.directory_id)
    return f"{found.version}\n{node}\n{cluster}\n{directory}"


def _quorum(found: Any) -> str:
    voters = found.current_voters
    shown = "null" if voters is None else "".join(f"{voter} " for voter in voters)
    return (
        f"{found.leader_id} {found.leader_epoch} {found.voted_id} "
        f"{kafka_uuid.to_text(found.voted_directory_id)} {found.applied_offset} {shown}\n"
        f"{found.cluster_id}"
    )


def _shutdown(found: Any) -> str:
    epoch = found.broker_epoch
    return "OptionalLong.empty" if epoch is None else f"OptionalLong[{epoch}]"


_READERS: dict[str, tuple[Callable[[bytes], Any], Callable[[Any], str]]] = {
    names.LEADER_EPOCHS: (leader_epoch_checkpoint.parse, _epochs),
    names.PARTITION_METADATA: (partition_metadata.parse, _metadata),
    names.META_PROPERTIES: (meta_properties.parse, _properties),
    names.QUORUM_STATE: (quorum_state.parse, _quorum),
    names.CLEAN_SHUTDOWN: (clean_shutdown.parse, _shutdown),
}
