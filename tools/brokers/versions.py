"""The table of Kafka versions that golden segments are made with.

Adding a version is one line in :data:`VERSIONS`.  What follows from the release number alone
(which features exist, where a class lives) is derived by the properties, each with the release that
changed it; a row holds only what is particular to that version.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from kafkaspec.release import parse_release

SEGMENT_BYTES = "{segment.bytes}"
"""In the place of a setting's name: the version's setting for the size of a segment."""
NATIVE_FORMAT = "{native}"
"""In the place of a setting's value: the version's own message format."""

NEVER = (99,)
"""No release; for features that stay."""
_FULL_INDEX = "48"
# What the cleaner writes has indexes of this size too, and it gives up when one is full.
_INDEX_BYTES_BY_POLICY = {"delete": _FULL_INDEX, "compact": "1024"}
_LOG4J_BINDING = ("log4j:log4j:1.2.17", "org.slf4j:slf4j-log4j12:1.7.30")
_JAXB = ("javax.xml.bind:jaxb-api:2.3.1",)
# 3.4.13 and 3.4.14, which 2.0 to 2.3 ask for, fail on Java 14 and later.
_ZOOKEEPER = ("org.apache.zookeeper:zookeeper:3.4.12",)
# 0.8.0 and 0.8.1 have no Java producer of their own; the next release's speaks their protocol.
_OLD_CLIENT = ("org.apache.kafka:kafka-clients:0.8.2.2",)
_NOT_ON_MAVEN = (
    "com.sun.jdmk:jmxtools", "com.sun.jmx:jmxri", "javax.jms:jms", "javax.mail:mail",
)  # fmt: skip
_OPEN_LANG = ("--add-opens=java.base/java.lang=ALL-UNNAMED",)  # their snappy loads itself by it
_NO_TOPIC_CONFIG = "no topic settings, no compaction, no timestamps"
_OLD_COMPACTION = "no timestamps; compressed topics cannot be compacted"


class Mode(enum.StrEnum):
    """Who keeps the cluster's metadata."""

    ZOOKEEPER = "zookeeper"
    KRAFT = "kraft"


class Feature(enum.StrEnum):
    """Features of a version that a scenario can need."""

    TIMESTAMPS = "timestamps"
    TOPIC_COMPRESSION = "topic-compression"
    COMPACT_COMPRESSED = "compact-compressed"
    HEADERS = "headers"
    IDEMPOTENCE = "idempotence"
    TRANSACTIONS = "transactions"
    OLD_FORMATS = "old-formats"
    TOPIC_SETTINGS = "topic-settings"
    COMPACTION = "compaction"
    GROUPS = "groups"
    DELETE_RECORDS = "delete-records"
    LEVELS = "levels"
    TIERED = "tiered"
    METADATA_LOG = "metadata-log"
    CONSUMER_GROUPS = "consumer-groups"
    SHARE_GROUPS = "share-groups"
    UNREGISTER_CONTROLLER = "unregister-controller"
    DYNAMIC_QUORUM = "dynamic-quorum"
    STREAMS_GROUPS = "streams-groups"
    TRANSACTION_V2 = "transaction-version-2"


# First release with the feature, first release without it again.
_FEATURES: dict[Feature, tuple[tuple[int, ...], tuple[int, ...]]] = {
    Feature.TOPIC_SETTINGS: ((0, 8, 1), NEVER),
    Feature.COMPACTION: ((0, 8, 1), NEVER),
    Feature.GROUPS: ((0, 9), NEVER),  # the Java consumer and the group coordinator on brokers
    Feature.TOPIC_COMPRESSION: ((0, 9), NEVER),  # KAFKA-1499: topic setting compression.type
    Feature.COMPACT_COMPRESSED: ((0, 9), NEVER),  # KAFKA-1374
    Feature.TIMESTAMPS: ((0, 10), NEVER),  # KIP-32
    Feature.HEADERS: ((0, 11), NEVER),  # KIP-82
    Feature.IDEMPOTENCE: ((0, 11), NEVER),  # KIP-98
    Feature.TRANSACTIONS: ((0, 11), NEVER),  # KIP-98
    Feature.OLD_FORMATS: ((0, 10), (3, 0)),  # message.format.version, ignored since KAFKA-12944
    Feature.DELETE_RECORDS: ((1, 1), NEVER),  # KIP-107; the admin client has it from 1.1
    Feature.METADATA_LOG: ((3, 0), NEVER),  # KIP-500, KIP-630
    Feature.TIERED: ((3, 6), NEVER),  # KIP-405
    Feature.CONSUMER_GROUPS: ((4, 0), NEVER),  # KIP-848
    Feature.DYNAMIC_QUORUM: ((3, 9), NEVER),  # KIP-853
    Feature.UNREGISTER_CONTROLLER: ((4, 4), NEVER),
    Feature.STREAMS_GROUPS: ((4, 2), NEVER),  # KIP-1071
    Feature.LEVELS: ((3, 8), NEVER),  # KIP-390
    Feature.TRANSACTION_V2: ((4, 0), NEVER),  # KIP-890
    Feature.SHARE_GROUPS: ((4, 0), NEVER),  # KIP-932; 4.0 and 4.1 need settings for it
}

