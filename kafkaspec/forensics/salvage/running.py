"""Get back the intact entries of damaged logs."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Final, TypedDict

from kafkaspec.broker.actions import Recovery
from kafkaspec.broker.index_rules import INDEX_INTERVAL_BYTES
from kafkaspec.broker.profiles import DEFAULT_PROFILE, Profile, get_profile
from kafkaspec.conversion.entries import cut_entry
from kafkaspec.errors import KafkaSpecError, Reason, make_error, none_of, unreadable
from kafkaspec.files import names
from kafkaspec.forensics.salvage.additions import (
    AddedMarkers,
    Addition,
    Decide,
    Fill,
    Outcomes,
    aborts,
    additions,
    by_base,
    decided_by,
    open_transactions,
    put_back,
)
from kafkaspec.forensics.salvage.plan import SegmentPlan, Sink, plan_segment
from kafkaspec.forensics.salvage.repair import Repair
from kafkaspec.forensics.salvage.report import LostOffsets, SalvagedPartition, SalvageReport
from kafkaspec.forensics.salvage.unproven import UnprovenFile, unproven_file
from kafkaspec.io.local import FileReading, copied, read_beside
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.headers import read_headers
from kafkaspec.log.missing import Account, Missing, MissingWhy, passed_over
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.options import Option, checked, explained
from kafkaspec.output.atomic import DirectoryAside, require_new
from kafkaspec.output.places import check_output
from kafkaspec.results import Assumption, Strength
from kafkaspec.writing.carried import WrittenLog, carry
from kafkaspec.writing.rebuild import Progress, rebuild_into

_AT_ONCE: Final = 8 << 20


class SalvageOptions(TypedDict, total=False):
    """Options of ``salvage``: what it repairs, adds and keeps."""

    repair: Annotated[Collection[Repair], Option("Repair single flipped bits, and fields of headers"
        " that no checksum covers.", "--repair", more="``bits``, ``headers``.")]  # fmt: skip
    fill: Annotated[Fill, Option("Put an empty batch in the place of lost offsets: those at the"
        " end, so that the broker does not give them out again, or all.", "--fill")]  # fmt: skip
    markers: Annotated[AddedMarkers, Option("End transactions whose markers may be lost: abort them"
        ", or ask --state.", "--markers", more="See ``AddedMarkers``.")]  # fmt: skip
    ambiguous: Annotated[bool, Option("Leave out intact batches that may be inside a value, or keep"
        " them.", "--ambiguous", more="They are kept if their offsets fit.")]  # fmt: skip
    unproven: Annotated[str | PathLike[str] | None, Option(
        "New file for unproven records: those of batches that stay broken, as JSON lines.",
        "--unproven", more="Nothing proves them; None leaves them out.")]  # fmt: skip


@explained(SalvageOptions)
@checked
def salvage(
    source: str | PathLike[str] | Sequence[str | PathLike[str]],
    out: str | PathLike[str],
    *,
    repair: Collection[Repair] = (),
    fill: Fill = "tail",
    markers: AddedMarkers = "none",
    ambiguous: bool = False,
    transaction_ids: Any = None,
    unproven: str | PathLike[str] | None = None,
    profile: str | Profile = DEFAULT_PROFILE,
    index_interval_bytes: int = INDEX_INTERVAL_BYTES,
    sync: bool = True,
    progress: Progress | None = None,
) -> SalvageReport:
    """Write the intact entries of damaged logs to new segments, with all files beside them.

    Entries after damage are found by their checksums. Since values of records may hold batches
    too, an entry is kept only where the bytes and the offsets around it agree. Kept entries are in
    the output byte for byte, under the same file names. The report says of each byte of the input
    what happened to it. The input is not changed.

    Args:
        source: a segment, a partition or a log directory, or several of them. Of a log directory,
            partitions that are being deleted or moved are left out.
        out: a new or empty directory: the partition, or for a log directory and for several
            sources a log directory with one for each partition and the checkpoints that hold. A
            partition alone has no checkpoint of its log start: entries below it are cut.
        ...
        transaction_ids: with ``state``, the table of ``kafkaspec.state.transactions``.
        profile: version of Kafka whose rules the files beside the segments follow.
        index_interval_bytes: ``index.interval.bytes``.
        sync: whether to force files to disk.
        progress: called with the number of bytes read and the name of the file.

    Raises:
        KafkaSpecError: ``unreadable``: a source or the output; of several partitions, all of them.
        ValueError: an option has an unknown value.
    """
    sources = [source] if isinstance(source, str | PathLike) else list(source)
    rules = get_profile(profile) if isinstance(profile, str) else profile
    settings = _Settings(
        frozenset(repair), fill, markers, ambiguous, transaction_ids, rules, index_interval_bytes,
        progress or (lambda _done, _name: None),
    )  # fmt: skip
    check_output(out, *sources)
    if unproven is not None:
        check_output(unproven, *sources)
    require_new(Path(out))
    with ExitStack() as stack:
        records = None if unproven is None else stack.enter_context(unproven_file(unproven))
        aside = stack.enter_context(DirectoryAside(out, sync=sync))
        report = _Salvage(settings, aside, records).run(sources)
    count = 0 if records is None else records.count
    return replace(
        report, unproven=None if unproven is None else os.fspath(unproven), unproven_records=count
    )


@dataclass(frozen=True, slots=True)
class _Settings:
    repair: frozenset[Repair]
    fill: Fill
    markers: str
    ambiguous: bool
    transaction_ids: Any
    profile: Profile
    interval: int
    progress: Progress


@dataclass(slots=True)
class _Salvage:
    settings: _Settings
    aside: DirectoryAside
    records: UnprovenFile | None
    failed: dict[str, KafkaSpecError] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)
    logs: list[WrittenLog] = field(default_factory=list)

    def run(self, sources: Sequence[str | PathLike[str]]) -> SalvageReport:
        """Salvage all sources."""
        done: list[SalvagedPartition] = []
        notes = []
        several = len(sources) > 1
        for source in sources:
            try:
                opened = open_log(source)
            except KafkaSpecError as error:
                if not several:
                    raise
                self.failed[os.fspath(source)] = error
                continue
            with opened:
                if isinstance(opened, LogDirectory):
                    notes += list(passed_over(opened))
                    self.failed.update(opened.unreadable)
                    for partition in opened.current:
                        done += self._tried(partition, f"{partition.path.name}/")
                else:
                    place = opened.path
                    assert place is not None
                    if isinstance(opened, Segment):
                        place = place.absolute().parent
                    prefix = f"{place.absolute().name}/" if several else ""
                    found = self._tried(opened, prefix)
                    if not found and not several:
                        raise none_of([*self.failed.values()], "read")
                    done += found
        if not done and self.failed:
            raise none_of([*self.failed.values()], "read")
        carried = carry(self.aside, self.logs, root=not any(log.cut for log in self.logs))
        return SalvageReport(tuple(done), self.failed, tuple(notes), checkpoints=carried)

    def _tried(self, log: Partition | Segment, prefix: str) -> Iterator[SalvagedPartition]:
        name = os.fspath(log.path or "")
        if prefix and prefix in self.used:
            detail = f"its output has the name of that of {self.used[prefix]}"
            self.failed[name] = make_error(Reason.UNREADABLE, detail, file=name)
            return
        self.used[prefix] = name
        try:
            yield self._partition(log, prefix)
        except KafkaSpecError as error:
            if self.aside.concerns(error):
                raise
            self.failed[name] = error
            if prefix:
                self.aside.remove_directory(prefix.rstrip("/"))

    def _partition(self, log: Partition | Segment, prefix: str) -> SalvagedPartition:
        plans, unreadable = self._plans(log)
        partition = log if isinstance(log, Partition) else None
        before, old_end = self._ends(plans, log)
        transactions = []
        outcomes = Outcomes(plans)
        ended = put_back(outcomes.ended)
        if any(plan.lost for plan in plans):
            transactions = open_transactions(plans, self.settings.profile, ended)
        topic, number = _name_of(log)
        decide: Decide | None = aborts if self.settings.markers == "abort" else None
        if self.settings.markers == "state":
            ids = self.settings.transaction_ids
            decide = decided_by([] if ids is None else ids.to_pylist(), topic, number)
        made, left, problems = additions(plans, transactions, decide, self.settings.fill, ended)
        by_segment = by_base(made)
        for plan in plans:
            own = by_segment.get(plan.base_offset, [])
            self._write(plan, own, prefix, is_last=plan is plans[-1])
        start = None if partition is None else partition.log_start_of("checkpoint")
        deleted = 0 if start is None or prefix else self._cut(start)
        rebuilt = rebuild_into(
            self.aside,
            prefix,
            profile=self.settings.profile,
            index_interval_bytes=self.settings.interval,
            log_start=start or 0,
        )
        refused = (item for item in rebuilt if item.recovery not in _TAKEN)
        cut = next((item.note or str(item.error) for item in refused), "")
        if partition is not None:
            self._copy_metadata(partition, prefix)
        new_end = max(
            [start or 0]
            + [plan.next_offset for plan in plans[-1:]]
            + [plan.next_offset for plan in plans if plan.pieces]
            + [item.added.last_offset + 1 for item in made]
        )
        interval = str(self.settings.interval)
        assumed = [Assumption("index.interval.bytes", interval, "no file says it")]
        assumed += [Assumption("filler", "left out", problem) for problem in problems]
        if partition is not None:
            added = min((item.added.first_offset for item in made), default=None)
            self.logs.append(
                WrittenLog(partition, self.aside.path / prefix, cut=not prefix, sound_end=added)
            )
        return SalvagedPartition(
            os.fspath(log.path or ""),
            os.path.join(self.aside.target, prefix).rstrip("/"),
            topic,
            number,
            tuple(plan.salvaged for plan in plans),
            (*before, *(lost for plan in plans for lost in plan.lost)),
            tuple(item.added for item in made),
            tuple(left),
            max(old_end, plans[-1].next_offset),
            new_end,
            cut,
            tuple(assumed),
            () if partition is None else tuple(passed_over(partition)),
            tuple(unreadable),
            tuple(outcomes.unknown),
            deleted,
        )

    # -- the input ----------------------------------------------------------------------------

    def _plans(self, log: Partition | Segment) -> tuple[list[SegmentPlan], list[KafkaSpecError]]:
        if isinstance(log, Segment):
            return [self._plan(log, None, log)], []
        plans: list[SegmentPlan] = []
        errors: list[KafkaSpecError] = []
        bases = [*log.base_offsets, None]
        for path, limit in zip(log.segment_paths, bases[1:], strict=True):
            try:
                with closing(log.open_segment(path)) as segment:
                    plans.append(self._plan(segment, limit, log))
            except KafkaSpecError as error:
                errors.append(error)
        if not plans:
            gone = unreadable(str(log.path), "it has no segments")
            raise none_of(errors, "read") if errors else gone
        return plans, errors

    def _plan(self, segment: Segment, limit: int | None, log: Partition | Segment) -> SegmentPlan:
        if not isinstance(segment.path, Path) or segment.base_offset is None:
            detail = "only a local segment named after its base offset can be salvaged"
            raise make_error(Reason.UNREADABLE, detail, file=segment.name)
        if not segment.format.is_written:
            detail = f"entries of Kafka {segment.format.name} have no place in a log of today; "
            raise make_error(Reason.UNREADABLE, f"{detail}convert the log", file=segment.name)
        sink: Sink | None = None
        if self.records is not None:
            sink = partial(self.records.add, *_name_of(log))
        settings = self.settings
        plan = plan_segment(segment, limit, settings.repair, sink, ambiguous=settings.ambiguous)
        self.settings.progress(segment.size, os.fspath(segment.path))
        return plan

    def _ends(
        self, plans: list[SegmentPlan], log: Partition | Segment
    ) -> tuple[list[LostOffsets], int]:
        """Note what is lost after segments; return what is before the first, and the old end."""
        by_path = {os.fspath(plan.path): plan for plan in plans}
        account = Account(log, judge=lambda segment, _: by_path[str(segment.path)].kept)
        before = [LostOffsets.of(item) for item in account.beside()]
        end = plans[-1].next_offset
        for plan in plans:
            with closing(Segment(plan.path)) as segment:
                found = account.of(segment, check=True) or []
            for item in found:
                if item.reason is MissingWhy.BROKEN and not item.size:
                    plan.lose_between(item)
                if item.lost and item.lost.end and item.reason in (MissingWhy.CUT, MissingWhy.END):
                    end = max(end, item.lost.end)
                    self._lose(plan, item, item.lost.end)
        return before, end

    def _lose(self, plan: SegmentPlan, item: Missing, end: int) -> None:
        if plan.next_offset >= end or (plan.lost and plan.lost[-1].last_offset >= end - 1):
            return
        kept = plan.kept_size
        causes = dict.fromkeys(
            each.cause for each in plan.stretches if each.cause and each.position >= kept
        )
        is_certain = item.named or plan.limit is None
        strength = Strength.STRONG if is_certain else Strength.LIKELY
        plan.lose(item, end, ", ".join((*causes, item.proof)), strength)

    # -- the output ---------------------------------------------------------------------------

    def _write(
        self, plan: SegmentPlan, made: Iterable[Addition], prefix: str, *, is_last: bool
    ) -> None:
        if not plan.pieces and not made and not is_last and plan.size:
            return
        parts: list[tuple[int, int, int, bytes | None]] = [
            (piece.first, piece.start, piece.end, piece.data) for piece in plan.pieces
        ]
        parts += [(item.added.first_offset, 0, 0, item.data) for item in made]
        parts.sort(key=lambda part: part[0])
        name = prefix + plan.path.name
        with (
            self.aside.opened(name) as file,
            closing(Segment(plan.path)) as segment,
            closing(FileReading(plan.path)) as source,
        ):
            if segment.size < plan.size:
                segment.check()
            buffer, _ = segment.cursor().at(0, segment.size)
            for _, start, end, data in parts:
                if data is not None:
                    file.write(data)
                    continue
                for position in range(start, end, _AT_ONCE):
                    segment.check()
                    size = min(_AT_ONCE, end - position)
                    if not copied(source, position, size, file):
                        file.write(buffer[position : position + size])
        # Brokers take the time of the file for that of messages without one.
        status = plan.path.stat()
        os.utime(self.aside.path / name, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _cut(self, start: int) -> int:
        """Cut what lies below the log start offset; return how many entries that concerns."""
        deleted = 0
        with closing(Partition(self.aside.path)) as partition:
            first = partition.paths_from(start)[:1]
            for base, path in zip(partition.base_offsets, partition.segment_paths, strict=True):
                if base >= start:
                    break
                with partition.open_segment(path) as segment:
                    if path in first:
                        deleted += self._cut_segment(segment, start)
                    else:
                        deleted += sum(len(headers) for headers in read_headers(segment, 0))
                self.aside.remove(path.name)
        return deleted

    def _cut_segment(self, segment: Segment, start: int) -> int:
        """Write a segment again that begins at an offset; return how many entries are cut."""
        name = names.SegmentName(start, names.LOG).sibling(names.LOG)
        deleted = 0
        with self.aside.opened(name) as file:
            for headers in read_headers(segment, 0):
                number = bisect_left(headers.last_offset, start)
                deleted += number
                if number < len(headers) and headers.first_offset_of(number) < start:
                    file.write(cut_entry(headers.batch(number), start))
                    number, deleted = number + 1, deleted + 1
                if number < len(headers):
                    file.write(headers.data(number, len(headers)))
        if segment.modified is not None:
            time = segment.modified * 1_000_000
            os.utime(self.aside.path / name, ns=(time, time))
        return deleted

    def _copy_metadata(self, partition: Partition, prefix: str) -> None:
        path = partition.path / names.PARTITION_METADATA
        try:
            if partition.topic_id is None:
                return
            with read_beside(path) as source:
                self.aside.write(prefix + path.name, bytes(source.buffer))
        except KafkaSpecError as error:
            if self.aside.concerns(error):
                raise


_TAKEN: Final = (None, Recovery.KEEPS)


def _name_of(log: Partition | Segment) -> tuple[str | None, int | None]:
    """Return topic and partition, as far as a path says them."""
    if isinstance(log, Partition):
        return log.topic, log.partition
    parsed = names.parse_partition(log.path.absolute().parent.name) if log.path else None
    return (None, None) if parsed is None else (parsed.topic, parsed.partition)
