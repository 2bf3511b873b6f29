"""kafka-python as a testee."""

from __future__ import annotations

import warnings

from tools.conformance.client import serve_client

if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the Python that it was written for
        from kafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]
    serve_client("kafka-python", MemoryRecords)
