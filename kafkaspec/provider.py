"""Modules of upper layers that lower ones need: imported on first use, and nowhere else upwards."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

_MODULES: Final = {
    "columns": "kafkaspec.arrow.record_batches",
    "encoding": "kafkaspec.arrow.encoding",
    "foreign": "kafkaspec.tiered.foreign",
    "intact": "kafkaspec.intact.division",
    "messages": "kafkaspec.arrow.messages.topics",
    "notebook": "kafkaspec.reports.notebook",
    "tiered": "kafkaspec.tiered.mount",
    "typed": "kafkaspec.values.reading",
}


def provider(what: str = "columns") -> Any:
    """Return the module that makes columns, or something else that it is registered for.

    Raises:
        ImportError: it needs something that is not installed.
    """
    return _imported(_MODULES[what])


class InNotebook:
    """Base of the objects that a notebook shows as a table, if the extra ``html`` is installed."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        """Return the table; None for the text of ``repr``."""
        try:
            notebook = provider("notebook")
        except ImportError:
            return None
        found: str = notebook.html_of(self)
        return found


def require_pyarrow() -> None:
    """Raise the error of ``provider`` if PyArrow is not installed."""
    _imported("pyarrow")


def _imported(module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise ImportError("columns need PyArrow: pip install 'kafkaspec[arrow]'") from None
