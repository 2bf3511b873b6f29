"""The metadata of a cluster: what controllers make of the records of ``__cluster_metadata``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from copy import deepcopy
from enum import StrEnum
from operator import itemgetter
from typing import Any, Final, NamedTuple, NotRequired, Self

from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.enumeration import (
    BrokerRegistrationFencingChange,
    ConfigResourceType,
    LeaderRecoveryState,
)
from kafkaspec.arrow.messages.arrays import message_table
from kafkaspec.layout.framing import field_of
from kafkaspec.layout.names import MESSAGE_FRAME, TAGGED_FIELDS
from kafkaspec.messages.lookup import by_id, by_name
from kafkaspec.messages.tables import with_names
from kafkaspec.state.framed import Change, FrameValue, LeftOut, own_fields

Fields = dict[str, Any]
_Key = tuple[Any, ...]


class ClusterKind(StrEnum):
    """The kinds of things in a cluster, in the order in which they are shown.

    Attributes:
        message: the message whose fields each has; a voter is in a control record.
        identity: the fields that identify each, by the specification of the message.
    """

    message: str
    identity: tuple[str, ...]

    def __new__(cls, value: str, message: str, *identity: str) -> Self:
        """Make a member of its name, message and, without one, identity."""
        made = str.__new__(cls, value)
        made._value_ = value
        made.message = message
        made.identity = (message and by_id(message).identity) or identity
        return made

    FEATURE = "feature", "feature_level_record"
    VOTER = "voter", "", "voter_id"
    CONTROLLER = "controller", "register_controller_record"
    BROKER = "broker", "register_broker_record"
    TOPIC = "topic", "topic_record"
    PARTITION = "partition", "partition_record"
    CONFIG = "config", "config_record"
    QUOTA = "quota", "client_quota_record"
    ACL = "acl", "access_control_entry_record"
    SCRAM = "scram", "user_scram_credential_record"
    DELEGATION_TOKEN = "delegation_token", "delegation_token_record"
    PRODUCER_IDS = "producer_ids", "producer_ids_record"
    ZK_MIGRATION = "zk_migration", "zk_migration_state_record"
    OTHER = "other", "", "record"
    """What only the specification describes: no rule here is for its records."""


Kind = ClusterKind
"""The name that it had before 0.3."""

SECRET: Final = frozenset({"salt", "stored_key", "server_key"})
"""Fields of SCRAM credentials that are not shown."""


def members() -> dict[ClusterKind, dict[str, Any]]:
    """Return the names of the fields that items of each kind are shown with, and their types."""
    own = {
        ClusterKind.VOTER: ("voter_id", "voter_directory_id", "endpoints"),
        ClusterKind.PRODUCER_IDS: ("next_producer_id",),
        ClusterKind.OTHER: ("record", "record_type", "fields"),
    }
    hidden = MESSAGE_FRAME | SECRET
    found: dict[ClusterKind, dict[str, Any]] = {}
    for kind in ClusterKind:
        names = own.get(kind) or [
            column.name
            for column in message_table(kind.message).layout.root.children
            if column.name not in hidden
        ]
        if kind is ClusterKind.PARTITION:
            names = ["topic", *names]
        found[kind] = dict.fromkeys(names, Any) | {TAGGED_FIELDS: NotRequired[list[Any]]}
    return found


class Image:
    """The state after some records; Kafka's ``MetadataImage``.

    Attributes:
        items: by kind and key, the fields as the last record left them.
        pending: names of the records that a metadata transaction has not applied yet.
        left_out: the records of which neither a rule here nor the specification says what they
            change.
        offset: of the last record, -1 before the first.
        leader: the controller that was elected last, None if no record says so.
        voters: ids of the voters of that election. Kind.VOTER is what KRAFT_VOTERS says (KIP-853).
        kraft_version: ``kraft.version``, which KRAFT_VERSION says; None if no record does.
    """

    def __init__(self, watch: Watch | None = None) -> None:
        """Make the state before the first record.

        Args:
            watch: is called with this image and each record before it is applied.
        """
        self._watch = watch
        self.items: dict[ClusterKind, dict[_Key, Fields]] = {kind: {} for kind in ClusterKind}
        self.offset = -1
        self.leader: int | None = None
        self.voters: list[int] = []
        self.kraft_version: int | None = None
        self.pending: list[Change] | None = None
        self.left_out = LeftOut()

    def copy(self) -> Image:
        """Return a copy that does not change with this one."""
        return deepcopy(self)

    def apply(self, changes: Iterable[Change]) -> None:
        """Apply records in the order of their offsets.

        Those between the start and the end of a metadata transaction count together, at its end,
        or never if it is aborted (KIP-868, ``MetadataBatchLoader``).
        """
        for change in changes:
            self.offset = max(self.offset, change.offset)
            if change.name == "begin_transaction_record":
                self.pending = []
            elif change.name == "abort_transaction_record":
                self.pending = None
            elif change.name == "end_transaction_record":
                for held in self.pending or ():
                    self._apply(held)
                self.pending = None
            elif self.pending is not None:
                self.pending.append(change)
            else:
                self._apply(change)

    def _apply(self, change: Change) -> None:
        if self._watch is not None:
            self._watch(self, change)
        rule = _RULES.get(change.name)
        if rule is None:
            self._put_other(change)
        else:
            rule(self, change.value)

    def _put_other(self, change: Change) -> None:
        """Keep the last record of what it describes, else one of each content."""
        name, number, own, fields = change.name, None, None, own_fields(change.value)
        with suppress(KeyError):  # a control record
            layout = by_id(change.name)
            name, number, own = layout.name, layout.number, layout.identity
        if own is None:
            self.left_out.is_unknown([change.offset], number, name)
        key = (name, *(repr(fields[each]) for each in (fields if own is None else own)))
        item = {"record": name, "record_type": number, "fields": fields}
        self.items[ClusterKind.OTHER][key] = item

    @staticmethod
    def is_own(topic: str) -> bool:
        """Return whether a topic is that of the metadata itself, which is not among its topics."""
        return topic == Topic.CLUSTER_METADATA

    @staticmethod
    def named(kind: ClusterKind, fields: Fields) -> Fields:
        """Return the fields of an item with Kafka's names in place of numbers that mean them."""
        if kind is ClusterKind.OTHER:
            (layout, *_) = by_name(fields["record"]) or (None,)
            named = layout and with_names(message_table(layout.id).layout.root, fields["fields"])
            return {"record": fields["record"], **(named or fields["fields"])}
        if not kind.message:
            return fields
        found: Fields = with_names(message_table(kind.message).layout.root, fields)
        return found

    def topic_name(self, topic_id: Any) -> str | None:
        """Return the name of a topic."""
        topic = self.items[ClusterKind.TOPIC].get((topic_id,))
        return None if topic is None else topic["name"]

    def topic_configs(self) -> dict[str, dict[str, str]]:
        """Return what is set for topics, by topic and name."""
        found: dict[str, dict[str, str]] = {}
        for fields in self.items[ClusterKind.CONFIG].values():
            if fields["resource_type"] == ConfigResourceType.TOPIC:
                found.setdefault(fields["resource_name"], {})[fields["name"]] = fields["value"]
        return found


