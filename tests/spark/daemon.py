"""The daemon of Spark's Python workers, with what all of them import: they are forked from it."""

from __future__ import annotations

import gc

import pandas  # noqa: F401
import pyarrow.compute
import pyarrow.parquet  # noqa: F401
from pyspark import daemon

import kafkaspec.spark.source  # noqa: F401

if __name__ == "__main__":
    gc.freeze()
    daemon.manager()
