"""Notes of ``verify`` about the batches of a segment while it reads them, to go on later."""

from __future__ import annotations

from collections import Counter

from kafkaspec.analysis.check_order import LogOrder
from kafkaspec.analysis.parts import PartSurvey
from kafkaspec.analysis.text_checks import EpochRun, add_to_runs
from kafkaspec.analysis.tree import DigestTree
from kafkaspec.columns.inspection import Inspected
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.indexes import INDEXED
from kafkaspec.layout.kinds import KINDS
from kafkaspec.layout.names import BASE_OFFSET, LAST_OFFSET, LEADER_EPOCH, MAGIC
from kafkaspec.log.batch import Batch, stored_offset
from kafkaspec.log.header_table import number_of


class SegmentWatch:
    """Notes the batches of a segment.

    Attributes:
        tree: digest of the batches.
        survey: state that they leave for the batches after them.
        epochs: their leader epochs in order.
        last: byte offset of the last one.
        end: byte offset after it.
    """

    def __init__(
        self, tree: DigestTree, survey: PartSurvey, epochs: list[EpochRun], last: int, end: int
    ) -> None:
        self.tree, self.survey, self.epochs = tree, survey, epochs
        self.last, self.end = last, end

    @classmethod
    def from_start(cls) -> SegmentWatch:
        """Return one for a segment that is read whole."""
        return cls(DigestTree(), PartSurvey(LogOrder()), [], 0, 0)

    def run(self, part: Inspected, first: int, stop: int, last: int, end: int) -> None:
        """Take a run of sound batches of the same magic and leader epoch.

        Args:
            last: byte offset of the last one.
            end: byte offset after it.
        """
        self.tree.run(part, first, stop)
        found = self.survey
        offsets, bases = part.column(LAST_OFFSET), part.column(BASE_OFFSET)
        found.batches += stop - first
        found.last_offset = offsets[stop - 1]
        found.highest_first = max(found.highest_first, bases[stop - 1])
        found.highest_last = max(found.highest_last, offsets[stop - 1])
        found.numbers |= Counter({name: max(part.column(name)[first:stop]) for name in INDEXED})
        found.has_untimed |= not KINDS[part.column(MAGIC)[first]].has_timestamps
        epoch = part.column(LEADER_EPOCH)[first]
        if epoch >= 0:
            add_to_runs(self.epochs, epoch, bases[first], offsets[stop - 1])
        self.last, self.end = last, end

    def entry(self, item: Batch | KafkaSpecError) -> None:
        """Take an entry that was read by itself."""
        if not isinstance(item, Batch):
            self.survey.sound = False
            return
        self.tree.batch(item)
        found = self.survey
        found.batches += 1
        found.last_offset = item.last_offset
        found.highest_first = max(found.highest_first, stored_offset(item))
        found.highest_last = max(found.highest_last, item.last_offset)
        found.numbers |= Counter({name: number_of(name)(item) for name in INDEXED})
        found.has_untimed |= not item.kind.has_timestamps
        if item.kind.has_record_sets and item.partition_leader_epoch >= 0:
            epoch = item.partition_leader_epoch
            add_to_runs(self.epochs, epoch, item.base_offset, item.last_offset)
        self.last, self.end = item.position, item.end
