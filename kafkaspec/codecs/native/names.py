"""What columns of the core mean to those who read them: names that the specification must have."""

from __future__ import annotations

from typing import Final

from kafkaspec._generated.layout import LAYOUTS

_BATCH: Final = "recordbatch.record_batch"
_MESSAGE: Final = "recordbatch.legacy_message"


def _path(key: str, *path: str) -> str:
    """The dotted name of a field or an instance of a type, followed through nested types."""
    for name in path:
        layout = LAYOUTS[key]
        found = next((field for field in layout.fields if field.id == name), None)
        if found is None and name not in (*layout.instances, *(p for p, _ in layout.parameters)):
            raise LookupError(f"{key} has no {name}")
        key = found.type if found else ""
    return ".".join(path)


MAGIC: Final = _path(_BATCH, "magic")
COMPRESSION: Final = _path(_BATCH, "attributes", "compression")
IS_CONTROL: Final = _path(_BATCH, "attributes", "is_control")
TIMESTAMP_TYPE: Final = _path(_BATCH, "attributes", "timestamp_type")
ROWS: Final = _path(_BATCH, "num_records")
BASE_OFFSET: Final = _path(_BATCH, "base_offset")
LAST_OFFSET: Final = _path(_BATCH, "last_offset")
MAX_TIMESTAMP: Final = _path(_BATCH, "max_timestamp")
RECORDS: Final = _path(_BATCH, "records")
OFFSET: Final = _path(_MESSAGE, "offset")
TIMESTAMP: Final = _path(_MESSAGE, "timestamp")
VALUE: Final = _path(_MESSAGE, "value")

POSITION: Final = "position"
SIZE: Final = "size"
"""Of a whole entry; behind the name of bytes, of these."""
BATCH_POSITION: Final = f"batch.{POSITION}"
"""Column of where the entry of a record begins."""
BATCH_BASE_OFFSET: Final = f"batch.{BASE_OFFSET}"
"""Column of the first offset of the batch of a record."""

ROLES: Final = (
    MAGIC, COMPRESSION, IS_CONTROL, ROWS, BASE_OFFSET, LAST_OFFSET, OFFSET, MAX_TIMESTAMP,
    f"{RECORDS}.{POSITION}", f"{RECORDS}.{SIZE}", f"{VALUE}.{POSITION}", f"{VALUE}.{SIZE}",
)  # fmt: skip
"""Columns of a scan that ``select`` looks at, in its order."""

INNER_ROLES: Final = (MAGIC, COMPRESSION, OFFSET)
"""Columns of a scan that ``survey`` looks at, in its order."""

BATCH_MAGIC: Final = next(
    field.constant for field in LAYOUTS[_BATCH].fields if field.constant is not None
)
"""The magic of a record batch."""
