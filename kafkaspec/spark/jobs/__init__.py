"""Jobs over whole log directories, in the modules ``jobs.verify``, ``jobs.stats`` and others.

Each is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkaspec.spark.jobs import compaction, dead_letters, export, lake, messages, stats, verify

__all__ = ["compaction", "dead_letters", "export", "lake", "messages", "stats", "verify"]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return __all__