_Rule = Callable[[Image, FrameValue], None]
Watch = Callable[[Image, Change], None]


def _own(value: FrameValue) -> Fields:
    """Return the fields that are kept; Kafka keeps these lists as maps, in no order."""
    return {
        name: sorted(item, key=itemgetter("name")) if name in _BY_NAME else item
        for name, item in own_fields(value).items()
    }


_BY_NAME: Final = frozenset({"end_points", "features"})


def key_of(kind: ClusterKind, value: FrameValue) -> _Key:
    """Return what identifies an item among those of its kind."""
    return tuple(_hashable(value[name]) for name in kind.identity)


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return frozenset(
            tuple(field for name, field in item.items() if name not in MESSAGE_FRAME)
            for item in value
        )
    return value


def _put(kind: ClusterKind) -> _Rule:
    def rule(image: Image, value: FrameValue) -> None:
        image.items[kind][key_of(kind, value)] = _own(value)

    return rule


def _drop(kind: ClusterKind) -> _Rule:
    def rule(image: Image, value: FrameValue) -> None:
        image.items[kind].pop(key_of(kind, value), None)

    return rule


def _remove_topic(image: Image, value: FrameValue) -> None:
    topic_id = value["topic_id"]
    topic = image.items[ClusterKind.TOPIC].pop((topic_id,), None)
    partitions = image.items[ClusterKind.PARTITION]
    for key in [key for key in partitions if key[0] == topic_id]:
        del partitions[key]
    if topic is not None:
        configs = image.items[ClusterKind.CONFIG]
        wanted = (ConfigResourceType.TOPIC, topic["name"])
        for key in [key for key in configs if key[:2] == wanted]:
            del configs[key]


