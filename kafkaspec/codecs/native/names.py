"""Columns of a scan that the C glue looks at: what they are called, in its order."""

from __future__ import annotations

from typing import Final

from kafkaspec.layout import names
from kafkaspec.layout.kinds import KINDS

KIND: Final = "entry.kind"
"""The number of the kind of an entry."""

ROLES: Final = (
    names.MAGIC, names.COMPRESSION, names.IS_CONTROL, names.NUM_RECORDS,
    names.BASE_OFFSET, names.LAST_OFFSET, names.OFFSET, names.MAX_TIMESTAMP,
    *(f"{name}.{part}" for name in (names.RECORDS, names.VALUE) for part in ("position", "size")),
)  # fmt: skip
"""Of ``select``."""

INNER_ROLES: Final = (names.MAGIC, names.COMPRESSION, names.OFFSET)
"""Of ``survey``."""

PLAIN_ROLES: Final = (names.COMPRESSION, names.IS_CONTROL, names.NUM_RECORDS)
"""Of ``Records``."""

UNTIMED: Final = sum(1 << kind.magic for kind in KINDS.values() if not kind.has_timestamps)
"""The magics whose records have no timestamps, a bit for each."""

INSPECTED: Final = (names.OFFSET, names.TIMESTAMP)
"""Columns of records that are compared with the headers of their batches."""

BATCH_FACTS: Final = ("status", "text", "records")
COLUMN_FACTS: Final = ("first", "last", "least", "largest", "rising")
"""What ``inspect`` says of a batch, and of each column of its records."""

OPERATORS: Final = ("==", "!=", "<", "<=", ">", ">=")
"""Of ``mark``."""
