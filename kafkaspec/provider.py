"""Functions that an upper layer registers for a lower one: for columns, file systems of URLs."""

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


_typed_makers: list[Callable[[], Any]] = []


def hand_in_typed(maker: Callable[[], Any]) -> None:
    """Register the maker of typed columns; it is imported on first use."""
    _typed_makers[:] = [maker]


def typed_provider() -> Any:
    """Return the maker of typed columns.

    Raises:
        ImportError: it needs something that is not installed.
    """
    if not _typed_makers:  # the package itself registers one
        raise ImportError("nothing here decodes keys and values")
    return _typed_makers[0]()


_files: dict[str, Callable[[str], tuple[Any, str]]] = {}


def hand_in_files(scheme: str, opener: Callable[[str], tuple[Any, str]]) -> None:
    """Register the file system of URLs: a function of the part after ``scheme://``.

    It returns the file system, as ``kafkaspec.io.remote._Files``, and the path in it.
    """
    _files[scheme] = opener


def files_of(scheme: str) -> Callable[[str], tuple[Any, str]] | None:
    """Return what was registered for URLs of a scheme."""
    return _files.get(scheme)
