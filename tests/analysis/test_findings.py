"""The closed lists, and the table of consequences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafkaspec._generated.python.model.index import OffsetIndexEntry
from kafkaspec.analysis import Area, BrokerAction, FileKind, FindingReason
from kafkaspec.analysis.compare import CodecComparison, compare_sidecar
from kafkaspec.analysis.consequences import CONSEQUENCES, consequence_of
from kafkaspec.errors import Reason, make_error
from kafkaspec.files import indexes
from kafkaspec.files.indexes import OffsetIndex
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests.analysis.forge import write_segment
from tests.log.forge import batch, record


def test_every_reason_of_an_error_is_one_of_a_finding() -> None:
    assert {str(reason) for reason in Reason} <= {str(reason) for reason in FindingReason}


def test_every_finding_has_consequences() -> None:
    for area in Area:
        for reason in FindingReason:
            consequence = consequence_of(area, reason)
            assert consequence.reader.endswith(".")
            assert consequence.broker.endswith(".")


@pytest.mark.parametrize(
    ("area", "reason", "action"),
    [
        # What Kafka 4.3's loader did with such files.
        ("batch", "checksum_mismatch", "cuts_log"),
        ("batch", "offset_below_base", "refuses_log"),
        ("batch", "offset_above_range", "refuses_log"),
        ("batch", "offset_order", "empties_segment"),
        ("batch", "transaction_state", "refuses_log"),
        ("wrapper", "empty_wrapper", "refuses_log"),
        ("records", "control_record", "refuses_log"),
        ("records", "overrun", "keeps_unreadable"),
        ("internal_record", "undecoded_message", "fails_to_load"),
        ("offset_index", "index_position", "hides_records"),
        ("offset_index", "missing_index", "rebuilds_index"),
        ("transaction_index", "invalid_value", "refuses_log"),
        ("producer_snapshot", "checksum_mismatch", "forgets_producers"),
        ("files", "leftover", "deletes_file"),
        # Read in LogManager, LogLoader and MetaPropertiesEnsemble.
        ("leader_epoch_checkpoint", "truncated", "refuses_log"),
        ("log_start_offset_checkpoint", "checkpoint_beyond_log", "deletes_log"),
        ("recovery_point_offset_checkpoint", "checkpoint_beyond_log", "resets_offset"),
        ("meta_properties", "other_cluster", "refuses_start"),
        ("clean_shutdown", "unclean_stop", "recovers_log"),
    ],
)
def test_reactions_of_a_broker(area: str, reason: str, action: str) -> None:
    consequence = consequence_of(Area(area), FindingReason(reason))
    assert consequence.action is BrokerAction(action)


def test_the_table_names_known_things() -> None:
    assert all(isinstance(key[0], Area) for key in CONSEQUENCES)
    assert {item.action for item in CONSEQUENCES.values()} <= set(BrokerAction)


class Skewed(Segment):
    """A segment whose codec gets something wrong."""

    change: Any = staticmethod(lambda item: item)

    def scan(self, start_position: int = 0) -> Any:
        for item in super().scan(start_position):
            yield self.change(item)


def disagreements(tmp_path: Path, change: Any) -> list[str]:
    log = batch(0, [record(0, b"a"), record(1, b"b")])
    path = write_segment(tmp_path, log)
    other = Skewed(path)
    other.change = change
    comparison = CodecComparison([other], ["skewed"], "python", str(path))
    found = []
    for item in Segment(path).scan():
        assert not isinstance(item, Exception)
        found += list(comparison.check(item, item.records()))
    return [finding.message for finding in [*found, *comparison.finish()]]


def test_codecs_that_agree(tmp_path: Path) -> None:
    assert disagreements(tmp_path, lambda item: item) == []


def test_codecs_that_disagree_on_a_file_beside_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_segment(tmp_path, batch(0, [record(0, b"a")]), index=[(0, 0), (1, 9)])
    index = path.with_suffix(".index")
    codecs = ("python", "kaitai")
    assert list(compare_sidecar(index, FileKind.OFFSET_INDEX, codecs)) == []

    class Wrong(OffsetIndex):
        def entry(self, index: int) -> OffsetIndexEntry:
            entry = super().entry(index)
            wrong = self._codec.name == "kaitai" and index == 1
            return replace(entry, position=8) if wrong else entry

    monkeypatch.setitem(indexes.INDEXES, Wrong.kind, Wrong)
    (finding,) = compare_sidecar(index, FileKind.OFFSET_INDEX, codecs)
    assert (finding.area, finding.reason) == (Area.OFFSET_INDEX, FindingReason.CODECS_DISAGREE)
    assert "entry 1" in finding.message


def test_a_codec_that_refuses(tmp_path: Path) -> None:
    error = make_error(Reason.OVERRUN, "no", offset=12, path="/message")
    (message,) = disagreements(tmp_path, lambda item: error)
    assert message == "python and skewed disagree: one reads it, the other reports " + (
        "overrun at byte 12 /message"
    )


def test_a_codec_that_reads_another_record(tmp_path: Path) -> None:
    def change(item: Any) -> Any:
        class Other(type(item)):  # type: ignore[misc]
            __slots__ = ()

            def records(self, max_output: int | None = None) -> list[Record]:
                first, second = super().records(max_output)
                return [first, second._replace(value=b"c")]

        item.__class__ = Other
        return item

    (message,) = disagreements(tmp_path, change)
    text = "python and skewed disagree: the record with offset 1 differs"
    assert message == f"{text}: value 1 bytes: 62, or 1 bytes: 63"
