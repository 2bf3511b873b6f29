"""Serve with kafka-python or aiokafka, which read logs with the same classes."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from kafkaspec.conformance import serve
from kafkaspec.conformance.protocol import RequestKind, record

_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class CorruptBatchError(Exception):
    """The client reports a wrong checksum."""


def serve_client(package: str, memory_records: Callable[[bytes], Any]) -> None:
    """Serve with the reader of a client library, used as its consumer with ``check_crcs`` does.

    Args:
        package: name of the installed package.
        memory_records: its ``MemoryRecords``.
    """

    def log(data: bytes, request: dict[str, Any]) -> list[dict[str, Any]]:
        found = []
        batches = memory_records(data)
        while batches.has_next():
            batch = batches.next_batch()
            if not batch.validate_crc():
                raise CorruptBatchError
            items = [_record(item) for item in batch]
            if not getattr(batch, "is_control_batch", False):
                found += items
        return found

    handlers = {RequestKind.LOG: log}
    serve(package, version(package), handlers, compression=_CODECS, checksums=True)


def _record(item: Any) -> dict[str, Any]:
    headers = [(key.encode("utf-8"), value) for key, value in item.headers]
    return record(item.offset, item.timestamp, item.key, item.value, headers)
