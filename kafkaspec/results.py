"""The results of commands and functions about logs: findings, ranges of offsets, assumptions.

All packages that judge logs return these types, and ``as_json`` is the one form that they have in
JSON: an enumeration is its word, a range of offsets ``[start, end]`` with the end exclusive.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, StrEnum
from functools import cache
from os import PathLike, fspath
from typing import Any, ClassVar, NamedTuple, get_type_hints


class OffsetRange(NamedTuple):
    """Consecutive offsets.

    Attributes:
        start: the first one.
        end: the one after the last; None if it is not known, or there is no end.
    """

    start: int
    end: int | None

    @classmethod
    def through(cls, first: int | None, last: int | None) -> OffsetRange | None:
        """Return the range from a first to a last offset; None if the first is not known."""
        if first is None or first < 0:
            return None
        return cls(first, None if last is None else last + 1)

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
    """How well the files prove an answer; the strongest first."""

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

    setting: str
    value: str
    why: str
    ALSO: ClassVar = ("name",)

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
        strength: how well the files prove it.
    """

    reason: StrEnum
    message: str
    file: str | None = None
    position: int | None = None
    offsets: OffsetRange | None = None
    strength: Strength = Strength.PROOF


def member_types(kind: Any) -> dict[str, Any]:
    """Return the members that a dataclass or a named tuple has in JSON, with their types.

    These are its fields, and the properties that it names in ``ALSO``.
    """
    hints = get_type_hints(kind)
    return {
        name: hints[name] if name in hints else get_type_hints(getattr(kind, name).fget)["return"]
        for name in _members(kind)
    }


def as_json(value: Any, without: Container[str] = ()) -> Any:
    """Return a result as JSON has it.

    Args:
        value: a dataclass, a mapping, a sequence, an enumeration, a path, or a plain value.
        without: members of it to leave out.
    """
    if value is None or isinstance(value, bool | int | float) or type(value) is str:
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, OffsetRange):
        return [value.start, value.end]
    if isinstance(value, range):
        return [value.start, value.stop]
    if (is_dataclass(value) and not isinstance(value, type)) or hasattr(value, "_fields"):
        kind: Any = type(value)
        return {
            name: as_json(getattr(value, name)) for name in _members(kind) if name not in without
        }
    if isinstance(value, Mapping):
        return {str(as_json(key)): as_json(item) for key, item in value.items()}
    if isinstance(value, PathLike):
        return fspath(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(item) for item in value]
    return str(value)


@cache
def _members(kind: Any) -> tuple[str, ...]:
    names = [each.name for each in fields(kind)] if is_dataclass(kind) else kind._fields
    return (*names, *getattr(kind, "ALSO", ()))
