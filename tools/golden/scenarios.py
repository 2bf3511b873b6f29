"""The table of scenarios: what is written into which topic, and which versions can do it.

A scenario is data: settings, producers and a list of steps.  It applies to every version that has
the features, the codecs and the message format that it needs.  ``{segment.bytes}`` as the name of a
topic setting stands for the name this setting has in the version, ``{native}`` as a message format
for the version's own.
"""

from __future__ import annotations

from collections.abc import Iterable

from tools.golden import payloads
from tools.golden.model import (
    DEFAULT_PRODUCER as _P,
)
from tools.golden.model import (
    FORMAT,
    Alter,
    AwaitCleaned,
    Begin,
    End,
    Reopen,
    Scenario,
    Send,
    Step,
)
from tools.golden.payloads import START_MS, Record
from tools.golden.versions import NATIVE_FORMAT, SEGMENT_BYTES, Feature, Version

_HOUR_MS = 3_600_000
_TEN_YEARS_MS = "315360000000"


def _codec(codec: str) -> dict[str, dict[str, str]]:
    return {_P: {"compression.type": codec}}


def _sends(records: tuple[Record, ...], size: int) -> tuple[Step, ...]:
    return tuple(Send(batch) for batch in payloads.batches(records, size))


def _needs(*features: Feature) -> frozenset[Feature]:
    return frozenset(features)


def _plain() -> Iterable[Scenario]:
    yield Scenario("empty", "a topic nothing was written to", ())
    yield Scenario(
        "plain",
        "null, empty, Unicode and binary keys and values; values of 64 B and 8 KiB",
        (*_sends(payloads.edge_records(), 1), Send(payloads.edge_records()[:14])),
    )


_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# Text in one batch, above one block of the codec's own framing: snappy 32 KiB, lz4 64 KiB.
_BLOCKS = {"snappy": 34, "lz4": 68}
# These texts are large, so one release stands for all that frame in the same way.
_BLOCK_VERSIONS = frozenset({"0.8.2.2", "0.10.2.2", "2.8.2", "4.3.1"})


def _codecs() -> Iterable[Scenario]:
    for codec in _CODECS:
        yield Scenario(
            f"codec-{codec}",
            "one record, null record, edge cases, short texts, random bytes, longer texts",
            (
                Send((Record(b"single", b"one record"),)),
                Send((Record(None, None),)),
                Send(payloads.edge_records()[:12]),
                Send(payloads.words("small", 20, 60)),
                Send(payloads.incompressible("stored", 2, 500)),
                Send(payloads.words("bulk", 4, 1000)),
            ),
            producers=_codec(codec),
        )
    for codec, count in _BLOCKS.items():
        yield Scenario(
            f"blocks-{codec}",
            "a batch of more than one block of the codec's own framing, then a short one",
            (Send(payloads.words("bulk", count, 1024)), Send(payloads.words("small", 2, 60))),
            producers=_codec(codec),
            only=_BLOCK_VERSIONS,
        )
    yield Scenario(
        "codec-mixed",
        "producers with different codecs taking turns in one partition",
        tuple(
            Send(payloads.words(f"{codec}-{turn}", 4, 80), codec)
            for turn in range(2)
            for codec in ("none", "gzip", "snappy", "lz4")
        ),
        producers={c: {"compression.type": c} for c in ("none", "gzip", "snappy", "lz4")},
    )
    yield Scenario(
        "recompressed-gzip",
        "the topic says gzip, the producer lz4: the broker compresses again",
        _sends(payloads.words("recompressed", 20, 80), 10),
        topic={"compression.type": "gzip"},
        producers=_codec("lz4"),
        needs=_needs(Feature.TOPIC_COMPRESSION),
    )


def _headers() -> Iterable[Scenario]:
    for codec in ("none", "gzip"):
        yield Scenario(
            "headers" if codec == "none" else f"headers-{codec}",
            "no headers, null and empty values, empty and repeated keys, Unicode, 70 headers",
            (*_sends(payloads.with_headers(), 1), Send(payloads.with_headers())),
            producers=_codec(codec),
            needs=_needs(Feature.HEADERS),
        )


def _times() -> Iterable[Scenario]:
    times = (0, 1, START_MS, START_MS - 1, START_MS + 5 * _HOUR_MS, START_MS, START_MS - 2**33)
    records = tuple(Record(b"t", f"at {t}".encode(), t) for t in times)
    for codec in ("none", "gzip"):
        suffix = "" if codec == "none" else f"-{codec}"
        for kind, setting in (("create-time", "CreateTime"), ("log-append-time", "LogAppendTime")):
            yield Scenario(
                kind + suffix,
                "times going forth and back, from 1970 on; first one batch, then one a record",
                (Send(records), *_sends(records, 1), Send(payloads.words("times", 6, 30))),
                topic={"message.timestamp.type": setting},
                producers=_codec(codec),
                needs=_needs(Feature.TIMESTAMPS),
            )
    kind = "message.timestamp.type"
    yield Scenario(
        "time-types-mixed",
        "one partition whose topic went from CreateTime to LogAppendTime and back",
        (
            *_sends(payloads.words("create", 4, 40), 2),
            Alter({kind: "LogAppendTime"}),
            *_sends(payloads.words("append", 4, 40), 2),
            Alter({kind: "CreateTime"}),
            *_sends(payloads.words("again", 4, 40), 2),
        ),
        topic={kind: "CreateTime", "index.interval.bytes": "100"},
        needs=_needs(Feature.TIMESTAMPS),
    )


