"""Public names of packages, each imported when it is first used.

A package writes them once, as imports for type checkers; ``tools/names.py`` makes the table that
serves them here.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from kafkaspec._names import NAMES


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package."""
    homes = NAMES[package]
    own = vars(sys.modules[package])

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = homes[name]
        own[name] = getattr(import_module(module), attribute)
        return own[name]

    def listed() -> list[str]:
        return sorted({*homes, *(name for name in own if name.startswith("__"))})

    return get, listed, [name for name in homes if not name.startswith("__")]


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect no garbage in a block that makes many objects that stay, as an import does."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
