"""Spark imports each top-level module ``pyspark_*`` and registers its ``DefaultSource``.

If one of them cannot be imported, Spark registers none of them; so this one never fails.
"""

import contextlib

with contextlib.suppress(Exception):
    from kafkaspec.spark.source import KafkaSegmentDataSource as DefaultSource

    __all__ = ["DefaultSource"]
