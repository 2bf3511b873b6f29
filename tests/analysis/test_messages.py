"""``verify`` of Kafka's own topics: a key or value that does not decode is a finding, in all ways.

The records are those of real brokers, changed one by one and encoded again, so that checksums and
headers are right. The paths say which byte was changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.analysis import Area, Finding, FindingReason
from kafkaspec.analysis.verification import verify_events
from kafkaspec.analysis.verify_segment import SegmentVerifier
from kafkaspec.codecs import codec_names
from kafkaspec.codecs.references.kaitai.codec import KaitaiCodec
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.messages.decoding import decode_messages
from kafkaspec.messages.topics import topic_of
from kafkaspec.model import Record
from kafkaspec.state.groups import read_groups
from tests.analysis.forge import write_segment
from tests.analysis.ways import same_in_all_ways
from tests.goldens import GOLDEN

LOGS = GOLDEN / "4.3.1" / "logs"
OFFSETS, METADATA = "__consumer_offsets-0", "__cluster_metadata-0"


def _internal() -> list[Path]:
    """All golden logs of internal topics, and KRaft snapshots, of every release."""
    found = [path for end in (".log", ".checkpoint") for path in GOLDEN.rglob(f"*{end}")]
    return sorted(path for path in found if topic_of(path) is not None)


def _findings(path: Path, **options: Any) -> list[Finding]:
    return [
        event
        for event in verify_events(path, **options)
        if isinstance(event, Finding) and event.area is Area.INTERNAL_RECORD
    ]


@pytest.mark.core
def test_all_messages_of_real_brokers_decode(monkeypatch: pytest.MonkeyPatch) -> None:
    """By columns: not one batch is left to the reference because of its messages."""
    alone: Counter[str] = Counter()
    check = SegmentVerifier._take

    def counted(self: SegmentVerifier, batch: Any, content: Any) -> Any:
        alone[self._file] += not batch.is_control
        return check(self, batch, content)

    monkeypatch.setattr(SegmentVerifier, "_take", counted)
    paths = _internal()
    assert len(paths) > 100
    batches = 0
    for path in paths:
        assert _findings(path) == [], path
        with Segment(path) as segment:
            batches += sum(not batch.is_control for batch in segment.batches())
    assert batches > 5000
    assert sum(alone.values()) < batches / 100, alone


def _records(partition: str) -> list[Record]:
    with Segment(next((LOGS / partition).glob("*.log"))) as segment:
        return [
            record._replace(
                key=None if record.key is None else bytes(record.key),
                value=None if record.value is None else bytes(record.value),
            )
            for record in segment.records()
        ]


def _log(tmp_path: Path, partition: str, records: list[Record], magic: int = 2) -> Path:
    """A log of batches of three records."""
    batches = [records[at : at + 3] for at in range(0, len(records), 3)]
    log = b"".join(ks.encode(batch, magic=magic) for batch in batches)
    return write_segment(tmp_path / partition, log)


def _place(topic: str, record: Record, name: str) -> int:
    """Where a field of the value of a record begins, as the official compiler's classes say."""
    _, message = decode_messages(topic, record)
    assert message is not None
    assert record.value is not None
    fields = KaitaiCodec().positions(message.layout.key, record.value)
    return next(field.start for field in fields if field.path.endswith(name))


Change = Callable[[bytes], bytes]


def _first(records: list[Record], topic: str, name: str) -> int:
    for number, record in enumerate(records):
        _, message = decode_messages(topic, record)
        if message is not None and message.layout.name == name:
            return number
    raise AssertionError(name)


