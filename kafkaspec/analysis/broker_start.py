"""Say what a broker that starts does about a finding in a partition: its loader decides.

The table of consequences says what a finding can lead to; whether it does depends on the rest of
the log. ``kafkaspec.broker.loading`` predicts that, for ``rebuild_indexes`` too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Final

from kafkaspec.analysis import consequences
from kafkaspec.analysis.findings import Finding, Place, Severity
from kafkaspec.analysis.reasons import Area, Consequence
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.broker import loading
from kafkaspec.broker.actions import BrokerAction, Recovery
from kafkaspec.broker.index_rules import INDEX_INTERVAL_BYTES
from kafkaspec.broker.profiles import DEFAULT_PROFILE, get_profile
from kafkaspec.broker.segment_run import RunSettings
from kafkaspec.broker.text_files import stopped_cleanly
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.snapshots import Snapshots, find_snapshots, read_snapshot
from kafkaspec.log.partition import Partition

_LOG_AREAS: Final = (Area.BATCH, Area.RECORDS, Area.WRAPPER)
_INDEX_AREAS: Final = (Area.OFFSET_INDEX, Area.TIME_INDEX, Area.TRANSACTION_INDEX)


class BrokerStart:
    """The start of a broker on a partition, predicted when a finding asks for it.

    Args:
        directory: path of the partition directory. A segment that was copied alone is taken for
            the whole log.
    """

    def __init__(self, directory: Path, interval: int = INDEX_INTERVAL_BYTES) -> None:
        self._directory = directory
        self._interval = interval

    @cached_property
    def log(self) -> Partition | None:
        """The log; None for what is not that of a broker, or cannot be listed."""
        try:
            log = Partition(self._directory)
        except KafkaSpecError:
            return None
        segments = log.segment_paths
        known = segments and all(path.name.endswith(names.LOG) for path in segments)
        return log if known else None

    @cached_property
    def snapshots(self) -> Snapshots:
        """The producer snapshots beside the segments."""
        return find_snapshots(self.log.snapshot_paths if self.log else [])

    @cached_property
    def stopped_cleanly(self) -> bool | None:
        """Whether the broker was stopped cleanly; None if its log directory does not show it."""
        root = self._directory.absolute().parent
        return stopped_cleanly(lambda name: (root / name).exists())

    @cached_property
    def after_crash(self) -> loading.Load:
        """The prediction for a start after an unclean stop; empty if there is none."""
        return self._load(clean=False)

    @cached_property
    def after_clean_stop(self) -> loading.Load:
        """The prediction for a start after a clean stop; empty if there is none."""
        return self._load(clean=True)

    @cached_property
    def hidden(self) -> tuple[int, int] | None:
        """The log end that a broker finds after a clean stop, and the real one; see ``Load``."""
        return self.after_clean_stop.hidden()

    def _load(self, *, clean: bool) -> loading.Load:
        log = self.log
        if log is None:
            return loading.Load()
        settings = RunSettings(get_profile(DEFAULT_PROFILE), self._interval)
        segments = list(zip(log.base_offsets, log.segment_paths, strict=True))
        try:
            return loading.Loader(segments, self.snapshots, settings, clean=clean).load()
        except (KafkaSpecError, OSError):
            return loading.Load()

    def judged(self, finding: Finding, path: Path) -> Finding:
        """Return a finding about a segment or a producer snapshot with what a broker does."""
        if finding.severity is Severity.INFO:
            return finding
        found = consequences.consequence_of(finding.area, finding.reason)
        if finding.area in _INDEX_AREAS:
            broker = self._by_index(finding, path)
        elif finding.area in _LOG_AREAS:
            # An outer checksum cuts the log; consumers check the inner ones.
            stuck = found.reader == consequences.STUCK or finding.reason is R.CHECKSUM_MISMATCH
            broker = self._by_recovery(path, finding.position or 0, found.action, stuck=stuck)
        elif found.action is BrokerAction.EMPTIES_SEGMENT:
            broker = self._by_recovery(path, 0, found.action)
        elif found.action is BrokerAction.FORGETS_PRODUCERS:
            broker = self._by_snapshot(path)
        else:
            return finding
        predicted = found
        if broker is not None and broker is not found.action:
            reader = consequences.STUCK if broker is BrokerAction.KEEPS_UNREADABLE else found.reader
            predicted = Consequence(reader, consequences.PREDICTED[broker], broker)
        hides = predicted.action is BrokerAction.HIDES_RECORDS
        if hides and finding.area is Area.OFFSET_INDEX:
            predicted = self._by_end(path) or predicted
        if predicted.action is BrokerAction.CUTS_LOG and self._is_alone(path):
            predicted = consequences.cut_alone(predicted.reader)
        if finding.area in _LOG_AREAS and self.after_clean_stop.fails_in(path):
            predicted = consequences.refused_when_clean(predicted)
        return finding if predicted is found else replace(finding, predicted=predicted)

    def _by_end(self, segment: Path) -> Consequence | None:
        """Return what happens to the log end by a wrong offset index; None if not predicted."""
        load = self.after_clean_stop
        if load.end_offset is None:
            return None
        if self.hidden is None or load.segments[-1].path != segment:
            return consequences.FINDS_END
        return consequences.hides_end(*self.hidden)

    def _is_alone(self, segment: Path) -> bool:
        """Return whether a segment is recovered for itself, and not with those after it."""
        loaded = self.after_crash.of(segment)
        return loaded is not None and loaded.alone and loaded.following is not None

    def _by_recovery(
        self, segment: Path, position: int, found: BrokerAction, *, stuck: bool = False
    ) -> BrokerAction | None:
        """Return what recovery does where consumers may be stuck; None if not predicted."""
        load = self.after_crash
        loaded = load.of(segment)
        if loaded is None:
            return None
        error = load.error
        if error is not None and error.file == str(segment) and position >= (error.position or 0):
            return BrokerAction.REFUSES_LOG
        action = (loaded.recovery or Recovery.KEEPS).action
        if action is not BrokerAction.NOTHING and position >= _decided_at(loaded):
            return action
        if found is BrokerAction.NOTHING or found not in {each.action for each in Recovery}:
            return found
        return BrokerAction.KEEPS_UNREADABLE if stuck else BrokerAction.NOTHING

    def _by_index(self, finding: Finding, segment: Path) -> BrokerAction | None:
        """Return the action at a wrong index after a clean stop; None for that of the table."""
        load = self.after_clean_stop
        loaded = load.of(segment)
        leads = finding.area is Area.OFFSET_INDEX  # the loader follows it to the end of the log
        if load.deletes and leads:
            return BrokerAction.DELETES_LOG
        if loaded is None:
            return None
        if load.error is not None and (finding.file == load.error.file or leads):
            return BrokerAction.REFUSES_LOG if load.fails_in(segment) else None
        return None if loaded.recovery is None else BrokerAction.REBUILDS_INDEX

    def _by_snapshot(self, path: Path) -> BrokerAction | None:
        """Return the action at a snapshot that is corrupt; None for that of the table."""
        taken = next((offset for offset, item in self.snapshots.items() if item == path), None)
        if self.log is None or taken is None:
            return None
        begin, end = self.log.base_offsets[0], self.after_clean_stop.end_offset
        unused = taken <= begin or (end is not None and taken > end)
        older = (item for offset, item in self.snapshots.items() if begin < offset < taken)
        if unused or begin == 0 or any(read_snapshot(item) is not None for item in older):
            return BrokerAction.DELETES_FILE
        return None

    def unexplained(self, segment: Path, actions: set[BrokerAction]) -> Iterator[Finding]:
        """Yield what stops recovery in a segment, if no finding about it has led to that."""
        if "after_crash" not in self.__dict__:
            return  # no finding asked for a prediction: nothing is wrong with the log so far
        loaded = self.after_crash.of(segment)
        if loaded is None or loaded.recovery is None or loaded.run is None:
            return
        action = loaded.recovery.action
        if action in (BrokerAction.NOTHING, *actions) or loaded.run.error is None:
            return
        finding = Place(str(segment), Area.BATCH, _decided_at(loaded)).refused(loaded.run.error)
        yield self.judged(finding, segment)


def _decided_at(loaded: loading.LoadedSegment) -> int:
    """Return the position from which on recovery does not keep a segment."""
    run = loaded.run
    if run is None or loaded.recovery is Recovery.EMPTIES:
        return 0
    at = None if run.error is None else run.error.position
    if loaded.recovery is Recovery.REFUSES and at is not None:
        return min(at, run.valid)
    return run.valid
