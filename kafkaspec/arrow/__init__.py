"""Columns: Arrow record batches from segments, partitions and log directories; files of them.

Needs PyArrow, the extra ``arrow``.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def provider() -> ModuleType:
    """What ``to_batches`` and its kin are made by.

    Raises:
        ImportError: PyArrow is not installed.
    """
    try:
        return import_module("kafkaspec.arrow.reading")
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise ImportError("columns need PyArrow: pip install 'kafkaspec[arrow]'") from None
