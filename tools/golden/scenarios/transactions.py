"""Transactions, and what their ends leave in the log."""

from __future__ import annotations

from collections.abc import Iterable

from tools.brokers.versions import SEGMENT_BYTES, Feature
from tools.golden import payloads
from tools.golden.model import Begin, End, Fence, Reopen, Scenario, Send, Step
from tools.golden.scenarios.parts import (
    transaction,
)


def _transaction_steps() -> Iterable[Step]:
    yield from transaction("both partitions", "committed", "a", ((0, 3), (1, 2)))
    yield from transaction("aborted at once", "aborted", "a", ((0, 2), (0, 2)))
    yield Send(payloads.words("between", 2, 40), "free")
    # Two at a time, the later one ends first, with untransactional records inside.
    yield Begin("a")
    yield Send(payloads.words("outer-1", 2, 40), "a")
    yield Begin("b")
    yield Send(payloads.words("inner", 3, 40), "b")
    yield Send(payloads.words("inside", 2, 40), "free")
    yield End("aborted", "b")
    yield Send(payloads.words("outer-2", 1, 40), "a")
    yield End("committed", "a")
    yield Begin("a")
    yield Send(payloads.words("long-1", 1, 40), "a")
    yield from transaction("inside long", "committed", "b", ((0, 2), (1, 1)))
    yield Send(payloads.words("long-2", 2, 40), "a", 1)
    yield End("aborted", "a")
    yield Reopen("a")
    yield from transaction("new epoch", "aborted", "a", ((1, 3),))
    yield from transaction("last", "committed", "a", ((0, 1), (1, 1)))


def _transactional(codec: str) -> dict[str, dict[str, str]]:
    return {
        "a": {"transactional.id": f"a-{codec}", "compression.type": codec},
        "b": {"transactional.id": f"b-{codec}", "compression.type": codec},
        "free": {"compression.type": codec},
    }


def transactions() -> Iterable[Scenario]:
    """Transactions of one and several producers."""
    for codec in ("none", "lz4"):
        yield Scenario(
            "transactions" if codec == "none" else f"transactions-{codec}",
            "committed, aborted and overlapping transactions of two producers over two partitions",
            tuple(_transaction_steps()),
            producers=_transactional(codec),
            partitions=2,
            needs=(Feature.TRANSACTIONS,),
        )
    outcomes = ("aborted", "committed", "aborted", "aborted", "committed") * 2
    yield Scenario(
        "transactions-segments",
        "many short transactions over several small segments, each with its transaction index",
        tuple(
            step
            for i, outcome in enumerate(outcomes)
            for step in transaction(f"t{i}", outcome, "s", ((0, 3), (0, 2)))
        ),
        topic={SEGMENT_BYTES: "1500", "index.interval.bytes": "200"},
        producers={"s": {"transactional.id": "segments"}},
        needs=(Feature.TRANSACTIONS,),
    )
    yield Scenario(
        "transactions-open",
        "a committed and an aborted transaction, then one still open when the broker stopped",
        (
            *transaction("committed", "committed", "o", ((0, 2),)),
            *transaction("aborted", "aborted", "o", ((0, 2),)),
            *transaction("open", "open", "o", ((0, 3),)),
            Send(payloads.words("after", 2, 40), "free"),
        ),
        producers={
            "o": {"transactional.id": "open", "transaction.timeout.ms": "900000"},
            "free": {},
        },
        needs=(Feature.TRANSACTIONS,),
    )


def fenced() -> Iterable[Scenario]:
    """Producers that another one has taken the place of."""
    yield Scenario(
        "transactions-fenced",
        "twice a new producer with the same transactional id: its epoch ends the open transaction",
        (
            *transaction("first", "committed", "a", ((0, 2),)),
            Begin("a"),
            Send(payloads.words("fenced-a", 3, 40), "a"),
            Fence("a", by="b"),
            *transaction("second", "committed", "b", ((0, 2),)),
            Begin("b"),
            Send(payloads.words("fenced-b", 1, 40), "b"),
            Fence("b", by="c"),
            *transaction("third", "aborted", "c", ((0, 2),)),
            *transaction("fourth", "committed", "c", ((0, 2),)),
        ),
        producers={name: {"transactional.id": "fenced"} for name in "abc"},
        late=frozenset("bc"),
        needs=(Feature.TRANSACTIONS,),
    )


def version_2() -> Iterable[Scenario]:
    """Transaction version 2 (KIP-890)."""
    yield Scenario(
        "transaction-version-2",
        "the epoch goes up with every transaction, and a marker bears the next one",
        (
            *transaction("one", "committed", "v", ((0, 2),)),
            *transaction("two", "aborted", "v", ((0, 2),)),
            *transaction("three", "committed", "v", ((0, 1),)),
        ),
        producers={"v": {"transactional.id": "version-2"}},
        needs=(Feature.TRANSACTION_V2,),
    )
