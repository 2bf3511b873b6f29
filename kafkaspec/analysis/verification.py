"""``verify``: check all files under a path, and yield findings and results."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from kafkaspec.analysis import files, text_checks
from kafkaspec.analysis.broker_start import BrokerStart
from kafkaspec.analysis.check_order import GROUP_OFFSETS, LogOrder, NoLogOrder
from kafkaspec.analysis.check_producers import check_producers
from kafkaspec.analysis.consequences import IN_DAMAGE
from kafkaspec.analysis.findings import Area, Finding, Place, Severity
from kafkaspec.analysis.pace import paced, rate_of, share_of
from kafkaspec.analysis.parts import MAX_ALIKE, WHOLE, Elsewhere, Settled, in_results, nowhere
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.analysis.report import LOG_KINDS, FileKind, FileResult, Report
from kafkaspec.analysis.verify_index import verify_other, verify_remote_index, verify_snapshot
from kafkaspec.analysis.verify_message_set import verify_message_sets
from kafkaspec.analysis.verify_segment import Deal, SegmentVerifier, VerifyChecks, VerifyEvent
from kafkaspec.analysis.watch import SegmentWatch
from kafkaspec.broker.index_rules import INDEX_INTERVAL_BYTES
from kafkaspec.codecs import DEFAULT_CODEC, codec_names
from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files import names
from kafkaspec.io.local import are_mapped, open_source, unmapped
from kafkaspec.io.remote import TIERED, as_path, exists, is_mounted
from kafkaspec.jobs import in_processes
from kafkaspec.log.damage import judge
from kafkaspec.log.formats import FormatName, format_named
from kafkaspec.log.missing import Account, Missing, MissingWhy
from kafkaspec.log.opening import check_is_file, open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.output.atomic import require_directory, writing
from kafkaspec.output.places import check_output
from kafkaspec.provider import provider

if TYPE_CHECKING:
    from kafkaspec.analysis.remembered import Memory, Recall

ALL_CODECS = "all"
"""Instead of the name of a codec: all installed codecs, compared with each other."""

_INDEX_KINDS = (
    FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TRANSACTION_INDEX, FileKind.INDEX
)  # fmt: skip
_NOWHERE = "the link leads nowhere"
_NOT_READ = (R.UNREADABLE, R.CHANGED)


def verify(
    path: str | PathLike[str],
    *,
    codec: str = DEFAULT_CODEC,
    max_output: int | None = None,
    progress: Callable[[int, str], None] | None = None,
    beside: Sequence[Path] = (),
    index_interval_bytes: int = INDEX_INTERVAL_BYTES,
    jobs: int = 1,
    log_format: FormatName | None = None,
    state: str | PathLike[str] | None = None,
    start_over: bool = False,
    reread: str = "0%",
    rate: str | None = None,
) -> Report:
    """Check everything under a path. Nothing is ever written.

    Args:
        path: a segment, an index, producer snapshot or KRaft snapshot, a partition directory or a
            log directory; a URL of one; or segments in remote storage, as ``open_log`` takes them.
        codec: name of the codec that reads the data; several with commas, or ``all`` for every
            installed one: then each difference between them is a finding.
        max_output: largest decompressed size of a batch in bytes.
        progress: function that takes the bytes read since its last call and the path of the file.
        beside: other log directories of the same broker, which must have the same ids.
        index_interval_bytes: ``index.interval.bytes``, by which recovery makes indexes.
        jobs: number of threads that work on parts of a large segment, and of processes that work on
            partitions of many small ones; the report stays the same.
        log_format: what a file is whose name does not say it; see ``Segment``. Where the
            specification says that offsets are kept elsewhere, none is judged.
        state: file that remembers what was read, so that the next call reads only what is new; it
            is written at the end, and now and then before. Local directories only.
        start_over: whether to forget what the file remembers.
        reread: share of what is remembered to read again, such as ``5%``: what was not read for
            longest. If its bytes are other ones, that is a finding, ``damage_at_rest``.
        rate: most bytes to read in a second, such as ``50MB/s``.

    Returns:
        All findings and results. Files are read one batch at a time; the report grows only with the
        number of files and findings.

    Raises:
        KafkaSpecError: ``unreadable``: the path does not exist, or has no file of Kafka's. Or the
            state is damaged, or of calls with other options.
        ValueError: no such codec, share or rate.
    """
    report = Report(codecs=codecs_of(codec))
    memory = None
    if state is not None:
        from kafkaspec.analysis.remembered import Memory
        from kafkaspec.analysis.state_file import StateFile

        check_state(state, path, log_format=log_format)
        memory = Memory.of_store(
            StateFile(state),
            memory_options(codec, max_output, index_interval_bytes),
            start_over=start_over,
            reread=share_of(reread),
        )
    with nullcontext() if memory is None else memory:
        for event in verify_events(
            path,
            codec=codec,
            max_output=max_output,
            progress=progress if rate is None else paced(progress, rate_of(rate)),
            beside=beside,
            index_interval_bytes=index_interval_bytes,
            jobs=jobs,
            log_format=log_format,
            memory=memory,
        ):
            report.add(event)
    return report


def memory_options(
    codec: str, max_output: int | None, index_interval_bytes: int = INDEX_INTERVAL_BYTES
) -> dict[str, str]:
    """Return the options on which findings depend, as a state file keeps them."""
    return {
        "codec": ",".join(codecs_of(codec)),
        "max_output": "default" if max_output is None else str(max_output),
        "index_interval_bytes": str(index_interval_bytes),
    }


def check_state(
    state: str | PathLike[str], *paths: str | PathLike[str], log_format: FormatName | None = None
) -> None:
    """Refuse a state file that is among the inputs, and inputs that no state is kept of.

    Raises:
        KafkaSpecError: ``unreadable``.
    """
    check_output(state, *paths)
    with writing(Path(state)):  # before hours of reading
        require_directory(Path(state).absolute().parent)
    check_remembered(*paths, log_format=log_format)


def check_remembered(*paths: str | PathLike[str], log_format: FormatName | None = None) -> None:
    """Refuse inputs that no state is kept of.

    Raises:
        KafkaSpecError: ``unreadable``.
    """
    for path in paths:
        if log_format is not None or not Path(path).is_dir():
            detail = "a state is kept of local directories only, not of a single file or a URL"
            raise unreadable(path, detail)


def codecs_of(codec: str) -> tuple[str, ...]:
    """Return the names of the codecs for ``codec``; findings come from the first one."""
    return codec_names() if codec == ALL_CODECS else tuple(dict.fromkeys(codec.split(",")))


def verify_events(
    path: str | PathLike[str],
    *,
    codec: str = DEFAULT_CODEC,
    max_output: int | None = None,
    progress: Callable[[int, str], None] | None = None,
    beside: Sequence[Path] = (),
    elsewhere: Elsewhere = nowhere,
    index_interval_bytes: int = INDEX_INTERVAL_BYTES,
    jobs: int = 1,
    log_format: FormatName | None = None,
    memory: Memory | None = None,
    deal: Deal | None = None,
) -> Iterator[VerifyEvent]:
    """Check everything under a path. Nothing is ever written.

    Args:
        beside: other log directories of the same broker.
        elsewhere: function that returns the results of segments that were verified elsewhere.
        memory: what earlier runs have read, which is kept up to date.
        deal: has groups of partitions verified elsewhere.

    Yields:
        Findings, and a result for each file after all of its findings.

    Raises:
        KafkaSpecError: ``unreadable``: the path does not exist, or has no file of Kafka's.
        ValueError: no such codec.
    """
    options = VerifyChecks(
        codecs_of(codec),
        max_output,
        progress,
        tuple(beside),
        elsewhere,
        interval=index_interval_bytes,
        jobs=jobs,
        log_format=log_format,
        memory=memory,
        deal=deal,
    )
    place = as_path(path)
    if log_format is not None:
        check_is_file(place)
        return _bounded(_entry_file(place, options))
    try:
        if place.is_file():
            place = provider(TIERED).mounted(place) or place  # an object in remote storage
        is_directory = place.is_dir()
        if not is_directory and not place.exists():
            raise unreadable(place, "there is no such file or directory")
    except OSError as error:
        raise unreadable(place, error) from None
    check = _directories if is_directory else _single_file
    return _bounded(check(place, options))


def _bounded(events: Iterator[VerifyEvent | Settled]) -> Iterator[VerifyEvent]:
    """Count findings into results, and replace too many alike ones by their number."""
    counts: dict[str, Counter[Severity]] = {}
    alike: dict[str, Counter[R]] = {}  # by file: a log directory has many
    for event in _spread(events, counts, alike):
        if isinstance(event, Finding):
            counts.setdefault(event.file, Counter())[event.severity] += 1
            in_file = alike.setdefault(event.file, Counter())
            in_file[event.reason] += 1
            if in_file[event.reason] <= MAX_ALIKE:
                yield event
            continue
        event.findings = counts.pop(event.file, Counter())
        for reason, count in alike.pop(event.file, Counter()).items():
            held_back = count - MAX_ALIKE
            if held_back > 0:
                text = f"{held_back} more findings of reason {reason} in this file"
                yield Place(event.file, Area.FILES).info(R.MORE, text)
        yield event
    for file, findings in counts.items():  # of files that could not be opened
        kind = files.kind_of(os.path.basename(file))
        yield FileResult(file=file, kind=kind, findings=findings)


def _spread(
    events: Iterator[VerifyEvent | Settled],
    counts: dict[str, Counter[Severity]],
    alike: dict[str, Counter[R]],
) -> Iterator[VerifyEvent]:
    """Yield the events; those that settled parts held back are only counted."""
    for event in events:
        if not isinstance(event, Settled):
            yield event
            continue
        yield from event.findings
        given = Counter((finding.file, finding.reason) for finding in event.findings)
        for (file, reason), count in (event.alike - given).items():
            alike.setdefault(file, Counter())[reason] += count
        for file, found in event.counts.items():
            given_here = Counter(item.severity for item in event.findings if item.file == file)
            counts.setdefault(file, Counter()).update(found - given_here)
        yield from event.results


def _directories(path: Path, options: VerifyChecks) -> Iterator[VerifyEvent | Settled]:
    top, *partitions = files.read_directories(path)
    if top.is_partition:
        for _, of_partition in _partitions([top], options):
            yield from of_partition
        return
    if options.memory is not None:
        yield from options.memory.forget(path, (top, *partitions))
    logs: list[text_checks.LogState] = []
    held_back: list[FileResult] = []
    for log, events in _partitions(partitions, options):
        logs.append(log)
        if log.state:
            text = names.copy_text(log.state)
            yield Place(os.fspath(log.path), Area.FILES).info(R.MOVED_PARTITION, text)
        for event in events:
            if isinstance(event, FileResult) and event.kind is FileKind.PARTITION_METADATA:
                held_back.append(event)  # until all topic ids are known
                continue
            if isinstance(event, Settled):
                late = [r for r in event.results if r.kind is FileKind.PARTITION_METADATA]
                held_back += late
                event.results = [result for result in event.results if result not in late]
            yield event
    yield from text_checks.check_topic_ids(logs)
    yield from held_back
    yield from _uncovered(path)
    yield from _partition(top, options)
    yield from text_checks.check_stop(top.of(*text_checks.ROOT_KINDS))
    others = text_checks.read_ids(options.beside)
    for kind in text_checks.ROOT_KINDS:
        for path in top.of(kind):
            yield from text_checks.verify_root_file(path, kind, logs, others)


def _uncovered(path: Path) -> Iterator[Finding]:
    """Report bytes of WAL objects that a list of coordinates leaves out."""
    for left in provider(TIERED).uncovered(path) if is_mounted(path) else ():
        text = f"bytes {left.start} to {left.end - 1} are in no coordinates"
        place = Place(os.fspath(left.object), Area.FILES, left.start)
        yield place.info(R.NO_COORDINATES, text)


def _partitions(
    directories: Sequence[files.Directory], options: VerifyChecks
) -> Iterator[tuple[text_checks.LogState, Iterable[VerifyEvent | Settled]]]:
    """Yield the state of each partition, which is complete after its events, and these."""
    memory, deal = options.memory, options.deal
    groups = list[files.Group]()
    if options.jobs > 1 or deal is not None:
        same = () if memory is None else filter(memory.is_same, directories)
        most = options.part_bytes if deal is None else sys.maxsize
        groups = files.groups_of(directories, most, {item.path for item in same})
    worth = deal is not None or files.are_worth_processes(groups)
    if not worth or options.elsewhere is not nowhere:
        for directory in directories:
            log = log_state(directory.path)
            yield log, _partition(directory, options, log)
        return
    alone = replace(options, progress=None, jobs=1, deal=None)
    tasks = (
        (
            group.directories,
            alone if memory is None else replace(alone, memory=memory.part(group.directories)),
            are_mapped() and deal is None,  # what is mapped counts as memory of a worker
        )
        for group in groups
        if group.small
    )
    if deal is None:
        deal = partial(in_processes, jobs=options.jobs)
    with closing(deal(_group, tasks)) as done:
        for group in groups:
            if group.small:
                results, remembered = next(done)
                for log, items in results:
                    yield log, items
                    _report_progress(items, options)
                if memory is not None and remembered is not None:
                    memory.join(remembered)
                continue
            for directory in group.directories:
                log = log_state(directory.path)
                yield log, _partition(directory, options, log)


def _group(
    task: tuple[Sequence[files.Directory], VerifyChecks, bool],
) -> tuple[list[tuple[text_checks.LogState, list[Settled]]], Memory | None]:
    """Verify a group of partitions in another process; return what it remembers, too."""
    directories, options, mapped = task
    done = []
    with nullcontext() if mapped else unmapped():
        for directory in directories:
            log = log_state(directory.path)
            done.append((log, in_results(_partition(directory, options, log))))
    return done, options.memory


def _report_progress(items: Iterable[Settled], options: VerifyChecks) -> None:
    if options.progress is None:
        return
    for result in (result for item in items for result in item.results):
        if result.kind in LOG_KINDS:
            options.progress(result.size, result.file)


def _partition(
    directory: files.Directory, options: VerifyChecks, log: text_checks.LogState | None = None
) -> Iterator[VerifyEvent | Settled]:
    partition = os.fspath(directory.path) if directory.is_partition else ""
    log = log_state(directory.path) if log is None else log
    if directory.error is not None:
        yield Place(partition, Area.FILES).refused(directory.error)
        yield _not_read(directory.path, FileKind.UNKNOWN, partition)
    order = LogOrder(group_offsets=directory.path.name.startswith(GROUP_OFFSETS))
    segments = directory.of(FileKind.SEGMENT)
    seen: set[str] = set()
    whole = True
    start = BrokerStart(directory.path, options.interval)
    gone = _Gone.in_directory(directory, options)
    yield from gone.beside()
    recall = None if options.memory is None else options.memory.of(directory)
    gone.recall = recall
    if recall is not None:
        for number in recall.to_reread:
            recall.reread(number, _watched(recall.path(number), options))
        yield from recall.begin(order)
    for number, path in enumerate(segments):
        before = order.last_offset
        yield from (start.judged(finding, path) for finding in _overlap(path, before))
        is_last = number == len(segments) - 1
        done = options.elsewhere(path)
        if done is None and recall is not None:
            done = recall.kept(path, order)
            if done is not None and is_last:
                yield from recall.producers(start, has_producers=order.has_producers)
        if done is not None:
            whole &= not any(item.reason in _NOT_READ for item in done.findings)
            seen.update(result.file for result in done.results)
            order.last_offset = done.last_offset
            for run in done.epochs:
                text_checks.add_to_runs(order.epochs, run.epoch, run.base_offset, run.last_offset)
            yield from gone.of(path, check=any(map(_is_damage, done.findings)))
            yield done
            continue
        read = None if recall is None else recall.reading(path, order)
        verifier = SegmentVerifier(
            path,
            options,
            order=order,
            partition=partition,
            is_last=is_last,
            span=WHOLE if read is None else read.span,
            before=None if read is None else read.before,
            start=start,
            watch=None if read is None else read.watch,
            known=None if read is None else read.known,
            producers=check_producers if read is None else read.producers,
        )
        events = _guarded(path, FileKind.SEGMENT, partition, verifier.run())
        if read is not None:
            events = read.noted(events)
        for event in gone.added(path, events):
            if isinstance(event, FileResult):
                seen.add(event.file)
            elif isinstance(event, Finding) and event.reason in _NOT_READ:
                whole = False
            yield event
    if recall is not None:
        recall.end()
    _complete(log, segments, order, whole)
    yield from verify_message_sets(directory.of(FileKind.MESSAGE_SET), options, partition)
    for path in directory.of(FileKind.KRAFT_SNAPSHOT):
        yield from _alone(path, options, partition)
    for path in directory.of(FileKind.PRODUCER_SNAPSHOT):
        checked = verify_snapshot(path, partition, options.codecs, start)
        yield from _guarded(path, FileKind.PRODUCER_SNAPSHOT, partition, checked)
    for path in directory.of(FileKind.OTHER):
        checked = verify_other(path, partition, options.codecs)
        yield from _guarded(path, FileKind.OTHER, partition, checked)
    for kind in text_checks.PARTITION_KINDS:
        for path in directory.of(kind):
            checked = text_checks.verify_partition_file(path, kind, log, partition)
            yield from _guarded(path, kind, partition, checked)
    if directory.is_partition:  # files of a log directory do not count here
        for kind in text_checks.ROOT_KINDS:
            for path in directory.of(kind):
                yield from text_checks.verify_root_file(path, kind)
    yield from _others(directory, partition, seen, options)


def _watched(path: Path, options: VerifyChecks) -> SegmentWatch:
    """Return what a verifier notes of a segment; its findings are those of the run before."""
    watch = SegmentWatch.from_start()
    verifier = SegmentVerifier(path, options, is_last=False, watch=watch)
    for _ in _guarded(path, FileKind.SEGMENT, "", verifier.run()):
        pass
    return watch


def _alone(
    path: Path, options: VerifyChecks, partition: str = ""
) -> Iterator[VerifyEvent | Settled]:
    """Verify a segment or KRaft snapshot without the state of other segments."""
    done = options.elsewhere(path)
    if done is not None:
        yield done
    else:
        events = SegmentVerifier(path, options, partition=partition).run()
        yield from _guarded(path, FileKind.KRAFT_SNAPSHOT, partition, events)


def _guarded(
    path: Path, kind: FileKind, partition: str, events: Iterable[VerifyEvent]
) -> Iterator[VerifyEvent]:
    """Yield the events of a file, and a finding about it if the file system refuses something."""
    try:
        yield from events
    except (OSError, KafkaSpecError) as error:
        known = error if isinstance(error, KafkaSpecError) else unreadable(path, error)
        yield Place(os.fspath(path), Area.FILES).refused(known)
        yield _not_read(path, kind, partition)


def log_state(path: Path) -> text_checks.LogState:
    """Return the state of a log with the values in the name of its directory."""
    name = names.parse_partition(path.absolute().name)
    if name is None:
        return text_checks.LogState(path)
    return text_checks.LogState(path, name.topic, name.partition, name.state)


def _complete(
    log: text_checks.LogState, segments: Sequence[Path], order: LogOrder, whole: bool
) -> None:
    """Take over the state after the segments."""
    log.runs = order.epochs
    parsed = (names.parse_segment(path.name) for path in segments)
    bases = [name.base_offset for name in parsed if name is not None]
    if bases:
        log.start_offset = min(bases)
        if whole:
            last = -1 if order.last_offset is None else order.last_offset
            log.end_offset = max(last + 1, *bases)


class _Gone:
    """Finds what is missing in a log, by the rule of all commands; nothing without a log."""

    recall: Recall | None = None
    """The memory that earlier runs have of the log."""

    def __init__(self, log: Partition | Segment | None) -> None:
        self._log = log
        self._account = None if log is None else Account(log, ends_only=True, judge=judge)

    @classmethod
    def in_directory(cls, directory: files.Directory, options: VerifyChecks) -> _Gone:
        """Return one for a partition, or another directory with segments."""
        if directory.is_partition or directory.of(FileKind.SEGMENT, FileKind.MESSAGE_SET):
            with suppress(KafkaSpecError):  # of a file that is verified by itself
                return cls(Partition(directory.path, codec=options.codecs[0]))
        return cls(None)

    def beside(self) -> Iterator[Finding]:
        """Yield findings about offsets before the first segment, or without any."""
        if self._account is not None:
            yield from _gone(self._account.beside())

    def of(self, path: Path, *, check: bool) -> Iterator[Finding]:
        """Yield findings about offsets in and after a segment."""
        if self._log is None or self._account is None:
            return
        name = names.parse_segment(path.name)
        following = self._account.around.next_base(name.base_offset if name else None)
        known = None if self.recall is None else self.recall.missing_in(path, following)
        if known is not None:
            yield from known
            return
        try:
            with self._opened(path) as segment:
                found = self._account.of(segment, check=check)
        except KafkaSpecError:  # as above
            return
        told = list(_gone(found or ()))
        if self.recall is not None:
            self.recall.note_missing(path, following, told)
        yield from told

    def _opened(self, path: Path) -> AbstractContextManager[Segment]:
        assert self._log is not None
        if isinstance(self._log, Segment):
            return nullcontext(self._log)
        return closing(self._log.open_segment(path))

    def added(
        self, path: Path, events: Iterable[VerifyEvent | Settled]
    ) -> Iterator[VerifyEvent | Settled]:
        """Yield the events of a segment, and before its result what is missing in it."""
        wrong, told = False, False
        for event in events:
            if isinstance(event, Finding):
                wrong |= _is_damage(event)
            elif isinstance(event, Settled):
                wrong |= any(map(_is_damage, event.findings))
            elif event.file == os.fspath(path):
                yield from self.of(path, check=wrong)
                told = True
            yield event
        if not told:
            yield from self.of(path, check=wrong)


def _is_damage(finding: Finding) -> bool:
    """Return whether a finding about a segment or its indexes may be one about lost bytes."""
    torn = finding.reason is R.TORN_TAIL
    return torn or finding.severity is Severity.ERROR


def _gone(items: Iterable[Missing]) -> Iterator[Finding]:
    for item in items:
        if item.lost is not None:
            place = Place(item.file, Area.FILES, item.position, item.lost.start)
            predicted = IN_DAMAGE if item.reason is MissingWhy.BROKEN else None
            yield place.warning(
                R.MISSING_OFFSETS, item.message, offsets=item.lost, predicted=predicted
            )


def _overlap(path: Path, last_offset: int | None) -> Iterator[Finding]:
    name = names.parse_segment(path.name)
    if name is None or last_offset is None or last_offset < name.base_offset:
        return
    text = f"the segment before it ends with offset {last_offset}, "
    text += f"but this one begins at {name.base_offset} by its name"
    yield Place(os.fspath(path), Area.FILES).error(R.SEGMENT_OVERLAP, text, offset=name.base_offset)


def _others(
    directory: files.Directory, partition: str, seen: set[str], options: VerifyChecks
) -> Iterator[VerifyEvent]:
    """Yield files whose content is not checked, each with the reason for it."""
    for kind in _INDEX_KINDS:
        for path in directory.of(kind):
            if os.fspath(path) in seen:
                continue
            name = names.parse_segment(path.name)
            if name is not None and name.remote_id:
                checked = verify_remote_index(path, kind, partition, options.codecs)
                yield from _guarded(path, kind, partition, checked)
                continue
            if not exists(path):  # a link: its segment was verified without it
                yield Place(os.fspath(path), Area.FILES).refused(unreadable(path, _NOWHERE))
            log = path.with_name(name.sibling(names.LOG)) if name else path
            if not exists(log):
                text = f"there is no {log.name} that it belongs to"
                yield Place(os.fspath(path), Area.FILES).warning(R.ORPHAN_FILE, text)
            yield _not_read(path, kind, partition)
    for path in directory.of(FileKind.LEFTOVER):
        yield from _leftover(path, partition)
    for path in directory.of(FileKind.STREAM_STATE):
        yield _not_read(path, FileKind.STREAM_STATE, partition)
    broker_starts_here = not directory.is_partition and bool(directory.of(*text_checks.ROOT_KINDS))
    for paths, text in (
        (directory.of(FileKind.UNKNOWN), "not a file of Kafka's; it was not checked"),
        (directory.unread, "not a partition's directory; nothing in it was checked"),
    ):
        for path in paths:
            place = Place(os.fspath(path), Area.FILES)
            if broker_starts_here and path in directory.unread:
                yield place.error(R.DIRECTORY_NAME, text)
            elif names.has_no_offset(path.name):
                yield place.error(R.FILE_NUMBER, "the number is not an offset; it was not checked")
            else:
                yield place.info(R.UNKNOWN_FILE, text)
            yield _not_read(path, FileKind.UNKNOWN, partition)


def _leftover(path: Path, partition: str) -> Iterator[VerifyEvent]:
    text = "a broker was about to delete or rename it; it was not checked"
    yield Place(os.fspath(path), Area.FILES).info(R.LEFTOVER, text)
    yield _not_read(path, FileKind.LEFTOVER, partition)


def _not_read(path: Path, kind: FileKind, partition: str) -> FileResult:
    return FileResult(
        file=os.fspath(path), kind=kind, partition=partition, size=text_checks.size_of(path)
    )


def _entry_file(path: Path, options: VerifyChecks) -> Iterator[VerifyEvent | Settled]:
    """Verify a file as what the options say that it is."""
    form = format_named(options.log_format)
    if not form.has_columns:
        yield from verify_message_sets([path], options)
        return
    order = LogOrder() if form.has_offsets else NoLogOrder()
    verifier = SegmentVerifier(path, options, order=order)
    yield from _guarded(path, FileKind.SEGMENT, "", verifier.run())


def _single_file(path: Path, options: VerifyChecks) -> Iterator[VerifyEvent | Settled]:
    name = names.parse_segment(path.name)
    kind = files.kind_of(path.name)
    log = path if name is None else path.with_name(name.sibling(names.LOG))
    open_source(path, mapped=False).close()  # an error if a file given by name cannot be opened
    if kind in text_checks.PARTITION_KINDS:
        yield from text_checks.verify_partition_file(path, kind, None, "")
    elif kind in text_checks.ROOT_KINDS:
        yield from text_checks.verify_root_file(path, kind)
    elif kind is FileKind.MESSAGE_SET:
        yield from verify_message_sets([path], options)
    elif name is None or name.kind == names.LOG:
        if name is None and kind is not FileKind.KRAFT_SNAPSHOT:
            open_log(path, codec=options.codecs[0]).close()
        if name is None:
            yield from _alone(path, options)
            return
        with open_log(path, codec=options.codecs[0]) as log_of_file:
            assert isinstance(log_of_file, Segment)
            yield from _Gone(log_of_file).added(path, _alone(path, options))
    elif name.kind == names.PRODUCER_SNAPSHOT:
        start = BrokerStart(path.parent, options.interval)
        yield from verify_snapshot(path, "", options.codecs, start)
    elif kind is FileKind.OTHER:
        yield from verify_other(path, "", options.codecs)
    elif name.remote_id:
        if kind is FileKind.LEFTOVER:
            yield from _leftover(path, "")
        else:
            yield from verify_remote_index(path, kind, "", options.codecs)
    elif not exists(log):
        raise unreadable(path, f"an index is checked against {log.name}, which is not here")
    else:
        for event in SegmentVerifier(log, options).run():
            if event.file == os.fspath(path):
                yield event