def _idempotent() -> Iterable[Scenario]:
    for codec in ("none", "snappy"):
        yield Scenario(
            "idempotent" if codec == "none" else f"idempotent-{codec}",
            "an idempotent producer, then another id after it was opened again",
            (
                *_sends(payloads.words("first", 12, 40), 4),
                Reopen(),
                *_sends(payloads.words("second", 10, 40), 5),
            ),
            producers={_P: {"enable.idempotence": "true", "compression.type": codec}},
            needs=_needs(Feature.IDEMPOTENCE),
        )


def _transaction(
    name: str, outcome: str, producer: str, sizes: tuple[tuple[int, int], ...]
) -> Iterable[Step]:
    yield Begin(producer)
    for part, (partition, count) in enumerate(sizes):
        records = payloads.words(f"{name}-{part}", count, 40)
        yield Send(records, producer, partition)
    yield End(outcome, producer)


def _transaction_steps() -> Iterable[Step]:
    yield from _transaction("both partitions", "committed", "a", ((0, 3), (1, 2)))
    yield from _transaction("aborted at once", "aborted", "a", ((0, 2), (0, 2)))
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
    yield from _transaction("inside long", "committed", "b", ((0, 2), (1, 1)))
    yield Send(payloads.words("long-2", 2, 40), "a", 1)
    yield End("aborted", "a")
    yield Reopen("a")
    yield from _transaction("new epoch", "aborted", "a", ((1, 3),))
    yield from _transaction("last", "committed", "a", ((0, 1), (1, 1)))


def _transactional(codec: str) -> dict[str, dict[str, str]]:
    return {
        "a": {"transactional.id": f"a-{codec}", "compression.type": codec},
        "b": {"transactional.id": f"b-{codec}", "compression.type": codec},
        "free": {"compression.type": codec},
    }


def _transactions() -> Iterable[Scenario]:
    for codec in ("none", "lz4"):
        yield Scenario(
            "transactions" if codec == "none" else f"transactions-{codec}",
            "committed, aborted and overlapping transactions of two producers over two partitions",
            tuple(_transaction_steps()),
            producers=_transactional(codec),
            partitions=2,
            needs=_needs(Feature.TRANSACTIONS),
        )
    outcomes = ("aborted", "committed", "aborted", "aborted", "committed") * 2
    yield Scenario(
        "transactions-segments",
        "many short transactions over several small segments, each with its transaction index",
        tuple(
            step
            for i, outcome in enumerate(outcomes)
            for step in _transaction(f"t{i}", outcome, "s", ((0, 3), (0, 2)))
        ),
        topic={SEGMENT_BYTES: "1500", "index.interval.bytes": "200"},
        producers={"s": {"transactional.id": "segments"}},
        needs=_needs(Feature.TRANSACTIONS),
    )
    yield Scenario(
        "transactions-open",
        "a committed and an aborted transaction, then one still open when the broker stopped",
        (
            *_transaction("committed", "committed", "o", ((0, 2),)),
            *_transaction("aborted", "aborted", "o", ((0, 2),)),
            *_transaction("open", "open", "o", ((0, 3),)),
            Send(payloads.words("after", 2, 40), "free"),
        ),
        producers={
            "o": {"transactional.id": "open", "transaction.timeout.ms": "900000"},
            "free": {},
        },
        needs=_needs(Feature.TRANSACTIONS),
    )


_COMPACT = {
    SEGMENT_BYTES: "800",
    "index.interval.bytes": "200",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": _TEN_YEARS_MS,  # the tombstones stay
    "file.delete.delay.ms": "500",
}
# Compaction is switched on when everything is written, so that one pass of the cleaner sees it all.
_CLEAN = (Alter({"cleanup.policy": "compact"}), AwaitCleaned())
_UPDATES = payloads.keyed("compacted", 80, 24, 0.2)


