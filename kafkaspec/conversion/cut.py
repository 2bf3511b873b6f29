"""Cut what lies below the log start offset out of entries."""

from __future__ import annotations

from kafkaspec.codecs import get_codec
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.entries import EntryConverter
from kafkaspec.log.batch import Batch


def cut_entry(batch: Batch, log_start: int) -> bytes:
    """Return an entry that begins at an offset inside it, without the records below.

    All else of it stays. Where compaction has removed the other records, it is an empty batch, so
    that the log still ends where it did.
    """
    converter = EntryConverter(Choices(), get_codec(), log_start_offset=log_start)
    return b"".join([*converter.convert(batch), *converter.flush()])
