"""Open the paths of the command line as segments, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kafkaspec.cli.console import warn
from kafkaspec.cli.options import wrong_usage
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.batch import Batch, CrcPolicy
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.missing import missing
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.log.selection import Selection, check_isolation, selected_batches


class Inputs:
    """The inputs of a command; counts and reports what cannot be read and what is missing.

    Attributes:
        unreadable: number of files and directories that could not be read at all.
        broken: number of entries that could not be decoded.
        lost: number of places where something is missing.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        codec: str,
        crc: CrcPolicy = "error",
        selection: Mapping[str, Any] | None = None,
    ) -> None:
        """Prepare to read some paths.

        Args:
            paths: segments, partition directories or log directories.
            codec: name of the codec that reads them.
            crc: policy for wrong checksums.
            selection: as ``selection_options`` gives it; all records by default.
        """
        self._paths = paths
        self._codec = codec
        self._crc: CrcPolicy = crc
        options = {} if selection is None else dict(selection)
        if options.get("on_error") == "skip":
            options["on_error"] = self.cannot_decode
        self._wanted = Selection(control=True, **options)
        self._current: Segment | Partition | None = None
        self._last: int | None = None
        self.unreadable = 0
        self.broken = 0
        self.lost = 0

    def batches(self) -> Iterator[tuple[Batch, str, Selection]]:
        """Yield each batch that may hold wanted records, the path of its file, and the selection.

        What is missing in a partition is reported after its last batch.
        """
        for _, log in self.logs():
            self._current, self._last = log, None
            unreadable = self.unreadable
            for segment, wanted in self._segments(log):
                for batch in selected_batches(segment, wanted):
                    self._last = batch.last_offset
                    yield batch, segment.name or "", wanted
            self._current = None
            if unreadable == self.unreadable:  # that is an error already
                self.report_missing(log)

    def finish(self) -> None:
        """Report what is missing up to the last batch that was yielded, if reading ended there."""
        if self._current is not None and self._last is not None:
            self.report_missing(self._current, self._last + 1)

    def report_missing(
        self, log: Segment | Partition | LogDirectory, end_offset: int | None = None, **options: Any
    ) -> None:
        """Report what a log does not deliver of the selection, up to an offset.

        Args:
            log: the log.
            end_offset: the offset after the last one to deliver, None for all.
            options: other arguments of ``missing`` than the selection has.
        """
        wanted = self._wanted
        bounds = [bound for bound in (end_offset, wanted.end_offset) if bound is not None]
        given = {"start_offset": wanted.start_offset, "log_start": wanted.log_start} | options
        try:
            for item in missing(log, end_offset=min(bounds, default=None), **given):
                self.lost += item.is_loss
                warn(str(item) if item.is_loss else f"note: {item}")
        except KafkaSpecError as error:
            self.cannot_read(error)

    def _segments(self, log: Segment | Partition) -> Iterator[tuple[Segment, Selection]]:
        """Yield each segment and KRaft snapshot, closed when the next one is asked for."""
        if isinstance(log, Segment):
            with wrong_usage(ValueError):
                check_isolation(self._wanted.isolation)
            yield log, self._wanted
            return
        wanted = log.resolve(self._wanted)
        paths = log.paths_from(wanted.start_offset, wanted.end_offset)
        for path in (*paths, *log.checkpoint_paths):
            try:
                segment = Segment(path, codec=self._codec, crc=self._crc)
            except KafkaSpecError as error:
                self.cannot_read(error)
                continue
            with segment:
                yield segment, self._wanted if path in log.checkpoint_paths else wanted

    def logs(self) -> Iterator[tuple[str, Segment | Partition]]:
        """Yield the name of each segment and partition, and itself, closed as ``segments`` does."""
        for path in self._paths:
            try:
                with open_log(path, codec=self._codec, crc=self._crc) as opened:
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

    def _readable(self, directory: LogDirectory) -> list[Partition]:
        """Return the partitions of a log directory, and report those that cannot be listed."""
        for error in directory.unreadable.values():
            self.cannot_read(error)
        return directory.readable


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
