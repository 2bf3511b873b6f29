"""Open the paths of the command line as segments, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import click

from kafkaspec.cli.console import warn
from kafkaspec.cli.exits import CLEAN, FINDINGS, USAGE
from kafkaspec.cli.options import wrong_usage
from kafkaspec.cli.report import LinePlace
from kafkaspec.codecs import DEFAULT_CODEC
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.names import parse_partition
from kafkaspec.log.batch import Batch
from kafkaspec.log.damage import ALWAYS_RAISED, judge
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.formats import FormatName
from kafkaspec.log.missing import Missing, missing, passed_over
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.log.selection import Selection, check_isolation, selected_batches
from kafkaspec.options import not_there
from kafkaspec.policy import CrcPolicy

if TYPE_CHECKING:
    from kafkaspec.arrow.where.condition import Where

Part = TypeVar("Part")


class HasUnread(Protocol):
    """A result with what could not be read."""

    @property
    def unread(self) -> Sequence[KafkaSpecError]: ...


Judged = TypeVar("Judged", bound=HasUnread)

_MOST_ERRORS: Final = 10
"""Errors of a log that are shown one by one."""


class Inputs:
    """The inputs of a command; counts and reports what cannot be read and what is missing.

    Attributes:
        read: number of segments, or of logs, that the command read of the current path.
        failed: number of paths of which nothing could be read.
        unreadable: number of files and directories that could not be read.
        broken: number of entries that could not be decoded.
        lost: number of places where something is missing.
        findings: number of findings of the command that count.
        topics: the topics of the logs.
        is_alone: whether no other inputs can have the topic that is wanted.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        codec: str = DEFAULT_CODEC,
        crc: CrcPolicy = "raise",
        selection: Mapping[str, Any] | None = None,
        where: Where | None = None,
        topic: str | None = None,
        log_format: FormatName | None = None,
    ) -> None:
        """Prepare to read some paths.

        Args:
            paths: segments, partition directories or log directories.
            codec: name of the codec that reads them.
            crc: policy for wrong checksums.
            selection: as ``selection_options`` gives it; all records by default.
            where: a condition: what cannot have such records is not read.
            topic: the one whose partitions are read; None for all.
            log_format: what the files are, None if their names say it.
        """
        self._paths = paths
        self._log_format = log_format
        self._codec = codec
        self._crc: CrcPolicy = crc
        whole: dict[str, Any] = {"log_start": "ignore"}  # a log is judged with all that is there
        options = whole if selection is None else dict(selection)
        if options.get("on_error") == "skip":
            options["on_error"] = self.cannot_decode
        wanted = Selection(include_control=True, **options)
        self._wanted = wanted if where is None else where.narrowed(wanted)
        self._where = where
        self._topic = topic
        self._skipped = 0
        self.topics = set[str]()
        self.is_alone = True
        self._current: Segment | Partition | None = None
        self._segment: Segment | None = None
        self._last: int | None = None
        self.read = 0
        self.failed = 0
        self.unreadable = 0
        self.broken = 0
        self.lost = 0
        self.findings = 0
        self._read_before = 0

    @property
    def exit_code(self) -> int:
        """The exit code that follows from the counts."""
        if self.failed:
            return USAGE
        counts = (self.unreadable, self.broken, self.lost, self.findings)
        return FINDINGS if any(counts) else CLEAN

    @property
    def summary(self) -> dict[str, int]:
        """The counts as the last line of a report has them."""
        return {
            "logs": self._read_before + self.read,
            "unreadable": self.unreadable,
            "undecoded": self.broken,
            "missing": self.lost,
            "findings": self.findings,
        }

    @property
    def counts(self) -> tuple[int, ...]:
        """The counts but that of paths, for ``add``."""
        return self.read, self.unreadable, self.broken, self.lost

    def add(self, counts: tuple[int, ...]) -> None:
        """Add what was counted elsewhere, of a part of the only path."""
        read, unreadable, broken, lost = counts
        self.read += read
        self.unreadable += unreadable
        self.broken += broken
        self.lost += lost
        self.failed = int(bool(self.unreadable) and not self.read + self._skipped)

    def batches(
        self, read: Callable[[Segment, Selection], Iterator[Batch]] = selected_batches
    ) -> Iterator[tuple[Batch, Segment, Selection]]:
        """Yield each batch that may hold wanted records, its segment, and the selection.

        What is missing in a partition is reported after its last batch.

        Args:
            read: returns these batches of a segment.
        """
        for batch, segment, wanted in self.parts(read):
            self.reached(batch)
            yield batch, segment, wanted

    def parts(
        self, read: Callable[[Segment, Selection], Iterator[Part]]
    ) -> Iterator[tuple[Part, Segment, Selection]]:
        """Yield what a function reads of each segment, with the segment and the selection.

        What is missing in a partition is reported after its last segment.
        """
        for _, log in self.logs():
            self._current, self._last = log, None
            for segment, wanted in self._segments(log):
                self._segment = segment
                try:
                    for part in read(segment, wanted):
                        yield part, segment, wanted
                except KafkaSpecError as error:
                    self.go_on(error)
            self._current = None
            self.report_missing(log)

    def reached(self, batch: Batch) -> None:
        """Note a batch for ``finish``."""
        self._last = batch.last_offset

    def ended_at(self, position: int) -> None:
        """Note the batch at a position of the current segment."""
        assert self._segment is not None
        self.reached(self._segment.batch_at(position))

    def finish(self) -> None:
        """Report what is missing up to the last batch that was noted, if reading ended there."""
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
            for item in missing(
                log,
                end_offset=min(bounds, default=None),
                judge=judge,
                check=self.broken > 0,
                **given,
            ):
                self.misses(item)
        except KafkaSpecError as error:
            self.cannot_read(error)

    def misses(self, item: Missing) -> None:
        """Report something that a log does not deliver."""
        self.lost += item.is_loss
        warn(str(item) if item.is_loss else f"note: {item}")

    def _segments(self, log: Segment | Partition) -> Iterator[tuple[Segment, Selection]]:
        """Yield each segment and KRaft snapshot, closed when the next one is asked for."""
        if isinstance(log, Segment):
            with wrong_usage(ValueError):
                check_isolation(self._wanted.isolation)
            self.read += 1
            yield log, self._wanted
            return
        try:
            wanted = log.resolve(self._wanted)
        except KafkaSpecError as error:
            self.go_on(error)
            return
        paths = log.paths_from(wanted.start_offset, wanted.end_offset)
        for path in (*paths, *log.checkpoint_paths):
            try:
                segment = log.open_segment(path)
            except KafkaSpecError as error:
                self.cannot_read(error)
                continue
            self.read += 1
            with segment:
                yield segment, self._wanted if path in log.checkpoint_paths else wanted

    def logs(self) -> Iterator[tuple[str, Segment | Partition]]:
        """Yield each segment and partition with its name, closed when the next one is asked for."""
        for path in self._paths:
            unreadable = self.unreadable
            self._read_before, self.read, self._skipped = self._read_before + self.read, 0, 0
            try:
                with open_log(
                    path, codec=self._codec, crc=self._crc, log_format=self._log_format
                ) as opened:
                    if isinstance(opened, LogDirectory):
                        yield from self._partitions(opened)
                    elif self.is_wanted(opened):
                        yield str(path), opened
                    else:
                        self._skipped += 1
            except KafkaSpecError as error:
                self.cannot_read(error)
            self.failed += self.unreadable > unreadable and not self.read + self._skipped
        if self.is_alone:
            check_topic(self._topic, self.topics, self.failed)

    def is_wanted(self, log: Segment | Partition) -> bool:
        """Return whether a log is of the topic of ``--topic``, if that was given."""
        topic = place_of(log)["topic"]
        if topic is not None:
            self.topics.add(topic)
        return self._topic in (None, topic)

    def whole_logs(self) -> Iterator[tuple[str, Segment | Partition]]:
        """Yield each log as ``logs`` does; a log that is cut off is reported after it."""
        for name, log in self.logs():
            self.read += 1
            yield name, log
            self.report_missing(log, ends_only=True)

    def results(
        self, read: Callable[[Segment | Partition], Judged]
    ) -> Iterator[tuple[Segment | Partition, Judged]]:
        """Yield each log of ``whole_logs`` with its result, and report what it could not decode."""
        for _, log in self.whole_logs():
            try:
                result = read(log)
            except KafkaSpecError as error:
                self.read -= 1
                self.cannot_read(error)
                continue
            self.undecoded(result.unread)
            yield log, result

    def undecoded(self, errors: Sequence[KafkaSpecError]) -> None:
        """Report what could not be decoded in a log."""
        for error in errors[:_MOST_ERRORS]:
            warn(str(error))
        self.broken += len(errors)
        if len(errors) > _MOST_ERRORS:
            text = f"{errors[0].file}: {len(errors) - _MOST_ERRORS:,} more that cannot be read"
            warn(text)

    def go_on(self, error: KafkaSpecError) -> None:
        """Report an error about a whole file, after which others can be read; raise any other."""
        if error.reason not in ALWAYS_RAISED:
            raise error
        self.cannot_read(error)

    def cannot_read(self, error: KafkaSpecError) -> None:
        """Report a file or directory that cannot be read."""
        self.unreadable += 1
        warn(str(error))

    def found(self, text: str | None = None) -> None:
        """Count a finding, and print it."""
        if text is not None:
            warn(text)
        self.findings += 1

    def stopped_by(self, error: KafkaSpecError) -> None:
        """Report an error that ends the work on a log: a file, or an entry in it."""
        (self.cannot_read if error.reason in ALWAYS_RAISED else self.cannot_decode)(error)

    def cannot_decode(self, error: KafkaSpecError) -> None:
        """Report an entry that is skipped."""
        self.broken += 1
        warn(str(error))

    def _partitions(self, directory: LogDirectory) -> Iterator[tuple[str, Partition]]:
        """Yield the current partitions of a log directory, and report what else there is."""
        for item in passed_over(directory):
            self.misses(item)
        for error in directory.unreadable.values():
            self.cannot_read(error)
        for partition in directory.current:
            where = self._where
            if not self.is_wanted(partition) or (
                where is not None and not where.may_be_in(partition.topic, partition.partition)
            ):
                self._skipped += 1
                continue
            with partition:
                yield str(partition.path), partition


def check_topic(topic: str | None, there: Collection[str], failed: int) -> None:
    """Refuse a topic of ``--topic`` that nothing is of, unless it may be in what cannot be read.

    Raises:
        UsageError: nothing is of it.
    """
    if topic is not None and topic not in there and not failed:
        raise click.UsageError(not_there("topic", topic, there))


def place_of(log: Segment | Partition) -> LinePlace:
    """Return topic and partition of a log, by the name of its directory; null without one."""
    home = log.path
    if isinstance(log, Segment):
        home = None if home is None else home.absolute().parent
    parsed = None if home is None else parse_partition(home.absolute().name)
    return {
        "topic": None if parsed is None else parsed.topic,
        "partition": None if parsed is None else parsed.partition,
    }


def place_text(place: LinePlace) -> str:
    """Return the name of a partition, ``-`` without one."""
    return "-" if place["topic"] is None else f"{place['topic']}-{place['partition']}"


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
    return [file for partition in opened.current for file in log_files(partition)]