GROUP = "org.apache.kafka"
TOOLS = "kafka-tools"
"""The artifact with the dump tool."""
_TOOLS_API = "kafka-tools-api"
_REMOTE_STORAGE = "kafka-storage::test"
_STREAMS = "kafka-streams"
_NEEDED = {Feature.TIERED: _REMOTE_STORAGE, Feature.STREAMS_GROUPS: _STREAMS}
"""The artifact that a feature needs: Kafka's own local remote storage, a client."""
SOMETIMES_MISSING = (TOOLS, _TOOLS_API, _REMOTE_STORAGE, _STREAMS)
"""Artifacts that a release may not have published; a row of it says so."""


@dataclass(frozen=True)
class Version:
    """One release of Kafka and what it takes to run it.

    ``extra`` are Maven coordinates added as direct dependencies, which also *replace* a transitive
    artifact of the same name.  ``excluded`` are ``group:artifact`` pairs to leave out, beside those
    that are missing.
    """

    name: str
    scala: str
    mode: Mode
    extra: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    jvm_flags: tuple[str, ...] = ()
    broker_settings: tuple[tuple[str, str], ...] = ()
    format_options: tuple[str, ...] = ()
    limits: str = ""
    last: bool = False
    """Whether it is the last of a line or of a format."""
    missing: tuple[str, ...] = ()
    """Artifacts, of ``SOMETIMES_MISSING``, that are not on Maven."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """Pairs of ``group:artifact`` that Maven is not asked for."""
        own = (f"{GROUP}:{_TOOLS_API}",) if _TOOLS_API in self.missing else ()
        return (*self.excluded, *own)

    @property
    def remarks(self) -> str:
        """Its limits, in words."""
        lacks = f"not on Maven: {', '.join(self.missing)}" if self.missing else ""
        dumped = f"dumped with the tool of {self.dumped_by}" if self.dumped_by else ""
        small = "segment.bytes from 1 MiB: internal.segment.bytes" if self.release >= (4, 1) else ""
        return "; ".join(filter(None, (self.limits, small, lacks, dumped)))

    @property
    def full(self) -> bool:
        """Whether the files of all scenarios are kept: the last of a line, the newest complete."""
        return self.last or self is newest_complete()

    @property
    def dumped_by(self) -> str:
        """The version whose dump tool is used, where it has none on Maven; else ``""``."""
        return newest_complete().name if TOOLS in self.missing else ""

    @property
    def release(self) -> tuple[int, ...]:
        """The version as numbers, for comparisons."""
        return parse_release(self.name)

    @property
    def features(self) -> frozenset[Feature]:
        """The features of this release, from the table of features."""
        return frozenset(
            f
            for f, (since, until) in _FEATURES.items()
            if since <= self.release < until and _NEEDED.get(f) not in self.missing
        )

    @property
    def codecs(self) -> tuple[str, ...]:
        """Names of the compression codecs a producer may set, ``none`` included."""
        lz4 = ("lz4",) if self.release >= (0, 8, 2) else ()
        zstd = ("zstd",) if self.release >= (2, 1) else ()  # KIP-110
        return ("none", "gzip", "snappy", *lz4, *zstd)

    @property
    def native_magic(self) -> int:
        """Magic byte of what this broker writes by default."""
        return 0 if self.release < (0, 10) else 1 if self.release < (0, 11) else 2

    @property
    def old_formats(self) -> tuple[tuple[int, str], ...]:
        """Pairs of an older magic and the ``message.format.version`` that asks for it."""
        if Feature.OLD_FORMATS not in self.features:
            return ()
        return tuple(row for row in ((0, "0.9.0"), (1, "0.10.0")) if row[0] < self.native_magic)

    @property
    def artifacts(self) -> tuple[str, ...]:
        """Maven coordinates of the broker, its tools and its client."""
        own = [f"kafka_{self.scala}"]
        if self.mode is Mode.KRAFT:
            own += ["kafka-clients"]
            own += [] if TOOLS in self.missing else [TOOLS, "kafka-storage"]
            if Feature.TIERED in self.features:
                own += [_REMOTE_STORAGE]
            if self.release >= (4, 1) and _STREAMS not in self.missing:
                own += [_STREAMS]  # the streams group coordinator loads its classes
        names = (name.partition("::") for name in own)
        return (
            *(f"{GROUP}:{n}:{self.name}{':' + c if c else ''}" for n, _, c in names),
            *self.extra,
        )

    @property
    def dump_class(self) -> str:
        """Main class of the dump tool; rewritten in Java in 4.3."""
        package = "kafka.tools" if self.release < (4, 3) else "org.apache.kafka.tools"
        return f"{package}.DumpLogSegments"

    def settings(self, wanted: Mapping[str, str]) -> dict[str, str]:
        """Return ``wanted`` in this version's terms.

        Releases from 4.0 refuse segments below 1 MiB under the public name (KIP-1030); from 4.1
        an internal setting takes any size.  In 4.0 an index that is full ends the segment.
        """
        if (4, 0) <= self.release < (4, 1):
            wanted = _rolled_by_full_indexes(wanted)
        names = {
            SEGMENT_BYTES: "segment.bytes" if self.release < (4, 1) else "internal.segment.bytes"
        }
        digits = 3 if self.release < (1,) else 2
        values = {NATIVE_FORMAT: ".".join(str(part) for part in self.release[:digits])}
        return {names.get(name, name): values.get(value, value) for name, value in wanted.items()}


def _rolled_by_full_indexes(wanted: Mapping[str, str]) -> dict[str, str]:
    settings = {name: value for name, value in wanted.items() if name != SEGMENT_BYTES}
    if SEGMENT_BYTES in wanted:
        return {"segment.index.bytes": _FULL_INDEX, "index.interval.bytes": "200"} | settings
    if policy := settings.get("cleanup.policy"):
        settings["segment.index.bytes"] = _INDEX_BYTES_BY_POLICY[policy]
    return settings


_ZK = Mode.ZOOKEEPER
_KRAFT = Mode.KRAFT

VERSIONS: tuple[Version, ...] = (
    Version("0.8.0", "2.10", _ZK, _OLD_CLIENT, _NOT_ON_MAVEN, _OPEN_LANG, limits=_NO_TOPIC_CONFIG),
    Version("0.8.1.1", "2.10", _ZK, _OLD_CLIENT, _NOT_ON_MAVEN, _OPEN_LANG, limits=_OLD_COMPACTION),
    Version("0.8.2.2", "2.11", _ZK, limits=_OLD_COMPACTION, last=True),
    Version("0.9.0.1", "2.11", _ZK),
    Version("0.10.0.1", "2.11", _ZK),
    Version("0.10.1.1", "2.11", _ZK, _JAXB),
    Version("0.10.2.2", "2.11", _ZK, _JAXB, last=True),
    Version("0.11.0.3", "2.11", _ZK, _JAXB, last=True),
    Version("1.0.2", "2.12", _ZK, _JAXB),
    Version("1.1.1", "2.12", _ZK, (*_JAXB, *_LOG4J_BINDING), last=True),
    Version("2.0.1", "2.12", _ZK, (*_ZOOKEEPER, *_LOG4J_BINDING)),
    Version("2.1.1", "2.12", _ZK, (*_ZOOKEEPER, *_LOG4J_BINDING)),
    Version("2.2.2", "2.12", _ZK, (*_ZOOKEEPER, *_LOG4J_BINDING)),
    Version("2.3.1", "2.12", _ZK, (*_ZOOKEEPER, *_LOG4J_BINDING)),
    Version("2.4.1", "2.13", _ZK, _LOG4J_BINDING),
    Version("2.5.1", "2.13", _ZK, _LOG4J_BINDING),
    Version("2.6.3", "2.13", _ZK, _LOG4J_BINDING),
    Version("2.7.2", "2.13", _ZK, _LOG4J_BINDING),
    Version("2.8.2", "2.13", _ZK, _LOG4J_BINDING, last=True),
    Version("3.0.2", "2.13", _KRAFT),
    Version("3.1.2", "2.13", _KRAFT),
    Version("3.2.3", "2.13", _KRAFT),
    Version("3.3.2", "2.13", _KRAFT),
    Version("3.4.1", "2.13", _KRAFT),
    Version("3.5.2", "2.13", _KRAFT),
    Version("3.6.2", "2.13", _KRAFT),
    Version("3.7.2", "2.13", _KRAFT),
    Version("3.8.1", "2.13", _KRAFT),
    Version("3.9.2", "2.13", _KRAFT, last=True),
    Version(
        "4.0.2", "2.13", _KRAFT,
        limits="segments from 1 MiB: rolled by a full index instead; share groups in early access",
        broker_settings=(
            ("unstable.api.versions.enable", "true"),
            ("group.coordinator.rebalance.protocols", "classic,consumer,share"),
        ),
    ),
    Version(
        "4.1.2", "2.13", _KRAFT, limits="share groups as a preview",
        broker_settings=(
            ("unstable.feature.versions.enable", "true"), ("group.share.enable", "true"),
        ),
        format_options=("--feature", "share.version=1"),
    ),
    Version("4.2.1", "2.13", _KRAFT),
    Version("4.3.1", "2.13", _KRAFT),
    Version("4.4.0", "2.13", _KRAFT, missing=("kafka-storage::test",)),
)  # fmt: skip


def newest_complete() -> Version:
    """Return the newest release of which everything is on Maven."""
    return next(version for version in reversed(VERSIONS) if not version.missing)


def by_name(name: str) -> Version:
    """Return the row called ``name``, or raise :class:`KeyError` with the known names."""
    for version in VERSIONS:
        if version.name == name:
            return version
    known = ", ".join(version.name for version in VERSIONS)
    raise KeyError(f"no version {name} in tools/brokers/versions.py; known: {known}")
