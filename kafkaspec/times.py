"""Times as users give them: every option that takes one asks this module."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from operator import index
from typing import Any, Final

Time = datetime | str | int
"""A time: a ``datetime``, in UTC if it has no zone; a text of ISO 8601, likewise; or milliseconds
since the Unix epoch, as a number or a text of digits. What is finer than a millisecond is cut
off."""

EPOCH: Final = datetime(1970, 1, 1)  # in UTC

RANGE: Final = ("start_timestamp", "end_timestamp")
"""Names of the options that choose records by their times."""


def milliseconds(time: Time, option: str = "") -> int:
    """Return a time in ms since the Unix epoch.

    Args:
        time: see ``Time``.
        option: what it is for, in errors.

    Raises:
        ValueError: a text is not a time.
        TypeError: it is something else.
    """
    name = f"{option}: " if option else ""
    if isinstance(time, str):
        try:
            return int(time)
        except ValueError:
            pass
        found = microseconds(time)
        if found is None:
            raise ValueError(
                f"{name}{time!r} is neither milliseconds since 1970 nor a time of ISO 8601, such as"
                " 2026-11-21T08:30:00Z"
            )
        return found // 1000
    if isinstance(time, datetime):
        return _since(time) // timedelta(milliseconds=1)
    try:
        if isinstance(time, bool):
            raise TypeError
        return index(time)
    except TypeError:
        raise TypeError(
            f"{name}{time!r} is neither a datetime, a text of ISO 8601 nor a whole number of"
            " milliseconds since 1970"
        ) from None


def microseconds(text: str) -> int | None:
    """Return a time of ISO 8601, in UTC if it names no zone, since the Unix epoch; None for no
    such text."""
    try:
        return _since(datetime.fromisoformat(text)) // timedelta(microseconds=1)
    except ValueError:
        return None


def with_milliseconds(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with the times among them, of those in ``RANGE``, in ms.

    Raises:
        ValueError: as ``milliseconds``, and TypeError.
    """
    found = dict(options)
    for name in RANGE:
        if found.get(name) is not None:
            found[name] = milliseconds(found[name], name)
    return found


def _since(moment: datetime) -> timedelta:
    """Return the time since the epoch; exact, as a float of seconds is not."""
    if moment.tzinfo is None:
        return moment - EPOCH
    return moment - EPOCH.replace(tzinfo=UTC)
