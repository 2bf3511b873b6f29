"""What a broker does with the segments of a partition when it starts: the loader decides.

The table of consequences says what a finding can lead to; whether it does depends on the rest of
the log. ``kafkaspec.writing.loading`` predicts that, for ``rebuild_indexes`` too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Final

from kafkaspec.analysis.areas import Area, BrokerAction, Consequence
from kafkaspec.analysis.consequences import PREDICTED, STUCK, consequence_of
from kafkaspec.analysis.findings import Finding, Place, Severity
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.writing.index_rules import INDEX_INTERVAL_BYTES, Rule
from kafkaspec.writing.leader_epochs import LeaderEpochs
from kafkaspec.writing.loading import Load, LoadedSegment, Loader, find_snapshots
from kafkaspec.writing.profiles import DEFAULT_PROFILE, get_profile
from kafkaspec.writing.rebuild_run import Settings
from kafkaspec.writing.rebuilt import Recovery

_LOG_AREAS: Final = (Area.BATCH, Area.RECORDS, Area.WRAPPER)
_DECIDED: Final = {
    Recovery.CUTS: BrokerAction.CUTS_LOG,
    Recovery.EMPTIES: BrokerAction.EMPTIES_SEGMENT,
    Recovery.SPLITS: BrokerAction.SPLITS_SEGMENT,
    Recovery.REFUSES: BrokerAction.REFUSES_LOG,
    Recovery.REMOVES: BrokerAction.CUTS_LOG,
}
"""What recovery does with a segment that it does not keep."""


class BrokerStart:
    """The start of a broker on the segments of a log, predicted when a finding asks for it.

    Args:
        segments: paths of the segments in order.
        interval: ``index.interval.bytes``.
    """

    def __init__(self, segments: Sequence[Path], interval: int = INDEX_INTERVAL_BYTES) -> None:
        self._segments = segments
        self._interval = interval

    @cached_property
    def _crash(self) -> Load:
        return self._load(clean=False) or Load()

    @cached_property
    def _after_crash(self) -> dict[Path, LoadedSegment]:
        return {segment.path: segment for segment in self._crash.segments}

    @cached_property
    def _after_clean_stop(self) -> Load | None:
        return self._load(clean=True)

    def _load(self, *, clean: bool) -> Load | None:
        """Return the prediction; None for what is no log of a broker, or cannot be read."""
        named = [(names.parse_segment(path.name), path) for path in self._segments]
        segments = [(name.base_offset, path) for name, path in named if name is not None]
        if not segments or any(not path.name.endswith(names.LOG) for _, path in segments):
            return None
        profile = get_profile(DEFAULT_PROFILE)
        settings = Settings(Rule.RECOVERY, profile, self._interval, lambda _bytes, _name: None)
        epochs = LeaderEpochs(profile.epoch_file, None, segments[0][0])
        directory = segments[0][1].parent
        try:
            snapshots = find_snapshots(sorted(directory.glob(f"*{names.PRODUCER_SNAPSHOT}")))
            return Loader(segments, snapshots, settings, epochs, clean=clean).load()
        except (KafkaSpecError, OSError):
            return None

    def judged(self, finding: Finding, segment: Path) -> Finding:
        """Return a finding about a segment with what a broker does about it."""
        if finding.severity is Severity.INFO:
            return finding
        found = consequence_of(finding.area, finding.reason)
        if finding.area is Area.OFFSET_INDEX:
            broker = self._by_index(segment)
        elif finding.area in _LOG_AREAS:
            # An outer checksum cuts the log; consumers check the inner ones.
            stuck = found.reader == STUCK or finding.reason is R.CHECKSUM_MISMATCH
            broker = self._by_recovery(segment, finding.position or 0, found.action, stuck=stuck)
        elif found.action is BrokerAction.EMPTIES_SEGMENT:
            broker = self._by_recovery(segment, 0, found.action)
        else:
            return finding
        if broker is None or broker is found.action:
            return finding
        reader = STUCK if broker is BrokerAction.KEEPS_UNREADABLE else found.reader
        return replace(finding, predicted=Consequence(reader, PREDICTED[broker], broker))

    def _by_recovery(
        self, segment: Path, position: int, found: BrokerAction, *, stuck: bool = False
    ) -> BrokerAction | None:
        loaded = self._after_crash.get(segment)
        if loaded is None:
            return None
        error = self._crash.error
        if error is not None and error.file == str(segment) and position >= (error.offset or 0):
            return BrokerAction.REFUSES_LOG
        action = _DECIDED.get(loaded.recovery or Recovery.KEEPS)
        if action is not None and position >= _decided_at(loaded):
            return action
        if found not in _DECIDED.values():
            return found
        return BrokerAction.KEEPS_UNREADABLE if stuck else BrokerAction.NOTHING

    def _by_index(self, segment: Path) -> BrokerAction | None:
        load = self._after_clean_stop
        if load is None:
            return None
        if load.deletes:
            return BrokerAction.DELETES_LOG
        failed = load.failed is not None and load.failed.path == segment
        return BrokerAction.REFUSES_LOG if failed else None

    def unexplained(self, segment: Path, actions: set[BrokerAction]) -> Iterator[Finding]:
        """Yield what stops recovery in a segment, if no finding about it has led to that."""
        loaded = self.__dict__.get("_after_crash", {}).get(segment)
        if loaded is None or loaded.recovery is None or loaded.run is None:
            return
        action = _DECIDED.get(loaded.recovery)
        if action is None or action in actions or loaded.run.error is None:
            return
        finding = Place(str(segment), Area.BATCH, _decided_at(loaded)).refused(loaded.run.error)
        yield self.judged(finding, segment)


def _decided_at(loaded: LoadedSegment) -> int:
    """Return the position from which on recovery does not keep a segment."""
    run = loaded.run
    if run is None or loaded.recovery is Recovery.EMPTIES:
        return 0
    at = None if run.error is None else run.error.offset
    if loaded.recovery is Recovery.REFUSES and at is not None:
        return min(at, run.valid)
    return run.valid
