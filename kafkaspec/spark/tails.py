"""Find the ends of the logs of a stream: of the last complete batch."""

from __future__ import annotations

from dataclasses import dataclass

from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.headers import header_tables
from kafkaspec.log.segment import Segment
from kafkaspec.spark.isolation import last_stable_offset
from kafkaspec.spark.options import ReadOptions, TopicPartition
from kafkaspec.spark.parsing import OptionError
from kafkaspec.spark.paths import Log, SegmentFile, find_logs
from kafkaspec.spark.pieces import entry_end


@dataclass(frozen=True)
class _Known:
    """The known end of the last segment of a log.

    Attributes:
        position: byte offset of its last sound batch; the next look begins there.
        stop: byte offset after that batch. Nothing is new while the file ends there.
        end: log offset after that batch.
    """

    position: int
    stop: int
    end: int


class Tails:
    """The ends of logs. They are cached, so that nothing is read twice."""

    def __init__(self, options: ReadOptions) -> None:
        """Start without any known end."""
        self._options = options
        self._known: dict[str, _Known] = {}

    def logs(self) -> dict[TopicPartition, Log]:
        """Return the logs that exist now.

        Raises:
            KafkaSpecError: ``unreadable``.
            OptionError: a directory is none of a partition, or two are of the same one.
        """
        found: dict[TopicPartition, Log] = {}
        for log in find_logs(self._options.paths, log_start=self._options.log_start):
            if not self._options.selects(log.topic, log.partition):
                continue
            if log.topic is None or log.partition is None:
                raise OptionError(f"a stream needs directories of partitions; {log} is none")
            other = found.setdefault((log.topic, log.partition), log)
            if other is not log:
                raise OptionError(
                    f"a stream has offsets by topic-partition, and {log} is in"
                    f" {other.directory} and in {log.directory}"
                )
        return found

    def end(self, log: Log) -> int:
        """Return the offset after the last complete batch with a right checksum.

        Broken batches before a sound one count: the mode decides what happens with them.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        if not log.segments:
            return 0
        last = log.segments[-1]
        end = max(self._end(last) or 0, last.base_offset or 0)
        if self._options.committed:
            stable = last_stable_offset(log.opened, strict=False)
            return end if stable is None else min(end, stable)
        return end

    def _end(self, item: SegmentFile) -> int | None:
        """Return the end of a segment; None if no batch of it is whole."""
        known = self._known.get(str(item.path))
        if known is not None and known.stop == item.size:
            return known.end
        begin = known.position if known is not None and known.stop < item.size else 0
        with Segment(item.path, mapped=False) as segment:
            known = _last(segment, begin)
        if known is None:
            return None
        self._known[str(item.path)] = known
        return known.end


def _last(segment: Segment, begin: int) -> _Known | None:
    """Return the last sound batch from a byte offset on."""
    found: list[int] = []  # positions of entries
    position: int | None = begin
    while position is not None and position < segment.size:
        start = position
        for table, base in header_tables(segment, start):
            found.extend(base + at for at in table.column("position"))
            start = base + table.position
        # The codec cannot scan this entry, but may be able to scan those after it.
        position = entry_end(segment, start)
        if position is not None and position <= segment.size:
            found.append(start)
    for at in reversed(found):
        try:
            batch = segment.batch_at(at)
            if batch.crc_valid:
                return _Known(at, batch.end, batch.last_offset + 1)
        except KafkaSpecError:
            continue
    return None
