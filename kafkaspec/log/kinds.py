"""From the message of an entry to the class that shows it."""

from __future__ import annotations

from kafkaspec._generated.python.model.recordbatch import LegacyMessage, RecordBatch
from kafkaspec.log.batch import Batch
from kafkaspec.log.default import DefaultBatch
from kafkaspec.log.legacy import LegacyBatch


def batch_class(message: LegacyMessage | RecordBatch) -> type[Batch]:
    """Return the class for a parsed message."""
    return DefaultBatch if isinstance(message, RecordBatch) else LegacyBatch
