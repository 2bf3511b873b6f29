"""The maker of columns, which an upper layer registers for the layer of logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_makers: list[Callable[[], Any]] = []


def hand_in(maker: Callable[[], Any]) -> None:
    """Register the maker of columns; it is imported on first use."""
    _makers[:] = [maker]


def provider() -> Any:
    """Return the maker of columns.

    Raises:
        ImportError: it needs something that is not installed.
    """
    if not _makers:  # the package itself registers one
        raise ImportError("nothing here makes columns")
    return _makers[0]()