def _updates_in_transactions(producer: str, outcomes: tuple[str, ...]) -> Iterable[Step]:
    runs = payloads.batches(_UPDATES, len(_UPDATES) // len(outcomes))
    for run, outcome in zip(runs, outcomes, strict=True):
        yield Begin(producer)
        yield Send(run, producer)
        yield End(outcome, producer)


def _compaction() -> Iterable[Scenario]:
    for codec in ("none", "gzip", "lz4"):
        needs = _needs() if codec == "none" else _needs(Feature.COMPACT_COMPRESSED)
        yield Scenario(
            "compacted" if codec == "none" else f"compacted-{codec}",
            "updates and tombstones of 24 keys, compacted; retained tombstones",
            (*_sends(_UPDATES, 5), *_CLEAN),
            topic=_COMPACT,
            producers=_codec(codec),
            needs=needs,
        )
    yield Scenario(
        "compacted-idempotent",
        "two idempotent producers; the last batch of the first is emptied",
        (*_sends(_UPDATES[:20], 5), Reopen(), *_sends(_UPDATES, 5), *_CLEAN),
        topic=_COMPACT,
        producers={_P: {"enable.idempotence": "true"}},
        needs=_needs(Feature.IDEMPOTENCE),
    )
    outcomes = ("committed", "aborted", "committed", "committed", "aborted")
    yield Scenario(
        "compacted-transactions",
        "updates in committed and aborted transactions, compacted twice: markers without data",
        (
            *_updates_in_transactions("c", outcomes),
            *_updates_in_transactions("d", outcomes),
            *_CLEAN,
            Alter({"cleanup.policy": "delete"}),
            *_updates_in_transactions("d", outcomes),
            *_CLEAN,
        ),
        topic=_COMPACT,
        producers={
            "c": {"transactional.id": "compacted-c"},
            "d": {"transactional.id": "compacted-d"},
        },
        needs=_needs(Feature.TRANSACTIONS),
    )


_SEGMENTS = {SEGMENT_BYTES: "1600", "index.interval.bytes": "250"}


def _segments() -> Iterable[Scenario]:
    records = payloads.words("segments", 45, 100)
    for codec in ("none", "gzip"):
        yield Scenario(
            "segments" if codec == "none" else f"segments-{codec}",
            "several small segments with densely filled indexes",
            _sends(records, 3),
            topic=_SEGMENTS if codec == "none" else {**_SEGMENTS, SEGMENT_BYTES: "1000"},
            producers=_codec(codec),
        )
    yield Scenario(
        "segments-out-of-order",
        "several small segments, CreateTime jumping back and forth by up to a minute",
        _sends(payloads.shuffled_times("order", records, 60_000), 3),
        topic=_SEGMENTS,
        needs=_needs(Feature.TIMESTAMPS),
    )
    yield Scenario(
        "segments-log-append-time",
        "several small segments with LogAppendTime",
        _sends(records[:30], 3),
        topic={**_SEGMENTS, "message.timestamp.type": "LogAppendTime"},
        needs=_needs(Feature.TIMESTAMPS),
    )


def _old_formats() -> Iterable[Scenario]:
    for magic, name in ((0, "0.9.0"), (1, "0.10.0")):
        for codec in ("none", "gzip", "snappy", "lz4"):
            yield Scenario(
                f"format-{magic}-{codec}",
                f"messages down-written by the broker to magic {magic}",
                (
                    Send((Record(b"single", b"one record"),)),
                    Send(payloads.edge_records()[:12]),
                    *_sends(payloads.words("format", 12, 80), 4),
                ),
                topic={FORMAT: name},
                producers=_codec(codec),
            )
        yield Scenario(
            f"format-{magic}-segments",
            f"several small segments of magic {magic} with densely filled indexes",
            _sends(payloads.words("format", 36, 100), 3),
            topic={FORMAT: name, **_SEGMENTS},
        )
        yield Scenario(
            f"format-{magic}-compacted-gzip",
            f"compressed updates and tombstones in magic {magic}, compacted",
            (*_sends(_UPDATES, 5), *_CLEAN),
            topic={FORMAT: name, **_COMPACT},
            producers=_codec("gzip"),
        )
    for codec in ("none", "gzip"):
        yield Scenario(
            f"format-mixed-{codec}",
            "one partition whose topic went from magic 0 to 1 to the version's own and back to 0",
            (
                *_sends(payloads.words("zero", 6, 60), 3),
                Alter({FORMAT: "0.10.0"}),
                *_sends(payloads.words("one", 6, 60), 3),
                Alter({FORMAT: NATIVE_FORMAT}),
                *_sends(payloads.words("native", 6, 60), 3),
                Alter({FORMAT: "0.9.0"}),
                *_sends(payloads.words("again", 6, 60), 3),
            ),
            topic={FORMAT: "0.9.0"},
            producers=_codec(codec),
        )


SCENARIOS: tuple[Scenario, ...] = (
    *_plain(),
    *_codecs(),
    *_headers(),
    *_times(),
    *_idempotent(),
    *_transactions(),
    *_compaction(),
    *_segments(),
    *_old_formats(),
)


def for_version(version: Version) -> tuple[Scenario, ...]:
    """The scenarios that ``version`` can run, in the order of the table."""
    return tuple(scenario for scenario in SCENARIOS if scenario.applies_to(version))
