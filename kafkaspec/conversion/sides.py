"""Input and output of a conversion, for the comparison."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kafkaspec.codecs import Codec
from kafkaspec.columns.wanted import BATCH_MAGIC, IS_CONTROL, OF_BATCH
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.losses import Loss
from kafkaspec.conversion.partition import PartitionConversion, Progress
from kafkaspec.layout import names
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment

_SOURCES: Final = {
    "timestamp_type": (OF_BATCH + names.TIMESTAMP_TYPE, BATCH_MAGIC),
    "transactional": (OF_BATCH + names.IS_TRANSACTIONAL,),
    "control_type": (IS_CONTROL, names.KEY),
    "producer_id": (OF_BATCH + names.PRODUCER_ID,),
    "producer_epoch": (OF_BATCH + names.PRODUCER_EPOCH,),
    "leader_epoch": (OF_BATCH + names.LEADER_EPOCH,),
}
"""Columns of the specification that others are made of."""
CHUNK_BYTES: Final = 2 << 20
"""Bytes of each side that are compared at once: few enough that both stay in the cache."""


class Sides:
    """Both sides of a conversion, and the change of offsets.

    Attributes:
        choices: the plan.
        losses: counted losses, which may differ.
        low: smallest offset to compare, None for any.
        shift: number that was added to each offset.
        first: first new offset, if offsets were renumbered.
        kind: format of all entries of the output, None if each entry kept its own.
        control: whether both sides have control records.
        codec: reads both sides.
        columns: names of the columns that must be equal.
    """

    def __init__(
        self,
        conversion: PartitionConversion,
        choices: Choices,
        codec: Codec,
        low: int | None,
        progress: Progress | None,
    ) -> None:
        """Prepare to read both sides.

        Args:
            conversion: a finished conversion.
            choices: plan of the conversion.
            codec: reads both sides.
            low: smallest offset to compare, None for any.
            progress: called with a file name and the number of bytes of it just compared.
        """
        self.choices = choices
        self.low = low
        self.losses = conversion.result.losses
        self.shift = conversion.converter.offsets.shift
        self.first = choices.base_offset if choices.offsets == "renumber" else None
        self.kind = choices.kind
        self.control = self.kind is None or self.kind.has_transactions
        self.columns = tuple(self._columns())
        self._told = 0
        self._conversion = conversion
        self.codec = codec
        self._progress = progress

    def _columns(self) -> Iterator[str]:
        kind = self.kind
        yield from ("offset", "timestamp", "key", "value")
        if kind is None and not self.may_differ(Loss.TIMESTAMP_TYPES):
            # A batch has a timestamp type, but messages of magic 0 have none.
            yield "timestamp_type"
        if kind is None or kind.has_headers:
            yield "headers"
        if kind is None or kind.has_producers:
            yield from ("producer_id", "producer_epoch")
            if not self.may_differ(Loss.SEQUENCES):
                yield "sequence"
        if self.control:
            yield from ("transactional", "control_type")
        if (kind is None or kind.has_leader_epochs) and self.choices.leader_epoch is None:
            yield "leader_epoch"

    def sources(self, column: str) -> tuple[str, ...]:
        """Return the columns of the specification that one of ``columns`` is made of."""
        return _SOURCES.get(column, (column,))

    def source(self) -> Iterator[Segment]:
        """Yield the converted parts of the input, in whole batches; report progress only once."""
        done = 0
        for path, spans in self._conversion.spans:
            with self._conversion.open(path) as segment:
                for start, stop in spans:
                    yield segment.part(start, stop)
                    done += stop - start
                    if self._progress is not None and done > self._told:
                        self._progress(segment.name or "", done - self._told)
                        self._told = done

    def target(self) -> Partition:
        """Return the partition of the output."""
        return Partition(self._conversion.result.target, codec=self.codec, **self.bound)

    @property
    def bound(self) -> dict[str, Any]:
        """The option that limits the size of a decompressed batch."""
        most = self.choices.max_output
        return {} if most is None else {"max_output": most}

    def may_differ(self, kind: Loss) -> bool:
        """Return whether a loss of a kind was counted, so that both sides may differ in it."""
        return bool(self.losses[kind].batches)
