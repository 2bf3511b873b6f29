"""Schemas as a registry has them: with ids, versions, references and GUIDs."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import md5
from typing import Any, Final, NamedTuple
from uuid import UUID

DEFAULT_CONTEXT: Final = ""
"""The context of subjects that name none."""

LATEST: Final = -1
"""Version in a reference that stands for the newest one."""

_PREFIX: Final = ":."
_ENCODED: Final = "__enc__"
"""Property of metadata whose sensitive properties are encrypted."""

_ENCRYPTS: Final = ("ENCRYPT", "ENCRYPT_PAYLOAD")
"""Types of rules that encrypt fields, and whole values."""

_RULES: Final = ("migrationRules", "domainRules", "encodingRules")


class RegistryState(StrEnum):
    """The state of a version of a subject."""

    LIVE = "live"
    """It is registered."""
    DELETED = "deleted"
    """It is deleted, and a registry keeps it ("soft"): its id is still known."""
    REMOVED = "removed"
    """It is deleted for good; an earlier record that the log still has says what it was."""
    REPLACED = "replaced"
    """A later record gives its version another id or text."""


class Reference(NamedTuple):
    """An import of a schema.

    Attributes:
        name: by which its text imports it.
        subject: of the schema.
        version: of the schema; -1 for the newest one.
    """

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A version of a subject.

    Attributes:
        id: its id, in its context; None for a file that has none.
        subject: its subject, with its context: ``:.context:name``.
        version: its version.
        type: ``AVRO``, ``PROTOBUF``, ``JSON``; a registry may have more.
        text: the schema.
        references: what it imports.
        metadata: tags and properties, as they are stored.
        rules: rules, as they are stored.
        state: what has happened to it.
        offset: of the last record about it that has its text; -1 for a file.
        md5: that a registry stored with it, in base64.
    """

    id: int | None
    subject: str
    version: int
    type: str
    text: str = field(repr=False)
    references: tuple[Reference, ...] = ()
    metadata: Mapping[str, Any] | None = field(default=None, repr=False, hash=False)
    rules: Mapping[str, Any] | None = field(default=None, repr=False, hash=False)
    state: RegistryState = RegistryState.LIVE
    offset: int = -1
    md5: str | None = field(default=None, repr=False)

    @property
    def deleted(self) -> bool:
        """Whether it is not registered any more."""
        return self.state is not RegistryState.LIVE

    @property
    def context(self) -> str:
        """The context of the subject, with its dot: ``.context``; empty for the default one."""
        return context_of(self.subject)

    @property
    def name(self) -> str:
        """The subject without its context."""
        return name_of(self.subject)

    @property
    def guid(self) -> UUID:
        """The GUID that Confluent's registry gives it: a hash of all that a value needs."""
        stored = _stored(self.md5)
        return UUID(bytes=_hash(self)) if stored is None else stored

    @property
    def encrypted(self) -> str:
        """The parts of it or its values that cannot be read without keys; empty for none."""
        types = {
            rule.get("type")
            for name in _RULES
            for rule in _list((self.rules or {}).get(name))
            if isinstance(rule, dict) and not rule.get("disabled")
        }
        if types & {_ENCRYPTS[1]}:
            return "values"
        if types & {_ENCRYPTS[0]}:
            return "fields"
        return "metadata" if _ENCODED in _object(self.metadata, "properties") else ""


def context_of(subject: str) -> str:
    """Return the context in the name of a subject; empty for the default one."""
    if not subject.startswith(_PREFIX):
        return DEFAULT_CONTEXT
    context = subject[1:].partition(":")[0]
    return DEFAULT_CONTEXT if context == "." else context


def name_of(subject: str) -> str:
    """Return the name of a subject without its context."""
    return subject[1:].partition(":")[2] if subject.startswith(_PREFIX) else subject


def in_context(name: str, context: str) -> str:
    """Return the subject of a name in a context; a name that has a context stays."""
    if name.startswith(_PREFIX):
        own = context_of(name)
        return name if own else name_of(name)
    return f":{context}:{name}" if context else name


def _hash(schema: Schema) -> bytes:
    """Return the MD5 of a schema. Confluent: ``Schema.updateHash``, ``Metadata``, ``Rule``."""
    digest = md5(schema.text.encode(), usedforsecurity=False)
    for name, subject, version in schema.references:
        digest.update(name.encode() + subject.encode() + version.to_bytes(4, "big", signed=True))
    if schema.metadata is not None:
        digest.update(b"\x01")
        for name, tags in sorted(_object(schema.metadata, "tags").items()):
            digest.update("".join([name, *_texts(tags)]).encode())
        for name, value in sorted(_object(schema.metadata, "properties").items()):
            digest.update(f"{name}{value}".encode())
        digest.update("".join(_texts(schema.metadata.get("sensitive"))).encode())
    if schema.rules is not None:
        digest.update(b"\x01")
        for kind in _RULES:
            for rule in _list(schema.rules.get(kind)):
                _hash_rule(digest, rule)
    return digest.digest()


def _hash_rule(digest: Any, rule: Any) -> None:
    if not isinstance(rule, dict):
        return
    given = {"kind": "TRANSFORM", "mode": "WRITEREAD"} | {
        name: value for name, value in rule.items() if value is not None
    }
    parts = [str(given.get(name, "")) for name in ("name", "doc", "kind", "mode", "type")]
    parts += _texts(given.get("tags"))
    parts += [f"{name}{value}" for name, value in sorted(_object(given, "params").items())]
    parts += [str(given.get(name, "")) for name in ("expr", "onSuccess", "onFailure")]
    digest.update("".join(parts).encode())
    if given.get("disabled"):
        digest.update(b"\x01")


def _stored(text: str | None) -> UUID | None:
    try:
        return None if text is None else UUID(bytes=b64decode(text, validate=True))
    except ValueError:
        return None


def _object(found: Any, name: str) -> Mapping[str, Any]:
    value = found.get(name) if isinstance(found, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def _texts(found: Any) -> list[str]:
    return sorted({item for item in _list(found) if isinstance(item, str)})
