"""Closed lists of what a broker that starts does: with its log, and with a segment."""

from __future__ import annotations

from enum import StrEnum


class BrokerAction(StrEnum):
    """The action of a broker's loader."""

    NOTHING = "nothing"
    """The broker does not notice or ignores it."""
    CUTS_LOG = "cuts_log"
    """Recovery truncates the log here; everything after it is lost. Only the rest of the segment
    if its offset index is missing."""
    REFUSES_LOG = "refuses_log"
    """The log cannot be loaded: the broker does not start, or goes on without the whole log
    directory where only its files cannot be read."""
    EMPTIES_SEGMENT = "empties_segment"
    """Recovery discards the whole segment."""
    SPLITS_SEGMENT = "splits_segment"
    """Recovery keeps all of the segment, in several segments."""
    HIDES_RECORDS = "hides_records"
    """The log opens, but records that exist are not delivered."""
    KEEPS_UNREADABLE = "keeps_unreadable"
    """The batch stays in the log although nobody can read it."""
    FAILS_TO_LOAD = "fails_to_load"
    """The log opens, but the coordinator or controller that reads it fails there."""
    REBUILDS_INDEX = "rebuilds_index"
    """The segment is recovered, which rebuilds its indexes."""
    FORGETS_PRODUCERS = "forgets_producers"
    """The broker does not know what producers have written."""
    MISTAKES_PRODUCERS = "mistakes_producers"
    """The broker takes a wrong state of a producer: it refuses what that sends, or holds back
    records that are committed."""
    DELETES_FILE = "deletes_file"
    """The file is removed at the next start."""
    DELETES_LOG = "deletes_log"
    """All segments of the partition are deleted."""
    RECOVERS_LOG = "recovers_log"
    """The segments that may not be flushed are read and checked, and their indexes rebuilt."""
    RESETS_OFFSET = "resets_offset"
    """The value of the checkpoint is replaced by that of the log."""
    REFUSES_START = "refuses_start"
    """The broker does not start, or not with this log directory."""


class Recovery(StrEnum):
    """Action of a broker on a segment when it recovers a log after a crash, with indexes present.

    Kafka: ``LogSegment.recover``, ``LogLoader.recoverLog``, ``LogLoader.retryOnOffsetOverflow``, as
    in the loader of 4.4; loaders of releases before 4.1 were not tested.
    """

    KEEPS = "keeps"
    """Keeps all of it."""
    CUTS = "cuts"
    """Keeps it up to ``valid_bytes``; the rest is lost, and so are the segments after it."""
    EMPTIES = "empties"
    """Keeps nothing: offsets are out of order at an index entry. The segments after it are lost
    too. If an index is missing, the broker refuses the log instead."""
    SPLITS = "splits"
    """Keeps all of it, in several segments: from ``valid_bytes`` on, offsets do not fit into this
    one (KAFKA-6264)."""
    REFUSES = "refuses"
    """Fails at ``valid_bytes`` and does not load the log."""
    REMOVES = "removes"
    """Keeps nothing: a segment before it was cut or emptied."""

    @property
    def action(self) -> BrokerAction:
        """The same among the actions on a whole log."""
        return _OF_LOG[self]


_OF_LOG = {
    Recovery.KEEPS: BrokerAction.NOTHING,
    Recovery.CUTS: BrokerAction.CUTS_LOG,
    Recovery.EMPTIES: BrokerAction.EMPTIES_SEGMENT,
    Recovery.SPLITS: BrokerAction.SPLITS_SEGMENT,
    Recovery.REFUSES: BrokerAction.REFUSES_LOG,
    Recovery.REMOVES: BrokerAction.CUTS_LOG,
}