def _change_partition(image: Image, value: FrameValue) -> None:
    """``PartitionRegistration.merge``: a tag that is not there changes nothing."""
    partition = image.items[ClusterKind.PARTITION].get(key_of(ClusterKind.PARTITION, value))
    if partition is None:
        return
    for name in _PATCHED:
        if value.get(name) is not None:
            partition[name] = value[name]
    _settle(partition)
    if value.get("replicas") is not None and value.get("directories") is None:
        partition["directories"] = None
    leader = value.get("leader")
    if leader is not None and leader != _NO_LEADER_CHANGE:
        partition["leader"] = leader
        partition["leader_epoch"] += 1
    recovery = value.get("leader_recovery_state")
    if recovery is not None and recovery != LeaderRecoveryState.NO_CHANGE:
        partition["leader_recovery_state"] = recovery
    partition["partition_epoch"] += 1


_NO_LEADER_CHANGE: Final = int(field_of("partition_change_record.leader_tag", "leader").default)
"""``LeaderConstants.NO_LEADER_CHANGE``."""
_PATCHED = (
    "isr", "replicas", "removing_replicas", "adding_replicas", "directories",
    "eligible_leader_replicas", "last_known_elr",
)  # fmt: skip


def _put_partition(image: Image, value: FrameValue) -> None:
    partition = image.items[ClusterKind.PARTITION][key_of(ClusterKind.PARTITION, value)] = _own(
        value
    )
    partition["leader_recovery_state"] = partition.get("leader_recovery_state") or (
        LeaderRecoveryState.RECOVERED
    )
    _settle(partition)


def _settle(partition: Fields) -> None:
    """An empty list of these and none are the same: ``Replicas.NONE``."""
    for name in ("eligible_leader_replicas", "last_known_elr"):
        partition[name] = partition.get(name) or None


def _clear_elr(image: Image, value: FrameValue) -> None:
    name = value["topic_name"]
    for (topic_id, _), partition in image.items[ClusterKind.PARTITION].items():
        if not name or image.topic_name(topic_id) == name:
            partition["eligible_leader_replicas"] = partition["last_known_elr"] = None


def _put_unless(kind: ClusterKind, gone: Callable[[FrameValue], bool]) -> _Rule:
    def rule(image: Image, value: FrameValue) -> None:
        (_drop if gone(value) else _put)(kind)(image, value)

    return rule


def _set_producer_ids(image: Image, value: FrameValue) -> None:
    """``ProducerIdsImage`` keeps no broker, and a snapshot has none."""
    image.items[ClusterKind.PRODUCER_IDS][()] = {"next_producer_id": value["next_producer_id"]}


