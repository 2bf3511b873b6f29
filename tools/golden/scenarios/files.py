"""Several segments, the cleaner, and older message formats."""

from __future__ import annotations

from collections.abc import Iterable

from tools.brokers.client import Record
from tools.brokers.versions import NATIVE_FORMAT, SEGMENT_BYTES, Feature
from tools.golden import payloads
from tools.golden.model import DEFAULT_PRODUCER as _P
from tools.golden.model import FORMAT, Alter, Begin, End, Reopen, Scenario, Send, Step
from tools.golden.scenarios.parts import (
    CLEAN,
    COMPACT,
    SMALL_SEGMENTS,
    UPDATES,
    sends,
    with_codec,
)


def _updates_in_transactions(producer: str, outcomes: tuple[str, ...]) -> Iterable[Step]:
    runs = payloads.batches(UPDATES, len(UPDATES) // len(outcomes))
    for run, outcome in zip(runs, outcomes, strict=True):
        yield Begin(producer)
        yield Send(run, producer)
        yield End(outcome, producer)


def compaction() -> Iterable[Scenario]:
    """Compacted logs."""
    for codec in ("none", "gzip", "lz4"):
        features = () if codec == "none" else (Feature.COMPACT_COMPRESSED,)
        yield Scenario(
            "compacted" if codec == "none" else f"compacted-{codec}",
            "updates and tombstones of 24 keys, compacted; retained tombstones",
            (*sends(UPDATES, 5), *CLEAN),
            topic=COMPACT,
            producers=with_codec(codec),
            needs=features,
        )
    yield Scenario(
        "compacted-idempotent",
        "two idempotent producers; the last batch of the first is emptied",
        (*sends(UPDATES[:20], 5), Reopen(), *sends(UPDATES, 5), *CLEAN),
        topic=COMPACT,
        producers={_P: {"enable.idempotence": "true"}},
        needs=(Feature.IDEMPOTENCE,),
    )
    outcomes = ("committed", "aborted", "committed", "committed", "aborted")
    yield Scenario(
        "compacted-transactions",
        "updates in committed and aborted transactions, compacted twice: markers without data",
        (
            *_updates_in_transactions("c", outcomes),
            *_updates_in_transactions("d", outcomes),
            *CLEAN,
            Alter({"cleanup.policy": "delete"}),
            *_updates_in_transactions("d", outcomes),
            *CLEAN,
        ),
        topic=COMPACT,
        producers={
            "c": {"transactional.id": "compacted-c"},
            "d": {"transactional.id": "compacted-d"},
        },
        needs=(Feature.TRANSACTIONS,),
    )


def segments() -> Iterable[Scenario]:
    """Several segments and their indexes."""
    records = payloads.words("segments", 45, 100)
    for codec in ("none", "gzip"):
        yield Scenario(
            "segments" if codec == "none" else f"segments-{codec}",
            "several small segments with densely filled indexes",
            sends(records, 3),
            topic=SMALL_SEGMENTS if codec == "none" else {**SMALL_SEGMENTS, SEGMENT_BYTES: "1000"},
            producers=with_codec(codec),
        )
    yield Scenario(
        "segments-out-of-order",
        "several small segments, CreateTime jumping back and forth by up to a minute",
        sends(payloads.shuffled_times("order", records, 60_000), 3),
        topic=SMALL_SEGMENTS,
        needs=(Feature.TIMESTAMPS,),
    )
    yield Scenario(
        "segments-log-append-time",
        "several small segments with LogAppendTime",
        sends(records[:30], 3),
        topic={**SMALL_SEGMENTS, "message.timestamp.type": "LogAppendTime"},
        needs=(Feature.TIMESTAMPS,),
    )


def old_formats() -> Iterable[Scenario]:
    """Older message formats on a newer broker."""
    for magic, name in ((0, "0.9.0"), (1, "0.10.0")):
        for codec in ("none", "gzip", "snappy", "lz4"):
            yield Scenario(
                f"format-{magic}-{codec}",
                f"messages down-written by the broker to magic {magic}",
                (
                    Send((Record(b"single", b"one record"),)),
                    Send(payloads.edge_records()[:12]),
                    *sends(payloads.words("format", 12, 80), 4),
                ),
                topic={FORMAT: name},
                producers=with_codec(codec),
            )
        yield Scenario(
            f"format-{magic}-segments",
            f"several small segments of magic {magic} with densely filled indexes",
            sends(payloads.words("format", 36, 100), 3),
            topic={FORMAT: name, **SMALL_SEGMENTS},
        )
        yield Scenario(
            f"format-{magic}-compacted-gzip",
            f"compressed updates and tombstones in magic {magic}, compacted",
            (*sends(UPDATES, 5), *CLEAN),
            topic={FORMAT: name, **COMPACT},
            producers=with_codec("gzip"),
        )
    for codec in ("none", "gzip"):
        yield Scenario(
            f"format-mixed-{codec}",
            "one partition whose topic went from magic 0 to 1 to the version's own and back to 0",
            (
                *sends(payloads.words("zero", 6, 60), 3),
                Alter({FORMAT: "0.10.0"}),
                *sends(payloads.words("one", 6, 60), 3),
                Alter({FORMAT: NATIVE_FORMAT}),
                *sends(payloads.words("native", 6, 60), 3),
                Alter({FORMAT: "0.9.0"}),
                *sends(payloads.words("again", 6, 60), 3),
            ),
            topic={FORMAT: "0.9.0"},
            producers=with_codec(codec),
        )
