"""Actions of brokers other than appending: restart, delete, keep groups, die, move segments."""

from __future__ import annotations

from collections.abc import Iterable

from tools.brokers.broker import ADMINISTRATOR
from tools.brokers.versions import Feature
from tools.golden import payloads
from tools.golden.model import (
    DEFAULT_PRODUCER,
    Administer,
    AwaitRemoteDeleted,
    AwaitTiered,
    Begin,
    Consume,
    ConsumeShared,
    Damage,
    DeleteRecords,
    End,
    Join,
    Leave,
    Occasion,
    Restart,
    Scenario,
    Send,
    SendOffsets,
    Stream,
)
from tools.golden.scenarios.parts import SMALL_SEGMENTS, sends, transaction, with_codec

_TIERED_TOPIC = {
    **SMALL_SEGMENTS,
    "remote.storage.enable": "true",
    "local.retention.bytes": "1",
    "file.delete.delay.ms": "500",
}


def epochs() -> Iterable[Scenario]:
    """Leader epochs."""
    yield Scenario(
        "leader-epochs",
        "the broker restarts: two leader epochs in one segment, where the version has them",
        (
            *sends(payloads.words("first epoch", 6, 40), 3),
            Restart(),
            *sends(payloads.words("second epoch", 6, 40), 3),
        ),
        # The first request after a restart may have to wait for the leader.
        producers={DEFAULT_PRODUCER: {"retries": "50", "retry.backoff.ms": "300"}},
    )


def deletion() -> Iterable[Scenario]:
    """Deleted records."""
    yield Scenario(
        "deleted-records",
        "the log start offset raised into a later segment, not to its first record",
        (*sends(payloads.words("deleted", 45, 100), 3), DeleteRecords(25)),
        topic={**SMALL_SEGMENTS, "file.delete.delay.ms": "500"},
        needs=(Feature.DELETE_RECORDS,),
    )


def groups() -> Iterable[Scenario]:
    """Groups, for what they leave in the internal topics."""
    yield Scenario(
        "groups",
        "a classic consumer group that commits twice, another with metadata",
        (
            *sends(payloads.words("groups", 9, 40), 3),
            Consume("group-a", 9),
            Send(payloads.words("groups again", 3, 40)),
            Consume("group-a", 3),
            Consume("group-b", 12, "metadata of the commit"),
        ),
        needs=(Feature.GROUPS,),
    )
    yield Scenario(
        "groups-transactional",
        "offsets committed and aborted inside transactions",
        (
            Begin(),
            Send(payloads.words("offsets", 3, 40)),
            SendOffsets("group-t", 2),
            End("committed"),
            Begin(),
            Send(payloads.words("offsets again", 3, 40)),
            SendOffsets("group-t", 3),
            End("aborted"),
        ),
        producers={DEFAULT_PRODUCER: {"transactional.id": "offsets"}},
        needs=(Feature.TRANSACTIONS, Feature.GROUPS),
    )
    yield Scenario(
        "groups-consumer",
        "a consumer group of the protocol of KIP-848",
        (
            *sends(payloads.words("kip-848", 9, 40), 3),
            Consume("group-c", 9, settings={"group.protocol": "consumer"}),
        ),
        needs=(Feature.CONSUMER_GROUPS,),
    )
    yield Scenario(
        "groups-share",
        "a share group that accepts, rejects and releases records in turn",
        (*sends(payloads.words("share", 9, 40), 3), ConsumeShared("group-s", 9)),
        needs=(Feature.SHARE_GROUPS,),
    )


def unclean() -> Iterable[Scenario]:
    """Yield the scenarios of a broker that is killed."""
    yield Scenario(
        "unclean",
        "several segments; the index of the last one is as large as it was made",
        sends(payloads.words("unclean", 40, 100), 3),
        topic={**SMALL_SEGMENTS, "segment.index.bytes": "2048"},
        occasion=Occasion.UNCLEAN,
    )
    yield Scenario(
        "unclean-gzip",
        "compressed batches",
        sends(payloads.words("unclean", 12, 80), 3),
        producers=with_codec("gzip"),
        occasion=Occasion.UNCLEAN,
    )
    yield Scenario(
        "unclean-transaction",
        "an aborted transaction, a committed one, and one that was open",
        (
            *transaction("lost", "aborted", "o", ((0, 2),)),
            *transaction("kept", "committed", "o", ((0, 2),)),
            *transaction("open", "open", "o", ((0, 3),)),
        ),
        producers={"o": {"transactional.id": "unclean", "transaction.timeout.ms": "900000"}},
        occasion=Occasion.UNCLEAN,
        needs=(Feature.TRANSACTIONS,),
    )
    for kind, what in (
        (Damage.TORN, "the last batch is cut in its records"),
        (Damage.TORN_HEADER, "nine bytes are left of the last batch"),
        (Damage.ZEROS, "zeros follow the last batch"),
    ):
        yield Scenario(
            f"unclean-{kind}",
            what,
            sends(payloads.words("torn", 9, 60), 3),
            occasion=Occasion.UNCLEAN,
            damage=kind,
        )


