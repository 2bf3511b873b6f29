"""Dead letters: which records could not be processed, why, and what they were.

``read_dead_letters`` finds them by the headers that their writers add, and joins each with the
record that it is about.
"""

from __future__ import annotations

from kafkaspec.forensics.dead_letters.joined import (
    DEAD_LETTERS,
    DeadLetters,
    SourceState,
    join_letters,
    read_dead_letters,
)
from kafkaspec.forensics.dead_letters.letters import LETTERS
from kafkaspec.forensics.dead_letters.originals import (
    ORIGINAL_FORMATS,
    ORIGINALS,
    check_target,
    export_originals,
)

__all__ = [
    "DEAD_LETTERS",
    "LETTERS",
    "ORIGINALS",
    "ORIGINAL_FORMATS",
    "DeadLetters",
    "SourceState",
    "check_target",
    "export_originals",
    "join_letters",
    "read_dead_letters",
]
