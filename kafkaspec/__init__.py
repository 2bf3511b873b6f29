"""Kafka's files on disk: an executable specification, and codecs generated from it.

Names are imported when they are first used, so that ``import kafkaspec`` stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkaspec.lazy import attach

if TYPE_CHECKING:
    from kafkaspec._version import __version__ as __version__
    from kafkaspec.analysis.verification import verify as verify
    from kafkaspec.conversion.running import convert as convert
    from kafkaspec.errors import ChecksumError as ChecksumError
    from kafkaspec.errors import CorruptError as CorruptError
    from kafkaspec.errors import KafkaSpecError as KafkaSpecError
    from kafkaspec.errors import Reason as Reason
    from kafkaspec.errors import TruncatedError as TruncatedError
    from kafkaspec.errors import UnsupportedError as UnsupportedError
    from kafkaspec.log.base import Log as Log
    from kafkaspec.log.batch import Batch as Batch
    from kafkaspec.log.directory import LogDirectory as LogDirectory
    from kafkaspec.log.encoding import decode as decode
    from kafkaspec.log.encoding import encode as encode
    from kafkaspec.log.lookup import Found as Found
    from kafkaspec.log.opening import open as open  # noqa: A004
    from kafkaspec.log.partition import Partition as Partition
    from kafkaspec.log.segment import Segment as Segment
    from kafkaspec.model import Record as Record
    from kafkaspec.specification import spec_files as spec_files
    from kafkaspec.values.reading.arrays import decode_values as decode_values
    from kafkaspec.values.registry.log import SchemaLog as SchemaLog
    from kafkaspec.writing.rebuild import rebuild_indexes as rebuild_indexes
    from kafkaspec.writing.segment_writer import SegmentWriter as SegmentWriter

    __all__: list[str]
else:
    __getattr__, __dir__, __all__ = attach(__name__)
