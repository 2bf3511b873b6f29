"""Write the files of a new partition: segments and the files beside them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from typing import IO, Final

from kafkaspec._generated.python.model.transaction_index import AbortedTransaction
from kafkaspec.broker.index_rules import IndexBuilder
from kafkaspec.broker.producer_state import transaction_index
from kafkaspec.broker.profiles import Profile
from kafkaspec.files import names
from kafkaspec.output.atomic import DirectoryAside, writing

_BUFFER: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class WrittenSegment:
    """A segment, complete or still open.

    Attributes:
        base_offset: base offset of the segment.
        size: size of its log in bytes.
    """

    base_offset: int
    size: int


class PartitionFiles:
    """Files of a partition, written to a temporary directory.

    Args:
        directory: final directory of the files.
        profile: determines which files there are.
        sync: whether to force files to disk.

    Attributes:
        finished: complete segments.
        is_open: whether files can still be written.

    Raises:
        KafkaSpecError: ``unreadable``: the directory cannot be written.
    """

    def __init__(self, directory: str | PathLike[str], profile: Profile, *, sync: bool) -> None:
        self.finished: list[WrittenSegment] = []
        self.is_open = True
        self._profile = profile
        self._aside = DirectoryAside(directory, sync=sync)
        self._names: list[str] = []
        self._snapshots: list[int] = []
        self._log: IO[bytes] | None = None

    def begin(self, base_offset: int) -> None:
        """Begin the log of a segment."""
        path = self._aside.path / _name(base_offset, names.LOG)
        with writing(path):
            self._log = open(path, "xb", buffering=_BUFFER)  # noqa: SIM115

    def append(self, data: memoryview) -> None:
        """Append to the log of the segment."""
        assert self._log is not None
        with writing(self._aside.target):
            self._log.write(data)

    def finish(self, indexes: IndexBuilder, aborted: Iterable[AbortedTransaction]) -> None:
        """Finish the segment, as a broker does when it rolls and when it stops."""
        assert self._log is not None
        base_offset = indexes.base_offset
        with writing(self._aside.target):
            self._log.flush()
            self._aside.force(self._log.fileno())
            self._log.close()
        indexes.finish()
        for kind, data in indexes.files().items():
            self.put(_name(base_offset, kind), data)
        data = transaction_index(aborted)
        if data:
            self.put(_name(base_offset, names.TRANSACTION_INDEX), data)
        self._names.append(_name(base_offset, names.LOG))
        self.finished.append(WrittenSegment(base_offset, indexes.size))

    def put(self, name: str, data: bytes) -> None:
        """Write a whole file."""
        self._aside.write(name, data)
        self._names.append(name)

    def snapshot(self, offset: int, data: bytes) -> None:
        """Write a producer snapshot that is valid at an offset."""
        self.put(_name(offset, names.PRODUCER_SNAPSHOT), data)
        self._snapshots.append(offset)

    def remove_old_snapshots(self) -> None:
        """Remove snapshots before the last two segments, as brokers before 2.8 do."""
        if self._profile.snapshot_per_segment or len(self.finished) < 2:
            return
        for offset in self._snapshots:
            if offset < self.finished[-2].base_offset:
                name = _name(offset, names.PRODUCER_SNAPSHOT)
                self._aside.remove(name)
                self._names.remove(name)

    def commit(self) -> None:
        """Give all files their final names."""
        self._aside.commit(self._names)
        self.is_open = False

    def discard(self) -> None:
        """Remove all files, unless they have their final names. Further calls do nothing."""
        if self._log is not None:
            with suppress(OSError):  # what is still in the buffer may not fit on the disk
                self._log.close()
        if self.is_open:
            self.is_open = False
            self._aside.discard()


def _name(offset: int, kind: str) -> str:
    return names.SegmentName(offset, kind).sibling(kind)
