"""Who makes columns: handed from above to the layer of logs, which imports nothing from above."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_makers: list[Callable[[], Any]] = []


def hand_in(maker: Callable[[], Any]) -> None:
    """Say what makes columns; nothing is imported before somebody wants some."""
    _makers[:] = [maker]


def provider() -> Any:
    """What makes columns.

    Raises:
        ImportError: it needs something that is not installed.
    """
    if not _makers:  # the package itself hands one in
        raise ImportError("nothing here makes columns")
    return _makers[0]()
