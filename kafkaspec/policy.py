"""The words for what happens with data that cannot be read, and the function that follows them.

Where an option takes fewer words, its type says which. Spark's modes are translated to these words
where its options are parsed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from kafkaspec.errors import KafkaSpecError
from kafkaspec.shown import warned

ErrorPolicy = Literal["raise", "skip", "column"]
"""``raise``: the first error ends the reading. ``skip``: what cannot be read is left out, and
counted or named. ``column``: its row stays, without a value, and a column says why."""

RaiseOrSkip = Literal["raise", "skip"]
"""What happens with a batch that cannot be read; see ``ErrorPolicy``."""

OnError = RaiseOrSkip | Callable[[KafkaSpecError], None]
"""What happens with a batch that cannot be read. ``raise``: the error is raised. ``skip``: the
batch is left out, with a ``RuntimeWarning``. A function: it is called with the error, and the batch
is left out."""

OnRow = Literal["raise"] | Callable[[int, KafkaSpecError], None]
"""What happens with bytes that are not such a message. ``raise``: the error is raised. A function:
it is called with the number of the row and the error, and the row is null."""

RaiseOrColumn = Literal["raise", "column"]
"""What happens with a record of an internal topic that does not decode; see ``ErrorPolicy``."""

CrcPolicy = Literal["raise", "ignore"]
"""What happens with a batch whose checksum is wrong. ``raise``: reading its records is an error.
``ignore``: they are read unchecked; only ``Batch.crc_valid`` compares the checksum."""

TailPolicy = RaiseOrSkip
"""What happens with bytes at the end of a segment that are not a whole entry. ``skip``: the log
ends before them, as for Kafka's reader. ``raise``: they are an error."""

OnLoss = Literal["stop", "continue"]
"""What a lake does where a log has lost offsets that were not read yet, or is not the one that was
read. ``stop``: the job ends before that. ``continue``: it goes on with what is there, and counts
what is lost."""


def report(on_error: OnError, error: KafkaSpecError) -> None:
    """Raise an error, or report it."""
    if on_error == "raise":
        raise error
    if on_error == "skip":
        warned(f"left out: {error}", RuntimeWarning)
    else:
        # Without the frames that raised it: whoever keeps it would keep the memory of the reading.
        on_error(error.with_traceback(None))
