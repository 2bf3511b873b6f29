"""Times in conditions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1)  # in UTC


def microseconds(text: str) -> int | None:
    """Return a time of ISO 8601, in UTC if it names no zone, since the Unix epoch; None if it is
    none."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    return (moment - _EPOCH) // timedelta(microseconds=1)
