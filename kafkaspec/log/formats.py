"""The formats of logs: the framing of entries, and the class for each entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from kafkaspec.codecs import Codec
from kafkaspec.files import names
from kafkaspec.layout.framing import LOG_FRAMING, Framing
from kafkaspec.layout.kinds import KINDS, magic_of
from kafkaspec.log import messageset
from kafkaspec.log.batch import Batch, Context
from kafkaspec.log.default import DefaultBatch
from kafkaspec.log.legacy import LegacyBatch

FormatName = Literal["0.7"]
"""Formats other than that of today's logs, which may mix magic 0, 1 and 2."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of a log: its entries, and the classes that read them.

    Attributes:
        framing: framing of the entries.
        batch: function that returns the batch for a parsed entry, its position, its bytes and the
            context.
        codec: function that returns the codec that reads the entries, for the chosen one.
        suffix: suffix of the names of its segments.
        name: name to choose it by, None for the format of today.
        has_columns: whether codecs read its entries by columns.
        is_written: whether entries of it are written.
        offsets_are_positions: whether the offset of an entry is its position in the log.
    """

    name: FormatName | None
    framing: Framing
    batch: Callable[[Any, int, memoryview, Context], Batch]
    codec: Callable[[Codec], Codec]
    suffix: str
    has_columns: bool
    is_written: bool
    offsets_are_positions: bool


def _batch(entry: Any, position: int, data: memoryview, context: Context) -> Batch:
    made = DefaultBatch if KINDS[magic_of(entry.message)].has_record_sets else LegacyBatch
    return made(entry.message, position, data, context)


LOG: Final = Format(
    name=None,
    framing=LOG_FRAMING,
    batch=_batch,
    codec=lambda codec: codec,
    suffix=names.LOG,
    has_columns=True,
    is_written=True,
    offsets_are_positions=False,
)
"""Segments since 0.8, and KRaft snapshots."""

KAFKA_0_7: Final = Format(
    name="0.7",
    framing=messageset.FRAMING,
    batch=messageset.MessageSetBatch,
    codec=messageset.MessageSetCodec,
    suffix=names.MESSAGE_SET,
    has_columns=False,
    is_written=False,
    offsets_are_positions=True,
)
"""Segments of Kafka 0.7."""

FORMATS: Final[dict[FormatName | None, Format]] = {item.name: item for item in (LOG, KAFKA_0_7)}


def format_of(suffix: str) -> Format:
    """Return the format of segments with this suffix; that of today for any other suffix."""
    return KAFKA_0_7 if suffix == KAFKA_0_7.suffix else LOG
