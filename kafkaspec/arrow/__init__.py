"""Arrow record batches from segments, partitions and log directories, and their export to files.

This package needs PyArrow (the extra ``arrow``).
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def provider() -> ModuleType:
    """Return the module that implements ``to_batches`` and the other methods for columns.

    Raises:
        ImportError: PyArrow is not installed.
    """
    try:
        return import_module("kafkaspec.arrow.provided")
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise ImportError("columns need PyArrow: pip install 'kafkaspec[arrow]'") from None