@pytest.mark.core
def test_what_does_not_decode_is_a_finding(tmp_path: Path) -> None:
    records = _records(OFFSETS)
    topic = "__consumer_offsets"
    commit = _first(records, topic, "OffsetCommitValue")
    group = _first(records, topic, "GroupMetadataValue")
    members = _place(topic, records[group], "/num_members")

    def more(value: bytes) -> bytes:
        return value[:members] + b"\x7f\xff\xff\xff" + value[members + 4 :]

    def repeated(value: bytes) -> bytes:
        tag = value[-18:]
        assert value[-19] == 1
        return value[:-19] + b"\x02" + tag + tag

    cases: list[tuple[int, str, Change, str, str]] = [
        (commit, "value", lambda value: value[:-3], "overrun", "/fields/0/content"),
        (commit, "value", lambda value: b"\0\x63" + value[2:], "invalid_value", "/schema_version"),
        (commit, "value", repeated, "invalid_value", "/tag"),
        (commit, "key", lambda key: key[:-1], "overrun", "/partition"),
        (commit, "key", lambda key: key[:1], "overrun", "/record_type"),
        (group, "value", more, "", "/num_members"),
    ]
    for row, part, change, reason, path in cases:
        changed = list(records)
        data = getattr(records[row], part)
        fields = records[row]._asdict() | {part: change(data)}
        changed[row] = Record(**fields)
        log = _log(tmp_path, OFFSETS, changed)
        (finding,) = _findings(log)
        told = [event for event in same_in_all_ways(log)[:-1] if event[0] == "finding"]
        assert [event[1] for event in told if event[1]["area"] == "internal_record"] == [
            finding.as_dict()
        ]
        assert finding.reason is FindingReason.UNDECODED_MESSAGE
        assert (finding.offset, finding.severity) == (records[row].offset, "error")
        with Segment(log) as segment:
            holds = next(b for b in segment.batches() if b.last_offset >= records[row].offset)
        assert (finding.position, finding.entry) == (holds.position, holds.position)
        assert f"[{reason}" in finding.message, finding
        assert ".ksy#/" in finding.message or path == "/record_type"
        assert finding.path.startswith(f"/{part}/")
        assert path in finding.path, finding
        assert finding.action == "fails_to_load"


@pytest.mark.core
def test_frames_of_metadata(tmp_path: Path) -> None:
    records = _records(METADATA)
    for change, code in (
        (lambda record: record._replace(value=b"\x09" + record.value[1:]), "undecoded_message"),
        (lambda record: record._replace(value=record.value + b"\0"), "undecoded_message"),
        (lambda record: record._replace(value=b""), "undecoded_message"),
        (lambda record: record._replace(value=None), "undecoded_message"),
        # Kafka's RecordsIterator takes no key at all, whatever type it names.
        (lambda record: record._replace(key=b"\0\x01"), "undecoded_message"),
        (
            lambda record: record._replace(value=b"\x01\x63" + record.value[2:]),
            "unknown_record_type",
        ),
    ):
        changed = [*records[:5], change(records[5]), *records[6:]]  # type: ignore[no-untyped-call]
        log = _log(tmp_path, METADATA, changed)
        (finding,) = _findings(log)
        assert (finding.offset, finding.reason) == (records[5].offset, code)
        same_in_all_ways(log)


def test_unknown_types_are_less_than_damage(tmp_path: Path) -> None:
    """A coordinator ignores them. Old magics have them too, and compressed batches."""
    records = _records(OFFSETS)[:7]
    unknown = records[4]._replace(key=b"\0\x63" + (records[4].key or b""))
    for magic, compression in ((1, "none"), (1, "gzip"), (2, "zstd")):
        changed = [*records[:4], unknown, *records[5:]]
        log = write_segment(
            tmp_path / OFFSETS, ks.encode(changed, magic=magic, compression=compression)
        )
        (finding,) = _findings(log)
        assert finding.reason is FindingReason.UNKNOWN_RECORD_TYPE
        assert (finding.severity, finding.action) == ("warning", "nothing")
        assert finding.offset == unknown.offset
        same_in_all_ways(log)


def test_keys_that_are_null(tmp_path: Path) -> None:
    """No coordinator loads them, with or without a value; groups leaves them out and says so."""
    records = _records(OFFSETS)[:7]
    changed = [
        *records[:4],
        records[4]._replace(key=None),
        records[5]._replace(key=None, value=None),
        *records[6:],
    ]
    log = _log(tmp_path, OFFSETS, changed)
    findings = _findings(log)
    assert [(each.offset, each.severity, each.path) for each in findings] == [
        (record.offset, "error", "/key") for record in records[4:6]
    ]
    assert {each.action for each in findings} == {"fails_to_load"}
    assert all("the key is null" in each.message for each in findings)
    same_in_all_ways(log)
    with Partition(log.parent) as partition:
        assert read_groups(partition).left_out == len(findings)


def test_every_codec_says_the_same(tmp_path: Path) -> None:
    records = _records(OFFSETS)[:9]
    records[2] = records[2]._replace(value=(records[2].value or b"")[:-2])
    log = _log(tmp_path, OFFSETS, records)
    told = {codec: _findings(log, codec=codec) for codec in (*codec_names(), "all")}
    assert all(len(found) == 1 for found in told.values()), told
    assert len({str(found) for found in told.values()}) == 1


def test_the_same_records_in_a_topic_of_the_user_are_nothing(tmp_path: Path) -> None:
    log = _log(tmp_path, "orders-0", [Record(0, 1, b"\0\x01", b"x")])
    assert _findings(log) == []
    assert len(_findings(_log(tmp_path, OFFSETS, [Record(0, 1, b"\0\x01", b"x")]))) == 1
