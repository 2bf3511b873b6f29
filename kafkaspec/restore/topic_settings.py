"""The settings of restored topics: what was set, what is guessed, and what has to be replaced."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafkaspec._generated.python.model.enumeration import ConfigResourceType
from kafkaspec.options import not_there
from kafkaspec.restore.coordinator_topics import TOPIC_CONFIGS
from kafkaspec.restore.restore_plan import RestoreFinding, RestoreReason
from kafkaspec.results import Strength
from kafkaspec.state.image import ClusterKind, Image

_PROTECTED: Final = {"retention.ms": "-1", "retention.bytes": "-1"}
_GONE: Final = frozenset({
    "message.format.version", "message.downconversion.enable",
    "message.timestamp.difference.max.ms",
})  # fmt: skip
"""Settings of topics that 4.0 no longer knows (KIP-724)."""
_POLICY: Final = "cleanup.policy"
_DEFAULT_POLICY: Final = "delete"
_IN_SYNC: Final = "min.insync.replicas"
_REMOTE: Final = "remote.storage.enable"
_SEGMENT: Final = "segment.bytes"
_LEAST_SEGMENT: Final = 1 << 20
"""Since 4.0 a broker does not start with less in its metadata (KIP-1030)."""
_BROKER: Final = int(ConfigResourceType.BROKER)
_CONFIGURE: Final = {
    ClusterKind.ACL: "set authorizer.class.name and super.users, or all of them are ignored",
    ClusterKind.SCRAM: "set a listener with SASL/SCRAM, or nobody can use them",
    ClusterKind.DELEGATION_TOKEN: "set delegation.token.secret.key to that of the old cluster",
}


@dataclass(slots=True)
class TopicSettings:
    """The settings of topics.

    Attributes:
        configs: by topic.
        before: by topic, those that were replaced, with their values before; None for not set.
        findings: what is guessed, replaced or left out.
    """

    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    before: dict[str, dict[str, str | None]] = field(default_factory=dict)
    findings: list[RestoreFinding] = field(default_factory=list)


def topic_settings(
    topics: Collection[str],
    image: Image | None,
    compacted: Collection[str],
    given: Mapping[str, Mapping[str, str]],
    *,
    fetched: Collection[str],
    stays: bool,
    protects: bool,
    one_node: bool,
) -> TopicSettings:
    """Return the settings of topics.

    Args:
        topics: their names.
        image: the metadata that survived; None for none.
        compacted: topics that a cleaner was at.
        given: settings that come before all others.
        fetched: topics whose segments in remote storage are among the sources.
        stays: whether those stay there.
        protects: whether retention is switched off.
        one_node: whether one node has all replicas.

    Raises:
        ValueError: a setting is given for another topic.
    """
    if unknown := sorted(given.keys() - set(topics)):
        raise ValueError(f"configs: {not_there('topic', unknown[0], topics)}")
    found = TopicSettings(findings=list(_of_nodes(image)))

    def say(reason: RestoreReason, text: str, topic: str, strength: Strength) -> None:
        found.findings.append(
            RestoreFinding(reason=reason, message=text, topic=topic, strength=strength)
        )

    known = {} if image is None else image.topic_configs()
    for topic in sorted(topics):
        own = dict(known.get(topic, {}))
        for name in sorted(own.keys() & _GONE):
            text = f"{name}={own.pop(name)}: no broker from 4.0 on knows it"
            say(RestoreReason.LEFT_OUT, text, topic, Strength.PROOF)
        if topic in TOPIC_CONFIGS:
            own = {**TOPIC_CONFIGS[topic], **own}
        elif image is None and topic in compacted:
            own[_POLICY] = "compact"
            text = f"{_POLICY}=compact: the checkpoint of the cleaner names it"
            say(RestoreReason.GUESSED_CONFIG, text, topic, Strength.STRONG)
        if own.get(_REMOTE) == "true" and topic not in fetched:
            text = "its segments in remote storage are not among the sources"
            say(RestoreReason.LOST_OFFSETS, text, topic, Strength.PROOF)
        remote = stays and topic in fetched
        if remote and own.get(_REMOTE) != "true":
            own[_REMOTE] = "true"
            text = f"{_REMOTE}=true: it has objects in remote storage"
            say(RestoreReason.GUESSED_CONFIG, text, topic, Strength.STRONG)
        replaced = dict(_replaced(own, protects=protects, one_node=one_node, remote=remote))
        changed = {name: value for name, value in replaced.items() if own.get(name) != value}
        if changed and topic not in TOPIC_CONFIGS:
            found.before[topic] = {name: own.get(name) for name in changed}
            text = ", ".join(f"{name}={value}" for name, value in changed.items())
            say(RestoreReason.PROTECTION, text, topic, Strength.PROOF)
        found.configs[topic] = {**own, **replaced, **given.get(topic, {})}
    return found


def _replaced(
    own: Mapping[str, str], *, protects: bool, one_node: bool, remote: bool
) -> Iterator[tuple[str, str]]:
    """Yield the settings that would delete or block what is restored, as they have to be."""
    if protects and _DEFAULT_POLICY in own.get(_POLICY, _DEFAULT_POLICY):
        yield from _PROTECTED.items()
    if one_node and own.get(_IN_SYNC, "1") != "1":
        yield _IN_SYNC, "1"
    size = own.get(_SEGMENT, "")
    if size.isascii() and size.isdigit() and int(size) < _LEAST_SEGMENT:
        yield _SEGMENT, str(_LEAST_SEGMENT)
    if own.get(_REMOTE) == "true" and not remote:
        yield _REMOTE, "false"


def _of_nodes(image: Image | None) -> Iterator[RestoreFinding]:
    """Yield what the metadata has that the new node needs settings for, or does not get."""
    if image is None:
        return
    configs = image.items[ClusterKind.CONFIG].values()
    many = sum(item["resource_type"] == _BROKER for item in configs)
    if many:
        text = f"settings of brokers are not carried over: {many}"
        yield RestoreFinding(reason=RestoreReason.LEFT_OUT, message=text)
    for kind, what in _CONFIGURE.items():
        if image.items[kind]:
            text = f"{kind}s ({len(image.items[kind])}): {what}"
            yield RestoreFinding(reason=RestoreReason.CONFIGURE, message=text)
