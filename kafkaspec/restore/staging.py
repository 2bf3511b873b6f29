"""A log directory in the making: links to what is taken, and real files where that is changed.

The plan of a restore reads it as any log directory; writing it puts copies in the place of links.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any, Final

from kafkaspec.files import names as files
from kafkaspec.files.checkpoints import leader_epoch_checkpoint, offset_checkpoint
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.files.checkpoints.offset_checkpoint import PartitionOffset
from kafkaspec.forensics.cleaner.writing import rewritten, shell
from kafkaspec.forensics.salvage import SalvagedPartition, salvage
from kafkaspec.io.local import FileReading, cloned, copied
from kafkaspec.io.remote import is_mounted
from kafkaspec.layout.kinds import CURRENT
from kafkaspec.log.batch import NO_TIMESTAMP, Batch
from kafkaspec.log.encoding import encode
from kafkaspec.log.headers import read_headers, sound_headers
from kafkaspec.log.partition import Partition
from kafkaspec.output.atomic import cannot_write
from kafkaspec.restore.filling import Filled, before_first, fill_holes
from kafkaspec.restore.replica_choice import Choice
from kafkaspec.restore.restore_options import RestoreReflink
from kafkaspec.restore.restore_plan import RestoredBytes
from kafkaspec.tiered.objects import reading_of

_PART: Final = 8 << 20
"""Bytes of a file that are fetched at once."""


class RestoredLogs:
    """The log directory in the making.

    Args:
        path: an empty directory.
        reflink: whether segments share the blocks of their sources.
    """

    def __init__(self, path: Path, reflink: RestoreReflink = "auto") -> None:
        self.path = path
        self._reflink: RestoreReflink = reflink
        self._taken: dict[Path, tuple[str, int]] = {}
        """How many bytes of a segment are its source's, and in which way."""

    def check_sharing(
        self, to: str | PathLike[str], segments: Iterable[Path], *, link: bool
    ) -> None:
        """Refuse to write what cannot share its bytes with its sources, if that is asked.

        Args:
            to: the output, for the error.
            segments: the segments of the sources; one of each file system is tried.
            link: whether they are to become hard links.

        Raises:
            KafkaSpecError: ``unreadable``: a segment cannot be linked, or share blocks.
        """
        if not link and self._reflink != "always":
            return
        aside = self.path / "shared.part"
        for source in {path.stat().st_dev: path for path in segments}.values():
            if link:
                try:
                    os.link(source.resolve(), aside)
                except OSError as error:
                    raise cannot_write(to, f"no hard link to {source}: {error.strerror}") from None
                aside.unlink()
            if self._reflink == "always":
                with closing(FileReading(source)) as reading, open(aside, "xb") as file:
                    _clone(reading, file, to)
                aside.unlink()

    def take(
        self, choice: Choice, cut: int | None, *, fill: bool, fetch: bool
    ) -> tuple[Partition, SalvagedPartition | None, list[Filled]]:
        """Stage the copy of a partition that is taken.

        Args:
            choice: the copies.
            cut: the first offset to leave out, of a batch; None for the whole log.
            fill: whether lost batches are taken from the other copies.
            fetch: whether segments in remote storage are fetched.

        Returns:
            What a broker gets, what salvaging a damaged copy did, and what others gave it.

        Raises:
            KafkaSpecError: the copy cannot be read, or nothing can be written.
        """
        taken = choice.taken
        target = self.path / f"{taken.topic}-{taken.partition}"
        report = None
        filled: list[Filled] = []
        if taken.is_remote and not fetch:
            self.make(taken.topic, taken.partition, taken.content.end_offset)
            self._put_epochs(target, taken.log.leader_epochs)
        elif taken.is_damaged:
            with _local(taken.log) as source:
                (report,) = salvage(
                    source, target, fill="none" if fill else "tail", sync=False
                ).partitions
            if fill:
                before = taken.before_first
                holes = [each.offsets for each in report.lost if each.offsets != before]
                others = [each.log for each in choice.others]
                filled = fill_holes(target, holes, others, taken.log.leader_epochs)
                self._fill_end(target, report.old_end, choice.leader_epoch - 1)
            for path in target.iterdir():
                if path.suffix not in files.SEGMENTS and path.name != files.LEADER_EPOCHS:
                    path.unlink()
        else:
            target.mkdir()
            for path in taken.log.segment_paths:
                if isinstance(path, Path):
                    (target / path.name).symlink_to(path.resolve())
                elif taken.is_remote:
                    _fetch(taken.log, path, target, None)
                else:
                    _download(path, target)
            self._put_epochs(target, taken.log.leader_epochs)
        if fill:
            filled += self._fill_before(target, choice)
        if fetch:
            self._fetch_before(target, choice)
        if cut is not None:
            self._cut(target, cut)
        return Partition(target), report, filled

    def make(self, topic: str, partition: int, start: int) -> Partition:
        """Stage an empty partition that begins at an offset, and return it."""
        target = self.path / f"{topic}-{partition}"
        target.mkdir()
        (target / files.segment_name(start, files.LOG)).touch()
        return Partition(target)

    def begin_again(self, topic: str, partition: int, start: int) -> Partition:
        """Put an empty partition that begins at an offset in the place of a staged one."""
        place = self.path / f"{topic}-{partition}"
        shutil.rmtree(place)
        self._taken = {path: how for path, how in self._taken.items() if path.parent != place}
        return self.make(topic, partition, start)

    def _put_epochs(self, target: Path, epochs: Sequence[EpochEntry]) -> None:
        if epochs:
            data = leader_epoch_checkpoint.serialize(epochs)
            (target / files.LEADER_EPOCHS).write_bytes(data)

    def _fetch_before(self, target: Path, choice: Choice) -> None:
        """Fetch the segments before the first local one from remote storage."""
        with closing(Partition(target)) as log:
            begins = log.first_base_offset or 0
        for copy in choice.others:
            if copy.is_remote and (copy.log.first_base_offset or 0) < begins:
                for base, path in zip(copy.log.base_offsets, copy.log.segment_paths, strict=True):
                    if base < begins:
                        _fetch(copy.log, path, target, begins)
                break

    def _fill_before(self, target: Path, choice: Choice) -> list[Filled]:
        """Take from another copy what is missing before the first segment."""
        hole = choice.taken.before_first
        tiered = any(each.is_remote for each in (choice.taken, *choice.others))
        if hole is None or hole.end is None or tiered:
            return []
        others = [each.log for each in choice.others if each.has_all_before(hole.end)]
        found = before_first(target, hole, others, choice.taken.log.leader_epochs)
        if found is None:
            return []
        log, filled = found
        bases = log.base_offsets
        for number, path in enumerate(log.segment_paths):
            end = bases[number + 1] if number + 1 < len(bases) else None
            if bases[number] >= hole.end:
                break
            if end is not None and end <= filled.first_offset:
                continue
            if end is not None and end <= hole.end and isinstance(path, Path):
                (target / path.name).symlink_to(path.resolve())
            else:
                _fetch(log, path, target, hole.end)
        return [filled]

    def _fill_end(self, target: Path, end: int, epoch: int) -> None:
        """Put an empty batch in the place of what is lost at the end, as ``salvage`` does."""
        with closing(Partition(target)) as log:
            start = log.log_end_offset
            magics = {batch.magic for batch in log.batches(start_offset=max(start - 1, 0))}
        if start < end and magics <= {CURRENT}:
            data = encode(
                [], base_offset=start, last_offset=end - 1, max_timestamp=NO_TIMESTAMP,
                partition_leader_epoch=epoch,
            )  # fmt: skip
            self.append(*_name(target), data)

    def _cut(self, target: Path, cut: int) -> None:
        """Leave out the batches from an offset on, and the epochs that begin after it."""
        with closing(Partition(target)) as log:
            epochs = log.leader_epochs
            for base, path in zip(log.base_offsets, log.segment_paths, strict=True):
                if base >= cut and path != log.segment_paths[0]:
                    path.unlink()
                    continue
                with log.open_segment(path) as segment:
                    for table in sound_headers(segment):
                        number = bisect_left(table.last_offset, cut)
                        if number < len(table):
                            self._replace(path, table.position[number])
                            break
        self._put_epochs(target, [each for each in epochs if each.start_offset < cut])

    def append(self, topic: str, partition: int, data: bytes) -> Partition:
        """Append batches to a staged partition, and return it as it is now."""
        target = self.path / f"{topic}-{partition}"
        with closing(Partition(target)) as log:
            (*_, last) = log.segment_paths or [target / files.segment_name(0, files.LOG)]
        if last.is_symlink():
            self._replace(last, None)
        with open(last, "ab") as file:
            file.write(data)
        return Partition(target)

    def leave_out(self, topic: str, partition: int, offsets: Sequence[int]) -> Partition:
        """Write a staged partition without some records, as a cleaner does, and return it.

        Args:
            topic: its topic.
            partition: its number.
            offsets: of the records, in order.
        """
        target = self.path / f"{topic}-{partition}"
        gone = set(offsets)
        with closing(Partition(target)) as log:
            for path in log.segment_paths:
                assert isinstance(path, Path)  # it is staged
                aside = target / f"{path.name}.part"
                with closing(log.open_segment(path)) as segment, open(aside, "xb") as file:
                    for table in read_headers(segment):
                        done = 0
                        for number in range(len(table)):
                            first, last = table.first_offset_of(number), table.last_offset[number]
                            at = bisect_left(offsets, first)
                            if at < len(offsets) and offsets[at] <= last:
                                if done < number:
                                    file.write(table.data(done, number))
                                file.write(_without(table.batch(number), gone))
                                done = number + 1
                        if done < len(table):
                            file.write(table.data(done, len(table)))
                path.unlink()
                aside.rename(path)
                self._taken.pop(path, None)
        return Partition(target)

    def put_log_starts(self, starts: Mapping[tuple[str, int], int]) -> None:
        """Write the checkpoint of log start offsets."""
        entries = [PartitionOffset(*place, offset) for place, offset in sorted(starts.items())]
        if entries:
            data = offset_checkpoint.serialize(entries)
            (self.path / files.LOG_START_OFFSETS).write_bytes(data)

    def materialize(self, *, link: bool) -> RestoredBytes:
        """Put copies in the place of links, and return the sizes of all segments.

        Args:
            link: whether segments that no broker appends to become hard links to their sources.

        Raises:
            KafkaSpecError: ``unreadable``: a segment cannot share blocks, and has to.
        """
        sizes = dict.fromkeys(("shared", "linked", "copied", "made"), 0)
        for directory in self.path.iterdir():
            if not directory.is_dir():
                continue
            segments = sorted(directory.glob(f"*{files.LOG}"))
            for path in segments:
                if path.is_symlink():
                    if link and path != segments[-1]:
                        source = path.readlink()
                        path.unlink()
                        os.link(source, path)
                        self._taken[path] = "linked", path.stat().st_size
                    else:
                        self._replace(path, None)
                how, size = self._taken.get(path, ("made", 0))
                sizes[how] += size
                sizes["made"] += path.stat().st_size - size
        return RestoredBytes(**sizes)

    def _replace(self, path: Path, end: int | None) -> None:
        """Put a copy of a file, or of its first bytes, in the place of a link to it.

        A file that is not a link is cut.
        """
        source = path.resolve()
        status = source.stat()
        size = status.st_size if end is None else end
        if path.is_symlink():
            aside = path.with_name(f"{path.name}.part")
            with closing(FileReading(source)) as reading, open(aside, "xb") as file:
                self._taken[path] = self._copy(reading, size, file), size
            path.unlink()
            aside.rename(path)
        else:
            os.truncate(path, size)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _copy(self, reading: FileReading, size: int, file: IO[bytes]) -> str:
        """Write the first bytes of a file into an empty one, and return the way."""
        if self._reflink == "always":
            _clone(reading, file, file.name)
        elif self._reflink == "never" or not cloned(reading, file):
            if self._reflink == "never" or not copied(reading, 0, size, file):
                for start in range(0, size, _PART):
                    file.write(reading.read(start, min(_PART, size - start)))
            return "copied"
        file.truncate(size)
        return "shared"


