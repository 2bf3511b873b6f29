"""Actions of brokers other than appending: restart, delete, keep groups, die, move segments."""

from __future__ import annotations

from collections.abc import Iterable

from tools.brokers.versions import Feature
from tools.golden import payloads
from tools.golden.model import (
    DEFAULT_PRODUCER,
    AwaitTiered,
    Begin,
    Consume,
    ConsumeShared,
    Damage,
    DeleteRecords,
    End,
    Occasion,
    Restart,
    Scenario,
    Send,
    SendOffsets,
)
from tools.golden.scenarios.parts import SMALL_SEGMENTS, sends, transaction, with_codec

# It takes a broker of its own: some releases stand for all of them.
_TIERED_VERSIONS = frozenset({"3.6.2", "3.9.2", "4.1.2", "4.3.1"})


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
        topic={
            **SMALL_SEGMENTS,
            "remote.storage.enable": "true",
            "local.retention.bytes": "1",
            "file.delete.delay.ms": "500",
        },
        occasion=Occasion.TIERED,
        needs=(Feature.TIERED,),
        only=_TIERED_VERSIONS,
    )
