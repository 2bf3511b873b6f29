"""What a command or a function finds out about logs: findings, ranges of offsets, assumptions.

All packages that judge logs return these types, and ``as_json`` is the one form that they have in
JSON: an enumeration is its word, a range of offsets ``[start, end]`` with the end exclusive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, StrEnum
from os import PathLike, fspath
from typing import Any, ClassVar, NamedTuple


class OffsetRange(NamedTuple):
    """Consecutive offsets.

    Attributes:
        start: the first one.
        end: the one after the last; None if it is not known, or there is no end.
    """

    start: int
    end: int | None

    @property
    def size(self) -> int | None:
        """Number of offsets, None if the end is not known."""
        return None if self.end is None else self.end - self.start

    def __str__(self) -> str:
        if self.end is None:
            return f"offsets from {self.start} on"
        if self.end == self.start + 1:
            return f"offset {self.start}"
        return f"offsets {self.start} to {self.end - 1}"


class Strength(StrEnum):
    """How far the files prove an answer; the strongest first."""

    PROOF = "proof"
    """No other explanation agrees with the bytes."""
    STRONG = "strong"
    """Another explanation would take a coincidence: as many sequence numbers as offsets."""
    LIKELY = "likely"
    """What brokers usually do; others can do it too."""
    CONSISTENT = "consistent"
    """Consistent with everything that was checked, but with no independent evidence."""
    UNKNOWN = "unknown"
    """The files do not say."""


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something that an answer depends on and that the files do not say.

    Attributes:
        setting: what it is: ``clock``, ``high watermark``, or a name of Kafka's configuration.
        value: what was taken for it.
        why: where the value is from.
    """

    ALIASES: ClassVar[dict[str, str]] = {"name": "setting"}

    setting: str
    value: str
    why: str

    @property
    def name(self) -> str:
        """``setting``, by the name that it had before 0.3."""
        return self.setting

    def __str__(self) -> str:
        return f"assumed: {self.setting} = {self.value}, {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong with a log, or worth knowing. Each package adds what only it knows.

    Attributes:
        reason: from a closed list of the package.
        message: one sentence for people.
        file: path of the file or directory; None if it is about no single one.
        position: absolute byte offset in the file; None if it is about the whole file.
        offsets: the offsets that it is about; None for none.
        strength: how far the files prove it.
    """

    reason: StrEnum
    message: str
    file: str | None = None
    position: int | None = None
    offsets: OffsetRange | None = None
    strength: Strength = Strength.PROOF


def aliases_of(kind: type) -> dict[str, str]:
    """Return the members that a result has in JSON by another name too, until the next version."""
    found: dict[str, str] = getattr(kind, "ALIASES", {})
    return found


def as_json(value: Any) -> Any:
    """Return a result as JSON has it.

    Args:
        value: a dataclass, a mapping, a sequence, an enumeration, a path, or a plain value.
    """
    if value is None or isinstance(value, bool | int | float) or type(value) is str:
        return value
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        names = {each.name: each.name for each in fields(value)} | aliases_of(type(value))
        return {shown: as_json(getattr(value, name)) for shown, name in names.items()}
    if isinstance(value, Mapping):
        return {str(as_json(key)): as_json(item) for key, item in value.items()}
    if isinstance(value, PathLike):
        return fspath(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(item) for item in value]
    return str(value)
