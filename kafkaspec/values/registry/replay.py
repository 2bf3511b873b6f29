"""Replay a registry's topic: what its records make of subjects, versions, settings and contexts.

Rules: Confluent ``KafkaStoreMessageHandler``, ``InMemoryCache``; Karapace ``KafkaSchemaReader``;
Redpanda ``consume_to_store``. The last record of a subject and version counts, but the id of every
record that was ever there still names its schema: values with it are still in topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from kafkaspec.values.options import Bounds
from kafkaspec.values.registry.layout import KeyType, LayoutError, read_key, read_value
from kafkaspec.values.registry.problems import Fault, Problem, problem_at
from kafkaspec.values.registry.schema import (
    Reference,
    RegistryState,
    Schema,
    context_of,
    in_context,
)

_ESCAPED = 6
"""Bytes that a byte of a schema takes at most in a record: JSON escapes it as ``\\u0000``."""


class RegistryRecord(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None


@dataclass
class Replay:
    """The state that records give, in their order.

    Attributes:
        bounds: limits.
        schemas: every schema that a record has, in the order of their last records.
        configs: settings by subject; the empty one is for all.
        modes: modes by subject, likewise.
        contexts: names of contexts.
        problems: records that do not count.
        records: number of records.
    """

    bounds: Bounds
    schemas: list[Schema] = field(default_factory=list)
    configs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)
    contexts: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    records: int = 0
    _versions: dict[str, dict[int, int]] = field(default_factory=dict)
    """Places of the current schemas, by subject and version."""
    _sequences: set[int] = field(default_factory=set)

    def add(self, record: RegistryRecord) -> None:
        self.records += 1
        if len(record.value or b"") > _ESCAPED * self.bounds.schema_bytes:
            reason = f"{len(record.value or b''):,} bytes are more than a schema may have"
            self.problems.append(problem_at(Fault.BOUND, reason, record.offset))
            return
        try:
            kind, key = read_key(record.key)
            value = read_value(kind, record.value)
        except LayoutError as error:
            self.problems.append(problem_at(Fault.UNPARSED, str(error), record.offset))
            return
        if value is not None and self._collides(key, record.offset):
            return
        self._apply(kind, key, value, record.offset)

    def _collides(self, key: Mapping[str, Any], offset: int) -> bool:
        """Return whether another writer was first at the place that this one chose.

        Redpanda compares with the offset of the record, which copies of a topic have not kept.
        """
        sequence = key.get("seq")
        if sequence is None:
            return False
        if sequence in self._sequences:
            reason = f"another record has the sequence number {sequence}"
            self.problems.append(problem_at(Fault.COLLISION, reason, offset))
            return True
        self._sequences.add(sequence)
        return False

    def _apply(
        self, kind: KeyType, key: Mapping[str, Any], value: Mapping[str, Any] | None, offset: int
    ) -> None:
        subject = in_context(key.get("subject") or "", "")
        if kind is KeyType.SCHEMA:
            version = key["version"]
            if value is None:
                self._remove(subject, version)
            else:
                self._register(subject, version, value, offset)
        elif kind is KeyType.CONFIG:
            _set(self.configs, subject, _given(value))
        elif kind is KeyType.MODE:
            _set(self.modes, subject, None if value is None else value["mode"])
        elif kind is KeyType.CONTEXT:
            if value is None:
                self.contexts.discard(key["context"])
            else:
                self.contexts.add(key["context"])
        elif kind is KeyType.DELETE_SUBJECT and value is not None:
            for version, place in self._versions.get(subject, {}).items():
                if version <= value["version"]:
                    self._state(place, RegistryState.DELETED)
        elif kind is KeyType.CLEAR_SUBJECT and value is not None:
            versions = self._versions.get(subject, {})
            for version, place in list(versions.items()):
                if self.schemas[place].deleted:
                    self._remove(subject, version)

    def _register(self, subject: str, version: int, value: Mapping[str, Any], offset: int) -> None:
        schema = Schema(
            id=value["id"],
            subject=subject,
            version=version,
            type=value["schemaType"],
            text=value["schema"],
            references=tuple(Reference(**each) for each in value["references"]),
            metadata=value["metadata"],
            rules=value["ruleSet"],
            state=RegistryState.DELETED if value["deleted"] else RegistryState.LIVE,
            offset=offset,
            md5=value["md5"],
        )
        versions = self._versions.setdefault(subject, {})
        place = versions.get(version)
        same = ("id", "type", "text", "references")
        if place is not None and all(
            getattr(self.schemas[place], name) == getattr(schema, name) for name in same
        ):
            self.schemas[place] = schema
            return
        if place is not None:
            self._state(place, RegistryState.REPLACED)
        versions[version] = len(self.schemas)
        self.schemas.append(schema)
        self.contexts.add(context_of(subject))

    def _remove(self, subject: str, version: int) -> None:
        place = self._versions.get(subject, {}).pop(version, None)
        if place is not None:
            self._state(place, RegistryState.REMOVED)

    def _state(self, place: int, state: RegistryState) -> None:
        self.schemas[place] = replace(self.schemas[place], state=state)


def _set(known: dict[str, Any], subject: str, value: Any) -> None:
    if value is None:
        known.pop(subject, None)
    else:
        known[subject] = value


def _given(value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if value is None:
        return None
    return {name: item for name, item in value.items() if item is not None and name != "subject"}
