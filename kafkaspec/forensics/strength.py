"""How far an answer is proven, and what was assumed for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Strength(StrEnum):
    """How far the files prove an answer; the strongest first."""

    PROOF = "proof"
    """No other explanation agrees with the bytes."""
    STRONG = "strong"
    """Another explanation would take a coincidence: as many sequence numbers as offsets."""
    LIKELY = "likely"
    """What brokers usually do; others can do it too."""
    CONSISTENT = "consistent"
    """Nothing speaks against it, and nothing but it was asked for."""
    UNKNOWN = "unknown"
    """The files do not say."""


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something that an answer depends on and that the files do not say.

    Attributes:
        name: what it is: ``clock``, ``high watermark``, or a name of Kafka's configuration.
        value: what was taken for it.
        why: where the value is from.
    """

    name: str
    value: str
    why: str
