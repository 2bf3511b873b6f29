"""Input and output of a conversion, for whoever reads both again."""

from __future__ import annotations

from collections.abc import Iterator

from kafkaspec.codecs import Codec
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.losses import Loss
from kafkaspec.conversion.partition import PartitionConversion, Progress
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment


class Sides:
    """Where both sides are, and what became of the offsets.

    Attributes:
        choices: the plan.
        losses: what need not be the same.
        low: smallest offset that was taken.
        shift: what was added to each offset.
        first: with offsets renumbered, the first one.
        kind: format of all that was made, None where each entry kept its own.
        control: whether control records are on both sides.
        columns: what of records must be the same.
    """

    def __init__(
        self,
        conversion: PartitionConversion,
        choices: Choices,
        codec: Codec,
        low: int | None,
        progress: Progress | None,
    ) -> None:
        """Args: as ``compare``."""
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
        self._codec = codec
        self._progress = progress

    def _columns(self) -> Iterator[str]:
        kind = self.kind
        yield from ("offset", "timestamp", "key", "value")
        if kind is None and not self.may_differ(Loss.TIMESTAMP_TYPES):
            # A batch has a type where messages of magic 0 have none.
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

    def source(self) -> Iterator[Segment]:
        """Yield what was taken, in parts that are whole batches. Progress is told once."""
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
        """What was made."""
        return Partition(self._conversion.result.target, codec=self._codec, **self._bound())

    def _bound(self) -> dict[str, int]:
        most = self.choices.max_output
        return {} if most is None else {"max_output": most}

    def may_differ(self, kind: Loss) -> bool:
        """Whether something of that kind was counted."""
        return bool(self.losses[kind].batches)