@contextmanager
def _local(log: Partition) -> Iterator[Path]:
    """Yield the directory of a log; of one by URL, a temporary copy, with checkpoints above it."""
    if isinstance(log.path, Path) or is_mounted(log.path):
        yield log.path
        return
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / f"{log.topic}-{log.partition}"
        target.mkdir()
        for source, copy in ((log.path, target), (log.path.parent, target.parent)):
            for path in source.iterdir():
                if not path.is_dir():
                    _download(path, copy)
        yield target


def _download(path: Path, target: Path) -> None:
    """Write a file that has a URL into a directory, as it is."""
    with closing(reading_of(path)) as reading, open(target / path.name, "xb") as file:
        for start in range(0, reading.size, _PART):
            file.write(reading.read(start, min(_PART, reading.size - start)))


def _without(batch: Batch, gone: Collection[int]) -> bytes:
    """Return a batch without some of its records."""
    kept = [record for record in batch.records() if record.offset not in gone]
    if kept:
        return rewritten(batch, kept, batch.delete_horizon, batch.magic)
    return shell(batch) if batch.kind.has_record_sets else b""


def _fetch(log: Partition, path: Any, target: Path, end: int | None) -> None:
    """Write a segment of another copy, up to the batch that reaches an offset."""
    with closing(log.open_segment(path)) as segment, open(target / path.name, "xb") as file:
        for table in read_headers(segment):
            number = len(table) if end is None else bisect_left(table.last_offset, end)
            if number:
                file.write(table.data(0, number))
            if number < len(table):
                break


def _name(target: Path) -> tuple[str, int]:
    topic, _, number = target.name.rpartition("-")
    return topic, int(number)


def _clone(reading: FileReading, file: IO[bytes], target: str | PathLike[str]) -> None:
    """Let an empty file share the blocks of another one."""
    if not cloned(reading, file):
        text = (
            f"no blocks can be shared with {reading.name}: both have to be on one file system that"
        )
        text += " can, such as XFS or Btrfs"
        raise cannot_write(target, text)