def tiered() -> Iterable[Scenario]:
    """Remote storage."""
    yield Scenario(
        "tiered",
        "all segments but the active one in Kafka's local remote storage, and only there",
        (*sends(payloads.words("tiered", 30, 100), 3), AwaitTiered()),
        topic=_TIERED_TOPIC,
        occasion=Occasion.TIERED,
        needs=(Feature.TIERED,),
        sample=True,
    )
    yield Scenario(
        "tiered-deleted",
        "a topic in remote storage that is deleted",
        (
            *sends(payloads.words("tiered", 30, 100), 3),
            AwaitTiered(),
            Administer("delete", ("tiered-deleted",)),
            AwaitRemoteDeleted(),
        ),
        topic=_TIERED_TOPIC,
        occasion=Occasion.TIERED,
        needs=(Feature.TIERED, Feature.DYNAMIC_QUORUM),
        sample=True,
    )


def administered() -> Iterable[Scenario]:
    """Yield what administrators do to a cluster, and what it leaves in the cluster's metadata."""
    yield Scenario(
        "administered",
        "partitions added and moved to a second node that joins and leaves; settings of a topic, "
        "brokers, a client and a group; SCRAM, quotas, ACLs, delegation tokens",
        (
            *sends(payloads.words("administered", 6, 40), 3),
            Administer("partitions", ("administered", "2")),
            Join(),
            Administer("reassign", ("administered", "0,1")),
            Administer("reassign", ("administered", "1,0")),
            Administer("reassign", ("administered", "0")),
            Leave(),
            Administer("configure", ("TOPIC", "administered", "retention.ms=-1")),
            Administer("configure", ("BROKER", "0", "background.threads=5")),
            Administer("configure", ("BROKER", "", "log.cleaner.threads=2")),
            Administer("configure", ("CLIENT_METRICS", "metrics-a", "interval.ms=60000")),
            Administer("scram", ("user-a", "made-up")),
            Administer("scram", ("user-b", "made-up")),
            Administer("unscram", ("user-b",)),
            Administer("quota", ("user", "user-a", "producer_byte_rate", "1048576")),
            Administer("quota", ("client-id", "<default>", "request_percentage", "12.5")),
            Administer("quota", ("user", "user-a", "producer_byte_rate", "-")),
            Administer("allow", ("administered", "User:user-a")),
            Administer("allow", ("temporary", "User:user-b")),
            Administer("disallow", ("temporary",)),
            Administer("token", ADMINISTRATOR),
        ),
        occasion=Occasion.ADMINISTERED,
        needs=(Feature.DYNAMIC_QUORUM,),
        sample=True,
    )
    yield Scenario(
        "administered-deleted",
        "a topic and a group that are deleted, the topic with a committed offset of the group",
        (
            *sends(payloads.words("deleted topic", 3, 40), 3),
            Consume("group-d", 3),
            Administer("group", ("group-d",)),
            Consume("group-e", 3),
            Administer("delete", ("administered-deleted",)),
        ),
        occasion=Occasion.ADMINISTERED,
        needs=(Feature.DYNAMIC_QUORUM,),
        sample=True,
    )
    yield Scenario(
        "administered-features",
        "transaction.version set to 1 and to 2 again; a group that goes from the classic protocol "
        "to that of KIP-848, one with a regular expression, and a share group",
        (
            Administer("feature", ("transaction.version", "1", "SAFE_DOWNGRADE")),
            Administer("feature", ("transaction.version", "2", "UPGRADE")),
            *sends(payloads.words("features", 6, 40), 3),
            Consume("group-f", 6),
            Send(payloads.words("features again", 3, 40)),
            Consume("group-f", 3, settings={"group.protocol": "consumer"}),
            Consume(
                "group-r",
                9,
                settings={"group.protocol": "consumer", "pattern": "administered-f.*"},
            ),
            ConsumeShared("group-g", 9),
        ),
        occasion=Occasion.ADMINISTERED,
        needs=(Feature.DYNAMIC_QUORUM, Feature.TRANSACTION_V2, Feature.SHARE_GROUPS),
        sample=True,
    )
    yield Scenario(
        "administered-streams",
        "a streams group with a changelog topic and a repartition topic",
        (*sends(payloads.words("streams", 6, 40), 3), Stream("group-streams")),
        occasion=Occasion.ADMINISTERED,
        needs=(Feature.DYNAMIC_QUORUM, Feature.STREAMS_GROUPS),
        sample=True,
    )
