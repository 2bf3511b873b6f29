"""Keep brokers where they are, and write only what a new controller begins with.

Nothing is copied, so a wrong leader costs data: followers cut their logs to that of the leader. So
nothing is written unless each leader is proven to have all that the other copies have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.files.checkpoints.meta_properties import MetaProperties, is_node_id
from kafkaspec.restore.replica_choice import Choice
from kafkaspec.restore.replica_inventory import PartitionCopy
from kafkaspec.restore.restore_plan import RestoreFinding, RestoreReason
from kafkaspec.state.image import Fields

_UNASSIGNED = kafka_uuid.to_text(kafka_uuid.ZERO)


def refusals(
    choices: Iterable[Choice],
    directories: Mapping[Path, MetaProperties | None],
    controllers: Collection[int],
) -> Iterator[RestoreFinding]:
    """Yield why the brokers cannot be kept as they are.

    Args:
        choices: the partitions and their copies.
        directories: the log directories of the brokers.
        controllers: ids of the new controllers' nodes.
    """
    for path, owner in sorted(directories.items()):
        if owner is None or owner.node_id is None:
            text = "no meta.properties says which node it is of"
        elif not is_node_id(owner.node_id):
            text = f"it is of node {owner.node_id}, and no node has such an id"
        elif owner.node_id in controllers:
            text = f"it is of node {owner.node_id}: a controller needs another id, see --node-id"
        else:
            continue
        yield RestoreFinding(reason=RestoreReason.NODES, message=text, file=str(path))
    for choice in choices:
        for copy in (choice.taken, *choice.others):
            if copy.topic_id is None:
                text = "it has no topic id, so its broker would put it aside and begin an empty log"
                yield _about(copy, RestoreReason.TOPIC_IDS, text)
        if choice.taken.is_damaged:
            text = "it is damaged, and no copy is as long: the others would be cut to what is left"
            yield _about(choice.taken, RestoreReason.UNPROVEN_LEADER, text)
        for copy in choice.beyond:
            text = f"it has what {choice.taken.path} lacks, and would lose it"
            yield _about(copy, RestoreReason.UNPROVEN_LEADER, text)


def placement(choice: Choice) -> Fields:
    """Return replicas, in-sync replicas, leader and directories of a partition.

    The leader alone is in sync: the others fetch what they lack, and join it.
    """
    copies: Sequence[PartitionCopy] = (choice.taken, *choice.others)
    nodes = [copy.owner.node_id for copy in copies if copy.owner is not None]
    directories = [
        _UNASSIGNED
        if copy.owner is None or copy.owner.directory_id is None
        else kafka_uuid.to_text(copy.owner.directory_id)
        for copy in copies
    ]
    return {
        "replicas": nodes, "isr": nodes[:1], "leader": nodes[0], "directories": directories,
    }  # fmt: skip


def _about(copy: PartitionCopy, reason: RestoreReason, message: str) -> RestoreFinding:
    return RestoreFinding(
        reason=reason, message=message, file=copy.path, topic=copy.topic, partition=copy.partition
    )
