"""The fate of the directory of one partition when a broker loads it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final
from uuid import UUID

from kafkaspec.analysis.text_checks import size_of
from kafkaspec.broker import recovery
from kafkaspec.broker.actions import BrokerAction, Recovery
from kafkaspec.broker.leader_epochs import LeaderEpochs
from kafkaspec.broker.listing import LoaderFiles, list_files
from kafkaspec.broker.loading import Load, LoadedSegment, Loader
from kafkaspec.broker.producer_state import ProducerState
from kafkaspec.broker.segment_run import RunSettings
from kafkaspec.broker.text_files import first_negative
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files import names
from kafkaspec.files.checkpoints import leader_epoch_checkpoint, partition_metadata
from kafkaspec.files.indexes import INDEXES
from kafkaspec.files.names import PartitionName
from kafkaspec.forensics.doctor.troubles import (
    FAULTS,
    DirectoryFate,
    Effect,
    SegmentOutcome,
    Trouble,
    TroubleKind,
    above,
    bad_file,
    move_away,
    quoted,
)
from kafkaspec.io.local import file_size
from kafkaspec.log.damage import judge
from kafkaspec.log.headers import read_headers
from kafkaspec.log.missing import missing
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.results import OffsetRange, Strength

_DELETED, _CLEANED, _SWAP = names.STATES

_LEFTOVERS: Final = {
    _DELETED: (TroubleKind.DELETED_FILE, "the broker was about to delete it"),
    _CLEANED: (TroubleKind.CLEANED_FILE, "a compaction or a split was writing it, and did not end"),
    _SWAP: (TroubleKind.SWAP_FILE, "it is part of a split that did not end"),
}


def listed(files: LoaderFiles) -> Iterator[Trouble]:
    """Yield what a broker meets before it loads a segment."""
    for path in files.unreadable:
        text = "it cannot be read: the broker gives the log directory up, if it has no more rights"
        remedy = "give the user of the broker the right to read and write it"
        yield Trouble(TroubleKind.UNREADABLE, text, str(path), Effect.OFFLINE, remedy)
    for path in files.without_number:
        text = "the broker reads the text before the first dot as an offset, and does not start: "
        text += "it is not a number"
        remedy = "move it out of the log directory"
        yield Trouble(
            TroubleKind.FILE_NUMBER, text, str(path), Effect.KILLS, remedy, move_away(path)
        )
    yield from map(_leftover, files.leftovers)
    yield from map(_put_in_place, files.promoted)
    for path, log in files.orphans:
        yield _orphan(path, log)


def held(path: Path) -> tuple[OffsetRange | None, int]:
    """Return the offsets of the batches at the start of a file, and the bytes that they take."""
    first = last = None
    end = 0
    with suppress(KafkaSpecError), Segment(path) as segment:
        for headers in read_headers(segment, 0):
            if first is None:
                first = headers.first_offset_of(0)
            last, end = headers.last_offset[-1] + 1, headers.end
    return (None if first is None or last is None else OffsetRange(first, last)), end


def _leftover(path: Path) -> Trouble:
    state = path.suffix
    kind, why = _LEFTOVERS[state]
    offsets, end = (None, 0)
    remedy = command = None
    if path.name.removesuffix(state).endswith(names.LOG):
        offsets, end = held(path)
    if offsets is not None and state == _DELETED:
        remedy = "copy it before the start if its records are wanted: what was cut or expired is "
        remedy += "in it"
        command = f"cp -p {quoted(path)} {quoted(above(path.parent.parent))}"
    size = size_of(path)
    text = f"{why}; the start deletes it"
    if offsets is not None:
        text += f"; it holds {offsets} in {end:,} of {size:,} bytes"
    return Trouble(
        kind, text, str(path), Effect.DELETES, remedy, command, offsets=offsets, size=size
    )


def _put_in_place(path: Path) -> Trouble:
    offsets = None
    if path.name.removesuffix(_SWAP).endswith(names.LOG):
        offsets, _ = held(path)
    text = "a compaction or a split had written it; the start renames it to "
    text += f"{path.name.removesuffix(_SWAP)}"
    return Trouble(
        TroubleKind.SWAP_FILE, text, str(path), Effect.PROMOTES, offsets=offsets, size=size_of(path)
    )


def _orphan(path: Path, log: str) -> Trouble:
    offset = names.offset_in(path.name)
    return Trouble(
        TroubleKind.ORPHAN,
        f"there is no {log} that it belongs to: the start deletes it. A segment of this name was "
        "here once",
        str(path),
        Effect.DELETES,
        "look for the segment in a backup, or on a replica",
        offsets=None if offset is None else OffsetRange(offset, None),
        size=size_of(path),
    )


_THEN: Final = {
    Recovery.CUTS: "cuts it here, and deletes all later ones",
    Recovery.EMPTIES: "empties it, and deletes all later ones",
    Recovery.REFUSES: "ends the whole broker",
}
"""What recovery makes of damage."""
DELETE, FUTURE, STRAY = "-delete", "-future", "-stray"


@dataclass(frozen=True, slots=True)
class Stop:
    """How a broker stopped, as far as it concerns a partition; 0 for no offset in a checkpoint."""

    clean: bool
    recovery_point: int = 0
    log_start: int = 0


@dataclass
class Examination:
    """The load of a partition directory, predicted.

    Args:
        settings: its release and ``index.interval.bytes``.
        whole: whether to read segments too that the start does not read.

    Attributes:
        topic_id: in ``partition.metadata``; None without one.
        bad_id: whether that file cannot be read.
    """

    path: Path
    name: PartitionName
    stop: Stop
    settings: RunSettings
    whole: bool = False

    def __post_init__(self) -> None:
        path, name = self.path, self.name
        self.outcome = DirectoryFate(path, name.topic, name.partition, name.state, path.name)
        self.topic_id: UUID | None = None
        self.bad_id = False
        self.unread = 0
        self.troubles: list[Trouble] = []
        try:
            for item in self._examine():
                self.troubles.append(self._placed(item))
        except (KafkaSpecError, OSError) as error:
            self.unread += 1
            self.troubles.append(self._placed(self._unreadable(path, error)))

    def _placed(self, trouble: Trouble) -> Trouble:
        return replace(trouble, topic=self.name.topic, partition=self.name.partition)

    def _examine(self) -> Iterator[Trouble]:
        listing = list_files(self.path)
        yield from listed(listing)
        yield from self._text_files(listing)
        if listing.fails:
            return
        yield from self._misnamed(listing)
        if not listing.segments:
            yield from self._empty(listing)
        else:
            yield from self._segments(listing)
        if self.name.state != DELETE:
            yield from self._lost()

    def _lost(self) -> Iterator[Trouble]:
        """Yield what nobody can get back from the directory, by the rule of all commands."""
        with Partition(self.path) as log:
            for item in missing(
                log, log_start="ignore", ends_only=not self.whole, judge=judge, check=self.whole
            ):
                if item.lost is None:
                    continue
                yield Trouble(
                    TroubleKind.LOST_OFFSETS,
                    item.message,
                    item.file,
                    Effect.IGNORES,
                    "look for them on a replica, or in a backup; salvage gets back what is intact",
                    f"kafkaspec salvage {quoted(self.path)} -o NEW",
                    position=item.position,
                    offsets=item.lost,
                    size=item.size or None,
                    strength=Strength.PROOF if item.named else Strength.STRONG,
                )

    def _unreadable(self, path: Path, error: KafkaSpecError | OSError) -> Trouble:
        detail = error.detail if isinstance(error, KafkaSpecError) else str(error)
        if _changed(error):
            return Trouble(
                TroubleKind.UNREADABLE,
                f"{detail}; it changed while it was read, so that nothing can be said of it",
                str(path),
                Effect.NOTHING,
                "stop the broker, or copy the log directory, and ask again",
                strength=Strength.UNKNOWN,
            )
        text = f"{detail}; a broker with the same rights gives the log directory up"
        remedy = "give the user of the broker the right to read and write it"
        return Trouble(TroubleKind.UNREADABLE, text, str(path), Effect.OFFLINE, remedy)

    # -- text files -----------------------------------------------------------------------------

    def _text_files(self, listing: LoaderFiles) -> Iterator[Trouble]:
        metadata = listing.present.get(names.PARTITION_METADATA)
        epochs = listing.present.get(names.LEADER_EPOCHS)
        if metadata is not None:
            try:
                self.topic_id = partition_metadata.read(metadata).topic_id
            except KafkaSpecError as error:
                self.bad_id = True
                effect, text = bad_file(metadata, error)
                yield Trouble(
                    TroubleKind.PARTITION_METADATA,
                    f"{error.detail}; {text}",
                    str(metadata),
                    effect,
                    "write the topic's id into it, as kafka-topics.sh --describe or "
                    "`kafkaspec cluster` shows it",
                    f"printf 'version: 0\\ntopic_id: %s' TOPIC_ID > {quoted(metadata)}",
                    position=error.position,
                )
        if epochs is not None:
            yield from self._leader_epochs(epochs)

    def _leader_epochs(self, path: Path) -> Iterator[Trouble]:
        try:
            wrong = first_negative(leader_epoch_checkpoint.read(path))
            if wrong is None:
                return
            detail = f"epoch {wrong.epoch} from offset {wrong.start_offset} is negative"
            position, (effect, text) = wrong.position, FAULTS[BrokerAction.REFUSES_START]
        except KafkaSpecError as error:
            detail, position, (effect, text) = error.detail, error.position, bad_file(path, error)
        yield Trouble(
            TroubleKind.LEADER_EPOCHS,
            f"{detail}; {text}",
            str(path),
            effect,
            "rebuild it from the log, or move it away: recovery makes another",
            f"kafkaspec index {quoted(self.path)} -o NEW",
            position=position,
        )

    # -- segments -------------------------------------------------------------------------------

    def _misnamed(self, listing: LoaderFiles) -> Iterator[Trouble]:
        for made, path in listing.misnamed:
            size = file_size(path)
            self.outcome.segments.append(SegmentOutcome(path.name, size, size))
            if made not in listing.present:
                self.outcome.segments.append(SegmentOutcome(made, None, 0))
            base = names.offset_in(made)
            assert base is not None
            yield Trouble(
                TroubleKind.FOREIGN_FILE,
                f"a name of Kafka's has 20 digits: the start does not read it, but makes an empty "
                f"{made}, after which records of the segment before it are no longer found",
                str(path),
                Effect.IGNORES,
                "move it away, or give it its whole name",
                move_away(path),
                offsets=OffsetRange(base, None),
                size=size,
            )

    def _empty(self, listing: LoaderFiles) -> Iterator[Trouble]:
        name = names.SegmentName(self.stop.log_start, names.LOG).sibling(names.LOG)
        self.outcome.segments.append(SegmentOutcome(name, None, 0))
        self.outcome.start_offset = self.outcome.end_offset = self.stop.log_start
        if self.name.state != DELETE:
            yield Trouble(
                TroubleKind.EMPTY,
                f"there is no segment: the broker makes an empty one, at offset "
                f"{self.stop.log_start}",
                str(self.path),
                Effect.NOTHING,
                "look for its segments in a backup or on a replica, if there should be any",
                offsets=OffsetRange(self.stop.log_start, None),
            )

    def _segments(self, listing: LoaderFiles) -> Iterator[Trouble]:
        stop = self.stop
        segments = listing.segments
        deleting = self.name.state == DELETE
        loader = Loader(
            segments,
            listing.snapshots,
            self.settings,
            clean=stop.clean or deleting,
            recovery_point=stop.recovery_point,
            log_start=0 if deleting else stop.log_start,
            beside=listing.present,
        )
        load = loader.load()
        sizes = {item.path: file_size(item.path) for item in load.segments}
        outcome = self.outcome
        for item in load.segments:
            yield from self._segment(item, sizes[item.path])
        for name, path in listing.replaced.items():
            size = file_size(path)
            if name not in {
                names.segment_name(item.base_offset, names.LOG) for item in load.segments
            }:
                outcome.segments.append(SegmentOutcome(name, size, None))
            yield Trouble(
                TroubleKind.REPLACED,
                "a segment that is put in place has its offsets: the start deletes it",
                str(path),
                Effect.DELETES,
                offsets=held(path)[0],
                size=size,
            )
        for item in load.segments:
            kept: int | None = item.end
            if load.deletes or item.recovery is Recovery.REMOVES:
                kept = None
            name = names.SegmentName(item.base_offset, names.LOG).sibling(names.LOG)
            size = sizes[item.path]
            outcome.segments.append(SegmentOutcome(name, size, kept, item.alone))
            if item.alone or item.run is not None:
                outcome.read_bytes += size
        outcome.segments.sort(key=lambda item: item.name)
        if load.error is not None:
            yield self._fails(load)
            return
        outcome.end_offset = load.end_offset
        if load.deletes:
            yield from self._deletes(load, sizes)
            return
        kept_segments = [item for item in load.segments if item.recovery is not Recovery.REMOVES]
        outcome.start_offset = max(kept_segments[0].base_offset, self.stop.log_start)
        yield from self._below_start(kept_segments)
        if self.whole and self.name.state in ("", FUTURE):
            hidden = load.hidden()
            if hidden is not None:
                yield self._hidden(load.segments[-1], *hidden)
            for item in load.segments:
                if item.run is None and item.recovery is None:  # the start does not read it
                    yield from self._damaged(item)

    def _hidden(self, item: LoadedSegment, found: int, end: int) -> Trouble:
        index = item.path.with_suffix(names.OFFSET_INDEX)
        return Trouble(
            TroubleKind.HIDDEN,
            f"its last entry leads past the batches: the start takes {found} for the log end, and "
            f"not {end}; it hides offsets {found} to {end - 1}, and gives them out again",
            str(index),
            Effect.HIDES,
            "move it away, and the start makes it again; or rebuild it before the start",
            move_away(index),
            offsets=OffsetRange(found, end),
        )

    def _damaged(self, item: LoadedSegment) -> Iterator[Trouble]:
        producers = ProducerState(self.settings.profile)
        epochs = LeaderEpochs(self.settings.profile.epoch_file, None, item.base_offset)
        run = item.start(self.settings, producers, True, epochs)
        run.read()
        run.release()
        if run.ended not in _THEN:
            return
        size = file_size(item.path)
        why, then = "a batch was not written to its end", "fail there, or take it for the end"
        if run.error is not None:
            why, then = run.error.detail, "fail there"
        point = self.stop.recovery_point
        unread = "after a clean stop" if self.stop.clean else f"below the recovery point {point}"
        yield Trouble(
            TroubleKind.DAMAGED,
            f"{why}: this start does not look, {unread}, and consumers {then}; a start that "
            f"recovers the segment {_THEN[run.ended]}",
            str(item.path),
            Effect.IGNORES,
            "salvage the partition, or fetch it from another replica",
            f"kafkaspec salvage {quoted(self.path)} -o NEW",
            position=run.valid,
            offsets=OffsetRange(run.next_offset, item.following),
            size=size - run.valid,
        )

    def _segment(self, item: LoadedSegment, size: int) -> Iterator[Trouble]:
        path = str(item.path)
        if item.alone:
            text = "its offset index is missing, or its transaction index is bad: the start reads "
            text += "the segment, after a clean stop too, and rebuilds its indexes"
            command = f"kafkaspec index {quoted(item.path)} -o NEW"
            yield Trouble(
                TroubleKind.NO_INDEX, text, path, Effect.RECOVERS, command=command, size=size
            )
        if item.recovery is Recovery.CUTS or (
            item.recovery is Recovery.EMPTIES and item.end < size
        ):
            yield self._cut(item, size)
        elif item.recovery is Recovery.REMOVES:
            yield Trouble(
                TroubleKind.REMOVED,
                "a segment before it is cut: the start deletes it, whole as it may be",
                path,
                Effect.DELETES,
                "salvage the partition first; or move the offset index of the damaged segment "
                "away, and only that segment is cut",
                f"kafkaspec salvage {quoted(self.path)} -o NEW",
                offsets=held(item.path)[0],
                size=size,
            )
        elif item.recovery is Recovery.SPLITS:
            text = "its offsets do not fit into one segment: the start splits it"
            yield Trouble(TroubleKind.SPLIT, text, path, Effect.SPLITS, position=item.end)
        yield from self._first_batch(item, size)
        yield from self._padded(item)

    def _padded(self, item: LoadedSegment) -> Iterator[Trouble]:
        """Yield indexes with zeros after their entries that the start does not rebuild."""
        if item.recovery is not None:
            return
        for kind, reader in INDEXES.items():
            path = item.path.with_suffix(kind)
            if not path.exists():
                continue
            try:
                with closing(reader(path)) as index:
                    padding = index.padding
            except KafkaSpecError:
                continue  # the loader says what becomes of it
            if not padding:
                continue
            yield Trouble(
                TroubleKind.PADDED_INDEX,
                f"{padding:,} bytes of zeros follow its entries, since the broker did not close "
                "it, and the start takes them for entries: lookups begin at the start of the "
                "segment, and nothing can be added to the index",
                str(path),
                Effect.IGNORES,
                "rebuild it before the start",
                f"kafkaspec index {quoted(item.path)} -o NEW",
                strength=Strength.LIKELY,
            )

    def _cut(self, item: LoadedSegment, size: int) -> Trouble:
        error = None if item.run is None else item.run.error
        kept = 0 if item.recovery is Recovery.EMPTIES else item.end
        first = item.run.next_offset if item.run is not None else item.base_offset
        if error is None:
            text = "a batch was not written to its end, or zeros follow the last one"
        else:
            text = error.detail
        text += f": the start truncates the segment at byte {kept:,}, of {size:,}"
        text += ". Later segments stay, since its offset index is missing" if item.alone else ""
        remedy = "salvage the partition first: what is whole after the damage is lost otherwise"
        return Trouble(
            TroubleKind.CUT,
            text,
            str(item.path),
            Effect.CUTS,
            remedy,
            f"kafkaspec salvage {quoted(self.path)} -o NEW",
            position=kept,
            offsets=OffsetRange(first, item.following),
            size=size - kept,
        )

    def _first_batch(self, item: LoadedSegment, size: int) -> Iterator[Trouble]:
        """Yield a trap: a batch below the name of its file, which kills a broker on recovery."""
        # Only the first batch of a segment is looked at where nothing recovers the segment.
        if item.run is not None or not size:
            return
        try:
            with Segment(item.path) as segment:
                entry = recovery.entry_unchecked(segment, 0)
                first = None if entry is None else entry.last_offset[0]
        except KafkaSpecError:
            return
        if first is not None and first < item.base_offset:
            yield Trouble(
                TroubleKind.BASE_OFFSET,
                f"its first batch ends with offset {first}, below the name of the file. This start "
                "does not look; a start that recovers the segment ends the whole broker: after a "
                "crash, or without its offset index",
                str(item.path),
                Effect.IGNORES,
                "salvage the partition, which repairs the offset from its neighbours",
                f"kafkaspec salvage {quoted(self.path)} -o NEW --repair headers",
                position=0,
                offsets=OffsetRange(item.base_offset, item.following),
            )

    def _fails(self, load: Load) -> Trouble:
        error, failed = load.error, load.failed
        assert error is not None
        path = self.path if failed is None else failed.path
        return Trouble(
            TroubleKind.NOT_LOADED,
            f"{error.detail}: the broker fails when it loads this log, and does not start, with "
            "none of its partitions",
            str(path),
            Effect.KILLS,
            "salvage the partition, or move its directory away: the broker starts without it, and "
            "fetches it from other replicas if there are any",
            f"kafkaspec salvage {quoted(self.path)} -o NEW; {move_away(self.path)}",
            position=error.position if error.reason is not Reason.UNREADABLE else None,
            offsets=None if failed is None else OffsetRange(failed.base_offset, failed.following),
        )

    def _deletes(self, load: Load, sizes: dict[Path, int]) -> Iterator[Trouble]:
        start = self.stop.log_start
        name = names.SegmentName(start, names.LOG).sibling(names.LOG)
        self.outcome.start_offset = self.outcome.end_offset = start
        self.outcome.segments.append(SegmentOutcome(name, None, 0))
        yield Trouble(
            TroubleKind.ENDS_BEFORE_START,
            f"the log ends before its start offset, {start} in {names.LOG_START_OFFSETS}: the "
            "start deletes all segments, and begins an empty one there",
            str(self.path),
            Effect.DELETES,
            f"remove the partition's line from {names.LOG_START_OFFSETS}, and lower the count in "
            "its second line",
            offsets=OffsetRange(load.segments[0].base_offset, start),
            size=sum(sizes.values()),
        )

    def _below_start(self, kept: list[LoadedSegment]) -> Iterator[Trouble]:
        """Yield the segments that retention deletes as soon as the broker runs."""
        if self.name.state:
            return
        gone = [item for item, after in pairwise(kept) if after.base_offset <= self.stop.log_start]
        for item in gone:
            name = names.SegmentName(item.base_offset, names.LOG).sibling(names.LOG)
            self.outcome.segments = [
                replace(each, kept=None) if each.name == name else each
                for each in self.outcome.segments
            ]
            yield Trouble(
                TroubleKind.BELOW_START,
                f"all of it is below the log start offset, {self.stop.log_start}: the broker "
                "deletes it soon after the start. Its records were deleted before",
                str(item.path),
                Effect.DELETES,
                f"copy it first, or remove the partition's line from {names.LOG_START_OFFSETS}, if "
                "its records are wanted",
                offsets=OffsetRange(item.base_offset, item.following),
                size=file_size(item.path),
            )


def _changed(error: KafkaSpecError | OSError) -> bool:
    """Return whether a file was listed and is gone, or another one now."""
    if isinstance(error, OSError):
        return isinstance(error, FileNotFoundError)
    gone = error.file is not None and not os.path.lexists(error.file)
    return gone or error.reason is Reason.CHANGED
