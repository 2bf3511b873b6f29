"""Find the logs of a stream, and their ends."""

from __future__ import annotations

from kafkaspec.log.continuity import SoundEnd, last_sound, sound_at
from kafkaspec.log.listed import SegmentFile, TopicLog
from kafkaspec.log.segment import Segment
from kafkaspec.spark.options import ReadOptions
from kafkaspec.spark.parsing import OptionError, TopicPartition
from kafkaspec.spark.paths import find_logs


class Tails:
    """The ends of logs. They are cached, so that nothing is read twice."""

    def __init__(self, options: ReadOptions) -> None:
        """Start without any known end."""
        self._options = options
        self._known: dict[str, SoundEnd] = {}

    def logs(self) -> dict[TopicPartition, TopicLog]:
        """Return the logs that exist now."""
        found: dict[TopicPartition, TopicLog] = {}
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

    def log_end(self, log: TopicLog) -> int:
        """Return the offset after the last complete batch with a right checksum.

        Broken batches before a sound one count: the mode decides what happens with them.
        """
        if not log.segments:
            return 0
        last = log.segments[-1]
        return max(self._end(last) or 0, last.base_offset or 0)

    def end(self, log: TopicLog) -> int:
        """Return the offset that a stream may read up to: of the isolation level."""
        end = self.log_end(log)
        if self._options.committed and log.segments:
            stable = log.opened.stable_offset(strict=False)
            return end if stable is None else min(end, stable)
        return end

    def _end(self, item: SegmentFile) -> int | None:
        """Return the end of a segment; None if no batch of it is whole."""
        known = self._known.get(str(item.path))
        if known is not None and known.stop == item.size:
            return known.end
        with Segment(item.path, mapped=False) as segment:
            same = known is not None and sound_at(segment, known.position) == known
            known = last_sound(segment, known.position if same and known is not None else 0)
        if known is None:
            return None
        self._known[str(item.path)] = known
        return known.end
