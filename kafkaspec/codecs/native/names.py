"""Columns of a scan that the C glue looks at: what they are called, in its order."""

from __future__ import annotations

from typing import Final

from kafkaspec.layout.kinds import KINDS
from kafkaspec.layout.names import (
    BASE_OFFSET,
    COMPRESSION,
    IS_CONTROL,
    LAST_OFFSET,
    MAGIC,
    MAX_TIMESTAMP,
    NUM_RECORDS,
    OFFSET,
    RECORDS,
    TIMESTAMP,
    VALUE,
)

KIND: Final = "entry.kind"
"""The number of the kind of an entry."""

ROLES: Final = (
    MAGIC, COMPRESSION, IS_CONTROL, NUM_RECORDS, BASE_OFFSET, LAST_OFFSET, OFFSET, MAX_TIMESTAMP,
    f"{RECORDS}.position", f"{RECORDS}.size", f"{VALUE}.position", f"{VALUE}.size",
)  # fmt: skip
"""Of ``select``."""

INNER_ROLES: Final = (MAGIC, COMPRESSION, OFFSET)
"""Of ``survey``."""

PLAIN_ROLES: Final = (COMPRESSION, IS_CONTROL, NUM_RECORDS)
"""Of ``Records``."""

UNTIMED: Final = sum(1 << kind.magic for kind in KINDS.values() if not kind.has_timestamps)
"""The magics whose records have no timestamps, a bit for each."""

INSPECTED: Final = (OFFSET, TIMESTAMP)
"""Columns of records that are compared with the headers of their batches."""

BATCH_FACTS: Final = ("status", "text", "records")
COLUMN_FACTS: Final = ("first", "last", "least", "largest", "rising")
"""What ``inspect`` says of a batch, and of each column of its records."""

OPERATORS: Final = ("==", "!=", "<", "<=", ">", ">=")
"""Of ``mark``."""
