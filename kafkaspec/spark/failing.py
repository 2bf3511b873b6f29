"""Show the text of an error that is ours without the traceback of a worker."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafkaspec.errors import KafkaSpecError
from kafkaspec.spark.parsing import OptionError

_HIDE: Final = "SPARK_HIDE_TRACEBACK"
"""Environment variable that a worker reads when it reports an error, and then ends (PySpark:
``handle_worker_exception``)."""


class MissingDataError(Exception):
    """Data that was asked for is not there; options are as they should be."""


class DataLossError(MissingDataError, RuntimeError):
    """Data that was asked for is not there any more, and ``failOnDataLoss`` is true."""


class NotThereError(MissingDataError, OptionError):
    """A topic, a partition or a time that an option names is not in the logs."""


@contextmanager
def plainly() -> Iterator[None]:
    """Let a worker of Spark report the text of an error of ours alone; also a decorator."""
    try:
        yield
    except (OptionError, MissingDataError, KafkaSpecError):
        if _is_worker():
            os.environ[_HIDE] = "1"
        raise


def _is_worker() -> bool:
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec is not None and spec.name.startswith("pyspark.")
