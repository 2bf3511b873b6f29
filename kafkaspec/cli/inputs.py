"""Open the paths of the command line as segments, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from kafkaspec.cli.console import warn
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.batch import Batch, CrcPolicy
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment


class Inputs:
    """The inputs of a command; counts and reports those that cannot be read.

    Attributes:
        unreadable: number of files and directories that could not be read at all.
        broken: number of entries that could not be decoded.
    """

    def __init__(self, paths: Sequence[Path], codec: str, crc: CrcPolicy = "error") -> None:
        """Prepare to read some paths.

        Args:
            paths: segments, partition directories or log directories.
            codec: name of the codec that reads them.
            crc: policy for wrong checksums.
        """
        self._paths = paths
        self._codec = codec
        self._crc: CrcPolicy = crc
        self.unreadable = 0
        self.broken = 0

    def segments(self) -> Iterator[Segment]:
        """Yield each segment, closed when the next one is asked for."""
        for path in self._paths:
            for file in self._files(path):
                try:
                    segment = Segment(file, codec=self._codec, crc=self._crc)
                except KafkaSpecError as error:
                    self.cannot_read(error)
                    continue
                with segment:
                    yield segment

    def batches(self, from_offset: int | None) -> Iterator[tuple[Batch, str]]:
        """Yield each batch that ends at or after an offset, and the path of its file."""
        for segment in self.segments():
            for item in segment.scan():
                if isinstance(item, KafkaSpecError):
                    self.cannot_decode(item)
                elif from_offset is None or item.last_offset >= from_offset:
                    yield item, segment.name or ""
            report_tail(segment)

    def logs(self) -> Iterator[tuple[str, Segment | Partition]]:
        """Yield the name of each segment and partition, and itself, closed as ``segments`` does."""
        for path in self._paths:
            try:
                with open_log(path, codec=self._codec) as opened:
                    if not isinstance(opened, LogDirectory):
                        yield str(path), opened
                        continue
                    partitions = self._readable(opened)
                for partition in partitions:
                    with partition:
                        yield str(partition.path), partition
            except KafkaSpecError as error:
                self.cannot_read(error)

    def cannot_read(self, error: KafkaSpecError) -> None:
        """Report an input that could not be opened."""
        self.unreadable += 1
        warn(str(error))

    def cannot_decode(self, error: KafkaSpecError) -> None:
        """Report an entry that is skipped."""
        self.broken += 1
        warn(str(error))

    def _files(self, path: Path) -> list[Path]:
        try:
            with open_log(path, codec=self._codec) as opened:
                if isinstance(opened, LogDirectory):
                    self._readable(opened)
                return log_files(opened)
        except KafkaSpecError as error:
            self.cannot_read(error)
            return []

    def _readable(self, directory: LogDirectory) -> list[Partition]:
        """Return the partitions of a log directory, and report those that cannot be listed."""
        for error in directory.unreadable.values():
            self.cannot_read(error)
        return directory.readable


def report_tail(segment: Segment) -> None:
    """Report the bytes at the end of a segment that was read and that are no entry."""
    if segment.tail is not None and segment.tail.reason != "corrupt":  # that was an error
        place = f"{segment.name} at byte {segment.tail.position}"
        warn(f"{place}: {segment.tail}; the log ends there")


def log_bytes(opened: object) -> int:
    """Return the number of bytes to read, without files that cannot be accessed."""
    if isinstance(opened, Segment):
        return opened.size
    total = 0
    for file in log_files(opened):
        with suppress(OSError, KafkaSpecError):  # reading it says why
            total += file.stat().st_size
    return total


def log_files(opened: object) -> list[Path]:
    """Return the files with log entries of an opened log, in order."""
    if isinstance(opened, Segment):
        return [] if opened.path is None else [opened.path]
    if isinstance(opened, Partition):
        return [*opened.segment_paths, *opened.checkpoint_paths]
    assert isinstance(opened, LogDirectory)
    return [file for partition in opened.readable for file in log_files(partition)]
