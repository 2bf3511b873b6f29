"""Records of producers: keys and values, codecs, headers, times, sequences."""

from __future__ import annotations

from collections.abc import Iterable

from tools.brokers.client import START_MS, Record
from tools.brokers.versions import Feature
from tools.golden import payloads
from tools.golden.model import DEFAULT_PRODUCER as _P
from tools.golden.model import Alter, Reopen, Scenario, Send
from tools.golden.scenarios.parts import (
    sends,
    with_codec,
)

_HOUR_MS = 3_600_000


def plain() -> Iterable[Scenario]:
    """Keys and values."""
    yield Scenario("empty", "a topic nothing was written to", ())
    yield Scenario(
        "plain",
        "null, empty, Unicode and binary keys and values; values of 64 B and 8 KiB",
        (*sends(payloads.edge_records(), 1), Send(payloads.edge_records()[:14])),
    )


def large() -> Iterable[Scenario]:
    """Values beyond what small sizes and one read of a buffer show."""
    records = (
        Record(b"128 KiB", b"large value " * 10_923),
        Record(b"1 byte", b"x"),
        Record(b"600 kB", b"larger value " * 46_154),
    )
    yield Scenario(
        "large-none",
        "a value of 128 KiB between short ones",
        (Send(records[1:2]), Send((records[0], records[1]))),
        sample=True,
    )
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        yield Scenario(
            f"large-{codec}",
            "values of 128 KiB and 600 kB, compressed to little",
            (Send(records), *sends(records, 1)),
            producers=with_codec(codec),
        )


_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# Text in one batch, above one block of the codec's own framing: snappy 32 KiB, lz4 64 KiB.
_BLOCKS = {"snappy": 34, "lz4": 68}


def codecs() -> Iterable[Scenario]:
    """Compression."""
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
            producers=with_codec(codec),
        )
    for codec, count in _BLOCKS.items():
        yield Scenario(
            f"blocks-{codec}",
            "a batch of more than one block of the codec's own framing, then a short one",
            (Send(payloads.words("bulk", count, 1024)), Send(payloads.words("small", 2, 60))),
            producers=with_codec(codec),
            sample=True,
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
        sends(payloads.words("recompressed", 20, 80), 10),
        topic={"compression.type": "gzip"},
        producers=with_codec("lz4"),
        needs=(Feature.TOPIC_COMPRESSION,),
    )


_LEVELS = (
    ("gzip", "1"), ("gzip", "9"), ("lz4", "1"), ("lz4", "17"), ("zstd", "-5"), ("zstd", "22"),
)  # fmt: skip


def levels() -> Iterable[Scenario]:
    """Compression levels."""
    producers = {
        f"{codec}{level}": {"compression.type": codec, f"compression.{codec}.level": level}
        for codec, level in _LEVELS
    }
    yield Scenario(
        "codec-levels",
        "each codec that has levels at its lowest and its highest",
        tuple(Send(payloads.words("levels", 12, 80), producer) for producer in producers),
        producers=producers,
        needs=(Feature.LEVELS,),
    )


def headers() -> Iterable[Scenario]:
    """Headers of records."""
    for codec in ("none", "gzip"):
        yield Scenario(
            "headers" if codec == "none" else f"headers-{codec}",
            "no headers, null and empty values, empty and repeated keys, Unicode, 70 headers",
            (*sends(payloads.with_headers(), 1), Send(payloads.with_headers())),
            producers=with_codec(codec),
            needs=(Feature.HEADERS,),
        )


def times() -> Iterable[Scenario]:
    """Both timestamp types."""
    times = (0, 1, START_MS, START_MS - 1, START_MS + 5 * _HOUR_MS, START_MS, START_MS - 2**33)
    records = tuple(Record(b"t", f"at {t}".encode(), t) for t in times)
    for codec in ("none", "gzip"):
        suffix = "" if codec == "none" else f"-{codec}"
        for kind, setting in (("create-time", "CreateTime"), ("log-append-time", "LogAppendTime")):
            yield Scenario(
                kind + suffix,
                "times going forth and back, from 1970 on; first one batch, then one a record",
                (Send(records), *sends(records, 1), Send(payloads.words("times", 6, 30))),
                topic={"message.timestamp.type": setting},
                producers=with_codec(codec),
                needs=(Feature.TIMESTAMPS,),
            )
    kind = "message.timestamp.type"
    yield Scenario(
        "time-types-mixed",
        "one partition whose topic went from CreateTime to LogAppendTime and back",
        (
            *sends(payloads.words("create", 4, 40), 2),
            Alter({kind: "LogAppendTime"}),
            *sends(payloads.words("append", 4, 40), 2),
            Alter({kind: "CreateTime"}),
            *sends(payloads.words("again", 4, 40), 2),
        ),
        topic={kind: "CreateTime", "index.interval.bytes": "100"},
        needs=(Feature.TIMESTAMPS,),
    )


def idempotent() -> Iterable[Scenario]:
    """Sequence numbers."""
    for codec in ("none", "snappy"):
        yield Scenario(
            "idempotent" if codec == "none" else f"idempotent-{codec}",
            "an idempotent producer, then another id after it was opened again",
            (
                *sends(payloads.words("first", 12, 40), 4),
                Reopen(),
                *sends(payloads.words("second", 10, 40), 5),
            ),
            producers={_P: {"enable.idempotence": "true", "compression.type": codec}},
            needs=(Feature.IDEMPOTENCE,),
        )
