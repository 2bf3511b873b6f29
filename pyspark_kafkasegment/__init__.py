"""Spark imports each top-level module ``pyspark_*`` and registers its ``DefaultSource``.

One that fails to import would switch that off for all of them: this one never fails.
"""

import contextlib

with contextlib.suppress(Exception):
    from kafkaspec.spark.source import KafkaSegmentDataSource as DefaultSource

    __all__ = ["DefaultSource"]
