"""Formats without a schema: of Kafka's serializers, Connect, Debezium, CloudEvents and others."""

from __future__ import annotations

from kafkaspec.values.decoded import RecordDecoder
from kafkaspec.values.fixed.formats import (
    CONNECT_CONFIG,
    FIXED_FORMATS,
    check_format,
    fixed,
    topic_formats,
)

__all__ = [
    "CONNECT_CONFIG",
    "FIXED_FORMATS",
    "RecordDecoder",
    "check_format",
    "fixed",
    "topic_formats",
]
