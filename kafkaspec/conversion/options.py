"""The options of ``convert`` that choose what happens to records, without what carries them out."""

from __future__ import annotations

from typing import Annotated, Literal

from kafkaspec.log.options import (
    MAX_OUTPUT,
    ON_ERROR,
    PROFILE,
    START_OFFSET,
    BoundOptions,
    WritingOptions,
)
from kafkaspec.options import Option
from kafkaspec.policy import RaiseOrSkip

OffsetChoice = Literal["keep", "shift", "renumber"]
"""``keep``: offsets stay as they are. ``shift``: all move by the same number, and gaps stay.
``renumber``: they become consecutive, without gaps."""

AbortedChoice = Literal["keep", "drop"]
"""Records of aborted transactions. ``keep`` them, as in a broker's down-conversion:
consumers of magic 2 recognize them by the markers and the transaction index, those of magic 0 and 1
treat them as ordinary records. ``drop``: leave them out."""


class ChoiceOptions(WritingOptions, BoundOptions, total=False):
    """The options of ``convert`` that choose what happens to records.

    With a range of timestamps, control records stay whatever theirs are, since without them
    transactions would have no end. ``read_committed`` leaves out records of aborted transactions,
    whatever ``aborted`` says.
    """

    start_offset: Annotated[int | None, START_OFFSET]
    on_error: Annotated[RaiseOrSkip, ON_ERROR]
    offsets: Annotated[OffsetChoice, Option(
        "Keep offsets, shift all by the same number, or renumber them without gaps.", "--offsets",
        more="See ``OffsetChoice``."
    )]  # fmt: skip
    base_offset: Annotated[int, Option("First offset after the shift.", "--base-offset",
        more="For ``shift`` and ``renumber``.")]  # fmt: skip
    aborted: Annotated[AbortedChoice, Option(
        "Keep the records of aborted transactions, or drop them.", "--aborted",
        more="See ``AbortedChoice``."
    )]  # fmt: skip
    profile: Annotated[str, PROFILE]
    max_output: Annotated[int | None, MAX_OUTPUT]
