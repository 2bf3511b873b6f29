"""aiokafka as a testee, its reader in C if that is installed."""

from __future__ import annotations

from aiokafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]

from tools.conformance.client import serve_client

if __name__ == "__main__":
    serve_client("aiokafka", MemoryRecords)
