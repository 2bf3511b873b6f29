"""The files for people in a restored directory: settings of the node, and what to do next."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.restore.restore_plan import RestoredVoter, RestorePlan

_REMOTE: Final = Topic.REMOTE_LOG_METADATA
_LONGEST: Final = (1 << 31) - 1
"""Most minutes that ``offsets.retention.minutes`` takes."""


_KEEP: Final = (
    "Stop all brokers. In each of their log directories, move `__cluster_metadata-0` away: it is of"
    " the controllers that are gone. In their settings, set `process.roles=broker`,"
    " `controller.quorum.bootstrap.servers` to that of `server.properties` here, and"
    " `offsets.retention.minutes` as there. Start the controller, then all brokers.",
)


def server_properties(
    plan: RestorePlan, voter: RestoredVoter, logs: Path, *, is_broker: bool
) -> str:
    """Return the settings that a node needs.

    Args:
        plan: what was restored.
        voter: the node.
        logs: its log directory at its final place.
        is_broker: whether it is a broker too.
    """
    lines = {
        "process.roles": "broker,controller",
        "node.id": str(voter.node_id),
        "log.dirs": str(logs),
        "listeners": f"PLAINTEXT://127.0.0.1:9092,CONTROLLER://{voter.address}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": ",".join(each.address for each in plan.voters),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "auto.create.topics.enable": "false",
        "offsets.retention.minutes": str(_LONGEST),
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }
    if is_broker and (segments := [each for each in plan.partitions if each.topic == _REMOTE]):
        lines |= {
            "remote.log.storage.system.enable": "true",
            "remote.log.metadata.manager.listener.name": "PLAINTEXT",
            "rlmm.config.remote.log.metadata.topic.num.partitions": str(len(segments)),
            "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
        }
    if not is_broker:
        lines |= {"process.roles": "controller", "listeners": f"CONTROLLER://{voter.address}"}
    return "".join(f"{name}={value}\n" for name, value in lines.items())


def instructions(plan: RestorePlan, *, keep: bool) -> str:
    """Return how to start it, to check it and to undo its protections, as Markdown."""
    undo = [
        f"kafka-configs.sh --bootstrap-server 127.0.0.1:9092 --alter --topic {topic} {_change(old)}"
        for topic, old in plan.before.items()
    ]
    findings = [f"- {each.reason.value}: {_about(each)}{each.message}" for each in plan.findings]
    parts = [
        f"# Restored for Kafka {plan.release}",
        f"Cluster `{plan.cluster_id}`, node {plan.node_id}: {len(plan.partitions)} partitions,"
        f" {plan.records} records, {len(plan.groups)} groups.",
        "## Start",
        *(_KEEP if keep else ()),
        *_others(plan),
        "```\nkafka-server-start.sh server.properties\n```",
        *([] if keep else ["The first start reads all segments, and rebuilds their indexes."]),
        "## Check",
        "```\nkafka-topics.sh --bootstrap-server 127.0.0.1:9092 --describe\n"
        "kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9092 --all-groups --describe\n```",
        "## Undo the protections",
        "Until then nothing is deleted by age or size, and idle groups keep their offsets.",
        "```\n" + "\n".join([*undo, "# and remove offsets.retention.minutes"]) + "\n```",
        "## What was lost, guessed and handled",
        "\n".join(findings) or "Nothing.",
    ]
    return "\n\n".join(parts) + "\n"


def _others(plan: RestorePlan) -> list[str]:
    """Return what to do with the other controllers, if there are some."""
    folders = ", ".join(f"`{each.folder}`" for each in plan.voters[1:])
    if not folders:
        return []
    return [
        f"The quorum has {len(plan.voters)} controllers, and needs most of them to begin. Start"
        f" those of {folders} first, each with its own `server.properties`; if you move one to"
        " another machine, change `log.dirs` there."
    ]


def _change(old: object) -> str:
    assert isinstance(old, dict)
    add = ",".join(f"{name}={value}" for name, value in old.items() if value is not None)
    drop = ",".join(name for name, value in old.items() if value is None)
    found = [f"--add-config {add}"] if add else []
    return " ".join([*found, *([f"--delete-config {drop}"] if drop else [])])


def _about(finding: object) -> str:
    topic = getattr(finding, "topic", None)
    if topic is None:
        return ""
    partition = getattr(finding, "partition", None)
    return f"{topic}: " if partition is None else f"{topic}-{partition}: "
