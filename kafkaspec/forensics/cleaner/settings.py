"""Kafka's settings that cleaning and retention depend on, and where each value is from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.broker.index_rules import INDEX_INTERVAL_BYTES, SEGMENT_INDEX_BYTES
from kafkaspec.broker.profiles import PRODUCER_EXPIRATION_MS
from kafkaspec.broker.settings import SEGMENT_BYTES
from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.remote import is_directory
from kafkaspec.layout.framing import FRAMING, LARGEST_OFFSET
from kafkaspec.log.partition import Partition
from kafkaspec.results import Assumption

CLEANUP_POLICY: Final = "cleanup.policy"
COMPACT, DELETE = "compact", "delete"
_DAY_MS: Final = 24 * 60 * 60 * 1000
_MESSAGE_BYTES: Final = (1 << 20) + FRAMING
"""Kafka: a mebibyte and ``Records.LOG_OVERHEAD``."""

AS_ALL: Final = -2
"""``local.retention.*`` is then what ``retention.*`` is."""

NUMBERS: Final = {
    "retention.ms": (7 * _DAY_MS, -1),
    "retention.bytes": (-1, -LARGEST_OFFSET),
    "local.retention.ms": (AS_ALL, AS_ALL),
    "local.retention.bytes": (AS_ALL, AS_ALL),
    "remote.copy.lag.ms": (0, -1),
    "remote.copy.lag.bytes": (-1, -1),
    "delete.retention.ms": (_DAY_MS, 0),
    "min.compaction.lag.ms": (0, 0),
    "max.compaction.lag.ms": (LARGEST_OFFSET, 1),
    "segment.bytes": (SEGMENT_BYTES, 1),
    "segment.index.bytes": (SEGMENT_INDEX_BYTES, 4),
    "index.interval.bytes": (INDEX_INTERVAL_BYTES, 0),
    "max.message.bytes": (_MESSAGE_BYTES, 0),
    "producer.id.expiration.ms": (PRODUCER_EXPIRATION_MS, 1),
    "log.cleaner.threads": (1, 1),
    "log.cleaner.dedupe.buffer.size": (128 << 20, 1),
    "log.cleaner.io.buffer.size": (512 << 10, 1),
    "message.max.bytes": (_MESSAGE_BYTES, 0),
}
"""Kafka's defaults of whole numbers, and the least value that it takes."""

RATIOS: Final = {
    "min.cleanable.dirty.ratio": (0.5, 0.0, 1.0),
    "log.cleaner.io.buffer.load.factor": (0.9, 0.0, 1.0),
}
"""Kafka's defaults of other numbers, and the least and the largest value."""

REMOTE_STORAGE: Final = "remote.storage.enable"
COPY_DISABLE: Final = "remote.log.copy.disable"
_FLAGS: Final = (REMOTE_STORAGE, COPY_DISABLE)
_TRUTH: Final = {"true": True, "false": False}

_ALIASES: Final = {"internal.segment.bytes": "segment.bytes"}
_DEFAULT: Final = "default of Kafka"
_GIVEN: Final = "given"


class Settings:
    """The settings of one topic. Each that is asked for becomes an ``Assumption``."""

    def __init__(
        self, given: Mapping[str, str] | None = None, of_cluster: Mapping[str, str] | None = None
    ) -> None:
        """Take settings by name.

        Args:
            of_cluster: those that the metadata of the cluster has for the topic.

        Raises:
            ValueError: a name is not one of these settings, or a value does not fit.
        """
        self._values: dict[str, tuple[str, str]] = {}
        for name, value in (of_cluster or {}).items():
            if (own := _ALIASES.get(name, name)) in _KNOWN:
                self._values[own] = value, "metadata of the cluster beside the log"
        for name, value in (given or {}).items():
            own = _ALIASES.get(name, name)
            if own not in _KNOWN:
                raise ValueError(f"no setting {name!r} here; there are {', '.join(sorted(_KNOWN))}")
            self._values[own] = value, _GIVEN
        for name in self._values:
            self._checked(name)
        self._asked: dict[str, Assumption] = {}

    def _checked(self, name: str) -> float | frozenset[str]:
        value = self._values[name][0]
        if name in _FLAGS:
            if value.lower() not in _TRUTH:
                raise ValueError(f"{name} is {value!r}; it is true or false")
            return _TRUTH[value.lower()]
        if name == CLEANUP_POLICY:
            policies = frozenset(item.strip() for item in value.split(",") if item.strip())
            if not policies <= {COMPACT, DELETE}:
                raise ValueError(f"{name} is {value!r}; it may hold {COMPACT} and {DELETE}")
            return policies
        try:
            if name in NUMBERS:
                number: float = int(value)
                least, most = NUMBERS[name][1], float(LARGEST_OFFSET)
            else:
                number = float(value)
                _, least, most = RATIOS[name]  # type: ignore[assignment]
        except ValueError:
            raise ValueError(f"{name} is {value!r}, which is not a number") from None
        if not least <= number <= most:
            raise ValueError(f"{name} is {value}; it must be from {least} to {most}")
        return number

    def _value(self, name: str, default: float | str) -> Any:
        value, why = self._values.get(name, (str(default), _DEFAULT))
        self._asked.setdefault(name, Assumption(name, value, why))
        return self._checked(name) if name in self._values else default

    def number(self, name: str) -> int:
        """Return a whole number."""
        return int(self._value(name, NUMBERS[name][0]))

    def ratio(self, name: str) -> float:
        """Return a number from 0 to 1."""
        return float(self._value(name, RATIOS[name][0]))

    def flag(self, name: str) -> bool:
        """Return a truth, false by default; an assumption only where it is set."""
        return self.is_set(name) and bool(self._value(name, "false"))

    def policy(self, default: str) -> frozenset[str]:
        """Return what ``cleanup.policy`` lists."""
        found = self._value(CLEANUP_POLICY, default)
        return frozenset([found]) if isinstance(found, str) else found

    def is_set(self, name: str) -> bool:
        """Return whether a value was given, or is the cluster's."""
        return name in self._values

    @property
    def assumptions(self) -> list[Assumption]:
        """The settings that were asked for, in that order."""
        return list(self._asked.values())


_KNOWN: Final = frozenset({CLEANUP_POLICY, *NUMBERS, *RATIOS, *_FLAGS})


class ClusterSettings:
    """The settings of topics in the metadata log that lies in the same log directory, if any.

    Attributes:
        note: why its settings are not used; "" if they are, or there is none.
    """

    def __init__(self, directory: Path) -> None:
        """Remember the log directory; the metadata is read when it is asked for."""
        self._path = directory / f"{Topic.CLUSTER_METADATA}-0"
        self._read: dict[str, dict[str, str]] | None = None
        self.note = ""

    def of(self, topic: str) -> dict[str, str]:
        """Return the settings of a topic by name; {} without any."""
        if self._read is None:
            self._read = self._found()
        return self._read.get(topic, {})

    def _found(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        if not is_directory(self._path):
            return found
        try:
            from kafkaspec.state.cluster import topic_configs

            with Partition(self._path) as log:
                return topic_configs(log)
        except ImportError:
            self.note = f"{self._path}: settings of topics not read: PyArrow is not installed"
        except KafkaSpecError as error:
            self.note = f"settings of topics not read: {error}"
        return found
