"""Write the records of batches as messages of magic 0 and 1, many batches at a time."""

from __future__ import annotations

from itertools import groupby

from kafkaspec.conversion.drafts import Shared, write
from kafkaspec.conversion.losses import Loss
from kafkaspec.conversion.regrouped import Regrouped, _Chunk, _Groups
from kafkaspec.layout import EntryKind
from kafkaspec.log.batch import NO_TIMESTAMP, NONE
from kafkaspec.model import Buffer


class ToMessages(Regrouped):
    """The fast path from batches to messages. It writes the same bytes as that of entries.

    Each batch becomes a message for each record, or one wrapper.
    """

    def __init__(self, shared: Shared) -> None:
        """Share the state of the path of entries."""
        super().__init__(shared)
        self._limit = None

    @property
    def available(self) -> bool:
        """Whether there is a fast path for this plan."""
        choices = self._choices
        to_messages = choices.kind is not None and not choices.kind.has_record_sets
        grouped = choices.batch_bytes is not None and choices.codec_id != 0
        return self._core is not None and to_messages and not grouped and not choices.by_time

    def _takes(self, kind: EntryKind) -> bool:
        return True

    def group(self, chunk: _Chunk) -> _Groups:
        """Return the messages of a chunk, as many as there are; what they lose is counted."""
        self._count(chunk)
        return super().group(chunk)

    def _count(self, chunk: _Chunk) -> None:
        rows, parts, kind, add = chunk.rows, chunk.parts, self._choices.kind, self._losses.add
        assert self._core is not None
        assert kind is not None
        for part in (parts[number] for number in range(len(parts))):
            number = part.last - part.first
            with_headers = rows.with_headers(part.first, part.last)
            if with_headers:
                add(Loss.HEADERS, batches=1, records=with_headers)
            if part.leader_epoch != NONE:
                add(Loss.LEADER_EPOCHS, batches=1, records=number)
            if not kind.has_timestamps:
                times = rows.timestamps[part.first : part.last]
                timed = number - self._core.module.count(times, number, NO_TIMESTAMP)
                if timed:
                    add(Loss.TIMESTAMPS, batches=1, records=timed)

    def write(self, groups: _Groups) -> Buffer:
        """Return the bytes of messages; for any thread."""
        rows, parts, kind = groups.rows, groups.parts, self._choices.kind
        assert kind is not None
        pieces = [groups.before]
        some = (parts[number] for number in range(len(parts)))
        for codec, run in groupby(some, lambda part: part.compression):
            found = list(run)
            if not codec:  # one entry for each record, whatever batch it was in
                found = [found[0]._replace(last=found[-1].last)]
            drafts = (self._draft(rows, kind, part) for part in found)
            pieces += [write(draft, self._codec, self._choices.level) for draft in drafts]
        return b"".join(pieces)
