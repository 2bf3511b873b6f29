"""The formats of logs: the framing of entries, and the class for each entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from kafkaspec._generated.layout import ENTRY_FILES
from kafkaspec.codecs import Codec
from kafkaspec.files import names
from kafkaspec.layout.framing import LOG_FRAMING, Framing
from kafkaspec.layout.kinds import KINDS, magic_of
from kafkaspec.layout.names import LOG_FILE, MESSAGE_SET_FILE
from kafkaspec.log import messageset
from kafkaspec.log.batch import Batch, Context
from kafkaspec.log.default import DefaultBatch
from kafkaspec.log.legacy import LegacyBatch
from kafkaspec.options import one_of

FormatName = str
"""Formats other than that of today's logs: ``0.7``, or the id of a file of the specification that
ends with log entries."""


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
        has_offsets: whether offsets are stored; otherwise they are what producers sent, and the
            log's are kept elsewhere.
        first: position of the first entry: the size of what stands before it.
        file: key of the type of the whole file.
    """

    name: FormatName | None
    framing: Framing
    batch: Callable[[Any, int, memoryview, Context], Batch]
    codec: Callable[[Codec], Codec]
    suffix: str
    has_columns: bool
    is_written: bool
    offsets_are_positions: bool
    file: str
    has_offsets: bool = True
    first: int = 0


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
    file=LOG_FILE,
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
    file=MESSAGE_SET_FILE,
)
"""Segments of Kafka 0.7."""


def _formats() -> Iterator[tuple[FormatName | None, Format]]:
    yield from ((LOG.name, LOG), (KAFKA_0_7.name, KAFKA_0_7))
    known = {item.file: item for item in (LOG, KAFKA_0_7)}
    for name, file in ENTRY_FILES.items():
        own = next(item for item in known.values() if item.framing.entry == file.entry)
        made = replace(
            own, name=name, file=file.key, first=file.header, has_offsets=file.has_offsets
        )
        yield name, known.get(file.key, made)


FORMATS: Final[dict[FormatName | None, Format]] = dict(_formats())
"""All formats by name; None is that of today's logs."""


def format_named(name: FormatName | None) -> Format:
    """Return the format of a name.

    Raises:
        ValueError: there is none.
    """
    found = FORMATS.get(name)
    if found is None:
        raise one_of("log_format", name, [key for key in FORMATS if key])
    return found


def format_of(suffix: str) -> Format:
    """Return the format of segments with this suffix; that of today for any other suffix."""
    return KAFKA_0_7 if suffix == KAFKA_0_7.suffix else LOG