def _fence(fenced: bool) -> _Rule:
    def rule(image: Image, value: FrameValue) -> None:
        broker = image.items[ClusterKind.BROKER].get((value["id"],))
        if broker is not None:
            broker["fenced"] = fenced

    return rule


def _change_broker(image: Image, value: FrameValue) -> None:
    """A change of 0 is none: ``BrokerRegistrationFencingChange`` and its like."""
    broker = image.items[ClusterKind.BROKER].get((value["broker_id"],))
    if broker is None:
        return
    if value.get("fenced"):
        broker["fenced"] = value["fenced"] == BrokerRegistrationFencingChange.FENCE
    if value.get("in_controlled_shutdown"):
        broker["in_controlled_shutdown"] = True
    if value.get("log_dirs"):
        broker["log_dirs"] = value["log_dirs"]
    if value.get("cordoned_log_dirs") is not None:
        broker["cordoned_log_dirs"] = value["cordoned_log_dirs"]


def _set_voters(image: Image, value: FrameValue) -> None:
    image.items[ClusterKind.VOTER] = {
        key_of(ClusterKind.VOTER, voter): dict(voter) for voter in value["voters"]
    }


def _change_leader(image: Image, value: FrameValue) -> None:
    image.leader, image.voters = value["leader_id"], value["voters"]


def _set_kraft_version(image: Image, value: FrameValue) -> None:
    image.kraft_version = value["kraft_version"]


def _nothing(_: Image, __: FrameValue) -> None:
    """Records that change no state."""


_RULES: Final[dict[str, _Rule]] = {
    kind.message: _put(kind) for kind in ClusterKind if kind.message
} | {
    "unregister_broker_record": _drop(ClusterKind.BROKER),
    "broker_registration_change_record": _change_broker,
    "fence_broker_record": _fence(True),
    "unfence_broker_record": _fence(False),
    "remove_topic_record": _remove_topic,
    "partition_record": _put_partition,
    "partition_change_record": _change_partition,
    "clear_elr_record": _clear_elr,
    "config_record": _put_unless(ClusterKind.CONFIG, lambda value: value["value"] is None),
    "client_quota_record": _put_unless(ClusterKind.QUOTA, lambda value: bool(value["remove"])),
    # A level of 0 is that of a feature that is not there.
    "feature_level_record": _put_unless(
        ClusterKind.FEATURE, lambda value: not value["feature_level"]
    ),
    "producer_ids_record": _set_producer_ids,
    "remove_access_control_entry_record": _drop(ClusterKind.ACL),
    "remove_user_scram_credential_record": _drop(ClusterKind.SCRAM),
    "remove_delegation_token_record": _drop(ClusterKind.DELEGATION_TOKEN),
    "unregister_controller_record": _drop(ClusterKind.CONTROLLER),
    "no_op_record": _nothing,
    "voters_record": _set_voters,
    "leader_change_message": _change_leader,
    "kraft_version_record": _set_kraft_version,
    "control_record": _nothing,
}


class ClusterDifference(NamedTuple):
    """An item that two images do not have alike; a side without it has None."""

    kind: ClusterKind
    key: _Key
    before: Fields | None
    after: Fields | None

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that identify it."""
        return self.kind.identity

    def named(self) -> ClusterDifference:
        """Return the same with Kafka's names in place of numbers that mean them."""
        before, after = (
            None if side is None else Image.named(self.kind, side)
            for side in (self.before, self.after)
        )
        return self._replace(before=before, after=after)


def differences(before: Image, after: Image) -> list[ClusterDifference]:
    """Return what changed between two images, by kind and key."""
    found = []
    for kind in ClusterKind:
        old, new = before.items[kind], after.items[kind]
        for key in sorted(old.keys() | new.keys(), key=repr):
            if old.get(key) != new.get(key):
                found.append(ClusterDifference(kind, key, old.get(key), new.get(key)))
    return found
