"""Modules of upper layers that lower ones need: imported on first use, and nowhere else upwards."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

_MODULES: Final = {
    "columns": "kafkaspec.arrow.record_batches",
    "encoding": "kafkaspec.arrow.encoding",
    "messages": "kafkaspec.arrow.messages.topics",
    "tiered": "kafkaspec.tiered.mount",
    "typed": "kafkaspec.values.reading",
}


def provider(what: str = "columns") -> Any:
    """Return the module that makes columns, or something else that it is registered for.

    Raises:
        ImportError: it needs something that is not installed.
    """
    try:
        return import_module(_MODULES[what])
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise ImportError("columns need PyArrow: pip install 'kafkaspec[arrow]'") from None
