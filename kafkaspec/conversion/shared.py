"""What all paths of a conversion share: the plan, and how far it has got."""

from __future__ import annotations

from dataclasses import dataclass

from kafkaspec.codecs import Codec
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.drafts import Waiting
from kafkaspec.conversion.losses import Losses
from kafkaspec.conversion.offsets import Offsets


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """State of the conversion of one partition.

    Attributes:
        choices: the plan.
        codec: reads and writes entries.
        offsets: mapping of old to new offsets.
        losses: counts of losses.
        waiting: records that wait for more.
        low: smallest offset to convert, None for any.
        high: first offset not to convert, None for any.
        outcomes: whether the outcome of a transaction matters.
    """

    choices: Choices
    codec: Codec
    offsets: Offsets
    losses: Losses
    waiting: Waiting
    low: int | None
    high: int | None
    outcomes: bool
